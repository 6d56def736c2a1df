//! What only a model can tell: how busy every part of the storage was, and where time went.
//!
//! Shares are of the collection, 0 to 1. Several servers over the same arrays are measured together, from the moment the
//! last of them began to collect until the first ended.

use serde::{Deserialize, Serialize};

use super::PagesNumbers;

/// The model behind a run in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What stood for the mail server's engine: `bytes` for the engine itself, `twin` for the one without content.
    pub engine: String,
    /// How sessions were held back: `none`, `station 0.43`, `paced`.
    pub scheduling: String,
    /// Virtual time that was measured, in seconds.
    pub measured_s: f64,
    /// Real time that the whole simulation took, in seconds.
    pub wall_seconds: f64,
    /// What servers asked of storage, and when it answered, hashed: equal for runs between which a user would see no difference.
    #[serde(default)]
    pub request_digest: String,
    /// Where the time of all sessions went.
    pub sessions: Option<SessionTime>,
    /// Each array.
    pub arrays: Vec<ArrayNumbers>,
}

/// Where the time of sessions went. The shares add up to one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionTime {
    /// Between operations: held back by the scheduling, or waiting for their time.
    pub held_back: f64,
    /// Waiting for pages. Pages that are read ahead together count more than once, so this is the most it can be.
    pub reading: f64,
    /// Computing.
    pub computing: f64,
    /// The rest of operations: waiting for the log, for room in the cache, and for each other.
    pub other: f64,
}

/// One array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayNumbers {
    /// What the scenario calls it.
    pub name: String,
    /// What hosts asked of it, for each purpose.
    pub asked: Vec<AskedNumbers>,
    /// What hosts asked of each LUN.
    pub luns: Vec<LunNumbers>,
    /// Its groups of drives.
    pub groups: Vec<GroupNumbers>,
    /// Its drives.
    pub drives: Vec<DriveNumbers>,
    /// How busy the processor of each controller was.
    pub controllers: Vec<f64>,
    /// How busy the busier direction of each port was.
    pub ports: Vec<f64>,
    /// How busy the link between controllers was.
    pub link_between: f64,
    /// The cache, if it has one.
    pub cache: Option<CacheNumbers>,
    /// LUNs in pages, if it has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesNumbers>,
    /// What happened to it.
    pub notes: Vec<String>,
}

/// Reads or writes for one purpose, and where their time went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedNumbers {
    /// `database read`, `log write`.
    pub what: String,
    /// How many per second.
    pub per_s: f64,
    /// Mean latency; nothing when there were none.
    pub latency_ms_mean: Option<f64>,
    /// What it is made of.
    pub parts: Vec<PartNumbers>,
}

/// A part of a latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartNumbers {
    /// `queue`, `seek`.
    pub part: String,
    /// Its mean, over all I/Os.
    pub ms: f64,
}

/// What hosts asked of one LUN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LunNumbers {
    /// What the scenario calls it.
    pub name: String,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Mean of reads.
    pub read_ms_mean: Option<f64>,
    /// Mean of writes.
    pub write_ms_mean: Option<f64>,
}

/// One group of drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNumbers {
    /// What the scenario calls it.
    pub name: String,
    /// `RAID 10`.
    pub level: String,
    /// How many drives.
    pub drives: usize,
    /// How busy they were, on average.
    pub utilisation: f64,
    /// Reads and writes of hosts per second on its LUNs.
    pub front_per_s: f64,
    /// Reads of its drives per second.
    pub back_reads_per_s: f64,
    /// Writes of its drives per second.
    pub back_writes_per_s: f64,
    /// Mean number of requests in a drive.
    pub queue: f64,
    /// Mean time of a request in a drive, once it is served.
    pub service_ms: f64,
    /// Mean time of a request in a drive, its queue included.
    pub response_ms: f64,
}

/// One drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveNumbers {
    /// How busy it was.
    pub utilisation: f64,
    /// Mean number of requests in it.
    pub queue: f64,
    /// Mean time of a request, once it is served.
    pub service_ms: f64,
    /// Mean time of a request, its queue included.
    pub response_ms: f64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
}

/// The cache of an array.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheNumbers {
    /// Share of reads that found everything.
    pub read_hits: f64,
    /// Share of the room for writes that drives lacked at the end.
    pub dirty: f64,
    /// The most that drives lacked.
    pub dirty_max: f64,
    /// Writes that waited for room, per second.
    pub stalled_per_s: f64,
    /// Pages written to drives by one write, mean.
    pub pages_per_destage: f64,
}

impl Model {
    /// The busiest of `pick` over all arrays.
    pub fn busiest(&self, pick: impl Fn(&ArrayNumbers) -> Vec<f64>) -> Option<f64> {
        let all = self.arrays.iter().flat_map(pick);
        all.max_by(f64::total_cmp)
    }

    /// All I/O for `what`, over all arrays: how many per second, their mean latency, and what it is made of.
    pub fn asked(&self, what: &str) -> Option<AskedNumbers> {
        let arrays = self.arrays.iter().flat_map(|array| &array.asked);
        arrays
            .filter(|asked| asked.what == what)
            .cloned()
            .reduce(|one, other| one.and(&other))
    }
}

impl AskedNumbers {
    /// Both together.
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
                .map(|(one, two)| PartNumbers {
                    part: one.part.clone(),
                    ms: mean(one.ms, two.ms),
                })
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
            parts: vec![PartNumbers {
                part: "seek".into(),
                ms,
            }],
        };
        let both = asked(30.0, 4.0).and(&asked(10.0, 8.0));
        assert_eq!((both.per_s, both.latency_ms_mean), (40.0, Some(5.0)));
        assert_eq!(both.parts[0].ms, 5.0);
        let idle = asked(0.0, 0.0).and(&asked(2.0, 3.0));
        assert_eq!(idle.latency_ms_mean, Some(3.0));
    }
}
