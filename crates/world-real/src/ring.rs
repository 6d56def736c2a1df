//! The cut beneath the I/O code: who starts requests and says how they ended.
//!
//! A [`Ring`] knows nothing of tickets, files or retries. It takes [`Entry`]s, each one system call's worth of work,
//! and gives [`Outcome`]s back in any order, as the kernel does: a number of bytes that may be short of what was asked,
//! or a negated error number. Everything above it (`flights`, `flight`) is the same code over all of them:
//!
//! ```text
//!   flights: tickets, resuming, retrying, backlog
//!   ---------------------------------------------- Ring
//!   uring           threads              fake (tests): short, refused, failed, shuffled
//! ```

#![expect(
    unsafe_code,
    reason = "declares what a caller must promise about memory; no block here"
)]

use std::os::fd::RawFd;

use brunt_units::Span;

use crate::memory::Slab;

#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod threads;
pub(crate) mod uring;

/// One request, as the kernel would understand it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Comes back in the [`Outcome`]. Below [`TOKENS`].
    pub token: u64,
    /// Open until the outcome is reaped.
    pub file: RawFd,
    /// Where the file stands in the ring's table, if it was registered.
    pub slot: Option<u32>,
    /// From which byte.
    pub offset: u64,
    /// What to do.
    pub verb: Verb,
}

/// Tokens from here on belong to the rings themselves.
pub(crate) const TOKENS: u64 = 1 << 63;

/// What an [`Entry`] asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    Read(Memory),
    Write { memory: Memory, durable: bool },
    SyncData,
    PunchHole { length: u64 },
}

/// Where the bytes are. Read from for writes, written to for reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory {
    One {
        pointer: *mut u8,
        length: u32,
        /// The registered buffer that holds all of it.
        buffer: Option<u16>,
    },
    Many {
        pieces: *const libc::iovec,
        count: u32,
    },
}

/// How an [`Entry`] ended: bytes moved, or an error number negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub token: u64,
    pub result: i32,
}

/// The ring holds as many entries as it can; submit, and try again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

/// Starts requests and says how they ended.
pub(crate) trait Ring {
    /// Queues `entry`.
    ///
    /// # Safety
    /// Until the entry's outcome has been reaped, or for ever if it never is: its memory (pieces and what they point
    /// to) stays where it is, nobody else writes to it, for a read nobody else reads it, and its file stays open.
    unsafe fn push(&mut self, entry: Entry) -> Result<(), Full>;

    /// Starts what was queued. Never waits; free of system calls when there is nothing to do.
    fn submit(&mut self);

    /// Appends what has ended since the last call. No system calls, but for silencing the bell.
    fn reap(&mut self, outcomes: &mut Vec<Outcome>);

    /// Starts what was queued, then waits until something has ended, the bell rings, or `limit` has passed.
    fn wait(&mut self, limit: Option<Span>);

    /// The tables of memory and files known in advance, where the ring has them.
    fn tables(&mut self) -> Option<&mut dyn Tables>;
}

/// Memory and files that the kernel looks up once instead of for each request.
pub(crate) trait Tables {
    /// Registers `slab` as buffer `number`.
    ///
    /// # Errors
    /// The operating system's number; `ENOMEM` when the limit of locked memory is reached.
    fn register_slab(&mut self, number: u16, slab: &Slab) -> Result<(), i32>;

    /// Registers `file` in `slot`, replacing what was there. False when the table cannot take it.
    fn register_file(&mut self, slot: u32, file: RawFd) -> bool;

    /// Empties `slot`. Requests that were submitted keep the file.
    fn forget_file(&mut self, slot: u32);
}
