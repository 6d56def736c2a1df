//! Kinds of tests: what a result is of.
//!
//! | kind | does |
//! | --- | --- |
//! | performance | load for a given time |
//! | stress | the same for a day |
//! | database-backup | reads every database, optionally writes and restores a backup |
//! | soft-recovery | writes a number of logs, stops without a shutdown, replays them |
//!
//! Reports, papers and comparisons match on [`TestKind`], so a new kind compiles only when each of
//! them says what it means. How a kind is run and judged is in `brunt-qualify`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of test.
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

/// The work of a test on the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sessions run for a time. Latencies are judged by limits.
    Load,
    /// Databases are read from beginning to end; the backup is optionally restored.
    BackUp,
    /// Sessions run until there are enough logs, which are then replayed.
    Replay,
}

/// What was done to get a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tested {
    /// A test of this kind.
    Kind(TestKind),
    /// A failover drill, which puts a load on storage and fails over.
    Drill,
    /// A test of mail servers: no storage was tested.
    Mail,
    /// A test whose folder was damaged, so that only its tables are left.
    Unknown,
}

/// A result of a test that this program does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a test of the kind \"{0}\" is not known to this version of brunt")]
pub struct UnknownTest(String);

const DRILL: &str = "drill";
const MAIL: &str = "mail";
const UNKNOWN: &str = "unknown";

impl TestKind {
    /// Every kind, in the order of a paper.
    pub const ALL: [Self; 4] =
        [Self::Performance, Self::Stress, Self::DatabaseBackup, Self::SoftRecovery];

    /// The kind with this name in scenarios and results.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Its name in scenarios and results: `soft-recovery`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Performance => "performance",
            Self::Stress => "stress",
            Self::DatabaseBackup => "database-backup",
            Self::SoftRecovery => "soft-recovery",
        }
    }

    /// What it does to the databases.
    pub const fn work(self) -> Work {
        match self {
            Self::Performance | Self::Stress => Work::Load,
            Self::DatabaseBackup => Work::BackUp,
            Self::SoftRecovery => Work::Replay,
        }
    }

    /// Whether its latencies have limits and its result is a rate.
    pub const fn has_limits(self) -> bool {
        matches!(self.work(), Work::Load)
    }
}

impl Tested {
    /// The kind of test, if it is one and is known.
    pub const fn kind(self) -> Option<TestKind> {
        match self {
            Self::Kind(kind) => Some(kind),
            Self::Drill | Self::Mail | Self::Unknown => None,
        }
    }

    /// Its name in results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.word(),
            Self::Drill => DRILL,
            Self::Mail => MAIL,
            Self::Unknown => UNKNOWN,
        }
    }

    /// What was done to the databases: a drill puts a load on them, and so does whatever left tables
    /// of samples.
    pub const fn work(self) -> Work {
        match self {
            Self::Kind(kind) => kind.work(),
            Self::Drill | Self::Mail | Self::Unknown => Work::Load,
        }
    }
}

impl From<TestKind> for Tested {
    fn from(kind: TestKind) -> Self {
        Self::Kind(kind)
    }
}

impl From<Tested> for String {
    fn from(tested: Tested) -> Self {
        tested.word().to_owned()
    }
}

impl TryFrom<String> for Tested {
    type Error = UnknownTest;

    fn try_from(word: String) -> Result<Self, UnknownTest> {
        match TestKind::named(&word) {
            Some(kind) => Ok(Self::Kind(kind)),
            None if word == DRILL => Ok(Self::Drill),
            None if word == MAIL => Ok(Self::Mail),
            None if word == UNKNOWN => Ok(Self::Unknown),
            None => Err(UnknownTest(word)),
        }
    }
}

impl fmt::Display for TestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Tested {
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

    #[test]
    fn a_result_names_what_was_done_and_nothing_else() {
        let all = TestKind::ALL.map(Tested::Kind).into_iter().chain([
            Tested::Drill,
            Tested::Mail,
            Tested::Unknown,
        ]);
        for tested in all {
            let json = serde_json::to_string(&tested).unwrap();
            assert_eq!(json, format!("\"{tested}\""));
            assert_eq!(serde_json::from_str::<Tested>(&json).unwrap(), tested);
        }
        let error = serde_json::from_str::<Tested>("\"web\"").unwrap_err().to_string();
        assert_eq!(error, "a test of the kind \"web\" is not known to this version of brunt");
    }
}
