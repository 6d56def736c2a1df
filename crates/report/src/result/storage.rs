//! What a test of storage measured.

use serde::{Deserialize, Serialize};

use super::{Details, InjectedFault, Integrity, Server};

/// A test of storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Storage {
    /// Kind of test, as in the scenario: performance, stress, database-backup, soft-recovery.
    pub test: String,
    /// Database reads and writes for operations per second of collection, all servers together; without log,
    /// maintenance and replication.
    pub achieved_iops: Option<f64>,
    /// What was to be reached; null when no target was set.
    pub target_iops: Option<f64>,
    /// All database files before the test.
    pub database_bytes_initial: Option<u64>,
    /// All database files after it.
    pub database_bytes_final: Option<u64>,
    /// Number of database files.
    pub database_files: u64,
    /// Records compared with what was committed, after the test and after every recovery or restore in it; null when
    /// it did not come to that. Any lost, stale, phantom or torn record fails the run.
    #[serde(default)]
    pub integrity: Option<Integrity>,
    /// What was made to go wrong on purpose by `[[event]]` of the scenario; a test with faults never qualifies.
    #[serde(default)]
    pub faults: Vec<InjectedFault>,
    /// Each server.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub servers: Vec<Server>,
    /// What report.html shows besides. No promise: it may change without a new version.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub details: Details,
}
