//! The oracle: a record of every committed operation, independent of the engine and in fixed
//! memory.
//!
//! Which records live follows from their numbers ([`Extent`](brunt_workload::keys::Extent)), and a
//! record's content follows from its number and version
//! ([`Contents`](crate::truth::records::Contents)). Only the version must be remembered:
//!
//! ```text
//!    changed recently          changed long ago             never changed
//!    young | old        -->    a sample, by key      -->    the version it began with
//!    all known                 known below a threshold      known, unless a change could have been forgotten
//! ```
//!
//! *Young* and *old* are two sets. When the young one is full, it replaces the old one, so at least
//! the last half of the window is exact. Keys of the replaced set that lie below a threshold go
//! into the sample; when the sample is full, the threshold is halved. Keys are mixed numbers, so a
//! threshold gives a fair sample. Invariant: everything is known about a record whose key is below
//! the threshold.
//!
//! Nothing here is read from the databases: a version returned by the storage is judged, never
//! trusted.

use std::collections::{BTreeMap, VecDeque};

pub use brunt_run::{Finding, Findings};
use brunt_workload::keys::Record;

/// Changed records that are all remembered, over all databases.
const WINDOW: usize = 1 << 20;
/// Size of the sample of records changed before that, over all databases.
const SAMPLE: usize = 1 << 18;
/// Deleted records that are remembered, over all databases.
const DELETED: usize = 1 << 14;

/// What is known of one database.
#[derive(Clone, Debug)]
pub struct Oracle {
    room: Room,
    /// Versions by key; likewise the next two.
    young: BTreeMap<u64, u32>,
    old: BTreeMap<u64, u32>,
    sample: BTreeMap<u64, u32>,
    /// Everything is known about records with a lower key; without a threshold, about all records.
    threshold: Option<u64>,
    /// The version of the initial records; `None` when unknown.
    first: Option<u32>,
    /// Records from this number on were inserted while the oracle was watching.
    inserted_from: u64,
    /// Recently deleted keys, newest last.
    deleted: VecDeque<u64>,
}

/// Sizes of the sets of one database.
#[derive(Clone, Copy, Debug)]
struct Room {
    generation: usize,
    sample: usize,
    deleted: usize,
}

impl Room {
    fn of_one_in(databases: usize) -> Self {
        let share = |all: usize| all.div_ceil(databases.max(1));
        Self {
            generation: share(WINDOW.div_ceil(2)),
            sample: share(SAMPLE),
            deleted: share(DELETED),
        }
    }
}

impl Oracle {
    /// The oracle of a new database, one of `databases`.
    pub fn fresh(databases: usize) -> Self {
        Self::new(Room::of_one_in(databases), Some(0))
    }

    /// The oracle of a database with an unknown history.
    pub fn unknown(databases: usize) -> Self {
        Self::new(Room::of_one_in(databases), None)
    }

    fn new(room: Room, first: Option<u32>) -> Self {
        Self {
            room,
            young: BTreeMap::new(),
            old: BTreeMap::new(),
            sample: BTreeMap::new(),
            threshold: None,
            first,
            inserted_from: u64::MAX,
            deleted: VecDeque::new(),
        }
    }

    /// An insert was committed. Inserts come in ascending order of their numbers.
    pub fn inserted(&mut self, record: Record) {
        self.inserted_from = self.inserted_from.min(record.number);
    }

    /// A replace was committed.
    pub fn replaced(&mut self, record: Record, version: u32) {
        self.young.insert(record.key, version);
        if self.young.len() >= self.room.generation {
            self.turn();
        }
    }

    /// A delete was committed.
    pub fn deleted(&mut self, record: Record) {
        for known in [&mut self.young, &mut self.old, &mut self.sample] {
            known.remove(&record.key);
        }
        if self.deleted.len() >= self.room.deleted {
            self.deleted.pop_front();
        }
        self.deleted.push_back(record.key);
    }

    /// The young set replaces the old one, whose versions go to the sample.
    fn turn(&mut self) {
        let leaving = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
        for (key, version) in leaving {
            if self.threshold.is_none_or(|threshold| key < threshold) {
                self.sample.insert(key, version);
            }
        }
        while self.sample.len() > self.room.sample {
            let threshold = self.threshold.unwrap_or(u64::MAX).div_euclid(2);
            self.threshold = Some(threshold);
            self.sample.split_off(&threshold);
        }
    }

