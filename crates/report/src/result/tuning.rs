//! How the sessions of a test were found.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{counted, decimals};

/// A search for the sessions of a test, before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// What was found; nothing when nothing was.
    pub sessions: Option<u32>,
    /// Database reads and writes per second that they had in their trials.
    pub io_per_s: Option<f64>,
    /// Whether trials contradict one another, so that nothing was found out about the storage.
    #[serde(default)]
    pub is_contradictory: bool,
    /// The end of it in words; empty when the run ended before.
    pub outcome: String,
}

/// A number of sessions that was tried for some seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Sessions in the pool.
    pub sessions: u32,
    /// Whether they were given the pace of the target, or ran in a closed loop.
    pub is_paced: bool,
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// Mean of database reads, of the slowest database.
    pub db_read_ms: f64,
    /// Mean of log writes, of the slowest log.
    pub log_write_ms: f64,
    /// Page-fault stalls per second.
    pub page_fault_stalls_per_s: f64,
    /// What it showed: `passes`, `above a limit`, `keeps its pace`, `behind its pace`.
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
