//! The state of a running test.

use brunt_units::Span;
use serde::{Deserialize, Serialize};

use super::in_json;

/// The state of a running test; unless stated otherwise, rates and latencies are those of the
/// running sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Time since the collection began.
    #[serde(rename = "elapsed_s", with = "in_json::seconds")]
    pub elapsed: Span,
    /// Length of the collection.
    #[serde(rename = "duration_s", with = "in_json::seconds")]
    pub duration: Span,
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// The same since the collection began.
    #[serde(default)]
    pub io_per_s_mean: f64,
    /// What that must reach; `None` without a target.
    #[serde(default)]
    pub io_per_s_min: Option<f64>,
    /// Mean latency of database reads.
    #[serde(rename = "read_ms", with = "in_json::maybe_millis")]
    pub read: Option<Span>,
    /// p99 of database reads.
    #[serde(rename = "read_ms_p99", with = "in_json::maybe_millis")]
    pub read_p99: Option<Span>,
    /// Mean latency of database writes.
    #[serde(rename = "write_ms", with = "in_json::maybe_millis")]
    pub write: Option<Span>,
    /// Mean latency of log writes.
    #[serde(rename = "log_write_ms", with = "in_json::maybe_millis")]
    pub log_write: Option<Span>,
    /// Page-fault stalls since the collection began.
    pub stalls: u64,
    /// Whether a limit has been exceeded so far.
    pub over: bool,
    /// The rules so far, judged after each sample.
    #[serde(default)]
    pub so_far: SoFar,
    /// Each database; only for the screen.
    #[serde(skip)]
    pub databases: Vec<LiveDatabase>,
}

/// The rules so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SoFar {
    /// `None` while too little was measured.
    pub passes: Option<bool>,
    /// The title of the first rule that does not hold.
    pub failed: Option<String>,
    /// Each group of rules and the worst outcome in it, in words; *not measured* as long as none of
    /// its rules has a measurement.
    pub groups: Vec<(String, String)>,
}

/// One database, and the log of its instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveDatabase {
    pub name: String,
    /// Mean latency of its reads.
    pub read: Option<Span>,
    /// Mean latency of its instance's log writes.
    pub log_write: Option<Span>,
}
