//! Numbers that only a model knows: the utilisation of every part of the storage, and where time
//! went.
//!
//! Shares are of the collection, 0 to 1. Several servers over the same arrays are measured
//! together, from when the last of them began to collect until the first ended.

use serde::{Deserialize, Serialize};

use super::{PagesNumbers, ReplicaNumbers, ReplicationNumbers};
use crate::Cell;

/// The model behind a run in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The engine that ran: `bytes` for the engine itself, `twin` for the twin.
    pub engine: String,
    /// How sessions were held back: `none`, `station 0.43`, `paced`.
    pub scheduling: String,
    /// Measured virtual time, in seconds.
    pub measured_s: f64,
    /// Real time of the whole simulation, in seconds.
    pub wall_seconds: f64,
    /// Hash of all requests of the servers and their completion times: equal for runs without a
    /// visible difference.
    #[serde(default)]
    pub request_digest: String,
    /// Where the time of all sessions went.
    pub sessions: Option<SessionTime>,
    /// Each array.
    pub arrays: Vec<ArrayNumbers>,
    /// When groups were not whole: the state of the worst group of all arrays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateSpan>,
}

/// A time in which the state of the worst group did not change, in seconds from the beginning of
/// the simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateSpan {
    /// `copying back`, `rebuilding`, `degraded`, `data lost`.
    pub state: String,
    /// When it began.
    pub from_s: f64,
    /// When it ended.
    pub until_s: f64,
}

/// Something that happened to an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayEvent {
    /// When, in seconds from the beginning of the simulation.
    pub at_s: f64,
    /// What.
    pub what: String,
}

/// Where the time of sessions went. The shares add up to one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionTime {
    /// Between operations: held back by the scheduling, or waiting for the next intended start.
    pub held_back: f64,
    /// Waiting for pages. Pages read ahead together count more than once, so this is an upper
    /// bound.
    pub reading: f64,
    /// Computing.
    pub computing: f64,
    /// The rest of operations: waiting for the log, for room in the cache, or for each other.
    pub other: f64,
}

/// One array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayNumbers {
    /// Its name in the scenario.
    pub name: String,
    /// I/O of hosts, by purpose.
    pub asked: Vec<AskedNumbers>,
    /// I/O of hosts, by LUN.
    pub luns: Vec<LunNumbers>,
    /// Its groups of drives.
    pub groups: Vec<GroupNumbers>,
    /// Its drives.
    pub drives: Vec<DriveNumbers>,
    /// Processor utilisation of each controller.
    pub controllers: Vec<f64>,
    /// Utilisation of each port, in its busier direction.
    pub ports: Vec<f64>,
    /// Utilisation of the link between controllers.
    pub link_between: f64,
    /// The cache; `None` without one.
    pub cache: Option<CacheNumbers>,
    /// LUNs in pages; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesNumbers>,
    /// Its replication to another site; `None` for an array that is not replicated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<ReplicationNumbers>,
    /// Replicas of its volumes at another site; empty without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<ReplicaNumbers>,
    /// Its log of events, and what had not ended, in words.
    pub notes: Vec<String>,
    /// Says that incidents were scheduled for after the end; `None` without such incidents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_reached: Option<String>,
    /// The log of events, by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ArrayEvent>,
}

/// I/O of one purpose, and where its time went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedNumbers {
    /// `database read`, `log write`.
    pub what: String,
    /// I/Os per second.
    pub per_s: f64,
    /// Mean latency; `None` without I/O.
    pub latency_ms_mean: Option<f64>,
    /// The parts of the latency.
    pub parts: Vec<PartNumbers>,
}

/// A part of a latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartNumbers {
    /// `queue`, `seek`.
    pub part: String,
    /// Its mean over all I/Os.
    pub ms: f64,
}

/// I/O of hosts on one LUN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LunNumbers {
    /// Its name in the scenario.
    pub name: String,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Mean latency of reads.
    pub read_ms_mean: Option<f64>,
    /// Mean latency of writes.
    pub write_ms_mean: Option<f64>,
}

