//! Passive copies of a test: seeded before the load, fed by log shipping during it, activated and verified after it.
//!
//! ```text
//!   databases open ----> load ----------------------> closed ----> catch up --> activated --> records, pages --> removed
//!        '-- seed --> copy <-- closed logs ---------- last log --'                               '-- wrong: left as it is
//! ```
//!
//! The copies live in the world of the test, and reach their active over its loopback. They are judged by the same means as the
//! active's own databases, and against the same oracle: a copy that was activated after the last log holds what the active holds.
//!
//! A copy that was activated begins another history, so the next test seeds it again. It is removed when its test ends, unless
//! something is wrong with it: then it stays for a look.

mod end;
mod scan;
mod twins;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_copies::choice::{self, Candidate};
use brunt_copies::seed::seed;
use brunt_copies::truncation::Limits;
use brunt_copies::{CopyError, CopyOptions, PassiveCopy, Shipper};
use brunt_ese::format::stamp::Signature;
use brunt_ese::instance::database;
use brunt_ese::meter::{DatabaseMeters, MeterBoard};
use brunt_report::result::PassiveCopy as InResult;
use brunt_stats::Meter;
use brunt_units::{ByteSize, Span, Time};
use brunt_world::World;

use crate::error::RunError;
use crate::phases::{backup, places};
use crate::plan::{EnginePlan, InstancePlan, Plan};
use crate::progress::{Listener, News, Stop};
use crate::rules::ReplicaOutcome;
use crate::server::Server;
use crate::truth::witness::Hearing;
pub use scan::Scan;
pub(crate) use twins::TwinFollowers;

/// A passive copy of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyPlan {
    /// The number of its instance in the plan.
    pub of: usize,
    /// How old a log is before the copy replays it.
    pub lag: Span,
    /// Its name and its files; as many databases as the instance has.
    pub files: InstancePlan,
}

impl Plan {
    /// The plan of a server with the files of `copy` alone, an instance's part of the cache, and the checkpoint depth of a passive copy.
    fn of_copy(&self, copy: &CopyPlan) -> Self {
        let (page, parts) = (
            self.engine.page.bytes_u64(),
            self.instances.len().max(1) as u64,
        );
        let part = |size: ByteSize| ByteSize::bytes(size.get().div_euclid(parts * page) * page);
        Self {
            instances: vec![copy.files.clone()],
            passive: Vec::new(),
            faults: Vec::new(),
            copy_to: None,
            hearing: Hearing::default(),
            engine: EnginePlan {
                cache_min: part(self.engine.cache_min),
                cache_max: part(self.engine.cache_max),
                checkpoint_depth: self.version.profile().copy_checkpoint_depth.value,
                ..self.engine
            },
            ..self.clone()
        }
    }
}

/// The files of ours in the places of the plan's copies.
///
/// # Errors
/// [`RunError`] with the first file that is in the way.
pub(crate) async fn all(world: &World, plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
    let mut files = Vec::new();
    for copy in &plan.passive {
        files.extend(of(world, plan, copy).await?);
    }
    Ok(files)
}

async fn of(world: &World, plan: &Plan, copy: &CopyPlan) -> Result<Vec<PathBuf>, RunError> {
    let mut files = places::of_instances(world, &plan.of_copy(copy)).await?;
    for database in &copy.files.databases {
        let begun = seeding(&database.path);
        if places::length(world, &begun).await?.is_none() {
            continue;
        }
        match places::is_begun(world, &begun, &database.path).await? {
            true => files.push(begun),
            false => return Err(RunError::Foreign(begun)),
        }
    }
    Ok(files)
}

/// The name of a database until its seed is complete.
fn seeding(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-seeding");
    name.into()
}

/// What an earlier run has left of the plan's copies, to be removed. Nothing is removed.
///
/// # Errors
/// [`RunError::CopyThere`] when the plan may not replace it; a foreign file.
pub async fn there(world: &World, plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
    let mut files = Vec::new();
    for copy in &plan.passive {
        let own = of(world, plan, copy).await?;
        if let Some(first) = own.first()
            && !plan.renew
            && !(plan.carried.is_some() && is_left(world, plan, copy).await)
        {
            return Err(RunError::CopyThere(first.clone()));
        }
        files.extend(own);
    }
    Ok(files)
}

