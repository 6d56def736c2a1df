//! Points in time and lengths of time, in integer nanoseconds.
//!
//! A world's clock starts at zero. Nothing here reads a clock: callers pass the time in.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point on a world's clock: nanoseconds since the world began.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

/// A length of time in nanoseconds, never negative.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Span(pub u64);

impl Time {
    /// The start of the world.
    pub const ZERO: Self = Self(0);
    /// The latest time: 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// Time since `earlier`; zero if `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// `count` nanoseconds.
    pub const fn nanos(count: u64) -> Self {
        Self(count)
    }

    /// `count` microseconds.
    pub const fn micros(count: u64) -> Self {
        Self(count * 1_000)
    }

    /// `count` milliseconds.
    pub const fn millis(count: u64) -> Self {
        Self(count * 1_000_000)
    }

    /// `count` seconds.
    pub const fn seconds(count: u64) -> Self {
        Self(count * 1_000_000_000)
    }

    /// The span in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span in milliseconds.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The span of `seconds`, rounded to the nearest nanosecond; negative or NaN gives zero.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float cast saturates, and 584 years are enough"
    )]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9 + 0.5).floor() as u64)
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    /// [`Time::since`].
    fn sub(self, earlier: Time) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl fmt::Display for Span {
    /// Two or three digits in a suitable unit: `0.31 ms`, `41 s`, `2 h 05 min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0 as f64;
        let seconds = self.0.div_euclid(1_000_000_000);
        match self.0 {
            0 => write!(f, "0 s"),
            1..10_000 => write!(f, "{:.2} us", nanos / 1e3),
            10_000..1_000_000_000 => write!(f, "{:.2} ms", nanos / 1e6),
            1_000_000_000..120_000_000_000 => write!(f, "{:.1} s", nanos / 1e9),
            120_000_000_000..7_200_000_000_000 => {
                write!(f, "{} min {:02} s", seconds.div_euclid(60), seconds.rem_euclid(60))
            }
            _ => {
                let minutes = seconds.div_euclid(60);
                write!(f, "{} h {:02} min", minutes.div_euclid(60), minutes.rem_euclid(60))
            }
        }
    }
}

/// Text that is not a valid length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a length of time (write it like \"90s\", \"15min\", \"2h\" or \"2h 30min\"; units are ms, s, min, h, d){hint}",
    text = .0,
    hint = meant(.0).map(|meant| format!("; did you mean \"{meant}\"?")).unwrap_or_default()
)]
pub struct SpanError(pub String);

impl SpanError {
    /// What was probably meant, if only the units are in words: `2h` for `2 hours`.
    pub fn meant(&self) -> Option<String> {
        meant(&self.0)
    }
}

/// What was probably meant by a length of time with its units in words: `2 hours`, `5sec`.
fn meant(text: &str) -> Option<String> {
    const WORDS: [(&str, &str); 5] =
        [("mil", "ms"), ("sec", "s"), ("min", "min"), ("hr", "h"), ("hour", "h")];
    let mut all = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let behind = behind.trim_start();
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (word, behind) = behind.split_at(letters);
        let word = word.to_lowercase();
        let unit = WORDS.iter().find(|(begin, _)| word.starts_with(begin)).map(|(_, unit)| *unit);
        let unit = unit.or_else(|| word.starts_with("day").then_some("d"));
        let unit = unit.or_else(|| ["s", "h", "d"].into_iter().find(|unit| *unit == word))?;
        all.push(format!("{number}{unit}"));
        rest = behind.trim_start();
    }
    let meant = all.join(" ");
    meant.parse::<Span>().is_ok().then_some(meant)
}

impl FromStr for Span {
    type Err = SpanError;

    /// Parses `90s`, `250 ms`, `1.5h`, `2h 30min`; each number needs its unit: ns, us, ms, s, min,
    /// h or d.
    ///
    /// # Errors
    /// [`SpanError`] for anything else, or for more than 584 years.
    fn from_str(text: &str) -> Result<Self, SpanError> {
        let refuse = || SpanError(text.into());
        let mut rest = text.trim();
        let mut total = 0.0_f64;
        if rest.is_empty() {
            return Err(refuse());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(refuse)?;
            let value: f64 = rest[..digits].parse().map_err(|_| refuse())?;
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let unit = match &rest[..letters] {
                "ns" => 1e-9,
                "us" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "min" | "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return Err(refuse()),
            };
            total += value * unit;
            rest = rest[letters..].trim_start();
        }
        if total > 1.8e10 { Err(refuse()) } else { Ok(Self::from_seconds(total)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_units() {
        assert_eq!("90s".parse(), Ok(Span::seconds(90)));
        assert_eq!("2h 30min".parse(), Ok(Span::seconds(9000)));
        assert_eq!("1.5 h".parse(), Ok(Span::seconds(5400)));
        assert_eq!("250ms".parse(), Ok(Span::millis(250)));
        for text in ["", "90", "s", "2 fortnights", "-3s", "1h2", "9999999999d"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn units_in_words_are_understood_well_enough_to_ask() {
        let meant = ["2 hours", "5sec", "1 hour 30 minutes", "2H", "7 days"].map(meant);
        assert_eq!(meant.map(Option::unwrap), ["2h", "5s", "1h 30min", "2h", "7d"]);
        for text in ["fortnight", "2 fortnights", "", "90"] {
            assert_eq!(super::meant(text), None, "{text}");
        }
        let said = "2 hours".parse::<Span>().unwrap_err().to_string();
        assert!(said.ends_with("h, d); did you mean \"2h\"?"), "{said}");
    }

    #[test]
    fn time_does_not_wrap() {
        assert_eq!(Time(5) - Time(9), Span::ZERO);
        assert_eq!(Time::MAX + Span::seconds(1), Time::MAX);
    }

    #[test]
    fn spans_print_in_a_unit_that_suits() {
        assert_eq!(Span::micros(310).to_string(), "0.31 ms");
        assert_eq!(Span::seconds(41).to_string(), "41.0 s");
        assert_eq!(Span::seconds(7500).to_string(), "2 h 05 min");
    }
}
