//! A disk that counts the bytes it is asked for, to show how far a long step is that says nothing itself.

use std::cell::Cell;
use std::rc::Rc;

use brunt_world::{Disk, Io, Ticket, World};

/// Counts what goes through it.
pub struct CountingDisk {
    inner: Rc<dyn Disk>,
    bytes: Cell<u64>,
}

impl CountingDisk {
    /// Counts on the way to the disk of `world`.
    pub fn over(world: &World) -> Self {
        Self {
            inner: Rc::clone(&world.disk),
            bytes: Cell::new(0),
        }
    }

    /// `world` with this disk in front of its own.
    pub fn world(self: &Rc<Self>, world: &World) -> World {
        World {
            disk: Rc::<Self>::clone(self),
            ..world.clone()
        }
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
