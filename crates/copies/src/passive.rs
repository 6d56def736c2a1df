//! A passive copy: it receives logs, replays them, and is activated.
//!
//! ```text
//!   receive   connection --> Intake --> log folder, acknowledged          one task, ends with the connection
//!   follow    log folder --> Replayer --> databases, checkpoint           one task, ends when the copy stops
//!   activate  stop, replay to the end or to a chosen log, serve
//! ```
//!
//! Both tasks are the caller's. They share the copy's numbers: the newest log closed at the active,
//! stored here, replayed here. After a crash or a restart the same folder is opened again; what was
//! acknowledged is there.
//!
//! A log is replayed when it is `lag` old by the date in its last segment, so a restart does not
//! shorten the wait. Until then it is in the folder alone: a restart does not replay it either
//! ([`Replayer::open_copy`]).
//!
//! Background maintenance reads the databases as on an active, from the first replay on.
//!
//! An activation at a chosen log replays up to it and puts the later ones aside
//! (`edb0000A-aside1.log`): they are another history from then on. A former active is opened like
//! any copy. When it has log that the new history lacks, the active says so at the first message
//! ([`crate::wire::Refusal::Diverged`]), and a new seed is the way out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::content::Bytes;
use brunt_ese::error::{EngineError, name_error};
use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::format::stamp::Signature;
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::instance::{Instance, InstanceOptions, Replayer, database};
use brunt_ese::log::reader::Generation;
use brunt_ese::maintenance::{Findings, Maintenance};
use brunt_ese::meter::MeterBoard;
use brunt_ese::policy::scan::Throttle;
use brunt_units::{Span, Time};
use brunt_world::messages::Sender;
use brunt_world::sync::{Alarm, Event};
use brunt_world::{Class, SocketId, World};

use crate::asking::Asking;
use crate::error::CopyError;
use crate::files;
use crate::intake::Intake;
use crate::queues::Queues;
use crate::repair::Repairs;
use crate::wire::Want;

/// Logs that a copy without a lag begins at once.
pub const AHEAD: u32 = 16;
/// How often it looks what background maintenance has found.
const LOOK: Span = Span::seconds(1);

/// How a copy is kept.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Its folders and files, as for the instance that it becomes. The folders exist, the databases
    /// as well.
    pub instance: InstanceOptions,
    pub cache: CacheOptions,
    /// How old a log must be before it is replayed.
    pub lag: Span,
    /// The pace of background maintenance; `None` for none.
    pub maintenance: Option<Throttle>,
}

/// A passive copy. A clone is another handle.
pub struct PassiveCopy(pub(crate) Rc<Inner>);

