//! What a disk must have kept: a copy of every byte that must survive a loss of power, maintained
//! beside any world.
//!
//! ```text
//!    engine --> Recorder --> Disk of the world (real or virtual)
//!                  |  write-through, done       --> kept
//!                  |  write, done               --> waits
//!                  |  sync, done                --> writes that were done when it was submitted --> kept
//!                  v
//!               Ledger: a Store, forked on request
//! ```
//!
//! In the virtual world the crash search cuts anywhere. A real device cannot be cut, and a killed
//! process leaves its caches full; but the ledger gives, at any moment, the minimum that would
//! survive. Acknowledging anything that is not in it is a bug.
//!
//! Changes to names count as durable at once: the crash search covers their durability.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_world::{
    Answer, Disk, FileId, Io, Op, OpenMode, Space, Ticket, Tickets, Volume, World, answer,
};
use brunt_world_virtual::{Inode, Store};

/// Bytes at an offset.
type Piece = (u64, Vec<u8>);

#[derive(Default)]
struct Kept {
    store: Store,
    files: BTreeMap<FileId, Inode>,
    /// Writes that are done but not durable, oldest first. A sync covers the file, under any
    /// identifier it is open.
    waiting: BTreeMap<Inode, Vec<Piece>>,
}

struct Shared {
    inner: World,
    tickets: Tickets,
    kept: RefCell<Kept>,
}

/// Reports what must have been kept. Clones share it.
#[derive(Clone)]
pub struct Ledger(Rc<Shared>);

impl Ledger {
    /// The minimum that a loss of power would leave now.
    pub fn kept(&self) -> Store {
        self.0.kept.borrow().store.fork()
    }

    /// The files with every completed write, durable or not: the state that the writer sees.
    pub fn written(&self) -> Store {
        let kept = self.0.kept.borrow();
        let mut store = kept.store.fork();
        for (file, pieces) in &kept.waiting {
            let pieces = pieces.iter();
            pieces.for_each(|(offset, bytes)| store.write(*file, *offset, bytes));
        }
        store
    }
}

/// Returns `world` with every request recorded; `store` holds the existing files.
pub fn recorded(world: &World, store: Store) -> (World, Ledger) {
    let shared = Rc::new(Shared {
        inner: world.clone(),
        tickets: Tickets::new(world.spawner.tasks()),
        kept: RefCell::new(Kept { store, ..Kept::default() }),
    });
    let recorder = Rc::new(Recorder(Rc::clone(&shared)));
    let world = World { disk: Rc::<Recorder>::clone(&recorder), volume: recorder, ..world.clone() };
    (world, Ledger(shared))
}

struct Recorder(Rc<Shared>);

impl Disk for Recorder {
    fn submit(&self, io: Io) -> Ticket {
        let shared = Rc::clone(&self.0);
        let (ticket, id) = shared.tickets.issue(shared.inner.clock.now());
        let (op, file) = (io.op, io.file);
        let bytes = io.segments.iter().flat_map(|segment| segment.drained());
        let piece = (io.offset, bytes.copied().collect::<Vec<u8>>());
        // A sync covers the writes that were done before it was submitted.
        let covered = shared.kept.borrow().waiting_for(file);
        let doing = shared.inner.disk.submit(io);
        drop(self.0.inner.spawner.spawn(async move {
            let done = doing.await;
            if done.result.is_ok() {
                shared.kept.borrow_mut().note(op, file, piece, covered);
            }
            let (at, segments) = (done.done_at, done.segments);
            shared.tickets.complete(id, done.result, at, segments);
        }));
        ticket
    }
}

impl Kept {
    fn waiting_for(&self, file: FileId) -> usize {
        let waiting = self.files.get(&file).and_then(|inode| self.waiting.get(inode));
        waiting.map_or(0, Vec::len)
    }

    fn note(&mut self, op: Op, file: FileId, (offset, bytes): Piece, covered: usize) {
        let Some(inode) = self.files.get(&file).copied() else {
            return;
        };
        match op {
            Op::WriteThrough => {
                // Waiting writes are older, and must not overwrite this one.
                let waiting = self.waiting.entry(inode).or_default();
                waiting.iter_mut().for_each(|piece| overwrite(piece, offset, &bytes));
                self.store.write(inode, offset, &bytes);
            }
            Op::Write => self.waiting.entry(inode).or_default().push((offset, bytes)),
            Op::Sync => {
                let waiting = self.waiting.entry(inode).or_default();
                // An earlier sync may have taken some of them.
                for (offset, bytes) in waiting.drain(..covered.min(waiting.len())) {
                    self.store.write(inode, offset, &bytes);
                }
            }
            Op::Read | Op::Trim => {}
        }
    }

    fn opened(&mut self, file: FileId, path: &Path, mode: OpenMode) {
        if mode == OpenMode::CreateNew {
            let inode = self.store.new_file();
            self.store.link(path, inode);
        }
        if let Some(inode) = self.store.find(path) {
            self.files.insert(file, inode);
        }
    }

    fn renamed(&mut self, from: &Path, to: &Path) {
        if let Some(inode) = self.store.unlink(from) {
            self.store.link(to, inode);
        }
    }
}

/// Copies the part of `bytes` that overlaps a piece into it.
fn overwrite((start, piece): &mut Piece, offset: u64, bytes: &[u8]) {
    let index = |number: u64| usize::try_from(number).expect("memory is addressable");
    let end = (*start + piece.len() as u64).min(offset + bytes.len() as u64);
    let first = offset.max(*start);
    if first < end {
        let into = &mut piece[index(first - *start)..index(end - *start)];
        into.copy_from_slice(&bytes[index(first - offset)..index(end - offset)]);
    }
}

impl Recorder {
    /// Passes on the answer of the world below; on success, calls `note`.
    fn ask<T: Copy + 'static>(
        &self,
        asked: Answer<T>,
        note: impl FnOnce(&mut Kept, T) + 'static,
    ) -> Answer<T> {
        let (answering, answer) = answer(self.0.inner.spawner.tasks());
        let shared = Rc::clone(&self.0);
        drop(self.0.inner.spawner.spawn(async move {
            let answered = asked.await;
            if let Ok(value) = &answered {
                note(&mut shared.kept.borrow_mut(), *value);
            }
            answering.give(answered);
        }));
        answer
    }

    fn volume(&self) -> &dyn Volume {
        &*self.0.inner.volume
    }
}

impl Volume for Recorder {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        let named: PathBuf = path.to_owned();
        self.ask(self.volume().open(path, mode), move |kept, file| {
            kept.opened(file, &named, mode);
        })
    }

    fn close(&self, file: FileId) -> Answer<()> {
        self.ask(self.volume().close(file), move |kept, ()| {
            kept.files.remove(&file);
        })
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.volume().length(file)
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        self.ask(self.volume().allocate(file, bytes), move |kept, ()| {
            if let Some(inode) = kept.files.get(&file) {
                kept.store.set_length(*inode, bytes);
            }
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        let (old, new) = (from.to_owned(), to.to_owned());
        self.ask(self.volume().rename(from, to), move |kept, ()| {
            kept.renamed(&old, &new);
        })
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        let named = path.to_owned();
        self.ask(self.volume().remove(path), move |kept, ()| {
            kept.store.unlink(&named);
        })
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
