//! One host of a run.

use serde::{Deserialize, Serialize};

use super::{Backend, Durability, Instance, Machine, PassiveCopy, VerifiedFile};

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Server {
    /// The host's name.
    pub name: String,
    /// Its log streams with their databases.
    pub instances: Vec<Instance>,
    /// Counters of the machine during the collection.
    pub host: Vec<HostCounter>,
    /// Verification results, by file.
    pub checksum: Vec<VerifiedFile>,
    /// Read rates of the databases in a backup; empty in other tests.
    pub backup: Vec<Backup>,
    /// Replay times of the logs in a recovery; empty in other tests.
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

/// A counter of the machine over the samples; null where it was not measured or exists only on Windows.
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
    /// Its size, in MiB.
    pub megabytes: f64,
    /// Duration of the read, in seconds.
    pub seconds: f64,
    /// MiB per second.
    pub mb_per_s: f64,
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
        Self {
            counter: counter.to_owned(),
            avg: None,
            min: None,
            max: None,
        }
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
    /// The counter called `counter`.
    pub fn host_counter(&self, counter: &str) -> Option<&HostCounter> {
        self.host.iter().find(|one| one.counter == counter)
    }
}
