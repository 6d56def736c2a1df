//! A performance test from beginning to end.
//!
//! ```text
//!   decide --> remove, create --> open --> warm up --> collect --> close --> records --> files
//!     |             |              |          |           |          |          |          |
//!  RunError      RunError          +----------+-- Broken: the rest is "not measured" ------+
//! ```
//!
//! Until databases are open an error is an error and nothing more: [`RunError`]. From then on there is always a [`TestRun`],
//! which says how far it came; what was measured until then is in it. Being stopped is one of those ends.

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::error::{EngineError, PageFault};
use brunt_ese::maintenance::Maintenance;
use brunt_ese::meter::MeterBoard;
use brunt_stats::OperationLatencies;
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::keys::{Extent, Population, RECENT};
use brunt_workload::mix::Kind;
use brunt_workload::operations::Workload;
use brunt_workload::session::{PoolShape, Scheduler};
use brunt_world::World;

use crate::creation;
use crate::error::RunError;
use crate::live::Gauge;
use crate::places;
use crate::plan::Plan;
use crate::progress::{Listener, News, Stop};
use crate::rules::{Ending, RecordsVerified};
use crate::sampling::{Collected, Sampler};
use crate::server::{Server, Versions};
use crate::sessions::{Log, Sessions};
use crate::survey::survey;
use crate::verification::{self, Files};

/// Everything a test left behind, before it is judged.
pub struct TestRun {
    /// How it ended.
    pub ending: Ending,
    /// When it began.
    pub started: Time,
    /// What was collected; nothing when it never came to that.
    pub collected: Option<Collected>,
    /// The engine's counters.
    pub board: Rc<MeterBoard>,
    /// Sizes of all databases when sessions began.
    pub initial: Vec<ByteSize>,
    /// Sizes of all databases when they had ended.
    pub last: Vec<ByteSize>,
    /// Batches on each instance.
    pub batches: Vec<u64>,
    /// Operations that took place, in the order of [`Kind::ALL`].
    pub operations: [u64; Kind::ALL.len()],
    /// What sessions met with.
    pub log: Log,
    /// I/Os that failed and pages that were bad, and the first of them.
    pub errors: (u64, String),
    /// What was found in files.
    pub files: Option<Files>,
    /// What was found in records.
    pub records: Option<RecordsVerified>,
    /// When it ended.
    pub ended: Time,
}

/// How often the director looks whether it is to stop, to sample, or to tell.
const TICK: Span = Span::millis(50);
/// How often the state of a test is told.
const TELL: Span = Span::millis(250);
/// A cache that has not filled any further for so long will not.
const PATIENCE: Span = Span::seconds(10);
/// The share of the cache that must be full before collection starts. Source: `PreloadJetCache` of Jetstress 2013.
const PRELOAD_PERCENT: u64 = 90;
/// Growth up to this share of the reserve is let be; then inserts and deletes balance. The rest is for pages that go on
/// splitting until their fill has settled.
const GROWTH_PERCENT: u64 = 40;

/// Records are compared for a tenth of the test's duration at most, but at least for so long.
const RECORDS_TIME_MIN: Span = Span::seconds(30);

/// Runs `plan` in `world`.
///
/// # Errors
/// [`RunError`] when it did not come to a test.
pub async fn run(
    world: &World,
    plan: &Plan,
    listener: &dyn Listener,
    stop: &Stop,
) -> Result<TestRun, RunError> {
    let director = Director {
        world,
        plan,
        listener,
        stop,
    };
    director.run().await
}

struct Director<'a> {
    world: &'a World,
    plan: &'a Plan,
    listener: &'a dyn Listener,
    stop: &'a Stop,
}

