//! Opening an instance.
//!
//! Opening starts a new log generation, even if the last file has room: nothing is ever appended to
//! a file that a crash may have torn. If any database is not clean, the log is replayed from the
//! checkpoint.
//!
//! A log that has lost a file or its end is refused before any name or header changes, so that the
//! next open refuses it too. Every generation named by a header must exist, the newest must be
//! undamaged before its end, and no page may be newer than the log. Only then does the new
//! generation begin.
//!
//! There are two steps, [`Replayer::open`] and [`Replayer::finish`]. The cache numbers databases in
//! the order they open, so instances that share a cache take the first step one after another. The
//! replay, which takes long, runs concurrently.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brunt_units::LogPosition;
use brunt_world::{Class, Io, OpenMode, VolumeError, World};

use super::base::Beginning;
use super::beside::Beside;
use super::checkpoint::checkpoint_path;
use super::database::{self, Found};
use super::mixtures::Doubts;
use super::ours;
use super::recovery::RecoveryReport;
use super::replayer::check_whole;
use super::start::log_files;
use super::{Base, Instance, InstanceOptions, Replayer};
use crate::cache::{Cache, Trust};
use crate::content::{Bytes, Content};
use crate::error::EngineError;
use crate::format::attachment::Attachment;
use crate::format::checkpoint_file::Checkpoint;
use crate::format::header::{DatabaseHeader, DatabaseState};
use crate::format::log_file::LogHeaderError;
use crate::format::stamp::Signature;
use crate::log::LogFiles;
use crate::log::reader::Generation;
use crate::small_file::{file_error, name_error, read_whole};

/// Contents of a log directory.
struct Survey {
    /// Older generations, ascending, without the current one.
    archived: Vec<u32>,
    /// The current generation and its end, if there is one.
    current: Option<(u32, LogPosition)>,
    signature: Option<Signature>,
    checkpoint: LogPosition,
    /// Up to where the log was durable at the checkpoint.
    durable: LogPosition,
    /// The databases attached at the checkpoint; `None` without a checkpoint.
    attached: Option<Vec<Attachment>>,
    /// The checkpoint copy to write first.
    stale_copy: u64,
    /// Where the newest log file ends.
    end: LogPosition,
    /// Where that file is damaged before its end, if it is.
    damaged: Option<LogPosition>,
}

impl Instance<Bytes> {
    /// Opens an instance, and replays its log if it was not closed.
    ///
    /// # Errors
    /// When a file is foreign, damaged or missing; nothing has been written then. After an error of
    /// recovery the databases are still recoverable.
    ///
    /// # Panics
    /// When a log file is too small for some change of a page
    /// ([`crate::log::LogShape::holds_changes_of`]).
    pub async fn open(
        world: &World,
        cache: &Cache<Bytes>,
        options: InstanceOptions,
    ) -> Result<(Self, RecoveryReport), EngineError> {
        Replayer::open(world, cache, options).await?.finish().await
    }
}

impl Replayer {
    /// Examines the files: whether they are ours, what to replay, and where the log continues.
    /// Replays nothing yet.
    ///
    /// # Errors
    /// When a file is foreign, damaged or missing; nothing has been written then.
    ///
    /// # Panics
    /// As [`Instance::open`].
    pub async fn open(
        world: &World,
        cache: &Cache<Bytes>,
        options: InstanceOptions,
    ) -> Result<Self, EngineError> {
        Self::open_up_to(world, cache, options, false).await
    }

    /// As [`Self::open`], for a copy: log files that have arrived and that no database has begun
    /// are left to [`Replayer::feed`].
    ///
    /// # Errors
    /// As [`Self::open`].
    ///
    /// # Panics
    /// As [`Instance::open`].
    pub async fn open_copy(
        world: &World,
        cache: &Cache<Bytes>,
        options: InstanceOptions,
    ) -> Result<Self, EngineError> {
        Self::open_up_to(world, cache, options, true).await
    }

