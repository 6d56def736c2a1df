//! Moves the clock: the event queue underneath the executor.

use std::rc::Rc;

use brunt_units::Time;
use brunt_world::{Parked, Reactor};

use crate::events::{Event, Events};
use crate::front::Front;
use crate::net::Network;

/// The [`Reactor`] of the virtual world. Parking jumps to the next event or timer, whichever is
/// earlier, and handles everything that is due then.
pub struct VirtualReactor {
    events: Events,
    front: Rc<Front>,
    network: Rc<Network>,
}

impl VirtualReactor {
    pub(crate) fn new(events: &Events, front: &Rc<Front>, network: &Rc<Network>) -> Self {
        Self { events: events.clone(), front: Rc::clone(front), network: Rc::clone(network) }
    }
}

impl Reactor for VirtualReactor {
    fn now(&self) -> Time {
        self.events.now()
    }

    /// Nothing to do: time does not move while a task is ready.
    fn turn(&mut self) {}

    fn park(&mut self, deadline: Option<Time>) -> Parked {
        let next = match (self.events.next_at(), deadline) {
            (None, None) => return Parked::Dead,
            (Some(event), None) => event,
            (None, Some(timer)) => timer,
            (Some(event), Some(timer)) => event.min(timer),
        };
        self.events.advance(next.max(self.events.now()));
        while let Some(event) = self.events.pop_due() {
            match event {
                Event::Net(step) => self.network.happen(step),
                other => self.front.happen(other),
            }
        }
        Parked::Again
    }
}
