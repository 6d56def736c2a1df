//! Passive copies of databases without content: the logs and I/Os of copies with content, and
//! nothing to compare.
//!
//! ```text
//!   closed ---- copy queue ---- stored ---- replay queue ---- replayed
//!           read in the pieces of log shipping,         redo without content ([`brunt_ese::twin::TwinCopy`]),
//!           written to the copy's folder                when the log is old enough
//! ```
//!
//! A copy begins with databases that are made at once, so there is no seed; the connection takes no
//! time. After the test each copy catches up, a lagged one as well: that is how long users would
//! wait for its activation.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use brunt_copies::Queues;
use brunt_copies::files::{LogReader, put_log};
use brunt_copies::passive::AHEAD;
use brunt_ese::cache::Cache;
use brunt_ese::content::Ghost;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::maintenance::Maintenance;
use brunt_ese::meter::MeterBoard;
use brunt_ese::patch::Patch;
use brunt_ese::twin::{Journal, TwinCopy};
use brunt_run::Stop;
use brunt_units::{LogPosition, Span, Time};
use brunt_world::sync::{Alarm, Event};
use brunt_world::{Class, World};

use super::{CopyPlan, Followed, Following, Samples};
use crate::load::replication::read_shipped;
use crate::plan::Plan;
use crate::server::{Server, Twin};

/// How often a copy looks for the next closed log.
const LOOK: Span = Span::millis(50);

/// An instance that is followed.
struct Source {
    active: Instance<Ghost>,
    journal: Rc<RefCell<Journal>>,
    /// The newest generation that each of its copies has replayed.
    replayed: RefCell<Vec<u32>>,
}

impl Source {
    /// Notes that copy `number` has replayed `generation`, and forgets what no copy needs.
    fn note(&self, number: usize, generation: u32) {
        let mut replayed = self.replayed.borrow_mut();
        replayed[number] = generation;
        let all = replayed.iter().copied().min().unwrap_or(generation);
        let needed = LogPosition::start_of(all + 1);
        self.journal.borrow_mut().forget_before(needed);
    }
}

/// A passive copy at work.
struct TwinFollower {
    world: World,
    plan: CopyPlan,
    source: Rc<Source>,
    /// Its number among the copies of its instance.
    number: usize,
    queues: Cell<Queues>,
    /// When each stored log that is not replayed was closed.
    closed_at: RefCell<VecDeque<Time>>,
    /// The active is closed: its newest log will not change, and lags are over.
    is_final: Cell<bool>,
    /// When it had replayed the last log, or failed.
    over_at: Cell<Option<Time>>,
    changed: Event,
    meters: Rc<MeterBoard>,
    scans: Vec<Maintenance>,
    samples: RefCell<Samples>,
    error: RefCell<Option<EngineError>>,
    was_told: Cell<bool>,
}

/// The passive copies of a server.
pub(crate) struct TwinFollowers(Vec<Rc<TwinFollower>>);

