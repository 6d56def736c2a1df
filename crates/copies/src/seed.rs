//! Databases for a new copy, taken from an active in use.
//!
//! ```text
//!   log       ──|C=====================|E──>    C checkpoint when the seed begins, E the log being written when its reads end
//!   pages                read in file order
//!   copy      header that needs C to E | pages | checkpoint C        logs from C on: shipped, like all others
//! ```
//!
//! It is the engine's online backup ([`brunt_ese::backup`]) without its logs: the pages match no
//! single moment, and the log from C to E repairs that. The header names E, so the copy cannot be
//! activated before it has that log. Logs from C on stay while the [`Seed`] lives; hand its first
//! log to [`crate::Shipper::seeded`] before it is dropped.
//!
//! The files of a cleanly closed instance, with its newest log, are a seed as well.
//!
//! A database gets its name when it is complete and durable, the checkpoint before it: an
//! interrupted seed leaves files that end in `-seeding`, and the next one removes them.

use std::path::{Path, PathBuf};

use brunt_ese::backup::{LogHold, Piece, Reads, Sink, read_pages};
use brunt_ese::content::{Bytes, Content};
use brunt_ese::error::{EngineError, file_error, name_error};
use brunt_ese::format::header::{DatabaseHeader, DatabaseState, LogsRequired};
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_units::PageSize;
use brunt_world::{Class, FileId, Io, Op, OpenMode, Segment, Segments, VolumeError, World};

use crate::error::CopyError;

/// A new copy's databases, and the logs that are kept for it.
pub struct Seed {
    hold: LogHold<Bytes>,
    /// The newest generation that it needs to be consistent.
    pub needed: u32,
}

impl Seed {
    /// The first generation that the copy needs.
    pub fn first(&self) -> u32 {
        self.hold.generation()
    }
}

/// Writes the databases of `instance`, which is in use, to the places of `to`. The folders exist
/// and hold no copy.
///
/// # Errors
/// When a file of that name exists; [`EngineError::Page`] when a page is bad; errors of reading and
/// writing.
pub async fn seed(
    world: &World,
    instance: &Instance<Bytes>,
    to: &InstanceOptions,
    reads: Reads,
) -> Result<Seed, CopyError> {
    let hold = instance.hold_log();
    let mut sinks = Vec::new();
    for (number, path) in (0_u8..).zip(&to.databases) {
        let mut sink = SeedSink::new(world, path, to.page_size).await?;
        read_pages(instance, number, reads, &mut sink).await?;
        sinks.push(sink);
    }
    // No page that was read can need a later log.
    let needed = instance.log().tail().generation;
    let required = LogsRequired { lowest: hold.generation(), highest: needed };
    let checkpoint = to.log_directory.join("edb.chk");
    let file = create(world, &checkpoint).await?;
    let segment = Bytes::outgoing(&world.frames, &hold.checkpoint_file());
    let written = write(world, &checkpoint, file, 0, segment).await;
    finish(world, &checkpoint, file, written).await?;
    for sink in sinks {
        sink.finish(required).await?;
    }
    Ok(Seed { hold, needed })
}

/// Writes one database.
struct SeedSink {
    world: World,
    path: PathBuf,
    page: PageSize,
    file: FileId,
    header: Option<DatabaseHeader>,
}

impl SeedSink {
    async fn new(world: &World, path: &Path, page: PageSize) -> Result<Self, EngineError> {
        let file = create(world, path).await?;
        Ok(Self { world: world.clone(), path: path.to_owned(), page, file, header: None })
    }

    /// Makes the database durable, with a header that names the logs it needs.
    async fn finish(self, required: LogsRequired) -> Result<(), EngineError> {
        let mut header = self.header.expect("a backup begins with it");
        header.state = DatabaseState::Dirty;
        (header.required, header.committed) = (required, required.highest);
        let mut written = Ok(());
        for copy in 0..2 {
            if written.is_ok() {
                let segment = Bytes::outgoing(&self.world.frames, &header.to_bytes());
                let at = copy * self.page.bytes_u64();
                written = write(&self.world, &self.path, self.file, at, segment).await;
            }
        }
        finish(&self.world, &self.path, self.file, written).await
    }
}

impl Sink<Bytes> for SeedSink {
    async fn take(&mut self, piece: Piece<'_, Bytes>) -> Result<(), EngineError> {
        match piece {
            Piece::Header(bytes) => {
                let found = DatabaseHeader::find(bytes).map_err(|_| EngineError::Damaged {
                    path: self.path.clone(),
                    what: "the header of the seed cannot be read",
                });
                self.header = Some(found?.header);
                Ok(())
            }
            Piece::Pages(first, pages) => {
                let segment = Bytes::gathered(&self.world.frames, pages, self.page);
                let at = first.offset(self.page);
                write(&self.world, &self.path, self.file, at, segment).await
            }
            Piece::Log { .. } | Piece::Checkpoint(_) => Ok(()),
        }
    }
}

/// The name of a file until it is durable.
fn seeding(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-seeding");
    name.into()
}

/// Creates the file of `path` under another name; refuses when there is one already.
async fn create(world: &World, path: &Path) -> Result<FileId, EngineError> {
    match world.volume.open(path, OpenMode::Read).await {
        Err(VolumeError::NotFound) => {}
        Err(error) => return Err(name_error(path)(error)),
        Ok(file) => {
            let closed = world.volume.close(file).await;
            closed.map_err(name_error(path))?;
            return Err(name_error(path)(VolumeError::Exists));
        }
    }
    let path = seeding(path);
    match world.volume.remove(&path).await {
        Ok(()) | Err(VolumeError::NotFound) => {}
        Err(error) => return Err(name_error(&path)(error)),
    }
    let opened = world.volume.open(&path, OpenMode::CreateNew).await;
    opened.map_err(name_error(&path))
}

async fn write(
    world: &World,
    path: &Path,
    file: FileId,
    at: u64,
    segment: Segment,
) -> Result<(), EngineError> {
    let io = Io::new(Class::Create, Op::Write, file, at, Segments::from_buf([segment]));
    let done = world.disk.submit(io).await;
    done.result.map_err(file_error(path))
}

/// Syncs and closes a file, then gives it its name, durably.
async fn finish(
    world: &World,
    path: &Path,
    file: FileId,
    written: Result<(), EngineError>,
) -> Result<(), EngineError> {
    let synced = world.disk.submit(Io::sync(Class::Create, file)).await;
    let closed = world.volume.close(file).await;
    written?;
    synced.result.map_err(file_error(path))?;
    closed.map_err(name_error(path))?;
    let renamed = world.volume.rename(&seeding(path), path).await;
    renamed.map_err(name_error(path))?;
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    let synced = world.volume.sync_directory(directory).await;
    synced.map_err(name_error(directory))
}