    async fn open_up_to(
        world: &World,
        cache: &Cache<Bytes>,
        options: InstanceOptions,
        only_begun: bool,
    ) -> Result<Self, EngineError> {
        assert!(
            options.log.holds_changes_of(options.page_size),
            "log files too small for the page size"
        );
        let mut found = Vec::new();
        for path in &options.databases {
            found.push(database::open(world, path, options.page_size).await?);
        }
        let headers = found.iter().map(|found| &found.header);
        let clean = headers.clone().all(|header| header.state == DatabaseState::Clean);
        let closed = headers.map(|header| header.consistent.generation).max();
        let files = log_files(world, cache, &options, None);
        ours::check_files(world, &files, &options).await?;
        // A header names a generation before any of its changes reaches a page.
        let begun = found.iter().map(|found| newest_begun(&found.header)).max();
        let most = begun.filter(|_| only_begun).unwrap_or(u32::MAX);
        let survey = survey(world, cache, &options, most).await?;
        let there = match clean {
            true => Vec::new(),
            false => survey.needed(),
        };
        if !clean {
            survey.check_required(&files, &options, &found)?;
        }
        settle(world, cache, &options, &survey, &found).await?;
        let beginning = Beginning {
            end: survey.end,
            signature: survey.signature,
            checkpoint: survey.checkpoint,
            stale_copy: survey.stale_copy,
        };
        let (base, arrived) = Base::assemble(world, cache, options, beginning, found).await?;
        if let Some((generation, _)) = survey.current {
            base.files.left(generation);
        }
        let count = u32::try_from(there.len()).expect("fewer than 2^32 logs");
        base.replayed.set((0, count));
        Ok(Self {
            known: recognise(&base, survey.attached.as_deref().filter(|_| !clean)),
            arrived,
            from: survey.checkpoint,
            durable: survey.durable,
            trust: match clean {
                true => Trust::Verified,
                false => Trust::Recovering,
            },
            next: 1 + there.last().copied().or(closed).unwrap_or(0),
            named: None,
            there,
            end: (survey.newest(), survey.end),
            last: None,
            open: BTreeMap::new(),
            newest: 0,
            turns: BTreeMap::new(),
            doubts: Doubts::default(),
            newest_page: BTreeMap::new(),
            report: RecoveryReport::default(),
            beside: Beside::new(world),
            base,
        })
    }
}

/// The newest generation of which a database may have changes.
fn newest_begun(header: &DatabaseHeader) -> u32 {
    match header.state {
        DatabaseState::Clean => header.consistent.generation,
        _ => header.committed.max(header.required.highest),
    }
}

/// The databases that the checkpoint identifies as those in the log; the log identifies the rest.
/// Each continues from its time at the checkpoint.
fn recognise(base: &Base<Bytes>, attached: Option<&[Attachment]>) -> BTreeSet<u8> {
    let numbers = (0_u8..).zip(&base.databases);
    let Some(attached) = attached else {
        return numbers.map(|(number, _)| number).collect();
    };
    numbers
        .filter_map(|(number, entry)| {
            let signature = entry.header.borrow().signature;
            let known = attached.iter().find(|known| known.database_id == number + 1)?;
            if known.signature != signature {
                return None;
            }
            base.cache.advance_time(entry.number, known.time);
            Some(number)
        })
        .collect()
}

impl Survey {
    /// The generations to replay: all from the checkpoint's on, or all there are without a
    /// checkpoint. Only generations before a durable checkpoint are ever removed, so none is
    /// missing.
    fn needed(&self) -> Vec<u32> {
        let current = self.current.map(|(generation, _)| generation);
        let all = self.archived.iter().copied().chain(current);
        all.filter(|generation| *generation >= self.checkpoint.generation).collect()
    }

    /// The newest generation; 0 when there is none.
    fn newest(&self) -> u32 {
        let current = self.current.map(|(generation, _)| generation);
        current.or(self.archived.last().copied()).unwrap_or(0)
    }

    /// Refuses a log that lacks generations that databases need, judging by file names and headers.
    fn check_required<C: Content>(
        &self,
        files: &LogFiles<C>,
        options: &InstanceOptions,
        found: &[Found],
    ) -> Result<(), EngineError> {
        let needed = self.needed();
        for (path, found) in options.databases.iter().zip(found) {
            let header = &found.header;
            let newest = header.committed.max(header.required.highest);
            if header.state != DatabaseState::Dirty || newest == 0 {
                continue;
            }
            let is_other = |signature| signature != header.log_signature;
            if self.signature.is_some_and(is_other) {
                return Err(EngineError::LogOfOthers {
                    directory: options.log_directory.clone(),
                    database: path.clone(),
                });
            }
            let first = match (self.checkpoint.generation, needed.first()) {
                (0, Some(oldest)) => *oldest,
                (0, None) => header.required.lowest,
                (checkpoint, _) => checkpoint,
            };
            let missing = (first..=newest).find(|wanted| needed.binary_search(wanted).is_err());
            if let Some(generation) = missing {
                return Err(EngineError::LogRequired {
                    // The newest generation was still current when the header was written.
                    path: match generation == newest {
                        true => files.current_path(),
                        false => files.archived_path(generation),
                    },
                    database: path.clone(),
                });
            }
        }
        let follow = needed.iter().zip(needed.iter().skip(1));
        let mut gaps = follow.filter(|(one, next)| **one + 1 < **next);
        if let Some((before, _)) = gaps.next() {
            return Err(EngineError::LogMissing(files.archived_path(before + 1)));
        }
        check_whole(self.damaged, || match self.current {
            Some(_) => files.current_path(),
            None => files.archived_path(self.newest()),
        })
    }
}

