//! What the executor calls between polls: start, reap, stamp, wake; and wait when no task is ready.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use brunt_units::{Span, Time};
use brunt_world::{Parked, Reactor};

use crate::bell::Bell;
use crate::clock::OsClock;
use crate::flights::Flights;
use crate::helper::Helper;
use crate::net::RealNet;

/// The real world beneath an executor.
pub struct RealReactor {
    pub(crate) flights: Rc<RefCell<Flights>>,
    pub(crate) helper: Rc<Helper>,
    pub(crate) net: Rc<RealNet>,
    pub(crate) clock: Rc<OsClock>,
    pub(crate) bell: Arc<Bell>,
}

impl RealReactor {
    /// How long to wait for `deadline`; `None` when it has passed.
    fn limit(&self, deadline: Time) -> Option<Span> {
        let now = brunt_world::Clock::now(&*self.clock);
        (deadline > now).then(|| deadline - now)
    }

    fn wait(&self, deadline: Option<Time>) {
        let limit = match deadline.map(|deadline| self.limit(deadline)) {
            Some(None) => return,
            Some(Some(limit)) => Some(limit),
            None => None,
        };
        self.bell.listen();
        if !self.helper.has_answers() {
            self.flights.borrow_mut().wait(limit);
        }
        self.bell.ignore();
    }
}

impl Reactor for RealReactor {
    /// When the reactor last read the clock, which is after every poll: the time the executor
    /// compares timers with.
    fn now(&self) -> Time {
        self.clock.poll_began()
    }

    fn turn(&mut self) {
        let mut flights = self.flights.borrow_mut();
        flights.begin();
        // One reading of the clock stamps everything reaped and begins the next poll.
        let now = self.clock.begin_poll();
        flights.end(now);
        self.net.turn(&mut flights.watches);
        drop(flights);
        self.helper.deliver();
    }

    fn park(&mut self, deadline: Option<Time>) -> Parked {
        let idle = self.flights.borrow().is_idle() && self.helper.is_idle();
        if idle && deadline.is_none() {
            return Parked::Dead;
        }
        self.wait(deadline);
        self.turn();
        Parked::Again
    }
}