impl Clone for PassiveCopy {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

pub(crate) struct Inner {
    pub(crate) world: World,
    pub(crate) options: CopyOptions,
    meters: Rc<MeterBoard>,
    pub(crate) intake: RefCell<Intake>,
    pub(crate) replayer: RefCell<Option<Replayer>>,
    /// The cache of the replayer.
    cache: RefCell<Option<Cache<Bytes>>>,
    /// The newest generation that databases need to be consistent.
    pub(crate) needed: Cell<u32>,
    queues: Cell<Queues>,
    /// The checkpoint moves when this generation is replayed.
    checkpoint_at: Cell<u32>,
    /// A stored generation, and when it is old enough.
    due: Cell<Option<(u32, Time)>>,
    pub(crate) connection: Cell<Option<SocketId>>,
    /// Tasks in [`PassiveCopy::receive`] and [`PassiveCopy::follow`].
    busy: Cell<u32>,
    pub(crate) stopping: Cell<bool>,
    pub(crate) changed: Event,
    pub(crate) failure: RefCell<Option<CopyError>>,
    /// The scans of the databases, in their order, if there is background maintenance.
    pub(crate) scans: Vec<Maintenance>,
    /// Requests for pages of the active.
    pub(crate) asking: Asking,
    /// Requests of the active that are not answered.
    pub(crate) wants: RefCell<Vec<(Sender, Want)>>,
    pub(crate) repairs: Repairs,
}

/// Whether there is something to replay.
pub(crate) enum Step {
    Replayed,
    Waits(Option<Time>),
}

/// What headers of databases say.
#[derive(Default)]
struct Wants {
    stream: Option<Signature>,
    /// The first generation that is needed, if there are no logs.
    first: u32,
    /// The newest one that is needed.
    highest: u32,
    /// The newest one that was begun.
    begun: u32,
}

impl Wants {
    fn add(&mut self, header: &DatabaseHeader) {
        let is_clean = header.state == DatabaseState::Clean;
        let newest = header.committed.max(header.required.highest);
        let (first, begun) = match is_clean {
            true => (header.consistent.generation + 1, header.consistent.generation),
            false => (header.required.lowest.max(1), newest),
        };
        self.first = match self.first {
            0 => first,
            known => known.min(first),
        };
        self.begun = self.begun.max(begun);
        if !is_clean {
            self.highest = self.highest.max(newest);
        }
        let stream = header.log_signature;
        self.stream = self.stream.or(stream.is_some().then_some(stream));
    }
}

impl PassiveCopy {
    /// Opens the files of a copy, of a seed, or of a former active. Replays nothing yet.
    ///
    /// # Errors
    /// When a file is foreign, missing or cannot be read.
    pub async fn open(world: &World, options: CopyOptions) -> Result<Self, CopyError> {
        let mut wants = Wants::default();
        for path in &options.instance.databases {
            let page = options.instance.page_size;
            let found = database::open(world, path, page).await?;
            wants.add(&found.header);
            let closed = world.volume.close(found.file).await;
            closed.map_err(name_error(path))?;
        }
        let (directory, shape) = (&options.instance.log_directory, options.instance.log);
        let intake = Intake::open(world, directory, shape, wants.stream, wants.first).await?;
        let stored = intake.next() - 1;
        let queues = Queues { closed: stored, stored, replayed: wants.begun.min(stored) };
        let databases = options.instance.databases.len();
        let scans = options.maintenance.map(|throttle| {
            let (size, now) = (options.instance.page_size, world.clock.now());
            let each = (0..databases).map(|_| Maintenance::new(throttle, size, now));
            each.collect()
        });
        Ok(Self(Rc::new(Inner {
            world: world.clone(),
            meters: Rc::new(MeterBoard::new(databases, 1 + usize::from(options.instance.number))),
            options,
            intake: RefCell::new(intake),
            replayer: RefCell::default(),
            cache: RefCell::default(),
            needed: Cell::new(wants.highest),
            queues: Cell::new(queues),
            checkpoint_at: Cell::new(0),
            due: Cell::new(None),
            connection: Cell::new(None),
            busy: Cell::new(0),
            stopping: Cell::new(false),
            changed: Event::new(world.spawner.tasks()),
            failure: RefCell::default(),
            scans: scans.unwrap_or_default(),
            asking: Asking::new(world),
            wants: RefCell::default(),
            repairs: Repairs::default(),
        })))
    }

    /// How far it is.
    pub fn queues(&self) -> Queues {
        self.0.queues.get()
    }

    /// The earliest log that it can be activated at: its databases may have changes of this one.
    pub fn earliest(&self) -> u32 {
        // A page that came from the active may be newer than what has been replayed.
        self.queues().replayed.max(self.0.needed.get())
    }

    /// The meters of its cache.
    pub fn meters(&self) -> &Rc<MeterBoard> {
        &self.0.meters
    }

    /// What background maintenance has found in each database; nothing without it.
    pub fn findings(&self) -> Vec<Findings> {
        self.0.scans.iter().map(Maintenance::findings).collect()
    }

    /// The error that ended its replay, or made it refuse its active for good.
    pub fn failure(&self) -> Option<CopyError> {
        self.0.failure.borrow().clone()
    }

    /// Lets [`Self::receive`] and [`Self::follow`] end.
    pub fn stop(&self) {
        self.0.stopping.set(true);
        self.0.asking.end();
        if let Some(connection) = self.0.connection.get() {
            self.0.world.net.close(connection);
        }
        self.0.changed.notify();
    }

