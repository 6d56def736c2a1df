//! Opening and closing an instance.
//!
//! Opening begins a new log generation, whatever the last one holds behind its end: nothing is ever appended to a file
//! that a crash may have left torn. If any database is not clean the log is replayed from the checkpoint.
//!
//! Closing lets every dirty page go, syncs, says so in the log, and only then writes *clean* into the headers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_units::{LogPosition, Time};
use brunt_world::sync::Event;
use brunt_world::{Class, Io, OpenMode, VolumeError, World};

use super::checkpoint::checkpoint_path;
use super::database::{self, Database, Found};
use super::recovery::RecoveryReport;
use super::transactions::Transactions;
use super::{Inner, Instance, InstanceOptions};
use super::{flush_map, ours};
use crate::cache::Cache;
use crate::content::Bytes;
use crate::error::EngineError;
use crate::format::checkpoint_file::Checkpoint;
use crate::format::header::{DatabaseState, LogsRequired};
use crate::format::stamp::{SIGNATURE_BYTES, Signature};
use crate::log::files::LogPlace;
use crate::log::reader::Generation;
use crate::log::{FlushReason, Log, LogFiles, LogOptions, LogRecord, record};
use crate::policy::log_buffer;
use crate::small_file::{file_error, name_error, read_whole};

/// What lies in a log directory.
struct Survey {
    /// Older generations, ascending; the current one, if there is one, is not among them.
    archived: Vec<u32>,
    /// The current generation and its end.
    current: Option<(u32, LogPosition)>,
    signature: Option<Signature>,
    checkpoint: LogPosition,
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
        let instance = Self::assemble(world, cache, options, &survey, found).await?;
        let report = match clean {
            true => RecoveryReport::default(),
            false => instance.recover(&survey).await?,
        };
        instance.attach().await?;
        instance.run_background(instance.clone().run_checkpoint());
        for database in (0_u8..).take(instance.0.databases.len()) {
            instance.run_background(instance.clone().run_growth(database));
        }
        Ok((instance, report))
    }

    async fn assemble(
        world: &World,
        cache: &Cache<Bytes>,
        options: InstanceOptions,
        survey: &Survey,
        found: Vec<Found>,
    ) -> Result<Self, EngineError> {
        let (last, end) = match survey.current {
            Some(current) => current,
            None => match survey.archived.last() {
                Some(&last) => (last, archived_end(world, cache, &options, last).await?),
                None => (0, LogPosition::default()),
            },
        };
        let files = log_files(world, cache, &options, survey.signature);
        let rolled = files.roll(last + 1).await?;
        let log_options = LogOptions {
            shape: options.log,
            buffer_bytes: log_buffer::capacity(
                options.log_buffer_units,
                options.page_size,
                options.log,
            ),
            lazy_wait: options.lazy_wait,
            durability: options.durability,
        };
        let meters = Rc::clone(cache.meters());
        let log = Log::start(
            world,
            options.number,
            log_options,
            files,
            meters,
            rolled,
            end,
        );
        let mut databases = Vec::with_capacity(found.len());
        for (path, mut found) in options.databases.iter().zip(found) {
            let (map, memory) = flush_map::open(world, path, &mut found).await?;
            let (path, time) = (path.clone(), found.header.time);
            let number = cache.add_database(
                path.clone(),
                found.file,
                found.pages,
                options.number,
                log.clone(),
                time,
                memory,
            );
            databases.push(Database {
                number,
                path,
                file: found.file,
                map,
                header: RefCell::new(found.header),
                pages: Cell::new(found.pages),
                growing: Cell::new(false),
                is_drawn_on: Cell::new(false),
            });
        }
        Ok(Self(Rc::new(Inner {
            world: world.clone(),
            cache: cache.clone(),
            log,
            databases,
            transactions: Transactions::new(1),
            checkpoint: Cell::new(survey.checkpoint),
            holds: RefCell::default(),
            closing: Cell::new(false),
            background: Cell::new(0),
            changed: Event::new(world.spawner.tasks()),
            failure: RefCell::new(None),
            options,
        })))
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
        let redo = self.redo(from, &needed).await?;
        self.undo_and_clean(redo).await
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

    /// Says in headers and log that the databases are in use.
    async fn attach(&self) -> Result<(), EngineError> {
        let stamp = self.0.log.files().stamp();
        for (index, entry) in (0_u8..).zip(&self.0.databases) {
            let time = self.0.cache.time(entry.number);
            let mut signature = [0; SIGNATURE_BYTES];
            {
                let mut header = entry.header.borrow_mut();
                header.state = DatabaseState::Dirty;
                header.time = time;
                header.attached = self.0.log.tail();
                header.attached_on = stamp;
                header.detached = LogPosition::default();
                header.log_signature = self.0.log.files().place().signature;
                let highest = self.0.log.tail().generation;
                header.required = LogsRequired {
                    lowest: self.0.checkpoint.get().generation.max(1),
                    highest,
                };
                header.signature.write(&mut signature, 0);
            }
            entry.write_header(&self.0.world).await?;
            self.append(&LogRecord::Attach {
                database: index,
                time,
                signature: &signature,
            });
        }
        let tail = self.0.log.tail();
        self.0.log.flushed(tail, FlushReason::Drain).await
    }

    /// Closes the instance: afterwards every database is clean and needs no log.
    ///
    /// Transactions that are still open are taken back.
    ///
    /// # Errors
    /// When anything cannot be written. The databases are then recoverable, not clean.
    pub async fn close(self) -> Result<(), EngineError> {
        for transaction in self.0.transactions.numbers() {
            self.take_back(transaction).await?;
            self.carry_out(transaction).await?;
        }
        self.end_background().await;
        if let Some(error) = self.failure() {
            return Err(error);
        }
        self.0.cache.write_all(self.0.options.number).await?;
        for entry in &self.0.databases {
            self.0.cache.sync(entry.number).await?;
        }
        self.write_flush_maps().await?;
        self.detach().await?;
        self.0.log.files().close().await?;
        for entry in &self.0.databases {
            self.0
                .world
                .volume
                .close(entry.file)
                .await
                .map_err(name_error(&entry.path))?;
            self.0
                .world
                .volume
                .close(entry.map)
                .await
                .map_err(name_error(&entry.path))?;
        }
        Ok(())
    }

    async fn detach(&self) -> Result<(), EngineError> {
        let mut detached = Vec::new();
        for (index, entry) in (0_u8..).zip(&self.0.databases) {
            detached.push(self.0.log.tail());
            self.append(&LogRecord::Detach {
                database: index,
                time: self.0.cache.time(entry.number),
            });
        }
        self.0.log.close().await?;
        let file = self.open_checkpoint().await?;
        self.write_checkpoint(file, self.0.log.durable()).await?;
        let path = checkpoint_path(&self.0.options);
        self.0
            .world
            .volume
            .close(file)
            .await
            .map_err(name_error(&path))?;
        let stamp = self.0.log.files().stamp();
        for (entry, position) in self.0.databases.iter().zip(detached) {
            {
                let mut header = entry.header.borrow_mut();
                header.state = DatabaseState::Clean;
                header.time = self.0.cache.time(entry.number);
                (header.consistent, header.consistent_on) = (position, stamp);
                (header.detached, header.detached_on) = (position, stamp);
                header.required = LogsRequired::default();
            }
            entry.write_header(&self.0.world).await?;
        }
        Ok(())
    }

    /// Appends a record that changes no page.
    pub(crate) fn append(&self, what: &LogRecord<'_>) -> LogPosition {
        let mut spelled = Vec::new();
        record::encode(what, &mut spelled);
        self.0.log.append(&spelled).end
    }
}

