//! The thread that watches sockets where there is no io_uring.
//!
//! One thread waits for all of them in poll(2), and for orders: more sockets, or fewer. Each
//! wake-up costs time in proportion to their number, which is why a ring does it better.

#![expect(unsafe_code, reason = "polls descriptors by number; the block says why it is sound")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use super::Outcome;
use crate::bell::Mailbox;

enum Order {
    Watch { token: u64, file: RawFd, writable: bool },
    GiveUp(u64),
    End,
}

/// The thread, seen from the executor's. Dropping this ends it.
pub(crate) struct Poller(Arc<Shared>);

struct Shared {
    orders: Mutex<Vec<Order>>,
    /// Readable when there are orders.
    wake: OwnedFd,
    ended: Arc<Mailbox<Outcome>>,
}

impl Poller {
    /// Starts the thread; it posts to `ended`.
    ///
    /// # Errors
    /// The system refuses a thread or a descriptor.
    pub(crate) fn start(ended: &Arc<Mailbox<Outcome>>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            orders: Mutex::default(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            ended: Arc::clone(ended),
        });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("sockets".into());
        thread.spawn(move || its.watch())?;
        Ok(Self(shared))
    }

    /// Posts `token` when `file` can be written, or read. It stays open until then.
    pub(crate) fn watch(&self, token: u64, file: RawFd, writable: bool) {
        self.order(Order::Watch { token, file, writable });
    }

    /// Posts `token` soon, if it was not posted.
    pub(crate) fn give_up(&self, token: u64) {
        self.order(Order::GiveUp(token));
    }

    fn order(&self, order: Order) {
        let orders = self.0.orders.lock();
        orders.unwrap_or_else(PoisonError::into_inner).push(order);
        // The counter cannot overflow, and a full one would wake the thread as well.
        let _ = rustix::io::write(&self.0.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.order(Order::End);
    }
}

impl Shared {
    fn watch(&self) {
        let poll = |fd, events| libc::pollfd { fd, events, revents: 0 };
        // The first is that of orders; the token of each other stands at its place.
        let mut files = vec![poll(self.wake.as_raw_fd(), libc::POLLIN)];
        let mut tokens = vec![0];
        loop {
            let count = libc::nfds_t::try_from(files.len()).unwrap_or(libc::nfds_t::MAX);
            // SAFETY: `files` has that many entries and is not shared. Their files are open until
            // their tokens are posted; after the ring is dropped one may be closed, and then what
            // is seen of it has no consequence.
            unsafe { libc::poll(files.as_mut_ptr(), count, -1) };
            for at in (1..files.len()).rev() {
                if files[at].revents != 0 {
                    self.post(tokens.swap_remove(at), 0);
                    files.swap_remove(at);
                }
            }
            if files[0].revents == 0 {
                continue;
            }
            let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
            let orders = self.orders.lock();
            let orders = std::mem::take(&mut *orders.unwrap_or_else(PoisonError::into_inner));
            for order in orders {
                match order {
                    Order::End => return,
                    Order::Watch { token, file, writable } => {
                        let events = if writable { libc::POLLOUT } else { libc::POLLIN };
                        files.push(poll(file, events));
                        tokens.push(token);
                    }
                    Order::GiveUp(token) => {
                        // It may have been posted meanwhile.
                        if let Some(at) = tokens.iter().position(|other| *other == token) {
                            files.swap_remove(at);
                            self.post(tokens.swap_remove(at), -libc::ECANCELED);
                        }
                    }
                }
            }
        }
    }

    fn post(&self, token: u64, result: i32) {
        self.ended.post(Outcome { token, result });
    }
}
