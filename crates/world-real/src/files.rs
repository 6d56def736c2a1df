//! Open files and their identifiers.
//!
//! A [`FileId`] is a slot in the table and a count of the slot's uses, so that a stale identifier
//! is rejected instead of reaching another file:
//!
//! ```text
//!    31        16 15         0
//!    | turn      | slot      |     the slot is also the file's index in the ring's table of registered files
//! ```
//!
//! I/O in flight keeps its file open. The descriptor is closed when the table and the last I/O have
//! released it, and on the helper thread: closing a removed file frees its blocks, which takes
//! time.

use std::cell::Cell;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;

use brunt_world::FileId;

use crate::backend::Record;
use crate::helper::Errands;

pub(crate) struct OpenFile {
    /// `None` only during drop.
    file: Option<Arc<OwnedFd>>,
    slot: Cell<Option<u32>>,
    direct: bool,
    record: Record,
    errands: Errands,
}

impl OpenFile {
    /// An unregistered file; `direct` if its I/O bypasses the page cache.
    pub(crate) fn new(file: OwnedFd, direct: bool, record: &Record, errands: &Errands) -> Self {
        Self {
            file: Some(Arc::new(file)),
            slot: Cell::new(None),
            direct,
            record: record.clone(),
            errands: errands.clone(),
        }
    }

    /// The descriptor, open as long as `self` lives.
    pub(crate) fn raw(&self) -> RawFd {
        self.file.as_ref().expect("not dropped").as_raw_fd()
    }

    /// The descriptor for use on another thread; stays open as long as it is held.
    pub(crate) fn shared(&self) -> Arc<OwnedFd> {
        Arc::clone(self.file.as_ref().expect("not dropped"))
    }

    /// Its slot in the ring's file table, if it has one.
    pub(crate) fn slot(&self) -> Option<u32> {
        self.slot.get()
    }

    /// Records its slot in the ring's file table; `None` when it has none any more.
    pub(crate) fn set_slot(&self, slot: Option<u32>) {
        self.slot.set(slot);
    }

    /// Whether I/O bypasses the page cache and must be sector-aligned.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Records that the file system cannot free ranges.
    pub(crate) fn note_untrimmed(&self) {
        self.record.change(|backend| backend.trims_ignored += 1);
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.errands.run(move || drop(file));
        }
    }
}

/// The open files by number.
#[derive(Default)]
pub(crate) struct Files {
    slots: Vec<Slot>,
    free: Vec<u16>,
}

struct Slot {
    turn: u16,
    file: Option<Rc<OpenFile>>,
}

impl Files {
    /// Assigns `file` an identifier; returns it with its slot.
    ///
    /// # Panics
    /// With more than 65,536 files open; the system's limit is far below.
    pub(crate) fn add(&mut self, file: Rc<OpenFile>) -> (FileId, u32) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { turn: 0, file: None });
            u16::try_from(self.slots.len() - 1).expect("fewer than 65,536 open files")
        });
        let entry = &mut self.slots[usize::from(slot)];
        entry.file = Some(file);
        let id = FileId(u32::from(entry.turn) << 16 | u32::from(slot));
        (id, u32::from(slot))
    }

    /// The file called `id`, while it is open.
    pub(crate) fn get(&self, id: FileId) -> Option<&Rc<OpenFile>> {
        let (turn, slot) = parts(id);
        let entry = self.slots.get(usize::from(slot))?;
        entry.file.as_ref().filter(|_| entry.turn == turn)
    }

    /// Releases the identifier; later uses of it are rejected.
    pub(crate) fn remove(&mut self, id: FileId) -> Option<Rc<OpenFile>> {
        self.get(id)?;
        let (_, slot) = parts(id);
        let entry = &mut self.slots[usize::from(slot)];
        entry.turn = entry.turn.wrapping_add(1);
        self.free.push(slot);
        entry.file.take()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves are what is wanted")]
fn parts(id: FileId) -> (u16, u16) {
    ((id.0 >> 16) as u16, id.0 as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_file() -> Rc<OpenFile> {
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        Rc::new(OpenFile::new(file, false, &Record::default(), &Errands::nowhere()))
    }

    #[test]
    fn a_stale_number_reaches_nothing() {
        let mut files = Files::default();
        let (first, slot) = files.add(some_file());
        let (second, _) = files.add(some_file());
        assert!(files.get(first).is_some());
        assert!(files.remove(first).is_some());
        assert!(files.remove(first).is_none());
        let (third, same_slot) = files.add(some_file());
        assert_eq!(slot, same_slot);
        assert!(files.get(first).is_none());
        assert!(files.get(second).is_some() && files.get(third).is_some());
        assert!(files.get(FileId(77)).is_none());
    }
}
