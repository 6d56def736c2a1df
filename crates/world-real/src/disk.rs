//! The [`brunt_world::Disk`] of the real world.

use std::cell::RefCell;
use std::rc::Rc;

use brunt_world::{Clock, Disk, Io, Ticket};

use crate::clock::OsClock;
use crate::flights::Flights;

/// Direct access to operating system files.
pub(crate) struct RealDisk {
    pub(crate) flights: Rc<RefCell<Flights>>,
    pub(crate) clock: Rc<OsClock>,
}

impl Disk for RealDisk {
    fn submit(&self, io: Io) -> Ticket {
        self.flights.borrow_mut().submit(io, self.clock.now())
    }
}