    /// Replays logs as they become due, until the copy stops.
    ///
    /// # Errors
    /// Those of [`Replayer::feed`]. The copy can be opened again.
    pub async fn follow(&self) -> Result<(), CopyError> {
        let _busy = self.enter();
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        let clock = Rc::clone(&self.0.world.clock);
        while !self.0.stopping.get() {
            // Logs may arrive during the step.
            let (stored, wants) = (self.queues().stored, self.0.wants.borrow().len());
            let step = match self.step().await {
                Err(error) => self.after(error).await,
                step => step,
            };
            let step = step.inspect_err(|error| {
                self.0.failure.borrow_mut().get_or_insert(error.clone());
            })?;
            let Step::Waits(until) = step else { continue };
            let look = (!self.0.scans.is_empty()).then(|| clock.now() + LOOK);
            let until = until.into_iter().chain(look).min();
            let waited = || {
                let now = clock.now();
                let is_due = until.is_some_and(|until| now >= until);
                if let Some(until) = until.filter(|_| !is_due) {
                    alarm.set(now, until);
                }
                let is_more = self.queues().stored > stored || self.0.wants.borrow().len() > wants;
                (is_due || self.0.stopping.get() || is_more).then_some(())
            };
            self.0.changed.wait(waited).await;
        }
        Ok(())
    }

    /// Replays the next log, if it is there and old enough.
    async fn step(&self) -> Result<Step, CopyError> {
        let Queues { stored, .. } = self.queues();
        if self.0.replayer.borrow().is_none() {
            // Without a log, the stream is not known.
            if self.0.intake.borrow().last().is_none() || stored < self.0.needed.get() {
                return Ok(Step::Waits(None));
            }
            self.open_replayer().await?;
            self.check_repaired().await?;
        }
        self.answer_wants().await;
        if self.repair_scanned().await? {
            return Ok(Step::Replayed);
        }
        let next = self.queues().replayed + 1;
        if next > stored {
            return Ok(Step::Waits(None));
        }
        if self.0.options.lag > Span::ZERO {
            let due = self.due(next).await?;
            if due > self.0.world.clock.now() {
                return Ok(Step::Waits(Some(due)));
            }
        }
        let begun = self.0.replayer.borrow().as_ref().map_or(0, Replayer::begun);
        // A lagged copy begins none before it is due.
        if begun < next && self.0.options.lag == Span::ZERO {
            let ahead = self.queues().replayed.saturating_add(AHEAD);
            self.begin(stored.min(ahead)).await?;
        }
        self.feed(next).await?;
        Ok(Step::Replayed)
    }

    async fn open_replayer(&self) -> Result<(), CopyError> {
        let Inner { world, options, .. } = &*self.0;
        let cache = Cache::new(world, options.cache.clone(), Rc::clone(&self.0.meters));
        let mut replayer = Replayer::open_copy(world, &cache, options.instance.clone()).await?;
        *self.0.cache.borrow_mut() = Some(cache);
        if let Err(error) = replayer.catch_up().await {
            self.leave(replayer).await;
            return Err(error.into());
        }
        for (database, scan) in (0..).zip(&self.0.scans) {
            replayer.maintain(database, scan);
        }
        let replayed = replayer.next() - 1;
        *self.0.replayer.borrow_mut() = Some(replayer);
        self.note(|queues| queues.replayed = replayed.min(queues.stored));
        self.plan_checkpoint();
        Ok(())
    }

    /// Takes note in the databases that logs up to `newest` are being replayed: in one write for
    /// all of them.
    async fn begin(&self, newest: u32) -> Result<(), CopyError> {
        let mut replayer = self.take_replayer();
        let begun = replayer.begin(newest).await;
        *self.0.replayer.borrow_mut() = Some(replayer);
        Ok(begun?)
    }

    async fn feed(&self, generation: u32) -> Result<(), CopyError> {
        let mut replayer = self.take_replayer();
        match self.feed_to(&mut replayer, generation).await {
            Ok(()) => {
                *self.0.replayer.borrow_mut() = Some(replayer);
                Ok(())
            }
            Err(error) => {
                // It stands within a log, and only a new one can replay that from its beginning.
                self.leave(replayer).await;
                Err(error.into())
            }
        }
    }

    /// Leaves the databases as they are on disk; the next replayer begins as after a crash.
    pub(crate) async fn leave(&self, replayer: Replayer) {
        let cache = self.0.cache.borrow_mut().take();
        if let Some(cache) = &cache {
            cache.halt();
        }
        // Whoever leaves it has a better reason than a file that cannot be closed.
        let _ = replayer.abandon().await;
        if let Some(cache) = cache {
            cache.close();
        }
    }

    pub(crate) fn take_replayer(&self) -> Replayer {
        let taken = self.0.replayer.borrow_mut().take();
        taken.expect("it is open, and has one user")
    }

