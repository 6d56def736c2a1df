//! Wakes the executor's thread from helper threads.
//!
//! A [`Bell`] is an eventfd and a flag. Ringing costs a system call only while the executor
//! listens, so helpers ring after every piece of work. A [`Mailbox`] is a queue with a bell.
//!
//! Invariant (no lost wake-up): the listener sets the flag and *then* checks its mailboxes; a
//! helper posts and *then* checks the flag. Both are sequentially consistent, so at least one of
//! them sees the other.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

/// Wakes the executor's thread.
pub(crate) struct Bell {
    file: OwnedFd,
    listening: AtomicBool,
}

impl Bell {
    /// A bell without a listener.
    pub(crate) fn new() -> rustix::io::Result<Self> {
        Ok(Self {
            file: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            listening: AtomicBool::new(false),
        })
    }

    /// Wakes the listener, if there is one.
    pub(crate) fn ring(&self) {
        if self.listening.swap(false, Ordering::SeqCst) {
            // The counter cannot overflow: there is one listener, and one ring each time it
            // listens.
            let _ = rustix::io::write(&self.file, &1_u64.to_ne_bytes());
        }
    }

    /// Starts listening: ringing now makes the file readable.
    pub(crate) fn listen(&self) {
        self.listening.store(true, Ordering::SeqCst);
    }

    /// Stops listening. A helper that is ringing at this moment may still make the file readable.
    pub(crate) fn ignore(&self) {
        self.listening.store(false, Ordering::SeqCst);
    }

    /// Clears the file after it became readable.
    pub(crate) fn hush(&self) {
        // Nothing to read means that it was already cleared.
        let _ = rustix::io::read(&self.file, &mut [0_u8; 8]);
    }

    /// The file that becomes readable on a ring.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The file's descriptor number.
    pub(crate) fn raw(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// A queue from many threads to the executor's thread.
pub(crate) struct Mailbox<T> {
    posted: Mutex<Vec<T>>,
    count: AtomicUsize,
    bell: Arc<Bell>,
}

impl<T> Mailbox<T> {
    /// An empty queue that rings `bell`.
    pub(crate) fn new(bell: &Arc<Bell>) -> Self {
        Self { posted: Mutex::new(Vec::new()), count: AtomicUsize::new(0), bell: Arc::clone(bell) }
    }

    /// Appends `item` and rings.
    pub(crate) fn post(&self, item: T) {
        let mut posted = self.posted.lock().unwrap_or_else(PoisonError::into_inner);
        posted.push(item);
        self.count.store(posted.len(), Ordering::SeqCst);
        drop(posted);
        self.bell.ring();
    }

    /// Whether nothing is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Moves all queued items to the end of `items`, in the order they were posted.
    pub(crate) fn take(&self, items: &mut Vec<T>) {
        if !self.is_empty() {
            let mut posted = self.posted.lock().unwrap_or_else(PoisonError::into_inner);
            items.append(&mut posted);
            self.count.store(0, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    fn rung(bell: &Bell) -> bool {
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut files = [PollFd::new(&bell.file, PollFlags::IN)];
        poll(&mut files, Some(&now)).unwrap() == 1
    }

    #[test]
    fn a_bell_is_heard_only_by_a_listener() {
        let bell = Bell::new().unwrap();
        bell.ring();
        assert!(!rung(&bell));
        bell.listen();
        bell.ring();
        bell.ring();
        assert!(rung(&bell));
        bell.hush();
        assert!(!rung(&bell));
        bell.listen();
        bell.ignore();
        bell.ring();
        assert!(!rung(&bell));
    }

    #[test]
    fn mail_from_many_threads_arrives_once() {
        let bell = Arc::new(Bell::new().unwrap());
        let mailbox = Mailbox::new(&bell);
        let mut items = Vec::new();
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let mailbox = &mailbox;
                scope.spawn(move || (0..1000).for_each(|n| mailbox.post(thread * 1000 + n)));
            }
            while items.len() < 4000 {
                mailbox.take(&mut items);
            }
        });
        items.sort_unstable();
        assert!(items.into_iter().eq(0..4000));
        assert!(mailbox.is_empty());
    }
}
