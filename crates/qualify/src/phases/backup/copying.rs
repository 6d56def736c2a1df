//! Writes the backup of one database: its pages into one file, in order, with several writes in
//! flight. The first database of an instance also brings the log files and the checkpoint.
//!
//! A file gets its name when it is complete and durable. Until then its name ends in `-making`, so
//! the remains of an interrupted backup are not mistaken for a backup.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use brunt_ese::backup::{Piece, Sink};
use brunt_ese::content::Content;
use brunt_ese::error::EngineError;
use brunt_ese::format::log_file::log_file_name;
use brunt_run::Stop;
use brunt_units::PageSize;
use brunt_world::{
    Class, FileId, Io, IoError, Op, OpenMode, Segment, Segments, Ticket, VolumeError, World,
};

use crate::error::RunError;
use crate::phases::places;
use crate::plan::Plan;
use crate::unfinished_name::{making, unmade};

/// Writes in flight.
const IN_FLIGHT: usize = 4;
/// Prefix of our names in the folder.
pub(super) const PREFIX: &str = "brunt-backup-";
/// The path of the backup of an instance's file.
pub(super) fn copy_path(folder: &Path, instance: usize, name: &str) -> PathBuf {
    folder.join(format!("{}{}-{name}", PREFIX, instance + 1))
}

/// The name of a database's backup. Databases of one instance may have the same file name in
/// different folders.
pub(super) fn database_name(name: &str) -> String {
    format!("{name}.edb")
}

/// The files of earlier backups in `folder`.
///
/// # Errors
/// [`RunError::Foreign`] when a file with such a name is not ours.
pub(crate) async fn earlier(world: &World, folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let names = world.volume.list(folder).await;
    let names = names.map_err(RunError::name(folder))?;
    let own = names.iter().filter(|name| name.starts_with(PREFIX));
    let own: Vec<PathBuf> = own.map(|name| folder.join(name)).collect();
    for path in &own {
        let ours = match unmade(path) {
            Some(whole) => places::is_begun(world, path, &whole).await?,
            None => places::is_ours(world, path).await?,
        };
        if !ours {
            return Err(RunError::Foreign(path.clone()));
        }
    }
    Ok(own)
}

/// Writes the backup of one database.
pub(super) struct CopySink {
    world: World,
    folder: PathBuf,
    instance: usize,
    path: PathBuf,
    file: FileId,
    page: PageSize,
    at: u64,
    flying: VecDeque<Ticket>,
    stop: Stop,
}

impl CopySink {
    /// Creates the file for the database called `name`.
    pub(super) async fn new(
        world: &World,
        plan: &Plan,
        folder: &Path,
        instance: usize,
        name: &str,
        stop: &Stop,
    ) -> Result<Self, EngineError> {
        let path = copy_path(folder, instance, &database_name(name));
        let page = plan.engine.page;
        let file = create(world, &making(&path), 2 * page.bytes_u64()).await?;
        Ok(Self {
            world: world.clone(),
            folder: folder.to_owned(),
            instance,
            path,
            file,
            page,
            at: 0,
            flying: VecDeque::new(),
            stop: stop.clone(),
        })
    }

    async fn append(&mut self, segment: Segment) -> Result<(), EngineError> {
        let length = segment.length();
        let io = write(self.file, self.at, segment);
        self.flying.push_back(self.world.disk.submit(io));
        self.at += length;
        while self.flying.len() > IN_FLIGHT {
            self.land().await?;
        }
        Ok(())
    }

    async fn land(&mut self) -> Result<(), EngineError> {
        match self.flying.pop_front() {
            Some(ticket) => ticket.await.result.map_err(file_error(&self.path)),
            None => Ok(()),
        }
    }

    /// Waits until the backup is durable.
    pub(super) async fn finish(mut self) -> Result<(), EngineError> {
        while !self.flying.is_empty() {
            self.land().await?;
        }
        let synced = self.world.disk.submit(Io::sync(Class::Backup, self.file));
        synced.await.result.map_err(file_error(&self.path))?;
        let closed = self.world.volume.close(self.file).await;
        closed.map_err(volume_error(&self.path))?;
        finish(&self.world, &self.path).await
    }

    /// Writes a small file beside it.
    async fn put<C: Content>(&self, name: &str, bytes: &[u8]) -> Result<(), EngineError> {
        let path = copy_path(&self.folder, self.instance, name);
        write_file::<C>(&self.world, &making(&path), bytes).await?;
        finish(&self.world, &path).await
    }
}

impl<C: Content> Sink<C> for CopySink {
    async fn take(&mut self, piece: Piece<'_, C>) -> Result<(), EngineError> {
        let frames = &self.world.frames;
        match piece {
            Piece::Header(bytes) => {
                let mut copy = bytes.to_vec();
                copy.resize(self.page.bytes(), 0);
                let both = C::outgoing(frames, &[&copy[..], &copy[..]].concat());
                self.append(both).await
            }
            Piece::Pages(_, _) if self.stop.is_asked() => Err(EngineError::Stopped),
            Piece::Pages(_, pages) => {
                let segment = C::gathered(frames, pages, self.page);
                self.append(segment).await
            }
            Piece::Log { generation, bytes } => {
                let name = log_file_name("edb", generation);
                self.put::<C>(&name, bytes).await
            }
            Piece::Checkpoint(bytes) => self.put::<C>("edb.chk", bytes).await,
        }
    }
}

/// Gives a backup file its final name. The name is durable when the folder is synced.
async fn finish(world: &World, path: &Path) -> Result<(), EngineError> {
    let renamed = world.volume.rename(&making(path), path).await;
    renamed.map_err(volume_error(path))
}

/// Creates a durable file with these bytes.
pub(super) async fn write_file<C: Content>(
    world: &World,
    path: &Path,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let segment = C::outgoing(&world.frames, bytes);
    let file = create(world, path, segment.length()).await?;
    let io = Io { op: Op::WriteThrough, ..write(file, 0, segment) };
    let written = world.disk.submit(io).await;
    let closed = world.volume.close(file).await;
    written.result.map_err(file_error(path))?;
    closed.map_err(volume_error(path))
}

/// A write of a backup or a restore.
pub(super) fn write(file: FileId, offset: u64, segment: Segment) -> Io {
    let segments = Segments::from_buf([segment]);
    Io::new(Class::Backup, Op::Write, file, offset, segments)
}

/// Creates a file of `length` zeros.
pub(super) async fn create(world: &World, path: &Path, length: u64) -> Result<FileId, EngineError> {
    let created = world.volume.open(path, OpenMode::CreateNew).await;
    let file = created.map_err(volume_error(path))?;
    let reserved = world.volume.allocate(file, length).await;
    reserved.map_err(volume_error(path))?;
    // Without this, a torn first write could leave less than a block, which would later look
    // foreign.
    let synced = world.disk.submit(Io::sync(Class::Backup, file)).await;
    synced.result.map_err(file_error(path))?;
    Ok(file)
}

pub(crate) fn file_error(path: &Path) -> impl Fn(IoError) -> EngineError {
    move |error| EngineError::File { path: path.to_owned(), error }
}

pub(crate) fn volume_error(path: &Path) -> impl Fn(VolumeError) -> EngineError {
    move |error| EngineError::Volume { path: path.to_owned(), error }
}
