//! What mail servers, their storage, the machine and brunt itself used.

use serde::{Deserialize, Serialize};

/// Shares and rates of the steady part of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailUsage {
    /// How long it was looked at.
    pub seconds: f64,
    /// The servers, the relay first.
    pub servers: Vec<MailServerUsage>,
    /// The device under their folder; null where there is none, or several.
    pub storage: Option<MailStorage>,
    /// Processors that brunt's sessions kept busy; they have one. Null when it is not known.
    pub brunt_processors: Option<f64>,
    /// Processors of the machine.
    pub processors: u64,
    /// The share of all processors that was busy with any program; null when it is not known.
    pub machine_busy: Option<f64>,
    /// The share of the time in which something waited for a processor; null when it is not counted.
    pub stalled_on_processor: Option<f64>,
    /// The share of the time in which something waited for storage; null when it is not counted.
    pub stalled_on_io: Option<f64>,
    /// The least memory that was available; null when it is not known.
    pub memory_available_mib_min: Option<f64>,
}

/// What one server used: all of its processes, and those of them that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailServerUsage {
    /// Its name.
    pub server: String,
    /// Processors that it kept busy.
    pub processors: f64,
    /// The most memory that it had; what several processes share counts once.
    pub memory_mib_max: f64,
    /// The most processes that it had.
    pub processes_max: u64,
    /// From storage.
    pub read_mib_per_s: f64,
    /// To storage, or to caches that will write it.
    pub written_mib_per_s: f64,
}

/// What a device did for all programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailStorage {
    /// Its name in the kernel.
    pub device: String,
    /// The share of the time in which a request was in flight.
    pub busy: f64,
    /// Reads completed.
    pub reads_per_s: f64,
    /// Mean time of a read; null without any.
    pub read_ms: Option<f64>,
    /// Writes completed.
    pub writes_per_s: f64,
    /// Mean time of a write; null without any.
    pub write_ms: Option<f64>,
    /// Flushes completed; null where the kernel does not count them.
    pub flushes_per_s: Option<f64>,
}

/// The task that was slowest, and what made it so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MailSlowest {
    /// Its name in profiles.
    pub task: String,
    /// The 95th percentile of its responses.
    pub p95_ms: f64,
    /// What made it slow, as far as it can be told.
    pub because: String,
}
