//! An I/O in flight: what remains of it, and how it continues after an outcome.
//!
//! An [`Io`] becomes as many requests as the kernel needs. A short read or write continues with the
//! rest; an interrupted or refused request is retried; anything else ends the I/O. Nothing here
//! touches the ring, so tests cover every path by calling two functions.
//!
//! Direct I/O moves whole sectors. When a direct request ends inside a sector, which happens at the
//! end of a file whose length is not a multiple of it, the rest begins again at the start of that
//! sector: transferring the same bytes twice is harmless, but an unaligned request would be
//! rejected.

#![expect(unsafe_code, reason = "names memory for the kernel; the block says why it is sound")]

use std::rc::Rc;

use brunt_world::{Io, IoError, Op, Segment, Segments, TicketId};

use crate::files::OpenFile;
use crate::memory::Slabs;
use crate::ring::{Entry, Memory, Verb};

/// Offsets and lengths must be multiples of this (contract of [`brunt_world::Disk`]).
const SECTOR: u64 = 512;

/// Maximum pieces in one vectored call: `IOV_MAX` of Linux. With more, the call is short, and the
/// rest follows.
const MOST_PIECES: usize = 1024;

/// Maximum number of times an I/O may be refused with "again" or transfer nothing. Only a broken
/// driver gets there, and then an error is better than an endless loop.
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
    /// The address list that the kernel reads; stored here because it must outlive the call.
    pieces: Vec<libc::iovec>,
}

/// What to do after an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Push [`Flight::entry`] again.
    Again,
    /// The I/O has ended.
    Ended(Result<(), IoError>),
}

