//! Requests to the volume that never complete: an open, a rename, a directory sync on a file system
//! that has stopped answering.
//!
//! They hang like I/O, with the same effect: a log cannot roll, a database cannot grow. So a volume
//! in front of the world's own remembers pending requests for [`crate::hanging`] to check.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_units::Time;
use brunt_world::{
    Answer, Clock, FileId, Op, OpenMode, Space, Spawner, Volume, VolumeError, World, answer,
};

use crate::stops::{Lane, Lanes, Stops};

/// A pending request.
#[derive(Clone, Debug)]
struct Waiting {
    since: Time,
    what: &'static str,
    path: PathBuf,
}

/// Remembers pending requests; see the [module](self).
pub(crate) struct NameRecorder {
    inner: Rc<dyn Volume>,
    clock: Rc<dyn Clock>,
    spawner: Spawner,
    next: Cell<u64>,
    waiting: Rc<RefCell<BTreeMap<u64, Waiting>>>,
    opened: Rc<RefCell<BTreeMap<FileId, Opened>>>,
    stops: Rc<Stops>,
}

/// An open file.
#[derive(Debug)]
struct Opened {
    /// The path that it was opened by.
    path: PathBuf,
    lanes: Lanes,
}

impl NameRecorder {
    /// Watches the volume of `world`, whose files have the streams of `stops`.
    pub(crate) fn over(world: &World, stops: &Rc<Stops>) -> Rc<Self> {
        Rc::new(Self {
            inner: Rc::clone(&world.volume),
            clock: Rc::clone(&world.clock),
            spawner: world.spawner.clone(),
            next: Cell::new(0),
            waiting: Rc::default(),
            opened: Rc::default(),
            stops: Rc::clone(stops),
        })
    }

    /// The path that an open file was opened by.
    pub(crate) fn opened_by(&self, file: FileId) -> Option<PathBuf> {
        let opened = self.opened.borrow();
        opened.get(&file).map(|file| file.path.clone())
    }

    /// The stream of an I/O on an open file.
    pub(crate) fn lane(&self, file: FileId, op: Op) -> Option<Rc<Lane>> {
        self.opened.borrow().get(&file)?.lanes.of(op).cloned()
    }

    /// Requests issued by `latest` that are still pending: number, time of issue, and description.
    pub(crate) fn asked_by(&self, latest: Time) -> Vec<(u64, Time, String)> {
        let waiting = self.waiting.borrow();
        let old = waiting.iter().filter(|(_, asked)| asked.since <= latest);
        old.map(|(number, asked)| {
            let words = format!("{} {}", asked.what, asked.path.display());
            (*number, asked.since, words.trim_end().to_owned())
        })
        .collect()
    }

    fn watch<T: 'static>(&self, what: &'static str, path: &Path, asked: Answer<T>) -> Answer<T> {
        self.watch_and(what, path, asked, |_| {})
    }

    fn watch_and<T: 'static>(
        &self,
        what: &'static str,
        path: &Path,
        asked: Answer<T>,
        note: impl FnOnce(&Result<T, VolumeError>) + 'static,
    ) -> Answer<T> {
        let number = self.next.replace(self.next.get() + 1);
        let asking = Waiting { since: self.clock.now(), what, path: path.to_owned() };
        self.waiting.borrow_mut().insert(number, asking);
        let (answering, watched) = answer(self.spawner.tasks());
        let waiting = Rc::clone(&self.waiting);
        drop(self.spawner.spawn(async move {
            let value = asked.await;
            waiting.borrow_mut().remove(&number);
            note(&value);
            answering.give(value);
        }));
        watched
    }
}

impl Volume for NameRecorder {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        let opened = Rc::clone(&self.opened);
        let own = Opened { path: path.to_owned(), lanes: self.stops.lanes_of(path) };
        let asked = self.inner.open(path, mode);
        self.watch_and("opening", path, asked, move |answer| {
            if let Ok(file) = answer {
                opened.borrow_mut().insert(*file, own);
            }
        })
    }

    fn close(&self, file: FileId) -> Answer<()> {
        self.opened.borrow_mut().remove(&file);
        self.watch("closing a file", Path::new(""), self.inner.close(file))
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        let asked = self.inner.length(file);
        self.watch("asking a file for its length", Path::new(""), asked)
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        let asked = self.inner.allocate(file, bytes);
        self.watch("giving a file its length", Path::new(""), asked)
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        self.watch("renaming", from, self.inner.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        self.watch("removing", path, self.inner.remove(path))
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.watch("listing", directory, self.inner.list(directory))
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        let asked = self.inner.sync_directory(directory);
        self.watch("syncing the folder", directory, asked)
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        let asked = self.inner.space(path);
        self.watch("asking for the room at", path, asked)
    }
}
