//! A passive copy: it receives logs, replays them, and is activated.
//!
//! ```text
//!   receive   connection --> Intake --> log folder, acknowledged          one task, ends with the connection
//!   follow    log folder --> Replayer --> databases, checkpoint           one task, ends when the copy stops
//!   activate  stop, replay to the end or to a chosen log, serve
//! ```
//!
//! Both tasks are the caller's. They share the copy's numbers: the newest log closed at the active, stored here, replayed here. After
//! a crash or a restart the same folder is opened again; what was acknowledged is there.
//!
//! A log is replayed when it is `lag` old by the date in its last segment, so a restart does not shorten the wait. Until then it is
//! in the folder alone: a restart does not replay it either ([`Replayer::open_copy`]).
//!
//! Background maintenance reads the databases as on an active, from the first replay on.
//!
//! An activation at a chosen log replays up to it and puts the later ones aside (`edb0000A-aside1.log`): they are another history
//! from then on. A former active is opened like any copy. When it has log that the new history lacks, the active says so at the first
//! message ([`crate::wire::Refusal::Diverged`]), and a new seed is the way out.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
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
use brunt_world::messages::{Receiver, Sender, messages};
use brunt_world::sync::{Alarm, Event};
use brunt_world::{Class, SocketId, Task, World};

use crate::error::CopyError;
use crate::files;
use crate::intake::{Intake, Tail};
use crate::queues::Queues;
use crate::wire::{Hello, LONGEST, Message, Refusal};

/// Logs that a copy without a lag begins at once.
pub const AHEAD: u32 = 16;
/// Longest silence of a copy towards its active.
const BEAT: Span = Span::seconds(5);

/// How a copy is kept.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Its folders and files, as for the instance that it becomes. The folders exist, the databases as well.
    pub instance: InstanceOptions,
    /// Its cache.
    pub cache: CacheOptions,
    /// How old a log must be before it is replayed.
    pub lag: Span,
    /// The pace of background maintenance; `None` for none.
    pub maintenance: Option<Throttle>,
}

/// A passive copy. A clone is another handle.
pub struct PassiveCopy(Rc<Inner>);

impl Clone for PassiveCopy {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

struct Inner {
    world: World,
    options: CopyOptions,
    meters: Rc<MeterBoard>,
    intake: RefCell<Intake>,
    replayer: RefCell<Option<Replayer>>,
    /// The newest generation that databases need to be consistent.
    needed: u32,
    queues: Cell<Queues>,
    /// The checkpoint moves when this generation is replayed.
    checkpoint_at: Cell<u32>,
    /// A stored generation, and when it is old enough.
    due: Cell<Option<(u32, Time)>>,
    connection: Cell<Option<SocketId>>,
    /// Tasks in [`PassiveCopy::receive`] and [`PassiveCopy::follow`].
    busy: Cell<u32>,
    stopping: Cell<bool>,
    changed: Event,
    failure: RefCell<Option<CopyError>>,
    /// The scans of the databases, in their order, if there is background maintenance.
    scans: Vec<Maintenance>,
}

/// Whether there is something to replay.
enum Step {
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
            true => (
                header.consistent.generation + 1,
                header.consistent.generation,
            ),
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
        let queues = Queues {
            closed: stored,
            stored,
            replayed: wants.begun.min(stored),
        };
        let databases = options.instance.databases.len();
        let scans = options.maintenance.map(|throttle| {
            let (size, now) = (options.instance.page_size, world.clock.now());
            let each = (0..databases).map(|_| Maintenance::new(throttle, size, now));
            each.collect()
        });
        Ok(Self(Rc::new(Inner {
            world: world.clone(),
            meters: Rc::new(MeterBoard::new(
                databases,
                1 + usize::from(options.instance.number),
            )),
            options,
            intake: RefCell::new(intake),
            replayer: RefCell::default(),
            needed: wants.highest,
            queues: Cell::new(queues),
            checkpoint_at: Cell::new(0),
            due: Cell::new(None),
            connection: Cell::new(None),
            busy: Cell::new(0),
            stopping: Cell::new(false),
            changed: Event::new(world.spawner.tasks()),
            failure: RefCell::default(),
            scans: scans.unwrap_or_default(),
        })))
    }

