//! Opening an instance.
//!
//! Opening begins a new log generation, whatever the last one holds behind its end: nothing is ever appended to a file
//! that a crash may have left torn. If any database is not clean the log is replayed from the checkpoint.
//!
//! It has two steps, [`Instance::begin_opening`] and [`Opening::finish`]. Instances over one cache begin one after the other, because
//! the cache numbers their databases in that order; what takes long, the replay, they do at the same time.

use std::collections::BTreeSet;
use std::path::Path;

use brunt_units::LogPosition;
use brunt_world::{Class, Io, OpenMode, VolumeError, World};

use super::checkpoint::checkpoint_path;
use super::database::{self, Found};
use super::ours;
use super::recovery::RecoveryReport;
use super::start::{Beginning, log_files};
use super::{Instance, InstanceOptions};
use crate::cache::Cache;
use crate::content::Bytes;
use crate::error::EngineError;
use crate::format::attachment::Attachment;
use crate::format::checkpoint_file::Checkpoint;
use crate::format::header::DatabaseState;
use crate::format::log_file::LogHeaderError;
use crate::format::stamp::Signature;
use crate::log::reader::Generation;
use crate::small_file::{file_error, name_error, read_whole};

/// What lies in a log directory.
struct Survey {
    /// Older generations, ascending; the current one, if there is one, is not among them.
    archived: Vec<u32>,
    /// The current generation and its end.
    current: Option<(u32, LogPosition)>,
    signature: Option<Signature>,
    checkpoint: LogPosition,
    /// The databases that took part at the checkpoint; `None` when there is no checkpoint.
    attached: Option<Vec<Attachment>>,
}

/// An instance whose files have been looked at and whose new log has begun, and nothing else yet.
pub struct Opening {
    instance: Instance<Bytes>,
    survey: Survey,
    clean: bool,
}

impl Opening {
    /// The instance: for its counters, until it is open.
    pub fn instance(&self) -> &Instance<Bytes> {
        &self.instance
    }

    /// Replays the log if a database was not closed, and starts what runs in the background.
    ///
    /// # Errors
    /// What recovery reports. The databases stay recoverable.
    pub async fn finish(self) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
        let instance = self.instance;
        let report = match self.clean {
            true => RecoveryReport::default(),
            false => instance.recover(&self.survey).await?,
        };
        instance.attach().await?;
        instance.run_background(instance.clone().run_checkpoint());
        for database in (0_u8..).take(instance.0.databases.len()) {
            instance.run_background(instance.clone().run_growth(database));
        }
        Ok((instance, report))
    }
}

impl Instance<Bytes> {
    /// Opens an instance, replaying its log if it was not closed.
    ///
    /// # Errors
    /// When a file is somebody else's, damaged or missing; nothing has been written then. Errors of recovery leave the
    /// databases recoverable.
    ///
    /// # Panics
    /// When log files cannot hold every change of a page ([`crate::log::LogShape::holds_changes_of`]).
    pub async fn open(
        world: &World,
        cache: &Cache<Bytes>,
        options: InstanceOptions,
    ) -> Result<(Self, RecoveryReport), EngineError> {
        Self::begin_opening(world, cache, options)
            .await?
            .finish()
            .await
    }

    /// The first step of opening an instance: is it ours, where does its log go on?
    ///
    /// # Errors
    /// When a file is somebody else's, damaged or missing; nothing has been written then.
    ///
    /// # Panics
    /// As [`Instance::open`].
    pub async fn begin_opening(
        world: &World,
        cache: &Cache<Bytes>,
        options: InstanceOptions,
    ) -> Result<Opening, EngineError> {
        assert!(
            options.log.holds_changes_of(options.page_size),
            "log files too small for the page size"
        );
        let mut found = Vec::new();
        for path in &options.databases {
            found.push(database::open(world, path, options.page_size).await?);
        }
        let clean = found
            .iter()
            .all(|found| found.header.state == DatabaseState::Clean);
        let files = log_files(world, cache, &options, None);
        ours::check_files(world, &files, &options).await?;
        let survey = survey(world, cache, &options).await?;
        settle(world, cache, &options, &survey, &found).await?;
        let beginning = beginning(world, cache, &options, &survey).await?;
        let instance = Self::assemble(world, cache, options, beginning, found).await?;
        Ok(Opening {
            instance,
            survey,
            clean,
        })
    }

    async fn recover(&self, survey: &Survey) -> Result<RecoveryReport, EngineError> {
        let from = survey.checkpoint;
        let current = survey.current.map(|(generation, _)| generation);
        let generations: Vec<u32> = survey.archived.iter().copied().chain(current).collect();
        let needed: Vec<u32> = generations
            .into_iter()
            .filter(|generation| *generation >= from.generation)
            .collect();
        self.check_chain(from, &needed)?;
        let count = u32::try_from(needed.len()).expect("fewer than 2^32 logs");
        self.0.replayed.set((0, count));
        let known = self.recognise(survey.attached.as_deref());
        let redo = self.redo(from, &needed, known).await?;
        self.undo_and_clean(redo).await
    }

    /// Which databases are the ones that the log means by their numbers, as far as the checkpoint says; the log says the
    /// rest. They go on from the times that they had then.
    fn recognise(&self, attached: Option<&[Attachment]>) -> BTreeSet<u8> {
        let numbers = (0_u8..).zip(&self.0.databases);
        let Some(attached) = attached else {
            return numbers.map(|(number, _)| number).collect();
        };
        numbers
            .filter_map(|(number, entry)| {
                let signature = entry.header.borrow().signature;
                let known = attached
                    .iter()
                    .find(|known| known.database_id == number + 1)?;
                if known.signature != signature {
                    return None;
                }
                self.0.cache.advance_time(entry.number, known.time);
                Some(number)
            })
            .collect()
    }

