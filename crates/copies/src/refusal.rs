//! Refusals: why one side ends a connection, in words for people and in numbers for the wire.

use crate::wire::VERSION;

/// Why one side refuses what the other one says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The other side speaks another version.
    #[error(
        "the other side speaks version {0} of log shipping; this release speaks version {VERSION}"
    )]
    Version(u16),
    /// The other side said something that has no place there.
    #[error("the other side sent a message that has no place there")]
    OutOfPlace,
    /// The logs belong to another stream.
    #[error("log of another stream: these are not copies of the same databases")]
    OtherStream,
    /// A log that the copy holds already.
    #[error("log {0:#X} arrived twice")]
    Again(u32),
    /// A log that is not the next one.
    #[error("log {generation:#X} arrived, and log {wanted:#X} is the next")]
    OutOfOrder {
        /// The log that arrived.
        generation: u32,
        /// The log that is next.
        wanted: u32,
    },
    /// A log that is not whole.
    #[error("log {0:#X} arrived torn")]
    Torn(u32),
    /// A log that is no log file of this format, of this generation, or of the stream's size.
    #[error("log {0:#X} arrived as something else")]
    NotThatLog(u32),
    /// A log that does not continue the one before it.
    #[error("log {0:#X} is of another history: it does not continue the log before it")]
    OtherHistory(u32),
    /// The copy needs a log that the active no longer has.
    #[error("log {0:#X} is no longer there: the copy must be reseeded")]
    Truncated(u32),
    /// The copy holds a log that is not part of the active's history.
    #[error(
        "log {0:#X} of the copy is of another history than the active's: the copy must be reseeded"
    )]
    Diverged(u32),
}

impl Refusal {
    /// Whether only a new seed helps.
    pub fn wants_reseed(self) -> bool {
        matches!(
            self,
            Self::Truncated(_) | Self::Diverged(_) | Self::OtherHistory(_) | Self::OtherStream
        )
    }

    /// Its number on the wire, and its figures.
    pub(crate) fn spelled(self) -> (u8, u32, u32) {
        match self {
            Self::Version(version) => (1, version.into(), 0),
            Self::OutOfPlace => (2, 0, 0),
            Self::OtherStream => (3, 0, 0),
            Self::Again(generation) => (4, generation, 0),
            Self::OutOfOrder { generation, wanted } => (5, generation, wanted),
            Self::Torn(generation) => (6, generation, 0),
            Self::NotThatLog(generation) => (7, generation, 0),
            Self::OtherHistory(generation) => (8, generation, 0),
            Self::Truncated(generation) => (9, generation, 0),
            Self::Diverged(generation) => (10, generation, 0),
        }
    }

    pub(crate) fn read((number, first, second): (u8, u32, u32)) -> Option<Self> {
        let read = match number {
            1 => Self::Version(u16::try_from(first).ok()?),
            2 => Self::OutOfPlace,
            3 => Self::OtherStream,
            4 => Self::Again(first),
            5 => Self::OutOfOrder { generation: first, wanted: second },
            6 => Self::Torn(first),
            7 => Self::NotThatLog(first),
            8 => Self::OtherHistory(first),
            9 => Self::Truncated(first),
            10 => Self::Diverged(first),
            _ => return None,
        };
        // One spelling for each.
        (read.spelled() == (number, first, second)).then_some(read)
    }
}
