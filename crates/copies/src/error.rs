//! Why a copy does not follow, or cannot be activated.

use brunt_ese::error::EngineError;
use brunt_world::NetError;
use brunt_world::messages::MessageError;

use crate::wire::Refusal;

/// Errors of both sides of log shipping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// Files of this side cannot be used, or its engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The connection broke. Connect again: both sides continue where they were.
    #[error("log shipping: {0}")]
    Connection(#[from] MessageError),
    /// This side refused what the other one sent. Nothing of it was kept.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The other side refused.
    #[error("refused by the other side: {0}")]
    RefusedThere(Refusal),
    /// The copy lacks logs that its databases need to be consistent. Ship them.
    #[error(
        "the copy needs the logs up to {needed:#X} to be consistent, and has those up to {stored:#X}"
    )]
    Incomplete {
        /// The newest generation that it needs.
        needed: u32,
        /// The newest one that it has.
        stored: u32,
    },
    /// The copy has replayed more than was asked for; what is replayed is not taken back.
    #[error("the copy cannot be activated at log {wanted:#X}: it has replayed {replayed:#X}")]
    Passed {
        /// The last generation wanted.
        wanted: u32,
        /// The newest generation in its databases.
        replayed: u32,
    },
    /// The copy does not have that log.
    #[error("the copy cannot be activated at log {wanted:#X}: it has the logs up to {stored:#X}")]
    NotStored {
        /// The last generation wanted.
        wanted: u32,
        /// The newest one that it has.
        stored: u32,
    },
    /// The active has stopped with an error of its own.
    #[error("the active failed: {0}")]
    ActiveFailed(EngineError),
}

impl From<NetError> for CopyError {
    fn from(error: NetError) -> Self {
        Self::Connection(error.into())
    }
}

impl CopyError {
    /// Whether only a new seed helps.
    pub fn wants_reseed(&self) -> bool {
        match self {
            Self::Refused(refusal) | Self::RefusedThere(refusal) => refusal.wants_reseed(),
            _ => false,
        }
    }
}
