//! A witness outside the program: told what sessions ask for and what the engine has acknowledged.
//!
//! A process that is killed takes its memory of what it was told along. So somebody else keeps it: before a session asks for a
//! commit the witness hears of it, and again when the commit has returned. Nothing else runs between the first and the
//! commit's log record, so the witness hears of commits of one log stream in the order of the log.
//!
//! Tests give the program one (`docs/integrity.md`); runs that count have none.

use std::fmt;
use std::sync::Arc;

use brunt_workload::mix::{Commit, Kind};

/// A change of one record that is committed by itself.
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
    /// The version that it has then; nothing of a delete.
    pub version: u32,
    /// Whether it is acknowledged when it is durable.
    pub commit: Commit,
}

/// Hears of commits.
pub trait Witness: Send + Sync {
    /// A commit is about to be asked for.
    fn asked(&self, change: &Change);
    /// It has returned without an error.
    fn acknowledged(&self, change: &Change);
}

/// A witness, or none. Cloning gives another handle.
#[derive(Clone, Default)]
pub struct Hearing(Option<Arc<dyn Witness>>);

impl Hearing {
    /// `witness` hears.
    pub fn of(witness: Arc<dyn Witness>) -> Self {
        Self(Some(witness))
    }

    pub(crate) fn asked(&self, change: &Change) {
        if let Some(witness) = &self.0 {
            witness.asked(change);
        }
    }

    pub(crate) fn acknowledged(&self, change: &Change) {
        if let Some(witness) = &self.0 {
            witness.acknowledged(change);
        }
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
