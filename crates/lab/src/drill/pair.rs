//! Mail servers on a pair of modelled arrays, as the conductor of a drill has them.
//!
//! ```text
//!   failure -> decision -> storage failover -> role change -> host rescan -> log replay -> mount -> first operation
//!                          operator            the pair       hosts          the engine
//! ```
//!
//! A planned failover begins with a clean shutdown and has no replay. Work of servers runs in tasks
//! of their hosts; meanwhile sessions are tended, samples closed, and what the pair reports is noted.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_array::{Failover, Incident, NoteKind, PairIncident, Scheduled, Site};
use brunt_drill::{
    AtRisk, Checksum, CourseError, Ends, Found, Key, Meaning, Otherwise, Pair, Rehearsal,
    SharedLedger, Step, Survivor, Timetable, measured,
};
use brunt_qualify::phases::serving::TICK;
use brunt_report::result::DrillSample;
use brunt_run::{Listener, Stop};
use brunt_scenario::{Decision, Drill};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::Task;

use crate::gauge::parts::Marks;

use super::mail_server::{DrillEngine, MailServer, checksum};
use super::sites::Sites;
use super::unable::Unable;

/// How exactly the end of work is seen.
const STEP: Span = Span::millis(1);
/// Work that takes longer than this after the end hangs.
const HANGS: Span = Span::seconds(24 * 3600);
/// How long a pair may take to change sides: a planned failover drains its logs.
const PATIENCE: Span = Span::seconds(24 * 3600);

/// What is asked of a drill.
pub(super) struct CoursePlan {
    pub(super) drill: Drill,
    /// In order of their times.
    pub(super) timeline: Vec<Scheduled>,
    /// The load before the timeline begins.
    pub(super) warm_up: Span,
    /// The load goes on for at most this long after the last event.
    pub(super) patience: Span,
}

/// The phase of the load that begins with an event.
fn phase(what: &PairIncident) -> Option<&'static str> {
    match what {
        PairIncident::LinkLost => Some("link lost"),
        PairIncident::LinkReturns => Some("link back"),
        PairIncident::LinkFlaps { .. } => Some("link flaps"),
        PairIncident::SourceReturns | PairIncident::DestinationReturns => Some("storage back"),
        _ => None,
    }
}

/// Mail servers in a drill.
pub(super) struct ArrayPair<T: DrillEngine> {
    pub(super) sites: Sites,
    plan: CoursePlan,
    pub(super) servers: Vec<MailServer<T>>,
    pub(super) rehearsal: Rehearsal,
    notes_seen: Cell<usize>,
    /// The parts of the arrays at the end of the newest sample.
    marks: RefCell<Marks>,
    /// The share of the load that is wanted now, in percent.
    share: Cell<u32>,
    /// When the drill is to be over.
    end: Cell<Time>,
}

/// What ends a step of a failover between arrays.
pub(super) enum Duty {
    /// Whatever still runs at the other site must not write any more; then an operator takes his
    /// time.
    Operate,
    /// The pair serves at this side.
    ChangeRoles(Site, Failover),
}

impl<T: DrillEngine> Pair for ArrayPair<T> {
    type Event = Scheduled;
    type Duty = Duty;
    const STEP: Span = TICK;
    const PUNCTUAL: Span = Span::ZERO;
    const DELAYED_BY: &'static str = "the failover";

    fn rehearsal(&self) -> &Rehearsal {
        &self.rehearsal
    }

    /// What happens to an array alone does not wait for the end of a failover.
    fn meaning(&self, event: &Scheduled) -> Meaning {
        let Incident::Pair(what) = &event.incident else {
            return Meaning::Scheduled;
        };
        match *what {
            PairIncident::SourceLost => Meaning::Lost(Site::Source),
            PairIncident::DestinationLost => Meaning::Lost(Site::Destination),
            PairIncident::FailOver { to, how, .. } => Meaning::FailOver(
                to,
                match how {
                    Failover::Planned => Decision::Planned,
                    Failover::Unplanned => Decision::Unplanned,
                    Failover::Forced => Decision::Forced,
                },
            ),
            _ => Meaning::Other,
        }
    }

