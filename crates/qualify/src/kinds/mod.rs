//! Kinds of tests, one file for each.
//!
//! | kind | does | latency limits |
//! | --- | --- | --- |
//! | performance | load for a given time | strict |
//! | stress | the same for a day | lenient; must be stationary |
//! | database-backup | reads every database, optionally writes and restores a backup | none |
//! | soft-recovery | writes a number of logs, stops without a shutdown, replays them | none |
//!
//! A new kind is a variant of [`TestKind`], a file with its `Kind`, an arm of `result::done`, and
//! rows in `docs/rules.md`.
//! The compiler and `tests/rules.rs` demand them.

mod database_backup;
mod performance;
mod soft_recovery;
mod stress;

use std::fmt;

use brunt_units::Span;
use brunt_workload::profile::{LatencyLimits, Profile};

use crate::listed::listed;

listed! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TestKind {
        /// Transactional load under strict limits.
        Performance,
        /// Transactional load for a day under lenient limits.
        Stress,
        /// Every database read from beginning to end; the backup is optionally restored.
        DatabaseBackup,
        /// A number of logs written and replayed.
        SoftRecovery,
    }
}

/// Everything that distinguishes one kind of test from another.
struct Kind {
    /// Its name in scenarios and results.
    word: &'static str,
    /// Its description in the first lines of a run.
    opening: fn(&Opening) -> String,
    /// The work on the databases.
    work: Work,
    /// The latency limits of a version.
    limits: fn(&Profile) -> LatencyLimits,
    /// Whether it fails when storage becomes slower towards the end.
    must_be_stationary: bool,
    /// Minimum length of a qualification.
    length_min: Span,
}

/// The work on the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sessions run for a time. Latencies are judged by limits.
    Load,
    /// Databases are read from beginning to end; the backup is optionally restored.
    BackUp,
    /// Sessions run until there are enough logs, which are then replayed.
    Replay,
}

/// Input of [`TestKind::opening`].
#[derive(Clone, Debug)]
pub struct Opening {
    /// The sessions in words: `16 sessions`.
    pub sessions: String,
    /// Length of the collection.
    pub duration: Span,
    /// Logs of each instance.
    pub logs: u32,
    /// Whether the backup is restored.
    pub restores: bool,
}

impl TestKind {
    const fn kind(self) -> &'static Kind {
        match self {
            Self::Performance => &performance::KIND,
            Self::Stress => &stress::KIND,
            Self::DatabaseBackup => &database_backup::KIND,
            Self::SoftRecovery => &soft_recovery::KIND,
        }
    }

    /// The kind with this name in scenarios and results.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Its name in scenarios and results: `soft-recovery`.
    pub const fn word(self) -> &'static str {
        self.kind().word
    }

    /// Its description in the first lines of a run: `16 sessions, performance 2 h`.
    pub fn opening(self, opening: &Opening) -> String {
        (self.kind().opening)(opening)
    }

    /// The work on the databases.
    pub const fn work(self) -> Work {
        self.kind().work
    }

    /// Whether its latencies have limits and its result is a rate.
    pub const fn has_limits(self) -> bool {
        matches!(self.work(), Work::Load)
    }

    /// Minimum length of a qualification.
    ///
    /// Source: ESRP-Storage papers, "over two hours" and 24 hours.
    pub const fn length_min(self) -> Span {
        self.kind().length_min
    }

    pub(crate) fn limits(self, profile: &Profile) -> LatencyLimits {
        (self.kind().limits)(profile)
    }

    pub(crate) const fn must_be_stationary(self) -> bool {
        self.kind().must_be_stationary
    }
}

/// `16 sessions, performance 2 h`.
fn load_opening(word: &str, opening: &Opening) -> String {
    let duration = opening.duration.to_string().replace(".0 ", " ");
    format!("{}, {word} {duration}", opening.sessions)
}

impl fmt::Display for TestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        for kind in TestKind::ALL {
            assert_eq!(TestKind::named(kind.word()), Some(kind));
        }
        assert_eq!(TestKind::named("unknown"), None);
    }
}
