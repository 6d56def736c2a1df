//! A test from beginning to end.
//!
//! ```text
//!   decide --> remove, create --> open --> wait --> warm up --> (tune) --> collect --> close --> records --> files
//!     |             |              |                   |          |           |          |          |          |
//!  RunError      RunError          +-------------------+----------+-- Broken: the rest is "not measured" ------+
//! ```
//!
//! Until the databases are open an error is just an error: [`RunError`]. From then on there is
//! always a [`TestRun`], which states how far the test came and holds the measurements until then.
//! A stop is one of these endings, and so is an I/O that never completes: the test does not wait
//! for it, and what is open stays open.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use brunt_ese::error::EngineError;
use brunt_report::result::PhaseName;
use brunt_run::{Listener, News, Stop, TELL};
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::keys::{Extent, Population};
use brunt_world::World;

use crate::copies::{self, Followers};
use crate::error::RunError;
use crate::hanging::{FlightRecorder, HUNG};
use crate::injection::Injection;
use crate::kinds::Work;
use crate::load::Load;
use crate::load::replication::ship_logs;
use crate::phases::creation;
use crate::phases::places::{self, Decision};
use crate::phases::portion::Portion;
use crate::phases::telling::telling;
use crate::phases::test_run::{TestRun, broken_by};
use crate::plan::Plan;
use crate::rules::{Ending, RecordsVerified};
use crate::server::{Server, Table};
use crate::shards::{Border, Meeting, Shard};
use crate::truth::content;
use crate::truth::integrity;
use crate::truth::oracle::Oracle;
use crate::truth::survey::survey;
use crate::truth::verification::{self, Files, Unwritten};

/// How often the director checks whether to stop, to sample, or to report.
pub(crate) const TICK: Span = Span::millis(50);
/// How often the director checks for hung I/O.
pub(crate) const LOOK: Span = Span::seconds(1);

/// Records are compared for a tenth of the test's duration at most, but at least for this long.
const RECORDS_TIME_MIN: Span = Span::seconds(30);

/// How long records are compared, at most.
pub(crate) fn records_time(plan: &Plan) -> Span {
    RECORDS_TIME_MIN.max(Span(plan.duration.0.div_euclid(10)))
}

/// Runs `plan` in `world`.
///
/// # Errors
/// [`RunError`] when no test was possible.
pub async fn run(
    world: &World,
    plan: &Plan,
    listener: &dyn Listener,
    stop: &Stop,
) -> Result<TestRun, RunError> {
    run_among(world, plan, listener, stop, None).await
}

/// Runs `plan` in `world`, together with the other parts of a test that it meets.
///
/// # Errors
/// [`RunError`] when no test was possible.
pub async fn run_among(
    world: &World,
    plan: &Plan,
    listener: &dyn Listener,
    stop: &Stop,
    meeting: Option<&dyn Meeting>,
) -> Result<TestRun, RunError> {
    let parts = Parts { meeting, shard: None };
    direct(world, plan, listener, stop, parts, async |director| director.run().await).await
}

/// Runs the `plan` of `shard` in `world`, whose clock is that of all shards. What is left of it is
/// to be joined with the others.
///
/// # Errors
/// [`RunError`] when no test was possible; the other shards are then stopped.
pub async fn run_shard(
    world: &World,
    plan: &Plan,
    shard: &Shard,
    stop: &Stop,
) -> Result<Portion, RunError> {
    let stop = &shard.or_failed(stop);
    let parts = Parts { meeting: Some(shard.meeting()), shard: Some(shard) };
    let run = direct(world, plan, shard, stop, parts, async |director| director.run().await).await;
    if run.is_err() {
        shard.fail();
    }
    run.map(Portion::from)
}

