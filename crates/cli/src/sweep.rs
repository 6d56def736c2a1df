//! `--sweep key=a..b`: one key of a scenario, or the users of mail servers, take several values, and
//! what comes of them is a curve.
//!
//! | written | values |
//! | --- | --- |
//! | `test.sessions=1..16` | eight from 1 to 16; whole numbers stay whole |
//! | `test.sessions=1..16/4` | four |
//! | `array.cache.write=64MiB..1GiB` | both ends with a unit; the values have the first one's |
//! | `link.rtt=0ms..10ms` | times: round ones, eleven at most, unless it says how many |
//! | `array.group.0.level=raid10,raid5` | these |
//! | `users=50..2000/5` | five numbers of users |

use std::fmt;

use brunt_scenario::{Override, Place, Refusal};
use brunt_units::{ByteSize, Span};

/// Values of a range, unless it says how many.
const VALUES: usize = 8;
const VALUES_MAX: usize = 1000;
/// The most of a range of times.
const TIMES: f64 = 11.0;

/// A key and its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep {
    pub(crate) key: String,
    /// As they are written, and where they stand on an axis: in the unit of the first.
    values: Vec<(String, f64)>,
    /// The unit of the axis; often empty.
    unit: String,
    /// How many whole numbers the range has, if they are not all taken and nobody said how many.
    pub(crate) thinned_from: Option<u64>,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Size,
    Time,
}

/// A value with what it is, and its unit.
#[derive(Clone, Debug)]
struct Measure<'a> {
    kind: Kind,
    /// In bytes or nanoseconds.
    value: f64,
    unit: &'a str,
    /// Bytes or nanoseconds of the unit.
    of_unit: f64,
}

/// Why something is no value.
struct Unknown<'a>(&'a str);

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a number, size or duration", self.0)
    }
}

impl<'a> Measure<'a> {
    fn read(text: &'a str) -> Result<Self, Unknown<'a>> {
        let (kind, value) = measured(text).ok_or(Unknown(text))?;
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if !unit.trim().chars().all(char::is_alphabetic) {
            return Err(Unknown(text));
        }
        let of_unit = match kind {
            Kind::Number => 1.0,
            _ => measured(&format!("1{unit}")).ok_or(Unknown(text))?.1,
        };
        Ok(Self { kind, value, unit, of_unit })
    }
}

/// What `text` is, and how much: in bytes, or in nanoseconds.
fn measured(text: &str) -> Option<(Kind, f64)> {
    let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let size = || Some((Kind::Size, text.parse::<ByteSize>().ok()?.get() as f64));
    let time = || Some((Kind::Time, text.parse::<Span>().ok()?.0 as f64));
    let plain = plain.map(|number| (Kind::Number, number));
    plain.or_else(size).or_else(time)
}

impl Sweep {
    /// Reads what stands after `--sweep`.
    ///
    /// # Errors
    /// [`Refusal`] when it is no key with values.
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let place = Place::flag(&format!("--sweep {text}"));
        let refuse = |what: String| {
            place.refuse(what).hint(
                "for example: --sweep test.sessions=1..16, array.cache.write=64MiB,1GiB, or link.rtt=0ms..10ms",
            )
        };
        let Some((key, values)) = text.split_once('=') else {
            return Err(refuse("has no `key=values`".to_owned()));
        };
        let read = match values.split_once("..") {
            Some((from, to)) => range(from.trim(), to.trim()),
            None => list(values),
        };
        let range = values.split_once("..");
        let (values, unit) = read.map_err(refuse)?;
        let whole = |text: &str| text.trim().parse::<u64>().ok();
        let all = range.and_then(|(from, to)| Some((whole(to)? - whole(from)?).saturating_add(1)));
        let taken = values.len() as u64;
        Ok(Self {
            thinned_from: all.filter(|all| *all > taken),
            key: key.trim().to_owned(),
            values,
            unit,
        })
    }

    /// What each value replaces in the scenario.
    ///
    /// # Errors
    /// [`Refusal`] when the key is none.
    pub(crate) fn overrides(&self) -> Result<Vec<Override>, Refusal> {
        let values = self.values.iter();
        values.map(|(value, _)| Override::of_set(&format!("{}={value}", self.key))).collect()
    }

