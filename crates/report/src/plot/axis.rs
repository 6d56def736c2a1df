//! An axis: its ends, its marks at round numbers, and what it measures.

use self::Scale::{Linear, Log, Time};
use super::{BOTTOM, LEFT, RIGHT, TOP};
use crate::decimals;

/// How an axis maps values to positions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Linear,
    /// Linear, in seconds.
    Time,
    /// Logarithmic; both ends are above zero.
    Log,
}

#[derive(Clone, Debug)]
pub(crate) struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    pub(super) marks: Vec<(f64, String)>,
    /// What a value is followed by: `ms`, `per second`.
    pub(super) unit: String,
}

impl Axis {
    /// From zero to a little above `highest`, with four to eight marks at round numbers.
    pub(crate) fn from_zero(highest: f64, unit: &str) -> Self {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let step = round_step(highest / 5.0);
        let steps = (highest * 1.02 / step).ceil();
        let marks = counted(steps).map(|at| at * step);
        let digits = digits_after_point(step);
        let text = |value: f64| linear_mark(value, digits);
        Self {
            scale: Linear,
            from: 0.0,
            to: steps * step,
            marks: marks.map(|value| (value, text(value))).collect(),
            unit: unit.to_owned(),
        }
    }

    /// From zero to `seconds` of the collection.
    pub(crate) fn time(seconds: f64) -> Self {
        Self::between(0.0, seconds)
    }

    /// From one second of the collection to another, marked in seconds, minutes or hours.
    pub(crate) fn between(from: f64, until: f64) -> Self {
        const STEPS: [f64; 19] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0,
            3600.0, 7200.0, 10_800.0, 14_400.0, 21_600.0, 43_200.0,
        ];
        let until = until.max(from + 1.0);
        let fits = |step: &&f64| (until - from) / **step <= 8.0;
        let step = STEPS.iter().find(fits).copied().unwrap_or(86_400.0);
        let (unit, name) = match until {
            0.0..=180.0 => (1.0, "seconds of the collection"),
            180.0..=10_800.0 => (60.0, "minutes of the collection"),
            _ => (3600.0, "hours of the collection"),
        };
        let first = (from / step).ceil();
        let marks = counted((until / step).floor() - first).map(|at| (first + at) * step);
        let text = |value: f64| {
            let text = format!("{:.2}", value / unit);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        Self {
            scale: Time,
            from,
            to: until,
            marks: marks.map(|value| (value, text(value))).collect(),
            unit: name.to_owned(),
        }
    }

    /// The same axis of time, counted from the beginning of `what`.
    pub(crate) fn of(mut self, what: &str) -> Self {
        self.unit = self.unit.replace("the collection", what);
        self
    }

    /// From zero to a little above `highest`, at most to 100 %.
    pub(crate) fn percent(highest: f64, unit: &str) -> Self {
        let mut axis = Self::from_zero(highest, unit);
        axis.end_at(100.0);
        axis
    }

    /// Ends no later than at `most`.
    fn end_at(&mut self, most: f64) {
        if most > 0.0 {
            self.to = self.to.min(most);
            self.marks.retain(|(value, _)| *value <= self.to);
        }
    }

    /// A logarithmic axis between the round numbers (1, 2 or 5 and zeros) that enclose `lowest` and
    /// `highest`, with marks at its ends and at powers of ten; a short one has more.
    pub(crate) fn powers(lowest: f64, highest: f64, unit: &str) -> Self {
        let [lowest, highest] = [lowest, highest].map(|end| end.clamp(1e-6, 1e9));
        let from = 1.0 / round_step(1.0 / lowest);
        let to = round_step(highest).max(from * 10.0);
        let power = |at: f64| 10_f64.powf(from.log10().floor() + at);
        // Marks that can be told apart, also from those at the ends.
        let (digits, apart): (&[f64], f64) =
            if to / from > 150.0 { (&[1.0], 2.5) } else { (&[1.0, 2.0, 5.0], 1.5) };
        let between = counted((to / from).log10().ceil() + 1.0)
            .flat_map(|at| digits.iter().map(move |digit| digit * power(at)))
            .filter(|value| *value > from * apart && *value < to / apart);
        Self::log(std::iter::once(from).chain(between).chain([to]), unit)
    }

    /// The places of `values`: a logarithmic axis where these are nearer to a geometric than to an
    /// arithmetic series, with marks at those that are far enough apart; else one from zero.
    pub(crate) fn at(values: impl Iterator<Item = f64>, unit: &str) -> Self {
        const APART: f64 = 0.09;
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let [first, last] = [all.first(), all.last()].map(|end| end.copied().unwrap_or(0.0));
        let middle = all.get(all.len().div_euclid(2)).copied().unwrap_or(0.0);
        let (geometric, arithmetic) = ((first * last).sqrt(), f64::midpoint(first, last));
        if first <= 0.0 || last < 10.0 * first || middle.powi(2) >= geometric * arithmetic {
            let mut axis = Self::from_zero(last, unit);
            if last > first && last < 2.0 * first {
                let step = round_step((last - first) / 5.0);
                let marks = counted(((last - first) / step).ceil() + 1.0);
                let begin = (first / step).floor() * step;
                let digits = digits_after_point(step);
                let marks = marks.map(|at| begin + at * step).filter(|value| *value >= first);
                axis.marks = marks.map(|value| (value, linear_mark(value, digits))).collect();
                axis.from = first;
            }
            axis.end_at(last);
            return axis;
        }
        let mut axis = Self::log(all.into_iter(), unit);
        let shares: Vec<f64> =
            axis.marks.iter().filter_map(|(value, _)| axis.share(*value)).collect();
        let mut shown = f64::NEG_INFINITY;
        let mut shares = shares.into_iter();
        axis.marks.retain(|_| {
            let share = shares.next().unwrap_or(0.0);
            let fits = share >= shown + APART;
            shown = if fits { share } else { shown };
            fits
        });
        axis
    }