    /// Every generation from the checkpoint's on must be there; without a checkpoint, from the oldest there is: none is ever
    /// removed that a durable checkpoint did not lie behind.
    fn check_chain(&self, from: LogPosition, generations: &[u32]) -> Result<(), EngineError> {
        let oldest = generations.first().copied().unwrap_or(1);
        let first = if from.generation == 0 {
            oldest
        } else {
            from.generation
        };
        let expected =
            first..first + u32::try_from(generations.len()).expect("fewer than 2^32 logs");
        let missing = match generations.first() {
            None => Some(first),
            Some(_) => expected
                .zip(generations)
                .find(|(expected, got)| expected != *got)
                .map(|(expected, _)| expected),
        };
        let directory = self.0.options.log_directory.clone();
        missing.map_or(Ok(()), |generation| {
            Err(EngineError::LogMissing {
                directory,
                generation,
            })
        })
    }
}

/// Where the log goes on: nothing is ever appended to a file that is there.
async fn beginning(
    world: &World,
    cache: &Cache<Bytes>,
    options: &InstanceOptions,
    survey: &Survey,
) -> Result<Beginning, EngineError> {
    let (last, previous_end) = match survey.current {
        Some(current) => current,
        None => match survey.archived.last() {
            Some(&last) => (last, archived_end(world, cache, options, last).await?),
            None => (0, LogPosition::default()),
        },
    };
    Ok(Beginning {
        generation: last + 1,
        previous_end,
        signature: survey.signature,
        checkpoint: survey.checkpoint,
    })
}

/// Looks into the log directory without changing it.
async fn survey(
    world: &World,
    cache: &Cache<Bytes>,
    options: &InstanceOptions,
) -> Result<Survey, EngineError> {
    let files = log_files(world, cache, options, None);
    let archived = files.archived().await?;
    let path = files.current_path();
    let mut survey = Survey {
        archived,
        current: None,
        signature: None,
        checkpoint: LogPosition::default(),
        attached: None,
    };
    let newest = survey
        .archived
        .last()
        .map(|generation| files.archived_path(*generation));
    let mut read = None;
    for (path, is_current) in [(Some(path), true), (newest, false)] {
        let Some(path) = path.filter(|_| read.is_none()) else {
            continue;
        };
        match read_whole(world, Class::Recovery, &path).await {
            Ok(bytes) => {
                let log = Generation::read(&bytes).map_err(header_error(&path))?;
                if log.header.run_id().is_none() {
                    return Err(EngineError::NotOurs(path));
                }
                read = Some((log, is_current));
            }
            Err(EngineError::Volume {
                error: VolumeError::NotFound,
                ..
            }) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some((log, is_current)) = read {
        survey.signature = Some(log.header.signature);
        survey.current = is_current.then(|| (log.header.generation, log.end()));
    }
    if let Some(found) = read_checkpoint(world, options, survey.signature).await? {
        survey.checkpoint = found.position;
        survey.attached = Some(found.attachments);
    }
    Ok(survey)
}

/// Makes durable what a process that died had written, before anything is concluded from reading it.
///
/// A process can die where its machine does not. Its writes are then read back whether they are durable or not: recovery
/// would find pages done, move the checkpoint over them, and a later loss of power would take them away. So would it the
/// end of the newest log file, which the next one names.
async fn settle(
    world: &World,
    cache: &Cache<Bytes>,
    options: &InstanceOptions,
    survey: &Survey,
    found: &[Found],
) -> Result<(), EngineError> {
    for (path, found) in options.databases.iter().zip(found) {
        if found.header.state != DatabaseState::Clean {
            let synced = world.disk.submit(Io::sync(Class::Recovery, found.file));
            synced.await.result.map_err(file_error(path))?;
        }
    }
    if survey.current.is_some() {
        let path = log_files(world, cache, options, None).current_path();
        let opened = world.volume.open(&path, OpenMode::Write).await;
        let file = opened.map_err(name_error(&path))?;
        let synced = world.disk.submit(Io::sync(Class::Recovery, file)).await;
        let closed = world.volume.close(file).await;
        synced.result.map_err(file_error(&path))?;
        closed.map_err(name_error(&path))?;
    }
    Ok(())
}

/// The checkpoint on disk; `None` when there is none of this stream.
async fn read_checkpoint(
    world: &World,
    options: &InstanceOptions,
    signature: Option<Signature>,
) -> Result<Option<Checkpoint>, EngineError> {
    let path = checkpoint_path(options);
    let bytes = match read_whole(world, Class::Recovery, &path).await {
        Ok(bytes) => bytes,
        Err(EngineError::Volume {
            error: VolumeError::NotFound,
            ..
        }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = Checkpoint::find(&bytes).ok();
    Ok(found.filter(|found| Some(found.signature) == signature))
}

async fn archived_end(
    world: &World,
    cache: &Cache<Bytes>,
    options: &InstanceOptions,
    generation: u32,
) -> Result<LogPosition, EngineError> {
    let path = log_files(world, cache, options, None).archived_path(generation);
    let bytes = read_whole(world, Class::Recovery, &path).await?;
    let log = Generation::read(&bytes).map_err(header_error(&path))?;
    Ok(log.end())
}

/// Names the log file, which is known to be ours: somebody else's has been refused before.
fn header_error(path: &Path) -> impl FnOnce(LogHeaderError) -> EngineError {
    let path = path.to_owned();
    |error| EngineError::LogHeader { path, error }
}