/// One group of drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNumbers {
    /// Its name in the scenario.
    pub name: String,
    /// `RAID 10`.
    pub level: String,
    /// Number of drives.
    pub drives: usize,
    /// Mean utilisation of its drives.
    pub utilisation: f64,
    /// Host reads and writes per second on its LUNs.
    pub front_per_s: f64,
    /// Reads of its drives per second.
    pub back_reads_per_s: f64,
    /// Writes of its drives per second.
    pub back_writes_per_s: f64,
    /// Mean number of requests in a drive.
    pub queue: f64,
    /// Mean service time of a request in a drive.
    pub service_ms: f64,
    /// Mean response time of a request in a drive, queueing included.
    pub response_ms: f64,
}

impl GroupNumbers {
    /// Its numbers for a table, in the order of the fields from the utilisation on.
    pub fn figures(&self) -> [Cell; 7] {
        [
            Cell::Share(self.utilisation),
            self.front_per_s.into(),
            self.back_reads_per_s.into(),
            self.back_writes_per_s.into(),
            self.queue.into(),
            self.service_ms.into(),
            self.response_ms.into(),
        ]
    }
}

/// One drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveNumbers {
    /// Its utilisation.
    pub utilisation: f64,
    /// Mean number of requests in it.
    pub queue: f64,
    /// Mean service time of a request.
    pub service_ms: f64,
    /// Mean response time of a request, queueing included.
    pub response_ms: f64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
}

/// The cache of an array.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheNumbers {
    /// Share of reads served entirely from the cache.
    pub read_hits: f64,
    /// Dirty share of the write cache at the end.
    pub dirty: f64,
    /// Its largest dirty share.
    pub dirty_max: f64,
    /// Writes per second that waited for space.
    pub stalled_per_s: f64,
    /// Mean number of pages in a destage write.
    pub pages_per_destage: f64,
}

impl Model {
    /// The maximum of `pick` over all arrays.
    pub fn busiest(&self, pick: impl Fn(&ArrayNumbers) -> Vec<f64>) -> Option<f64> {
        let all = self.arrays.iter().flat_map(pick);
        all.max_by(f64::total_cmp)
    }

    /// All I/O for `what`, over all arrays: rate, mean latency, and its parts.
    pub fn asked(&self, what: &str) -> Option<AskedNumbers> {
        let arrays = self.arrays.iter().flat_map(|array| &array.asked);
        arrays.filter(|asked| asked.what == what).cloned().reduce(|one, other| one.and(&other))
    }
}

impl AskedNumbers {
    /// Combines both.
    fn and(&self, other: &Self) -> Self {
        let all = self.per_s + other.per_s;
        let mean = |one: f64, two: f64| match all > 0.0 {
            true => (one * self.per_s + two * other.per_s) / all,
            false => 0.0,
        };
        let parts = self.parts.iter().zip(&other.parts);
        Self {
            what: self.what.clone(),
            per_s: all,
            latency_ms_mean: match (self.latency_ms_mean, other.latency_ms_mean) {
                (Some(one), Some(two)) => Some(mean(one, two)),
                (one, two) => one.or(two),
            },
            parts: parts
                .map(|(one, two)| PartNumbers { part: one.part.clone(), ms: mean(one.ms, two.ms) })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_of_several_arrays_are_weighed_by_their_number() {
        let asked = |per_s: f64, ms: f64| AskedNumbers {
            what: "database read".into(),
            per_s,
            latency_ms_mean: (per_s > 0.0).then_some(ms),
            parts: vec![PartNumbers { part: "seek".into(), ms }],
        };
        let both = asked(30.0, 4.0).and(&asked(10.0, 8.0));
        assert_eq!((both.per_s, both.latency_ms_mean), (40.0, Some(5.0)));
        assert_eq!(both.parts[0].ms, 5.0);
        let idle = asked(0.0, 0.0).and(&asked(2.0, 3.0));
        assert_eq!(idle.latency_ms_mean, Some(3.0));
    }
}
