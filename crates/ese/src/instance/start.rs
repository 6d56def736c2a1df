//! Starting an instance, independent of page content: log, databases, headers.
//!
//! [`Instance::open`] calls this once it knows where the log ends. An instance over *blank*
//! databases starts here: this module creates its databases, filled with zeros, and a new log.
//! Ghosts run this way, as do tests of cache and log without trees.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use brunt_units::{LogPosition, Time};
use brunt_world::sync::Event;
use brunt_world::{OpenMode, VolumeError, World};

use super::base::{Arrived, Beginning};
use super::database::Found;
use super::ours;
use super::transactions::Transactions;
use super::{Base, Inner, Instance, InstanceOptions};
use crate::cache::Cache;
use crate::content::Content;
use crate::error::EngineError;
use crate::format::header::{DatabaseHeader, DatabaseState};
use crate::format::stamp::{SIGNATURE_BYTES, Signature, Stamp};
use crate::log::files::LogPlace;
use crate::log::{Appended, FlushReason, Log, LogFiles, LogOptions, LogRecord, record};
use crate::policy::checkpoint::Pacing;
use crate::policy::{log_buffer, log_format};
use crate::small_file::name_error;

impl<C: Content> Instance<C> {
    /// Creates databases of `pages` zero pages each, without trees, and starts an instance over
    /// them with a new log.
    ///
    /// End it with [`Instance::shut_down`]. Claim pages before reading them for the first time.
    ///
    /// # Errors
    /// When a database or log with one of these names already exists, or a file is foreign. Nothing
    /// has been overwritten then.
    pub async fn start_blank(
        world: &World,
        cache: &Cache<C>,
        options: InstanceOptions,
        pages: &[u32],
    ) -> Result<Self, EngineError> {
        let (base, _) = Base::blank(world, cache, options, pages).await?;
        let instance = Self::over(base, 1, LogPosition::default());
        instance.attach().await?;
        instance.run_background(instance.clone().run_checkpoint());
        Ok(instance)
    }

    /// An instance over databases at log position `end`. Its log continues with `generation`, whose
    /// file does not exist yet. Only the log is running so far.
    pub(crate) fn over(base: Rc<Base<C>>, generation: u32, end: LogPosition) -> Self {
        let options = &base.options;
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
        let log = Log::start(
            &base.world,
            options.number,
            log_options,
            base.files.clone(),
            Rc::clone(base.cache.meters()),
            generation,
            end,
        );
        for database in &base.databases {
            base.cache.cover(database.number, Rc::new(log.clone()));
        }
        let named = Rc::downgrade(&base);
        log.after_roll(move |generation| {
            let base = named.upgrade();
            Box::pin(async move {
                match base {
                    Some(base) => base.name_generation(generation).await,
                    None => Ok(()),
                }
            })
        });
        Self(Rc::new(Inner {
            log,
            transactions: Transactions::new(1),
            checkpoint_held: Cell::new(false),
            closing: Cell::new(false),
            background: Cell::new(0),
            changed: Event::new(base.world.spawner.tasks()),
            failure: RefCell::new(None),
            unfinished: RefCell::new(None),
            base,
        }))
    }

    /// Records in headers and log that the databases are in use.
    pub(crate) async fn attach(&self) -> Result<(), EngineError> {
        // Headers must not name a log file that does not exist.
        let generation = self.0.log.begin().await?;
        let stamp = self.0.files.stamp();
        for (index, entry) in (0_u8..).zip(&self.0.databases) {
            let time = self.0.cache.time(entry.number);
            let mut signature = [0; SIGNATURE_BYTES];
            {
                let mut header = entry.header.borrow_mut();
                // While undo rolls the log, headers name the new file before it is the current one.
                let generation = generation.max(header.committed);
                header.state = DatabaseState::Dirty;
                header.time = time;
                header.attached = self.0.log.tail();
                header.attached_on = stamp;
                header.detached = LogPosition::default();
                header.log_signature = self.0.files.place().signature;
                header.required = self.0.required(generation);
                (header.committed, header.required_on) = (generation, stamp);
                header.signature.write(&mut signature, 0);
            }
            entry.write_header(&self.0.world).await?;
            self.append(&LogRecord::Attach { database: index, time, signature: &signature });
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

impl<C: Content> Base<C> {
    /// Creates databases of `pages` zero pages each, where there are none and no log.
    pub(crate) async fn blank(
        world: &World,
        cache: &Cache<C>,
        options: InstanceOptions,
        pages: &[u32],
    ) -> Result<(Rc<Self>, Rc<Arrived>), EngineError> {
        assert_eq!(pages.len(), options.databases.len(), "pages of each database");
        let files = log_files(world, cache, &options, None);
        ours::check_files(world, &files, &options).await?;
        refuse_logs(world, &files).await?;
        let mut found = Vec::with_capacity(options.databases.len());
        for (path, pages) in options.databases.iter().zip(pages) {
            found.push(make_blank(world, &options, path, *pages).await?);
        }
        Self::assemble(world, cache, options, Beginning::default(), found).await
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

/// Creates a database file of zeros. Attaching it writes the header.
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
    Ok(Found { file, header, pages })
}

/// The log files of an instance's stream. A new stream has no signature yet.
pub(crate) fn log_files<C: Content>(
    world: &World,
    cache: &Cache<C>,
    options: &InstanceOptions,
    signature: Option<Signature>,
) -> LogFiles<C> {
    let created = Stamp::from_unix_millis(options.epoch_ms + millis(world.clock.now()));
    let mut draw = world.random.named(&format!("log signature/{}", options.number));
    let random = u32::try_from(draw.below(1 << 32)).expect("below 2^32");
    let place = LogPlace {
        number: options.number,
        directory: options.log_directory.clone(),
        base: "edb".to_owned(),
        shape: options.log,
        page_size: options.page_size,
        signature: signature.unwrap_or_else(|| Signature::ours(random, created, options.run)),
        format_chunk: options.format_chunk.unwrap_or(match options.pacing {
            Pacing::Burst { .. } => log_format::OLD_CHUNK_BYTES,
            Pacing::Trickle { .. } => log_format::CHUNK_BYTES,
        }),
        epoch_ms: options.epoch_ms,
    };
    LogFiles::new(world, place, Rc::clone(cache.meters()))
}

fn millis(time: Time) -> u64 {
    time.0.div_euclid(1_000_000)
}
