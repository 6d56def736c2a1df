//! The seam between the engine and the world it runs in.
//!
//! The engine, the sessions, the arrays and the links are written once against what stands here, and run in two
//! worlds: a *real* one (`world-real`: io_uring, files, the machine's clock) and a *virtual* one (`world-virtual`:
//! an event queue and integer nanoseconds). Nothing is global: a [`World`] is handed to constructors, and whoever
//! holds none of its handles touches no disk, reads no clock and draws no random number.
//!
//! ```text
//!    engine, sessions, recovery ...            futures, run by one Executor
//!    ------------------------------- World: disk, volume, net, clock, spawn, random, frames
//!    world-real            world-virtual       Reactors: no futures below this line
//!    ring | threads        events | Store
//! ```
//!
//! * [`Disk`]: one verb, [`Disk::submit`], and the durability contract.
//! * [`Volume`]: names, sizes and space.
//! * [`Net`]: bytes between hosts.
//! * [`Clock`]: now, sleeping, and the cost of computing.
//! * [`Frames`]: the memory that I/O reads into and writes from.
//! * [`Executor`]: one thread, one ready queue; [`Reactor`] is what a world puts beneath it.
//! * [`random`]: named streams of one seed.
//! * [`conformance`]: what every implementation must pass.
//! * [`schedule`]: what happens when.
//! * [`fault`]: a plan of faults around any disk.
//!
//! Invariant: wakers are not used. Everything that waits asks the executor which task is running
//! ([`Tasks::current`]) and is resumed by naming it ([`Tasks::wake`]), so a wake-up costs one push and no atomics.
//! A combinator that substitutes wakers must therefore poll all its children whenever it is polled.

mod answer;
pub mod clock;
pub mod conformance;
mod disk;
mod event;
mod executor;
pub mod fault;
mod frame;
mod net;
pub mod random;
pub mod schedule;
pub mod sync;
mod ticket;
mod volume;

pub use answer::{Answer, Answering, answer};
pub use clock::{Clock, Sleep, Spend};
pub use disk::{Class, Disk, Io, IoError, Op, Segment, Segments};
pub use executor::{Executor, Parked, Reactor, Spawner, Task, TaskId, Tasks};
pub use frame::{Frame, FramePlace, Frames, SLAB_BYTES, SlabSource};
pub use net::{Net, NetError, Reply, SocketId};
pub use schedule::{Due, Schedule};
pub use ticket::{Completion, Ticket, TicketId, Tickets};
pub use volume::{FileId, OpenMode, Space, Volume, VolumeError};

use std::rc::Rc;

/// Everything an engine may touch. Cloning clones handles.
#[derive(Clone)]
pub struct World {
    /// Time.
    pub clock: Rc<dyn Clock>,
    /// Bytes in files.
    pub disk: Rc<dyn Disk>,
    /// Files and their names.
    pub volume: Rc<dyn Volume>,
    /// Other hosts.
    pub net: Rc<dyn Net>,
    /// Memory for I/O.
    pub frames: Frames,
    /// Starts tasks.
    pub spawner: Spawner,
    /// Randomness, by name.
    pub random: random::Streams,
}

impl World {
    /// Waits until `time`; at once when it has come.
    pub fn sleep_until(&self, time: units::Time) -> Sleep {
        Sleep::new(self.spawner.tasks(), Rc::clone(&self.clock), time)
    }

    /// Waits for `span` from now.
    pub fn sleep(&self, span: units::Span) -> Sleep {
        self.sleep_until(self.clock.now() + span)
    }
}

use brunt_units as units;
