//! The buffer manager: pages in memory, and the I/O that reads and writes them.
//!
//! One cache serves all databases of a server; each database belongs to an instance with its own
//! log stream.
//!
//! ```text
//!   free --read or claim--> resident --change--> dirty --write--> writing --done--> resident --evict--> free
//!                              ^                              (a change meanwhile goes to a copy)
//! ```
//!
//! * `databases`: the databases whose pages are cached.
//! * `frames`: the table of frames.
//! * `read`: finding and reading pages, stalls.
//! * `preread`: reading pages ahead.
//! * `mend`: repairing bad pages from copies of the database.
//! * `past`: reading pages without caching them.
//! * `write`: writing runs of pages, after their log.
//! * `clean`: keeping frames available.
//! * `view`: pages as the trees see them.
//!
//! Invariants: a page is written only when its newest log record is durable; there are never two
//! writes of a page in flight; the checkpoint *needs* a log position until a sync submitted after
//! the page's write completed has itself completed; a pinned page is not evicted.

mod clean;
mod databases;
mod flush_memory;
mod frames;
mod mend;
mod past;
mod preread;
mod read;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub use databases::NewDatabase;
pub use flush_memory::FlushMemory;
pub(crate) use past::{OnDisk, Reader};
pub use read::{Pin, Trust};
pub use view::CachedPages;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::{Rc, Weak};

use brunt_units::{DatabaseTime, LogPosition, PageNumber, PageSize, Span, Time};
use brunt_world::sync::{Alarm, Event, Limit};
use brunt_world::{IoError, World};

use crate::content::Content;
use crate::error::{EngineError, PageFault};
use crate::log::{Appended, WriteAhead};
use crate::meter::MeterBoard;
use crate::patch::{Copies, Patch};
use crate::policy::PINS_CHANGING;
use crate::policy::available::{Available, Freeing, START_PERCENT, STOP_PERCENT};
use crate::policy::coalesce::Run;
use crate::policy::dirty::DirtyOrder;
use crate::policy::preread::IN_FLIGHT;
use databases::Databases;
pub(crate) use frames::KeyHasher;
use frames::{FrameTable, Phase};

/// Identifies a page within a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageKey {
    /// The database's number in the cache.
    pub database: u8,
    pub page: PageNumber,
}

impl PageKey {
    fn to_u64(self) -> u64 {
        u64::from(self.database) << 32 | u64::from(self.page.0)
    }
}

#[derive(Clone, Debug)]
pub struct CacheOptions {
    /// Size of every page of every database.
    pub page_size: PageSize,
    /// Maximum number of frames.
    pub frames: u32,
    /// Frames whose memory is allocated at once.
    pub frames_min: u32,
    /// Freeing is urgent when this share of all frames or less is free, in percent.
    pub start_percent: u32,
    /// Freeing ends at this share, in percent.
    pub stop_percent: u32,
    /// Pacing of writes that free frames.
    pub freeing: Freeing,
    /// Maximum bytes of one coalesced read or write.
    pub coalesce_bytes: u64,
    /// Maximum bytes of clean pages in a write, or of unwanted pages in a read, to join two runs.
    pub gap_bytes: u64,
    /// Maximum writes in flight per database: a burst of them would delay every read.
    pub writes_max: usize,
    /// Maximum reads in flight per database during recovery.
    pub recovery_reads: u32,
    /// References within this interval count as one.
    pub correlation: Span,
    /// LRU-K timeout; see [`crate::policy::replacement::LruK::timeout`].
    pub timeout: Span,
    /// How far the free space of new pages compresses, in percent; `None` for zeros. See
    /// [`crate::page::Remains`].
    pub remains_percent: Option<u32>,
}

impl CacheOptions {
    /// ESE's defaults for a cache of `frames` pages of `page_size`.
    ///
    /// Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx (LRU-K
    /// times), dev/ese/src/inc/daeconst.hxx (coalescing) and dev/ese/src/os/osdisk.cxx (writes:
    /// half of 1,024 I/Os in flight).
    pub fn new(page_size: PageSize, frames: u32) -> Self {
        Self {
            page_size,
            frames,
            frames_min: 0,
            start_percent: START_PERCENT,
            stop_percent: STOP_PERCENT,
            freeing: Freeing::TRICKLE,
            coalesce_bytes: 512 << 10,
            gap_bytes: 0,
            writes_max: 512,
            recovery_reads: IN_FLIGHT,
            correlation: Span::millis(128),
            timeout: Span::seconds(100),
            remains_percent: None,
        }
    }
}