    async fn feed_to(&self, replayer: &mut Replayer, generation: u32) -> Result<(), EngineError> {
        replayer.feed(generation).await?;
        self.note(|queues| queues.replayed = generation);
        if generation >= self.0.checkpoint_at.get() {
            replayer.move_checkpoint().await?;
            self.plan_checkpoint();
        }
        Ok(())
    }

    /// The checkpoint follows at the depth of the instance, in whole logs.
    fn plan_checkpoint(&self) {
        let logs = self.0.options.instance.checkpoint_logs();
        let replayed = self.queues().replayed;
        self.0.checkpoint_at.set(replayed.saturating_add(logs));
    }

    /// When a stored log is old enough.
    async fn due(&self, generation: u32) -> Result<Time, CopyError> {
        if let Some((known, due)) = self.0.due.get()
            && known == generation
        {
            return Ok(due);
        }
        let Inner { world, options, .. } = &*self.0;
        let path = files::archived(&options.instance.log_directory, generation);
        let bytes = files::read_log(world, Class::Recovery, &path, u64::MAX).await?;
        let bytes = bytes.ok_or_else(|| EngineError::LogMissing(path.clone()))?;
        let log =
            Generation::read(&bytes).map_err(|error| EngineError::LogHeader { path, error })?;
        let written = log.written.to_unix_millis().unwrap_or(0);
        let since_start = written.saturating_sub(options.instance.epoch_ms);
        let due = Time::ZERO + Span::millis(since_start) + options.lag;
        self.0.due.set(Some((generation, due)));
        Ok(due)
    }

    /// Ends the copy's life as a copy: waits for its tasks, replays every stored log, or those up
    /// to generation `last`, undoes transactions without a commit, and starts to write a log of its
    /// own.
    ///
    /// # Errors
    /// [`CopyError::Incomplete`], [`CopyError::Passed`], [`CopyError::NotStored`]: nothing was
    /// changed. Those of recovery: the copy can be opened again.
    pub async fn activate(
        self,
        last: Option<u32>,
    ) -> Result<(Instance<Bytes>, RecoveryReport), CopyError> {
        self.rest().await;
        let (stored, replayed) = (self.queues().stored, self.earliest());
        let needed = self.0.needed.get();
        if stored < needed {
            return Err(CopyError::Incomplete { needed, stored });
        }
        let wanted = last.unwrap_or(stored);
        if wanted < replayed {
            return Err(CopyError::Passed { wanted, replayed });
        }
        if wanted > stored {
            return Err(CopyError::NotStored { wanted, stored });
        }
        if self.0.replayer.borrow().is_none() {
            self.open_replayer().await?;
        }
        // Those that were begun and are not wanted must not be needed when they are put aside.
        self.begin(wanted).await?;
        while self.queues().replayed < wanted {
            self.feed(self.queues().replayed + 1).await?;
        }
        if wanted < stored {
            let directory = &self.0.options.instance.log_directory;
            files::put_aside(&self.0.world, directory, wanted + 1..=stored).await?;
        }
        let replayer = self.0.replayer.borrow_mut().take();
        Ok(replayer.expect("it is open").finish().await?)
    }

    /// Ends the copy's tasks and leaves its files for the next open.
    ///
    /// # Errors
    /// When the checkpoint cannot be written. The files can be opened nevertheless.
    pub async fn close(self) -> Result<(), CopyError> {
        self.rest().await;
        let replayer = self.0.replayer.borrow_mut().take();
        let cache = self.0.cache.borrow_mut().take();
        if let Some(replayer) = replayer {
            replayer.close().await?;
        }
        if let Some(cache) = cache {
            cache.close();
        }
        Ok(())
    }

    /// Stops, and waits for the tasks.
    async fn rest(&self) {
        self.stop();
        let busy = &self.0.busy;
        self.0.changed.wait(|| (busy.get() == 0).then_some(())).await;
    }

    pub(crate) fn note(&self, change: impl FnOnce(&mut Queues)) {
        let mut queues = self.0.queues.get();
        change(&mut queues);
        self.0.queues.set(queues);
        self.0.changed.notify();
    }

    pub(crate) fn enter(&self) -> Busy {
        self.0.busy.set(self.0.busy.get() + 1);
        Busy(self.clone())
    }
}

/// A task of a copy.
pub(crate) struct Busy(PassiveCopy);

impl Drop for Busy {
    fn drop(&mut self) {
        let inner = &self.0.0;
        inner.busy.set(inner.busy.get() - 1);
        inner.changed.notify();
    }
}