/// Whether the run that is carried on has left `copy`: its databases are seeds of those of its instance, whose signature they have.
async fn is_left(world: &World, plan: &Plan, copy: &CopyPlan) -> bool {
    let mut is_left = false;
    let actives = &plan.instances[copy.of].databases;
    for (active, database) in actives.iter().zip(&copy.files.databases) {
        let begun = places::length(world, &seeding(&database.path)).await;
        match signature(world, plan, &database.path).await {
            None => is_left |= matches!(begun, Ok(Some(_))),
            own if own == signature(world, plan, &active.path).await => is_left = true,
            _ => return false,
        }
    }
    is_left
}

async fn signature(world: &World, plan: &Plan, path: &Path) -> Option<Signature> {
    let found = database::open(world, path, plan.engine.page).await.ok()?;
    let closed = world.volume.close(found.file).await;
    closed.is_ok().then_some(found.header.signature)
}

/// Passive copies at work, with or without content.
pub(crate) trait Following {
    /// Notes the queues and I/Os of all copies; their names and queues, in logs.
    fn sample(&self, now: Time) -> Vec<(String, [u32; 2])>;

    /// What is new: copies that no longer follow.
    fn news(&self) -> Vec<String>;
}

/// Reads and writes of a copy's databases so far.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    ios: [u64; 2],
}

/// What a copy was seen to do at the end of each sample.
#[derive(Clone, Debug, Default)]
struct Samples {
    /// Copy queue and replay queue, in logs.
    queues: Vec<[u32; 2]>,
    /// The first and the last sample.
    marks: Option<(Mark, Mark)>,
}

impl Samples {
    fn add(&mut self, at: Time, queues: [u32; 2], board: &MeterBoard) {
        let ios = board.with(|meters| {
            let count = |pick: fn(&DatabaseMeters) -> &Meter| {
                let databases = meters.databases.iter();
                databases.map(|database| pick(database).count()).sum()
            };
            [
                count(|database| &database.reads),
                count(|database| &database.writes),
            ]
        });
        let mark = Mark { at, ios };
        self.queues.push(queues);
        self.marks = Some((self.marks.map_or(mark, |(first, _)| first), mark));
    }

    /// Reads and writes per second from the first sample to the last one.
    fn rates(&self) -> Option<[f64; 2]> {
        let (first, last) = self.marks.filter(|(first, last)| last.at > first.at)?;
        let rate = |which: usize| {
            let done = last.ios[which] - first.ios[which];
            done as f64 / (last.at - first.at).as_seconds()
        };
        Some([rate(0), rate(1)])
    }
}

/// A passive copy at work.
struct Follower {
    plan: CopyPlan,
    shipper: Shipper,
    /// Its number among the copies of its instance.
    number: usize,
    copy: PassiveCopy,
    /// The generation before the first one that it needed.
    seeded_to: u32,
    seeding_took: Span,
    samples: RefCell<Samples>,
    /// Why it no longer follows.
    error: Rc<RefCell<Option<CopyError>>>,
    was_told: RefCell<bool>,
}

/// The passive copies of a server.
pub(crate) struct Followers(Vec<Follower>);

/// What became of a passive copy.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// Its name.
    pub name: String,
    /// The name of its instance.
    pub instance: String,
    /// How old a log was before it was replayed.
    pub lag: Span,
    /// Copy queue and replay queue, in logs, at the end of each sample.
    pub samples: Vec<[u32; 2]>,
    /// Reads and writes of its databases per second between the first sample and the last one.
    pub rates: Option<[f64; 2]>,
    /// Logs that it has stored.
    pub logs: u32,
    /// How long its seed took.
    pub seeding_took: Span,
    /// What its background maintenance found, if it had any.
    pub scan: Option<Scan>,
    /// How long it took after the test until it had replayed every log.
    pub catch_up_took: Option<Span>,
    /// Records compared, and pages verified.
    pub checked: Option<(u64, u64)>,
    /// Whether it was not what its active is; `None` when that was not looked at.
    pub is_wrong: Option<bool>,
    /// What was found.
    pub remark: String,
}