impl Director<'_> {
    async fn run(&self) -> Result<TestRun, RunError> {
        let started = self.world.clock.now();
        let decisions = places::decide(self.world, self.plan).await?;
        places::remove(self.world, &decisions).await?;
        creation::create(self.world, self.plan, &decisions, self.listener, self.stop).await?;
        if self.stop.is_asked() {
            return Err(RunError::Stopped);
        }
        let instances = decisions.iter().zip(&self.plan.instances);
        let fresh = instances.flat_map(|(decision, instance)| {
            let databases = 0..instance.databases.len();
            databases.map(|index| decision.create.contains(&index))
        });
        let versions = fresh.map(|fresh| match fresh {
            true => Versions::fresh(),
            false => Versions::unknown(),
        });
        let versions = versions.collect();
        let server = Server::open(self.world, self.plan, self.listener, Some(versions)).await?;
        let server = Rc::new(server);
        let populations = match survey(self.world, &server, self.listener).await {
            Ok(populations) => populations,
            Err(error) => {
                // The reason is what counts; databases are recoverable anyway.
                let _ = server.close().await;
                return Err(error);
            }
        };
        let mut run = TestRun::new(self.plan, started, &server);
        let extents = self.work(&mut run, &server, populations).await;
        self.verify(&mut run, &server, extents).await;
        run.ended = self.world.clock.now();
        Ok(run)
    }

    /// Sessions at work, and a clean shutdown. What must be in the databases then, unless something went wrong.
    async fn work(
        &self,
        run: &mut TestRun,
        server: &Rc<Server>,
        populations: Vec<Population>,
    ) -> Option<Vec<Extent>> {
        let maintenance = self
            .plan
            .throttle()
            .map(|throttle| server.maintain(throttle));
        let sessions = self.start(server, populations);
        self.warm_up(server, &sessions).await;
        if !self.is_over(&sessions) {
            run.collected = Some(self.collect(server, &sessions).await);
        }
        sessions.stop().await;
        self.tell(News::Closing);
        let closed = server.close().await;
        run.last = server.file_sizes();
        run.note_sessions(&sessions);
        run.ending = match (server.failure().or(closed.err()), self.stop.is_asked()) {
            (Some(error), _) => Ending::Broken(error.to_string()),
            (None, true) => Ending::Stopped,
            (None, false) if run.log.errors > 0 => run.broken_by_errors(self.plan),
            (None, false) => Ending::Complete,
        };
        run.note_errors(server.failure());
        run.note_maintenance(&maintenance.unwrap_or_default());
        let known = !matches!(run.ending, Ending::Broken(_));
        known.then(|| sessions.with_workload(|w| verification::extents(w.populations())))
    }

    fn start(&self, server: &Rc<Server>, populations: Vec<Population>) -> Rc<Sessions<Rc<Server>>> {
        let (plan, load) = (self.plan, &self.plan.load);
        let instances = u32::try_from(plan.instances.len()).expect("fewer than 256 instances");
        let shape = PoolShape {
            sessions: plan.sessions,
            instances,
            batch: load.batch,
            choice: load.choice,
        };
        let streams = self.world.random.part("load");
        let workload = Workload::new(shape, load.mix, populations, RECENT, streams);
        let now = self.world.clock.now();
        let scheduler = Scheduler::new(load.scheduling, plan.sessions, instances, now);
        let target = Rc::clone(server);
        Sessions::start(
            self.world,
            target,
            workload,
            scheduler,
            plan.sessions,
            load.cost,
        )
    }

    async fn warm_up(&self, server: &Server, sessions: &Sessions<Rc<Server>>) {
        let page = self.plan.engine.page.bytes_u64();
        let begun = self.world.clock.now();
        let pages: u64 = server.file_sizes().iter().map(|size| size.get()).sum();
        let all = pages.div_euclid(page);
        let (_, frames) = server.resident();
        let wanted = u64::from(frames).min(all) * PRELOAD_PERCENT;
        let wanted = wanted.div_euclid(100);
        let mut fullest = (0, begun);
        loop {
            let now = self.world.clock.now();
            let resident = u64::from(server.resident().0);
            if resident > fullest.0 {
                fullest = (resident, now);
            }
            let stuck = now - fullest.1 > PATIENCE;
            if resident >= wanted || stuck || self.is_over(sessions) {
                let filled = ByteSize::bytes(resident * page);
                let cache = ByteSize::bytes(u64::from(frames) * page);
                let took = now - begun;
                self.tell(News::WarmedUp {
                    filled,
                    cache,
                    took,
                });
                return;
            }
            let [filled, wanted] = [resident, wanted].map(|pages| ByteSize::bytes(pages * page));
            self.tell(News::WarmingUp { filled, wanted });
            self.world.sleep(TICK).await;
        }
    }

    async fn collect(&self, server: &Server, sessions: &Sessions<Rc<Server>>) -> Collected {
        let (plan, board) = (self.plan, server.board());
        let now = self.world.clock.now();
        let end = now + plan.duration;
        let page = plan.engine.page.bytes_u64();
        let resident = || u64::from(server.resident().0) * page;
        self.tell(News::CollectionStarted);
        let mut sampler = Sampler::start(plan, now, board);
        let mut gauge = Gauge::new(now, plan.duration);
        drop(sessions.take_latencies());
        let mut growth = Growth::new(plan, server.file_sizes());
        let mut tell_at = now;
        loop {
            let now = self.world.clock.now();
            let over = now >= end || self.is_over(sessions);
            if now >= sampler.due() || (over && now > sampler.closed_at()) {
                let operations = sessions.take_latencies();
                let recorded = sampler.close(now, board, &operations, resident());
                self.listener.recorded(&recorded);
            }
            if over {
                break;
            }
            if now >= tell_at {
                tell_at = now + TELL;
                self.tell(News::Testing(gauge.read(now, board, sampler.is_over())));
                self.watch_growth(&mut growth, server, sessions);
            }
            let next = sampler.due().min(end).min(now + TICK);
            self.world.sleep_until(next).await;
        }
        self.tell(News::CollectionEnded);
        sampler.finish()
    }

    fn watch_growth(&self, growth: &mut Growth, server: &Server, sessions: &Sessions<Rc<Server>>) {
        if let Some(note) = growth.exceeded(&server.file_sizes(), self.plan) {
            let balanced = self.plan.load.mix.balanced();
            sessions.with_workload(|workload| workload.set_mix(balanced));
            self.tell(News::Note(note));
        }
    }

    async fn verify(&self, run: &mut TestRun, server: &Rc<Server>, extents: Option<Vec<Extent>>) {
        if self.stop.is_asked() {
            return;
        }
        let begun = self.world.clock.now();
        if let Some(extents) = extents {
            match self.verify_records(server.versions(), &extents).await {
                Ok(found) => run.records = found,
                Err(error) => {
                    run.note_errors(Some(error.clone()));
                    run.ending = Ending::Broken(error.to_string());
                }
            }
        }
        run.files = verification::files(self.world, self.plan, self.listener, self.stop).await;
        if self.stop.is_asked() {
            run.ending = Ending::Stopped;
            return;
        }
        let took = self.world.clock.now() - begun;
        self.tell(News::Verified { took });
    }

    /// `None` when it was stopped on the way.
    async fn verify_records(
        &self,
        versions: Vec<Versions>,
        extents: &[Extent],
    ) -> Result<Option<RecordsVerified>, EngineError> {
        let (world, listener, stop) = (self.world, self.listener, self.stop);
        let server = Server::open(world, self.plan, listener, Some(versions)).await?;
        let server = Rc::new(server);
        let time = RECORDS_TIME_MIN.max(Span(self.plan.duration.0.div_euclid(10)));
        let until = world.clock.now() + time;
        let found = verification::records(world, &server, extents, until, listener, stop).await;
        let closed = server.close().await;
        let found = found?;
        closed?;
        Ok((!stop.is_asked()).then_some(found))
    }

    fn is_over(&self, sessions: &Sessions<Rc<Server>>) -> bool {
        self.stop.is_asked() || sessions.is_over()
    }

    fn tell(&self, news: News) {
        self.listener.tell(self.world.clock.now(), &news);
    }
}