    /// The values as they are written.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(text, _)| text.as_str())
    }

    /// The values as they are written, each with its place on the axis.
    pub(crate) fn values(&self) -> &[(String, f64)] {
        &self.values
    }

    /// What the axis says.
    pub(crate) fn axis(&self) -> String {
        match self.unit.as_str() {
            "" => self.key.clone(),
            unit => format!("{} ({unit})", self.key),
        }
    }
}

/// Which values of `key` pass, in a sentence; empty without points. A point is its label, and why it did
/// not pass, if it did not.
pub(crate) fn sentence(key: &str, points: &[(&str, Option<String>)]) -> String {
    let good: Vec<&str> =
        points.iter().filter(|(_, why)| why.is_none()).map(|(label, _)| *label).collect();
    let Some(why) = points.iter().find_map(|(_, why)| why.as_ref()) else {
        return match good.as_slice() {
            [] => String::new(),
            [only] => format!("Every limit holds at {key} = {only}."),
            [first, .., last] => {
                format!("Every limit holds at every {key}, from {first} to {last}.")
            }
        };
    };
    match good.as_slice() {
        [] => format!("Not every limit holds at any {key}: {why}."),
        // The values up to the first that fails.
        [.., last] if points[..good.len()].iter().all(|(_, why)| why.is_none()) => {
            format!("Every limit holds up to {key} = {last}; {why}.")
        }
        some => format!("Every limit holds at {key} = {}; {why}.", some.join(", ")),
    }
}

/// Values, each with its place on an axis, and the unit of the axis.
type Values = (Vec<(String, f64)>, String);

fn list(text: &str) -> Result<Values, String> {
    let values: Vec<&str> = text.split(',').map(str::trim).collect();
    if values.iter().any(|value| value.is_empty()) {
        return Err("has no value where one should be".to_owned());
    }
    if values.len() > VALUES_MAX {
        return Err(format!("has more than {VALUES_MAX} values"));
    }
    let read = values.iter().map(|value| Measure::read(value).ok());
    let measures: Option<Vec<Measure<'_>>> = read.collect();
    let alike = measures.filter(|all| all.iter().all(|one| one.kind == all[0].kind));
    let (places, unit): (Vec<f64>, &str) = match &alike {
        Some(all) => (all.iter().map(|one| one.value / all[0].of_unit).collect(), all[0].unit),
        // Words stand beside each other.
        None => ((1..=values.len()).map(|at| at as f64).collect(), ""),
    };
    let texts = values.iter().map(|value| (*value).to_owned());
    Ok((texts.zip(places).collect(), unit.trim().to_owned()))
}

fn range(from: &str, to: &str) -> Result<Values, String> {
    let (to, count) = match to.split_once('/') {
        Some((to, count)) => (to.trim(), Some(count.trim())),
        None => (to, None),
    };
    let read = |text| Measure::read(text).map_err(|error| error.to_string());
    let (low, high) = (read(from)?, read(to)?);
    if low.kind != high.kind {
        return Err(format!("`{from}` and `{to}` need units of one kind"));
    }
    if low.value >= high.value {
        return Err(format!("`{from}` is not less than `{to}`"));
    }
    let count = count.map(|count| {
        let number = count.parse().ok();
        number
            .filter(|count| (2..=VALUES_MAX).contains(count))
            .ok_or_else(|| format!("`{count}` is not a number of values from 2 to {VALUES_MAX}"))
    });
    let count: Option<usize> = count.transpose()?;
    let ends = (low.value / low.of_unit, high.value / low.of_unit);
    let values = match (low.kind, count) {
        (Kind::Time, None) => round_values(ends),
        _ => {
            let whole = !from.contains('.') && !to.contains('.');
            equal_steps(ends, count.unwrap_or(VALUES), whole)
        }
    };
    let unit = low.unit;
    let mut labelled: Vec<(String, f64)> = Vec::new();
    for value in values {
        let label = format!("{value}{unit}");
        if labelled.last().is_none_or(|(last, _)| *last != label) {
            labelled.push((label, value));
        }
    }
    Ok((labelled, unit.trim().to_owned()))
}

fn equal_steps((low, high): (f64, f64), count: usize, whole: bool) -> Vec<f64> {
    let step = (high - low) / (count - 1) as f64;
    let values = (0..count).map(|at| low + step * at as f64);
    values.map(|value| if whole { value.round() } else { value }).collect()
}

