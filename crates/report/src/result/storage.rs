//! What a test of storage measured.

use serde::{Deserialize, Serialize};

use super::{Details, InjectedFault, Integrity, Server};

/// Load, backup or recovery on storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// The kind of test: `performance`.
    pub test: String,
    /// Database reads and writes for operations, per second of collection, over all instances.
    pub achieved_iops: Option<f64>,
    /// What was to be reached; nothing when no target was set.
    pub target_iops: Option<f64>,
    /// All database files before the test; nothing when it did not come so far. Likewise the next.
    pub database_bytes_initial: Option<u64>,
    /// All database files after it.
    pub database_bytes_final: Option<u64>,
    /// How many database files.
    pub database_files: u64,
    /// Whether every record was there, as it was committed last; nothing when it did not come to that.
    #[serde(default)]
    pub integrity: Option<Integrity>,
    /// What was made to go wrong on purpose; empty in a test that counts.
    #[serde(default)]
    pub faults: Vec<InjectedFault>,
    /// Each server.
    pub servers: Vec<Server>,
    /// What the report shows besides.
    pub details: Details,
}
