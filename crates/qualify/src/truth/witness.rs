//! A witness outside the program: it records what sessions ask for and what the engine has
//! acknowledged.
//!
//! A killed process loses its memory, so another process must keep the record. The witness is
//! called before a session asks for a commit, and again when the commit has returned. Nothing else
//! runs between the first call and the commit's log record, so the witness sees the commits of one
//! log stream in log order.
//!
//! Tests supply one (`docs/integrity.md`); real runs have none.

use std::fmt;
use std::sync::Arc;

use brunt_units::{LogPosition, Time};
use brunt_workload::mix::{Commit, Kind};

/// A change of one record, committed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The log stream, by its number in the plan.
    pub instance: usize,
    /// The database, by its number in the instance.
    pub database: u8,
    /// Insert, replace or delete.
    pub kind: Kind,
    /// The record's number.
    pub number: u64,
    /// The version after the change; without meaning for a delete.
    pub version: u32,
    /// Whether the commit is acknowledged only when durable.
    pub commit: Commit,
    /// Where its commit ends in the log; known before it is asked for only without content.
    pub end: Option<LogPosition>,
}

/// Observes commits.
pub trait Witness: Send + Sync {
    /// Called just before a commit is requested.
    fn asked(&self, at: Time, change: &Change);
    /// Called when the commit has returned without an error.
    fn acknowledged(&self, at: Time, change: &Change);
}

/// An optional witness. A clone refers to the same one.
#[derive(Clone, Default)]
pub struct Hearing(Option<Arc<dyn Witness>>);

impl Hearing {
    /// A handle to `witness`.
    pub fn of(witness: Arc<dyn Witness>) -> Self {
        Self(Some(witness))
    }

    /// The same witness for a part of the plan whose first log stream has the number `first` in the
    /// whole.
    pub(crate) fn of_part(&self, first: usize) -> Self {
        let witness = self.0.clone();
        Self(witness.map(|witness| Arc::new(OfPart { witness, first }) as _))
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn asked(&self, at: Time, change: &Change) {
        if let Some(witness) = &self.0 {
            witness.asked(at, change);
        }
    }

    pub(crate) fn acknowledged(&self, at: Time, change: &Change) {
        if let Some(witness) = &self.0 {
            witness.acknowledged(at, change);
        }
    }
}

/// Tells a witness the numbers that log streams have in the whole plan.
struct OfPart {
    witness: Arc<dyn Witness>,
    first: usize,
}

impl OfPart {
    fn in_whole(&self, change: &Change) -> Change {
        Change { instance: self.first + change.instance, ..*change }
    }
}

impl Witness for OfPart {
    fn asked(&self, at: Time, change: &Change) {
        self.witness.asked(at, &self.in_whole(change));
    }

    fn acknowledged(&self, at: Time, change: &Change) {
        self.witness.acknowledged(at, &self.in_whole(change));
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "a witness",
            None => "no witness",
        })
    }
}