/// Runs `work` with a director over `world`; its faults and a recorder of I/O in flight are in
/// between.
pub(crate) async fn direct(
    world: &World,
    plan: &Plan,
    listener: &dyn Listener,
    stop: &Stop,
    parts: Parts<'_>,
    work: impl AsyncFnOnce(&Director<'_>) -> Result<TestRun, RunError>,
) -> Result<TestRun, RunError> {
    let (world, injection) = Injection::before(world, plan);
    let recorder = FlightRecorder::over(&world, plan);
    let director = Director {
        world: &recorder.world(&world),
        recorder: &recorder,
        injection: &injection,
        plan,
        listener,
        stop,
        parts,
    };
    work(&director).await
}

/// Takes a test through its phases.
pub(crate) struct Director<'a> {
    pub(crate) world: &'a World,
    pub(crate) recorder: &'a Rc<FlightRecorder>,
    pub(crate) injection: &'a Injection,
    pub(crate) plan: &'a Plan,
    pub(crate) listener: &'a dyn Listener,
    pub(crate) stop: &'a Stop,
    pub(crate) parts: Parts<'a>,
}

/// The way to the other parts of a test, if there are others.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parts<'a> {
    pub(crate) meeting: Option<&'a dyn Meeting>,
    /// Where samples are handed in, when shards are joined.
    pub(crate) shard: Option<&'a Shard>,
}

/// An I/O hangs, and the pending work depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp;

