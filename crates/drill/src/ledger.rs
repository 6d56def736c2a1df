//! Every commit that sessions asked for, in the order of its log, and when it was acknowledged.
//!
//! Between a session's question and the commit's log record nothing else runs, so commits are asked
//! for in the order in which their log has them. What the survivor holds of a log is therefore a
//! number of its commits, counted from the first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brunt_qualify::truth::witness::{Change, Witness};
use brunt_units::{LogPosition, Time};
use brunt_workload::mix::{Commit as Durability, Kind};

/// A record: log stream, database in it, number.
pub type Key = (usize, u8, u64);

/// A commit of one change of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The record.
    pub key: Key,
    /// Its version afterwards; `None` when it was deleted.
    pub after: Option<u32>,
    /// Whether it is acknowledged only when durable. Others are no promise.
    pub is_hard: bool,
    /// Where it ends in its log, if that is known.
    pub end: Option<LogPosition>,
    /// When the session had the acknowledgement.
    pub acknowledged_at: Option<Time>,
}

impl Commit {
    /// Whether a user has the acknowledgement that it is durable.
    pub fn is_promised(&self) -> bool {
        self.is_hard && self.acknowledged_at.is_some()
    }
}

/// What the databases held when the ledger was opened.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// Records of each database, by log stream and number: these are numbered from zero and have
    /// version zero.
    initial: BTreeMap<(usize, u8), u64>,
    /// Records that differ from that.
    changed: BTreeMap<Key, Option<u32>>,
}

impl Base {
    /// Databases as they were created: database `(log stream, number)` with its number of records.
    pub fn created(databases: impl IntoIterator<Item = ((usize, u8), u64)>) -> Self {
        Self { initial: databases.into_iter().collect(), changed: BTreeMap::new() }
    }

    /// The version of a record; `None` when it does not exist.
    pub fn version(&self, key: Key) -> Option<u32> {
        let (stream, database, number) = key;
        self.changed.get(&key).copied().unwrap_or_else(|| {
            let created = self.initial.get(&(stream, database));
            created.is_some_and(|records| number < *records).then_some(0)
        })
    }
}

/// The commits of all logs since the base.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    base: Base,
    /// By log stream.
    logs: BTreeMap<usize, Vec<Commit>>,
    /// Commits that came before, in all logs.
    settled: u64,
    /// Promised ones of them that were forgotten since the last failover, and when the newest was
    /// acknowledged.
    forgotten: (u64, Option<Time>),
}

impl Ledger {
    /// A ledger without commits.
    pub fn new(base: Base) -> Self {
        Self { base, ..Self::default() }
    }

    /// What the databases held before the first commit.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The log streams with commits.
    pub fn streams(&self) -> impl Iterator<Item = usize> {
        self.logs.keys().copied()
    }

    /// The commits of a log, in its order.
    pub fn commits(&self, stream: usize) -> &[Commit] {
        self.logs.get(&stream).map_or(&[], Vec::as_slice)
    }

    /// Promised commits that were forgotten because they could no longer be lost, and when the
    /// newest was acknowledged.
    pub fn forgotten(&self) -> (u64, Option<Time>) {
        self.forgotten
    }

    /// All records that were changed, in order.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.logs.values().flatten().map(|one| one.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The commits of some of the log streams.
    #[must_use]
    pub fn part(&self, streams: &[usize]) -> Self {
        let mut part = self.clone();
        part.logs.retain(|stream, _| streams.contains(stream));
        part
    }

    /// The version that each changed record has after all commits.
    pub fn newest(&self) -> BTreeMap<Key, Option<u32>> {
        let commits = self.logs.values().flatten();
        commits.map(|one| (one.key, one.after)).collect()
    }

    /// Commits asked for so far, those before the base included.
    pub fn count(&self) -> u64 {
        let here: usize = self.logs.values().map(Vec::len).sum();
        self.settled + here as u64
    }

    /// A commit is asked for.
    pub fn asked(&mut self, change: &Change) {
        let log = self.logs.entry(change.instance).or_default();
        log.push(Commit {
            key: (change.instance, change.database, change.number),
            after: (change.kind != Kind::Delete).then_some(change.version),
            is_hard: change.commit == Durability::Hard,
            end: change.end,
            acknowledged_at: None,
        });
    }

    /// A commit is acknowledged at `at`, unless it was forgotten before.
    pub fn acknowledged(&mut self, at: Time, change: &Change) {
        let key = (change.instance, change.database, change.number);
        let log = self.logs.get_mut(&change.instance);
        let asked = log.and_then(|log| log.iter_mut().rev().find(|one| one.key == key));
        match asked {
            Some(asked) => asked.acknowledged_at = Some(at),
            None if change.commit == Durability::Hard => self.count_forgotten(at),
            None => {}
        }
    }

    /// Forgets the commits of `stream` that end before `position`: they can no longer be lost. The
    /// newest one is kept.
    pub fn forget_before(&mut self, stream: usize, position: LogPosition) {
        let log = self.commits(stream);
        let old = log.partition_point(|one| one.end.is_some_and(|end| end <= position));
        self.forget(stream, old);
    }