    /// The version that a record must have; `None` when unknown.
    pub fn version(&self, record: Record) -> Option<u32> {
        let generations = [&self.young, &self.old, &self.sample];
        let known = generations.iter().find_map(|known| known.get(&record.key));
        known.copied().or_else(|| {
            let is_known = self.threshold.is_none_or(|below| record.key < below);
            let first = match record.number >= self.inserted_from {
                true => Some(0),
                false => self.first,
            };
            first.filter(|_| is_known)
        })
    }

    /// Judges the version of an intact record.
    ///
    /// # Errors
    /// [`Finding::Stale`] or [`Finding::Phantom`].
    pub fn judge(&self, record: Record, version: u32) -> Result<(), Finding> {
        match self.version(record) {
            Some(committed) if version < committed => Err(Finding::Stale),
            Some(committed) if version > committed => Err(Finding::Phantom),
            _ => Ok(()),
        }
    }

    /// Keys of all remembered changed records, ascending.
    pub fn changed(&self) -> Vec<u64> {
        let generations = [&self.young, &self.old, &self.sample];
        let all = generations.iter().flat_map(|known| known.keys().copied());
        let mut changed: Vec<u64> = all.collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Recently deleted keys, newest last.
    pub fn deleted_lately(&self) -> impl Iterator<Item = u64> {
        self.deleted.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use brunt_workload::keys::Mixer;
    use brunt_world::random::Streams;

    use super::*;

    const ROOM: Room = Room { generation: 50, sample: 40, deleted: 8 };

    fn record(number: u64) -> Record {
        Mixer::new(7).record(number)
    }

    #[test]
    fn whatever_it_knows_is_what_was_committed() {
        for seed in 0..20 {
            let mut draw = Streams::new(seed).named("oracle");
            let mut oracle = Oracle::new(ROOM, Some(0));
            let mut truth: BTreeMap<u64, u32> = (0..500).map(|number| (number, 0)).collect();
            let (mut low, mut next) = (0, 500);
            let mut last = VecDeque::new();
            for _ in 0..3_000 {
                match draw.below(10) {
                    0..=1 => {
                        truth.insert(next, 0);
                        oracle.inserted(record(next));
                        next += 1;
                    }
                    2 => {
                        truth.remove(&low);
                        oracle.deleted(record(low));
                        low += 1;
                    }
                    _ => {
                        let number = low + draw.below(next - low);
                        let version = truth.get_mut(&number).unwrap();
                        *version += 1;
                        oracle.replaced(record(number), *version);
                        last.push_back(number);
                    }
                }
                assert!(oracle.sample.len() <= ROOM.sample);
                assert!(oracle.young.len() + oracle.old.len() <= 2 * ROOM.generation);
            }
            let known = truth.iter().filter(|(number, version)| {
                let known = oracle.version(record(**number));
                assert!(known.is_none_or(|known| known == **version), "{number}");
                known.is_some()
            });
            let share = known.count() as f64 / truth.len() as f64;
            assert!((0.05..1.0).contains(&share), "{share} is known");
            // A full set's worth of the latest changes is always known.
            for number in last.iter().rev().take(ROOM.generation) {
                let known = oracle.version(record(*number));
                assert_eq!(known.is_some(), truth.contains_key(number), "{number}");
            }
        }
    }

    #[test]
    fn versions_are_held_to_what_was_committed() {
        let mut fresh = Oracle::fresh(1);
        assert_eq!(fresh.judge(record(1), 0), Ok(()));
        assert_eq!(fresh.judge(record(1), 1), Err(Finding::Phantom));
        fresh.replaced(record(1), 1);
        assert_eq!(fresh.judge(record(1), 1), Ok(()));
        assert_eq!(fresh.judge(record(1), 0), Err(Finding::Stale));
        let mut unknown = Oracle::unknown(1);
        assert_eq!(unknown.judge(record(2), 9), Ok(()));
        unknown.replaced(record(2), 10);
        assert_eq!(unknown.judge(record(2), 9), Err(Finding::Stale));
        unknown.inserted(record(100));
        assert_eq!(unknown.judge(record(101), 1), Err(Finding::Phantom));
        assert_eq!(unknown.judge(record(99), 1), Ok(()));
    }

    #[test]
    fn what_was_deleted_lately_is_remembered() {
        let mut oracle = Oracle::new(ROOM, Some(0));
        oracle.replaced(record(3), 1);
        (0..20).for_each(|number| oracle.deleted(record(number)));
        let lately: Vec<u64> = oracle.deleted_lately().collect();
        let wanted: Vec<u64> = (12..20).map(|number| record(number).key).collect();
        assert_eq!(lately, wanted);
        assert!(oracle.changed().is_empty());
    }
}