/// State shared by the databases of one log stream.
struct CachedInstance {
    /// Dirty frames by their oldest log position, which each frame also has.
    dirty: DirtyOrder,
    /// Whether the log is being flushed for pages to evict.
    hastening: bool,
    /// A write of one of its pages ended.
    write_ended: Event,
}

struct State<C: Content> {
    page_size: PageSize,
    frames: FrameTable<C>,
    databases: Databases,
    instances: Vec<CachedInstance>,
    /// Frames that will be free when their writes end.
    coming_free: u32,
    /// Number of those writes.
    freeing_writes: u32,
    freeing: bool,
    /// [`FrameTable::changes`] when a reader last searched for a frame and found none.
    searched_in_vain: Option<u64>,
    next_write: u64,
    /// Reads past the cache in flight.
    watches: Vec<Weak<past::Watch>>,
    /// Pages whose repair is being written.
    mending: BTreeSet<PageKey>,
}

struct Inner<C: Content> {
    world: World,
    options: CacheOptions,
    available: Available,
    meters: Rc<MeterBoard>,
    state: RefCell<State<C>>,
    failure: RefCell<Option<EngineError>>,
    /// How many reads of several pages failed, and the first error. Each page is then read alone,
    /// perhaps with success.
    failed_runs: RefCell<(u64, Option<EngineError>)>,
    /// Writes that failed: the database, and the pages whose content on disk is unknown.
    failed_writes: RefCell<Vec<(u8, Run)>>,
    /// Copies to ask for bad pages.
    copies: RefCell<Option<Rc<dyn Copies>>>,
    /// Outcomes of those requests.
    patches: RefCell<Vec<Patch>>,
    closing: Cell<bool>,
    /// A page arrived, a write ended, a frame became free.
    progress: Event,
    write_ended: Event,
    /// The cleaner has something to check.
    demand: Event,
    /// Permits for operations that pin pages while they wait for others.
    operations: Limit,
}

/// The buffer manager. Cloning gives another handle.
pub struct Cache<C: Content>(Rc<Inner<C>>);

impl<C: Content> Clone for Cache<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C: Content> State<C> {
    fn oldest_unwritten(&self, instance: u8) -> Option<LogPosition> {
        let dirty =
            self.instances.get(usize::from(instance)).and_then(|instance| instance.dirty.oldest());
        let own = self.databases.iter().filter(|database| database.instance == instance);
        let flying = own.flat_map(|database| database.flying.values().copied());
        flying.chain(dirty).min()
    }
}

impl<C: Content> Cache<C> {
    /// An empty cache with a running cleaner.
    pub fn new(world: &World, options: CacheOptions, meters: Rc<MeterBoard>) -> Self {
        let tasks = world.spawner.tasks();
        let frames = FrameTable::new(world, &options);
        let operations = options.frames.div_euclid(PINS_CHANGING);
        let page_size = options.page_size;
        let cache = Self(Rc::new(Inner {
            available: Available::new(options.frames, options.start_percent, options.stop_percent),
            world: world.clone(),
            options,
            meters,
            state: RefCell::new(State {
                page_size,
                frames,
                databases: Databases::default(),
                instances: Vec::new(),
                coming_free: 0,
                freeing_writes: 0,
                freeing: false,
                searched_in_vain: None,
                next_write: 0,
                watches: Vec::new(),
                mending: BTreeSet::new(),
            }),
            failure: RefCell::new(None),
            failed_runs: RefCell::default(),
            failed_writes: RefCell::default(),
            copies: RefCell::new(None),
            patches: RefCell::default(),
            closing: Cell::new(false),
            progress: Event::new(tasks),
            write_ended: Event::new(tasks),
            demand: Event::new(tasks),
            operations: Limit::new(tasks, operations.max(1) as usize),
        }));
        drop(world.spawner.spawn(cache.clone().run_cleaner()));
        cache
    }