    /// A logarithmic axis from the first to the last of `marks`.
    fn log(marks: impl Iterator<Item = f64>, unit: &str) -> Self {
        let text = |value: f64| match value {
            small if small < 0.999 => format!("{value:.*}", digits_after_point(value)),
            _ => decimals(value).trim_end_matches(".00").trim_end_matches(".0").to_owned(),
        };
        let marks: Vec<(f64, String)> = marks.map(|value| (value, text(value))).collect();
        let end = |mark: Option<&(f64, String)>| mark.map_or(1.0, |(value, _)| *value);
        Self {
            scale: Log,
            from: end(marks.first()),
            to: end(marks.last()),
            marks,
            unit: unit.to_owned(),
        }
    }

    /// The same axis, where lesser values than its first are drawn there.
    pub(crate) fn open_below(mut self) -> Self {
        if let Some((_, text)) = self.marks.first_mut() {
            *text = format!("\u{2264} {text}");
        }
        self
    }

    /// The unit, and the scale unless it is linear.
    pub(super) fn label(&self) -> String {
        match self.scale {
            Linear | Time => self.unit.clone(),
            Log => format!("{} (log scale)", self.unit),
        }
    }

    /// Its scale and ends, for scripts.
    pub(super) fn ends(&self) -> String {
        let scale = match self.scale {
            Linear => "linear",
            Time => "time",
            Log => "log",
        };
        format!("{scale} {} {}", self.from, self.to)
    }

    /// Whether `value` lies between the ends.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Whether `value` lies beyond the end.
    pub(super) fn is_above(&self, value: f64) -> bool {
        value > self.to
    }

    /// The position of `value` between the ends, 0 to 1; `None` when it has none.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Linear | Time => (value - self.from) / (self.to - self.from),
            Log => (value / self.from).log10() / (self.to / self.from).log10(),
        };
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    pub(super) fn x(&self, value: f64) -> Option<f64> {
        self.share(value).map(|share| LEFT + share * (RIGHT - LEFT))
    }

    pub(super) fn y(&self, value: f64) -> Option<f64> {
        self.share(value).map(|share| BOTTOM - share * (BOTTOM - TOP))
    }
}

/// How many digits after the point distinguish multiples of `step`; at most six.
fn digits_after_point(step: f64) -> usize {
    (0..6)
        .find(|digits| step * 10_f64.powi(*digits) > 0.999)
        .map_or(6, |d| d.unsigned_abs() as usize)
}

/// 0, 1, 2 ... `last`.
fn counted(last: f64) -> impl Iterator<Item = f64> {
    (0..=100_u32).map(f64::from).take_while(move |at| *at <= last)
}

/// The smallest of 1, 2, 5, 10 (times any power of ten) that is not below `step`.
pub(super) fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= step * 0.999);
    digit.unwrap_or(10.0) * power
}

fn linear_mark(value: f64, digits: usize) -> String {
    match value {
        value if value >= 1000.0 => decimals(value),
        value => format!("{value:.digits$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(
            marks(&Axis::from_zero(0.0, "")),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]
        );
        assert_eq!(
            marks(&Axis::from_zero(21_480.0, "")),
            ["0", "5,000", "10,000", "15,000", "20,000", "25,000"]
        );
        assert_eq!(marks(&Axis::time(90.0)), ["0", "15", "30", "45", "60", "75", "90"]);
        assert_eq!(
            marks(&Axis::time(7200.0)),
            ["0", "15", "30", "45", "60", "75", "90", "105", "120"]
        );
        assert_eq!(
            marks(&Axis::time(86_400.0)),
            ["0", "3", "6", "9", "12", "15", "18", "21", "24"]
        );
        assert_eq!(marks(&Axis::between(3_590.0, 3_720.0)), ["60", "60.5", "61", "61.5", "62"]);
        assert_eq!(marks(&Axis::powers(0.03, 120.0, "")), ["0.02", "0.1", "1", "10", "200"]);
        assert_eq!(marks(&Axis::powers(0.2, 40.0, "")), ["0.2", "1", "10", "50"]);
        assert_eq!(marks(&Axis::powers(1.0, 1.0, "")), ["1", "2", "5", "10"]);
        assert_eq!(marks(&Axis::percent(97.0, "")), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(
            marks(&Axis::at([64.0, 4_096.0, 512.0, 550.0].into_iter(), "MiB")),
            ["64", "512", "4,096"]
        );
        assert_eq!(marks(&Axis::at([64.0, 640.0, 1_216.0, 1_792.0].into_iter(), ""))[0], "0");
        let near = Axis::at([2_000.0, 2_223.0, 2_496.0].into_iter(), "");
        assert_eq!(marks(&near), ["2,000", "2,100", "2,200", "2,300", "2,400"]);
        assert_eq!([2_000.0, 2_496.0].map(|value| near.x(value)), [Some(LEFT), Some(RIGHT)]);
        assert_eq!(marks(&Axis::at([1.0, 4.0].into_iter(), "")), ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn places_follow_the_scale() {
        let linear = Axis::time(100.0);
        assert_eq!(linear.x(0.0), Some(LEFT));
        assert_eq!(linear.x(50.0), Some((LEFT + RIGHT) / 2.0));
        assert_eq!(linear.x(1e9), Some(RIGHT));
        let log = Axis::powers(1.0, 100.0, "ms");
        assert_eq!(log.y(10.0), Some((TOP + BOTTOM) / 2.0));
        assert_eq!(log.y(0.0), None);
        assert_eq!(log.y(f64::NAN), None);
        assert_eq!(log.label(), "ms (log scale)");
    }
}
