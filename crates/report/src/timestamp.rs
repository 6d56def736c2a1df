//! Seconds since 1970, shown as UTC.
//!
//! Nothing here reads the clock; the code that starts a run does.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::civil::{DateTime, date};
use serde::{Deserialize, Serialize};

/// A point in time, to the second. Prints, and is written to JSON, as `2026-11-21T18:15:03Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline, extend("format" = "date-time")))]
pub struct Timestamp {
    /// Seconds since the beginning of 1970, without leap seconds.
    pub unix_seconds: u64,
}

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);
const FORMAT: &str = "%Y-%m-%dT%H:%M:%SZ";

impl Timestamp {
    /// `seconds` later.
    #[must_use]
    pub fn after(self, seconds: u64) -> Self {
        Self { unix_seconds: self.unix_seconds + seconds }
    }

    /// The time as people read it: `2026-11-21 18:15:03 UTC`.
    pub fn for_people(self) -> String {
        self.civil().strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    }

    /// The time as the beginning of a folder's name: `2026-11-21-181503`.
    pub fn for_folder(self) -> String {
        self.civil().strftime("%Y-%m-%d-%H%M%S").to_string()
    }

    /// Splits the name of a run's folder into its time and the name of the run.
    pub(crate) fn of_folder(name: &str) -> Option<(Self, &str)> {
        let [date, hour, minute, second] = [0..10, 11..13, 13..15, 15..17].map(|at| name.get(at));
        let time = format!("{}T{}:{}:{}Z", date?, hour?, minute?, second?);
        let time = Self::try_from(time).ok()?;
        let run = name.strip_prefix(&time.for_folder())?.strip_prefix('-')?;
        Some((time, run))
    }

    fn civil(self) -> DateTime {
        EPOCH.saturating_add(Duration::from_secs(self.unix_seconds))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.civil().strftime(FORMAT).fmt(f)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { unix_seconds: since.as_secs() }
    }
}

impl From<Timestamp> for String {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = String;

    /// Parses what [`Timestamp`] prints.
    fn try_from(text: String) -> Result<Self, String> {
        read(&text).ok_or_else(|| format!("`{text}` is not a time like 2026-11-21T18:15:03Z"))
    }
}

fn read(text: &str) -> Option<Timestamp> {
    let civil = DateTime::strptime(FORMAT, text).ok()?;
    let unix_seconds = civil.duration_since(EPOCH).as_secs().try_into().ok()?;
    // jiff would read a leap second as the second before it.
    (!text.ends_with(":60Z")).then_some(Timestamp { unix_seconds })
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
        let words = Timestamp { unix_seconds: 951_782_400 }.for_people();
        assert_eq!(words, "2000-02-29 00:00:00 UTC");
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
            "2026-01-01T00:00:60Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert!(Timestamp::try_from(text.to_owned()).is_err(), "{text}");
        }
        for text in ["", "runs", "2026-11-21-181503", "2026-11-21x181503-demo"] {
            assert_eq!(Timestamp::of_folder(text), None, "{text}");
        }
    }
}