    /// Forgets the commits of `stream` up to the newest that was promised before `at`: a copy of
    /// that instant has them. The newest one is kept.
    pub fn forget_promised_before(&mut self, stream: usize, at: Time) {
        let is_old = |one: &Commit| one.is_promised() && one.acknowledged_at < Some(at);
        let newest = self.commits(stream).iter().rposition(is_old);
        self.forget(stream, newest.map_or(0, |newest| newest + 1));
    }

    /// Forgets the first `old` commits of `stream` but for the newest of them.
    fn forget(&mut self, stream: usize, old: usize) {
        let Some(log) = self.logs.get_mut(&stream) else {
            return;
        };
        let gone: Vec<Commit> = log.drain(..old.saturating_sub(1)).collect();
        self.settled += gone.len() as u64;
        for one in gone {
            if let Some(at) = one.acknowledged_at.filter(|_| one.is_hard) {
                self.count_forgotten(at);
            }
            self.base.changed.insert(one.key, one.after);
        }
    }

    fn count_forgotten(&mut self, acknowledged_at: Time) {
        self.forgotten.0 += 1;
        self.forgotten.1 = self.forgotten.1.max(Some(acknowledged_at));
    }

    /// The survivor goes on from the first `kept` commits of each log: they become the base, and
    /// the others never were.
    pub fn settle(&mut self, kept: &BTreeMap<usize, usize>) {
        self.forgotten = (0, None);
        for (stream, commits) in std::mem::take(&mut self.logs) {
            let here = kept.get(&stream).copied().unwrap_or(0);
            self.settled += here as u64;
            for one in commits.into_iter().take(here) {
                self.base.changed.insert(one.key, one.after);
            }
        }
    }
}

/// A ledger that sessions write to, as their [`Witness`]. A clone is another handle.
#[derive(Clone, Default)]
pub struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    /// Opens `ledger`.
    pub fn open(ledger: Ledger) -> Self {
        Self(Arc::new(Mutex::new(ledger)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for SharedLedger {
    fn asked(&self, _: Time, change: &Change) {
        self.lock().asked(change);
    }

    fn acknowledged(&self, at: Time, change: &Change) {
        self.lock().acknowledged(at, change);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use brunt_units::Span;

    use super::*;

    /// A hard replace of record `number` of the first database of log `instance`.
    pub(crate) fn replace(instance: usize, number: u64, version: u32) -> Change {
        Change {
            instance,
            database: 0,
            kind: Kind::Replace,
            number,
            version,
            commit: Durability::Hard,
            end: None,
        }
    }

    #[test]
    fn what_is_kept_becomes_the_base() {
        let mut ledger = Ledger::new(Base::created([((0, 0), 10)]));
        assert_eq!(ledger.base().version((0, 0, 9)), Some(0));
        assert_eq!(ledger.base().version((0, 0, 10)), None);
        let gone = Change { kind: Kind::Delete, ..replace(0, 3, 0) };
        for change in [replace(0, 7, 1), gone, replace(0, 7, 2)] {
            ledger.asked(&change);
        }
        ledger.acknowledged(Time::ZERO + Span::seconds(1), &gone);
        assert!(ledger.commits(0)[1].is_promised());
        assert!(!ledger.commits(0)[2].is_promised());
        ledger.settle(&[(0, 2)].into());
        assert_eq!(ledger.base().version((0, 0, 7)), Some(1));
        assert_eq!(ledger.base().version((0, 0, 3)), None);
        assert_eq!((ledger.count(), ledger.keys()), (2, vec![]));
    }

    #[test]
    fn commits_that_cannot_be_lost_are_forgotten_but_for_the_newest() {
        let mut ledger = Ledger::default();
        let at = |segment| LogPosition { generation: 1, segment, byte: 0 };
        for number in 1..=4 {
            ledger.asked(&Change { end: Some(at(number)), ..replace(0, u64::from(number), 1) });
        }
        ledger.forget_before(0, at(3));
        let left: Vec<u64> = ledger.commits(0).iter().map(|one| one.key.2).collect();
        assert_eq!((left, ledger.count()), (vec![3, 4], 4));
        assert_eq!(ledger.base().version((0, 0, 2)), Some(1));
    }

    #[test]
    fn what_was_promised_before_a_copy_is_forgotten_with_everything_before_it() {
        let mut ledger = Ledger::default();
        let seconds = |seconds| Time::ZERO + Span::seconds(seconds);
        for number in 1..=5 {
            ledger.asked(&replace(0, number, 1));
        }
        for (number, at) in [(1, 1), (3, 3), (4, 7)] {
            ledger.acknowledged(seconds(at), &replace(0, number, 1));
        }
        // 4 was promised later, and of 5 nobody knows.
        ledger.forget_promised_before(0, seconds(5));
        let left: Vec<u64> = ledger.commits(0).iter().map(|one| one.key.2).collect();
        assert_eq!((left, ledger.count()), (vec![3, 4, 5], 5));
        assert_eq!(ledger.base().version((0, 0, 2)), Some(1));
    }
}
