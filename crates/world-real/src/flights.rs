//! All I/O in flight, over any [`Ring`].
//!
//! [`Flights::submit`] checks an I/O, gives it a ticket and queues its first request;
//! [`Flights::begin`] starts what is queued; [`Flights::end`] passes outcomes to their flights,
//! which continue or end. Requests that the ring has no room for wait in a backlog, first come
//! first served.
//!
//! Invariants:
//! * A flight stays in its slot, untouched, from the push of a request until its outcome: the
//!   kernel holds addresses of its pieces and frames. Slots may move with the vector that holds
//!   them, since everything the kernel points to is in separate heap blocks and slabs.
//! * Each flight has at most one request in the ring, so a token identifies both a request and a
//!   flight.
//! * Dropping everything with I/O in flight leaks the flights, their frames and their open files.
//!   The kernel may complete them at any time, or never; nothing waits for it.

#![expect(unsafe_code, reason = "promises the ring that memory stays; the block says why it does")]

use std::collections::VecDeque;
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::{FileId, Io, IoError, Segments, Ticket, TicketId, Tickets};

use crate::files::{Files, OpenFile};
use crate::flight::{Flight, Next, check};
use crate::memory::{Slab, Slabs, map_slab};
use crate::ring::{Outcome, Ring};
use crate::watches::{WATCHES, Watches};
use rustix::io::Errno;

/// I/O in flight, with its files and memory.
pub(crate) struct Flights {
    ring: Box<dyn Ring>,
    tickets: Tickets,
    files: Files,
    slabs: Slabs,
    slots: Vec<Option<Flight>>,
    free: Vec<usize>,
    /// Flights whose next request found the ring full.
    backlog: VecDeque<usize>,
    /// Sockets, which share the ring.
    pub(crate) watches: Watches,
    /// Outcomes being processed; kept for its capacity.
    outcomes: Vec<Outcome>,
}

impl Flights {
    /// Starts with nothing in flight; completions go to `tickets`.
    pub(crate) fn new(ring: Box<dyn Ring>, tickets: Tickets) -> Self {
        Self {
            ring,
            tickets,
            files: Files::default(),
            slabs: Slabs::default(),
            slots: Vec::new(),
            free: Vec::new(),
            backlog: VecDeque::new(),
            watches: Watches::default(),
            outcomes: Vec::new(),
        }
    }

    /// Accepts `io` at `now`.
    pub(crate) fn submit(&mut self, io: Io, now: Time) -> Ticket {
        let (ticket, id) = self.tickets.issue(now);
        match check(&io).and_then(|()| self.files.get(io.file).ok_or(IoError::Invalid)) {
            Ok(file) => {
                let flight = Flight::new(id, io, Rc::clone(file));
                let slot = self.board(flight);
                self.queue(slot);
            }
            Err(error) => self.complete(id, Err(error), now, io.segments),
        }
        ticket
    }

    /// Starts what is queued. Never blocks.
    pub(crate) fn begin(&mut self) {
        self.work_off_backlog();
        self.ring.submit();
        self.ring.reap(&mut self.outcomes);
    }

