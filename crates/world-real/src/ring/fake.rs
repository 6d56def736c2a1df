//! A ring without a kernel, for tests: it does everything that a kernel may do, only more often.
//!
//! Requests end in any order and at any later reap. Transfers are cut short, anywhere in buffered
//! files and between sectors in direct ones; requests are refused with `EAGAIN` and `EINTR`; some
//! fail. The submission queue has three places. Bytes are transferred when a request ends, through
//! the pointers it carries, so a memory error in the code above shows up as wrong content.

#![expect(unsafe_code, reason = "moves bytes through raw pointers as a kernel does")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::rc::Rc;

use brunt_units::Span;
use brunt_world::random::Stream;

use super::{Entry, Full, Memory, Outcome, Ring, Tables, Verb};

/// Places in the submission queue.
const PLACES: usize = 3;

const SECTOR: usize = 512;

/// Probabilities of outcomes, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Cut short.
    pub(crate) short: u32,
    /// Refused with `EAGAIN` or `EINTR`.
    pub(crate) refused: u32,
    /// Failed with `EIO`, after moving some of the bytes.
    pub(crate) failed: u32,
    /// Ended at any given reap.
    pub(crate) ended: u32,
}

/// A file of the fake kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeFile {
    /// Its content.
    pub(crate) bytes: Vec<u8>,
    /// Whether requests must be sector-aligned.
    pub(crate) direct: bool,
}

/// Files of the fake kernel by descriptor.
pub(crate) type FakeFiles = Rc<RefCell<BTreeMap<RawFd, FakeFile>>>;

/// A fake kernel with bad habits.
pub(crate) struct Fake {
    random: Stream,
    habits: Habits,
    files: FakeFiles,
    queued: Vec<Entry>,
    running: Vec<Entry>,
    /// Whether the next reap must end something, because the caller waited.
    waited: bool,
}

impl Fake {
    /// A ring over `files` that draws its outcomes from `random`.
    pub(crate) fn new(random: Stream, habits: Habits, files: &FakeFiles) -> Self {
        Self {
            random,
            habits,
            files: Rc::clone(files),
            queued: Vec::new(),
            running: Vec::new(),
            waited: false,
        }
    }

    fn perform(&mut self, entry: &Entry) -> i32 {
        if self.random.percent(self.habits.refused) {
            return -[libc::EAGAIN, libc::EINTR][usize::from(self.random.percent(50))];
        }
        let fails = self.random.percent(self.habits.failed);
        let mut files = self.files.borrow_mut();
        let file = files.get_mut(&entry.file).expect("the file is open");
        let (Verb::Read(memory) | Verb::Write { memory, .. }) = entry.verb else {
            if let (Verb::PunchHole { length }, false) = (entry.verb, fails) {
                punch(file, at(entry.offset), at(length));
            }
            return if fails { -libc::EIO } else { 0 };
        };
        let pieces = pieces(memory);
        assert!(pieces.len() <= 1024, "more pieces than a call may have");
        let unit = if file.direct { SECTOR } else { 1 };
        let kept = |number: usize| number.is_multiple_of(unit);
        assert!(kept(at(entry.offset)) && pieces.iter().all(|piece| kept(piece.iov_len)));
        let asked: usize = pieces.iter().map(|piece| piece.iov_len).sum();
        let mut limit = asked;
        if fails || self.random.percent(self.habits.short) {
            let units = self.random.below(asked.div_euclid(unit) as u64);
            limit = at(units).max(1) * unit;
        }
        let moved = match entry.verb {
            Verb::Read(_) => read(file, at(entry.offset), &pieces, limit),
            _ => write(file, at(entry.offset), &pieces, limit),
        };
        if fails { -libc::EIO } else { i32::try_from(moved).unwrap() }
    }
}

fn at(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

fn pieces(memory: Memory) -> Vec<libc::iovec> {
    match memory {
        Memory::One { pointer, length, .. } => {
            vec![libc::iovec { iov_base: pointer.cast(), iov_len: length as usize }]
        }
        Memory::Many { pieces, count } => {
            // SAFETY: the caller of `Ring::push` keeps the pieces until the outcome, which has not
            // been delivered yet.
            unsafe { std::slice::from_raw_parts(pieces, count as usize) }.to_vec()
        }
    }
}

fn punch(file: &mut FakeFile, start: usize, length: usize) {
    let end = file.bytes.len().min(start + length);
    file.bytes[start.min(end)..end].fill(0);
}

fn read(file: &FakeFile, start: usize, pieces: &[libc::iovec], limit: usize) -> usize {
    let there = file.bytes.get(start..).unwrap_or_default();
    let mut rest = &there[..there.len().min(limit)];
    let moved = rest.len();
    for piece in pieces {
        let (now, later) = rest.split_at(rest.len().min(piece.iov_len));
        // SAFETY: the piece is `iov_len` bytes that the caller of `Ring::push` lends for writing
        // until the outcome.
        unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), piece.iov_base.cast(), now.len()) };
        rest = later;
    }
    moved
}

fn write(file: &mut FakeFile, start: usize, pieces: &[libc::iovec], limit: usize) -> usize {
    let mut moved = 0;
    for piece in pieces {
        let length = piece.iov_len.min(limit - moved);
        let from = start + moved;
        if file.bytes.len() < from + length {
            file.bytes.resize(from + length, 0);
        }
        // SAFETY: the piece is `iov_len` bytes, at least `length`, that do not change until the
        // outcome.
        let bytes = unsafe { std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), length) };
        file.bytes[from..from + length].copy_from_slice(bytes);
        moved += length;
    }
    moved
}

impl Ring for Fake {
    unsafe fn push(&mut self, entry: Entry) -> Result<(), Full> {
        let mut known = self.queued.iter().chain(&self.running);
        let twice = known.any(|other| other.token == entry.token);
        assert!(!twice, "two requests of one flight");
        // Sometimes the queue stays full even after submitting: the kernel is out of memory for
        // requests.
        if self.queued.len() == PLACES || self.random.percent(5) {
            return Err(Full);
        }
        self.queued.push(entry);
        Ok(())
    }

    fn watch(&mut self, _entry: Entry) -> Result<(), Full> {
        unreachable!("it has no sockets");
    }

    fn give_up(&mut self, _token: u64) -> Result<(), Full> {
        unreachable!("it has no sockets");
    }

    fn submit(&mut self) {
        self.running.append(&mut self.queued);
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        let mut remaining = Vec::new();
        while !self.running.is_empty() {
            let next = at(self.random.below(self.running.len() as u64));
            let entry = self.running.swap_remove(next);
            if std::mem::take(&mut self.waited) || self.random.percent(self.habits.ended) {
                let (token, result) = (entry.token, self.perform(&entry));
                outcomes.push(Outcome { token, result });
            } else {
                remaining.push(entry);
            }
        }
        self.running = remaining;
    }

    fn wait(&mut self, _limit: Option<Span>) {
        self.submit();
        self.waited = true;
    }

    fn tables(&mut self) -> Option<&mut dyn Tables> {
        None
    }
}
