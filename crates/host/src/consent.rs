//! What the person at this machine allows.
//!
//! A scenario may come from anywhere, so it can ask for nothing that destroys. Only the command
//! line can, and later the configuration of an agent: both stand above this crate, while the
//! readers of scenarios stand below it and cannot name the type.
//!
//! Files without brunt's marker are never replaced, whatever is allowed.

/// What a test may do beyond creating files of its own. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// Databases, logs and unfinished restores of earlier runs may be removed and created again
    /// (`--new`).
    pub replace: bool,
}

/// What a drill on a pair of the user's own may do. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairConsent {
    /// The commands of the scenario may be run (`--allow-exec`).
    pub exec: bool,
    /// What may be written: folders with all in them, and devices (`--allow`).
    pub paths: Vec<std::path::PathBuf>,
}

/// What a test of mail servers may do that brunt did not start. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetConsent {
    /// Hosts that mail may be sent to (`--allow-target`), besides this machine.
    pub targets: Vec<String>,
    /// Certificates are not looked at (`--insecure`).
    pub insecure: bool,
    /// The command that asks for the queue may be run (`--allow-exec`).
    pub exec: bool,
}
