//! I/O on files: one verb and one contract.
//!
//! [`Disk::submit`] takes an [`Io`] and returns a [`Ticket`], an unboxed future. The front handle
//! is `dyn Disk`, one virtual call for each I/O; nothing below it is a future. I/O cannot be
//! cancelled: dropping a ticket detaches it. Its frames return to their pool at completion, so a
//! hung I/O does not have to be waited for.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::{FileId, Frame, Ticket};

/// Performs I/O on files.
///
/// **Durability contract.** An [`Op::WriteThrough`] that completed survives a crash. So does every
/// write to a file that completed before an [`Op::Sync`] of that file was *submitted*, once that
/// sync has completed. Of all other writes any subset may survive, in any order, torn at sector
/// size. Directory operations likewise: they are durable once a [`crate::Volume::sync_directory`]
/// that was requested after their completion has completed.
///
/// Two I/Os in flight over the same bytes have no order between them.
pub trait Disk {
    /// Submits `io`. It may be queued; it has not necessarily begun when this returns.
    ///
    /// Offsets and lengths of `Read`, `Write` and `WriteThrough` are multiples of 512 bytes. A read
    /// past the end of the file completes with [`IoError::PastEnd`]; a write there extends the
    /// file.
    fn submit(&self, io: Io) -> Ticket;
}

/// What an [`Io`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Fills the segments from the file.
    Read,
    /// Writes the segments; durable only after a later sync.
    Write,
    /// Writes the segments; durable when it completes.
    WriteThrough,
    /// Makes completed writes of the file durable. No segments.
    Sync,
    /// Tells the device that the range `offset .. offset + ghost length` is not needed. Its content
    /// becomes undefined.
    Trim,
}

/// The purpose of an I/O: reports count by it, and devices may schedule by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A page that an operation needs, or a dirty page going out.
    Database,
    /// The log stream.
    Log,
    /// Log files formatted before use.
    LogFormat,
    /// Headers, checkpoint file, flush map.
    Metadata,
    /// Background database maintenance.
    Maintenance,
    /// Online backup.
    Backup,
    /// Verification.
    Verify,
    /// Creation and growth of databases.
    Create,
    /// Recovery.
    Recovery,
    /// Log reads for copies.
    Replication,
}

impl Class {
    /// Every class, in report order.
    pub const ALL: [Self; 10] = [
        Self::Database,
        Self::Log,
        Self::LogFormat,
        Self::Metadata,
        Self::Maintenance,
        Self::Backup,
        Self::Verify,
        Self::Create,
        Self::Recovery,
        Self::Replication,
    ];
}

/// One contiguous piece of an I/O's memory.
#[derive(Debug)]
pub enum Segment {
    /// A whole frame to read into. It comes back filled with the completion.
    Fill(Frame),
    /// `length` bytes from `start` of a frame to write from. The frame may be read meanwhile, but
    /// not changed.
    Drain {
        /// The memory.
        frame: Rc<Frame>,
        /// First byte, a multiple of 512.
        start: usize,
        /// Number of bytes, a multiple of 512.
        length: usize,
    },
    /// A length without content: only in virtual worlds, and in [`Op::Trim`].
    Ghost(u64),
}

impl Segment {
    /// A segment that writes a whole frame.
    pub fn whole(frame: &Rc<Frame>) -> Self {
        Self::Drain { frame: Rc::clone(frame), start: 0, length: frame.len() }
    }

    /// Bytes in the segment.
    pub fn length(&self) -> u64 {
        match self {
            Self::Fill(frame) => frame.len() as u64,
            Self::Drain { length, .. } => *length as u64,
            Self::Ghost(length) => *length,
        }
    }

    /// The bytes to write; empty for the other kinds.
    pub fn drained(&self) -> &[u8] {
        match self {
            Self::Drain { frame, start, length } => &frame[*start..*start + *length],
            Self::Fill(_) | Self::Ghost(_) => &[],
        }
    }
}

/// An I/O's memory in file order. Most have one piece; coalesced ones have many.
pub type Segments = SmallVec<[Segment; 1]>;

/// One request to a disk.
#[derive(Debug)]
pub struct Io {
    /// What to do.
    pub op: Op,
    /// The file.
    pub file: FileId,
    /// The first byte in the file.
    pub offset: u64,
    /// The memory.
    pub segments: Segments,
    /// The purpose.
    pub class: Class,
    /// A mark of the submitter, carried to traces and fault plans.
    pub tag: u64,
}

impl Io {
    /// A read into `frame`.
    pub fn read(class: Class, file: FileId, offset: u64, frame: Frame) -> Self {
        Self::new(class, Op::Read, file, offset, SmallVec::from_buf([Segment::Fill(frame)]))
    }

    /// A write of the whole `frame`.
    pub fn write(class: Class, file: FileId, offset: u64, frame: &Rc<Frame>) -> Self {
        Self::new(class, Op::Write, file, offset, SmallVec::from_buf([Segment::whole(frame)]))
    }

    /// A durable write of the whole `frame`.
    pub fn write_through(class: Class, file: FileId, offset: u64, frame: &Rc<Frame>) -> Self {
        Self { op: Op::WriteThrough, ..Self::write(class, file, offset, frame) }
    }

    /// A sync.
    pub fn sync(class: Class, file: FileId) -> Self {
        Self::new(class, Op::Sync, file, 0, SmallVec::new())
    }

    /// A request with the given parts.
    pub fn new(class: Class, op: Op, file: FileId, offset: u64, segments: Segments) -> Self {
        Self { op, file, offset, segments, class, tag: 0 }
    }

    /// Bytes moved.
    pub fn length(&self) -> u64 {
        self.segments.iter().map(Segment::length).sum()
    }
}

/// Why an I/O failed. Numbers in parentheses are error numbers of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The device could not do it. The bytes of a failed write are undefined. After a failed sync
    /// any write since the last good one may be lost, and a repeated sync does not bring it back.
    #[error("input/output error")]
    Device,
    /// The device reports that it cannot return the stored data: a bad spot of the medium, or
    /// protection information that does not match.
    #[error("the medium cannot be read")]
    Medium,
    /// The volume is full. Nothing was written past the failing point.
    #[error("no space left on the volume")]
    NoSpace,
    /// A quota is used up (EDQUOT). Nothing was written past the failing point.
    #[error("disk quota exceeded")]
    Quota,
    /// The file may not become larger (EFBIG). Nothing was written past the failing point.
    #[error("the limit of a file's size is reached")]
    FileLimit,
    /// The file system takes no writes any more (EROFS).
    #[error("the file system is read-only now")]
    ReadOnly,
    /// The range reaches past the end of the file.
    #[error("read past the end of the file")]
    PastEnd,
    /// The request itself is wrong: bad alignment, or a file that is not open. A bug of ours.
    #[error("invalid request")]
    Invalid,
    /// Any other error of the operating system.
    #[error("operating-system error {0}")]
    Other(i32),
}
