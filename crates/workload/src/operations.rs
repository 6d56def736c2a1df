//! The stream of operations: combines pool, mix and populations.
//!
//! [`Workload::next`] gives a session its next operation with its record locked;
//! [`Workload::ended`] takes it back. In between, other sessions continue: their operations use
//! other records.
//!
//! Every instance has the same number of databases; a session draws one of them for each operation.
//!
//! A database may be *held* at a number of records. Then inserts and deletes are not drawn: above
//! that number the operation is a delete, otherwise an insert. The shares of reads and replaces are
//! unchanged. Drawing both with equal odds would not work: the number of records would be a random
//! walk, without bound over a long test.

use brunt_world::random::Streams;

use crate::keys::{Mixer, Population, Recent, Record};
use crate::mix::{Commit, Kind, Mix};
use crate::session::{Pool, PoolShape};

/// An operation of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub session: u32,
    /// The instance on which the session's batch runs.
    pub instance: u32,
    /// Database number across all instances: those of instance 0 come first.
    pub database: u32,
    /// What to do.
    pub kind: Kind,
    /// The record, locked for this operation.
    pub record: Record,
    pub commit: Commit,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    RolledBack,
    /// It ended with an error, and was rolled back.
    Failed,
}

/// The workload of a test; see the [module](self).
#[derive(Clone, Debug)]
pub struct Workload {
    pool: Pool,
    mix: Mix,
    databases_per_instance: u32,
    populations: Vec<Population>,
    /// Per session, one for each database.
    recent: Vec<Recent>,
    /// Per database, the number of records at which it is held.
    held: Vec<Option<u64>>,
    /// Per database, records with a delete in progress.
    leaving: Vec<u64>,
    /// Percentage of reads that go to the record touched last.
    again: u32,
    counts: [u64; Kind::ALL.len()],
}

impl Workload {
    /// A workload of `pool` over instances with `databases` databases each.
    ///
    /// `populations` lists those of all databases in order; `recent` is how many records a session
    /// remembers per database ([`crate::keys::RECENT`]).
    ///
    /// # Panics
    /// When the number of populations does not match the databases, or there are no databases.
    pub fn new(
        shape: PoolShape,
        mix: Mix,
        populations: Vec<Population>,
        recent: usize,
        streams: Streams,
    ) -> Self {
        let instances = shape.instances as usize;
        assert!(
            !populations.is_empty() && populations.len().is_multiple_of(instances),
            "{} databases for {instances} instances",
            populations.len()
        );
        let per_instance = populations.len().div_euclid(instances);
        let recents = shape.sessions as usize * populations.len();
        Self {
            pool: Pool::new(shape, streams),
            mix,
            databases_per_instance: u32::try_from(per_instance).expect("databases fit 32 bits"),
            held: vec![None; populations.len()],
            leaving: vec![0; populations.len()],
            populations,
            recent: vec![Recent::new(recent); recents],
            again: 0,
            counts: [0; Kind::ALL.len()],
        }
    }

    /// The same workload, with `percent` of the reads going to the record that their session
    /// touched last.
    #[must_use]
    pub fn reading_again(self, percent: u32) -> Self {
        Self { again: percent, ..self }
    }

    /// The mixer of a database: each database has its own, so that equal numbers get different
    /// keys.
    pub fn mixer(streams: Streams, database: u32) -> Mixer {
        Mixer::new(streams.named(&format!("keys/{database}")).bits())
    }

    /// The session's next operation, its record locked.
    ///
    /// When the mix asks for a record and none is free, a record is inserted instead.
    pub fn next(&mut self, session: u32) -> Operation {
        let instance = self.pool.next(session);
        let random = self.pool.random(session);
        let (kind, commit) = self.mix.draw(random);
        let within = random.below(self.databases_per_instance.into());
        let within = u32::try_from(within).expect("below a 32-bit number");
        let database = instance * self.databases_per_instance + within;
        let kind = self.held_to(database as usize, kind);
        let random = self.pool.random(session);
        let recent = &self.recent[session as usize * self.populations.len() + database as usize];
        let population = &mut self.populations[database as usize];
        let record = match kind {
            Kind::Insert => None,
            Kind::Delete => population.delete(),
            Kind::Replace => population.draw_recent(recent, random),
            Kind::Read if self.again > 0 && random.percent(self.again) => {
                population.draw_latest(recent, random)
            }
            Kind::Read => population.draw(random),
        };
        let (kind, record) = match record {
            Some(record) => (kind, record),
            None => (Kind::Insert, population.insert()),
        };
        self.leaving[database as usize] += u64::from(kind == Kind::Delete);
        Operation { session, instance, database, kind, record, commit }
    }

