//! One I/O on its way: what is left of it, and what an outcome means for it.
//!
//! An [`Io`] becomes as many requests as the kernel needs. A short read or write goes on with the rest; an interrupted or
//! refused one is asked again; anything else ends it. Nothing here touches the ring, so every path is tested by
//! calling two functions.
//!
//! Direct I/O moves whole sectors. When a direct request ends inside one, which happens at the end of a file whose length is
//! no multiple of it, the rest begins again at that sector's start: moving the same bytes twice is harmless, an
//! unaligned request is refused.

#![expect(
    unsafe_code,
    reason = "names memory for the kernel; the block says why it is sound"
)]

use std::rc::Rc;

use brunt_world::{Io, IoError, Op, Segment, Segments, TicketId};

use crate::files::OpenFile;
use crate::memory::Slabs;
use crate::ring::{Entry, Memory, Verb};

/// Offsets and lengths are multiples of this (contract of [`brunt_world::Disk`]).
const SECTOR: u64 = 512;

/// Pieces one vectored call may have: `IOV_MAX` of Linux. More make the call short, and the rest follows.
const MOST_PIECES: usize = 1024;

/// How often one I/O may be refused with "again" or move nothing. Only a broken driver gets there, and then
/// an error is better than a core spinning for ever.
const MOST_REFUSALS: u32 = 10_000;

/// An I/O in flight.
pub(crate) struct Flight {
    pub(crate) ticket: TicketId,
    pub(crate) segments: Segments,
    op: Op,
    file: Rc<OpenFile>,
    offset: u64,
    total: u64,
    moved: u64,
    refusals: u32,
    /// What the kernel reads the memory's addresses from; kept here because they must outlive the call.
    pieces: Vec<libc::iovec>,
}

/// What comes after an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Push [`Flight::entry`] again.
    Again,
    /// It is over.
    Ended(Result<(), IoError>),
}

/// Whether `io` is one that a real disk can do at all.
pub(crate) fn check(io: &Io) -> Result<(), IoError> {
    let aligned = |number: u64| number.is_multiple_of(SECTOR);
    let fits = |segment: &Segment| match (io.op, segment) {
        (Op::Read, Segment::Fill(_)) => true,
        (
            Op::Write | Op::WriteThrough,
            Segment::Drain {
                frame,
                start,
                length,
            },
        ) => {
            let inside = start
                .checked_add(*length)
                .is_some_and(|end| end <= frame.len());
            inside && aligned(*start as u64) && aligned(*length as u64) && *length > 0
        }
        (Op::Trim, Segment::Ghost(_)) => true,
        _ => false,
    };
    let some = io.op == Op::Sync || !io.segments.is_empty();
    let ends = io.offset.checked_add(io.length());
    let in_range = ends.is_some_and(|end| i64::try_from(end).is_ok());
    let whole = io.op == Op::Sync || io.op == Op::Trim || aligned(io.offset);
    if some && whole && in_range && io.segments.iter().all(fits) {
        Ok(())
    } else {
        Err(IoError::Invalid)
    }
}

impl Flight {
    /// A flight for `io`, which [`check`] has passed.
    pub(crate) fn new(ticket: TicketId, io: Io, file: Rc<OpenFile>) -> Self {
        Self {
            ticket,
            op: io.op,
            file,
            offset: io.offset,
            total: io.length(),
            segments: io.segments,
            moved: 0,
            refusals: 0,
            pieces: Vec::new(),
        }
    }

    /// The request for what is left.
    ///
    /// It names memory of this flight: the flight stays where it is and untouched until the outcome.
    pub(crate) fn entry(&mut self, token: u64, slabs: &Slabs) -> Entry {
        let verb = match self.op {
            Op::Read => Verb::Read(self.rest(slabs)),
            Op::Write | Op::WriteThrough => Verb::Write {
                durable: self.op == Op::WriteThrough,
                memory: self.rest(slabs),
            },
            Op::Sync => Verb::SyncData,
            Op::Trim => Verb::PunchHole { length: self.total },
        };
        Entry {
            token,
            file: self.file.raw(),
            slot: self.file.slot(),
            offset: self.offset + self.moved,
            verb,
        }
    }

