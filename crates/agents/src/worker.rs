//! What a keeper and its worker say, a line of JSON each.
//!
//! ```text
//!   keeper -> worker    {"begin":{"at":123}}      on its stdin; its end means: stop in order
//!   worker -> keeper    "ready"                   on its stdout
//! ```

use std::path::PathBuf;

use brunt_report::result::Verdict;
use brunt_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// What the worker is to do next. Times are of the machine's monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    Prepare,
    Begin { at: Time },
    Collect { at: Time },
    Cut,
}

/// How far the worker is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// It can run, and has changed nothing. It would write these bytes below these folders, and
    /// take this long.
    Checked {
        folders: Vec<PathBuf>,
        bytes: u64,
        lasts: Span,
    },
    Ready,
    Warm,
    /// It began to collect then.
    Collecting {
        at: Time,
    },
    Closing,
    /// A line of `news.jsonl`. While sessions work it comes every second or two.
    News {
        json: String,
    },
    /// It ends its collection before its time.
    GaveUp {
        why: String,
    },
    /// It is over, and this folder has its files.
    Ended {
        verdict: Verdict,
        folder: PathBuf,
    },
}

impl FromWorker {
    /// The meaning of a line; `None` when it has none.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// `message` as a line.
pub(crate) fn line(message: &ToWorker) -> String {
    let mut line = serde_json::to_string(message).expect("it has no maps");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_documented() {
        assert_eq!(line(&ToWorker::Begin { at: Time(123) }), "{\"begin\":{\"at\":123}}\n");
        assert_eq!(FromWorker::parse("\"ready\""), Some(FromWorker::Ready));
        assert_eq!(FromWorker::parse("ready"), None);
    }
}