    /// Processes the outcomes since [`Self::begin`], with completion time `now`.
    pub(crate) fn end(&mut self, now: Time) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for outcome in outcomes.drain(..) {
            match outcome.token < WATCHES {
                true => self.land(outcome, now),
                false => self.watches.end(outcome.token),
            }
        }
        self.outcomes = outcomes;
    }

    /// Waits until something ends, the bell rings, or `limit` passes.
    pub(crate) fn wait(&mut self, limit: Option<Span>) {
        self.work_off_backlog();
        self.ring.wait(limit);
    }

    /// Whether nothing is in flight, including detached I/O.
    pub(crate) fn is_idle(&self) -> bool {
        self.tickets.in_flight() == 0 && self.watches.is_empty()
    }

    /// Assigns `file` an identifier and, if the ring has a file table, a slot in it.
    pub(crate) fn open(&mut self, file: OpenFile) -> FileId {
        let file = Rc::new(file);
        let (id, slot) = self.files.add(Rc::clone(&file));
        if let Some(tables) = self.ring.tables() {
            let registered = tables.register_file(slot, file.raw());
            file.set_slot(registered.then_some(slot));
        }
        id
    }

    /// Releases `id`. I/O in flight keeps the descriptor. False when there was no such file.
    pub(crate) fn close(&mut self, id: FileId) -> bool {
        let Some(file) = self.files.remove(id) else {
            return false;
        };
        if let Some(slot) = file.slot() {
            // Queued requests refer to the slot: the kernel must resolve them before it is emptied.
            self.ring.submit();
            file.set_slot(None);
            if let Some(tables) = self.ring.tables() {
                tables.forget_file(slot);
            }
        }
        true
    }

    /// The open file called `id`.
    pub(crate) fn file(&self, id: FileId) -> Option<&Rc<OpenFile>> {
        self.files.get(id)
    }

    /// Allocates a slab of `bytes`, registered if `register` is set and the ring can. If
    /// registration was refused, the second value is the system's error number.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(crate) fn slab(
        &mut self,
        bytes: usize,
        register: bool,
    ) -> Result<(Slab, Option<i32>), Errno> {
        let slab = map_slab(bytes)?;
        let tables = self.ring.tables().filter(|_| register);
        let registered = tables
            .zip(self.slabs.next_number())
            .map(|(tables, number)| tables.register_slab(number, &slab));
        let address = slab.bytes().as_ptr().addr();
        self.slabs.add(address, registered == Some(Ok(())));
        Ok((slab, registered.and_then(Result::err)))
    }

    /// The number of slabs, and of registered slabs.
    pub(crate) fn slab_counts(&self) -> (usize, usize) {
        self.slabs.counts()
    }

    fn board(&mut self, flight: Flight) -> usize {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = Some(flight);
                slot
            }
            None => {
                self.slots.push(Some(flight));
                self.slots.len() - 1
            }
        }
    }

    /// Queues the next request of the flight in `slot`, behind the backlog.
    fn queue(&mut self, slot: usize) {
        if !self.backlog.is_empty() || !self.offer(slot) {
            self.backlog.push_back(slot);
        }
    }

    /// Offers the flight's next request to the ring, submitting queued requests first if it is
    /// full.
    fn offer(&mut self, slot: usize) -> bool {
        let flight = self.slots[slot].as_mut().expect("a flight in its slot");
        let entry = flight.entry(slot as u64, &self.slabs);
        // SAFETY: the flight holds its file, its frames (memory that is never unmapped, owned for
        // reads, shared and unchanging for writes) and its pieces, and is not touched until `land`,
        // or ever.
        unsafe {
            self.ring.push(entry).is_ok() || {
                self.ring.submit();
                self.ring.push(entry).is_ok()
            }
        }
    }

    fn work_off_backlog(&mut self) {
        while let Some(slot) = self.backlog.front().copied() {
            if !self.offer(slot) {
                break;
            }
            self.backlog.pop_front();
        }
        self.watches.work_off(&mut *self.ring);
    }

    fn land(&mut self, outcome: Outcome, now: Time) {
        let slot = usize::try_from(outcome.token).expect("tokens are slots");
        let flight = self.slots[slot].as_mut().expect("one outcome for each request");
        match flight.advance(outcome.result) {
            Next::Again => self.queue(slot),
            Next::Ended(result) => {
                let flight = self.slots[slot].take().expect("looked at above");
                self.free.push(slot);
                self.complete(flight.ticket, result, now, flight.segments);
            }
        }
    }

    fn complete(
        &mut self,
        id: TicketId,
        result: Result<(), IoError>,
        now: Time,
        segments: Segments,
    ) {
        self.tickets.complete(id, result, now, segments);
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        for flight in self.slots.drain(..).flatten() {
            std::mem::forget(flight);
        }
    }
}

#[cfg(test)]
mod schedules;
