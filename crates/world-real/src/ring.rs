//! The interface below the I/O code: starts requests and reports how they ended.
//!
//! A [`Ring`] knows nothing about tickets, files or retries. It takes [`Entry`]s, each the work of
//! one system call, and returns [`Outcome`]s in any order, as the kernel does: a number of bytes,
//! possibly fewer than requested, or a negated error number. Everything above it (`flights`,
//! `flight`) is the same code for all rings:
//!
//! ```text
//!   flights: tickets, resuming, retrying, backlog
//!   ---------------------------------------------- Ring
//!   uring           threads              fake (tests): short, refused, failed, shuffled
//! ```

#![expect(unsafe_code, reason = "declares what a caller must promise about memory; no block here")]

use std::os::fd::RawFd;

use brunt_units::Span;

use crate::memory::Slab;

#[cfg(test)]
pub(crate) mod fake;
mod poller;
pub(crate) mod threads;
pub(crate) mod uring;

/// One request, as the kernel would understand it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Returned in the [`Outcome`]. Below [`TOKENS`]; those of watches begin at
    /// [`crate::watches::WATCHES`].
    pub token: u64,
    /// Must stay open until the outcome is reaped.
    pub file: RawFd,
    /// The file's slot in the ring's table, if it is registered.
    pub slot: Option<u32>,
    /// Byte offset.
    pub offset: u64,
    /// What to do.
    pub verb: Verb,
}

/// Tokens from here on are reserved for the rings themselves.
pub(crate) const TOKENS: u64 = 1 << 63;

/// The operation of an [`Entry`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    Read(Memory),
    Write {
        memory: Memory,
        durable: bool,
    },
    SyncData,
    PunchHole {
        length: u64,
    },
    /// Ends when the socket can be written, or read; for [`Ring::watch`].
    Watch {
        writable: bool,
    },
}

/// The memory of a transfer. Read from for writes, written to for reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory {
    One {
        pointer: *mut u8,
        length: u32,
        /// The registered buffer that contains all of it.
        buffer: Option<u16>,
    },
    Many {
        pieces: *const libc::iovec,
        count: u32,
    },
}

/// How an [`Entry`] ended: bytes transferred, or a negated error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub token: u64,
    pub result: i32,
}

/// The ring is full; submit, and try again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

/// Starts requests and reports how they ended.
pub(crate) trait Ring {
    /// Queues `entry`.
    ///
    /// # Safety
    /// Until the entry's outcome has been reaped, or forever if it never is: its memory (pieces and
    /// what they point to) must stay in place, no other code may write to it or, for a read, read
    /// it, and its file must stay open.
    unsafe fn push(&mut self, entry: Entry) -> Result<(), Full>;

    /// Queues `entry`, a [`Verb::Watch`]. Its file must stay open until the outcome is reaped.
    fn watch(&mut self, entry: Entry) -> Result<(), Full>;

    /// Ends a watch early; its outcome comes soon. Does nothing when it has just ended.
    fn give_up(&mut self, token: u64) -> Result<(), Full>;

    /// Starts what was queued. Never blocks; makes no system call when there is nothing to do.
    fn submit(&mut self);

    /// Appends the outcomes since the last call. Makes no system call except to clear the bell.
    fn reap(&mut self, outcomes: &mut Vec<Outcome>);

    /// Starts what was queued, then waits until something has ended, the bell rings, or `limit` has
    /// passed.
    fn wait(&mut self, limit: Option<Span>);

    /// The tables of registered memory and files, if the ring has them.
    fn tables(&mut self) -> Option<&mut dyn Tables>;
}

/// Memory and files that the kernel resolves once instead of for each request.
pub(crate) trait Tables {
    /// Registers `slab` as buffer `number`.
    ///
    /// # Errors
    /// The system's error number; `ENOMEM` when the locked memory limit is reached.
    fn register_slab(&mut self, number: u16, slab: &Slab) -> Result<(), i32>;

    /// Registers `file` in `slot`, replacing its previous file. False when the table cannot take
    /// it.
    fn register_file(&mut self, slot: u32, file: RawFd) -> bool;

    /// Empties `slot`. Submitted requests keep the file.
    fn forget_file(&mut self, slot: u32);
}
