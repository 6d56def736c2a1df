//! A number of bytes, as users write it and as brunt prints it.
//!
//! `GiB` is 2³⁰ and `GB` is 10⁹, strictly. A bare number or a unit such as `2G` is rejected with
//! both readings in the message, because an error of 7 % in a mailbox quota looks like a right
//! answer.

use std::fmt;
use std::str::FromStr;

/// Bytes of a sector: writes are torn at this size, and offsets and lengths of I/O are multiples of
/// it.
pub const SECTOR_BYTES: u64 = 512;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

impl ByteSize {
    /// `count` bytes.
    pub const fn bytes(count: u64) -> Self {
        Self(count)
    }

    /// `count` × 1,024 bytes.
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    /// `count` × 1,048,576 bytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// `count` × 1,073,741,824 bytes.
    pub const fn gib(count: u64) -> Self {
        Self(count << 30)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ByteSize {
    /// The largest binary unit in which the value is at least one: `1.50 GiB`, `512 MiB`, `100 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) =
            UNITS[..5].iter().rev().find(|(_, unit)| self.0 >= *unit).copied().unwrap_or(("B", 1));
        if self.0.is_multiple_of(unit) {
            write!(f, "{} {name}", self.0.div_euclid(unit))
        } else {
            write!(f, "{:.2} {name}", self.0 as f64 / unit as f64)
        }
    }
}

/// Why a text is not a valid size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// The text does not begin with a number.
    #[error("`{0}` is not a size: it does not begin with a number (write it like \"64 MiB\")")]
    NoNumber(String),
    /// The text is a number without a unit.
    #[error(
        "`{0}` has no unit (write it like \"64 MiB\"; units are B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"
    )]
    NoUnit(String),
    /// Unknown unit; `hint` suggests what may have been meant.
    #[error("`{text}`: unknown unit{hint}")]
    UnknownUnit {
        /// The text as written.
        text: String,
        /// Empty, or a question with both readings.
        hint: String,
    },
    /// Not a whole number of bytes below 2⁶⁴.
    #[error("`{0}` is not a whole number of bytes below 2^64")]
    OutOfRange(String),
}

impl FromStr for ByteSize {
    type Err = SizeError;

    /// Parses `64 MiB`, `1.5GiB`, `500 MB`; the space is optional, the unit is not. `1.2 TiB` is
    /// rounded to whole bytes.
    ///
    /// # Errors
    /// [`SizeError`] states the problem and the correct form.
    fn from_str(text: &str) -> Result<Self, SizeError> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim());
        let value: f64 = number.parse().map_err(|_| SizeError::NoNumber(text.into()))?;
        if unit.is_empty() {
            return Err(SizeError::NoUnit(text.into()));
        }
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(SizeError::UnknownUnit { text: text.into(), hint: hint(number, unit) });
        };
        let whole = number.parse::<u64>().ok().map(|n| n.checked_mul(*factor));
        let bytes = match whole {
            Some(bytes) => bytes,
            None => rounded(value * *factor as f64).filter(|_| *factor > 1),
        };
        bytes.map(Self).ok_or_else(|| SizeError::OutOfRange(text.into()))
    }
}

fn rounded(value: f64) -> Option<u64> {
    // Below 2^53 a float holds every integer.
    let fits = value < (1_u64 << 53) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "checked on the line above")]
    fits.then_some(value.round() as u64)
}

fn hint(number: &str, unit: &str) -> String {
    let letter = unit.chars().next().map(|c| c.to_ascii_uppercase());
    let Some(letter) = letter.filter(|letter| "KMGT".contains(*letter)) else {
        return String::new();
    };
    let meant = |suffix: &str| {
        let name = format!("{letter}{suffix}");
        let size: Option<ByteSize> = format!("{number} {name}").parse().ok();
        size.map(|size| format!("\"{number} {name}\" ({} bytes)", grouped(size.0)))
    };
    match (meant("iB"), meant("B")) {
        (Some(binary), Some(decimal)) => format!("\n  did you mean {binary} or {decimal}?"),
        _ => String::new(),
    }
}

/// An integer with commas between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 session`, `2,000 mailboxes`. `noun` is in the singular; its plural
/// ends in *s*, or in *es* after an *x*.
pub fn counted(number: u64, noun: &str) -> String {
    let ending = match (number, noun.ends_with('x')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_threes() {
        let text = [0, 999, 1000, 32_768, 1_234_567].map(grouped);
        assert_eq!(text, ["0", "999", "1,000", "32,768", "1,234,567"]);
    }

    #[test]
    fn one_thing_is_in_the_singular() {
        assert_eq!(counted(0, "session"), "0 sessions");
        assert_eq!(counted(1, "session"), "1 session");
        assert_eq!(counted(2_000, "mailbox"), "2,000 mailboxes");
    }

    #[test]
    fn reads_what_it_prints() {
        for size in [0, 1, 1023, 1024, 3 << 20, 5 << 30, 7 << 40].map(ByteSize::bytes) {
            assert_eq!(size.to_string().parse(), Ok(size));
        }
        assert_eq!("1.5GiB".parse(), Ok(ByteSize::mib(1536)));
        assert_eq!("2 GB".parse(), Ok(ByteSize::bytes(2_000_000_000)));
        assert_eq!("1.2 TiB".parse(), Ok(ByteSize::bytes(1_319_413_953_331)));
    }

    #[test]
    fn an_ambiguous_unit_is_refused_with_both_readings() {
        let error = "2G".parse::<ByteSize>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`2G`: unknown unit\n  did you mean \"2 GiB\" (2,147,483,648 bytes) or \"2 GB\" (2,000,000,000 bytes)?"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["", "MiB", "12", "1.1 B", "99999999999 TiB", "3 parsecs", "-1 MiB", "1.2.3 MiB"]
        {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
