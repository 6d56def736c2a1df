//! The kernel's ring: io_uring, through the raw `io-uring` crate.
//!
//! One thread submits and reaps. Where the kernel supports it (6.1), completions are deferred: they
//! are processed when we enter the kernel and never interrupt a poll, and a flag in shared memory
//! shows that there are some. So a turn with nothing queued and no flag reads two words of memory
//! and makes no system call. Older kernels use cooperative task running (5.19) or plain
//! interruption, with the same code.
//!
//! The ring itself polls the bell's file, so that one wait covers both completions and helpers.

#![expect(
    unsafe_code,
    reason = "rings share memory with the kernel; each block says why it is sound"
)]

use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use brunt_units::Span;
use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};

use super::{Entry, Full, Memory, Outcome, Ring, TOKENS, Tables, Verb};
use crate::bell::Bell;
use crate::memory::Slab;

/// Requests that can be queued between submissions. A full queue is submitted at once; most polls
/// queue one request.
const SUBMISSIONS: u32 = 256;

/// Completions before the kernel must buffer them elsewhere. Sessions × one page read, with plenty
/// to spare.
const COMPLETIONS: u32 = 8192;

/// Maximum number of registered slabs: 256 GiB of frames. The kernel's own limit is 16,384
/// (`IORING_MAX_REG_BUFFERS`).
const MOST_SLABS: u32 = 4096;

/// Sizes of the file table, tried in this order: the limit on open files bounds it.
const MOST_FILES: [u32; 3] = [4096, 900, 200];

/// The bell's poll request.
const BELL: u64 = TOKENS;

/// Requests that end watches.
const GIVEN_UP: u64 = TOKENS + 1;

/// Maximum length of a wait when the bell could not be polled: the kernel is out of memory for
/// requests, which passes quickly.
const DEAF: Span = Span::millis(1);

/// When the kernel processes completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskRun {
    /// When we enter the kernel for it (Linux 6.1 and later).
    Deferred,
    /// On any of our system calls (5.19 and later).
    Cooperative,
    /// By interrupting the thread.
    Interrupting,
}

impl fmt::Display for TaskRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deferred => "deferred",
            Self::Cooperative => "cooperative",
            Self::Interrupting => "interrupting",
        })
    }
}

/// io_uring.
pub(crate) struct Uring {
    ring: IoUring,
    bell: Arc<Bell>,
    bell_polled: bool,
    files: u32,
    /// Requests queued since the last submission.
    queued: u32,
}

impl Uring {
    /// A ring that polls `bell`; with empty tables for memory and files if `registered`.
    ///
    /// # Errors
    /// Any error of `io_uring_setup`: `ENOSYS` or `EPERM` where it is disabled, `ENOMEM`; `ENOSYS`
    /// also for kernels before 5.11, which cannot wait with a timeout.
    pub(crate) fn new(bell: &Arc<Bell>, registered: bool) -> io::Result<(Self, TaskRun)> {
        let (ring, task_run) = Self::build()?;
        let features = ring.params();
        if !features.is_feature_ext_arg() || !features.is_feature_nodrop() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        let mut files = 0;
        if registered {
            ring.submitter().register_buffers_sparse(MOST_SLABS)?;
            let sizes = MOST_FILES.into_iter();
            files = sizes
                .filter(|count| ring.submitter().register_files_sparse(*count).is_ok())
                .take(1)
                .sum();
        }
        let uring = Self { ring, bell: Arc::clone(bell), bell_polled: false, files, queued: 0 };
        Ok((uring, task_run))
    }

    fn build() -> io::Result<(IoUring, TaskRun)> {
        let common = |builder: &mut io_uring::Builder| {
            builder.setup_cqsize(COMPLETIONS).setup_clamp();
        };
        let mut deferred = IoUring::builder();
        common(&mut deferred);
        deferred
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all();
        if let Ok(ring) = deferred.build(SUBMISSIONS) {
            return Ok((ring, TaskRun::Deferred));
        }
        let mut cooperative = IoUring::builder();
        common(&mut cooperative);
        cooperative.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all();
        if let Ok(ring) = cooperative.build(SUBMISSIONS) {
            return Ok((ring, TaskRun::Cooperative));
        }
        let mut plain = IoUring::builder();
        common(&mut plain);
        plain.build(SUBMISSIONS).map(|ring| (ring, TaskRun::Interrupting))
    }

    fn enter(&mut self, least: u32, limit: Option<Span>) {
        let timeout = limit.map(|span| {
            let seconds = span.0.div_euclid(1_000_000_000);
            let nanos = u32::try_from(span.0.rem_euclid(1_000_000_000)).unwrap_or(0);
            Timespec::new().sec(seconds).nsec(nanos)
        });
        let submitter = self.ring.submitter();
        let entered = match &timeout {
            Some(timeout) => {
                let arguments = SubmitArgs::new().timespec(timeout);
                submitter.submit_with_args(least as usize, &arguments)
            }
            // SAFETY: no argument is passed, and GETEVENTS with a minimum of `least` is what the
            // manual allows.
            None => unsafe {
                let flags = EnterFlags::GETEVENTS.bits();
                submitter.enter::<libc::sigset_t>(self.queued, least, flags, None)
            },
        };
        self.queued = u32::try_from(self.ring.submission().len()).unwrap_or(u32::MAX);
        if let Err(error) = entered {
            // Interrupted, timed out, or out of memory for requests: what is queued stays queued,
            // and the next turn or wait continues with it.
            let passing = [libc::EINTR, libc::ETIME, libc::EAGAIN, libc::EBUSY, libc::ENOMEM];
            let passes = error.raw_os_error().is_some_and(|code| passing.contains(&code));
            assert!(passes, "io_uring_enter: {error}");
        }
    }

