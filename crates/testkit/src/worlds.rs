//! Worlds that do not keep their word, put between an engine and its world: what a canary breaks, no engine code knows.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use brunt_world::{
    Answer, Class, Clock, Disk, FileId, Io, Op, OpenMode, Space, Ticket, Tickets, Volume, World,
    answer,
};

/// `world` with a disk that says of every sync of `class` that it is done, and does nothing.
pub fn without_syncs(world: &World, class: Class) -> World {
    let skips = move |io: &Io| (io.op, io.class) == (Op::Sync, class);
    forgetful(world, Box::new(skips))
}

/// `world` with a disk that says of the `number`-th write of a log, from 0, that it is done, and does nothing.
pub fn without_log_write(world: &World, number: u64) -> World {
    let seen = Cell::new(0);
    let skips = move |io: &Io| {
        let is_write = matches!(io.op, Op::Write | Op::WriteThrough) && io.class == Class::Log;
        seen.set(seen.get() + u64::from(is_write));
        is_write && seen.get() == number + 1
    };
    forgetful(world, Box::new(skips))
}

/// `world` with a disk that panics at request number `ios`: work that never ends asks for ever more of them.
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
    World {
        disk: Rc::new(disk),
        ..world.clone()
    }
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

/// `world` as a process sees it that is killed when it has submitted `ios` requests: from then on nothing it asks for
/// happens, and nothing is answered. What was in flight goes on, as it does below a dead process. The cell says how many
/// requests are left.
pub fn mortal(world: &World, ios: u64) -> (World, Rc<Cell<u64>>) {
    let left = Rc::new(Cell::new(ios));
    let life = Rc::new(Life {
        left: Rc::clone(&left),
        inner: world.clone(),
        tickets: Tickets::new(world.spawner.tasks()),
    });
    let world = World {
        disk: Rc::<Life>::clone(&life),
        volume: life,
        ..world.clone()
    };
    (world, left)
}

struct Life {
    left: Rc<Cell<u64>>,
    inner: World,
    tickets: Tickets,
}

impl Life {
    /// What the world answers, or nothing.
    fn ask<T>(&self, ask: impl FnOnce(&dyn Volume) -> Answer<T>) -> Answer<T> {
        if self.left.get() == 0 {
            answer(self.inner.spawner.tasks()).1
        } else {
            ask(&*self.inner.volume)
        }
    }
}

impl Disk for Life {
    fn submit(&self, io: Io) -> Ticket {
        match self.left.get().checked_sub(1) {
            None => self.tickets.issue(self.inner.clock.now()).0,
            Some(left) => {
                self.left.set(left);
                self.inner.disk.submit(io)
            }
        }
    }
}

impl Volume for Life {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        self.ask(|volume| volume.open(path, mode))
    }

    fn close(&self, file: FileId) -> Answer<()> {
        self.ask(|volume| volume.close(file))
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.ask(|volume| volume.length(file))
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        self.ask(|volume| volume.allocate(file, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        self.ask(|volume| volume.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        self.ask(|volume| volume.remove(path))
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.ask(|volume| volume.list(directory))
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        self.ask(|volume| volume.sync_directory(directory))
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        self.ask(|volume| volume.space(path))
    }
}