fn log_files(
    world: &World,
    cache: &Cache<Bytes>,
    options: &InstanceOptions,
    signature: Option<Signature>,
) -> LogFiles<Bytes> {
    let created =
        crate::format::stamp::Stamp::from_unix_millis(options.epoch_ms + millis(world.clock.now()));
    let mut draw = world
        .random
        .named(&format!("log signature/{}", options.number));
    let random = u32::try_from(draw.below(1 << 32)).expect("below 2^32");
    let place = LogPlace {
        number: options.number,
        directory: options.log_directory.clone(),
        base: "edb".to_owned(),
        shape: options.log,
        page_size: options.page_size,
        signature: signature.unwrap_or_else(|| Signature::ours(random, created, options.run)),
        epoch_ms: options.epoch_ms,
    };
    LogFiles::new(world, place, Rc::clone(cache.meters()))
}

fn millis(time: Time) -> u64 {
    time.0.div_euclid(1_000_000)
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
                let log =
                    Generation::read(&bytes).map_err(|_| EngineError::NotOurs(path.clone()))?;
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
    survey.checkpoint = read_checkpoint(world, options, survey.signature).await?;
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

/// The checkpoint on disk; the beginning of the log when there is none of this stream.
async fn read_checkpoint(
    world: &World,
    options: &InstanceOptions,
    signature: Option<Signature>,
) -> Result<LogPosition, EngineError> {
    let path = checkpoint_path(options);
    let bytes = match read_whole(world, Class::Recovery, &path).await {
        Ok(bytes) => bytes,
        Err(EngineError::Volume {
            error: VolumeError::NotFound,
            ..
        }) => return Ok(LogPosition::default()),
        Err(error) => return Err(error),
    };
    let checkpoint = Checkpoint::find(&bytes)
        .ok()
        .filter(|found| Some(found.signature) == signature);
    Ok(checkpoint.map_or(LogPosition::default(), |found| found.position))
}

async fn archived_end(
    world: &World,
    cache: &Cache<Bytes>,
    options: &InstanceOptions,
    generation: u32,
) -> Result<LogPosition, EngineError> {
    let path = log_files(world, cache, options, None).archived_path(generation);
    let bytes = read_whole(world, Class::Recovery, &path).await?;
    let log = Generation::read(&bytes).map_err(|_| EngineError::NotOurs(path))?;
    Ok(log.end())
}
