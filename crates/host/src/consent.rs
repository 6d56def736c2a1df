//! What the person at this machine allows.
//!
//! A scenario may come from anywhere, so it can ask for nothing that destroys. Only the command line can, and later the configuration of
//! an agent: both stand above this crate, while the readers of scenarios stand below it and cannot name the type.
//!
//! What later tests need stands here, too, when they come: programs that may be run (`exec`), processes and hosts that may be killed
//! (`kill`), servers that may be put under load (`targets`). Files without brunt's marker are never replaced, whatever is allowed.

/// What a test may do beyond creating files of its own. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// Databases, logs and unfinished restores of earlier runs may be removed and created again (`--new`).
    pub replace: bool,
}
