//! The lines of `news.jsonl`.

use brunt_run::News;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// A line of `news.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewsLine {
    /// The time.
    pub at: Timestamp,
    #[serde(flatten)]
    pub news: News,
}

impl NewsLine {
    /// As text, without the end of the line.
    ///
    /// # Panics
    /// Never: names are strings, and numbers are finite or null.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names are strings, numbers are finite or null")
    }

    /// The line in `json`; `None` when this version does not know its kind.
    pub fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_its_time_and_its_news() {
        let at = Timestamp { unix_seconds: 1_795_406_709 };
        let line = NewsLine { at, news: News::Sending { share: 0.5, accepted: 7, filling: true } };
        let text = line.to_json();
        assert_eq!(
            text,
            r#"{"at":"2026-11-23T04:05:09Z","news":"sending","share":0.5,"accepted":7,"filling":true}"#
        );
        assert_eq!(NewsLine::from_json(&text), Some(line));
        assert_eq!(NewsLine::from_json(&text.replace("sending", "singing")), None);
    }
}
