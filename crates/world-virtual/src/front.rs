//! The disk of a virtual world: takes I/Os, lets a device time them, and moves their bytes when
//! they land.
//!
//! ```text
//!    submit: check -> flight slab -> Device::submit ... Event::Finish: land in the Store -> Tickets::complete
//! ```
//!
//! A wrong request completes at once, without reaching a device. Whether a read is past the end,
//! and whether a growing write finds space, is decided when it lands.
//!
//! Invariant: a file without a name is dropped when its last handle is closed and its last I/O has
//! landed.

use std::cell::RefCell;
use std::rc::Rc;

use brunt_world::random::Stream;
use brunt_world::{Disk, Io, IoError, Tasks, Ticket, TicketId, Tickets};

use crate::device::{Agenda, Device, Request, RequestId};
use crate::events::{Event, Events};
use crate::follower::Follower;
use crate::handles::Handles;
use crate::journal::{Action, Journal};
use crate::landing::Landing;
use crate::mounts::Mounts;
use crate::volume::Effects;
use crate::{Digest, Inode, RequestDigest, Store};

/// An I/O in flight at a device.
pub(crate) struct Flight {
    pub(crate) io: Io,
    pub(crate) inode: Inode,
    /// Decides when each sector lands, if that is random.
    pub(crate) coins: u64,
    /// Hash of the request and its begin.
    digest: Digest,
    ticket: TicketId,
    /// Its number in the journal.
    recorded: Option<u32>,
}

/// The mutable state.
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) handles: Handles,
    pub(crate) mounts: Mounts,
    pub(crate) effects: Effects,
    pub(crate) journal: Option<Journal>,
    pub(crate) follower: Option<Rc<RefCell<dyn Follower>>>,
    /// Digest of the completed requests of each volume.
    pub(crate) requests: Vec<RequestDigest>,
    devices: Vec<Box<dyn Device>>,
    flights: Vec<Option<Flight>>,
    free_flights: Vec<u32>,
    landing: Landing,
    stream: Stream,
}

impl State {
    pub(crate) fn new(
        store: Store,
        mounts: Mounts,
        devices: Vec<Box<dyn Device>>,
        landing: Landing,
        stream: Stream,
    ) -> Self {
        let requests = vec![RequestDigest::default(); mounts.count()];
        let handles = Handles::over(&store, |path| {
            let volume = mounts.find(path).expect("every file lies on a volume");
            (volume, mounts.below(volume, path))
        });
        Self {
            store,
            handles,
            mounts,
            effects: Effects::default(),
            journal: None,
            follower: None,
            requests,
            devices,
            flights: Vec::new(),
            free_flights: Vec::new(),
            landing,
            stream,
        }
    }

    /// Adds an entry to the journal, if there is one.
    pub(crate) fn record<T>(&mut self, entry: impl FnOnce(&mut Journal) -> T) -> Option<T> {
        self.journal.as_mut().map(entry)
    }

    /// Tells the follower, if there is one.
    pub(crate) fn follow(&self, tell: impl FnOnce(&mut dyn Follower)) {
        if let Some(follower) = &self.follower {
            tell(&mut *follower.borrow_mut());
        }
    }

    /// A free slot for a flight.
    fn slot(&mut self) -> RequestId {
        RequestId(self.free_flights.pop().unwrap_or_else(|| {
            self.flights.push(None);
            u32::try_from(self.flights.len() - 1).expect("fewer than 2^32 I/Os in flight")
        }))
    }

    /// Removes a handle or I/O from `inode`; drops the file if it can no longer be reached.
    pub(crate) fn release(&mut self, inode: Inode) {
        if self.handles.release(inode) {
            self.forget(inode);
        }
    }

    /// Removes a name from `inode`.
    pub(crate) fn unnamed(&mut self, inode: Inode) {
        if self.handles.unnamed(inode) {
            self.forget(inode);
        }
    }

    /// Informs the device that a file was resized to `bytes` by name.
    pub(crate) fn resized(&mut self, file: Inode, bytes: u64) {
        let volume = self.handles.volume(file);
        let device = self.mounts.device(volume);
        self.devices[device as usize].resized(volume, file, bytes);
    }

    /// Whether an I/O on `inode` is in flight.
    pub(crate) fn is_in_flight(&self, inode: Inode) -> bool {
        let mut flights = self.flights.iter().flatten();
        flights.any(|flight| flight.inode == inode)
    }

