//! The real world's volume: requests go to the helper thread and are answered at the next reap.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use brunt_world::{Answer, FileId, OpenMode, Space, Tasks, Volume, VolumeError, answer};

use crate::backend::{Access, Record};
use crate::files::OpenFile;
use crate::flights::Flights;
use crate::helper::Helper;
use crate::names;
use crate::roots::Roots;

/// Files and their names in operating system directories.
pub(crate) struct RealVolume {
    pub(crate) flights: Rc<RefCell<Flights>>,
    pub(crate) helper: Rc<Helper>,
    pub(crate) tasks: Tasks,
    pub(crate) record: Record,
    /// Whether to use direct I/O.
    pub(crate) direct: bool,
    /// Links below these folders are not followed.
    pub(crate) roots: Roots,
}

impl RealVolume {
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, VolumeError> + Send + 'static,
    ) -> Answer<T> {
        let (answering, answer) = answer(&self.tasks);
        self.helper.ask(work, |result| answering.give(result));
        answer
    }

    fn refuse<T>(&self, error: VolumeError) -> Answer<T> {
        let (answering, answer) = answer(&self.tasks);
        answering.give(Err(error));
        answer
    }

    /// Runs a request about names.
    fn ask_names<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Roots) -> Result<T, VolumeError> + Send + 'static,
    ) -> Answer<T> {
        let roots = self.roots.clone();
        self.ask(move || work(&roots))
    }

    /// Runs a request about an open file.
    fn ask_file<T: Send + 'static>(
        &self,
        file: FileId,
        work: impl FnOnce(&std::os::fd::OwnedFd) -> Result<T, VolumeError> + Send + 'static,
    ) -> Answer<T> {
        let flights = self.flights.borrow();
        match flights.file(file).map(|open| open.shared()) {
            Some(shared) => self.ask(move || work(&shared)),
            None => self.refuse(not_open()),
        }
    }
}

fn not_open() -> VolumeError {
    VolumeError::Other("the file is not open".into())
}

impl Volume for RealVolume {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        let (answering, answer) = answer(&self.tasks);
        let (path, direct) = (path.to_owned(), self.direct);
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        let (record, flights) = (self.record.clone(), Rc::clone(&self.flights));
        let (errands, roots) = (self.helper.errands().clone(), self.roots.clone());
        self.helper.ask(
            move || names::open(&roots, &path, mode, direct),
            move |opened| {
                answering.give(opened.map(|(file, access)| {
                    record.opened(directory, &access);
                    let direct = matches!(access, Access::Direct { .. });
                    let file = OpenFile::new(file, direct, &record, &errands);
                    flights.borrow_mut().open(file)
                }));
            },
        );
        answer
    }

    fn close(&self, file: FileId) -> Answer<()> {
        let known = self.flights.borrow_mut().close(file);
        if known {
            // Runs after the descriptor is closed, unless I/O still holds it, so the caller finds
            // it closed.
            self.ask(|| Ok(()))
        } else {
            self.refuse(not_open())
        }
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.ask_file(file, names::length)
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        let (answering, answer) = answer(&self.tasks);
        let flights = self.flights.borrow();
        let Some(shared) = flights.file(file).map(|open| open.shared()) else {
            return self.refuse(not_open());
        };
        let record = self.record.clone();
        self.helper.ask(
            move || names::allocate(&shared, bytes),
            move |reserved| {
                if reserved == Ok(false) {
                    record.change(|backend| backend.allocations_unreserved += 1);
                }
                answering.give(reserved.map(drop));
            },
        );
        answer
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.ask_names(move |roots| names::rename(roots, &from, &to))
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        let path = path.to_owned();
        self.ask_names(move |roots| names::remove(roots, &path))
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        let directory = directory.to_owned();
        self.ask_names(move |roots| names::list(roots, &directory))
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        let directory = directory.to_owned();
        self.ask_names(move |roots| names::sync_directory(roots, &directory))
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        let path = path.to_owned();
        self.ask(move || names::space(&path))
    }
}
