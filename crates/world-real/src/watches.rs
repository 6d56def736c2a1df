//! Sockets that are watched until something can be done with them.
//!
//! A watch is one request of the ring: it ends once, when its socket can be read or written, or
//! soon after it was given up. It holds the socket until then, so a number that the ring knows is
//! never another file's.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

use crate::ring::{Entry, Full, Ring, Verb};

/// Tokens of watches are above those of flights.
pub(crate) const WATCHES: u64 = 1 << 62;

struct Watch {
    socket: Rc<OwnedFd>,
    writable: bool,
}

enum Order {
    Begin(u64),
    GiveUp(u64),
}

/// Watches under way.
#[derive(Default)]
pub(crate) struct Watches {
    made: u64,
    watches: BTreeMap<u64, Watch>,
    /// What the ring had no room for, in order.
    orders: VecDeque<Order>,
    ended: Vec<u64>,
}

impl Watches {
    /// Watches `socket` until it can be written, or read: the watch's token.
    pub(crate) fn begin(&mut self, socket: &Rc<OwnedFd>, writable: bool) -> u64 {
        let token = WATCHES + self.made;
        self.made += 1;
        let socket = Rc::clone(socket);
        self.watches.insert(token, Watch { socket, writable });
        self.orders.push_back(Order::Begin(token));
        token
    }

    /// Ends the watch early.
    pub(crate) fn give_up(&mut self, token: u64) {
        self.orders.push_back(Order::GiveUp(token));
    }

    /// Hands orders to `ring`, as many as it has room for.
    pub(crate) fn work_off(&mut self, ring: &mut dyn Ring) {
        let mut is_submitted = false;
        while let Some(order) = self.orders.front() {
            let taken = match *order {
                Order::Begin(token) => {
                    let watch = &self.watches[&token];
                    let entry = Entry {
                        token,
                        file: watch.socket.as_raw_fd(),
                        slot: None,
                        offset: 0,
                        verb: Verb::Watch { writable: watch.writable },
                    };
                    ring.watch(entry)
                }
                Order::GiveUp(token) => ring.give_up(token),
            };
            match taken {
                Ok(()) => drop(self.orders.pop_front()),
                Err(Full) if is_submitted => return,
                Err(Full) => ring.submit(),
            }
            is_submitted = taken.is_err();
        }
    }

    /// The ring says that a watch ended.
    pub(crate) fn end(&mut self, token: u64) {
        let watch = self.watches.remove(&token);
        drop(watch.expect("a watch ends once"));
        self.ended.push(token);
    }

    /// The tokens of watches that ended.
    pub(crate) fn take_ended(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.ended)
    }

    /// Whether none has ended that was not taken.
    pub(crate) fn is_quiet(&self) -> bool {
        self.ended.is_empty()
    }

    /// Whether none is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }
}
