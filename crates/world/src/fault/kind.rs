//! Kinds of faults, and their places.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use brunt_units::Span;

use crate::Op;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Reads return the data with one flipped bit in the middle of the place.
    BitFlip,
    /// Reads return the data with two flipped bits in the middle of the place.
    TwoBitFlip,
    /// Reads return zeros.
    Zeroed,
    /// Reads return the content before the last write that preceded the first such read.
    Stale,
    /// Reads return the bytes at this distance further on.
    MisdirectedRead(u64),
    /// Reads fill the first sector of the place, return zeros for the rest, and report success.
    ShortRead,
    /// Writes store the first sector of the place, and report success.
    Torn,
    /// Writes are acknowledged and dropped.
    Lost,
    /// Writes go to the bytes at this distance further on.
    MisdirectedWrite(u64),
    /// Reads and writes fail with [`crate::IoError::Device`].
    DeviceError,
    /// Reads fail with [`crate::IoError::Medium`].
    MediumError,
    /// Writes fail with [`crate::IoError::NoSpace`].
    NoSpace,
    /// Syncs are acknowledged and dropped.
    DroppedSync,
    /// Reads and writes never complete.
    Stuck,
    /// Reads and writes are delayed by this time.
    Slow(Span),
}

impl FaultKind {
    /// Whether it can affect a request of this kind.
    pub fn strikes(self, op: Op) -> bool {
        let is_write = matches!(op, Op::Write | Op::WriteThrough);
        match self {
            Self::BitFlip
            | Self::TwoBitFlip
            | Self::Zeroed
            | Self::MisdirectedRead(_)
            | Self::ShortRead
            | Self::MediumError => op == Op::Read,
            // Writes are watched: reads will return the data that they replace.
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

/// Reads or writes.
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

/// The smallest unit that storage writes atomically by default.
const SECTOR: u64 = 512;

/// One fault at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// Files whose path ends with these names; only whole names match. A last name of `*.log`
    /// matches every file with that ending; the empty path matches every file.
    pub file: PathBuf,
    /// The bytes of these files that it affects, multiples of [`Fault::sector`]. Syncs have no
    /// range and always match.
    pub bytes: Range<u64>,
    /// Number of matching requests that pass before it strikes.
    pub after: u64,
    /// How often it strikes; `u64::MAX` means forever.
    pub times: u64,
    /// With a width, the place is only where the fault lies in wait. When it is due, it settles on
    /// this many bytes at the start of the request, in that file, and stays there. Only requests
    /// that carry data count, not those that grow or format a file. It settles only where there is
    /// data, at the place and where the fault leads to. The width is a multiple of
    /// [`Fault::sector`].
    pub settles: Option<u64>,
    /// Restricts the fault to reads or to writes.
    pub only: Option<Direction>,
    /// Bytes that a torn write keeps and a short read fills.
    pub sector: u64,
}

impl Fault {
    /// The fault `kind` at `bytes` of `file`, from the first request on and forever.
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

    /// Whether it applies to the file at `path`.
    pub fn is_in(&self, path: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec());
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
