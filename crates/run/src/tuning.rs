//! What a test has to reach, and how its sessions were found.

use std::fmt;

use brunt_units::{counted, decimals};
use serde::{Deserialize, Serialize};

/// A rate of database reads and writes that the storage must achieve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Database reads and writes per second, above zero.
    pub io_per_s: f64,
    /// How much more than the target is asked for, in percent.
    pub headroom_percent: u32,
}

impl Target {
    /// The rate that sessions are paced to ask for, in I/Os per second.
    pub fn offered(&self) -> f64 {
        self.io_per_s * (100.0 + f64::from(self.headroom_percent)) / 100.0
    }
}

/// The search for the sessions of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// The number found; `None` when there is none.
    pub sessions: Option<u32>,
    /// Database reads and writes per second in their trials.
    pub io_per_s: Option<f64>,
    /// Whether trials contradict one another, so that they say nothing about the storage.
    #[serde(default)]
    pub is_contradictory: bool,
    /// The outcome in words; empty when the run ended before.
    pub outcome: String,
}

/// A short trial of a number of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Sessions in the pool.
    pub sessions: u32,
    /// Whether they were paced for the target, or ran in a closed loop.
    pub is_paced: bool,
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// Mean latency of database reads of the slowest database.
    pub db_read_ms: f64,
    /// Mean latency of log writes of the slowest log.
    pub log_write_ms: f64,
    /// Page-fault stalls per second.
    pub page_fault_stalls_per_s: f64,
    /// The result: `passes`, `keeps its pace`, `behind its pace`, or the limit that was exceeded:
    /// `log above its limit`.
    pub outcome: String,
}

impl fmt::Display for Trial {
    /// `16 sessions: 3,450 I/Os per second, read 4.10 ms, log 0.80 ms: passes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} I/Os per second, read {} ms, log {} ms: {}",
            counted(self.sessions.into(), "session"),
            decimals(self.io_per_s),
            decimals(self.db_read_ms),
            decimals(self.log_write_ms),
            self.outcome
        )
    }
}