impl TwinFollowers {
    /// Makes the copies of `plan`, and begins to ship logs to them.
    ///
    /// # Errors
    /// When a file of a copy exists already, or the volume is full.
    pub(crate) async fn begin(
        world: &World,
        plan: &Plan,
        server: &Server<Twin>,
    ) -> Result<Self, EngineError> {
        let mut followers = Vec::new();
        for (index, active) in server.instances().iter().enumerate() {
            let own = plan.passive.iter().filter(|copy| copy.of == index);
            let own: Vec<&CopyPlan> = own.collect();
            let source = Rc::new(Source {
                active: active.clone(),
                journal: server.journal(index),
                replayed: RefCell::new(vec![0; own.len()]),
            });
            for (number, copy) in own.into_iter().enumerate() {
                let here = plan.of_copy(copy);
                let board = Rc::new(MeterBoard::new(copy.files.databases.len(), 1));
                let cache = Cache::new(world, here.cache_options(), Rc::clone(&board));
                let options = here.instance_options(0);
                let made = TwinCopy::create(world, &cache, options, active).await?;
                let databases = (0_u8..).take(copy.files.databases.len());
                let scans = plan.throttle().map(|throttle| {
                    let scans = databases.map(|database| made.maintain(database, throttle));
                    scans.collect()
                });
                let follower = Rc::new(TwinFollower {
                    world: world.clone(),
                    plan: copy.clone(),
                    source: Rc::clone(&source),
                    number,
                    queues: Cell::default(),
                    closed_at: RefCell::default(),
                    is_final: Cell::new(false),
                    over_at: Cell::default(),
                    changed: Event::new(world.spawner.tasks()),
                    meters: board,
                    scans: scans.unwrap_or_default(),
                    samples: RefCell::default(),
                    error: RefCell::default(),
                    was_told: Cell::new(false),
                });
                let (receiving, following) = (Rc::clone(&follower), Rc::clone(&follower));
                let spawner = &world.spawner;
                drop(spawner.spawn(async move { receiving.note(receiving.receive().await) }));
                drop(spawner.spawn(async move {
                    following.note(following.follow(made).await);
                    following.over_at.set(Some(following.world.clock.now()));
                }));
                followers.push(follower);
            }
        }
        Ok(Self(followers))
    }

    /// What is known of all copies.
    pub(crate) fn known(&self, plan: &Plan) -> Vec<Followed> {
        self.0.iter().map(|one| one.followed(plan)).collect()
    }

    /// Lets the copies of a server that is closed catch up.
    pub(crate) async fn end(&self, world: &World, plan: &Plan, stop: &Stop) -> Vec<Followed> {
        let begun = world.clock.now();
        for follower in &self.0 {
            follower.is_final.set(true);
            follower.changed.notify();
        }
        let mut all = self.known(plan);
        for (follower, followed) in self.0.iter().zip(&mut all) {
            while follower.over_at.get().is_none() && !stop.is_asked() {
                world.sleep(LOOK).await;
            }
            *followed = follower.followed(plan);
            let caught_up = follower.over_at.get();
            let caught_up = caught_up.filter(|_| followed.is_wrong.is_none());
            followed.catch_up_took = caught_up.map(|at| at - begun);
        }
        all
    }
}

impl Following for TwinFollowers {
    fn sample(&self, now: Time) -> Vec<(String, [u32; 2])> {
        let queues = self.0.iter().map(|follower| {
            let queues = follower.queues.get();
            let queues = [queues.copy(), queues.replay()];
            let mut samples = follower.samples.borrow_mut();
            samples.add(now, queues, &follower.meters);
            (follower.plan.files.name.clone(), queues)
        });
        queues.collect()
    }

    fn news(&self) -> Vec<String> {
        let failed = self.0.iter().filter_map(|follower| {
            let why = follower.error.borrow().clone()?;
            let was_told = follower.was_told.replace(true);
            (!was_told).then(|| format!("{}: {why}", follower.plan.files.name))
        });
        failed.collect()
    }

    /// Without content no page is bad.
    fn repeated(&self) -> Vec<String> {
        Vec::new()
    }

    /// See [`Following::repeated`].
    fn patches(&self) -> Vec<Patch> {
        Vec::new()
    }
}