    pub(crate) fn forget(&mut self, inode: Inode) {
        let bytes = self.store.length(inode).expect("forgotten once");
        let volume = self.handles.volume(inode);
        self.mounts.shrink(volume, bytes);
        let device = self.mounts.device(volume);
        self.devices[device as usize].removed(volume, inode);
        self.store.drop_file(inode);
    }
}

/// [`Disk`] and [`brunt_world::Volume`] of a virtual world.
pub(crate) struct Front {
    pub(crate) tasks: Tasks,
    pub(crate) tickets: Tickets,
    pub(crate) events: Events,
    pub(crate) state: RefCell<State>,
}

impl Front {
    pub(crate) fn new(tasks: &Tasks, events: &Events, state: State) -> Rc<Self> {
        Rc::new(Self {
            tasks: tasks.clone(),
            tickets: Tickets::new(tasks),
            events: events.clone(),
            state: RefCell::new(state),
        })
    }

    /// Handles a due event.
    pub(crate) fn happen(&self, event: Event) {
        match event {
            Event::Finish(request, result) => self.finish(request, result),
            Event::Device(device) => {
                let mut agenda = Agenda::new(&self.events, device);
                let state = &mut *self.state.borrow_mut();
                state.devices[device as usize].on_event(&mut agenda);
                state.follow(|follower| follower.look(&state.store));
            }
            Event::Answer(effect) => {
                let state = &mut *self.state.borrow_mut();
                let effect = state.effects.take(effect);
                effect(state);
            }
            Event::Net(_) => unreachable!("the network's"),
        }
    }

    fn finish(&self, request: RequestId, result: Result<(), IoError>) {
        let state = &mut *self.state.borrow_mut();
        let mut flight = state.flights[request.slot()].take().expect("a request finishes once");
        state.free_flights.push(request.0);
        let result = result.and_then(|()| state.land(&mut flight));
        state.follow(|follower| follower.ended(request.slot()));
        let now = self.events.now();
        flight.digest.mix(now.0 << 1 | u64::from(result.is_ok()));
        let volume = state.handles.volume(flight.inode);
        state.requests[volume as usize].add(flight.digest);
        if let (Ok(()), Some(number)) = (result, flight.recorded) {
            state.record(|journal| journal.completed(number));
        }
        state.release(flight.inode);
        self.tickets.complete(flight.ticket, result, now, flight.io.segments);
    }

    /// Submits a checked I/O to its device.
    fn start(&self, io: Io, inode: Inode, ticket: TicketId) {
        let state = &mut *self.state.borrow_mut();
        let volume = state.handles.volume(inode);
        let id = state.slot();
        let request = Request {
            id,
            op: io.op,
            volume,
            file: inode,
            offset: io.offset,
            length: io.length(),
            class: io.class,
            tag: io.tag,
        };
        let mut digest = state.handles.name(inode);
        digest.mix(self.events.now().0);
        digest.mix(request.offset);
        digest.mix(request.length << 3 | io.op as u64);
        self.events.mix((u64::from(inode.0) << 8) | io.op as u64);
        self.events.mix(request.offset);
        self.events.mix(request.length);
        state.handles.hold(inode);
        let recorded = state.record(|journal| {
            let action = Action::of(&io, inode)?;
            Some(journal.submitted(Some(action)))
        });
        state.follow(|follower| {
            if let Some(action) = Action::of(&io, inode) {
                follower.submitted(&request, action);
            }
        });
        let coins = state.landing.coins(&mut state.stream);
        let mut flight = Flight { io, inode, coins, digest, ticket, recorded: recorded.flatten() };
        state.touch_down(&mut flight);
        state.flights[id.slot()] = Some(flight);
        let device = state.mounts.device(volume);
        let mut agenda = Agenda::new(&self.events, device);
        state.devices[device as usize].submit(&request, &mut agenda);
        state.follow(|follower| follower.look(&state.store));
    }
}

impl Disk for Front {
    fn submit(&self, io: Io) -> Ticket {
        let now = self.events.now();
        let (ticket, id) = self.tickets.issue(now);
        let checked = self.state.borrow().handles.check(&io);
        match checked {
            Ok(inode) => self.start(io, inode, id),
            Err(error) => self.tickets.complete(id, Err(error), now, io.segments),
        }
        ticket
    }
}
