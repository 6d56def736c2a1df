//! What a copy accepts: the next log of its own stream and history, whole.
//!
//! ```text
//!   stored   1  2  3  4          arrives: 5 of this stream, whole, continuing 4  --> written, synced, named, synced, acknowledged
//!                                         3                                      --> refused: twice
//!                                         6                                      --> refused: out of order
//!                                         5, incomplete or damaged               --> refused: torn
//!                                         5 of another stream                    --> refused
//!                                         5 that does not begin where 4 ends     --> refused: another history
//! ```
//!
//! A log is checked in memory, by the engine's own reader and its own chain of generations. Nothing
//! of a refused one reaches the folder.

use std::path::{Path, PathBuf};

use brunt_ese::error::{EngineError, name_error};
use brunt_ese::format::log_file::LogHeaderError;
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_ese::log::LogShape;
use brunt_ese::log::reader::Generation;
use brunt_units::LogPosition;
use brunt_world::{Class, VolumeError, World};

use crate::error::CopyError;
use crate::files;
use crate::wire::{Held, LOG_BYTES_MAX, Refusal, Welcome};

/// The newest log of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// What an active compares.
    pub held: Held,
    /// When the file was begun.
    created: Stamp,
    /// Where it ends.
    end: LogPosition,
}

impl Tail {
    fn of(log: &Generation, bytes: &[u8]) -> Self {
        Self {
            held: Held { generation: log.header.generation, sum: crc32fast::hash(bytes) },
            created: log.header.created,
            end: log.end(),
        }
    }
}

/// The log folder of a copy, and what comes next.
#[derive(Clone, Debug)]
pub struct Intake {
    directory: PathBuf,
    shape: LogShape,
    stream: Option<Signature>,
    tail: Option<Tail>,
    /// The newest log that was checked, while it is made durable.
    ahead: Option<Tail>,
    next: u32,
}

impl Intake {
    /// Examines a log folder, and removes what a crash left of a log that was arriving. Its files
    /// are durable afterwards.
    ///
    /// Of a copy without logs, databases need `first` next and may name their `stream`. A file that
    /// an active wrote last gets the name of a closed generation.
    ///
    /// # Errors
    /// When a file is foreign or cannot be read.
    pub async fn open(
        world: &World,
        directory: &Path,
        shape: LogShape,
        stream: Option<Signature>,
        first: u32,
    ) -> Result<Self, CopyError> {
        files::remove_arriving(world, directory).await?;
        let mut intake = Self {
            directory: directory.to_owned(),
            shape,
            stream,
            tail: None,
            ahead: None,
            next: first,
        };
        let current = files::current(directory);
        let archived = files::generations(world, directory).await?;
        let newest = match intake.examine(world, &current).await? {
            Some(tail) => {
                let to = files::archived(directory, tail.held.generation);
                if archived.contains(&tail.held.generation) {
                    return Err(name_error(&to)(VolumeError::Exists).into());
                }
                let renamed = world.volume.rename(&current, &to).await;
                renamed.map_err(name_error(&current))?;
                Some(tail)
            }
            None => match archived.last() {
                Some(newest) => {
                    let path = files::archived(directory, *newest);
                    intake.examine(world, &path).await?
                }
                None => None,
            },
        };
        // A process that was killed may have left names that are not durable, and the hello
        // acknowledges them.
        let synced = world.volume.sync_directory(directory).await;
        synced.map_err(name_error(directory))?;
        // Older logs than the databases need say nothing about the next one.
        if let Some(tail) = newest.filter(|tail| tail.held.generation + 1 >= first) {
            intake.stored(tail);
        }
        Ok(intake)
    }

    /// The tail that the file at `path` is; notes its stream.
    async fn examine(&mut self, world: &World, path: &Path) -> Result<Option<Tail>, EngineError> {
        let most = u64::from(LOG_BYTES_MAX);
        let Some(bytes) = files::read_log(world, Class::Recovery, path, most).await? else {
            return Ok(None);
        };
        let log = Generation::read(&bytes)
            .map_err(|error| EngineError::LogHeader { path: path.to_owned(), error })?;
        if log.header.run_id().is_none() {
            return Err(EngineError::NotOurs(path.to_owned()));
        }
        self.stream = Some(log.header.signature);
        Ok(Some(Tail::of(&log, &bytes)))
    }

    /// The stream that it follows, as far as it is known.
    pub fn stream(&self) -> Option<Signature> {
        self.stream
    }

    /// The newest log.
    pub fn last(&self) -> Option<Held> {
        self.tail.map(|tail| tail.held)
    }

    /// The generation after the newest durable one.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The generation to arrive next.
    pub fn wanted(&self) -> u32 {
        self.ahead.map_or(self.next, |ahead| ahead.held.generation + 1)
    }

    /// Its folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Accepts an active. Only durable logs count from now on.
    ///
    /// # Errors
    /// [`Refusal::OtherStream`].
    pub fn meet(&mut self, welcome: &Welcome) -> Result<(), Refusal> {
        self.ahead = None;
        match self.stream {
            Some(stream) if stream != welcome.stream => Err(Refusal::OtherStream),
            _ => {
                self.stream = Some(welcome.stream);
                Ok(())
            }
        }
    }

    /// Whether a log of `generation` with `length` bytes may begin to arrive.
    ///
    /// # Errors
    /// [`Refusal`]: it has no place here.
    pub fn announced(&self, generation: u32, length: u32) -> Result<(), Refusal> {
        let wanted = self.wanted();
        if generation < wanted {
            return Err(Refusal::Again(generation));
        }
        if generation > wanted {
            return Err(Refusal::OutOfOrder { generation, wanted });
        }
        let is_that_size = u64::from(length) == self.shape.file_bytes() as u64;
        match is_that_size && length <= LOG_BYTES_MAX {
            true => Ok(()),
            false => Err(Refusal::NotThatLog(generation)),
        }
    }

    /// Checks the bytes of a whole log file; the next one is to continue it.
    ///
    /// # Errors
    /// [`Refusal`], by its name.
    pub fn check(&mut self, generation: u32, bytes: &[u8]) -> Result<Tail, Refusal> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.announced(generation, length)?;
        let log = Generation::read(bytes).map_err(|error| match error {
            LogHeaderError::Checksum => Refusal::Torn(generation),
            _ => Refusal::NotThatLog(generation),
        })?;
        if log.header.generation != generation || log.header.file_bytes() != u64::from(length) {
            return Err(Refusal::NotThatLog(generation));
        }
        if self.stream.is_some_and(|stream| stream != log.header.signature) {
            return Err(Refusal::OtherStream);
        }
        if log.damaged.is_some() {
            return Err(Refusal::Torn(generation));
        }
        if let Some(tail) = self.ahead.or(self.tail) {
            let named = log.header.previous_created;
            // The first file after a start of the active does not name it.
            let continues = !named.is_some() || named == tail.created;
            if !continues || log.continues(tail.end) == Some(false) {
                return Err(Refusal::OtherHistory(generation));
            }
        }
        let tail = Tail::of(&log, bytes);
        self.ahead = Some(tail);
        Ok(tail)
    }

    /// Notes that a log which was checked is durable.
    pub fn stored(&mut self, tail: Tail) {
        self.next = tail.held.generation + 1;
        self.tail = Some(tail);
    }
}