    async fn open(&self) -> Result<(), CourseError> {
        let mut tasks = Vec::new();
        for server in &self.servers {
            let world = server.boot(&self.sites, Site::Source);
            let task = T::create(world.clone(), server.plan(Site::Source).clone());
            tasks.push((server, world.clone(), world.spawner.spawn(task)));
        }
        let mut opened = Vec::new();
        for (server, world, task) in tasks {
            opened.push((server, world, task.await?));
        }
        self.sites.array.device().assume_written();
        // Both sides hold the new databases before anything is lost.
        while !self.sites.apart().is_empty() || self.at_risk().writes > 0 {
            self.pass(self.now() + TICK).await?;
        }
        for (server, world, created) in opened {
            server.open_ledger(&created.1);
            server.serve(&world, created);
        }
        Ok(())
    }

    async fn begin(&self) -> Result<(), CourseError> {
        for server in &self.servers {
            if let Some(serving) = server.serving.borrow().as_ref() {
                let _ = serving.interval();
            }
        }
        self.marks.replace(Marks::begin(std::slice::from_ref(&self.sites.array)));
        let last = self.plan.timeline.last().map_or(Span::ZERO, |one| Span(one.at.0));
        self.end.set(self.now() + last + self.plan.patience);
        Ok(())
    }

    fn look(&self) -> Result<(), CourseError> {
        for server in &self.servers {
            if let Some(serving) = server.serving.borrow_mut().as_mut() {
                let _ = serving.tend();
            }
        }
        if self.rehearsal.lost().is_none() && !self.sites.serves(self.rehearsal.serving.get()) {
            self.lose_service();
        }
        let since = self.now().since(self.rehearsal.course.closed_at());
        if since >= self.plan.drill.sample {
            self.close_sample();
        }
        self.rehearsal.heed()
    }

    /// Reduces the load while logs are merged, and gives it back afterwards.
    async fn pace(&self) {
        let wanted = match self.sites.is_merging() {
            true => self.plan.drill.merge_load_percent,
            false => 100,
        };
        if self.share.replace(wanted) == wanted {
            return;
        }
        self.rehearsal.tell(format!("load at {wanted} %"));
        for server in &self.servers {
            server.pace_to(wanted).await;
        }
    }

    fn close_sample(&self) {
        let intervals: Vec<_> = self
            .servers
            .iter()
            .filter_map(|server| Some(server.serving.borrow().as_ref()?.interval()))
            .collect();
        let groups = self.sites.replication().groups;
        let at_risk = groups.iter().map(|group| group.at_risk.map(|risk| risk.writes));
        let full = groups.iter().filter_map(|group| group.log.full_in);
        let sample = DrillSample {
            log_bytes: groups.iter().map(|group| group.log.used.get()).sum(),
            at_risk_writes: at_risk.sum(),
            full_in_s: full.min().map(Span::as_seconds),
            ..measured(&intervals)
        };
        let course = &self.rehearsal.course;
        let length = self.now().since(course.closed_at());
        if length > Span::ZERO {
            let array = std::slice::from_ref(&self.sites.array);
            let parts = self.marks.borrow_mut().sample(array, &self.sites.names, length);
            course.close(self.now(), sample, parts);
        }
        self.observe_pair();
        self.forget();
        self.rehearsal.progress();
    }

    fn at_risk(&self) -> AtRisk {
        let mut at_risk = AtRisk::default();
        for group in self.sites.replication().groups {
            let Some(risk) = group.at_risk else { continue };
            at_risk.writes += risk.writes;
            at_risk.bytes = ByteSize::bytes(at_risk.bytes.get() + risk.bytes);
            at_risk.since = [at_risk.since, risk.since].into_iter().flatten().min();
        }
        at_risk
    }

    async fn happen(&self, at: Time, event: &Scheduled) -> Result<(), CourseError> {
        let schedule = || self.sites.schedule(&Scheduled { at, ..event.clone() });
        match &event.incident {
            Incident::Pair(PairIncident::Keep { site, .. })
                if *site != self.rehearsal.serving.get() =>
            {
                let why = "does not serve, and a drill keeps the side that serves";
                self.rehearsal.told(at, format!("the split goes on: the {} {why}", site.word()));
            }
            Incident::Pair(what) => {
                schedule().map_err(Unable::from)?;
                if let Some(phase) = phase(what) {
                    self.rehearsal.course.phase(at, phase);
                }
            }
            _ => schedule().map_err(Unable::from)?,
        }
        Ok(())
    }

