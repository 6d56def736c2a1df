//! The files of a log stream: names, formatting ahead, rolling, releasing.
//!
//! ```text
//!   edb.log          the current generation
//!   edbtmp.log       the next one, being formatted
//!   edb00001.log ... older generations, by number in hexadecimal
//!   edbres00001.jrs  reserves, for when the volume is full (see [`super::reserve`])
//! ```
//!
//! Every file is filled with a pattern and gets its header before use, so a log write never
//! allocates. Formatting keeps pace with the use of the current file, to avoid one burst.
//!
//! Released generations become next files where needed: their space is already allocated, and some
//! storage takes longer to free a file than to write it. The new name is durable before anything is
//! written to the file. Otherwise, after a crash, an old generation's name could refer to a file of
//! filling. The oldest generations go first, so the remaining ones are consecutive.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_log/logstream.cxx (reuse of
//! archived logs under circular logging). Its newest format does not fill such a file again; those
//! of 2007 to 2013 did, and so do we.
//!
//! A roll renames the current file to its number, makes that durable, renames the next file to be
//! current, and makes that durable. A single sync at the end would be wrong: of two renames that
//! are not durable, the second alone may survive, and it would replace the old current file.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_units::{LogPosition, PageSize, Span};
use brunt_world::sync::Event;
use brunt_world::{
    Class, Environment, FileId, Io, Op, OpenMode, Segments, Task, VolumeError, World,
};

use super::LogShape;
use super::reserve::Reserves;
use crate::content::Content;
use crate::error::EngineError;
use crate::format::log_file::{FILL, LOG_HEADER_BYTES, LogHeader, generation_of, log_file_name};
use crate::format::stamp::{Signature, Stamp};
use crate::meter::MeterBoard;
use crate::policy::log_format::format_now;
use crate::small_file::{file_error, name_error, write_through};

/// Released generations kept for reuse: more than one move of the checkpoint releases.
pub const SPARES_MAX: usize = 8;

/// Names, sizes and markers of a stream's files.
#[derive(Clone, Debug)]
pub struct LogPlace {
    /// Number of the instance.
    pub number: u8,
    /// Directory of the files.
    pub directory: PathBuf,
    /// Prefix of their names: `edb`.
    pub base: String,
    /// Sizes.
    pub shape: LogShape,
    /// The page size of the databases.
    pub page_size: PageSize,
    /// The stream's signature, with our marker.
    pub signature: Signature,
    /// Formatting step for a new file in bytes, a multiple of 4,096.
    pub format_chunk: u64,
    /// Milliseconds from the Unix epoch to time zero of the world's clock.
    pub epoch_ms: u64,
}

/// A generation that has become the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rolled {
    /// Its number.
    pub generation: u32,
    pub file: FileId,
}

/// A file that is ready to become current.
struct Prepared {
    file: FileId,
    created: Stamp,
}

struct Inner<C: Content> {
    world: World,
    place: LogPlace,
    meters: Rc<MeterBoard>,
    /// Used bytes of the current file; its whole length while a roll waits for the next one.
    used: Cell<usize>,
    moved: Event,
    next: RefCell<Option<Task<Result<Prepared, EngineError>>>>,
    /// Released generations that still exist, oldest first.
    spares: RefCell<VecDeque<u32>>,
    /// Generations before this one are released.
    given_up: Cell<u32>,
    reserves: Reserves,
    current: Cell<Option<FileId>>,
    /// The generation that an earlier instance left under the current file's name.
    left: Cell<Option<u32>>,
    created: Cell<Stamp>,
    content: std::marker::PhantomData<C>,
}

/// The files of a log stream. Cloning gives another handle.
pub struct LogFiles<C: Content>(Rc<Inner<C>>);

impl<C: Content> Clone for LogFiles<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C: Content> LogFiles<C> {
    /// The files at `place`. Touches nothing yet.
    pub fn new(world: &World, place: LogPlace, meters: Rc<MeterBoard>) -> Self {
        let bytes = place.shape.file_bytes() as u64;
        Self(Rc::new(Inner {
            world: world.clone(),
            reserves: Reserves::new(world, &place.directory, &place.base, bytes),
            used: Cell::new(0),
            moved: Event::new(world.spawner.tasks()),
            next: RefCell::new(None),
            spares: RefCell::default(),
            given_up: Cell::new(0),
            current: Cell::new(None),
            left: Cell::new(None),
            created: Cell::new(Stamp::default()),
            place,
            meters,
            content: std::marker::PhantomData,
        }))
    }

