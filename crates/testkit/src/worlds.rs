//! Worlds that do not keep their word, put between an engine and its world: what a canary breaks,
//! no engine code knows.

use std::cell::Cell;
use std::rc::Rc;

use brunt_world::{Class, Clock, Disk, Io, Op, Ticket, Tickets, World};

/// `world` with a disk that says of every sync of `class` that it is done, and does nothing.
pub fn without_syncs(world: &World, class: Class) -> World {
    let skips = move |io: &Io| (io.op, io.class) == (Op::Sync, class);
    forgetful(world, Box::new(skips))
}

/// `world` with a disk that says of the `number`-th write of a log, from 0, that it is done, and
/// does nothing.
pub fn without_log_write(world: &World, number: u64) -> World {
    let seen = Cell::new(0);
    let skips = move |io: &Io| {
        let is_write = matches!(io.op, Op::Write | Op::WriteThrough) && io.class == Class::Log;
        seen.set(seen.get() + u64::from(is_write));
        is_write && seen.get() == number + 1
    };
    forgetful(world, Box::new(skips))
}

/// `world` with a disk that panics at request number `ios`: work that never ends asks for ever more
/// of them.
///
/// # Panics
/// The disk does, then.
pub fn bounded(world: &World, ios: u64) -> World {
    let left = Cell::new(ios);
    let counts = move |_: &Io| {
        let next = left.get().checked_sub(1);
        left.set(next.unwrap_or_else(|| panic!("no end in sight after {ios} I/Os")));
        false
    };
    forgetful(world, Box::new(counts))
}

/// Which requests are acknowledged and forgotten.
type Skips = Box<dyn Fn(&Io) -> bool>;

fn forgetful(world: &World, skips: Skips) -> World {
    let disk = Forgetful {
        skips,
        inner: Rc::clone(&world.disk),
        clock: Rc::clone(&world.clock),
        tickets: Tickets::new(world.spawner.tasks()),
    };
    World { disk: Rc::new(disk), ..world.clone() }
}

struct Forgetful {
    skips: Skips,
    inner: Rc<dyn Disk>,
    clock: Rc<dyn Clock>,
    tickets: Tickets,
}

impl Disk for Forgetful {
    fn submit(&self, io: Io) -> Ticket {
        if !(self.skips)(&io) {
            return self.inner.submit(io);
        }
        let now = self.clock.now();
        let (ticket, id) = self.tickets.issue(now);
        self.tickets.complete(id, Ok(()), now, io.segments);
        ticket
    }
}