    fn queue(&mut self, entry: &squeue::Entry) -> Result<(), Full> {
        // SAFETY: the caller of `Ring::push` guarantees that files and memory live until the
        // outcome. The polls of watches and of the bell are queued here too; they have no memory,
        // and the kernel keeps the file for its request.
        unsafe { self.ring.submission().push(entry) }.map_err(|_| Full)?;
        self.queued += 1;
        Ok(())
    }

    /// Makes the next wait include the bell. False when the queue has no room for that, even after
    /// submitting.
    fn poll_bell(&mut self) -> bool {
        if !self.bell_polled {
            let readable = u32::from(libc::POLLIN.unsigned_abs());
            let poll = opcode::PollAdd::new(Fd(self.bell.raw()), readable).build().user_data(BELL);
            let mut queued = self.queue(&poll);
            if queued.is_err() {
                self.enter(0, None);
                queued = self.queue(&poll);
            }
            self.bell_polled = queued.is_ok();
        }
        self.bell_polled
    }
}

impl Ring for Uring {
    unsafe fn push(&mut self, entry: Entry) -> Result<(), Full> {
        debug_assert!(entry.token < TOKENS);
        let request = request(&entry).user_data(entry.token);
        match entry.slot {
            Some(_) => self.queue(&request.flags(squeue::Flags::FIXED_FILE)),
            None => self.queue(&request),
        }
    }

    fn watch(&mut self, entry: Entry) -> Result<(), Full> {
        self.queue(&request(&entry).user_data(entry.token))
    }

    fn give_up(&mut self, token: u64) -> Result<(), Full> {
        let request = opcode::PollRemove::new(token).build();
        self.queue(&request.user_data(GIVEN_UP))
    }

    fn submit(&mut self) {
        let flagged = {
            let queue = self.ring.submission();
            queue.taskrun() || queue.cq_overflow()
        };
        if flagged || self.queued > 0 {
            self.enter(0, None);
        }
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        for completion in self.ring.completion() {
            let (token, result) = (completion.user_data(), completion.result());
            match token {
                BELL => {
                    self.bell_polled = false;
                    self.bell.hush();
                }
                GIVEN_UP => {}
                token => outcomes.push(Outcome { token, result }),
            }
        }
    }

    fn wait(&mut self, limit: Option<Span>) {
        let limit = if self.poll_bell() { limit } else { Some(limit.unwrap_or(DEAF).min(DEAF)) };
        self.enter(1, limit);
    }

    fn tables(&mut self) -> Option<&mut dyn Tables> {
        Some(self)
    }
}

impl Tables for Uring {
    fn register_slab(&mut self, number: u16, slab: &Slab) -> Result<(), i32> {
        let bytes = slab.bytes();
        let piece =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: a slab stays mapped as long as the program runs; the kernel writes to it only for
        // requests.
        let registered = unsafe {
            let submitter = self.ring.submitter();
            submitter.register_buffers_update(u32::from(number), &[piece], None)
        };
        registered.map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
    }

    fn register_file(&mut self, slot: u32, file: RawFd) -> bool {
        let submitter = self.ring.submitter();
        slot < self.files && submitter.register_files_update(slot, &[file]).is_ok()
    }

    fn forget_file(&mut self, slot: u32) {
        // The slot is ours and the table exists, so the only possible failure is lack of memory for
        // the update; the slot then keeps the file open until it is reused.
        let _ = self.ring.submitter().register_files_update(slot, &[-1]);
    }
}

/// `entry` in the kernel's form. For a registered file the descriptor is its slot.
fn request(entry: &Entry) -> squeue::Entry {
    let slot = entry.slot.and_then(|slot| RawFd::try_from(slot).ok());
    let file = Fd(slot.unwrap_or(entry.file));
    match entry.verb {
        Verb::Read(memory) => match memory {
            Memory::One { pointer, length, buffer: Some(buffer) } => {
                opcode::ReadFixed::new(file, pointer, length, buffer).offset(entry.offset).build()
            }
            Memory::One { pointer, length, .. } => {
                opcode::Read::new(file, pointer, length).offset(entry.offset).build()
            }
            Memory::Many { pieces, count } => {
                opcode::Readv::new(file, pieces, count).offset(entry.offset).build()
            }
        },
        Verb::Write { memory, durable } => {
            let flags = if durable { libc::RWF_DSYNC } else { 0 };
            match memory {
                Memory::One { pointer, length, buffer: Some(buffer) } => {
                    opcode::WriteFixed::new(file, pointer, length, buffer)
                        .offset(entry.offset)
                        .rw_flags(flags)
                        .build()
                }
                Memory::One { pointer, length, .. } => opcode::Write::new(file, pointer, length)
                    .offset(entry.offset)
                    .rw_flags(flags)
                    .build(),
                Memory::Many { pieces, count } => opcode::Writev::new(file, pieces, count)
                    .offset(entry.offset)
                    .rw_flags(flags)
                    .build(),
            }
        }
        Verb::SyncData => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        Verb::PunchHole { length } => opcode::Fallocate::new(file, length)
            .offset(entry.offset)
            .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
            .build(),
        Verb::Watch { writable } => {
            let event = if writable { libc::POLLOUT } else { libc::POLLIN };
            opcode::PollAdd::new(file, u32::from(event.unsigned_abs())).build()
        }
    }
}
