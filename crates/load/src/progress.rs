//! How far sending is, and whether it is to stop.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_mail::Fault;
use brunt_run::Stop;
use brunt_units::Time;
use brunt_world::sync::Event;
use brunt_world::{Clock, World};

/// The request to stop, and when sessions saw it. A clone is another handle.
#[derive(Clone)]
pub(crate) struct Stopping {
    stop: Stop,
    clock: Rc<dyn Clock>,
    seen_at: Rc<Cell<Option<Time>>>,
}

impl Stopping {
    pub(crate) fn new(world: &World, stop: &Stop) -> Self {
        let (stop, clock) = (stop.clone(), Rc::clone(&world.clock));
        Self { stop, clock, seen_at: Rc::default() }
    }

    /// When it was asked, as far as anybody looked.
    pub(crate) fn asked_at(&self) -> Option<Time> {
        if self.seen_at.get().is_none() && self.stop.is_asked() {
            self.seen_at.set(Some(self.clock.now()));
        }
        self.seen_at.get()
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked_at().is_some()
    }
}

/// How far sending is.
pub struct Progress {
    goal: Option<u32>,
    begun: Cell<u32>,
    finished: Cell<u32>,
    accepted: Cell<u64>,
    in_flight: Cell<u32>,
    faults: RefCell<Vec<Fault>>,
    has_begun: Cell<bool>,
    is_over: Cell<bool>,
    event: Event,
}

impl Progress {
    pub(crate) fn new(world: &World, goal: Option<u32>) -> Rc<Self> {
        Rc::new(Self {
            goal,
            begun: Cell::new(0),
            finished: Cell::new(0),
            accepted: Cell::new(0),
            in_flight: Cell::new(0),
            faults: RefCell::default(),
            has_begun: Cell::new(false),
            is_over: Cell::new(false),
            event: Event::new(world.spawner.tasks()),
        })
    }

    /// How many messages are to be sent, if that ends the sending.
    pub fn goal(&self) -> Option<u32> {
        self.goal
    }

    /// Messages that were begun.
    pub fn begun(&self) -> u32 {
        self.begun.get()
    }

    /// Messages whose fate is known, as far as it will be.
    pub fn finished(&self) -> u32 {
        self.finished.get()
    }

    /// Deliveries that were accepted.
    pub fn accepted(&self) -> u64 {
        self.accepted.get()
    }

    /// Messages that are on their way to the server now.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.get()
    }

    /// Something that was done to the servers has ended. It is on file before the next message is sent.
    pub fn fault(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    /// Faults that were told of since the last look.
    pub(crate) fn take_faults(&self) -> Vec<Fault> {
        self.faults.take()
    }

    /// Whether no more messages will be sent.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Waits until this many messages are finished. Returns `false` when sending ended before.
    pub async fn reached(&self, messages: u32) -> bool {
        let reached = || match (self.finished.get() >= messages, self.is_over.get()) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        self.event.wait(reached).await
    }

    /// Whether sending has begun, and not only the filling of mailboxes before it.
    pub fn has_begun(&self) -> bool {
        self.has_begun.get()
    }

    /// Waits until sending has begun. Returns `false` when it ended before.
    pub async fn beginning(&self) -> bool {
        let begun = || match (self.has_begun.get(), self.is_over.get()) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        self.event.wait(begun).await
    }

    pub(crate) fn begins(&self) {
        self.has_begun.set(true);
        self.event.notify();
    }

    pub(crate) fn begin(&self) {
        self.begun.update(|count| count + 1);
        self.in_flight.update(|count| count + 1);
    }

    pub(crate) fn finish(&self, accepted: u64) {
        self.finished.update(|count| count + 1);
        self.in_flight.update(|count| count - 1);
        self.accepted.update(|count| count + accepted);
        self.event.notify();
    }

    pub(crate) fn end(&self) {
        self.is_over.set(true);
        self.event.notify();
    }
}
