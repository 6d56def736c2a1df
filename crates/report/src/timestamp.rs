//! Seconds since 1970 as people read them, always in UTC.
//!
//! Nothing here asks what time it is; whoever starts a run does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point in time, to the second. Prints, and stands in JSON, as `2026-11-21T18:15:03Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp {
    /// Seconds since the beginning of 1970, leap seconds not counted.
    pub unix_seconds: u64,
}

struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

const DAY: u64 = 86_400;

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Timestamp {
    /// `seconds` later.
    #[must_use]
    pub fn after(self, seconds: u64) -> Self {
        Self {
            unix_seconds: self.unix_seconds + seconds,
        }
    }

    /// The time as the beginning of a folder's name: `2026-11-21-181503`.
    pub fn for_folder(self) -> String {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self.civil();
        format!("{year:04}-{month:02}-{day:02}-{hour:02}{minute:02}{second:02}")
    }

    /// The time that the name of a run's folder begins with, and the name of the run behind it.
    pub(crate) fn of_folder(name: &str) -> Option<(Self, &str)> {
        let [date, hour, minute, second] = [0..10, 11..13, 13..15, 15..17].map(|at| name.get(at));
        let time = format!("{}T{}:{}:{}Z", date?, hour?, minute?, second?);
        let time = Self::try_from(time).ok()?;
        let run = name.strip_prefix(&time.for_folder())?.strip_prefix('-')?;
        Some((time, run))
    }

    // Counts years and months off one by one: a few dozen steps, and nothing to get wrong.
    fn civil(self) -> Civil {
        let (mut days, seconds) = (
            self.unix_seconds.div_euclid(DAY),
            self.unix_seconds.rem_euclid(DAY),
        );
        let mut year = 1970;
        while days >= 365 + u64::from(is_leap(year)) {
            days -= 365 + u64::from(is_leap(year));
            year += 1;
        }
        let mut month = 1;
        while days >= days_in(year, month) {
            days -= days_in(year, month);
            month += 1;
        }
        Civil {
            year,
            month,
            day: days + 1,
            hour: seconds.div_euclid(3600),
            minute: seconds.rem_euclid(3600).div_euclid(60),
            second: seconds.rem_euclid(60),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self.civil();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

impl From<Timestamp> for String {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = String;

    /// Reads what [`Timestamp`] prints.
    fn try_from(text: String) -> Result<Self, String> {
        read(&text).ok_or_else(|| format!("`{text}` is not a time like 2026-11-21T18:15:03Z"))
    }
}

fn read(text: &str) -> Option<Timestamp> {
    let fields: Vec<u64> = text
        .strip_suffix('Z')?
        .split(['-', 'T', ':'])
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let [year, month, day, hour, minute, second] = fields[..] else {
        return None;
    };
    let valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !valid {
        return None;
    }
    let years: u64 = (1970..year)
        .map(|year| 365 + u64::from(is_leap(year)))
        .sum();
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    let unix_seconds = (years + months + day - 1) * DAY + hour * 3600 + minute * 60 + second;
    Some(Timestamp { unix_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let text = |unix_seconds| Timestamp { unix_seconds }.to_string();
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(text(1_000_000_000), "2001-09-09T01:46:40Z");
        assert_eq!(text(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(text(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn reads_what_it_prints_and_nothing_else() {
        for unix_seconds in (0..5_000_000_000).step_by(7_654_321) {
            let timestamp = Timestamp { unix_seconds };
            assert_eq!(Timestamp::try_from(timestamp.to_string()), Ok(timestamp));
            let folder = format!("{}-my-test", timestamp.for_folder());
            assert_eq!(Timestamp::of_folder(&folder), Some((timestamp, "my-test")));
        }
        for text in [
            "",
            "2026-11-21",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
        ] {
            assert!(Timestamp::try_from(text.to_owned()).is_err(), "{text}");
        }
        for text in ["", "runs", "2026-11-21-181503", "2026-11-21x181503-demo"] {
            assert_eq!(Timestamp::of_folder(text), None, "{text}");
        }
    }
}
