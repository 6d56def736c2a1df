//! What moves the clock: the event queue beneath the executor.

use std::rc::Rc;

use brunt_units::Time;
use brunt_world::{Parked, Reactor};

use crate::events::Events;
use crate::front::Front;

/// [`Reactor`] of the virtual world. Parking jumps to the next event or timer, whichever is earlier, and lets
/// everything happen that is due then.
pub struct VirtualReactor {
    events: Events,
    front: Rc<Front>,
}

impl VirtualReactor {
    pub(crate) fn new(events: &Events, front: &Rc<Front>) -> Self {
        Self {
            events: events.clone(),
            front: Rc::clone(front),
        }
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
            self.front.happen(event);
        }
        Parked::Again
    }
}
