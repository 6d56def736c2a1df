//! Results of verification: for one file, and for the records of all databases.

use serde::{Deserialize, Serialize};

/// Verification results of one file; the same fields as brunt verify --json. A simulation reads
/// databases that have no content: of its pages nothing is known, and those fields are null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerifiedFile {
    /// Its path.
    pub file: String,
    /// Pages, log segments and header copies that were checked; null when none was.
    pub pages_seen: Option<u64>,
    /// Bad ones that cannot be corrected, including wrong page numbers.
    pub pages_bad: Option<u64>,
    /// Those with one wrong bit that the checksum can correct.
    pub pages_correctable: Option<u64>,
    /// Intact ones that belong elsewhere; they also count as bad.
    pub pages_wrong_number: Option<u64>,
    /// Length of the file.
    pub bytes: u64,
    /// Bytes that were read of it; null in results of earlier programs.
    #[serde(default)]
    pub bytes_read: Option<u64>,
    /// Duration of reading, in seconds.
    pub seconds: f64,
}

/// A fault injected by an event of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InjectedFault {
    /// The kind of fault: lost write, torn write, I/O error ...
    pub fault: String,
    /// The end of the path of the files concerned.
    pub file: String,
    /// How often it struck; null when the run did not end.
    pub struck: Option<u64>,
}

/// Records compared with what was committed. Any that is lost, stale, phantom or torn fails the
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Integrity {
    /// Records that must exist.
    pub records: u64,
    /// Records compared byte by byte; a sample in large databases.
    pub records_checked: u64,
    /// Compared records whose last committed version was known.
    pub versions_known: u64,
    /// Missing records, or records on an unreadable page.
    pub lost: u64,
    /// Intact records that are older than the version committed last.
    pub stale: u64,
    /// Records that were deleted, were never inserted, or have a version that was never committed.
    pub phantom: u64,
    /// Records whose bytes match no version.
    pub torn: u64,
}

impl Integrity {
    /// Adds the results of another host.
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