    /// Ends an operation; its record is unlocked or gone.
    ///
    /// # Panics
    /// When the operation is not in progress.
    pub fn ended(&mut self, operation: Operation, outcome: Outcome) {
        let Operation { session, database, kind, record, .. } = operation;
        self.leaving[database as usize] -= u64::from(kind == Kind::Delete);
        let population = &mut self.populations[database as usize];
        let lives = match kind {
            Kind::Insert => outcome == Outcome::Committed,
            Kind::Delete => outcome != Outcome::Committed,
            Kind::Replace | Kind::Read => true,
        };
        match lives {
            true if kind == Kind::Delete && outcome == Outcome::Failed => population.spare(record),
            true => population.keep(record),
            false => population.remove(record),
        }
        if lives && matches!(kind, Kind::Insert | Kind::Read) {
            let at = session as usize * self.populations.len() + database as usize;
            self.recent[at].remember(record);
        }
        if outcome == Outcome::Committed {
            self.counts[kind as usize] += 1;
        }
    }

    /// Replaces a drawn insert or delete in a database that is held.
    fn held_to(&self, database: usize, kind: Kind) -> Kind {
        let live = self.populations[database].len() - self.leaving[database];
        match (kind, self.held[database]) {
            (Kind::Insert | Kind::Delete, Some(level)) if live > level => Kind::Delete,
            (Kind::Insert | Kind::Delete, Some(_)) => Kind::Insert,
            (kind, _) => kind,
        }
    }

    /// Holds a database at a number of records; `None` stops holding it.
    pub fn hold(&mut self, database: usize, records: Option<u64>) {
        self.held[database] = records;
    }

    /// The number of records at which a database is held, if any.
    pub fn held(&self, database: usize) -> Option<u64> {
        self.held[database]
    }

    /// Number of committed operations of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }

    /// The records of each database.
    pub fn populations(&self) -> &[Population] {
        &self.populations
    }