impl Director<'_> {
    async fn run(&self) -> Result<TestRun, RunError> {
        let started = self.world.clock.now();
        let opened = self.unless_hung(self.open()).await;
        let opened = opened.map_err(|GaveUp| RunError::Hung(self.hung()))?;
        let (server, populations, followers) = opened?;
        let mut run = TestRun::new(self.plan, started, &server);
        self.meet(Border::Ready).await;
        self.wait_for_start().await;
        if let Some(note) = self.injection.release() {
            self.note(note);
        }
        let extents = match self.plan.kind.work() {
            Work::Load => self.work(&mut run, &server, populations).await,
            Work::Replay => self.recover(&mut run, &server, populations).await,
            Work::BackUp => {
                let extents = verification::extents(&populations);
                let as_before = self.back_up(&mut run, &server).await;
                as_before.then_some(extents)
            }
        };
        self.end_copies(&mut run, &server, &followers, extents.as_deref()).await;
        self.verify(&mut run, &server, extents).await;
        run.hung = self.recorder.hung();
        run.injected = self.injection.outcome();
        run.ended = self.now();
        Ok(run)
    }

    /// Opens the databases of the plan and surveys their records.
    async fn open(&self) -> Result<(Rc<Server>, Vec<Population>, Rc<Followers>), RunError> {
        let (world, plan) = (self.world, self.plan);
        let decisions = places::decide(world, plan).await?;
        let copies_there = copies::there(world, plan).await?;
        if plan.carried.is_some()
            && let Some(path) = places::missing(plan, &decisions)
        {
            return Err(RunError::NothingToCarryOn(path.to_owned()));
        }
        self.tell(places::news(plan, &decisions));
        if !self.meet(Border::Decided).await {
            return Err(RunError::Stopped);
        }
        self.put_in_order(&decisions).await?;
        places::remove_all(world, &copies_there).await?;
        creation::create(world, plan, &decisions, self.listener, self.stop).await?;
        if self.stop.is_asked() {
            return Err(RunError::Stopped);
        }
        let instances = decisions.iter().zip(&plan.instances);
        let fresh = instances.flat_map(|(decision, instance)| {
            let databases = 0..instance.databases.len();
            databases.map(|index| decision.create.contains(&index))
        });
        let databases = plan.databases().count();
        let oracles = fresh.map(|fresh| match fresh {
            true => Oracle::fresh(databases),
            false => Oracle::unknown(databases),
        });
        let oracles = oracles.collect();
        let server = Server::open(world, plan, self.listener, Some(oracles)).await?;
        let server = Rc::new(server);
        server.name_files(|file, path| self.recorder.name(file, path));
        let surveyed = survey(world, &server, self.listener).await;
        let followed = match surveyed {
            Ok(populations) => {
                let followers = self.follow(&server).await;
                followers.map(|followers| (populations, followers))
            }
            Err(error) => Err(error),
        };
        match followed {
            Ok((populations, followers)) => Ok((server, populations, followers)),
            Err(error) => {
                // The first error is the one to report; databases are recoverable anyway.
                let _ = server.close().await;
                Err(error)
            }
        }
    }

    /// Seeds the copies of the plan, and ships logs to them from now on.
    async fn follow(&self, server: &Rc<Server>) -> Result<Rc<Followers>, RunError> {
        let (world, plan) = (self.world, self.plan);
        let begun = Followers::begin(world, plan, server, self.listener, self.stop).await;
        if begun.is_err() {
            // What was seeded is worthless.
            if let Ok(there) = copies::all(world, plan).await {
                // The first error is the one to report.
                let _ = places::remove_all(world, &there).await;
            }
        }
        let followers = Rc::new(begun?);
        server.follow(Rc::<Followers>::clone(&followers));
        Ok(followers)
    }

    /// Lets the copies catch up, and verifies them.
    async fn end_copies(
        &self,
        run: &mut TestRun,
        server: &Server,
        followers: &Followers,
        extents: Option<&[Extent]>,
    ) {
        let (world, plan) = (self.world, self.plan);
        let is_whole = extents.is_some() && !self.stop.is_asked();
        let extents = extents.filter(|_| is_whole && plan.read_files);
        run.copies = followers.known(plan);
        let ended = followers.end(world, plan, server, extents, self.listener, self.stop);
        match self.unless_hung(ended).await {
            Ok(copies) => run.copies = copies,
            Err(GaveUp) => run.ending = Ending::Broken(self.hung()),
        }
        if self.stop.is_asked() && matches!(run.ending, Ending::Complete) {
            run.ending = Ending::Stopped;
        }
    }

    /// Finishes what an interrupted run has begun, removes files as decided, and reports it.
    async fn put_in_order(&self, decisions: &[Decision]) -> Result<(), RunError> {
        for (instance, decision) in self.plan.instances.iter().zip(decisions) {
            if let Some(journal) = &decision.restore {
                journal.carry_out(self.world, instance).await?;
                let name = &instance.name;
                self.note(format!(
                    "{name}: a restore was interrupted after its copies were whole; it is finished now"
                ));
            }
        }
        places::remove(self.world, decisions).await?;
        let unfinished = decisions.iter().flat_map(|decision| &decision.unfinished);
        for path in unfinished {
            let path = path.display();
            self.note(format!("{path}: removed, an interrupted run had not finished it"));
        }
        Ok(())
    }

    /// From now on I/O counts for `phase`.
    pub(crate) fn begin_phase(&self, phase: PhaseName) {
        self.recorder.begin_phase(phase);
    }

    /// The running phase has ended; `run` has its I/O.
    pub(crate) fn end_phase(&self, run: &mut TestRun) {
        run.phases.extend(self.recorder.end_phase());
    }

    /// Waits until all parts have come to `border`. Returns `false` if it is stopped meanwhile.
    async fn meet(&self, border: Border) -> bool {
        let Some(meeting) = self.parts.meeting else { return true };
        meeting.arrive(border);
        while !meeting.are_all_at(border) && !self.stop.is_asked() {
            self.world.sleep(TICK).await;
        }
        !self.stop.is_asked()
    }

    /// Waits for the common start of several hosts.
    pub(crate) async fn wait_for_start(&self) {
        let agreed = self.parts.meeting.and_then(Meeting::start);
        let Some(at) = agreed.or(self.plan.start_at) else { return };
        let now = self.now();
        if now > at {
            let late = (now - at).as_seconds();
            self.note(format!("the start was to be {late:.0} s ago: databases were not ready"));
        }
        while self.now() < at && !self.stop.is_asked() {
            let left = at - self.now();
            self.tell(News::Waiting { left });
            self.world.sleep_until(at.min(self.now() + TELL)).await;
        }
    }

    /// Runs the sessions and shuts down cleanly. Returns what the databases must hold then; `None`
    /// if something went wrong.
    pub(crate) async fn work<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
        populations: Vec<Population>,
    ) -> Option<Vec<Extent>> {
        let maintenance = self.plan.throttle().map(|throttle| server.maintain(throttle));
        let sessions = self.plan.sessions;
        let mut load = Load::start(self.world, self.plan, server, populations, sessions);
        ship_logs(self.world, self.plan, server);
        let warm = self.warm_up(server, &mut load).await;
        run.short_of = warm.short_of;
        let mut refused = warm.is_stuck.then(|| self.hung());
        if refused.is_none() && !self.is_over(&load) {
            refused = self.tune(run, server, &mut load).await.err();
        }
        if refused.is_none() && !self.is_over(&load) {
            refused = self.collect(run, server, &mut load).await.err();
        }
        if !run.is_collected(self.plan) || run.hopeless.is_some() {
            let failure = server.failure().map(|error| error.to_string());
            let why = refused.clone().or(load.outgrown.clone()).or(failure);
            let why = why.or(run.hopeless.clone());
            let why = why.unwrap_or_else(|| "its collection ended before its time".to_owned());
            self.parts.meeting.iter().for_each(|meeting| meeting.give_up(&why));
        }
        let closed = self.shut_down(&load, server).await;
        let unclosed = closed.as_ref().ok().and_then(|closed| closed.clone().err());
        run.last = server.file_sizes();
        run.note_sessions(&load.sessions);
        run.ending = match (refused.or(load.outgrown.clone()), closed) {
            (Some(why), _) if run.is_undecided() => Ending::Unanswered(why),
            (Some(why), _) => Ending::Broken(why),
            (None, Err(GaveUp)) => Ending::Broken(self.hung()),
            (None, Ok(closed)) => match (server.failure().or(closed.err()), self.stop.is_asked()) {
                (Some(error), _) => broken_by(&error),
                (None, true) => Ending::Stopped,
                (None, false) if run.log.errors > 0 => run.broken_by_errors(self.plan),
                (None, false) => Ending::Complete,
            },
        };
        let failure = server.failure().or(unclosed);
        let failure = failure.or(server.replication_error());
        run.note_errors(failure.or(server.unfinished()));
        run.note_failed_runs(server.failed_runs());
        let maintenance = maintenance.unwrap_or_default();
        run.note_maintenance(&maintenance);
        if let Some(followers) = server.followers() {
            run.note_patches(&followers.patches(), &maintenance);
            followers.repeated().into_iter().for_each(|note| self.note(note));
        }
        let known = matches!(run.ending, Ending::Complete | Ending::Stopped);
        known.then(|| load.sessions.with_workload(|w| verification::extents(w.populations())))
    }

    /// Ends sessions and closes the server, unless an I/O hangs.
    async fn shut_down<T: Table>(
        &self,
        load: &Load<T>,
        server: &Server<T>,
    ) -> Result<Result<(), EngineError>, GaveUp> {
        self.unless_hung(load.sessions.stop()).await?;
        self.close(server).await
    }

    /// Closes the server, unless an I/O hangs, and reports how much is still to be written.
    pub(crate) async fn close<T: Table>(
        &self,
        server: &Server<T>,
    ) -> Result<Result<(), EngineError>, GaveUp> {
        let total = server.unwritten();
        let tell = || {
            let left = server.unwritten().min(total);
            let done = ByteSize::bytes(total.get() - left.get());
            self.tell(News::Closing { done, total });
        };
        tell();
        self.unless_hung(telling(self.world, server.close(), tell)).await
    }

    async fn verify(&self, run: &mut TestRun, server: &Rc<Server>, extents: Option<Vec<Extent>>) {
        if self.stop.is_asked() || self.recorder.look(self.now()).is_some() {
            return;
        }
        let begun = self.now();
        if let Some(extents) = extents {
            let records = self.verify_records(server.oracles(), &extents);
            match self.unless_hung(records).await {
                Ok(Ok(found)) => run.records = found,
                Ok(Err(error)) => {
                    run.note_errors(Some(error.clone()));
                    run.ending = Ending::Broken(error.to_string());
                }
                Err(GaveUp) => return run.ending = Ending::Broken(self.hung()),
            }
        }
        if self.plan.read_files {
            self.begin_phase(PhaseName::Checksum);
            let files = self.verify_files(server.unwritten_pages());
            let files = self.unless_hung(files).await;
            self.end_phase(run);
            match files {
                Ok(files) => {
                    let found = files.iter().map(|files| &files.found);
                    found.for_each(|found| run.found.absorb(found));
                    run.files = files;
                    let content = content::content(self.world, self.plan);
                    match self.unless_hung(content).await {
                        Ok(content) => run.content = content,
                        Err(GaveUp) => return run.ending = Ending::Broken(self.hung()),
                    }
                }
                Err(GaveUp) => return run.ending = Ending::Broken(self.hung()),
            }
        }
        if self.stop.is_asked() {
            run.ending = Ending::Stopped;
            return;
        }
        let took = self.now() - begun;
        self.tell(News::Verified { took, judged: true });
    }

    /// `None` when it was stopped.
    async fn verify_files(&self, unwritten: Unwritten) -> Option<Files> {
        for (database, pages) in &unwritten {
            let (first, count) = (pages[0], pages.len());
            let database = database.display();
            let pages = match count {
                1 => format!("page {first}"),
                _ => format!("{count} pages from page {first}"),
            };
            self.note(format!(
                "{database}: the write of {pages} failed, so what is on disk is not judged; recovery rebuilds it"
            ));
        }
        verification::files(self.world, self.plan, &unwritten, self.listener, self.stop).await
    }

    /// `None` when it was stopped.
    async fn verify_records(
        &self,
        oracles: Vec<Oracle>,
        extents: &[Extent],
    ) -> Result<Option<RecordsVerified>, EngineError> {
        let (world, listener, stop) = (self.world, self.listener, self.stop);
        let server = Server::open(world, self.plan, listener, Some(oracles)).await?;
        let server = Rc::new(server);
        let until = world.clock.now() + records_time(self.plan);
        let found = integrity::records(world, &server, extents, until, listener, stop).await;
        let closed = server.close().await;
        let found = found?;
        closed?;
        Ok((!stop.is_asked()).then_some(found))
    }

    /// Runs `work` unless an I/O hangs meanwhile.
    pub(crate) async fn unless_hung<T>(&self, work: impl Future<Output = T>) -> Result<T, GaveUp> {
        let mut work = pin!(work);
        let mut alarm = Box::pin(self.world.sleep(LOOK));
        self.recorder.expect(self.now() + LOOK);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            while alarm.as_mut().poll(context).is_ready() {
                self.recorder.beat(LOOK);
                if self.recorder.look(self.now()).is_some() {
                    return Poll::Ready(Err(GaveUp));
                }
                alarm = Box::pin(self.world.sleep(LOOK));
            }
            Poll::Pending
        })
        .await
    }

    /// The hung I/O, as the end of a sentence.
    pub(crate) fn hung(&self) -> String {
        let hung = self.recorder.hung();
        format!(
            "{} has not come back for {} s",
            hung.first,
            hung.longest.max(HUNG).0.div_euclid(1_000_000_000)
        )
    }

    pub(crate) fn is_over<T: Table>(&self, load: &Load<T>) -> bool {
        let gives_up = |meeting: &dyn Meeting| meeting.has_given_up();
        self.stop.is_asked() || load.is_over() || self.parts.meeting.is_some_and(gives_up)
    }

    /// Regular care for running sessions: their pace and the growth of databases.
    pub(crate) fn tend<T: Table>(&self, load: &mut Load<T>) {
        load.keep_pace(self.now());
        if let Some(note) = load.watch_growth(self.plan) {
            self.note(note);
        }
    }

    /// Waits until `until`, or for longer if the program does not run meanwhile.
    pub(crate) async fn wait_until(&self, until: Time) {
        self.recorder.expect(until);
        self.world.sleep_until(until).await;
        self.recorder.beat(TICK);
    }

    pub(crate) fn now(&self) -> Time {
        self.world.clock.now()
    }

    pub(crate) fn note(&self, note: String) {
        self.tell(News::Note { text: note });
    }

    pub(crate) fn tell(&self, news: News) {
        let notes = self.injection.news().into_iter();
        for text in notes.chain(self.recorder.news()) {
            self.listener.tell(self.now(), &News::Note { text });
        }
        self.listener.tell(self.now(), &news);
    }
}