    /// Where the stream is.
    pub fn place(&self) -> &LogPlace {
        &self.0.place
    }

    /// The path of the current file.
    pub fn current_path(&self) -> PathBuf {
        self.0.place.directory.join(format!("{}.log", self.0.place.base))
    }

    /// The path of the next file, which is being formatted.
    pub fn next_path(&self) -> PathBuf {
        self.0.place.directory.join(format!("{}tmp.log", self.0.place.base))
    }

    /// The path of an older generation.
    pub fn archived_path(&self, generation: u32) -> PathBuf {
        self.0.place.directory.join(log_file_name(&self.0.place.base, generation))
    }

    /// The path of a generation that is not being written. Until the first roll, the newest may be
    /// under the current name.
    pub fn path_of(&self, generation: u32) -> PathBuf {
        match self.0.left.get() == Some(generation) {
            true => self.current_path(),
            false => self.archived_path(generation),
        }
    }

    /// Notes that an earlier instance left this generation under the current file's name.
    pub fn left(&self, generation: u32) {
        self.0.left.set(Some(generation));
    }

    /// Creates missing reserves. If there is no room, removes released generations.
    ///
    /// # Errors
    /// When a file operation fails for a reason other than lack of space.
    pub async fn replenish(&self) -> Result<(), EngineError> {
        loop {
            self.0.reserves.replenish().await?;
            let spare = match self.0.reserves.is_low() {
                true => self.0.spares.borrow_mut().pop_front(),
                false => None,
            };
            let Some(spare) = spare else { return Ok(()) };
            let path = self.archived_path(spare);
            match self.0.world.volume.remove(&path).await {
                Ok(()) | Err(VolumeError::NotFound) => {}
                Err(error) => return Err(name_error(&path)(error)),
            }
        }
    }

    /// Checks that the volume has room for more log than an orderly shutdown needs. If it had none
    /// before, checks the volume again.
    ///
    /// # Errors
    /// [`EngineError::LogDiskFull`] when it has none; when a file operation fails.
    pub async fn check_room(&self) -> Result<(), EngineError> {
        if self.0.reserves.is_low() {
            self.replenish().await?;
        }
        match self.0.reserves.is_low() {
            true => Err(self.full()),
            false => Ok(()),
        }
    }

    /// Whether only open transactions may continue.
    pub fn is_low(&self) -> bool {
        self.0.reserves.is_low()
    }

    fn full(&self) -> EngineError {
        let why = self.0.reserves.lacks().unwrap_or(Environment::NoSpace);
        EngineError::LogDiskFull(self.0.place.directory.clone(), why)
    }

    /// The time of day.
    pub fn stamp(&self) -> Stamp {
        let elapsed = self.0.world.clock.now().0.div_euclid(1_000_000);
        Stamp::from_unix_millis(self.0.place.epoch_ms + elapsed)
    }

    /// Makes `generation` the current one. The previous one, if any, is renamed to its number.
    ///
    /// # Errors
    /// When a file cannot be created, written or renamed. The stream cannot continue then.
    pub async fn roll(&self, generation: u32) -> Result<Rolled, EngineError> {
        let asked = self.0.world.clock.now();
        self.used(self.0.place.shape.file_bytes());
        let waiting = self.0.next.borrow_mut().take();
        let is_first = waiting.is_none();
        let prepared = match waiting {
            Some(task) => task.await?,
            None => self.clone().prepare(generation).await?,
        };
        let ready = self.0.world.clock.now();
        let (current, archived) = (self.current_path(), self.archived_path(generation - 1));
        match self.0.world.volume.rename(&current, &archived).await {
            Ok(()) => {
                self.0.left.set(None);
                self.sync_directory().await?;
            }
            Err(VolumeError::NotFound) => {}
            Err(error) => return Err(name_error(&current)(error)),
        }
        let next = self.next_path();
        self.0.world.volume.rename(&next, &current).await.map_err(name_error(&next))?;
        self.sync_directory().await?;
        if let Some(former) = self.0.current.replace(Some(prepared.file)) {
            self.0.world.volume.close(former).await.map_err(name_error(&archived))?;
        }
        self.0.created.set(prepared.created);
        self.0.used.set(LOG_HEADER_BYTES);
        let ahead = self.clone().prepare(generation + 1);
        *self.0.next.borrow_mut() = Some(self.0.world.spawner.spawn(ahead));
        if !is_first {
            self.meter_roll(ready - asked, self.0.world.clock.now() - asked);
        }
        Ok(Rolled { generation, file: prepared.file })
    }

