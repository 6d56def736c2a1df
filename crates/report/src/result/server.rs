//! One host of a run.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use super::mib::{RateNames, SizeNames};
use super::{
    Backend, DatabaseNumbers, Durability, Instance, InstanceDetails, IoNumbers, LogNumbers,
    Machine, Mib, MibPerS, PassiveCopy, Phase, PhaseName, PhaseOp, Tested, VerifiedFile,
};
use crate::host_counters::in_order;

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Server {
    /// The host's name.
    pub name: String,
    /// Its log streams with their databases.
    pub instances: Vec<Instance>,
    /// Each phase of the test with its own I/O and counters; empty in results of earlier programs
    /// and of runs that did not end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Counters of the machine during the collection or the backup.
    pub host: Vec<HostCounter>,
    /// Verification results, by file.
    pub checksum: Vec<VerifiedFile>,
    /// Read rates of the databases in a backup; empty in other tests.
    pub backup: Vec<Backup>,
    /// What it took to restore the backup; null when none was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Restore>,
    /// Replay times of the logs in a recovery, also after a restore; empty in other tests.
    pub recovery: Vec<Recovery>,
    /// Passive copies that followed it; empty without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<PassiveCopy>,
    /// Everything else that report.html shows. No promise: it may change without a new version.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub details: ServerDetails,
}

/// Fields that are no promise to scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerDetails {
    /// The machine.
    pub machine: Machine,
    /// How I/O reached the storage.
    pub backend: Backend,
    /// How log writes were made durable, one entry for each log.
    pub durability: Vec<Durability>,
}

/// A counter of the machine over the samples; null where it was not measured or exists only on
/// Windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostCounter {
    /// Name, with its unit.
    pub counter: String,
    /// Mean over the samples.
    pub avg: Option<f64>,
    /// Minimum over the samples.
    pub min: Option<f64>,
    /// Maximum over the samples.
    pub max: Option<f64>,
}

/// One database that was read for a backup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Backup {
    /// The database, or the instance if it has only one.
    pub instance: String,
    /// Its size.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "SizeNames"))]
    pub size: Mib,
    /// Duration of the read, in seconds.
    pub seconds: f64,
    /// How fast it was read.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "RateNames"))]
    pub rate: MibPerS,
    /// The folder that the backup was written to; null when it was only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_to: Option<String>,
}

/// The restore of all databases from a backup in files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Restore {
    /// The folder that the backup was in.
    pub from: String,
    /// Its files, with the logs that it needs.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "SizeNames"))]
    pub size: Mib,
    /// Duration until they were copied and compared, in seconds.
    pub copy_seconds: f64,
    /// Duration until the databases could be used: copied, moved into place, recovered.
    pub seconds: f64,
    /// The rate over the whole duration.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "RateNames"))]
    pub rate: MibPerS,
}

/// One instance whose logs were replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recovery {
    /// The instance.
    pub instance: String,
    /// Log files replayed.
    pub logs: u64,
    /// Duration of the recovery, in seconds.
    pub seconds: f64,
}

impl HostCounter {
    /// A counter that was not measured, or that does not exist on this system.
    pub fn absent(counter: &str) -> Self {
        Self { counter: counter.to_owned(), avg: None, min: None, max: None }
    }

    /// A counter over samples of a value and a length each; the mean is weighted by length.
    pub fn over(counter: &str, samples: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut all = Watched::default();
        for (value, seconds) in samples {
            all.add(value, seconds);
        }
        all.counter(counter)
    }
}

/// Accumulates a counter of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watched {
    sum: f64,
    seconds: f64,
    ends: Option<(f64, f64)>,
}

impl Watched {
    /// Adds a sample of `seconds` with this mean `value`.
    pub fn add(&mut self, value: f64, seconds: f64) {
        self.sum += value * seconds;
        self.seconds += seconds;
        let (min, max) = self.ends.unwrap_or((value, value));
        self.ends = Some((min.min(value), max.max(value)));
    }

    /// The accumulated counter, called `name`.
    pub fn counter(&self, name: &str) -> HostCounter {
        HostCounter {
            avg: (self.seconds > 0.0).then(|| self.sum / self.seconds),
            min: self.ends.map(|(min, _)| min),
            max: self.ends.map(|(_, max)| max),
            ..HostCounter::absent(name)
        }
    }
}

impl Server {
    /// What `phase` did; `None` when it did not take place or was not counted.
    pub fn phase(&self, phase: PhaseName) -> Option<&Phase> {
        self.phases.iter().find(|one| one.phase == phase)
    }

    /// The streams of an instance in the phase that a test of this kind is about; `None` when they
    /// were not measured.
    pub fn main_streams(&self, test: Tested, instance: &Instance) -> Option<InstanceDetails> {
        let main = PhaseName::of_test(test);
        if main == PhaseName::Load {
            return instance.db_reads_per_s.map(|_| instance.details.clone());
        }
        let phase = self.phase(main)?;
        let InstanceDetails { log, databases } = &instance.details;
        let of = |path: &dyn Fn(&str) -> bool, io: PhaseOp| {
            let rows = phase.files.iter();
            let rows = rows.filter(|row| row.io == io && path(&row.path));
            let numbers: Vec<IoNumbers> = rows.map(|row| row.numbers()).collect();
            match numbers.as_slice() {
                // With its percentiles.
                [only] => *only,
                all => IoNumbers::together(all),
            }
        };
        let is_log = |path: &str| {
            let rest = path.strip_prefix(log.path.as_str());
            rest.is_some_and(|rest| rest.starts_with("/edb") && rest.ends_with(".log"))
        };
        let database = |own: &DatabaseNumbers| {
            let is_own = |path: &str| path == own.path;
            DatabaseNumbers {
                reads: of(&is_own, PhaseOp::Read),
                writes: of(&is_own, PhaseOp::Write),
                ..DatabaseNumbers::none(&own.name, &own.path)
            }
        };
        Some(InstanceDetails {
            log: LogNumbers {
                reads: of(&is_log, PhaseOp::Read),
                writes: of(&is_log, PhaseOp::Write),
                ..LogNumbers::none(&log.path)
            },
            databases: databases.iter().map(database).collect(),
        })
    }

    /// Counters of the machine in the phase that a test of this kind is about.
    pub fn main_host(&self, test: Tested) -> Vec<HostCounter> {
        match (PhaseName::of_test(test), self.phase(PhaseName::Replay)) {
            (PhaseName::Replay, Some(phase)) => in_order(phase.host.clone()),
            _ => self.host.clone(),
        }
    }

    /// The counter called `counter`.
    pub fn host_counter(&self, counter: &str) -> Option<&HostCounter> {
        self.host.iter().find(|one| one.counter == counter)
    }
}
