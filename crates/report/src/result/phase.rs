//! What each phase of a test did to the storage, counted for that phase alone.
//!
//! ```text
//!   performance, stress   load                            checksum
//!   database-backup                backup, restore, replay, checksum
//!   soft-recovery         log generation,          replay, checksum
//! ```
//!
//! A phase that did not take place is not in the list. A phase without host counters was not
//! watched.

use std::fmt;

use brunt_stats::Reading;
use brunt_units::Span;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use super::mib::RateNames;
use super::{HostCounter, IoNumbers, Mib, MibPerS, Tested, Work};

/// A part of a test with counters of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// Sessions run and count: the collection of a performance or stress test.
    Load,
    /// Sessions write the logs that are then replayed.
    LogGeneration,
    /// Databases are read for a backup, which is written where there is a folder for it.
    Backup,
    /// The backup is copied beside the databases, compared, and moved into place.
    Restore,
    /// Logs are replayed, after a crash or on a restored backup.
    Replay,
    /// Every page is read and judged; in a simulation, only read.
    Checksum,
}

/// The kind of I/O of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum PhaseOp {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads of background maintenance.
    MaintenanceRead,
    /// Writes that format log files before use.
    FormatWrite,
    /// Reads of log shipping.
    ReplicationRead,
    /// Requests to make earlier writes durable; they carry no bytes.
    Sync,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Phase {
    /// Which one.
    pub phase: PhaseName,
    /// Its length, in seconds.
    pub seconds: f64,
    /// I/O by file, and by folder for log files; what had none is left out.
    pub files: Vec<PhaseIo>,
    /// The same by volume.
    pub volumes: Vec<PhaseIo>,
    /// Counters of the machine during the phase; empty when it was not watched.
    pub host: Vec<HostCounter>,
}

/// One kind of I/O on one file or volume. Latencies are from submission to completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseIo {
    /// The file, or where the volume is mounted.
    pub path: String,
    /// The database or log; null for volumes, and for files that are neither.
    pub name: Option<String>,
    /// Where the volume of a file is mounted; null when that is not known.
    pub volume: Option<String>,
    /// The kind of I/O.
    pub io: PhaseOp,
    /// Number of I/Os.
    pub count: u64,
    /// I/Os per second of the phase.
    pub per_s: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// The rate over the phase.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "RateNames"))]
    pub rate: MibPerS,
    /// Mean latency.
    pub latency_ms_mean: Option<f64>,
    /// Median.
    pub latency_ms_p50: Option<f64>,
    /// 99th percentile.
    pub latency_ms_p99: Option<f64>,
    /// Longest.
    pub latency_ms_max: Option<f64>,
}

impl PhaseName {
    /// The phase that a test of this kind is about.
    pub const fn of_test(test: Tested) -> Self {
        match test.work() {
            Work::Load => Self::Load,
            Work::BackUp => Self::Backup,
            Work::Replay => Self::Replay,
        }
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::LogGeneration => "log generation",
            Self::Backup => "backup",
            Self::Restore => "restore",
            Self::Replay => "replay",
            Self::Checksum => "checksum",
        })
    }
}

impl fmt::Display for PhaseOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::MaintenanceRead => "maintenance read",
            Self::FormatWrite => "format",
            Self::ReplicationRead => "replication read",
            Self::Sync => "sync",
        })
    }
}

impl PhaseOp {
    /// The same without its purpose, as a volume sees it.
    pub fn plain(self) -> Self {
        match self {
            Self::Read | Self::MaintenanceRead | Self::ReplicationRead => Self::Read,
            Self::Write | Self::FormatWrite => Self::Write,
            Self::Sync => Self::Sync,
        }
    }
}

impl PhaseIo {
    /// The numbers of `reading` over a phase of `length`.
    pub fn new(path: String, io: PhaseOp, reading: &Reading, length: Span) -> Self {
        let numbers = IoNumbers::new(reading, length);
        let seconds = length.as_seconds();
        Self {
            path,
            name: None,
            volume: None,
            io,
            count: numbers.count,
            per_s: numbers.per_s,
            bytes: numbers.bytes,
            rate: match seconds > 0.0 {
                true => Mib::of(numbers.bytes).over(seconds),
                false => MibPerS::default(),
            },
            latency_ms_mean: numbers.latency_ms_mean,
            latency_ms_p50: numbers.latency_ms_p50,
            latency_ms_p99: numbers.latency_ms_p99,
            latency_ms_max: numbers.latency_ms_max,
        }
    }

    /// The same numbers as those of a stream.
    pub fn numbers(&self) -> IoNumbers {
        IoNumbers {
            count: self.count,
            per_s: self.per_s,
            bytes: self.bytes,
            latency_ms_mean: self.latency_ms_mean,
            latency_ms_p50: self.latency_ms_p50,
            latency_ms_p99: self.latency_ms_p99,
            latency_ms_max: self.latency_ms_max,
        }
    }
}
