//! Reserve logs: enough room for an orderly shutdown when the log volume is full.
//!
//! ```text
//!   edbres00001.jrs, edbres00002.jrs     as long as a log file, space allocated, nothing written
//!
//!   normal --no room for the next file: a reserve becomes it--> low --none is left--> the stream ends (ESE -529)
//!      ^                                                         |
//!      +----------------- there is room for two again -----------+
//! ```
//!
//! While the stream is low on reserves, transactions that have changed something continue to their
//! end, and new ones fail with a full log volume (ESE -529). Every such attempt first tries to
//! replenish the reserves, so work resumes by itself once there is space. Closing undoes open
//! transactions and leaves clean databases, which is the purpose of the reserves.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logstream.cxx (names, number,
//! lsNormal, lsQuiesce and lsOutOfDiskSpace, and where each begins). Its reserves are not synced
//! either: a reserve lost in a crash is created again.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use brunt_world::sync::Limit;
use brunt_world::{Class, Environment, FileId, Io, OpenMode, VolumeError, World};

use crate::error::EngineError;
use crate::small_file::{file_error, name_error};

/// Reserve files of a stream. Source: as above (cMinReserveLogs).
pub const RESERVES: u32 = 2;

/// The path of a stream's `number`-th reserve, from 1.
pub fn reserve_path(directory: &Path, base: &str, number: u32) -> PathBuf {
    directory.join(format!("{base}res{number:05}.jrs"))
}

/// The reserves of one stream.
pub(super) struct Reserves {
    world: World,
    directory: PathBuf,
    base: String,
    /// Bytes of each reserve, equal to a log file's.
    bytes: u64,
    /// Why a reserve has been used, or could not be created, since there were last enough.
    lacks: Cell<Option<Environment>>,
    /// Whether a call is replenishing them.
    is_busy: Cell<bool>,
    /// Only one call at a time creates or takes a reserve.
    turn: Limit,
}

impl Reserves {
    /// The reserves of a stream in `directory`. Touches nothing yet.
    pub(super) fn new(world: &World, directory: &Path, base: &str, bytes: u64) -> Self {
        Self {
            world: world.clone(),
            directory: directory.to_owned(),
            base: base.to_owned(),
            bytes,
            lacks: Cell::new(None),
            is_busy: Cell::new(false),
            turn: Limit::new(world.spawner.tasks(), 1),
        }
    }

    /// Whether transactions can only end.
    pub(super) fn is_low(&self) -> bool {
        self.lacks.get().is_some()
    }

    /// Why transactions can only end, if so.
    pub(super) fn lacks(&self) -> Option<Environment> {
        self.lacks.get()
    }

    /// Creates missing reserves. They stay low if the volume is still full. While another call is
    /// in progress, returns at once and leaves the state unchanged.
    ///
    /// # Errors
    /// When a file operation fails for a reason other than lack of space.
    pub(super) async fn replenish(&self) -> Result<(), EngineError> {
        if self.is_busy.replace(true) {
            return Ok(());
        }
        let turn = self.turn.enter().await;
        let made = self.make_all().await;
        drop(turn);
        self.is_busy.set(false);
        self.lacks.set(match made {
            Ok(()) => None,
            Err((path, error)) => match error.environment().filter(|why| why.is_full()) {
                Some(why) => Some(why),
                None => return Err(name_error(&path)(error)),
            },
        });
        Ok(())
    }

    async fn make_all(&self) -> Result<(), (PathBuf, VolumeError)> {
        for number in 1..=RESERVES {
            let path = reserve_path(&self.directory, &self.base, number);
            self.make(&path).await.map_err(|error| (path, error))?;
        }
        Ok(())
    }

    /// Creates a reserve, unless it exists with its full length.
    async fn make(&self, path: &Path) -> Result<(), VolumeError> {
        let volume = &self.world.volume;
        if let Some(file) = self.open_whole(path).await? {
            return volume.close(file).await;
        }
        let file = volume.open(path, OpenMode::CreateNew).await?;
        let allocated = volume.allocate(file, self.bytes).await;
        volume.close(file).await?;
        if allocated.is_err() {
            volume.remove(path).await?;
        }
        allocated
    }

    /// Opens an existing reserve; removes it if its length is wrong.
    async fn open_whole(&self, path: &Path) -> Result<Option<FileId>, VolumeError> {
        let volume = &self.world.volume;
        let file = match volume.open(path, OpenMode::Write).await {
            Ok(file) => file,
            Err(VolumeError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        if volume.length(file).await? == self.bytes {
            return Ok(Some(file));
        }
        volume.close(file).await?;
        volume.remove(path).await?;
        Ok(None)
    }

    /// Renames the last reserve to `next`. From then on reserves are low. `None` when there is none
    /// left.
    ///
    /// # Errors
    /// When a file operation fails.
    pub(super) async fn take(
        &self,
        next: &Path,
        why: Environment,
    ) -> Result<Option<FileId>, EngineError> {
        let _turn = self.turn.enter().await;
        self.lacks.set(Some(why));
        let volume = &self.world.volume;
        for number in (1..=RESERVES).rev() {
            let path = reserve_path(&self.directory, &self.base, number);
            let named = name_error(&path);
            let Some(file) = self.open_whole(&path).await.map_err(&named)? else {
                continue;
            };
            volume.close(file).await.map_err(&named)?;
            volume.rename(&path, next).await.map_err(&named)?;
            // Sync before anything is written to it; otherwise a crash could leave log under a
            // reserve's name.
            let synced = volume.sync_directory(&self.directory).await;
            synced.map_err(name_error(&self.directory))?;
            let file = volume.open(next, OpenMode::Write).await;
            let file = file.map_err(name_error(next))?;
            // Its length was never synced: a torn first write could leave less than a block, which
            // would be refused as a foreign file.
            let sync = Io::sync(Class::LogFormat, file);
            let synced = self.world.disk.submit(sync).await;
            synced.result.map_err(file_error(next))?;
            return Ok(Some(file));
        }
        Ok(None)
    }
}