/// Whether a real disk can perform `io` at all.
pub(crate) fn check(io: &Io) -> Result<(), IoError> {
    let aligned = |number: u64| number.is_multiple_of(SECTOR);
    let fits = |segment: &Segment| match (io.op, segment) {
        (Op::Read, Segment::Fill(_)) => true,
        (Op::Write | Op::WriteThrough, Segment::Drain { frame, start, length }) => {
            let inside = start.checked_add(*length).is_some_and(|end| end <= frame.len());
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
    /// A flight for `io`, which must have passed [`check`].
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

    /// The request for the remaining part.
    ///
    /// It points to memory of this flight: the flight must not be moved or touched until the
    /// outcome.
    pub(crate) fn entry(&mut self, token: u64, slabs: &Slabs) -> Entry {
        let verb = match self.op {
            Op::Read => Verb::Read(self.rest(slabs)),
            Op::Write | Op::WriteThrough => {
                Verb::Write { durable: self.op == Op::WriteThrough, memory: self.rest(slabs) }
            }
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

    /// The memory after the first `moved` bytes.
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
                Segment::Drain { frame, start, length } => {
                    (frame.as_ptr().cast_mut(), frame.place(), *start, *length)
                }
                Segment::Ghost(_) => unreachable!("checked when it was submitted"),
            };
            let skipped = skip.min(length);
            skip -= skipped;
            if skipped < length {
                buffer = slabs.buffer(place, frame_start.addr());
                // SAFETY: a segment lies inside its frame (`check`), and `skipped` is less than its
                // length. Only reads write to it, and then the pointer comes from a `&mut`.
                let base = unsafe { frame_start.add(start + skipped) };
                self.pieces.push(libc::iovec { iov_base: base.cast(), iov_len: length - skipped });
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

    /// Handles `result`: bytes transferred, or a negated error number.
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
        let whole = if self.file.is_direct() { all - all.rem_euclid(SECTOR) } else { all };
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
            // Trimming is only advice; if it is ignored, the content is as undefined as before.
            libc::EOPNOTSUPP | libc::ENOSYS if self.op == Op::Trim => {
                self.file.note_untrimmed();
                Next::Ended(Ok(()))
            }
            _ => Next::Ended(Err(io_error(code))),
        }
    }

    fn refused(&mut self, code: i32) -> Next {
        self.refusals += 1;
        if self.refusals > MOST_REFUSALS { Next::Ended(Err(io_error(code))) } else { Next::Again }
    }
}

/// The world's error for error number `code`.
fn io_error(code: i32) -> IoError {
    match code {
        libc::EIO | libc::ENXIO | libc::ENODEV | libc::EREMOTEIO => IoError::Device,
        // The block layer's codes for medium errors and for protection information that does not
        // match.
        libc::ENODATA | libc::EILSEQ => IoError::Medium,
        libc::ENOSPC => IoError::NoSpace,
        libc::EDQUOT => IoError::Quota,
        libc::EFBIG => IoError::FileLimit,
        libc::EROFS => IoError::ReadOnly,
        libc::EINVAL | libc::EBADF | libc::EFAULT => IoError::Invalid,
        other => IoError::Other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Record;
    use crate::helper::Errands;
    use brunt_world::{Class, FileId, Frames};

    fn flight(op: Op, direct: bool) -> Flight {
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let file = OpenFile::new(file, direct, &Record::default(), &Errands::nowhere());
        let frames = Frames::in_memory();
        let segments: Segments = match op {
            Op::Read => (0..2).map(|_| Segment::Fill(frames.take(4096))).collect(),
            Op::Write | Op::WriteThrough => {
                (0..2).map(|_| Segment::whole(&Rc::new(frames.take(4096)))).collect()
            }
            Op::Sync => Segments::new(),
            Op::Trim => Segments::from_buf([Segment::Ghost(8192)]),
        };
        let io = Io::new(Class::Database, op, FileId(0), 1 << 20, segments);
        assert_eq!(check(&io), Ok(()));
        Flight::new(TicketId { slot: 0, turn: 0 }, io, Rc::new(file))
    }

    /// Offset and length of the next request.
    fn left(flight: &mut Flight) -> (u64, u64) {
        let entry = flight.entry(0, &Slabs::default());
        let memory = match entry.verb {
            Verb::Read(memory) | Verb::Write { memory, .. } => memory,
            Verb::SyncData | Verb::PunchHole { .. } | Verb::Watch { .. } => panic!("moves bytes"),
        };
        let length = match memory {
            Memory::One { length, .. } => u64::from(length),
            Memory::Many { .. } => flight.pieces.iter().map(|piece| piece.iov_len as u64).sum(),
        };
        (entry.offset - (1 << 20), length)
    }

    #[test]
    fn a_short_transfer_goes_on_where_it_stopped() {
        for op in [Op::Read, Op::Write, Op::WriteThrough] {
            let mut flight = flight(op, false);
            assert_eq!(left(&mut flight), (0, 8192));
            assert_eq!(flight.advance(1000), Next::Again);
            assert_eq!(left(&mut flight), (1000, 7192));
            assert_eq!(flight.advance(3096), Next::Again);
            assert_eq!(left(&mut flight), (4096, 4096));
            assert_eq!(flight.advance(4096), Next::Ended(Ok(())));
        }
    }

    #[test]
    fn a_direct_transfer_goes_on_at_a_sector() {
        let mut flight = flight(Op::Write, true);
        assert_eq!(flight.advance(1000), Next::Again);
        assert_eq!(left(&mut flight), (512, 7680));
        assert_eq!(flight.advance(7680), Next::Ended(Ok(())));
    }

    #[test]
    fn a_read_that_gets_no_further_is_past_the_end() {
        let past_end = Next::Ended(Err(IoError::PastEnd));
        let mut buffered = flight(Op::Read, false);
        assert_eq!(buffered.advance(700), Next::Again);
        assert_eq!(buffered.advance(0), past_end);
        // The file ends inside the second sector, and reading it again returns no more.
        let mut direct = flight(Op::Read, true);
        assert_eq!(direct.advance(700), Next::Again);
        assert_eq!(direct.advance(188), past_end);
    }

    #[test]
    fn refusals_are_repeated_but_not_for_ever() {
        for (refusal, code) in [(-libc::EAGAIN, libc::EAGAIN), (-libc::EINTR, libc::EINTR)] {
            let mut flight = flight(Op::Sync, false);
            for _ in 0..MOST_REFUSALS {
                assert_eq!(flight.advance(refusal), Next::Again);
            }
            let ended = Next::Ended(Err(IoError::Other(code)));
            assert_eq!(flight.advance(refusal), ended);
        }
        let mut stuck = flight(Op::Write, false);
        let ends = (0..=MOST_REFUSALS).find_map(|_| match stuck.advance(0) {
            Next::Again => None,
            Next::Ended(result) => Some(result),
        });
        assert_eq!(ends, Some(Err(IoError::Device)));
    }

    #[test]
    fn errors_have_names() {
        let ended = |op, code: i32| flight(op, true).advance(-code);
        let named = |error| Next::Ended(Err(error));
        assert_eq!(ended(Op::Read, libc::EIO), named(IoError::Device));
        assert_eq!(ended(Op::Write, libc::ENOSPC), named(IoError::NoSpace));
        assert_eq!(ended(Op::Write, libc::EDQUOT), named(IoError::Quota));
        assert_eq!(ended(Op::Write, libc::EFBIG), named(IoError::FileLimit));
        assert_eq!(ended(Op::Write, libc::EROFS), named(IoError::ReadOnly));
        assert_eq!(ended(Op::Write, libc::EINVAL), named(IoError::Invalid));
        assert_eq!(ended(Op::Sync, libc::ENOMEM), named(IoError::Other(libc::ENOMEM)));
        assert_eq!(ended(Op::Trim, libc::EOPNOTSUPP), Next::Ended(Ok(())));
        assert_eq!(ended(Op::Trim, libc::EIO), named(IoError::Device));
    }

    #[test]
    fn impossible_requests_are_refused() {
        let frames = Frames::in_memory();
        let refused = |op, offset, segment| {
            let segments = Segments::from_buf([segment]);
            check(&Io::new(Class::Log, op, FileId(0), offset, segments)) == Err(IoError::Invalid)
        };
        let part =
            |start, length| Segment::Drain { frame: Rc::new(frames.take(4096)), start, length };
        assert!(!refused(Op::Write, 512, part(512, 3584)));
        assert!(refused(Op::Write, 512, part(512, 4096)));
        assert!(refused(Op::Write, 512, part(usize::MAX - 511, 512)));
        assert!(refused(Op::Write, 512, part(0, 0)));
        assert!(refused(Op::Write, 512, part(0, 100)));
        assert!(refused(Op::Write, 100, part(0, 512)));
        assert!(refused(Op::Write, u64::MAX - 511, part(0, 512)));
        assert!(refused(Op::Read, 0, part(0, 512)));
        assert!(refused(Op::Write, 0, Segment::Fill(frames.take(4096))));
        assert!(refused(Op::Read, 0, Segment::Ghost(512)));
        let empty = Io::new(Class::Log, Op::Read, FileId(0), 0, Segments::new());
        assert_eq!(check(&empty), Err(IoError::Invalid));
    }
}
