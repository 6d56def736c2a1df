//! What can go wrong, and where.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use brunt_units::Span;

use crate::Op;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Reads give one bit in the middle of the place turned over.
    BitFlip,
    /// Reads give two bits in the middle of the place turned over.
    TwoBitFlip,
    /// Reads give zeros.
    Zeroed,
    /// Reads give what stood there before the last write that was made before the first such read.
    Stale,
    /// Reads give the bytes that lie so many bytes further on.
    MisdirectedRead(u64),
    /// Reads fill the first sector of the place, give zeros for the rest, and say nothing.
    ShortRead,
    /// Writes do the first sector of the place, and say that all is done.
    Torn,
    /// Writes are acknowledged and not done.
    Lost,
    /// Writes go so many bytes further on.
    MisdirectedWrite(u64),
    /// Reads and writes fail with [`crate::IoError::Device`].
    DeviceError,
    /// Reads fail with [`crate::IoError::Medium`].
    MediumError,
    /// Writes fail with [`crate::IoError::NoSpace`].
    NoSpace,
    /// Syncs are acknowledged and not done.
    DroppedSync,
    /// Reads and writes never end.
    Stuck,
    /// Reads and writes begin so much later.
    Slow(Span),
}

impl FaultKind {
    /// Whether it can go wrong with a request of this kind.
    pub fn strikes(self, op: Op) -> bool {
        let is_write = matches!(op, Op::Write | Op::WriteThrough);
        match self {
            Self::BitFlip
            | Self::TwoBitFlip
            | Self::Zeroed
            | Self::MisdirectedRead(_)
            | Self::ShortRead
            | Self::MediumError => op == Op::Read,
            // Writes are watched: what they replace is what reads will give.
            Self::Stale | Self::DeviceError | Self::Stuck | Self::Slow(_) => {
                is_write || op == Op::Read
            }
            Self::Torn | Self::Lost | Self::MisdirectedWrite(_) | Self::NoSpace => is_write,
            Self::DroppedSync => op == Op::Sync,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitFlip => f.write_str("one bit flipped"),
            Self::TwoBitFlip => f.write_str("two bits flipped"),
            Self::Zeroed => f.write_str("zeroed"),
            Self::Stale => f.write_str("stale read"),
            Self::MisdirectedRead(_) => f.write_str("misdirected read"),
            Self::ShortRead => f.write_str("short read"),
            Self::Torn => f.write_str("torn write"),
            Self::Lost => f.write_str("lost write"),
            Self::MisdirectedWrite(_) => f.write_str("misdirected write"),
            Self::DeviceError => f.write_str("I/O error"),
            Self::MediumError => f.write_str("medium error"),
            Self::NoSpace => f.write_str("no space"),
            Self::DroppedSync => f.write_str("dropped sync"),
            Self::Stuck => f.write_str("stuck"),
            Self::Slow(span) => write!(f, "slow, {} ms", span.0.div_euclid(1_000_000)),
        }
    }
}

/// Half of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From storage to memory.
    Reads,
    /// From memory to storage.
    Writes,
}

impl Direction {
    fn is_of(self, op: Op) -> bool {
        match self {
            Self::Reads => op == Op::Read,
            Self::Writes => matches!(op, Op::Write | Op::WriteThrough),
        }
    }
}

/// The smallest piece that storage writes whole, unless it says otherwise.
const SECTOR: u64 = 512;

/// One thing that goes wrong at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// In files whose path ends so, whole names only. A last name of `*.log` is every file with that ending; the empty path
    /// is every file.
    pub file: PathBuf,
    /// In these bytes of them, multiples of [`Fault::sector`]. Syncs have no place and always touch it.
    pub bytes: Range<u64>,
    /// Requests that touch the place and pass before it strikes.
    pub after: u64,
    /// How often it strikes; `u64::MAX` is for ever.
    pub times: u64,
    /// With a width, the place is only where the fault lies in wait: when its time has come it settles on so many bytes where
    /// the request begins, in that file, and stays there. Only requests that carry data count, not those that grow or format
    /// a file; and it settles only where data lies, at the place and where the fault leads to. The width is a multiple of
    /// [`Fault::sector`].
    pub settles: Option<u64>,
    /// Strikes these requests alone, of those that its kind can strike.
    pub only: Option<Direction>,
    /// What a torn write keeps and a short read fills.
    pub sector: u64,
}

impl Fault {
    /// `kind` at `bytes` of `file`, at once and for ever.
    pub fn new(kind: FaultKind, file: impl Into<PathBuf>, bytes: Range<u64>) -> Self {
        Self {
            kind,
            file: file.into(),
            bytes,
            after: 0,
            times: u64::MAX,
            settles: None,
            only: None,
            sector: SECTOR,
        }
    }

    /// Whether it can strike a request of this kind.
    pub fn strikes(&self, op: Op) -> bool {
        self.kind.strikes(op) && self.only.is_none_or(|only| only.is_of(op))
    }

    /// Whether it concerns the file at `path`.
    pub fn is_in(&self, path: &Path) -> bool {
        let name = |path: &Path| {
            path.file_name()
                .map(|name| name.as_encoded_bytes().to_vec())
        };
        let pattern = name(&self.file).filter(|name| name.first() == Some(&b'*'));
        match pattern {
            None => path.ends_with(&self.file),
            Some(pattern) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                folder.ends_with(self.file.parent().unwrap_or(Path::new("")))
                    && name(path).is_some_and(|name| name.ends_with(&pattern[1..]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_the_end_of_their_path() {
        let is_in = |file: &str, path: &str| {
            Fault::new(FaultKind::Lost, file, 0..512).is_in(Path::new(path))
        };
        assert!(is_in("", "/data/one.edb"));
        assert!(is_in("one.edb", "/data/one.edb"));
        assert!(is_in("data/one.edb", "/data/one.edb"));
        assert!(!is_in("ne.edb", "/data/one.edb"), "whole names only");
        assert!(is_in("*.log", "/data/log1/edb0001F.log"));
        assert!(is_in("log1/*.log", "/data/log1/edb.log"));
        assert!(!is_in("log1/*.log", "/data/log2/edb.log"));
        assert!(!is_in("*.log", "/data/one.edb"));
    }
}
