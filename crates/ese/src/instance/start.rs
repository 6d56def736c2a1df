//! What every instance begins with, whatever its pages are made of: log, databases, headers.
//!
//! [`Instance::open`] comes here when it knows where the log ended. An instance over *blank* databases begins here: its
//! databases are made, zeros throughout, and its log is new. That is how ghosts are driven, and cache and log without trees.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use brunt_units::{LogPosition, Time};
use brunt_world::sync::Event;
use brunt_world::{OpenMode, VolumeError, World};

use super::database::{Database, Found};
use super::transactions::Transactions;
use super::{Inner, Instance, InstanceOptions};
use super::{flush_map, ours};
use crate::cache::{Cache, NewDatabase};
use crate::content::Content;
use crate::error::EngineError;
use crate::format::attachment::ATTACHMENTS_MAX;
use crate::format::header::{DatabaseHeader, DatabaseState, LogsRequired};
use crate::format::stamp::{SIGNATURE_BYTES, Signature, Stamp};
use crate::log::files::LogPlace;
use crate::log::{Appended, FlushReason, Log, LogFiles, LogOptions, LogRecord, record};
use crate::policy::checkpoint::Pacing;
use crate::policy::{log_buffer, log_format};
use crate::small_file::name_error;

/// Where an instance's log goes on.
pub(crate) struct Beginning {
    /// The generation to begin.
    pub(crate) generation: u32,
    /// Where the log ended before.
    pub(crate) previous_end: LogPosition,
    /// The stream's signature, if it has one.
    pub(crate) signature: Option<Signature>,
    /// The checkpoint on disk.
    pub(crate) checkpoint: LogPosition,
}

impl Beginning {
    /// A new stream.
    fn new_stream() -> Self {
        Self {
            generation: 1,
            previous_end: LogPosition::default(),
            signature: None,
            checkpoint: LogPosition::default(),
        }
    }
}

impl<C: Content> Instance<C> {
    /// Makes databases of so many zero `pages` each, without trees, and starts an instance over them with a new log.
    ///
    /// End it with [`Instance::shut_down`]. Pages are to be claimed before they are first read.
    ///
    /// # Errors
    /// When there is a database or a log of one of these names already, or a file that is somebody else's; nothing has been
    /// overwritten then.
    pub async fn start_blank(
        world: &World,
        cache: &Cache<C>,
        options: InstanceOptions,
        pages: &[u32],
    ) -> Result<Self, EngineError> {
        assert_eq!(
            pages.len(),
            options.databases.len(),
            "pages of each database"
        );
        let files = log_files(world, cache, &options, None);
        ours::check_files(world, &files, &options).await?;
        refuse_logs(world, &files).await?;
        let mut found = Vec::with_capacity(options.databases.len());
        for (path, pages) in options.databases.iter().zip(pages) {
            found.push(make_blank(world, &options, path, *pages).await?);
        }
        let beginning = Beginning::new_stream();
        let instance = Self::assemble(world, cache, options, beginning, found).await?;
        instance.attach().await?;
        instance.run_background(instance.clone().run_checkpoint());
        Ok(instance)
    }

    /// An instance over databases that have been looked at, whose log goes on where `beginning` says. Nothing of its own
    /// runs yet but the log, which has no file yet.
    pub(crate) async fn assemble(
        world: &World,
        cache: &Cache<C>,
        options: InstanceOptions,
        beginning: Beginning,
        found: Vec<Found>,
    ) -> Result<Self, EngineError> {
        assert!(
            options.databases.len() <= ATTACHMENTS_MAX,
            "more databases than a checkpoint can list"
        );
        let files = log_files(world, cache, &options, beginning.signature);
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
            beginning.generation,
            beginning.previous_end,
        );
        let mut databases = Vec::with_capacity(found.len());
        for (path, mut found) in options.databases.iter().zip(found) {
            let (map, memory) = flush_map::open::<C>(world, path, &mut found).await?;
            let (path, time) = (path.clone(), found.header.time);
            let number = cache.add_database(NewDatabase {
                path: path.clone(),
                file: found.file,
                pages: found.pages,
                instance: options.number,
                log: Rc::new(log.clone()),
                time,
                signature: found.header.signature,
                flush: memory,
            });
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
        let instance = Self(Rc::new(Inner {
            world: world.clone(),
            cache: cache.clone(),
            log,
            databases,
            transactions: Transactions::new(1),
            checkpoint: Cell::new(beginning.checkpoint),
            replayed: Cell::new((0, 0)),
            checkpoint_held: Cell::new(false),
            holds: RefCell::default(),
            keeps_flush_maps: Cell::new(true),
            closing: Cell::new(false),
            background: Cell::new(0),
            changed: Event::new(world.spawner.tasks()),
            failure: RefCell::new(None),
            options,
        }));
        let inner = Rc::downgrade(&instance.0);
        instance.0.log.after_roll(move |generation| {
            let instance = inner.upgrade().map(Self);
            Box::pin(async move {
                match instance {
                    Some(instance) => instance.name_generation(generation).await,
                    None => Ok(()),
                }
            })
        });
        Ok(instance)
    }

