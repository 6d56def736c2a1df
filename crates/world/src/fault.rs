//! Storage that lies, on purpose: a plan of faults around the disk of any world.
//!
//! ```text
//!    engine --> Faulty --> Disk of the world
//!                 |  plan: [which files] [which bytes] [which requests] -> [what goes wrong]
//! ```
//!
//! A fault touches the bytes of its place alone: of a write that carries forty pages, only the page that is to be lost is
//! lost. So a write becomes several requests below; it is done when all of them are, with the first error.
//!
//! Everything is deterministic: a fault strikes by counting the requests that touch its place. How long things take is
//! no fault's matter, but for [`FaultKind::Slow`] and [`FaultKind::Stuck`].
//!
//! * `kind`: what and where; `armed`: when; `disk`: what becomes of a request; `slice`: a part of one.

mod armed;
mod disk;
mod kind;
mod slice;

pub use kind::{Direction, Fault, FaultKind};

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::{
    Answer, Clock, Disk, FileId, Op, OpenMode, Space, Spawner, Tickets, Volume, VolumeError, World,
    answer,
};
use armed::Armed;

/// A fault struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Which one, by its number in the plan.
    pub number: usize,
    /// What it is, and where.
    pub fault: Fault,
    /// The file.
    pub path: PathBuf,
    /// What was asked for.
    pub op: Op,
    /// Where the request begins in the file, in bytes.
    pub offset: u64,
}

/// Strikes of each fault that are told; a fault that strikes for ever would tell for ever.
const TOLD_MAX: u64 = 2;

struct Shared {
    inner: World,
    tickets: Tickets,
    spawner: Spawner,
    armed: RefCell<Vec<Armed>>,
    /// Nothing strikes for the time being.
    held: Cell<bool>,
    strikes: RefCell<Vec<Strike>>,
    paths: RefCell<BTreeMap<FileId, PathBuf>>,
    /// What requests that never end hold.
    stuck: RefCell<Vec<crate::Io>>,
}

/// What has struck so far. Cloning gives another handle.
#[derive(Clone)]
pub struct Struck(Rc<Shared>);

impl Struck {
    /// How often each fault of the plan has struck.
    pub fn counts(&self) -> Vec<u64> {
        let armed = self.0.armed.borrow();
        armed.iter().map(|armed| armed.struck).collect()
    }

    /// What a stale read of fault `number` would give: the files of its place, and what stood there before the last write.
    pub fn former(&self, number: usize) -> Vec<(PathBuf, Vec<u8>)> {
        let (armed, paths) = (self.0.armed.borrow(), self.0.paths.borrow());
        let former = armed[number].former.iter();
        former
            .filter_map(|(file, bytes)| Some((paths.get(file)?.clone(), bytes.clone())))
            .collect()
    }

    /// Until [`Self::release`], requests pass and are not counted.
    pub fn hold(&self) {
        self.0.held.set(true);
    }

    /// From now on faults strike.
    pub fn release(&self) {
        self.0.held.set(false);
    }

    /// Takes what has struck since it was last asked: the first strikes of each fault.
    pub fn take_strikes(&self) -> Vec<Strike> {
        self.0.strikes.take()
    }
}

/// `world` with the faults of `plan`, of which the first that touches a request strikes. Files that were opened before are
/// not known by name and have none.
pub fn faulty(world: &World, plan: Vec<Fault>) -> (World, Struck) {
    let shared = Rc::new(Shared {
        inner: world.clone(),
        tickets: Tickets::new(world.spawner.tasks()),
        spawner: world.spawner.clone(),
        armed: RefCell::new(plan.into_iter().map(Armed::new).collect()),
        held: Cell::new(false),
        strikes: RefCell::default(),
        paths: RefCell::default(),
        stuck: RefCell::default(),
    });
    let front = Rc::new(Faulty(Rc::clone(&shared)));
    let world = World {
        disk: Rc::<Faulty>::clone(&front) as Rc<dyn Disk>,
        volume: front,
        clock: Rc::clone(&world.clock) as Rc<dyn Clock>,
        ..world.clone()
    };
    (world, Struck(shared))
}

struct Faulty(Rc<Shared>);

impl Faulty {
    fn volume(&self) -> &dyn Volume {
        &*self.0.inner.volume
    }
}

impl Volume for Faulty {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        let opening = self.volume().open(path, mode);
        let (answering, answer) = answer(self.0.spawner.tasks());
        let (shared, path) = (Rc::clone(&self.0), path.to_owned());
        drop(self.0.spawner.spawn(async move {
            let opened: Result<FileId, VolumeError> = opening.await;
            if let Ok(file) = &opened {
                shared.paths.borrow_mut().insert(*file, path);
            }
            answering.give(opened);
        }));
        answer
    }

    fn close(&self, file: FileId) -> Answer<()> {
        // Its name is kept for `Struck::former`; a number that is used again is named again.
        self.volume().close(file)
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.volume().length(file)
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        self.volume().allocate(file, bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        let mut paths = self.0.paths.borrow_mut();
        let renamed = paths.values_mut().filter(|path| **path == from);
        renamed.for_each(|path| *path = to.to_owned());
        self.volume().rename(from, to)
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        self.volume().remove(path)
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.volume().list(directory)
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        self.volume().sync_directory(directory)
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        self.volume().space(path)
    }
}
