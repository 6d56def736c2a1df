//! What each subject reads: the sections of a scenario, without its name and description.

use super::base::Origin;
use super::section::Section;

/// The top of a scenario.
pub(super) struct Top {
    /// The file's stem without a `name`.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) origin: Origin,
    pub(super) sections: Section,
}
