//! Reserve logs: what is left to end in order when the log's volume is full.
//!
//! ```text
//!   edbres00001.jrs, edbres00002.jrs     as long as a log file, their room allocated, nothing written
//!
//!   normal --no room for the next file: a reserve becomes it--> low --none is left--> the stream ends (ESE -529)
//!      ^                                                         |
//!      +----------------- there is room for two again -----------+
//! ```
//!
//! While they are low, transactions that have changed something go on and end, and whoever wants to begin changing is told
//! that the log's volume is full (ESE -529). Every such attempt first tries to make the reserves whole, so work goes on by itself
//! when somebody has made room. Closing takes back what is open and leaves clean databases: that is what the reserves are
//! for.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logstream.cxx (names, number, lsNormal, lsQuiesce and
//! lsOutOfDiskSpace, and where each begins). Its reserves are not synced either: one that a crash takes is made anew.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use brunt_world::sync::Limit;
use brunt_world::{Class, FileId, Io, OpenMode, VolumeError, World};

use crate::error::EngineError;
use crate::small_file::{file_error, name_error};

/// Reserve files of a stream. Source: as the module (cMinReserveLogs).
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
    /// Bytes of each: a log file's.
    bytes: u64,
    /// Whether one has been used, or could not be made, since they were last whole.
    is_low: Cell<bool>,
    /// Whether somebody is making them whole.
    is_busy: Cell<bool>,
    /// Who makes or takes one: one at a time.
    turn: Limit,
}

impl Reserves {
    /// Of a stream in `directory`; nothing is touched yet.
    pub(super) fn new(world: &World, directory: &Path, base: &str, bytes: u64) -> Self {
        Self {
            world: world.clone(),
            directory: directory.to_owned(),
            base: base.to_owned(),
            bytes,
            is_low: Cell::new(false),
            is_busy: Cell::new(false),
            turn: Limit::new(world.spawner.tasks(), 1),
        }
    }

    /// Whether transactions can only end.
    pub(super) fn is_low(&self) -> bool {
        self.is_low.get()
    }

    /// Makes those that are missing. They are low afterwards if the volume is still full, and meanwhile for who comes while
    /// somebody else is at it.
    ///
    /// # Errors
    /// When a name fails for another reason than room.
    pub(super) async fn replenish(&self) -> Result<(), EngineError> {
        if self.is_busy.replace(true) {
            return Ok(());
        }
        let turn = self.turn.enter().await;
        let made = self.make_all().await;
        drop(turn);
        self.is_busy.set(false);
        match made {
            Ok(()) => self.is_low.set(false),
            Err((_, VolumeError::NoSpace)) => self.is_low.set(true),
            Err((path, error)) => return Err(name_error(&path)(error)),
        }
        Ok(())
    }

    async fn make_all(&self) -> Result<(), (PathBuf, VolumeError)> {
        for number in 1..=RESERVES {
            let path = reserve_path(&self.directory, &self.base, number);
            self.make(&path).await.map_err(|error| (path, error))?;
        }
        Ok(())
    }

    /// Makes one, unless it is there in its full length.
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

    /// Opens one that is there; one of another length is removed.
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

    /// Makes the last of them the file at `next`. From then on they are low. `None` when none is left.
    ///
    /// # Errors
    /// When a name fails.
    pub(super) async fn take(&self, next: &Path) -> Result<Option<FileId>, EngineError> {
        let _turn = self.turn.enter().await;
        self.is_low.set(true);
        let volume = &self.world.volume;
        for number in (1..=RESERVES).rev() {
            let path = reserve_path(&self.directory, &self.base, number);
            let named = name_error(&path);
            let Some(file) = self.open_whole(&path).await.map_err(&named)? else {
                continue;
            };
            volume.close(file).await.map_err(&named)?;
            volume.rename(&path, next).await.map_err(&named)?;
            // Before anything is written to it, or after a crash log could stand under a reserve's name.
            let synced = volume.sync_directory(&self.directory).await;
            synced.map_err(name_error(&self.directory))?;
            let file = volume.open(next, OpenMode::Write).await;
            let file = file.map_err(name_error(next))?;
            // Its length was never synced: a torn first write could leave less than a block, which is taken for somebody else's.
            let sync = Io::sync(Class::LogFormat, file);
            let synced = self.world.disk.submit(sync).await;
            synced.result.map_err(file_error(next))?;
            return Ok(Some(file));
        }
        Ok(None)
    }
}