    /// How far it is.
    pub fn queues(&self) -> Queues {
        self.0.queues.get()
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
        if let Some(connection) = self.0.connection.get() {
            self.0.world.net.close(connection);
        }
        self.0.changed.notify();
    }

    /// Receives logs over a connection to the active until it ends, and closes it. One connection at a time.
    ///
    /// # Errors
    /// [`CopyError::Refused`] and [`CopyError::RefusedThere`], by name; when the connection breaks, connect again. Every log that was
    /// acknowledged is there.
    pub async fn receive(&self, connection: SocketId) -> Result<(), CopyError> {
        let _busy = self.enter();
        if self.0.stopping.get() {
            self.0.world.net.close(connection);
            return Ok(());
        }
        let (sender, mut receiver) = messages(&self.0.world, connection, LONGEST);
        self.0.connection.set(Some(connection));
        let over = Rc::new(Cell::new(false));
        let result = self.exchange(&sender, &mut receiver, &over).await;
        over.set(true);
        self.0.changed.notify();
        if let Err(CopyError::Refused(refusal)) = &result {
            self.refuse(&sender, *refusal).await;
            // A connection with unread bytes would be reset, and the active would not hear it.
            while let Ok(Some(_)) = receiver.receive().await {}
        }
        self.0.connection.set(None);
        self.0.world.net.close(connection);
        match result {
            Err(CopyError::Connection(_)) if self.0.stopping.get() => Ok(()),
            Err(error) if error.wants_reseed() => {
                self.0.failure.borrow_mut().get_or_insert(error.clone());
                Err(error)
            }
            result => result,
        }
    }

    async fn exchange(
        &self,
        sender: &Sender,
        receiver: &mut Receiver,
        over: &Rc<Cell<bool>>,
    ) -> Result<(), CopyError> {
        let hello = {
            let intake = self.0.intake.borrow();
            Message::Hello(Hello {
                stream: intake.stream(),
                last: intake.last(),
                next: intake.next(),
                replayed: self.queues().replayed,
                is_lagged: self.0.options.lag > Span::ZERO,
            })
        };
        sender.send(&hello.to_bytes()).await?;
        match self.next_message(receiver).await? {
            None => return Ok(()),
            Some(Message::Welcome(welcome)) => {
                self.0.intake.borrow_mut().meet(&welcome)?;
                self.note(|queues| queues.closed = welcome.closed);
            }
            Some(Message::Refused(refusal)) => return Err(CopyError::RefusedThere(refusal)),
            Some(_) => return Err(Refusal::OutOfPlace.into()),
        }
        let reporter = self.clone().report(sender.clone(), Rc::clone(over));
        drop(self.0.world.spawner.spawn(reporter));
        let mut storing = VecDeque::new();
        let received = self.take_logs(sender, receiver, &mut storing).await;
        let mut stored = Ok(());
        for one in storing {
            stored = stored.and(one.await);
        }
        // What could not be stored is why nothing more was received, if both failed.
        stored.and(received)
    }

