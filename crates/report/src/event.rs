//! Events of a run: its test log.

use std::fmt;

use crate::{Timestamp, one_line};

/// The line with which samples begin to count.
pub const COLLECTION_STARTS: &str = "Collection starts: from now on samples count";
/// The line with which they end.
pub const COLLECTION_ENDS: &str = "Performance logging ends";

/// One line of the test log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event.
    pub at: Timestamp,
    /// The text, shown on one line.
    pub text: String,
}

impl fmt::Display for Event {
    /// The line of `events.log`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.replace('\n', " ");
        write!(f, "{} {}", self.at, one_line(&text))
    }
}

impl Event {
    /// Parses an `events.log`; lines that do not begin with a time are skipped.
    pub fn read_all(text: &str) -> Vec<Self> {
        text.lines()
            .filter_map(|line| {
                let (at, text) = line.split_once(' ')?;
                Some(Self { at: Timestamp::try_from(at.to_owned()).ok()?, text: text.to_owned() })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_back() {
        let event = |unix_seconds, text: &str| Event {
            at: Timestamp { unix_seconds },
            text: text.to_owned(),
        };
        let events = [event(5, "test begins"), event(65, "test ends: 3 of 3")];
        let text: String = events.iter().map(|event| format!("{event}\n")).collect();
        assert!(text.starts_with("1970-01-01T00:00:05Z test begins\n"));
        assert_eq!(Event::read_all(&text), events);
        assert_eq!(Event::read_all("half a li"), []);
        let odd = event(5, "one\ntwo \u{1b}[2J").to_string();
        assert_eq!(odd, "1970-01-01T00:00:05Z one two \\u{1b}[2J");
    }
}