impl Followed {
    /// Adds what the second half of a test has seen of it, as if its collection had followed. Rates are the mean of both; of the times
    /// to catch up, the longer one counts.
    pub(crate) fn absorb(&mut self, second: Self) {
        self.samples.extend(second.samples);
        self.rates = match (self.rates, second.rates) {
            (Some(one), Some(two)) => Some([0, 1].map(|which| one[which].midpoint(two[which]))),
            (one, two) => one.or(two),
        };
        self.logs += second.logs;
        self.catch_up_took = self.catch_up_took.max(second.catch_up_took);
        if second.is_wrong == Some(true) {
            (self.is_wrong, self.remark) = (second.is_wrong, second.remark);
        }
    }

    /// What the rules judge.
    pub(crate) fn outcome(&self) -> ReplicaOutcome {
        ReplicaOutcome {
            is_wrong: self.is_wrong,
            remark: format!("{}: {}", self.name, self.remark),
        }
    }

    /// The same in the result.
    fn in_result(&self) -> InResult {
        let queue = |which: usize| self.samples.iter().map(|queues| queues[which]).collect();
        InResult {
            name: self.name.clone(),
            instance: self.instance.clone(),
            lag_s: self.lag.as_seconds(),
            copy_queue_logs: queue(0),
            replay_queue_logs: queue(1),
            database_reads_per_s: self.rates.map(|[reads, _]| reads),
            database_writes_per_s: self.rates.map(|[_, writes]| writes),
            logs: self.logs.into(),
            seed_s: self.seeding_took.as_seconds(),
            scan: self.scan.as_ref().map(Scan::in_result),
            catch_up_s: self.catch_up_took.map(Span::as_seconds),
            records_checked: self.checked.map(|(records, _)| records),
            pages_seen: self.checked.map(|(_, pages)| pages),
            is_wrong: self.is_wrong,
            remark: self.remark.clone(),
            best: None,
        }
    }
}

/// The copies of a server in the result, and which of them is the best one.
pub(crate) fn in_result(all: &[Followed]) -> Vec<InResult> {
    let mut results: Vec<InResult> = all.iter().map(Followed::in_result).collect();
    let instances: BTreeSet<&str> = all.iter().map(|one| one.instance.as_str()).collect();
    for instance in instances {
        let own = all
            .iter()
            .enumerate()
            .filter(|(_, one)| one.instance == instance);
        let (places, candidates): (Vec<_>, Vec<_>) = own
            .zip(1..)
            .filter_map(|((place, one), preference)| {
                let [copy_queue, replay_queue] = *one.samples.last()?;
                let candidate = Candidate {
                    is_healthy: one.is_wrong != Some(true),
                    copy_queue,
                    replay_queue,
                    preference,
                };
                Some((place, candidate))
            })
            .unzip();
        if let Some((best, reason)) = choice::best(&candidates) {
            results[places[best]].best = Some(reason.to_string());
        }
    }
    results
}

impl Followers {
    /// Seeds the copies of `plan` from `server`, and begins to ship logs to them.
    ///
    /// # Errors
    /// [`RunError::Copy`] for the first that cannot be seeded; [`RunError::Stopped`]. What was seeded is left.
    pub(crate) async fn begin(
        world: &World,
        plan: &Plan,
        server: &Server,
        listener: &dyn Listener,
        stop: &Stop,
    ) -> Result<Self, RunError> {
        let mut followers = Self(Vec::new());
        let begun = followers
            .seed_all(world, plan, server, listener, stop)
            .await;
        if begun.is_err() {
            followers.leave().await;
        }
        begun.map(|()| followers)
    }

