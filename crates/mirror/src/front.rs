//! The disk and the volume of a mirrored world.
//!
//! A change of bytes goes to both sites at once. A change of names is made here first, so that what
//! this site refuses (a name that is taken, a file that is not there) is not asked of the other
//! one; what only the other site refuses breaks the mirror.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_world::{
    Answer, Disk, FileId, Io, IoError, Op, OpenMode, Segment, SocketId, Space, Ticket, Tickets,
    Volume, VolumeError, World, answer,
};

use crate::MirrorError;
use crate::link::{Link, Mirror};
use crate::name::Name;
use crate::wire::{PIECE, Request};

/// Bytes below which nothing is torn; offsets and lengths are multiples of it.
const SECTOR: u64 = 512;

/// `world` with every change below `folder` mirrored to the receiver at the other end of
/// `connection`, in `epoch`. Changes elsewhere are refused.
///
/// # Errors
/// [`MirrorError`] when the receiver does not take it.
pub async fn mirrored(
    world: &World,
    folder: &Path,
    connection: SocketId,
    epoch: u64,
) -> Result<(World, Mirror), MirrorError> {
    let link = Link::open(world, connection, epoch).await?;
    let front = Rc::new(Mirrored(Rc::new(Shared {
        inner: world.clone(),
        folder: folder.to_owned(),
        tickets: Tickets::new(world.spawner.tasks()),
        files: RefCell::default(),
        link: Rc::clone(&link),
    })));
    let world = World { disk: Rc::<Mirrored>::clone(&front), volume: front, ..world.clone() };
    Ok((world, Mirror(link)))
}

struct Shared {
    inner: World,
    folder: PathBuf,
    tickets: Tickets,
    /// Files that are open for writing, with their numbers on the wire.
    files: RefCell<BTreeMap<FileId, u32>>,
    link: Rc<Link>,
}

struct Mirrored(Rc<Shared>);

impl Disk for Mirrored {
    fn submit(&self, io: Io) -> Ticket {
        let shared = &self.0;
        let file = shared.files.borrow().get(&io.file).copied();
        let Some(file) = file.filter(|_| io.op != Op::Read && is_valid(&io)) else {
            // A read, or a request that is refused here.
            return shared.inner.disk.submit(io);
        };
        let (ticket, id) = shared.tickets.issue(shared.inner.clock.now());
        let bears_ghosts = |segment: &Segment| matches!(segment, Segment::Ghost(_));
        if io.op != Op::Trim && io.segments.iter().any(bears_ghosts) {
            let (now, error) = (shared.inner.clock.now(), Err(IoError::Invalid));
            shared.tickets.complete(id, error, now, io.segments);
            return ticket;
        }
        if !shared.link.is_in_step() {
            return ticket;
        }
        let there: Vec<_> =
            requests(&io, file).iter().map(|request| shared.link.ask_io(request)).collect();
        let here = shared.inner.disk.submit(io);
        let shared = Rc::clone(shared);
        drop(self.0.inner.spawner.spawn(async move {
            let done = here.await;
            let mut result = done.result;
            for answer in there {
                result = result.and(answer.await);
            }
            let now = shared.inner.clock.now();
            shared.tickets.complete(id, result, now, done.segments);
        }));
        ticket
    }
}

/// Whether offsets and lengths are what [`Disk::submit`] asks for.
fn is_valid(io: &Io) -> bool {
    let is_whole = |segment: &Segment| match segment {
        Segment::Drain { start, length, .. } => {
            *length > 0 && [*start, *length].iter().all(|at| (*at as u64).is_multiple_of(SECTOR))
        }
        Segment::Ghost(_) => true,
        Segment::Fill(_) => false,
    };
    io.offset.is_multiple_of(SECTOR) && io.segments.iter().all(is_whole)
}