impl TwinFollower {
    /// Stores the logs of the active as they are closed.
    async fn receive(&self) -> Result<(), EngineError> {
        let active = &self.source.active;
        // Their length counts, not what is in them.
        let blank = vec![0; active.log().shape().file_bytes()];
        let mut next = 1;
        let mut _hold = active.hold_log_from(next);
        while active.failure().is_none() && self.error.borrow().is_none() {
            let closed = self.closed();
            self.change(|queues| queues.closed = closed);
            if next <= closed {
                let closed_at = self.world.clock.now();
                self.ship(next, &blank).await?;
                self.closed_at.borrow_mut().push_back(closed_at);
                self.change(|queues| queues.stored = next);
                next += 1;
                // The new hold begins before the former one ends.
                let hold = active.hold_log_from(next);
                _hold = hold;
            } else if self.is_final.get() {
                break;
            } else {
                self.world.sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// The newest log of the active that is complete.
    fn closed(&self) -> u32 {
        let newest = self.source.active.log().durable().generation;
        match self.is_final.get() {
            true => newest,
            false => newest.saturating_sub(1),
        }
    }

    /// Reads a log of the active, and stores it.
    async fn ship(&self, generation: u32, blank: &[u8]) -> Result<(), EngineError> {
        let (world, active) = (&self.world, &self.source.active);
        let files = active.log().files();
        let (archived, current) = (files.archived_path(generation), files.current_path());
        let mut opened = LogReader::<Ghost>::open(world, Class::Replication, &archived).await?;
        while opened.is_none() && generation == self.closed() {
            // The roll has not renamed it yet, or it was the last one.
            if self.is_final.get() {
                opened = LogReader::open(world, Class::Replication, &current).await?;
                break;
            }
            world.sleep(LOOK).await;
            opened = LogReader::open(world, Class::Replication, &archived).await?;
        }
        let reader = opened.ok_or(EngineError::LogMissing(archived))?;
        read_shipped(active, reader).await?;
        put_log::<Ghost>(world, &self.plan.files.log, generation, blank).await
    }

    /// Replays stored logs when they are old enough, until the last one is replayed.
    async fn follow(&self, mut copy: TwinCopy) -> Result<(), EngineError> {
        let alarm = Alarm::new(self.world.spawner.tasks());
        let clock = Rc::clone(&self.world.clock);
        while self.error.borrow().is_none() && self.source.active.failure().is_none() {
            let (queues, is_final) = (self.queues.get(), self.is_final.get());
            if is_final && queues.replayed == self.closed() {
                break;
            }
            let closed_at = self.closed_at.borrow().front().copied();
            let due = closed_at.map(|at| at + self.plan.lag);
            if due.is_some_and(|due| due <= clock.now() || is_final) {
                self.replay(&mut copy).await?;
                continue;
            }
            let waited = || {
                let now = clock.now();
                if let Some(due) = due {
                    alarm.set(now, due);
                }
                let is_due = due.is_some_and(|due| now >= due);
                let is_other = self.queues.get() != queues || self.error.borrow().is_some();
                (is_due || is_other || self.is_final.get() != is_final).then_some(())
            };
            self.changed.wait(waited).await;
        }
        copy.close().await
    }

    /// Replays the next stored log.
    async fn replay(&self, copy: &mut TwinCopy) -> Result<(), EngineError> {
        let next = copy.replayed() + 1;
        if copy.begun() < next {
            // A lagged copy begins none before it is due.
            let newest = match self.plan.lag {
                Span::ZERO => self.queues.get().stored.min(copy.replayed() + AHEAD),
                _ => next,
            };
            copy.begin(newest).await?;
        }
        copy.follow(&self.source.active, &self.source.journal).await?;
        self.closed_at.borrow_mut().pop_front();
        self.source.note(self.number, next);
        self.change(|queues| queues.replayed = next);
        Ok(())
    }

    /// Notes how a task has ended.
    fn note(&self, result: Result<(), EngineError>) {
        if let Err(error) = result {
            self.error.borrow_mut().get_or_insert(error);
        }
        self.changed.notify();
    }

    fn change(&self, change: impl FnOnce(&mut Queues)) {
        let mut queues = self.queues.get();
        change(&mut queues);
        self.queues.set(queues);
        self.changed.notify();
    }

    fn followed(&self, plan: &Plan) -> Followed {
        let error = self.error.borrow().clone();
        let findings: Vec<_> = self.scans.iter().map(Maintenance::findings).collect();
        Followed {
            logs: self.queues.get().stored,
            is_twin: true,
            is_wrong: error.is_some().then_some(true),
            remark: match error {
                Some(error) => error.to_string(),
                None => "without content there is nothing to compare".to_owned(),
            },
            ..Followed::of(&self.plan, plan, &self.samples.borrow(), &findings)
        }
    }
}
