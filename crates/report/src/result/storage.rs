//! The results of a test of storage.

use serde::{Deserialize, Serialize};

use super::{
    Bottleneck, ContentNumbers, Details, InjectedFault, Integrity, Precision, Server, StateNumbers,
    Tested,
};

/// A test of storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Storage {
    /// Kind of test, as in the scenario: performance, stress, database-backup, soft-recovery.
    #[cfg_attr(test, schemars(with = "String"))]
    pub test: Tested,
    /// Database reads and writes of operations per second of the collection, over all servers;
    /// without log, maintenance and log shipping.
    pub achieved_iops: Option<f64>,
    /// The target; null without one.
    pub target_iops: Option<f64>,
    /// Why servers missed the target or its headroom; empty when none did.
    #[serde(default)]
    pub bottlenecks: Vec<Bottleneck>,
    /// Size of all database files before the test.
    pub database_bytes_initial: Option<u64>,
    /// Size of all database files after the test.
    pub database_bytes_final: Option<u64>,
    /// Number of database files.
    pub database_files: u64,
    /// Records compared with what was committed, after the test and after every recovery or restore
    /// in it; null when there was no comparison. Any lost, stale, phantom or torn record fails the
    /// run.
    #[serde(default)]
    pub integrity: Option<Integrity>,
    /// What storage that reduces data sees of the databases, for blocks of 4, 8 and 32 KiB; empty
    /// when it was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentNumbers>,
    /// Faults injected by `[[event]]` of the scenario; a test with faults never qualifies.
    #[serde(default)]
    pub faults: Vec<InjectedFault>,
    /// Simulated tests during which a group of drives was not whole: the load in each state, and of
    /// all samples (all).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateNumbers>,
    /// Simulated tests: how well the figures are known; null for tests without load, short ones and
    /// those on real storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Each server.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub servers: Vec<Server>,
    /// Everything else that report.html shows. No promise: it may change without a new version.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub details: Details,
}