    async fn seed_all(
        &mut self,
        world: &World,
        plan: &Plan,
        server: &Server,
        listener: &dyn Listener,
        stop: &Stop,
    ) -> Result<(), RunError> {
        for (index, instance) in server.instances().iter().enumerate() {
            let own = plan.passive.iter().filter(|copy| copy.of == index);
            let own: Vec<&CopyPlan> = own.collect();
            if own.is_empty() {
                continue;
            }
            let shipper = Shipper::new(world, instance, own.len(), Limits::default());
            for (number, copy) in own.into_iter().enumerate() {
                if stop.is_asked() {
                    return Err(RunError::Stopped);
                }
                let begun = world.clock.now();
                let options = CopyOptions {
                    instance: plan.of_copy(copy).instance_options(0),
                    cache: plan.of_copy(copy).cache_options(),
                    lag: copy.lag,
                    maintenance: plan.throttle(),
                };
                let named = |error: CopyError| RunError::Copy {
                    copy: copy.files.name.clone(),
                    error,
                };
                let reads = backup::reads(plan.version);
                let seed = seed(world, instance, &options.instance, reads).await;
                let seed = seed.map_err(named)?;
                shipper.seeded(number, seed.first());
                let seeded_to = seed.first().saturating_sub(1);
                let copy_here = PassiveCopy::open(world, options).await.map_err(named)?;
                let follower = Follower {
                    plan: copy.clone(),
                    shipper: shipper.clone(),
                    number,
                    copy: copy_here,
                    seeded_to,
                    seeding_took: world.clock.now() - begun,
                    samples: RefCell::default(),
                    error: Rc::default(),
                    was_told: RefCell::default(),
                };
                follower.connect(world).await.map_err(named)?;
                let text = format!(
                    "{} of {}: seeded in {:.1} s",
                    copy.files.name,
                    plan.instances[index].name,
                    follower.seeding_took.as_seconds()
                );
                listener.tell(world.clock.now(), &News::Note { text });
                self.0.push(follower);
            }
        }
        Ok(())
    }

    /// Ends all copies and leaves their files.
    async fn leave(&self) {
        for follower in &self.0 {
            follower.shipper.stop();
        }
        for follower in &self.0 {
            // It is worthless already.
            let _ = follower.copy.clone().close().await;
        }
    }
}

impl Following for Followers {
    fn sample(&self, now: Time) -> Vec<(String, [u32; 2])> {
        let queues = self.0.iter().map(|follower| {
            let queues = follower.queues();
            let mut samples = follower.samples.borrow_mut();
            samples.add(now, queues, follower.copy.meters());
            (follower.plan.files.name.clone(), queues)
        });
        queues.collect()
    }

    fn news(&self) -> Vec<String> {
        let failed = self.0.iter().filter_map(|follower| {
            let why = follower.failure()?;
            let was_told = follower.was_told.replace(true);
            (!was_told).then(|| format!("{}: {why}", follower.plan.files.name))
        });
        failed.collect()
    }
}

impl Follower {
    /// Connects both sides, and begins to ship and to replay.
    async fn connect(&self, world: &World) -> Result<(), CopyError> {
        let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let (listener, at) = world.net.listen(at).await?;
        let connection = world.net.connect(at).await?;
        let (accepted, _) = world.net.accept(listener).await?;
        world.net.close(listener);
        let note = |error: &Rc<RefCell<Option<CopyError>>>| {
            let error = Rc::clone(error);
            move |result: Result<(), CopyError>| {
                if let Err(why) = result {
                    error.borrow_mut().get_or_insert(why);
                }
            }
        };
        let (serving, shipper, number) = (note(&self.error), self.shipper.clone(), self.number);
        let (receiving, following) = (note(&self.error), note(&self.error));
        let [to, from] = [self.copy.clone(), self.copy.clone()];
        let spawner = &world.spawner;
        drop(spawner.spawn(async move { serving(shipper.serve(number, accepted).await) }));
        drop(spawner.spawn(async move { receiving(to.receive(connection).await) }));
        drop(spawner.spawn(async move { following(from.follow().await) }));
        Ok(())
    }

    /// Closed logs that are not stored, and stored ones that are not replayed.
    fn queues(&self) -> [u32; 2] {
        let queues = self.copy.queues();
        [
            self.shipper.closed().saturating_sub(queues.stored),
            queues.replay(),
        ]
    }

    /// Why it no longer follows, in words.
    fn failure(&self) -> Option<String> {
        let left_out = self.shipper.left_out();
        let left_out = left_out.iter().find(|(copy, _)| *copy == self.number);
        let left_out = left_out.map(|(_, why)| format!("logs are no longer kept for it: {why}"));
        let error = self.error.borrow().clone().or(self.copy.failure());
        error.map(|error| error.to_string()).or(left_out)
    }
}
