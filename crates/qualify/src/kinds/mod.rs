//! Kinds of tests, one file for each.
//!
//! | kind | does | latency limits |
//! | --- | --- | --- |
//! | performance | load for a given time | strict |
//! | stress | the same for a day | lenient; must be stationary |
//! | database-backup | reads every database, perhaps copies and restores it | none |
//! | soft-recovery | writes a number of logs, ends without a shutdown, replays them | none |
//!
//! A new kind is a variant of [`TestKind`], a file with its `Kind`, and rows in `docs/rules.md`. The compiler and
//! `tests/rules.rs` ask for them.

mod database_backup;
mod performance;
mod soft_recovery;
mod stress;

pub(crate) use database_backup::backups;
pub(crate) use soft_recovery::recoveries;

use std::fmt;

use brunt_units::Span;
use brunt_workload::profile::{LatencyLimits, Profile};

use crate::listed::listed;
use crate::phases::test_run::TestRun;
use crate::plan::Plan;
use crate::rules::Done;

listed! {
    /// What kind of test.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TestKind {
        /// Transactional load under strict limits.
        Performance,
        /// Transactional load for a day under lenient limits.
        Stress,
        /// Every database read from beginning to end, perhaps copied and restored.
        DatabaseBackup,
        /// A number of logs written and replayed.
        SoftRecovery,
    }
}

/// Everything in which one kind of test differs from others.
struct Kind {
    /// Its word in scenarios and results.
    word: &'static str,
    /// What it does, for the first lines of a run.
    opening: fn(&Opening) -> String,
    /// What is done with the databases.
    work: Work,
    /// The limits of a version that its latencies are held to.
    limits: fn(&Profile) -> LatencyLimits,
    /// Whether it fails when storage grows slow towards the end.
    must_be_stationary: bool,
    /// How long it has to last to be shown as a qualification.
    length_min: Span,
    /// What it had to do besides carrying load, and whether it did.
    done: fn(&Plan, &TestRun) -> Vec<Done>,
}

/// What is done with the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sessions work on them for a time. Latencies are held to limits.
    Load,
    /// They are read from beginning to end, perhaps copied and restored.
    BackUp,
    /// Sessions work until there are enough logs, which are replayed.
    Replay,
}

/// What a scenario asks of a test, for its first lines.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The sessions in words: `16 sessions`.
    pub sessions: String,
    /// How long is measured.
    pub duration: Span,
    /// Logs of each instance.
    pub logs: u32,
    /// Whether copies are restored.
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

    /// The kind that scenarios and results call `word`.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The word of scenarios and results: `soft-recovery`.
    pub const fn word(self) -> &'static str {
        self.kind().word
    }

    /// What it does, for the first lines of a run: `16 sessions, performance 2 h`.
    pub fn opening(self, opening: &Opening) -> String {
        (self.kind().opening)(opening)
    }

    /// What is done with the databases.
    pub const fn work(self) -> Work {
        self.kind().work
    }

    /// Whether its latencies are held to limits, and its result is a rate.
    pub const fn has_limits(self) -> bool {
        matches!(self.work(), Work::Load)
    }

    /// How long it has to last to be shown as a qualification.
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

    pub(crate) fn done(self, plan: &Plan, run: &TestRun) -> Vec<Done> {
        (self.kind().done)(plan, run)
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
