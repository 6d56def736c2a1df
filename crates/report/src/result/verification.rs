//! What verification found: in one file, and in the records of all databases.

use serde::{Deserialize, Serialize};

/// What verification found in one file; the same fields as brunt verify --json.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerifiedFile {
    /// Its path.
    pub file: String,
    /// Pages, log segments and header copies that were judged.
    pub pages_seen: u64,
    /// Those that are bad and cannot be repaired, wrong numbers included.
    pub pages_bad: u64,
    /// Those with one wrong bit that the checksum can repair.
    pub pages_correctable: u64,
    /// Those that are whole and another page's; also among the bad ones.
    pub pages_wrong_number: u64,
    /// The file's length.
    pub bytes: u64,
    /// How long reading took.
    pub seconds: f64,
}

/// Something that was made to go wrong on purpose, by an event of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InjectedFault {
    /// What goes wrong: lost write, torn write, I/O error ...
    pub fault: String,
    /// In files whose path ends so.
    pub file: String,
    /// How often it did; null when the run did not end.
    pub struck: Option<u64>,
}

/// Records compared with what was committed. Any that is lost, stale, phantom or torn fails the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Integrity {
    /// Records that must be there.
    pub records: u64,
    /// Those that were compared byte by byte; a sample in large databases.
    pub records_checked: u64,
    /// Of the checked ones, those whose last committed version was known.
    pub versions_known: u64,
    /// Not there, or on a page that cannot be read.
    pub lost: u64,
    /// Whole, and an earlier version than was committed last.
    pub stale: u64,
    /// Deleted, never inserted, or of a version that was never committed.
    pub phantom: u64,
    /// With the bytes of no version.
    pub torn: u64,
}

impl Integrity {
    /// What was found on two hosts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            records: self.records + other.records,
            records_checked: self.records_checked + other.records_checked,
            versions_known: self.versions_known + other.versions_known,
            lost: self.lost + other.lost,
            stale: self.stale + other.stale,
            phantom: self.phantom + other.phantom,
            torn: self.torn + other.torn,
        }
    }
}