    fn hand_over(&self, to: Site, decision: Decision) -> Vec<Step<Duty>> {
        let how = match decision {
            Decision::Planned => Failover::Planned,
            Decision::Forced => Failover::Forced,
            Decision::Unplanned | Decision::Automatic { .. } => Failover::Unplanned,
        };
        vec![
            Step::new("storage failover", Ends::Own(Duty::Operate)).given(),
            Step::new("role change", Ends::Own(Duty::ChangeRoles(to, how))).or(Otherwise::Refused),
            Step::new("host rescan", Ends::After(self.plan.drill.host_rescan)).given(),
        ]
    }

    async fn perform(&self, duty: Duty) -> Result<(), CourseError> {
        match duty {
            Duty::Operate => {
                self.servers.iter().for_each(MailServer::kill);
                self.pass(self.now() + self.plan.drill.storage_failover).await
            }
            Duty::ChangeRoles(to, how) => self.change_roles(to, how).await,
        }
    }

    async fn shut_down(&self) -> Result<(), CourseError> {
        let mut failed = None;
        for server in &self.servers {
            if let Err(why) = server.stop().await {
                let short = format!("{} cannot be closed", server.name);
                self.rehearsal.evidence().not_read = Some(short);
                failed.get_or_insert(server.unable("be closed", why));
            }
        }
        Ok(failed.map_or(Ok(()), Err)?)
    }

    async fn recover(&self, to: Site) -> Result<Time, CourseError> {
        let begun = self.now();
        let mut tasks = Vec::new();
        for server in &self.servers {
            let world = server.boot(&self.sites, to);
            let task = server.take_over(world.clone())?;
            tasks.push((server, world.clone(), world.spawner.spawn(task)));
        }
        let mut replay = Span::ZERO;
        for (server, world, task) in tasks {
            let taken = self.during(task, "recovery").await?;
            let (open, took) = taken.map_err(|why| server.unable("recover", why))?;
            replay = replay.max(took);
            *server.opened.borrow_mut() = Some((world, open));
        }
        Ok((begun + replay).min(self.now()))
    }

    async fn first_operation(&self) -> Result<(), CourseError> {
        for server in &self.servers {
            if let Some((world, first)) = server.first_operation() {
                self.during(world.spawner.spawn(first), "the first operation").await??;
            }
        }
        Ok(())
    }

    fn reported(&self, at_risk: AtRisk) -> Option<AtRisk> {
        Some(at_risk)
    }

    fn ledgers(&self) -> Vec<SharedLedger> {
        self.servers.iter().map(|server| server.ledger.clone()).collect()
    }

    fn has_content(&self) -> bool {
        T::HAS_CONTENT
    }

    async fn rest(&self, server: usize) -> Result<(), CourseError> {
        self.servers[server].rest().await;
        Ok(())
    }

    async fn found(&self, server: usize, keys: Vec<Key>) -> Result<Survivor, CourseError> {
        let server = &self.servers[server];
        let Some((spawner, open)) = server.open(&self.sites.world) else {
            return Ok(Survivor::Records(Found::new()));
        };
        let found = self.during(spawner.spawn(T::found(open, keys)), "reading records").await?;
        let found = found.map_err(|why| server.unable("be read", why))?;
        Ok(match T::HAS_CONTENT {
            true => Survivor::Records(found),
            false => Survivor::Ends(server.ends()),
        })
    }

    fn broken_order(&self) -> Option<String> {
        self.sites.mirror.borrow().broken_order().map(str::to_owned)
    }

    fn goes_on(&self, _: bool) -> bool {
        true
    }

    async fn work(&self) -> Result<(), CourseError> {
        let mut failed = None;
        for server in &self.servers {
            let opened = server.opened.borrow_mut().take();
            let Some((world, (open, known))) = opened else {
                continue;
            };
            let records = T::records(world.clone(), Rc::clone(&open), known);
            match self.during(world.spawner.spawn(records), "reading keys").await? {
                Ok(populations) => server.serve(&world, (open, populations)),
                Err(why) => {
                    failed.get_or_insert(server.unable("be read", why));
                }
            }
        }
        Ok(failed.map_or(Ok(()), Err)?)
    }

    async fn settle(&self, after: Span) -> Result<(), CourseError> {
        // The array has processed the last event.
        self.pass(self.now() + TICK).await?;
        let can_wait = || self.now() < self.end.get();
        while self.sites.keeps_apart().is_none() && !self.sites.apart().is_empty() && can_wait() {
            self.pass(self.now() + Span::seconds(1)).await?;
        }
        self.pass(self.now() + after).await
    }

