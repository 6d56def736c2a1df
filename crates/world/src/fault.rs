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

mod disk;
mod slice;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_units::Span;

use crate::{
    Answer, Clock, Disk, FileId, Op, OpenMode, Space, Spawner, Tickets, Volume, VolumeError, World,
    answer,
};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Reads give one bit in the middle of the place turned over.
    BitFlip,
    /// Reads give two bits in the middle of the place turned over.
    TwoBitFlip,
    /// Reads give zeros.
    Zeroed,
    /// Reads give what stood there before the last write that was made before the first such read.
    Stale,
    /// Reads give the bytes that lie so many bytes further on.
    MisdirectedRead(u64),
    /// Reads fill the first 512 bytes of the place, give zeros for the rest, and say nothing.
    ShortRead,
    /// Writes do the first 512 bytes of the place, and say that all is done.
    Torn,
    /// Writes are acknowledged and not done.
    Lost,
    /// Writes go so many bytes further on.
    MisdirectedWrite(u64),
    /// Reads and writes fail with [`crate::IoError::Device`].
    DeviceError,
    /// Writes fail with [`crate::IoError::NoSpace`].
    NoSpace,
    /// Syncs are acknowledged and not done.
    DroppedSync,
    /// Reads and writes never end.
    Stuck,
    /// Reads and writes begin so much later.
    Slow(Span),
}

impl FaultKind {
    /// Whether it can go wrong with a request of this kind.
    pub fn strikes(self, op: Op) -> bool {
        let is_write = matches!(op, Op::Write | Op::WriteThrough);
        match self {
            Self::BitFlip
            | Self::TwoBitFlip
            | Self::Zeroed
            | Self::MisdirectedRead(_)
            | Self::ShortRead => op == Op::Read,
            // Writes are watched: what they replace is what reads will give.
            Self::Stale | Self::DeviceError | Self::Stuck | Self::Slow(_) => {
                is_write || op == Op::Read
            }
            Self::Torn | Self::Lost | Self::MisdirectedWrite(_) | Self::NoSpace => is_write,
            Self::DroppedSync => op == Op::Sync,
        }
    }
}

/// One thing that goes wrong at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// In files whose path ends so, whole names only; the empty path is every file.
    pub file: PathBuf,
    /// In these bytes of them, multiples of 512. Syncs have no place and always touch it.
    pub bytes: Range<u64>,
    /// Requests that touch the place and pass before it strikes.
    pub after: u64,
    /// How often it strikes; `u64::MAX` is for ever.
    pub times: u64,
}

impl Fault {
    /// `kind` at `bytes` of `file`, at once and for ever.
    pub fn new(kind: FaultKind, file: impl Into<PathBuf>, bytes: Range<u64>) -> Self {
        Self {
            kind,
            file: file.into(),
            bytes,
            after: 0,
            times: u64::MAX,
        }
    }
}

/// A fault and how often it was met.
struct Armed {
    fault: Fault,
    met: u64,
    struck: u64,
    /// What stood at the place before the last write that touched it, by file.
    former: BTreeMap<FileId, Vec<u8>>,
}

struct Shared {
    inner: World,
    tickets: Tickets,
    spawner: Spawner,
    armed: RefCell<Vec<Armed>>,
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
}

/// `world` with the faults of `plan`, of which the first that touches a request strikes. Files that were opened before are
/// not known by name and have none.
pub fn faulty(world: &World, plan: Vec<Fault>) -> (World, Struck) {
    let arm = |fault| Armed {
        fault,
        met: 0,
        struck: 0,
        former: BTreeMap::new(),
    };
    let shared = Rc::new(Shared {
        inner: world.clone(),
        tickets: Tickets::new(world.spawner.tasks()),
        spawner: world.spawner.clone(),
        armed: RefCell::new(plan.into_iter().map(arm).collect()),
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
        self.0.paths.borrow_mut().remove(&file);
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