    /// Receives logs. While one is written and the one before it gets its name, the next one arrives.
    async fn take_logs(
        &self,
        sender: &Sender,
        receiver: &mut Receiver,
        storing: &mut VecDeque<Task<Result<(), CopyError>>>,
    ) -> Result<(), CopyError> {
        let broken = Rc::new(Cell::new(false));
        let mut arriving: Option<(u32, u32, Vec<u8>)> = None;
        while let Some(message) = self.next_message(receiver).await? {
            match (message, &mut arriving) {
                (Message::Closed(closed), _) => self.note(|queues| queues.closed = closed),
                (Message::Log { generation, length }, None) => {
                    self.0.intake.borrow().announced(generation, length)?;
                    arriving = Some((generation, length, Vec::new()));
                }
                (Message::Log { .. }, Some((torn, ..))) => return Err(Refusal::Torn(*torn).into()),
                (Message::Piece { at, bytes }, Some((generation, length, so_far))) => {
                    let rest = *length as usize - so_far.len();
                    if at as usize != so_far.len() || bytes.len() > rest {
                        return Err(Refusal::Torn(*generation).into());
                    }
                    so_far.extend_from_slice(&bytes);
                }
                (Message::Refused(refusal), _) => return Err(CopyError::RefusedThere(refusal)),
                _ => return Err(Refusal::OutOfPlace.into()),
            }
            let whole =
                |(_, length, bytes): &mut (u32, u32, Vec<u8>)| bytes.len() == *length as usize;
            if let Some((generation, _, bytes)) = arriving.take_if(whole) {
                let tail = self.0.intake.borrow_mut().check(generation, &bytes)?;
                if storing.len() == files::ARRIVING_MAX
                    && let Some(oldest) = storing.pop_front()
                {
                    oldest.await?;
                }
                let store = self
                    .clone()
                    .store(sender.clone(), tail, bytes, Rc::clone(&broken));
                storing.push_back(self.0.world.spawner.spawn(store));
            }
        }
        match arriving {
            Some((torn, ..)) => Err(Refusal::Torn(torn).into()),
            None => Ok(()),
        }
    }

    /// The next message; `None` when the active has finished.
    async fn next_message(&self, receiver: &mut Receiver) -> Result<Option<Message>, CopyError> {
        match receiver.receive().await? {
            Some(bytes) => Ok(Some(Message::read(&bytes)?)),
            None => Ok(None),
        }
    }

    /// Lets the active name a refusal; this side ends in any case.
    async fn refuse(&self, sender: &Sender, refusal: Refusal) {
        if sender
            .send(&Message::Refused(refusal).to_bytes())
            .await
            .is_ok()
        {
            let _ = sender.finish().await;
        }
    }

    /// Stores a log after the one before it, and acknowledges it. When one cannot be stored, `broken` says so to those after it, and the
    /// connection ends, also when nothing more comes over it.
    async fn store(
        self,
        sender: Sender,
        tail: Tail,
        bytes: Vec<u8>,
        broken: Rc<Cell<bool>>,
    ) -> Result<(), CopyError> {
        let stored = self.put(tail, &bytes, &broken).await;
        match &stored {
            Ok(true) => {
                let stored = Message::Stored(tail.held.generation);
                sender.send(&stored.to_bytes()).await?;
            }
            Ok(false) => {}
            Err(_) => {
                broken.set(true);
                self.0.changed.notify();
                // Its own error is the one that counts.
                let _ = sender.finish().await;
            }
        }
        stored.map(drop)
    }

    /// Makes a log durable: its content at once, its name after that of the one before it. `false` when that one failed.
    async fn put(&self, tail: Tail, bytes: &[u8], broken: &Cell<bool>) -> Result<bool, CopyError> {
        let (world, directory) = (&self.0.world, self.0.intake.borrow().directory().to_owned());
        let generation = tail.held.generation;
        files::write_log::<Bytes>(world, &directory, generation, bytes).await?;
        let turn = || {
            let is_next = self.0.intake.borrow().next() == generation;
            (is_next || broken.get()).then_some(is_next)
        };
        if !self.0.changed.wait(turn).await {
            files::forget_log(world, &directory, generation).await;
            return Ok(false);
        }
        files::name_log(world, &directory, generation).await?;
        self.0.intake.borrow_mut().stored(tail);
        self.note(|queues| {
            queues.stored = generation;
            queues.closed = queues.closed.max(generation);
        });
        Ok(true)
    }