    /// Adds a database and returns its number.
    pub fn add_database(&self, new: NewDatabase) -> u8 {
        let mut state = self.0.state.borrow_mut();
        while state.instances.len() <= usize::from(new.instance) {
            state.instances.push(CachedInstance {
                dirty: DirtyOrder::default(),
                hastening: false,
                write_ended: Event::new(self.0.world.spawner.tasks()),
            });
        }
        state.databases.add(new)
    }

    /// Switches a database to another log.
    pub(crate) fn cover(&self, database: u8, log: Rc<dyn WriteAhead>) {
        self.with_database(database, |entry| entry.log = log);
    }

    /// Removes a database and its pages. Its number may be reused.
    ///
    /// # Panics
    /// When one of its pages is pinned, or differs from storage.
    pub fn remove_database(&self, database: u8) {
        let mut state = self.0.state.borrow_mut();
        assert!(state.databases[usize::from(database)].flying.is_empty(), "a write is in flight");
        for frame in 0..self.0.options.frames {
            let phase = state.frames.phase(frame);
            if phase != Phase::Free && state.frames.key(frame).database == database {
                assert_eq!(phase, Phase::Resident, "I/O of a page is in flight");
                assert!(!state.is_dirty(frame), "a page has not been written");
                state.frames.vacate(frame);
            }
        }
        state.databases.remove(database);
        drop(state);
        self.0.progress.notify();
    }

    /// Records that the log record at `appended` changed the pages `touched` of `database`, which
    /// now carry `time`.
    ///
    /// # Panics
    /// When one of them is not resident.
    pub fn changed(
        &self,
        database: u8,
        touched: &[PageNumber],
        appended: Appended,
        time: DatabaseTime,
    ) {
        let now = self.0.world.clock.now();
        let mut state = self.0.state.borrow_mut();
        let state = &mut *state;
        let entry = &mut state.databases[usize::from(database)];
        entry.time = entry.time.max(time);
        let order = &mut state.instances[usize::from(entry.instance)].dirty;
        for page in touched {
            let frame = state
                .frames
                .find(PageKey { database, page: *page })
                .expect("a changed page is resident");
            state.frames.set_last(frame, appended.end);
            if state.frames.oldest(frame).is_none() {
                state.frames.set_oldest(frame, Some(appended.start));
                order.insert(frame, appended.start);
            }
            state.frames.touch(frame, now);
        }
    }

    /// Sets the length of the file of `database`.
    pub fn set_pages(&self, database: u8, pages: u32) {
        self.with_database(database, |entry| entry.pages = pages);
    }

    /// Time of the latest change of `database`.
    pub fn time(&self, database: u8) -> DatabaseTime {
        self.0.state.borrow().databases[usize::from(database)].time
    }

    /// Advances the database's clock to `time`; never moves it back.
    pub fn advance_time(&self, database: u8, time: DatabaseTime) {
        let entry = &mut self.0.state.borrow_mut().databases[usize::from(database)];
        entry.time = entry.time.max(time);
    }

    /// The oldest log position that a dirty page, a write in flight or an unsynced write of
    /// `instance` still needs.
    pub fn oldest_needed(&self, instance: u8) -> Option<LogPosition> {
        let state = self.0.state.borrow();
        let own = state.databases.iter().filter(|database| database.instance == instance);
        let written =
            own.flat_map(|database| database.unsynced.into_iter().chain(database.syncing));
        written.chain(state.oldest_unwritten(instance)).min()
    }

    /// The oldest log position that a dirty page or a write in flight of `instance` needs, and that
    /// more writing would release.
    pub fn oldest_unwritten(&self, instance: u8) -> Option<LogPosition> {
        self.0.state.borrow().oldest_unwritten(instance)
    }