    /// Says in the headers of databases in use that they need the log up to `generation`, whose file is there and empty: one
    /// that is lost later is missed.
    ///
    /// Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logstream.cxx: headers are updated with each new log
    /// file, before it is written to.
    async fn name_generation(&self, generation: u32) -> Result<(), EngineError> {
        let stamp = self.0.log.files().stamp();
        let mut writing = Vec::new();
        for (index, entry) in self.0.databases.iter().enumerate() {
            let mut header = entry.header.borrow_mut();
            if header.state == DatabaseState::Dirty {
                header.required = self.required(generation);
                (header.committed, header.required_on) = (generation, stamp);
                let instance = self.clone();
                let write = async move {
                    let entry = &instance.0.databases[index];
                    entry.write_header(&instance.0.world).await
                };
                writing.push(self.0.world.spawner.spawn(write));
            }
        }
        for write in writing {
            write.await?;
        }
        Ok(())
    }

    /// The log from the checkpoint to `generation`.
    fn required(&self, generation: u32) -> LogsRequired {
        LogsRequired {
            lowest: self.0.checkpoint.get().generation.max(1),
            highest: generation,
        }
    }

    /// Says in headers and log that the databases are in use.
    pub(crate) async fn attach(&self) -> Result<(), EngineError> {
        // Headers name no log file that is not there.
        let generation = self.0.log.begin().await?;
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
                header.required = self.required(generation);
                (header.committed, header.required_on) = (generation, stamp);
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

    /// Appends a record that changes no page.
    pub(crate) fn append(&self, what: &LogRecord<'_>) -> Appended {
        let mut spelled = Vec::new();
        record::encode(what, &mut spelled);
        self.0.log.append(C::record(&spelled))
    }
}

/// Refuses a log directory that holds a log stream.
async fn refuse_logs<C: Content>(world: &World, files: &LogFiles<C>) -> Result<(), EngineError> {
    let current = files.current_path();
    let archived = files.archived().await?;
    let path = match archived.first() {
        Some(generation) => files.archived_path(*generation),
        None => match world.volume.open(&current, OpenMode::Read).await {
            Err(VolumeError::NotFound) => return Ok(()),
            Err(error) => return Err(name_error(&current)(error)),
            Ok(file) => {
                let closed = world.volume.close(file).await;
                closed.map_err(name_error(&current))?;
                current
            }
        },
    };
    Err(name_error(&path)(VolumeError::Exists))
}

/// A new database file of zeros. Its header is written when it is attached.
async fn make_blank(
    world: &World,
    options: &InstanceOptions,
    path: &Path,
    pages: u32,
) -> Result<Found, EngineError> {
    let size = options.page_size;
    let volume = &world.volume;
    let file = volume.open(path, OpenMode::CreateNew).await;
    let file = file.map_err(name_error(path))?;
    let bytes = (u64::from(pages) + 2) * size.bytes_u64();
    let allocated = volume.allocate(file, bytes).await;
    allocated.map_err(name_error(path))?;
    if let Some(directory) = path.parent() {
        let synced = volume.sync_directory(directory).await;
        synced.map_err(name_error(directory))?;
    }
    let name = format!("database signature/{}", path.display());
    let random = world.random.named(&name).below(1 << 32);
    let random = u32::try_from(random).expect("below 2^32");
    let created = Stamp::from_unix_millis(options.epoch_ms + millis(world.clock.now()));
    let signature = Signature::ours(random, created, options.run);
    let mut header = DatabaseHeader::new(size, signature);
    header.state = DatabaseState::Clean;
    Ok(Found {
        file,
        header,
        pages,
    })
}

/// The files of an instance's log stream; a new stream has no signature yet.
pub(super) fn log_files<C: Content>(
    world: &World,
    cache: &Cache<C>,
    options: &InstanceOptions,
    signature: Option<Signature>,
) -> LogFiles<C> {
    let created = Stamp::from_unix_millis(options.epoch_ms + millis(world.clock.now()));
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
        format_chunk: match options.pacing {
            Pacing::Burst { .. } => log_format::OLD_CHUNK_BYTES,
            Pacing::Trickle { .. } => log_format::CHUNK_BYTES,
        },
        epoch_ms: options.epoch_ms,
    };
    LogFiles::new(world, place, Rc::clone(cache.meters()))
}

fn millis(time: Time) -> u64 {
    time.0.div_euclid(1_000_000)
}
