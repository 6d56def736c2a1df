//! `--sweep key=a..b`: one key of the scenario takes several values, and what comes of them is a curve.
//!
//! | written | values |
//! | --- | --- |
//! | `test.sessions=1..16` | eight from 1 to 16; whole numbers stay whole |
//! | `test.sessions=1..16/4` | four |
//! | `array.cache.write=64MiB..1GiB` | both ends with a unit; the values have the first one's |
//! | `array.group.0.level=raid10,raid5` | these |

use brunt_lab::Tried;
use brunt_scenario::{Override, Place, Refusal};
use brunt_units::ByteSize;
use serde_json::Value;

use super::kept::{Curve, CurvePoint, sentence};

/// Values of a range, unless it says how many.
const VALUES: usize = 8;
const VALUES_MAX: usize = 1000;

/// A key and its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sweep {
    pub(super) key: String,
    /// As they are written, and where they stand on an axis.
    values: Vec<(String, f64)>,
}

impl Sweep {
    /// Reads what stands after `--sweep`.
    ///
    /// # Errors
    /// [`Refusal`] when it is no key with values.
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let place = Place::flag(&format!("--sweep {text}"));
        let refuse = |what: &str| {
            let refusal = place.refuse(what);
            refusal
                .hint("for example: --sweep test.sessions=1..16, or array.cache.write=64MiB,1GiB")
        };
        let Some((key, values)) = text.split_once('=') else {
            return Err(refuse("has no `key=values`"));
        };
        let values = match values.split_once("..") {
            Some((from, to)) => range(from.trim(), to.trim()),
            None => list(values),
        };
        let values = values.ok_or_else(|| refuse("has no values that can be understood"))?;
        Ok(Self {
            key: key.trim().to_owned(),
            values,
        })
    }

    /// What each value replaces in the scenario.
    ///
    /// # Errors
    /// [`Refusal`] when the key is none.
    pub(super) fn overrides(&self) -> Result<Vec<Override>, Refusal> {
        let values = self.values.iter();
        values
            .map(|(value, _)| Override::of_set(&format!("{}={value}", self.key)))
            .collect()
    }

    /// What came of the points; those that were not carried through are left out.
    pub(super) fn into_curve(self, tried: Vec<Option<Tried>>) -> Curve {
        let points = self.values.into_iter().zip(tried);
        let points = points.filter_map(|((value, at), tried)| {
            Some(CurvePoint {
                label: value.clone(),
                value,
                at,
                tried: tried?,
            })
        });
        let points: Vec<CurvePoint> = points.collect();
        Curve {
            sentence: sentence(&self.key, &points),
            key: self.key,
            found: Value::Null,
            points,
        }
    }
}

fn list(text: &str) -> Option<Vec<(String, f64)>> {
    let values: Vec<&str> = text.split(',').map(str::trim).collect();
    if values.iter().any(|value| value.is_empty()) || values.len() > VALUES_MAX {
        return None;
    }
    let numbers: Option<Vec<f64>> = values.iter().map(|value| number(value)).collect();
    // Words stand beside each other.
    let places = numbers.unwrap_or_else(|| (1..=values.len()).map(|at| at as f64).collect());
    let values = values.into_iter().map(str::to_owned);
    Some(values.zip(places).collect())
}

/// A number with or without a unit of size, in bytes then.
fn number(text: &str) -> Option<f64> {
    let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
    plain.or_else(|| Some(text.parse::<ByteSize>().ok()?.get() as f64))
}

fn range(from: &str, to: &str) -> Option<Vec<(String, f64)>> {
    let (to, count) = match to.split_once('/') {
        Some((to, count)) => (to.trim(), count.trim().parse().ok()?),
        None => (to, VALUES),
    };
    if !(2..=VALUES_MAX).contains(&count) {
        return None;
    }
    let (low, high) = (number(from)?, number(to)?);
    if low >= high {
        return None;
    }
    let unit = from.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let has_unit = |text: &str| text.parse::<f64>().is_err();
    if has_unit(from) != has_unit(to) {
        return None;
    }
    let size = if unit.is_empty() {
        1.0
    } else {
        number(&format!("1{unit}"))?
    };
    let whole = !from.contains('.') && !to.contains('.');
    let step = (high - low) / (count - 1) as f64;
    let mut values: Vec<(String, f64)> = Vec::new();
    for at in 0..count {
        let mut value = (low + step * at as f64) / size;
        if whole {
            value = value.round();
        }
        let label = format!("{value}{unit}");
        if values.last().is_none_or(|(last, _)| *last != label) {
            values.push((label, value * size));
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        let sweep = Sweep::read(text).unwrap();
        sweep.values.into_iter().map(|(value, _)| value).collect()
    }

    #[test]
    fn ranges_and_lists_are_understood() {
        assert_eq!(values("a=1..4"), ["1", "2", "3", "4"]);
        assert_eq!(values("a=1..16/4"), ["1", "6", "11", "16"]);
        assert_eq!(values("a=0.5..1.5/3"), ["0.5", "1", "1.5"]);
        assert_eq!(
            values("a=64MiB..256MiB/4"),
            ["64MiB", "128MiB", "192MiB", "256MiB"]
        );
        assert_eq!(values("a=512MiB..1GiB/3"), ["512MiB", "768MiB", "1024MiB"]);
        let words = Sweep::read("array.group.0.level = raid10, raid5").unwrap();
        assert_eq!(words.key, "array.group.0.level");
        let raid5 = Override::of_set("array.group.0.level=raid5");
        assert_eq!(words.overrides().unwrap()[1], raid5.unwrap());
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for text in ["a", "a=", "a=4..1", "a=1..2/1", "a=1..64MiB", "a=x..y"] {
            let refusal = Sweep::read(text).unwrap_err().to_string();
            assert!(refusal.contains(&format!("--sweep {text}")), "{refusal}");
        }
    }
}