/// Examines the log directory up to generation `most` without changing it.
async fn survey(
    world: &World,
    cache: &Cache<Bytes>,
    options: &InstanceOptions,
    most: u32,
) -> Result<Survey, EngineError> {
    let files = log_files(world, cache, options, None);
    let mut archived = files.archived().await?;
    let later = archived.split_off(archived.partition_point(|generation| *generation <= most));
    let path = files.current_path();
    let mut survey = Survey {
        archived,
        current: None,
        signature: None,
        checkpoint: LogPosition::default(),
        durable: LogPosition::default(),
        attached: None,
        stale_copy: 0,
        end: LogPosition::default(),
        damaged: None,
    };
    let newest = survey.archived.last().map(|generation| files.archived_path(*generation));
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
            Err(EngineError::Volume { error: VolumeError::NotFound, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some((log, is_current)) = read {
        survey.signature = Some(log.header.signature);
        (survey.end, survey.damaged) = (log.end(), log.damaged);
        survey.current = is_current.then_some((log.header.generation, survey.end));
    } else if let Some(generation) = later.first() {
        let path = files.archived_path(*generation);
        let bytes = read_whole(world, Class::Recovery, &path).await?;
        let log = Generation::read(&bytes).map_err(header_error(&path))?;
        survey.signature = Some(log.header.signature);
    }
    if let Some((found, stale_copy)) = read_checkpoint(world, options, survey.signature).await? {
        (survey.checkpoint, survey.stale_copy) = (found.position, stale_copy);
        survey.durable = found.consistency;
        survey.attached = Some(found.attachments);
    }
    Ok(survey)
}

/// Makes the writes of a dead process durable before reading them.
///
/// A process can die while its machine keeps running. Its writes can then be read even if they are
/// not durable: recovery would find pages up to date, move the checkpoint past them, and a later
/// power failure would lose them. The same holds for the end of the newest log file, which the next
/// file records, and for file names. A process that died between the two renames of a log roll
/// leaves the first one not durable; the second alone would replace the old current file with a new
/// one.
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
    let directory = &options.log_directory;
    let synced = world.volume.sync_directory(directory).await;
    synced.map_err(name_error(directory))?;
    let files = log_files(world, cache, options, None);
    let newest = match survey.current {
        Some(_) => Some(files.current_path()),
        None => survey.archived.last().map(|last| files.archived_path(*last)),
    };
    // The checkpoint decides which older log files are released.
    let checkpoint = survey.attached.as_ref().map(|_| checkpoint_path(options));
    for path in newest.into_iter().chain(checkpoint) {
        let opened = world.volume.open(&path, OpenMode::Write).await;
        let file = opened.map_err(name_error(&path))?;
        let synced = world.disk.submit(Io::sync(Class::Recovery, file)).await;
        let closed = world.volume.close(file).await;
        synced.result.map_err(file_error(&path))?;
        closed.map_err(name_error(&path))?;
    }
    Ok(())
}

/// The checkpoint on disk, and which copy to write first; `None` without a checkpoint of this
/// stream.
pub(super) async fn read_checkpoint(
    world: &World,
    options: &InstanceOptions,
    signature: Option<Signature>,
) -> Result<Option<(Checkpoint, u64)>, EngineError> {
    let path = checkpoint_path(options);
    let bytes = match read_whole(world, Class::Recovery, &path).await {
        Ok(bytes) => bytes,
        Err(EngineError::Volume { error: VolumeError::NotFound, .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = Checkpoint::find(&bytes).ok();
    let found = found.filter(|found| Some(found.signature) == signature);
    Ok(found.map(|found| (found, Checkpoint::stale_copy(&bytes))))
}

/// Names the log file in the error. Foreign files have been refused before.
fn header_error(path: &Path) -> impl FnOnce(LogHeaderError) -> EngineError {
    let path = path.to_owned();
    |error| EngineError::LogHeader { path, error }
}
