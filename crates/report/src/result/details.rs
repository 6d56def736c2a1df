//! What the report shows of a run as a whole besides the promised fields.
//!
//! Reports of older runs can be made again by newer programs: a field that is added to any of the `details` has a default.

use serde::{Deserialize, Serialize};

use super::{Distribution, Origin, Setup, Times};

/// Everything that is no promise to scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// The verdict in one plain sentence.
    pub sentence: String,
    /// When.
    pub times: Times,
    /// What was asked for.
    pub setup: Setup,
    /// How latencies were spread, one entry for each kind of I/O.
    pub distributions: Vec<Distribution>,
    /// How the result came to be.
    pub origin: Origin,
}