/// What the other site is asked to do for `io` on `file`.
fn requests(io: &Io, file: u32) -> Vec<Request> {
    let class = io.class;
    match io.op {
        Op::Sync => vec![Request::Sync { file, class }],
        Op::Trim => vec![Request::Trim { file, class, offset: io.offset, length: io.length() }],
        _ => {
            let drained: Vec<&[u8]> = io.segments.iter().map(Segment::drained).collect();
            let bytes = drained.concat();
            let pieces = (0..).zip(bytes.chunks(PIECE));
            let pieces = pieces.map(|(number, piece)| Request::Write {
                file,
                through: io.op == Op::WriteThrough,
                class,
                offset: io.offset + number * PIECE as u64,
                bytes: piece.to_vec(),
            });
            pieces.collect()
        }
    }
}

impl Shared {
    fn name(&self, path: &Path) -> Result<Name, VolumeError> {
        Name::below(&self.folder, path)
            .ok_or_else(|| VolumeError::Other(format!("lies outside of {}", self.folder.display())))
    }

    /// Waits for what the other site says of a change that was made here. If it refuses, the sites
    /// differ.
    async fn there(&self, request: &Request, what: &Path) {
        if let Err(error) = self.link.ask_volume(request).await {
            let what = what.display();
            self.link.broken(format!("{what} at the other site: {error}"));
            std::future::pending::<()>().await;
        }
    }
}

impl Mirrored {
    /// Runs `work` as a task; never answers once the mirror is broken.
    fn ask<T: 'static, F: Future<Output = Result<T, VolumeError>> + 'static>(
        &self,
        work: impl FnOnce(Rc<Shared>) -> F,
    ) -> Answer<T> {
        let spawner = &self.0.inner.spawner;
        let (answering, answer) = answer(spawner.tasks());
        if self.0.link.is_in_step() {
            let work = work(Rc::clone(&self.0));
            drop(spawner.spawn(async move { answering.give(work.await) }));
        }
        answer
    }

    fn volume(&self) -> &dyn Volume {
        &*self.0.inner.volume
    }
}

impl Volume for Mirrored {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        let opening = match mode {
            OpenMode::Read => return self.volume().open(path, mode),
            OpenMode::Write | OpenMode::CreateNew => path.to_owned(),
        };
        self.ask(move |shared| async move {
            let name = shared.name(&opening)?;
            let opened = shared.inner.volume.open(&opening, mode).await?;
            let file = shared.link.new_file();
            let request = Request::Open { file, mode, name };
            shared.there(&request, &opening).await;
            shared.files.borrow_mut().insert(opened, file);
            Ok(opened)
        })
    }

    fn close(&self, file: FileId) -> Answer<()> {
        let Some(number) = self.0.files.borrow_mut().remove(&file) else {
            return self.volume().close(file);
        };
        let here = self.volume().close(file);
        let there = self.0.link.ask_volume(&Request::Close { file: number });
        self.ask(move |_| async move {
            let here = here.await;
            here.and(there.await)
        })
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.volume().length(file)
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        let Some(number) = self.0.files.borrow().get(&file).copied() else {
            return self.volume().allocate(file, bytes);
        };
        self.ask(move |shared| {
            let here = shared.inner.volume.allocate(file, bytes);
            let request = Request::Allocate { file: number, bytes };
            let there = shared.link.ask_volume(&request);
            async move {
                let here = here.await;
                here.and(there.await)
            }
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        let (old, new) = (from.to_owned(), to.to_owned());
        self.ask(move |shared| async move {
            let (from, to) = (shared.name(&old)?, shared.name(&new)?);
            shared.inner.volume.rename(&old, &new).await?;
            shared.there(&Request::Rename { from, to }, &new).await;
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        let path = path.to_owned();
        self.ask(move |shared| async move {
            let name = shared.name(&path)?;
            shared.inner.volume.remove(&path).await?;
            shared.there(&Request::Remove { name }, &path).await;
            Ok(())
        })
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.volume().list(directory)
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        let directory = directory.to_owned();
        self.ask(move |shared| async move {
            let name = shared.name(&directory)?;
            let here = shared.inner.volume.sync_directory(&directory);
            let there = shared.link.ask_volume(&Request::SyncDirectory { name });
            let here = here.await;
            here.and(there.await)
        })
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        self.volume().space(path)
    }
}