/// Whether databases have grown as far as they may.
struct Growth {
    initial: Vec<ByteSize>,
    balanced: bool,
}

impl Growth {
    fn new(plan: &Plan, sizes: Vec<ByteSize>) -> Self {
        // What is larger than the scenario says has used up its reserve in earlier tests.
        let wanted = plan.databases().map(|database| database.size);
        let initial = sizes.into_iter().zip(wanted);
        Self {
            initial: initial.map(|(size, wanted)| size.min(wanted)).collect(),
            balanced: false,
        }
    }

    /// Says, once, that the first database has grown as far as it may.
    fn exceeded(&mut self, sizes: &[ByteSize], plan: &Plan) -> Option<String> {
        let percent = u64::from(plan.limits.reserve_percent) * GROWTH_PERCENT;
        let grown = |(initial, size): &(&ByteSize, &ByteSize)| {
            let limit = u128::from(initial.get()) * u128::from(10_000 + percent);
            u128::from(size.get()) * 10_000 > limit
        };
        let at = self.initial.iter().zip(sizes).position(|pair| grown(&pair));
        let name = plan.databases().nth(at.filter(|_| !self.balanced)?)?;
        self.balanced = true;
        Some(format!(
            "{} has grown by {} %: from now on there are as many deletes as inserts",
            name.name,
            percent.div_euclid(100)
        ))
    }
}