/// Both ends, and between them the multiples of the smallest round step that gives few enough.
fn round_values((low, high): (f64, f64)) -> Vec<f64> {
    let least = (high - low) / (TIMES - 1.0);
    let power = 10_f64.powf(least.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0].into_iter();
    let mut steps = digits.map(|digit| digit * power);
    let step = steps.find(|step| *step >= least * 0.999);
    let step = step.unwrap_or(least);
    let between = (0..=VALUES_MAX)
        .map(|at| ((low / step).floor() + at as f64) * step)
        .skip_while(|value| *value <= low * 1.001)
        .take_while(|value| *value < high * 0.999);
    let all = std::iter::once(low).chain(between).chain([high]);
    // Multiples of a step such as 0.1 carry a tiny error.
    all.map(|value| (value * 1e9).round() / 1e9).collect()
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
        assert_eq!(values("a=64MiB..256MiB/4"), ["64MiB", "128MiB", "192MiB", "256MiB"]);
        assert_eq!(values("a=512MiB..1GiB/3"), ["512MiB", "768MiB", "1024MiB"]);
        assert_eq!(values("a=0ms..5ms/3"), ["0ms", "3ms", "5ms"]);
        assert_eq!(values("a=0.0s..1s/3"), ["0s", "0.5s", "1s"]);
        let words = Sweep::read("array.group.0.level = raid10, raid5").unwrap();
        assert_eq!(words.key, "array.group.0.level");
        let raid5 = Override::of_set("array.group.0.level=raid5");
        assert_eq!(words.overrides().unwrap()[1], raid5.unwrap());
    }

    #[test]
    fn a_thinned_range_says_so() {
        let thinned = |text: &str| Sweep::read(text).unwrap().thinned_from;
        assert_eq!(thinned("a=1..1000000"), Some(1_000_000));
        for text in ["a=1..8", "a=1..16/4", "a=0ms..30ms", "a=0.5..9"] {
            assert_eq!(thinned(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_round_and_few() {
        let milliseconds: Vec<String> = (0..=10).map(|at| format!("{at}ms")).collect();
        assert_eq!(values("a=0ms..10ms"), milliseconds);
        assert_eq!(
            values("a=0.25ms..2ms"),
            ["0.25ms", "0.4ms", "0.6ms", "0.8ms", "1ms", "1.2ms", "1.4ms", "1.6ms", "1.8ms", "2ms"]
        );
        assert_eq!(
            values("a=500us..3ms"),
            ["500us", "1000us", "1500us", "2000us", "2500us", "3000us"]
        );
        for (low, high) in [(0.0, 0.3), (0.1, 7.0), (3.0, 4.0), (0.07, 123.0)] {
            let all = round_values((low, high));
            assert!((5..=11).contains(&all.len()), "{all:?}");
            assert!(all.is_sorted() && all[0] == low && all.ends_with(&[high]));
        }
    }

    #[test]
    fn an_axis_has_the_unit_of_the_first_value() {
        let sweep = Sweep::read("a=64MiB, 1GiB").unwrap();
        assert_eq!((sweep.values[1].1, sweep.unit.as_str()), (1024.0, "MiB"));
        let sweep = Sweep::read("a=0ms..10ms").unwrap();
        assert_eq!((sweep.values[10].1, sweep.unit.as_str()), (10.0, "ms"));
        assert_eq!(Sweep::read("a=T3,20 MB").unwrap().unit, "");
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for (text, why) in [
            ("a", "has no `key=values`"),
            ("a=", "has no value"),
            ("a=4..1", "`4` is not less than `1`"),
            ("a=1..2/1", "`1` is not a number of values from 2 to 1000"),
            ("a=1..64MiB", "`1` and `64MiB` need units of one kind"),
            ("a=0..10ms", "`0` and `10ms` need units of one kind"),
            ("a=0ms..10mss", "`10mss` is not a number, size or duration"),
            ("a=x..y", "`x` is not a number, size or duration"),
        ] {
            let refusal = Sweep::read(text).unwrap_err().to_string();
            assert!(refusal.contains(&format!("--sweep {text}")), "{refusal}");
            assert!(refusal.contains(why), "{refusal}");
            assert!(refusal.contains("link.rtt=0ms..10ms"), "{refusal}");
        }
    }
}
