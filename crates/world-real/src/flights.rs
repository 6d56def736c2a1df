//! All I/Os on their way, over any [`Ring`].
//!
//! [`Flights::submit`] checks an I/O, gives it a ticket and queues its first request; [`Flights::begin`] starts what is
//! queued; [`Flights::end`] hands outcomes to their flights, which go on or end. What the ring has no room for waits in a
//! backlog, first come first served.
//!
//! Invariants:
//! * A flight stays in its slot, untouched, from the push of a request until its outcome: the kernel holds addresses
//!   of its pieces and frames. Slots may move with the vector that holds them, since what the kernel knows lies in
//!   heap blocks and slabs of their own.
//! * Each flight has at most one request in the ring, so a token names a request as well as a flight.
//! * Dropping everything with I/O on its way leaks the flights, their frames and their open files. The kernel may
//!   finish with them at any time, or never; nobody waits for it.

#![expect(
    unsafe_code,
    reason = "promises the ring that memory stays; the block says why it does"
)]

use std::collections::VecDeque;
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::{FileId, Io, IoError, Segments, Ticket, TicketId, Tickets};

use crate::files::{Files, OpenFile};
use crate::flight::{Flight, Next, check};
use crate::memory::{Slab, Slabs, map_slab};
use crate::ring::{Outcome, Ring};
use rustix::io::Errno;

/// I/Os in flight, their files and their memory.
pub(crate) struct Flights {
    ring: Box<dyn Ring>,
    tickets: Tickets,
    files: Files,
    slabs: Slabs,
    slots: Vec<Option<Flight>>,
    free: Vec<usize>,
    /// Flights whose next request found the ring full.
    backlog: VecDeque<usize>,
    /// Outcomes being handed out; kept for its capacity.
    outcomes: Vec<Outcome>,
}

impl Flights {
    /// Nothing in flight yet; completions go to `tickets`.
    pub(crate) fn new(ring: Box<dyn Ring>, tickets: Tickets) -> Self {
        Self {
            ring,
            tickets,
            files: Files::default(),
            slabs: Slabs::default(),
            slots: Vec::new(),
            free: Vec::new(),
            backlog: VecDeque::new(),
            outcomes: Vec::new(),
        }
    }

    /// Takes `io` over at `now`.
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

    /// Starts what is queued. Never waits.
    pub(crate) fn begin(&mut self) {
        self.work_off_backlog();
        self.ring.submit();
        self.ring.reap(&mut self.outcomes);
    }

    /// Ends what [`Self::begin`] found done, with completion time `now`.
    pub(crate) fn end(&mut self, now: Time) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for outcome in outcomes.drain(..) {
            self.land(outcome, now);
        }
        self.outcomes = outcomes;
    }

    /// Waits until something ends, the bell rings, or `limit` passes.
    pub(crate) fn wait(&mut self, limit: Option<Span>) {
        self.work_off_backlog();
        self.ring.wait(limit);
    }

    /// Whether nothing is in flight, detached or not.
    pub(crate) fn is_idle(&self) -> bool {
        self.tickets.in_flight() == 0
    }

    /// Gives `file` a number and, where the ring has a table of files, a place in it.
    pub(crate) fn open(&mut self, file: OpenFile) -> FileId {
        let file = Rc::new(file);
        let (id, slot) = self.files.add(Rc::clone(&file));
        if let Some(tables) = self.ring.tables() {
            let registered = tables.register_file(slot, file.raw());
            file.set_slot(registered.then_some(slot));
        }
        id
    }

    /// Forgets `id`. I/O in flight goes on with the descriptor. False when there was no such file.
    pub(crate) fn close(&mut self, id: FileId) -> bool {
        let Some(file) = self.files.remove(id) else {
            return false;
        };
        if let Some(slot) = file.slot() {
            // Requests that are queued name the slot: the kernel must look them up before it is emptied.
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

    /// A new slab of `bytes`, registered if `register` and the ring can. If registering was refused, the second value
    /// is the system's error number.
    ///
    /// # Errors
    /// There is no memory for it.
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

    /// How many slabs there are, and how many of them are registered.
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

    /// Queues the next request of the flight in `slot`, behind those that wait already.
    fn queue(&mut self, slot: usize) {
        if !self.backlog.is_empty() || !self.offer(slot) {
            self.backlog.push_back(slot);
        }
    }

    /// Offers the flight's next request to the ring, which may first have to submit what it holds.
    fn offer(&mut self, slot: usize) -> bool {
        let flight = self.slots[slot].as_mut().expect("a flight in its slot");
        let entry = flight.entry(slot as u64, &self.slabs);
        // SAFETY: the flight holds its file, its frames (memory that is never unmapped, owned for reads, shared
        // and unchanging for writes) and its pieces, and stays untouched until `land` or for ever.
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
    }

    fn land(&mut self, outcome: Outcome, now: Time) {
        let slot = usize::try_from(outcome.token).expect("tokens are slots");
        let flight = self.slots[slot]
            .as_mut()
            .expect("one outcome for each request");
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
