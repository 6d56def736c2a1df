//! The machine of a run, and how its I/O reached the storage.

use serde::{Deserialize, Serialize};

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Distribution and version.
    pub operating_system: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub processor: String,
    /// Processors the program could use.
    pub processors: u32,
    /// Main memory.
    pub memory_bytes: u64,
    /// How right its clock was at the end of the run; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<MachineClock>,
}

/// How far a machine's clock may be off, by what its kernel knows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineClock {
    /// Whether something keeps it right: NTP, PTP.
    pub synchronised: bool,
    /// How far it is off, as the kernel guesses.
    pub estimated_error_ms: f64,
    /// The most that it can be off.
    pub max_error_ms: f64,
}

/// How I/O was submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backend {
    /// `io_uring`, `thread pool`.
    pub name: String,
    /// Why it is not the first choice, or another remark; often empty.
    pub remark: String,
    /// Whether the page cache of the operating system was bypassed.
    pub direct: bool,
    /// The file systems under the databases and logs.
    pub volumes: Vec<Volume>,
}

/// One file system in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// Its mount point.
    pub mount: String,
    /// Its type: `ext4`, `xfs`.
    pub file_system: String,
    /// Its device.
    pub device: String,
    /// Reads of this run that reached the device, as the kernel counts them; `None` where it does
    /// not.
    pub device_reads: Option<u64>,
    /// Reads of this run that the engine submitted on this volume.
    pub engine_reads: u64,
    /// The device and those under it, from the top down to the drives; empty when none are known.
    #[serde(default)]
    pub stack: Vec<Device>,
    /// RAID of software for it or below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redundancy: Vec<Redundancy>,
}

/// What several devices make together: `whole`, or what it lacks and what it does beside the test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Redundancy {
    /// Its name: `md0`.
    pub name: String,
    /// How it was when the run began.
    pub at_begin: String,
    /// How it was when the run ended; `None` before.
    pub at_end: Option<String>,
}

/// A block device under a volume, as it describes itself; `None` for what it does not report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its name in the kernel: `sda`, `nvme0n1`, `dm-3`.
    pub name: String,
    /// What it is made of: `drive`, `raid10`, `vg0-mail (LVM)`, `file /srv/disk.img`,
    /// `path, non-optimized`.
    pub made: String,
    /// Whether no device is known under it.
    pub is_leaf: bool,
    /// Vendor and model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Revision of the firmware.
    pub firmware: Option<String>,
    /// Capacity.
    pub capacity_bytes: Option<u64>,
    /// Whether it reports itself as rotational; hypervisors often do so for drives that are not.
    pub is_rotational: Option<bool>,
    /// Its write cache, as the kernel treats it.
    pub write_cache: Option<WriteCache>,
    /// The kernel's scheduler for it.
    pub scheduler: Option<String>,
    /// Depth of the kernel's request queue, for each hardware queue.
    pub queue_requests: Option<u32>,
    /// Bytes of the smallest addressable unit.
    pub logical_sector_bytes: Option<u32>,
    /// Bytes of the smallest unit written without a read.
    pub physical_sector_bytes: Option<u32>,
}

/// What a device reports about its write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteCache {
    /// Completed writes may be lost until they are flushed.
    WriteBack,
    /// Completed writes are durable, according to the device.
    WriteThrough,
    /// It does not report this.
    Unknown,
}

/// How the writes of one log became durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Durability {
    /// The log's folder.
    pub path: String,
    /// The durable write: `write-through (O_DSYNC)`, `write, then fdatasync`.
    pub method: String,
    /// The device's write cache.
    pub write_cache: WriteCache,
    /// Whether the device supports writes that bypass its cache (FUA); `None` when unknown.
    pub fua: Option<bool>,
    /// Mean latency of a durable log write.
    pub log_latency_ms_mean: Option<f64>,
    /// Share of this latency that durability cost, 0 to 1; `None` when not measured.
    pub flush_share: Option<f64>,
}

/// How the result was produced, and how to reproduce it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Origin {
    /// The command line.
    pub command: String,
    /// Version of brunt.
    pub version: String,
    /// The commit it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub commit: Option<String>,
    /// The seed of all randomness.
    pub seed: u64,
    /// The run's id, which its database files carry.
    pub run_id: String,
}

impl Origin {
    /// The program with its version and commit.
    pub(crate) fn program(&self) -> String {
        match &self.commit {
            Some(commit) => format!("brunt {} ({commit})", self.version),
            None => format!("brunt {}", self.version),
        }
    }
}