    /// The memory from byte `moved` on.
    fn rest(&mut self, slabs: &Slabs) -> Memory {
        self.pieces.clear();
        let mut buffer = None;
        let mut skip = usize::try_from(self.moved).unwrap_or(usize::MAX);
        for segment in &mut self.segments {
            if self.pieces.len() == MOST_PIECES {
                break;
            }
            let (frame_start, place, start, length) = match segment {
                Segment::Fill(frame) => (frame.as_mut_ptr(), frame.place(), 0, frame.len()),
                Segment::Drain {
                    frame,
                    start,
                    length,
                } => (frame.as_ptr().cast_mut(), frame.place(), *start, *length),
                Segment::Ghost(_) => unreachable!("checked when it was submitted"),
            };
            let skipped = skip.min(length);
            skip -= skipped;
            if skipped < length {
                buffer = slabs.buffer(place, frame_start.addr());
                // SAFETY: a segment lies inside its frame (`check`), and `skipped` is less than its length.
                // Written to only for reads, and then the pointer comes from a `&mut`.
                let base = unsafe { frame_start.add(start + skipped) };
                self.pieces.push(libc::iovec {
                    iov_base: base.cast(),
                    iov_len: length - skipped,
                });
            }
        }
        match self.pieces.as_slice() {
            [only] => Memory::One {
                pointer: only.iov_base.cast(),
                length: u32::try_from(only.iov_len).unwrap_or(u32::MAX),
                buffer,
            },
            many => Memory::Many {
                pieces: many.as_ptr(),
                count: u32::try_from(many.len()).expect("at most MOST_PIECES"),
            },
        }
    }

    /// What `result`, bytes moved or a negated error number, means.
    pub(crate) fn advance(&mut self, result: i32) -> Next {
        let Ok(moved) = u64::try_from(result) else {
            return self.failed(-result);
        };
        match self.op {
            Op::Sync | Op::Trim => Next::Ended(Ok(())),
            Op::Read | Op::Write | Op::WriteThrough => self.went_on(moved),
        }
    }

    fn went_on(&mut self, moved: u64) -> Next {
        let all = self.moved + moved;
        if all >= self.total {
            return Next::Ended(Ok(()));
        }
        let whole = if self.file.is_direct() {
            all - all.rem_euclid(SECTOR)
        } else {
            all
        };
        if whole > self.moved {
            self.moved = whole;
            Next::Again
        } else if self.op == Op::Read {
            Next::Ended(Err(IoError::PastEnd))
        } else {
            self.refused(libc::EIO)
        }
    }

    fn failed(&mut self, code: i32) -> Next {
        match code {
            libc::EAGAIN | libc::EINTR => self.refused(code),
            // Trimming is advice, and not taking it leaves the content as undefined as it was.
            libc::EOPNOTSUPP | libc::ENOSYS if self.op == Op::Trim => {
                self.file.note_untrimmed();
                Next::Ended(Ok(()))
            }
            _ => Next::Ended(Err(io_error(code))),
        }
    }

    fn refused(&mut self, code: i32) -> Next {
        self.refusals += 1;
        if self.refusals > MOST_REFUSALS {
            Next::Ended(Err(io_error(code)))
        } else {
            Next::Again
        }
    }
}

/// The seam's name for error number `code`.
fn io_error(code: i32) -> IoError {
    match code {
        libc::EIO | libc::ENXIO | libc::ENODEV | libc::EREMOTEIO | libc::EILSEQ | libc::ENODATA => {
            IoError::Device
        }
        libc::ENOSPC | libc::EDQUOT => IoError::NoSpace,
        libc::EINVAL | libc::EBADF | libc::EFAULT => IoError::Invalid,
        other => IoError::Other(other),
    }
}
