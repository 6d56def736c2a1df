//! The seam between the engine and the world it runs in.
//!
//! The engine, the sessions, the arrays and the links are written once against this interface, and
//! run in two worlds: a *real* one (`world-real`: io_uring, files, the machine's clock) and a
//! *virtual* one (`world-virtual`: an event queue and integer nanoseconds). Nothing is global: a
//! [`World`] is passed to constructors. Code without its handles cannot touch a disk, read a clock
//! or draw a random number.
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
//! * [`Net`]: bytes between hosts; [`messages`]: whole messages over a connection.
//! * [`Clock`]: now, sleeping, and the cost of computing.
//! * [`Frames`]: the memory that I/O reads into and writes from.
//! * [`Executor`]: one thread, one ready queue; [`Reactor`] is the part of a world underneath.
//! * [`random`]: named streams of one seed.
//! * [`schedule`]: scheduled events.
//! * [`Link`]: when messages arrive over a modelled link.
//! * [`fault`]: a plan of faults around any disk.
//!
//! Invariant: wakers are not used. Every future that waits asks the executor for the running task
//! ([`Tasks::current`]), which is later resumed with [`Tasks::wake`]. So a wake-up costs one push
//! and no atomics. A combinator that substitutes wakers must therefore poll all its children
//! whenever it is polled.

#![warn(missing_docs)]

mod answer;
pub mod clock;
mod disk;
mod environment;
mod event;
mod executor;
pub mod fault;
mod frame;
mod link;
pub mod messages;
mod net;
pub mod noise;
pub mod random;
pub mod schedule;
pub mod sync;
mod ticket;
mod volume;

pub use answer::{Answer, Answering, answer};
pub use clock::{Clock, Sleep, Spend};
pub use disk::{Class, Disk, Io, IoError, Op, Segment, Segments};
pub use environment::Environment;
pub use executor::{Executor, Parked, Reactor, Spawner, Task, TaskId, Tasks};
pub use frame::{Frame, FramePlace, Frames, SLAB_BYTES, SlabSource};
pub use link::{Link, LinkOptions, Passage};
pub use net::{Net, NetError, Reply, SocketId};
pub use schedule::{Due, Schedule};
pub use ticket::{Completion, Ticket, TicketId, Tickets, Watcher};
pub use volume::{FileId, OpenMode, Space, Volume, VolumeError};

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

/// Everything an engine may access. A clone is another set of handles.
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
    /// Random numbers, by name.
    pub random: random::Streams,
}

impl World {
    /// Waits until `time`; returns at once if it has passed.
    pub fn sleep_until(&self, time: units::Time) -> Sleep {
        Sleep::new(self.spawner.tasks(), Rc::clone(&self.clock), time)
    }

    /// Waits for `span` from now.
    pub fn sleep(&self, span: units::Span) -> Sleep {
        self.sleep_until(self.clock.now() + span)
    }

    /// What `work` comes to within `span`. `None` when that takes longer: then it is dropped.
    pub async fn within<T>(&self, span: units::Span, work: impl Future<Output = T>) -> Option<T> {
        let (mut work, mut alarm) = (pin!(work), pin!(self.sleep(span)));
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => alarm.as_mut().poll(context).map(|()| None),
        })
        .await
    }
}

use brunt_units as units;