    /// The roll that starts a stream is not counted: its file cannot have been prepared.
    fn meter_roll(&self, waited: Span, whole: Span) {
        let (meters, number) = (&self.0.meters, self.0.place.number);
        meters.log(number, |log| &mut log.roll_waits, 0, waited);
        meters.log(number, |log| &mut log.rolls, 0, whole);
    }

    /// `bytes` of the current file are used; formatting of the next one may catch up.
    pub fn used(&self, bytes: usize) {
        self.0.used.set(bytes);
        self.0.moved.notify();
    }

    /// Releases the generations before `oldest`, which recovery no longer needs. Keeps `keep` of
    /// them as next files and removes the others.
    ///
    /// # Errors
    /// When the directory cannot be read or a file cannot be removed.
    pub async fn give_up_before(&self, oldest: u32, keep: usize) -> Result<(), EngineError> {
        let given_up = self.0.given_up.replace(oldest.max(self.0.given_up.get()));
        let archived = self.archived().await?;
        let now = archived.into_iter().filter(|generation| (given_up..oldest).contains(generation));
        self.0.spares.borrow_mut().extend(now);
        loop {
            let excess = {
                let mut spares = self.0.spares.borrow_mut();
                (spares.len() > keep).then(|| spares.pop_front()).flatten()
            };
            let Some(generation) = excess else {
                return Ok(());
            };
            let path = self.archived_path(generation);
            let removed = self.0.world.volume.remove(&path).await;
            removed.map_err(name_error(&path))?;
        }
    }

