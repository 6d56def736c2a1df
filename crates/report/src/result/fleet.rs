//! A test on several hosts at once.

use serde::{Deserialize, Serialize};

use super::{Prediction, Verdict};
use crate::decimals;

/// How several hosts were tested at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fleet {
    /// Every server and its host, in the order of the scenario.
    pub agents: Vec<FleetAgent>,
    /// How far apart the hosts began to collect; null when fewer than two did.
    pub skew_ms: Option<f64>,
    /// That is wrong by at most this much.
    pub skew_bound_ms: Option<f64>,
    /// The server whose database reads took longest on average; null where none read.
    pub slowest: Option<String>,
    /// What a model predicted for it; null when none was asked.
    pub prediction: Option<Prediction>,
}

/// One server of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetAgent {
    /// The server's name.
    pub name: String,
    /// What its host calls itself; null when it was not reached.
    pub host: Option<String>,
    /// Its own verdict; null when it ended because of another host.
    pub outcome: Option<Verdict>,
    /// What happened, if it is more than the verdict.
    pub reason: Option<String>,
    /// Whether that may still change: it may be at work, or has a folder that is not here.
    #[serde(default)]
    pub may_change: bool,
    /// How far its clock is ahead of that of the coordinator, both since they were started.
    pub offset_ms: Option<f64>,
    /// That is wrong by at most this much.
    pub offset_bound_ms: Option<f64>,
}

impl Fleet {
    /// How far apart its hosts began; `None` when fewer than two did.
    pub fn apart(&self) -> Option<String> {
        let (skew, bound) = (decimals(self.skew_ms?), decimals(self.skew_bound_ms?));
        Some(format!("hosts began to collect {skew} ms apart, known to {bound} ms"))
    }
}

impl FleetAgent {
    /// Its host and its outcome, for people.
    pub fn in_words(&self) -> [&str; 2] {
        let outcome = self.outcome.map_or("ended with others", Verdict::word);
        [self.host.as_deref().unwrap_or("not reached"), outcome]
    }
}