    /// Batches begun on each instance.
    pub fn batches(&self) -> &[u64] {
        self.pool.batches()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::keys::RECENT;
    use crate::profile::Version;
    use crate::session::InstanceChoice;

    fn workload(sessions: u32, instances: u32, databases: u32, records: u64) -> Workload {
        let streams = Streams::new(11);
        let shape = PoolShape { sessions, instances, batch: 50, choice: InstanceChoice::Uniform };
        let populations = (0..databases)
            .map(|database| Population::new(Workload::mixer(streams, database), records))
            .collect();
        let mix = Version::Exchange2013.profile().mix.value;
        Workload::new(shape, mix, populations, RECENT, streams)
    }

    #[test]
    fn a_held_database_stays_where_it_is_held() {
        let mut workload = workload(8, 1, 1, 1_000);
        let mut run = |level, operations: u32| {
            workload.hold(0, level);
            let mut under_way = Vec::new();
            let mut span = (u64::MAX, 0);
            for number in 0..operations {
                let session = number % 8;
                under_way.push(workload.next(session));
                // Eight sessions are always active, and the oldest operation ends first.
                if under_way.len() == 8 {
                    workload.ended(under_way.remove(0), Outcome::Committed);
                }
                let records = workload.populations()[0].len();
                span = (records.min(span.0), records.max(span.1));
            }
            for operation in under_way {
                workload.ended(operation, Outcome::Committed);
            }
            span
        };
        // Over a hundred thousand operations chance alone would drift by some hundred records.
        let (least, most) = run(Some(1_000), 100_000);
        assert!(least >= 991 && most <= 1_009, "{least} to {most}");
        run(Some(900), 2_000);
        let (least, most) = run(Some(900), 10_000);
        assert!(least >= 891 && most <= 909, "{least} to {most}");
        let (_, most) = run(None, 1_000);
        assert!(most > 1_000, "it grows again: {most}");
    }

    #[test]
    fn operations_match_the_mix_and_the_books_balance() {
        let (databases, records, count) = (4, 50_000, 200_000_u64);
        let mut workload = workload(16, 2, databases, records);
        let mut random = Streams::new(1).named("order");
        let mut open: Vec<Option<Operation>> = vec![None; 16];
        let mut begun = 0;
        while begun < count {
            let session = u32::try_from(random.below(16)).unwrap();
            match open[session as usize].take() {
                Some(operation) => workload.ended(operation, Outcome::Committed),
                None => {
                    let operation = workload.next(session);
                    assert_eq!(operation.database.div_euclid(2), operation.instance);
                    let same = |other: &Operation| {
                        other.database == operation.database && other.record == operation.record
                    };
                    assert!(!open.iter().flatten().any(same), "two on one record");
                    open[session as usize] = Some(operation);
                    begun += 1;
                }
            }
        }
        for operation in open.into_iter().flatten() {
            workload.ended(operation, Outcome::Committed);
        }
        for (kind, percent) in Kind::ALL.into_iter().zip([40, 20, 5, 35]) {
            let share = workload.count(kind) as f64 / count as f64;
            assert!((share - f64::from(percent) / 100.0).abs() < 0.005, "{kind:?} {share}");
        }
        let live: u64 = workload.populations().iter().map(Population::len).sum();
        let expected = u64::from(databases) * records + workload.count(Kind::Insert);
        assert_eq!(live, expected - workload.count(Kind::Delete));
        let batches: u64 = workload.batches().iter().sum();
        assert!((count.div_ceil(50)..=count.div_ceil(50) + 16).contains(&batches));
    }

    #[test]
    fn a_replace_touches_what_its_session_touched() {
        let mut workload = workload(1, 1, 1, 1_000_000);
        let mut touched = BTreeSet::new();
        let (mut known, mut replaced) = (0, 0);
        for step in 0..20_000 {
            let operation = workload.next(0);
            match operation.kind {
                Kind::Insert | Kind::Read => _ = touched.insert(operation.record),
                // Before a session has touched anything, it draws from all records.
                Kind::Replace if step > 100 => {
                    replaced += 1;
                    known += u32::from(touched.contains(&operation.record));
                }
                Kind::Replace | Kind::Delete => {}
            }
            workload.ended(operation, Outcome::Committed);
        }
        assert!(replaced > 800 && known == replaced, "{known} of {replaced}");
    }

    /// A bad page would otherwise stop all deletes of a database, and be read again by each of
    /// them.
    #[test]
    fn a_record_whose_delete_failed_stays_and_is_not_deleted_again() {
        let mut workload = workload(1, 1, 1, 1_000);
        let (mut spared, mut deleted, mut read) = (None, 0, false);
        for _ in 0..20_000 {
            let operation = workload.next(0);
            let record = operation.record;
            let outcome = match operation.kind {
                Kind::Delete if spared.is_none() => {
                    spared = Some(record);
                    Outcome::Failed
                }
                Kind::Delete => {
                    assert_ne!(Some(record), spared);
                    deleted += 1;
                    Outcome::Committed
                }
                _ => {
                    read |= spared == Some(record);
                    Outcome::Committed
                }
            };
            workload.ended(operation, outcome);
        }
        assert!(deleted > 1_000 && read, "{deleted}");
    }

    #[test]
    fn an_empty_database_fills_and_rollbacks_leave_no_trace() {
        let mut workload = workload(2, 1, 1, 0);
        for _ in 0..500 {
            let operation = workload.next(0);
            assert_eq!(operation.kind, Kind::Insert);
            workload.ended(operation, Outcome::RolledBack);
        }
        assert!(workload.populations()[0].is_empty());
        assert_eq!(workload.count(Kind::Insert), 0);
    }

    #[test]
    fn rolled_back_deletes_leave_the_record() {
        let mut workload = workload(1, 1, 1, 500);
        let before: Vec<_> = workload.populations()[0].records().collect();
        for _ in 0..2_000 {
            let operation = workload.next(0);
            workload.ended(operation, Outcome::RolledBack);
        }
        assert!(workload.populations()[0].records().eq(before));
    }

    #[test]
    fn the_same_seed_gives_the_same_operations() {
        let (mut one, mut two) = (workload(3, 2, 2, 100), workload(3, 2, 2, 100));
        for session in (0..3).cycle().take(3_000) {
            let (first, second) = (one.next(session), two.next(session));
            assert_eq!(first, second);
            one.ended(first, Outcome::Committed);
            two.ended(second, Outcome::Committed);
        }
    }
}