    /// The numbers of older generations, ascending.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub async fn archived(&self) -> Result<Vec<u32>, EngineError> {
        let directory = &self.0.place.directory;
        let names = self.0.world.volume.list(directory).await.map_err(name_error(directory))?;
        let mut generations: Vec<u32> =
            names.iter().filter_map(|name| generation_of(&self.0.place.base, name)).collect();
        generations.sort_unstable();
        Ok(generations)
    }

    /// Closes the current file and removes the next one. The stream must be closed.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub async fn close(&self) -> Result<(), EngineError> {
        self.used(self.0.place.shape.file_bytes());
        let waiting = self.0.next.borrow_mut().take();
        // A next file for which there was no room is not missed.
        let prepared = match waiting {
            Some(task) => match task.await {
                Err(error) if error.is_full() => None,
                prepared => Some(prepared?),
            },
            None => None,
        };
        if let Some(prepared) = prepared {
            let path = self.next_path();
            self.0.world.volume.close(prepared.file).await.map_err(name_error(&path))?;
            self.0.world.volume.remove(&path).await.map_err(name_error(&path))?;
        }
        if let Some(current) = self.0.current.take() {
            self.0.world.volume.close(current).await.map_err(name_error(&self.current_path()))?;
        }
        Ok(())
    }

    async fn sync_directory(&self) -> Result<(), EngineError> {
        let directory = &self.0.place.directory;
        self.0.world.volume.sync_directory(directory).await.map_err(name_error(directory))
    }

    /// Formats the next file while the current one fills up.
    async fn prepare(self, generation: u32) -> Result<Prepared, EngineError> {
        let path = self.next_path();
        match self.0.world.volume.remove(&path).await {
            Ok(()) | Err(VolumeError::NotFound) => {}
            Err(error) => return Err(name_error(&path)(error)),
        }
        let mut obtained = self.obtain().await;
        let file = loop {
            let failed = match obtained {
                Err(error) => error,
                Ok(file) => match self.fill(file, &path).await {
                    Ok(()) => break file,
                    Err(error) => {
                        // Close it first: an open file would keep its space.
                        let closed = self.0.world.volume.close(file).await;
                        closed.map_err(name_error(&path))?;
                        error
                    }
                },
            };
            obtained = match failed.environment().filter(|why| why.is_full()) {
                Some(why) => Ok(self.take_reserve(why).await?),
                None => return Err(failed),
            };
        };
        let created = self.stamp();
        let header =
            self.header(generation, created).to_bytes().expect("our logs list no attachments");
        let segment = C::outgoing(&self.0.world.frames, &header);
        write_through(&self.0.world, Class::LogFormat, file, 0, segment)
            .await
            .map_err(file_error(&path))?;
        self.sync(file, &path).await?;
        Ok(Prepared { file, created })
    }

    /// Obtains the next file: a released generation, or a new one.
    async fn obtain(&self) -> Result<FileId, EngineError> {
        let spare = self.0.spares.borrow_mut().pop_front();
        let reused = match spare {
            Some(spare) => self.reuse(spare).await?,
            None => None,
        };
        match reused {
            Some(file) => Ok(file),
            None => self.create().await,
        }
    }

    /// Turns a reserve into the next file when there is no room for a new one.
    async fn take_reserve(&self, why: Environment) -> Result<FileId, EngineError> {
        let path = self.next_path();
        match self.0.world.volume.remove(&path).await {
            Ok(()) | Err(VolumeError::NotFound) => {}
            Err(error) => return Err(name_error(&path)(error)),
        }
        let number = self.0.place.number;
        let meters = &self.0.meters;
        meters.with(|meters| meters.logs[usize::from(number)].reserves.tick());
        let taken = self.0.reserves.take(&path, why).await?;
        taken.ok_or_else(|| self.full())
    }

    /// Turns the released generation `spare` into the next file. `None` when it is gone or has
    /// another length.
    async fn reuse(&self, spare: u32) -> Result<Option<FileId>, EngineError> {
        let volume = &self.0.world.volume;
        let (path, former) = (self.next_path(), self.archived_path(spare));
        match volume.rename(&former, &path).await {
            Ok(()) => self.sync_directory().await?,
            Err(VolumeError::NotFound) => return Ok(None),
            Err(error) => return Err(name_error(&former)(error)),
        }
        let named = name_error(&path);
        let file = volume.open(&path, OpenMode::Write).await.map_err(&named)?;
        if volume.length(file).await.map_err(&named)? == self.0.place.shape.file_bytes() as u64 {
            return Ok(Some(file));
        }
        volume.close(file).await.map_err(&named)?;
        volume.remove(&path).await.map_err(&named)?;
        Ok(None)
    }

    /// Creates the next file and allocates its space.
    async fn create(&self) -> Result<FileId, EngineError> {
        let volume = &self.0.world.volume;
        let path = self.next_path();
        let named = name_error(&path);
        let file = volume.open(&path, OpenMode::CreateNew);
        let file = file.await.map_err(&named)?;
        let length = self.0.place.shape.file_bytes() as u64;
        let allocated = volume.allocate(file, length).await;
        if allocated.is_err() {
            volume.close(file).await.map_err(&named)?;
        }
        allocated.map_err(&named)?;
        // Otherwise a torn first write could leave less than a block, which would be refused as a
        // foreign file.
        self.sync(file, &path).await?;
        Ok(file)
    }

    async fn sync(&self, file: FileId, path: &Path) -> Result<(), EngineError> {
        let sync = Io::sync(Class::LogFormat, file);
        let synced = self.0.world.disk.submit(sync).await;
        synced.result.map_err(file_error(path))
    }

    async fn fill(&self, file: FileId, path: &Path) -> Result<(), EngineError> {
        let length = self.0.place.shape.file_bytes() as u64;
        let chunk = self.0.place.format_chunk.min(length);
        let pattern = vec![FILL; usize::try_from(chunk).expect("a chunk")];
        let mut done = 0;
        while done < length {
            let bytes = self
                .0
                .moved
                .wait(|| {
                    let bytes = format_now(length, self.0.used.get() as u64, done, chunk);
                    (bytes > 0).then_some(bytes)
                })
                .await;
            let piece = &pattern[..usize::try_from(bytes).expect("a chunk")];
            let segments = Segments::from_buf([C::outgoing(&self.0.world.frames, piece)]);
            let io = Io::new(Class::LogFormat, Op::Write, file, done, segments);
            let written = self.0.world.disk.submit(io).await;
            self.0.meters.log(self.0.place.number, |log| &mut log.format, bytes, written.latency());
            written.result.map_err(file_error(path))?;
            done += bytes;
        }
        Ok(())
    }

    fn header(&self, generation: u32, created: Stamp) -> LogHeader {
        let place = &self.0.place;
        LogHeader {
            generation,
            segment_size: place.shape.segment_size(),
            segments: u16::try_from(place.shape.segments()).expect("segments have 16-bit numbers"),
            page_size: place.page_size,
            created,
            previous_created: self.0.created.get(),
            signature: place.signature,
            checkpoint: LogPosition::default(),
            attachments: Vec::new(),
        }
    }
}
