//! Actions whose fate a crash decides.

use std::path::Path;

use brunt_units::SECTOR_BYTES;

use crate::journal::{Content, NameChange};
use crate::{Inode, Step, Store};

/// The possible fate of one sector of a pending write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sector {
    /// It may survive, and will once the write is durable.
    Open,
    /// It may survive, but a concurrent durable write completed later and stays on top of it once
    /// both are durable.
    Overtaken,
    /// A later write to it is durable.
    Dead,
}

/// A write that is not durable.
#[derive(Clone, Debug)]
pub(super) struct PendingWrite<'j> {
    pub(super) offset: u64,
    pub(super) content: &'j Content,
    pub(super) sectors: Vec<Sector>,
}

impl<'j> PendingWrite<'j> {
    pub(super) fn new(offset: u64, content: &'j Content) -> Self {
        let count = content.length().div_euclid(SECTOR_BYTES);
        let count = usize::try_from(count).expect("a write fits memory");
        Self { offset, content, sectors: vec![Sector::Open; count] }
    }

    pub(super) fn end(&self) -> u64 {
        self.offset + self.content.length()
    }

    /// Sets the fate of the sectors in `from .. to` (bytes of the file); dead ones stay dead.
    pub(super) fn doom(&mut self, from: u64, to: u64, fate: Sector) {
        let (from, to) = (from.max(self.offset), to.min(self.end()));
        if from >= to {
            return;
        }
        let place = |at: u64| {
            let sector = (at - self.offset).div_ceil(SECTOR_BYTES);
            usize::try_from(sector).expect("within the write")
        };
        for sector in &mut self.sectors[place(from)..place(to)] {
            if *sector != Sector::Dead {
                *sector = fate;
            }
        }
    }

    /// Writes the sectors that `survives` selects, in runs.
    pub(super) fn apply(
        &self,
        store: &mut Store,
        file: Inode,
        mut survives: impl FnMut(usize, Sector) -> bool,
    ) {
        let mut run = 0..0;
        for (number, sector) in self.sectors.iter().enumerate() {
            if survives(number, *sector) {
                if run.is_empty() {
                    run.start = number;
                }
                run.end = number + 1;
            } else if !run.is_empty() {
                self.put(store, file, run);
                run = 0..0;
            }
        }
        if !run.is_empty() {
            self.put(store, file, run);
        }
    }

    fn put(&self, store: &mut Store, file: Inode, run: std::ops::Range<usize>) {
        const SECTOR: usize = 512;
        let bytes = run.start * SECTOR..run.end * SECTOR;
        let offset = self.offset + bytes.start as u64;
        match self.content {
            Content::Bytes(content) => store.write(file, offset, &content[bytes]),
            Content::Zeros(_) => store.write_zeros(file, offset, bytes.len() as u64),
        }
    }
}

/// A change of length that is not durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingLength {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl PendingLength {
    pub(super) fn is_shrinking(self) -> bool {
        self.to < self.from
    }

    /// Growing never shortens a file that became longer meanwhile.
    pub(super) fn apply(self, store: &mut Store, file: Inode) {
        let length = store.length(file).unwrap_or_default();
        if self.is_shrinking() {
            store.set_length(file, self.to.min(length));
        } else {
            store.set_length(file, self.to.max(length));
        }
    }
}

/// A pending change of a file.
#[derive(Clone, Debug)]
pub(super) enum Change<'j> {
    Write(PendingWrite<'j>),
    Length(PendingLength),
}

/// A change of a file's bytes or length that is not durable.
#[derive(Clone, Debug)]
pub(super) struct PendingChange<'j> {
    pub(super) action: u32,
    pub(super) file: Inode,
    pub(super) submitted: Step,
    /// `None` while in flight.
    pub(super) completed: Option<Step>,
    pub(super) change: Change<'j>,
}

/// A change of names that is not durable.
#[derive(Clone, Debug)]
pub(super) struct PendingName<'j> {
    pub(super) action: u32,
    pub(super) completed: Option<Step>,
    pub(super) change: &'j NameChange,
    /// Directories that have not been synced since.
    pub(super) unsynced: Vec<&'j Path>,
}

impl<'j> PendingName<'j> {
    pub(super) fn new(action: u32, change: &'j NameChange) -> Self {
        let mut unsynced: Vec<&Path> = change.paths().map(directory).collect();
        unsynced.dedup();
        Self { action, completed: None, change, unsynced }
    }

    pub(super) fn shares_a_name_with(&self, other: &Self) -> bool {
        let mut paths = self.change.paths();
        paths.any(|path| other.change.paths().any(|theirs| theirs == path))
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Applies a change of a name that has certainly happened.
pub(super) fn force(store: &mut Store, change: &NameChange) {
    match change {
        NameChange::Create { path, file } => store.link(path, *file),
        NameChange::Rename { from, to, file } => {
            unlink(store, from, *file);
            store.link(to, *file);
        }
        NameChange::Remove { path, file } => unlink(store, path, *file),
    }
}

fn unlink(store: &mut Store, path: &Path, file: Inode) {
    if store.find(path) == Some(file) {
        store.unlink(path);
    }
}

/// Applies a change of a name if it is possible with the current names.
pub(super) fn attempt(store: &mut Store, change: &NameChange) {
    let can = match change {
        NameChange::Create { path, .. } => store.find(path).is_none(),
        NameChange::Rename { from: path, file, .. } | NameChange::Remove { path, file } => {
            store.find(path) == Some(*file)
        }
    };
    if can {
        force(store, change);
    }
}
