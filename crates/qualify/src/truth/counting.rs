//! A disk that counts bytes, to show the progress of a long step that reports none itself.

use std::cell::Cell;
use std::rc::Rc;

use brunt_world::{Disk, Io, Ticket, World};

/// Counts the bytes of all requests.
pub struct CountingDisk {
    inner: Rc<dyn Disk>,
    bytes: Cell<u64>,
}

impl CountingDisk {
    /// A counter in front of the disk of `world`.
    pub fn over(world: &World) -> Self {
        Self { inner: Rc::clone(&world.disk), bytes: Cell::new(0) }
    }

    /// `world` with its disk behind this one.
    pub fn world(self: &Rc<Self>, world: &World) -> World {
        World { disk: Rc::<Self>::clone(self), ..world.clone() }
    }

    /// Bytes of all requests so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

impl Disk for CountingDisk {
    fn submit(&self, io: Io) -> Ticket {
        self.bytes.set(self.bytes.get() + io.length());
        self.inner.submit(io)
    }
}
