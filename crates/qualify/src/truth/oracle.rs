//! The oracle: what every committed operation left behind, kept apart from the engine and in fixed memory.
//!
//! Which records live follows from their numbers ([`Extent`](brunt_workload::keys::Extent)), and what a record holds follows
//! from its number and its version ([`Contents`](crate::truth::records::Contents)). What is left to remember is the version:
//!
//! ```text
//!    changed lately            changed long ago             never changed
//!    young | old        -->    a sample, by key      -->    the version that it began with
//!    every one is known        known below a threshold      known, unless a change could have been forgotten
//! ```
//!
//! *Young* and *old* are two generations: when the young one is full, the old one leaves, and the young one becomes it. So at
//! least the last half of the window is exact. What leaves goes into the sample if its key is below a threshold; when the
//! sample is full the threshold is halved. Keys are mixed numbers, so a threshold is a fair sample. Invariant: of a record whose
//! key is below the threshold, everything is known.
//!
//! Nothing here is read from the databases: a version that the storage brings back is judged, never believed.

use std::collections::{BTreeMap, VecDeque};

use brunt_workload::keys::Record;

/// A record that is not as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is not there, or cannot be read.
    Lost,
    /// It is whole, and an earlier version than was committed last.
    Stale,
    /// It was deleted, never inserted, or is a later version than was ever committed.
    Phantom,
    /// Its bytes are those of no version.
    Torn,
}

/// How many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Not there, or not readable.
    pub lost: u64,
    /// An earlier version.
    pub stale: u64,
    /// What must not be there.
    pub phantom: u64,
    /// The bytes of no version.
    pub torn: u64,
}

impl Findings {
    /// Counts one.
    pub fn add(&mut self, finding: Finding) {
        *match finding {
            Finding::Lost => &mut self.lost,
            Finding::Stale => &mut self.stale,
            Finding::Phantom => &mut self.phantom,
            Finding::Torn => &mut self.torn,
        } += 1;
    }

    /// All together.
    pub fn total(self) -> u64 {
        self.lost + self.stale + self.phantom + self.torn
    }

    /// Each of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            stale: self.stale + other.stale,
            phantom: self.phantom + other.phantom,
            torn: self.torn + other.torn,
        }
    }

    /// The larger number of each: the same record is often met twice, by the test and after it.
    pub fn at_least(self, other: Self) -> Self {
        Self {
            lost: self.lost.max(other.lost),
            stale: self.stale.max(other.stale),
            phantom: self.phantom.max(other.phantom),
            torn: self.torn.max(other.torn),
        }
    }
}

/// Changed records that are remembered one by one, all databases together.
const WINDOW: usize = 1 << 20;
/// Records of the sample of those that were changed before, all databases together.
const SAMPLE: usize = 1 << 18;
/// Deleted records that are looked for, all databases together.
const DELETED: usize = 1 << 14;

/// What one database must hold.
#[derive(Clone, Debug)]
pub struct Oracle {
    room: Room,
    /// Versions by key, as the two below.
    young: BTreeMap<u64, u32>,
    old: BTreeMap<u64, u32>,
    sample: BTreeMap<u64, u32>,
    /// Of records with a key below it, everything is known; with none, everything is known of all.
    threshold: Option<u64>,
    /// The version of records that were there in the beginning; nothing when it is not known.
    first: Option<u32>,
    /// Records from this number on were inserted under the oracle's eyes.
    inserted_from: u64,
    /// Keys deleted lately, the last one at the end.
    deleted: VecDeque<u64>,
}

/// How much is remembered.
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
    /// Of a database that was just created, one of so many.
    pub fn fresh(databases: usize) -> Self {
        Self::new(Room::of_one_in(databases), Some(0))
    }

    /// Of a database that others have worked on.
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

    /// An insert was committed. Numbers of inserts ascend.
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

    /// The young generation becomes the old one, which leaves for the sample.
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

    /// The version that a record must have; nothing when it is not known.
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

    /// Judges a whole record of this version.
    ///
    /// # Errors
    /// [`Finding::Stale`], [`Finding::Phantom`].
    pub fn judge(&self, record: Record, version: u32) -> Result<(), Finding> {
        match self.version(record) {
            Some(committed) if version < committed => Err(Finding::Stale),
            Some(committed) if version > committed => Err(Finding::Phantom),
            _ => Ok(()),
        }
    }

    /// Keys of the changed records that are remembered, ascending.
    pub fn changed(&self) -> Vec<u64> {
        let generations = [&self.young, &self.old, &self.sample];
        let all = generations.iter().flat_map(|known| known.keys().copied());
        let mut changed: Vec<u64> = all.collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Keys of records that were deleted lately, the last one at the end.
    pub fn deleted_lately(&self) -> impl Iterator<Item = u64> {
        self.deleted.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use brunt_workload::keys::Mixer;
    use brunt_world::random::Streams;

    use super::*;

    const ROOM: Room = Room {
        generation: 50,
        sample: 40,
        deleted: 8,
    };

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
            // As many changes as a generation holds are never too many.
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
