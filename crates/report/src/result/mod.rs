//! The result of a run, as `result.json` has it.
//!
//! Fields are only added, never renamed or given another meaning; when that has to happen, [`SCHEMA_VERSION`]
//! grows. Names end in their unit (`latency_ms_p99`, `db_bytes_final`). What was not measured is `null`, never zero.
//! A test holds the written form against `tests/result_v1.json`.

mod environment;
mod io;
mod setup;
mod verdict;
mod verification;

pub use environment::{Backend, Durability, Host, HostCounter, Origin, Volume, WriteCache};
pub use io::{
    Bucket, DatabaseNumbers, Distribution, Flow, Instance, IoNumbers, LogNumbers, Sample,
};
pub use setup::{Limits, Setup, Sizing, Times};
pub use verdict::{Outcome, Quantity, Rule, Verdict};
pub use verification::VerifiedFile;

use serde::{Deserialize, Serialize};

/// The version of the form that this program writes.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything a report needs, apart from scenario and events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// The scenario's name.
    pub name: String,
    /// Pass or fail, or why neither.
    pub verdict: Verdict,
    /// The verdict in one plain sentence.
    pub sentence: String,
    /// Whether it may be shown as a qualification of the storage; a demo may pass and does not qualify.
    pub qualifies: bool,
    /// Why it does not, one reason each.
    pub reasons: Vec<String>,
    /// Every rule, in report order.
    pub rules: Vec<Rule>,
    /// When.
    pub times: Times,
    /// What was asked for.
    pub setup: Setup,
    /// How large, and how many I/Os per second.
    pub sizing: Sizing,
    /// Instance by instance: paths and I/O.
    pub instances: Vec<Instance>,
    /// Page-fault stalls per second over the collection.
    pub page_fault_stalls_per_s: Option<f64>,
    /// The whole server over time.
    pub samples: Vec<Sample>,
    /// How latencies were spread, one entry for each kind of I/O.
    pub distributions: Vec<Distribution>,
    /// What verification found, file by file.
    pub verification: Vec<VerifiedFile>,
    /// The machine.
    pub host: Host,
    /// How I/O reached the storage.
    pub backend: Backend,
    /// How log writes were made durable, one entry for each log.
    pub durability: Vec<Durability>,
    /// How the result came to be.
    pub origin: Origin,
}

impl RunResult {
    /// The text of `result.json`.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("maps have string keys");
        text.push('\n');
        text
    }

    /// Reads a `result.json`. Unknown fields are later additions and are skipped.
    ///
    /// # Errors
    /// When it is not JSON, or a field of this version is missing.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}
