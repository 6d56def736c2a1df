//! Why a test missed its target.

use serde::{Deserialize, Serialize};

/// Why a server missed its target or its headroom, from what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bottleneck {
    /// The server; null when there is only one.
    pub server: Option<String>,
    /// What limited the rate.
    pub limit: Limiting,
    /// The same in words, with the measured values and what to try.
    pub sentence: String,
    /// The busiest part of the storage; null when unknown.
    pub busiest: Option<BusyPart>,
}

impl Bottleneck {
    /// The sentence; in a result of several servers with the server in front.
    pub fn heading(&self) -> String {
        match &self.server {
            Some(server) => format!("{server}: {}", self.sentence),
            None => self.sentence.clone(),
        }
    }
}

/// What limited the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum Limiting {
    /// The volumes of the databases.
    Storage,
    /// The volumes of the logs.
    Log,
    /// The engine's cache.
    Cache,
    /// The number of sessions.
    Sessions,
    /// The load: sessions had time left, and were not asked for more.
    Pace,
    /// The host that runs the test.
    Host,
    /// What was measured does not tell.
    Undecided,
}

/// How busy a part of the storage was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BusyPart {
    /// A device of the host (`vda`), or a part of a model (`group "db"`).
    pub part: String,
    /// Share of the collection in which it was busy, 0 to 1. A device counts as busy while any
    /// request is in flight.
    pub busy: f64,
}
