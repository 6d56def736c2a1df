//! What verification found in one file.

use serde::{Deserialize, Serialize};

/// One verified database or log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// Something that was made to go wrong on purpose, by `[faults]` of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedFault {
    /// What: `lost write`.
    pub fault: String,
    /// In files whose path ends so.
    pub file: String,
    /// How often it did; nothing when the run did not end.
    pub struck: Option<u64>,
}