impl TestRun {
    /// A test of `plan` of which nothing is known but that it began.
    pub fn unfinished(plan: &Plan, started: Time) -> Self {
        let board = MeterBoard::new(plan.databases().count(), plan.instances.len());
        Self {
            ending: Ending::Stopped,
            started,
            collected: None,
            board: Rc::new(board),
            initial: Vec::new(),
            last: Vec::new(),
            batches: Vec::new(),
            operations: [0; Kind::ALL.len()],
            log: Log::default(),
            errors: (0, String::new()),
            files: None,
            records: None,
            ended: started,
        }
    }

    fn new(plan: &Plan, started: Time, server: &Server) -> Self {
        let sizes = server.file_sizes();
        Self {
            ending: Ending::Complete,
            board: Rc::clone(server.board()),
            last: sizes.clone(),
            initial: sizes,
            ..Self::unfinished(plan, started)
        }
    }

    fn note_sessions(&mut self, sessions: &Sessions<Rc<Server>>) {
        self.log = sessions.log();
        (self.batches, self.operations) = sessions.with_workload(|workload| {
            let counts = Kind::ALL.map(|kind| workload.count(kind));
            (workload.batches().to_vec(), counts)
        });
    }

    /// A test that met errors was carried through if it lasted to its end.
    fn broken_by_errors(&self, plan: &Plan) -> Ending {
        let collected = self.collected.as_ref();
        match (&self.log.first_error, collected) {
            (_, Some(collected)) if collected.length >= plan.duration => Ending::Complete,
            (Some(error), _) => Ending::Broken(error.to_string()),
            (None, _) => Ending::Complete,
        }
    }

    /// Counts what is the storage's fault: a full volume is not.
    fn note_errors(&mut self, failure: Option<EngineError>) {
        let first = self.log.first_error.clone();
        let faults = [first, failure];
        let mut faults = faults.into_iter().flatten().filter(is_storage_fault);
        if let Some(fault) = faults.next() {
            self.errors.0 = self.log.errors.max(1);
            self.errors.1 = fault.to_string();
        }
    }

    /// Bad pages that background maintenance has found count as well, whoever met them too.
    fn note_maintenance(&mut self, scans: &[Maintenance]) {
        let bad = scans.iter().map(|scan| scan.findings().bad);
        for error in bad.flat_map(BTreeMap::into_values) {
            self.errors.0 += 1;
            if self.errors.1.is_empty() {
                self.errors.1 = error.to_string();
            }
        }
    }

    /// Latencies of operations over the collection.
    pub fn operation_latencies(&self) -> OperationLatencies {
        let mut all = OperationLatencies::default();
        let collected = self.collected.iter();
        for operations in collected.flat_map(|collected| &collected.operations) {
            all.merge(operations);
        }
        all
    }
}

fn is_storage_fault(error: &EngineError) -> bool {
    use brunt_world::IoError::{Device, Other, PastEnd};
    match error {
        EngineError::Page { fault, .. } => !matches!(fault, PageFault::Structure),
        EngineError::LogFailed(error) | EngineError::File { error, .. } => {
            matches!(error, Device | PastEnd | Other(_))
        }
        _ => false,
    }
}
