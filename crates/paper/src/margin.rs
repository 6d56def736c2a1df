//! The folder of a search for the most mailboxes (`brunt simulate --until-fail`): how much more than
//! its design a storage carries.

use serde::Deserialize;

use crate::evidence::{POINTS, RunFiles};
use crate::paper::PaperError;

const SCHEMA: &str = "brunt.points/1";
const KEY: &str = "mailboxes.count";

/// How many mailboxes pass, and what ends it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Margin {
    /// The number of its folder.
    pub(crate) number: usize,
    /// Mailboxes of a server that pass; `None` when no number does.
    pub(crate) passes: Option<u64>,
    /// The least number that does not; `None` when no more were tried.
    pub(crate) fails: Option<u64>,
    /// What ends it, in words.
    pub(crate) limit: &'static str,
    /// Its scenario.
    pub(crate) scenario: String,
}

#[derive(Deserialize)]
struct Points {
    schema: String,
    key: String,
    found: Found,
}

#[derive(Deserialize)]
struct Found {
    mailboxes_per_server: Option<u64>,
    fails_from: Option<u64>,
    limit: Option<String>,
}

/// Whether `files` are those of a search or a sweep.
pub(crate) fn is_search(files: &RunFiles) -> bool {
    files.bytes(POINTS).is_some() && files.bytes("result.json").is_none()
}

impl Margin {
    /// What the folder with this number found.
    pub(crate) fn read(number: usize, files: &RunFiles) -> Result<Self, PaperError> {
        let refused = || PaperError::Search(files.label.clone());
        let points = files.bytes(POINTS).ok_or_else(refused)?;
        let points: Points = serde_json::from_slice(points).map_err(|_| refused())?;
        if points.schema != SCHEMA || points.key != KEY {
            return Err(refused());
        }
        let limit = match points.found.limit.as_deref() {
            Some("room") => "room on the volumes",
            Some("sessions") => "the sessions of the test, not storage",
            Some("rules") => "a limit of the rules",
            Some(_) => "the simulation",
            None => "no more were tried",
        };
        let scenario = files.bytes("scenario.toml").unwrap_or_default();
        Ok(Self {
            number,
            passes: points.found.mailboxes_per_server,
            fails: points.found.fails_from,
            limit,
            scenario: String::from_utf8_lossy(scenario).into_owned(),
        })
    }
}
