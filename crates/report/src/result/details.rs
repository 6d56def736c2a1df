//! What the report shows about a whole run besides the promised fields.
//!
//! Newer programs can rebuild reports of older runs: a field added to any of the `details` has a
//! default.

use serde::{Deserialize, Serialize};

use super::{Distribution, Model, Setup, Tuning};

/// Fields that are no promise to scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// The verdict in one plain sentence.
    pub sentence: String,
    /// The parameters.
    pub setup: Setup,
    /// The search for sessions; `None` without tuning.
    #[serde(default)]
    pub tuning: Option<Tuning>,
    /// Latency distributions, one for each kind of I/O.
    pub distributions: Vec<Distribution>,
    /// Faults of the storage: file, page, offset and ESE error, each once; a long list is cut.
    #[serde(default)]
    pub found: Vec<String>,
    /// Numbers of the model; `None` on real storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<Model>>,
}
