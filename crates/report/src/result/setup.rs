//! The parameters and times of a test.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// When the parts of the run began and ended, in UTC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Times {
    /// Start of the run.
    pub started: Timestamp,
    /// Start of the collection; null when there was none.
    pub collection_started: Option<Timestamp>,
    /// End of the collection.
    pub collection_ended: Option<Timestamp>,
    /// End of the run, including verification; null while it is running, and forever if its host
    /// died.
    pub ended: Option<Timestamp>,
    /// Length of the collection.
    pub collection_s: f64,
}

/// The test's parameters, with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Free text from the scenario.
    pub description: String,
    /// The version profile: `exchange-2013`.
    pub profile: String,
    /// Sessions in the pool; of all servers.
    pub sessions: u32,
    /// The unit for which the version counts sessions: `server`, `instance` (a storage group) or
    /// `database`.
    #[serde(default)]
    pub session_scope: String,
    /// Sessions for each of these units.
    #[serde(default)]
    pub sessions_each: u32,
    /// The share of the volumes that sized the databases; `None` when they were sized otherwise.
    #[serde(default)]
    pub capacity_percent: Option<u32>,
    /// The share of the maximum throughput that was asked for; `None` in other tests.
    #[serde(default)]
    pub throughput_percent: Option<u32>,
    /// Database reads and writes per second that sessions were paced to ask for, of all servers;
    /// `None` when they ran in a closed loop.
    #[serde(default)]
    pub pace_iops: Option<f64>,
    /// Mailboxes behind the target, of all servers; `None` when it was given otherwise.
    #[serde(default)]
    pub mailboxes: Option<u64>,
    /// Size of a database page.
    pub page_bytes: u64,
    /// Size of a log file.
    pub log_file_bytes: u64,
    /// Size of the log buffer of an instance.
    pub log_buffer_bytes: u64,
    /// Cache of the whole server, lower bound.
    pub cache_bytes_min: u64,
    /// Cache of the whole server, upper bound.
    pub cache_bytes_max: u64,
    /// Checkpoint depth of an instance.
    pub checkpoint_depth_bytes: u64,
    /// Share of operations that insert a record.
    pub insert_percent: u32,
    /// Share of operations that delete a record.
    pub delete_percent: u32,
    /// Share of operations that replace a record.
    pub replace_percent: u32,
    /// Share of operations that read a record.
    pub read_percent: u32,
    /// Share of commits that do not wait for the log.
    pub lazy_commit_percent: u32,
    /// Threads that shared the work, each with whole log streams.
    #[serde(default = "one")]
    pub shards: u32,
    /// Whether databases were scanned in the background.
    pub background_maintenance: bool,
    /// Copies of each database; above one, logs are read for the other copies.
    pub copies: u32,
    /// Whether old logs were deleted.
    pub circular_logging: bool,
    /// The latency limits.
    pub limits: Limits,
}

fn one() -> u32 {
    1
}

/// Latency limits.
///
/// Source of the defaults: `Thresholds` in a `JetstressConfig.xml` of Jetstress 2013 (20, 100, 10
/// and 100 ms).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Database reads, mean over the collection.
    pub database_read_ms_mean: f64,
    /// Database reads, mean of the worst sample.
    pub database_read_ms_max: f64,
    /// Log writes, mean over the collection.
    pub log_write_ms_mean: f64,
    /// Log writes, mean of the worst sample.
    pub log_write_ms_max: f64,
}