    /// An outage that every server has survived is over with its cause.
    fn is_back(&self) -> bool {
        self.sites.serves(self.rehearsal.serving.get())
            && self.servers.iter().all(MailServer::works)
    }

    async fn inspect(&self) -> Result<(), CourseError> {
        // What the shutdown has written arrives.
        self.pass(self.now() + Span::seconds(1)).await?;
        let mut evidence = self.rehearsal.evidence();
        evidence.kept_apart = self.sites.keeps_apart();
        evidence.apart = self.sites.apart();
        if T::HAS_CONTENT && evidence.not_read.is_none() {
            match self.checksum_of_other_side() {
                Ok(Ok(sum)) => evidence.checksum = Some(sum),
                Ok(Err(why)) => evidence.unreadable = Some(why.to_string()),
                Err(why) => evidence.not_read = Some(why.to_string()),
            }
        }
        Ok(())
    }
}

impl<T: DrillEngine> ArrayPair<T> {
    pub(super) fn new(
        sites: Sites,
        plan: CoursePlan,
        servers: Vec<MailServer<T>>,
        listener: &Rc<dyn Listener>,
        stop: &Stop,
    ) -> Self {
        let rehearsal = Rehearsal::new(&sites.world, listener, stop);
        Self {
            sites,
            plan,
            servers,
            rehearsal,
            notes_seen: Cell::new(0),
            marks: RefCell::default(),
            share: Cell::new(100),
            end: Cell::default(),
        }
    }

    pub(super) fn timetable(&self) -> Timetable<Scheduled> {
        let events = self.plan.timeline.iter().map(|one| (Span(one.at.0), one.clone()));
        let (warm_up, after) = (self.plan.warm_up, self.plan.drill.after);
        Timetable { events: events.collect(), warm_up, after }
    }

    /// Lets time pass until `task` has ended.
    async fn during<R: 'static>(
        &self,
        task: Task<R>,
        what: &'static str,
    ) -> Result<R, CourseError> {
        while !task.is_done() {
            if self.now() > self.end.get() + HANGS {
                return Err(Unable::Endless(what).into());
            }
            self.sites.world.sleep(STEP).await;
            self.look()?;
        }
        Ok(task.await)
    }

    /// The pair serves at `to`, which has the files that it has brought there.
    async fn change_roles(&self, to: Site, how: Failover) -> Result<(), CourseError> {
        let from = to.other();
        self.sites.fail_over(to, how)?;
        let until = self.now() + PATIENCE;
        while !self.sites.serves(to) && self.now() < until {
            self.pass(self.now() + Span::millis(50)).await?;
        }
        if !self.sites.serves(to) {
            self.observe_pair();
            return Err(Unable::NotServing(to).into());
        }
        for server in &self.servers {
            server.leave(&self.sites.mirror.borrow())?;
        }
        let is_in_step = how == Failover::Planned && self.sites.is_up(from);
        self.sites.present(from, to, is_in_step)?;
        self.rehearsal.serving.set(to);
        Ok(())
    }

    /// What can no longer be lost need not be remembered.
    fn forget(&self) {
        if T::HAS_CONTENT || self.rehearsal.lost().is_some() {
            return;
        }
        let mirror = self.sites.mirror.borrow();
        for server in &self.servers {
            server.forget(&mirror);
        }
    }

    /// Notes what the pair has reported since the last look.
    fn observe_pair(&self) {
        let notes = {
            let device = self.sites.array.device();
            device.array().notes()
        };
        for note in notes.iter().skip(self.notes_seen.get()) {
            if matches!(note.what, NoteKind::Pair(_)) {
                self.rehearsal.told(note.at, note.what.to_string());
            }
        }
        self.notes_seen.set(notes.len());
    }

    /// What reading the other side shows; an error when it is no replica now.
    fn checksum_of_other_side(&self) -> Result<Result<Checksum, Unable>, Unable> {
        let here = self.rehearsal.serving.get();
        if let Some(apart) = self.sites.keeps_apart() {
            return Err(Unable::Apart(apart));
        }
        let mirror = self.sites.mirror.borrow();
        let files = self.sites.other_files(&mirror, here);
        let files = files.ok_or(Unable::OtherCopying)?;
        let plans: Vec<_> = self.servers.iter().map(|server| server.plan(here)).collect();
        Ok(checksum(&files, &plans))
    }
}
