//! The ring for systems without io_uring: threads that each make one blocking call at a time.
//!
//! Submitted entries wait in one queue; a thread takes the oldest, performs it, and posts the
//! outcome. Threads are started when there is work and no idle thread, up to a fixed number, and
//! then stay. Requests beyond the number of threads wait in our queue instead of the device's, so
//! that number limits the queue depth.
//!
//! Dropping the ring abandons the queue; the threads end when they return from their calls. They
//! are not joined: a call that never returns must not block the end of a run.

#![expect(unsafe_code, reason = "vectored calls with raw memory; each block says why it is sound")]

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use brunt_units::Span;
use rustix::event::{PollFd, PollFlags, poll};

use super::poller::Poller;
use super::{Entry, Full, Memory, Outcome, Ring, Tables, Verb};
use crate::bell::{Bell, Mailbox};

/// Stack size of a thread; it does little besides system calls.
const STACK_BYTES: usize = 64 << 10;

/// A queue and its worker threads.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    bell: Arc<Bell>,
    queued: Vec<Job>,
    most: usize,
    /// Started with the first watch.
    poller: Option<Poller>,
}

struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    ended: Arc<Mailbox<Outcome>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    started: usize,
    idle: usize,
    closed: bool,
}

struct Job(Entry);

// SAFETY: the pointers in an entry are used only by the thread that takes it from the queue, and
// the caller of `Ring::push` keeps what they point to in place until the outcome.
unsafe impl Send for Job {}

impl Threads {
    /// A ring of at most `most` threads (at least one) that rings `bell`. All but the first are
    /// started when there is work.
    ///
    /// # Errors
    /// The system refuses to start even one thread.
    pub(crate) fn new(bell: &Arc<Bell>, most: usize) -> io::Result<Self> {
        let shared = Shared {
            queue: Mutex::default(),
            work: Condvar::new(),
            ended: Arc::new(Mailbox::new(bell)),
        };
        let threads = Self {
            shared: Arc::new(shared),
            bell: Arc::clone(bell),
            queued: Vec::new(),
            most: most.max(1),
            poller: None,
        };
        threads.start(0)?;
        threads.shared.lock().started = 1;
        Ok(threads)
    }

    fn start(&self, number: usize) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread =
            std::thread::Builder::new().name(format!("io-{number}")).stack_size(STACK_BYTES);
        thread.spawn(move || shared.work_off()).map(drop)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work_off(&self) {
        loop {
            let mut queue = self.lock();
            let job = loop {
                if queue.closed {
                    return;
                }
                if let Some(job) = queue.jobs.pop_front() {
                    break job;
                }
                queue.idle += 1;
                queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            };
            drop(queue);
            self.ended.post(Outcome { token: job.0.token, result: job.perform() });
        }
    }
}

impl Ring for Threads {
    unsafe fn push(&mut self, entry: Entry) -> Result<(), Full> {
        self.queued.push(Job(entry));
        Ok(())
    }

    fn watch(&mut self, entry: Entry) -> Result<(), Full> {
        let poller = match self.poller.take() {
            Some(poller) => poller,
            None => Poller::start(&self.shared.ended).map_err(|_| Full)?,
        };
        let writable = matches!(entry.verb, Verb::Watch { writable: true });
        let poller = self.poller.insert(poller);
        poller.watch(entry.token, entry.file, writable);
        Ok(())
    }

    fn give_up(&mut self, token: u64) -> Result<(), Full> {
        if let Some(poller) = &self.poller {
            poller.give_up(token);
        }
        Ok(())
    }

    fn submit(&mut self) {
        if self.queued.is_empty() {
            return;
        }
        let count = self.queued.len();
        let mut queue = self.shared.lock();
        queue.jobs.extend(self.queued.drain(..));
        let wanted = queue.jobs.len().saturating_sub(queue.idle);
        let starting = wanted.min(self.most - queue.started);
        let started =
            (0..starting).take_while(|number| self.start(queue.started + number).is_ok()).count();
        queue.started += started;
        drop(queue);
        (0..count).for_each(|_| self.shared.work.notify_one());
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        self.shared.ended.take(outcomes);
    }

    fn wait(&mut self, limit: Option<Span>) {
        self.submit();
        if !self.shared.ended.is_empty() {
            return;
        }
        let limit = limit.and_then(|span| std::time::Duration::from_nanos(span.0).try_into().ok());
        let bell = Arc::clone(&self.bell);
        let file = bell.file();
        let mut files = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
        // An interrupted wait just ends early.
        if poll(&mut files, limit.as_ref()) == Ok(1) {
            self.bell.hush();
        }
    }

    fn tables(&mut self) -> Option<&mut dyn Tables> {
        None
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        queue.jobs.clear();
        drop(queue);
        self.shared.work.notify_all();
    }
}

impl Job {
    /// Makes the call; returns the result in io_uring's form.
    fn perform(&self) -> i32 {
        let Entry { file, offset, verb, .. } = self.0;
        let Ok(offset) = libc::off_t::try_from(offset) else {
            return -libc::EINVAL;
        };
        // SAFETY: the caller of `Ring::push` keeps the file open and the memory, pieces and what
        // they point to, in place and unshared until the outcome, which is posted after this
        // returns.
        let result = unsafe {
            match verb {
                Verb::Read(Memory::One { pointer, length, .. }) => {
                    libc::pread(file, pointer.cast(), length as usize, offset)
                }
                Verb::Read(Memory::Many { pieces, count }) => {
                    libc::preadv(file, pieces, count.cast_signed(), offset)
                }
                Verb::Write { memory, durable } => {
                    let flags = if durable { libc::RWF_DSYNC } else { 0 };
                    let one;
                    let (pieces, count) = match memory {
                        Memory::One { pointer, length, .. } => {
                            one =
                                libc::iovec { iov_base: pointer.cast(), iov_len: length as usize };
                            (&raw const one, 1)
                        }
                        Memory::Many { pieces, count } => (pieces, count.cast_signed()),
                    };
                    libc::pwritev2(file, pieces, count, offset, flags)
                }
                Verb::SyncData => libc::fdatasync(file) as isize,
                Verb::PunchHole { length } => {
                    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                    let length = libc::off_t::try_from(length).unwrap_or(libc::off_t::MAX);
                    libc::fallocate(file, mode, offset, length) as isize
                }
                Verb::Watch { .. } => unreachable!("the poller's"),
            }
        };
        if result < 0 {
            -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
        } else {
            // Linux transfers at most 2 GiB - 4 KiB in one call (MAX_RW_COUNT).
            i32::try_from(result).unwrap_or(i32::MAX)
        }
    }
}
