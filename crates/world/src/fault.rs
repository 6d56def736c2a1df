//! Injected storage faults: a plan of faults around the disk of any world.
//!
//! ```text
//!    engine --> Faulty --> Disk of the world
//!                 |  plan: [which files] [which bytes] [which requests] -> [which fault]
//! ```
//!
//! A fault affects only the bytes of its place: of a write of forty pages, only the page to be lost
//! is lost. So a write becomes several requests below. It completes when all of them have, with the
//! first error.
//!
//! Everything is deterministic: a fault counts the requests that touch its place. Faults do not
//! change latencies, except [`FaultKind::Slow`] and [`FaultKind::Stuck`].
//!
//! * `kind`: which fault, and where; `armed`: when; `disk`: how requests are changed; `slice`:
//!   parts of requests.

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

/// One strike of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// The fault's number in the plan.
    pub number: usize,
    /// The fault.
    pub fault: Fault,
    /// The file.
    pub path: PathBuf,
    /// The operation of the request.
    pub op: Op,
    /// First byte of the request in the file.
    pub offset: u64,
}

/// Reported strikes of each fault; a permanent fault would report without end.
const TOLD_MAX: u64 = 2;

struct Shared {
    inner: World,
    tickets: Tickets,
    spawner: Spawner,
    armed: RefCell<Vec<Armed>>,
    /// Whether all faults are held back.
    held: Cell<bool>,
    strikes: RefCell<Vec<Strike>>,
    paths: RefCell<BTreeMap<FileId, PathBuf>>,
    /// Requests that never complete.
    stuck: RefCell<Vec<crate::Io>>,
}

/// The strikes so far. A clone is another handle.
#[derive(Clone)]
pub struct Struck(Rc<Shared>);

impl Struck {
    /// How often each fault of the plan has struck.
    pub fn counts(&self) -> Vec<u64> {
        let armed = self.0.armed.borrow();
        armed.iter().map(|armed| armed.struck).collect()
    }

    /// What a stale read of fault `number` would return: the files of its place, with their content
    /// before the last write.
    pub fn former(&self, number: usize) -> Vec<(PathBuf, Vec<u8>)> {
        let (armed, paths) = (self.0.armed.borrow(), self.0.paths.borrow());
        let former = armed[number].former.iter();
        former.filter_map(|(file, bytes)| Some((paths.get(file)?.clone(), bytes.clone()))).collect()
    }

    /// Holds back all faults until [`Self::release`]: requests pass and are not counted.
    pub fn hold(&self) {
        self.0.held.set(true);
    }

    /// Activates the faults.
    pub fn release(&self) {
        self.0.held.set(false);
    }

    /// Takes the strikes since the last call: the first few of each fault.
    pub fn take_strikes(&self) -> Vec<Strike> {
        self.0.strikes.take()
    }
}

/// `world` with the faults of `plan`; the first that touches a request strikes. Files that were
/// opened before are not known by name and have no faults.
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
        // Its name is kept for `Struck::former`; a reused number gets a new name.
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