    /// Pages that differ from storage: dirty, or being written.
    pub fn unwritten(&self) -> u32 {
        let state = self.0.state.borrow();
        let dirty = state.instances.iter().map(|instance| instance.dirty.len());
        let flying = state.databases.iter().map(|database| database.flying.len());
        u32::try_from(dirty.chain(flying).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// The pages of `database` with unwritten changes, each with the position of the oldest one.
    pub(crate) fn unwritten_of(
        &self,
        database: u8,
    ) -> impl Iterator<Item = (PageNumber, LogPosition)> {
        let state = self.0.state.borrow();
        let own = (0..self.0.options.frames)
            .filter_map(|frame| Some((state.frames.key(frame), state.frames.oldest(frame)?)));
        let own: Vec<_> = own
            .filter(|(key, _)| key.database == database)
            .map(|(key, oldest)| (key.page, oldest))
            .collect();
        own.into_iter()
    }

    /// Wakes tasks that wait for a write to end, to check whether they should still wait.
    pub(crate) fn look_again(&self) {
        self.0.write_ended.notify();
        for instance in &self.0.state.borrow().instances {
            instance.write_ended.notify();
        }
    }

    /// Waits until a write of `instance` ends, which has a database here, or until `time`. May
    /// return early.
    pub(crate) async fn write_ended_by(&self, instance: u8, time: Time, alarm: &Alarm) {
        let event = self.0.state.borrow().instances[usize::from(instance)].write_ended.clone();
        self.wait_for(&event, time, alarm).await;
    }

    /// Waits for `event` or until `time`. May return early if the alarm was set to an earlier time.
    async fn wait_for(&self, event: &Event, time: Time, alarm: &Alarm) {
        let mut looked = false;
        let again = || {
            if std::mem::replace(&mut looked, true) {
                return Some(());
            }
            alarm.set(self.0.world.clock.now(), time);
            None
        };
        event.wait(again).await;
    }

    /// The changed map pages of `database` in their on-disk form: for each run its first map page
    /// and its bytes.
    pub fn take_flush_map(&self, database: u8) -> Vec<(u32, Vec<u8>)> {
        let mut state = self.0.state.borrow_mut();
        let entry = &mut state.databases[usize::from(database)];
        let dirty = entry.flush.take_dirty();
        dirty.into_iter().map(|run| (run.first.0, entry.flush.render(run, entry.time))).collect()
    }

    /// Permits to pin pages while waiting for others, as many as the frames allow.
    pub(crate) fn operations(&self) -> &Limit {
        &self.0.operations
    }

    /// Frames with a page, and their maximum while the free pool is full: how warm the cache is.
    pub fn resident(&self) -> (u32, u32) {
        let (frames, free) = (self.0.options.frames, self.0.state.borrow().frames.free());
        (frames - free, frames - self.0.available.stop)
    }

    pub fn page_size(&self) -> PageSize {
        self.0.options.page_size
    }

    /// The counters.
    pub fn meters(&self) -> &Rc<MeterBoard> {
        &self.0.meters
    }

    /// How many reads of several pages failed, and the first error. Each of their pages was read
    /// again alone.
    pub fn failed_runs(&self) -> (u64, Option<EngineError>) {
        self.0.failed_runs.borrow().clone()
    }

    /// The pages whose writes failed, by database. Their content on disk is unknown, and recovery
    /// rebuilds them from the log.
    pub fn failed_writes(&self) -> Vec<(PathBuf, Vec<PageNumber>)> {
        let failed = self.0.failed_writes.borrow();
        let each = failed.iter().map(|(database, run)| {
            let path = self.with_database(*database, |entry| entry.path.clone());
            (path, run.pages().collect())
        });
        each.collect()
    }

    fn note_failed_run(&self, database: u8, page: PageNumber, error: IoError) {
        let mut failed = self.0.failed_runs.borrow_mut();
        failed.0 += 1;
        failed.1.get_or_insert_with(|| EngineError::Page {
            database: self.with_database(database, |entry| entry.path.clone()),
            page,
            offset: page.offset(self.0.options.page_size),
            fault: PageFault::Device(error),
        });
    }

    /// The error that stopped the cache, if any.
    pub fn failure(&self) -> Option<EngineError> {
        self.0.failure.borrow().clone()
    }

    /// Stops the cleaner and frees the memory of all pages. The instances must be closed; no more
    /// pages are requested.
    pub fn close(&self) {
        self.halt();
        self.0.state.borrow_mut().frames.give_back();
    }

    /// Stops freeing frames: from now on pages are written only on request. Pages stay where they
    /// are.
    pub fn halt(&self) {
        self.0.closing.set(true);
        self.0.demand.notify();
    }

    fn fail(&self, error: EngineError) {
        self.0.failure.borrow_mut().get_or_insert(error);
        self.0.state.borrow_mut().frames.show_arrivals();
        self.0.progress.notify();
        self.0.demand.notify();
    }
}
