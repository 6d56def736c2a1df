//! What the report shows of a run as a whole besides the promised fields.
//!
//! Reports of older runs can be made again by newer programs: a field that is added to any of the `details` has a default.

use serde::{Deserialize, Serialize};

use super::{Distribution, Model, Setup, Tuning};

/// Everything that is no promise to scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// The verdict in one plain sentence.
    pub sentence: String,
    /// What was asked for.
    pub setup: Setup,
    /// How sessions were looked for before the test; nothing when they were not.
    #[serde(default)]
    pub tuning: Option<Tuning>,
    /// How latencies were spread, one entry for each kind of I/O.
    pub distributions: Vec<Distribution>,
    /// What was wrong with the storage: file, page, offset and ESE error, each once; not all of it when there was much.
    #[serde(default)]
    pub found: Vec<String>,
    /// What only a model can tell; nothing for a run on real storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<Model>>,
}