    /// Tells the active how far the databases are, also when nothing changes.
    async fn report(self, sender: Sender, over: Rc<Cell<bool>>) {
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        let clock = Rc::clone(&self.0.world.clock);
        let mut told = 0;
        while !over.get() {
            let replayed = self.queues().replayed;
            if sender
                .send(&Message::Replayed(replayed).to_bytes())
                .await
                .is_err()
            {
                return;
            }
            told = replayed.max(told);
            let next = clock.now() + BEAT;
            let moved = || {
                let now = clock.now();
                alarm.set(now, next);
                let is_due = now >= next || self.queues().replayed > told;
                (is_due || over.get()).then_some(())
            };
            self.0.changed.wait(moved).await;
        }
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
            let stored = self.queues().stored;
            let step = self.step().await.inspect_err(|error| {
                self.0.failure.borrow_mut().get_or_insert(error.clone());
            })?;
            let Step::Waits(until) = step else { continue };
            let waited = || {
                let now = clock.now();
                let is_due = until.is_some_and(|until| now >= until);
                if let Some(until) = until.filter(|_| !is_due) {
                    alarm.set(now, until);
                }
                (is_due || self.0.stopping.get() || self.queues().stored > stored).then_some(())
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
            if self.0.intake.borrow().last().is_none() || stored < self.0.needed {
                return Ok(Step::Waits(None));
            }
            self.open_replayer().await?;
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
        replayer.catch_up().await?;
        for (database, scan) in (0..).zip(&self.0.scans) {
            replayer.maintain(database, scan);
        }
        let replayed = replayer.next() - 1;
        *self.0.replayer.borrow_mut() = Some(replayer);
        self.note(|queues| queues.replayed = replayed.min(queues.stored));
        self.plan_checkpoint();
        Ok(())
    }

    /// Takes note in the databases that logs up to `newest` are being replayed: in one write for all of them.
    async fn begin(&self, newest: u32) -> Result<(), CopyError> {
        let mut replayer = self.take_replayer();
        let begun = replayer.begin(newest).await;
        *self.0.replayer.borrow_mut() = Some(replayer);
        Ok(begun?)
    }

    async fn feed(&self, generation: u32) -> Result<(), CopyError> {
        let mut replayer = self.take_replayer();
        let fed = self.feed_to(&mut replayer, generation).await;
        *self.0.replayer.borrow_mut() = Some(replayer);
        Ok(fed?)
    }

    fn take_replayer(&self) -> Replayer {
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

    /// Ends the copy's life as a copy: waits for its tasks, replays every stored log, or those up to generation `last`, undoes
    /// transactions without a commit, and starts to write a log of its own.
    ///
    /// # Errors
    /// [`CopyError::Incomplete`], [`CopyError::Passed`], [`CopyError::NotStored`]: nothing was changed. Those of recovery: the copy
    /// can be opened again.
    pub async fn activate(
        self,
        last: Option<u32>,
    ) -> Result<(Instance<Bytes>, RecoveryReport), CopyError> {
        self.rest().await;
        let Queues {
            stored, replayed, ..
        } = self.queues();
        if stored < self.0.needed {
            let needed = self.0.needed;
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
        if let Some(replayer) = replayer {
            replayer.close().await?;
        }
        Ok(())
    }

    /// Stops, and waits for the tasks.
    async fn rest(&self) {
        self.stop();
        let busy = &self.0.busy;
        self.0
            .changed
            .wait(|| (busy.get() == 0).then_some(()))
            .await;
    }

    fn note(&self, change: impl FnOnce(&mut Queues)) {
        let mut queues = self.0.queues.get();
        change(&mut queues);
        self.0.queues.set(queues);
        self.0.changed.notify();
    }

    fn enter(&self) -> Busy {
        self.0.busy.set(self.0.busy.get() + 1);
        Busy(self.clone())
    }
}

/// A task of a copy.
struct Busy(PassiveCopy);

impl Drop for Busy {
    fn drop(&mut self) {
        let inner = &self.0.0;
        inner.busy.set(inner.busy.get() - 1);
        inner.changed.notify();
    }
}
