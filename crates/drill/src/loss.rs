//! The recovery point: what was promised and is not there.

use std::collections::BTreeSet;

use brunt_units::{Span, Time};

use crate::cut::Cut;
use crate::ledger::{Commit, Ledger};

/// What a failover lost of that which users were told is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Promised commits that are lost.
    pub transactions: u64,
    /// Records that they changed.
    pub records: u64,
    /// From the acknowledgement of the first lost one to the failure.
    pub age: Span,
    /// When that was.
    pub first_at: Option<Time>,
    /// Commits that are lost and were acknowledged before they were durable: no promise.
    pub lazy: u64,
    /// Promised commits that are there.
    pub kept: u64,
    /// When the newest of these was acknowledged.
    pub newest_kept_at: Option<Time>,
}

impl Loss {
    /// The loss of `ledger` at `cut`, when the failure came at `failed_at`.
    pub fn of(ledger: &Ledger, cut: &Cut, failed_at: Time) -> Self {
        let (kept, newest_kept_at) = ledger.forgotten();
        let mut loss = Self { kept, newest_kept_at, ..Self::default() };
        let mut records = BTreeSet::new();
        for stream in ledger.streams() {
            let commits = ledger.commits(stream);
            let (kept, lost) = commits.split_at(cut.kept.get(&stream).copied().unwrap_or(0));
            let promised = |commits: &'_ [Commit]| -> Vec<Commit> {
                let promised = commits.iter().filter(|one| one.is_promised());
                promised.copied().collect()
            };
            for one in promised(kept) {
                loss.kept += 1;
                loss.newest_kept_at = loss.newest_kept_at.max(one.acknowledged_at);
            }
            for one in promised(lost) {
                loss.transactions += 1;
                records.insert(one.key);
                let at = one.acknowledged_at.expect("it is promised");
                loss.first_at = Some(loss.first_at.map_or(at, |first| first.min(at)));
            }
            let lazy = |one: &&Commit| !one.is_hard && one.acknowledged_at.is_some();
            loss.lazy += lost.iter().filter(lazy).count() as u64;
        }
        loss.records = records.len() as u64;
        loss.age = loss.first_at.map_or(Span::ZERO, |at| failed_at.since(at));
        loss
    }

    /// Adds what another server lost by the same failure.
    pub fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.records += other.records;
        self.age = self.age.max(other.age);
        self.first_at = [self.first_at, other.first_at].into_iter().flatten().min();
        self.lazy += other.lazy;
        self.kept += other.kept;
        self.newest_kept_at = self.newest_kept_at.max(other.newest_kept_at);
    }

    /// Whether nothing that was promised is lost.
    pub fn is_nothing(&self) -> bool {
        self.transactions == 0
    }
}

#[cfg(test)]
mod tests {
    use brunt_qualify::truth::witness::Change;
    use brunt_workload::mix::Commit as Durability;

    use super::*;
    use crate::ledger::Base;
    use crate::ledger::tests::replace;

    #[test]
    fn only_what_was_promised_counts() {
        let mut ledger = Ledger::new(Base::default());
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        let lazy = Change { commit: Durability::Lazy, ..replace(0, 2, 1) };
        for (seconds, change) in
            (1..).zip([replace(0, 1, 1), lazy, replace(0, 3, 1), replace(0, 3, 2)])
        {
            ledger.asked(&change);
            ledger.acknowledged(at(seconds), &change);
        }
        ledger.asked(&replace(0, 4, 1));
        let cut = |kept| Cut { kept: [(0, kept)].into() };
        let nothing = Loss::of(&ledger, &cut(4), at(10));
        assert!(nothing.is_nothing());
        assert_eq!((nothing.kept, nothing.newest_kept_at), (3, Some(at(4))));
        let some = Loss::of(&ledger, &cut(1), at(10));
        assert_eq!((some.transactions, some.records, some.lazy), (2, 1, 1));
        assert_eq!((some.age, some.first_at), (Span::seconds(7), Some(at(3))));
        assert_eq!((some.kept, some.newest_kept_at), (1, Some(at(1))));
    }
}
