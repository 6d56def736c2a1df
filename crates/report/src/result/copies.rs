//! Passive copies that followed a server.

use serde::{Deserialize, Serialize};

/// A passive copy of an instance, fed by log shipping during the test, and compared with its active
/// afterwards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PassiveCopy {
    /// Its name.
    pub name: String,
    /// The instance that it follows.
    pub instance: String,
    /// How old a log is before the copy replays it, in seconds; 0 for a copy that replays at once.
    pub lag_s: f64,
    /// Closed logs that it had not stored, at the end of each sample.
    pub copy_queue_logs: Vec<u32>,
    /// Stored logs that it had not replayed, at the end of each sample.
    pub replay_queue_logs: Vec<u32>,
    /// Reads of its databases per second between the first sample and the last one: redo, without
    /// maintenance; null with fewer samples.
    #[serde(default)]
    pub database_reads_per_s: Option<f64>,
    /// The same for writes.
    #[serde(default)]
    pub database_writes_per_s: Option<f64>,
    /// Logs that it received.
    pub logs: u64,
    /// Duration of its seed, in seconds.
    pub seed_s: f64,
    /// What its background maintenance found; null without any.
    pub scan: Option<CopyScan>,
    /// Bad pages that were replaced by the active's; null in a simulation, whose pages have no
    /// content.
    pub pages_repaired: Option<u64>,
    /// Bad pages of its active that were replaced by its own; likewise.
    pub pages_given: Option<u64>,
    /// Time after the test until it had replayed every log, in seconds; null when it did not come
    /// to that.
    pub catch_up_s: Option<f64>,
    /// Records compared with those of its active.
    pub records_checked: Option<u64>,
    /// Pages verified.
    pub pages_seen: Option<u64>,
    /// Whether it was not what its active is; null when that was not looked at.
    pub is_wrong: Option<bool>,
    /// What was found.
    pub remark: String,
    /// Why an activation after the last sample would have chosen it among the copies of its
    /// instance; null for those it would not.
    #[serde(default)]
    pub best: Option<String>,
}

/// Background maintenance of a passive copy, all its databases together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CopyScan {
    /// Complete passes over every database.
    pub passes: u64,
    /// Pages that were read; cached ones are not. Null in results of earlier programs.
    #[serde(default)]
    pub pages_read: Option<u64>,
    /// Those that were judged; null in a simulation, whose pages have no content.
    pub pages_judged: Option<u64>,
    /// Bad pages, repaired or not; null when none was judged.
    pub pages_bad: Option<u64>,
}

impl PassiveCopy {
    /// The longest copy queue and the longest replay queue.
    pub fn longest(&self) -> [Option<u32>; 2] {
        [&self.copy_queue_logs, &self.replay_queue_logs].map(|queue| queue.iter().copied().max())
    }
}
