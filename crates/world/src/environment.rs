//! What the environment refuses: limits of the machine it runs on, set by people, and no faults of
//! the storage.
//!
//! A test that meets one has no answer, whatever it has measured before. The pages whose writes
//! were refused are no corruption.

use std::fmt;

use crate::{IoError, VolumeError};

/// A limit of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// The volume is full.
    NoSpace,
    /// A quota is used up, however much room the volume has.
    Quota,
    /// The file may not become larger.
    FileLimit,
    /// The file system takes no writes.
    ReadOnly,
}

impl Environment {
    /// Whether a file can grow no further.
    pub fn is_full(self) -> bool {
        self != Self::ReadOnly
    }

    /// What a user can do about it.
    pub fn way_out(self) -> &'static str {
        match self {
            Self::NoSpace => "make room on the volume, or ask for smaller databases",
            Self::Quota => {
                "raise the quota of this user, group, project or subvolume, or ask for smaller databases; `df` does not show it"
            }
            Self::FileLimit => {
                "raise `ulimit -f`, or choose a file system with larger files, or ask for smaller databases"
            }
            Self::ReadOnly => "mount it writable; if it was, `dmesg` says what made it read-only",
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSpace => VolumeError::NoSpace.fmt(f),
            Self::Quota => VolumeError::Quota.fmt(f),
            Self::FileLimit => VolumeError::FileLimit.fmt(f),
            Self::ReadOnly => VolumeError::ReadOnly.fmt(f),
        }
    }
}

impl IoError {
    /// The limit of the environment, if it is one.
    pub fn environment(self) -> Option<Environment> {
        match self {
            Self::NoSpace => Some(Environment::NoSpace),
            Self::Quota => Some(Environment::Quota),
            Self::FileLimit => Some(Environment::FileLimit),
            Self::ReadOnly => Some(Environment::ReadOnly),
            Self::Device | Self::Medium | Self::PastEnd | Self::Invalid | Self::Other(_) => None,
        }
    }
}

impl VolumeError {
    /// The limit of the environment, if it is one.
    pub fn environment(&self) -> Option<Environment> {
        match self {
            Self::NoSpace => Some(Environment::NoSpace),
            Self::Quota => Some(Environment::Quota),
            Self::FileLimit => Some(Environment::FileLimit),
            Self::ReadOnly => Some(Environment::ReadOnly),
            Self::NotFound | Self::Exists | Self::Denied | Self::Device | Self::Other(_) => None,
        }
    }

    /// Whether a file can grow no further.
    pub fn is_full(&self) -> bool {
        self.environment().is_some_and(Environment::is_full)
    }
}
