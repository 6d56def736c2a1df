//! Takes a drill through its timeline: load, what happens to the storage, failovers step by step,
//! and the load afterwards.
//!
//! Time passes in [`Conductor::pass`] alone: it tends the sessions, closes samples and notes what
//! the pair reports. Work of servers runs in tasks of their hosts meanwhile.

use std::cell::Cell;
use std::rc::Rc;

use brunt_array::{Incident, NoteKind, Scheduled, Site};
use brunt_drill::{AtRisk, Rehearsal, measured};
use brunt_qualify::phases::serving::TICK;
use brunt_report::result::DrillSample;
use brunt_run::{Listener, Stop};
use brunt_scenario::Drill;
use brunt_units::{ByteSize, Span, Time};
use brunt_world::Task;

use super::mail_server::{DrillEngine, MailServer};
use super::sites::Sites;
use super::unable::Unable;

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

/// A drill under way.
pub(super) struct Conductor<T: DrillEngine> {
    pub(super) sites: Sites,
    pub(super) plan: CoursePlan,
    pub(super) servers: Vec<MailServer<T>>,
    pub(super) stop: Stop,
    pub(super) rehearsal: Rehearsal,
    pub(super) site: Cell<Site>,
    notes_seen: Cell<usize>,
    /// The share of the load that is wanted now, in percent.
    share: Cell<u32>,
    /// How long the timeline takes, with the load after it.
    expected: Cell<Span>,
    end: Cell<Time>,
}

impl<T: DrillEngine> Conductor<T> {
    pub(super) fn new(
        sites: Sites,
        plan: CoursePlan,
        servers: Vec<MailServer<T>>,
        listener: &Rc<dyn Listener>,
        stop: Stop,
    ) -> Self {
        Self {
            sites,
            plan,
            servers,
            stop,
            rehearsal: Rehearsal::new(listener),
            site: Cell::new(Site::Source),
            notes_seen: Cell::new(0),
            share: Cell::new(100),
            expected: Cell::new(Span::seconds(1)),
            end: Cell::default(),
        }
    }

    /// Runs the drill.
    ///
    /// # Errors
    /// Why there was none, in words.
    pub(super) async fn run(&self) -> Result<(), Unable> {
        self.open().await?;
        self.pass(self.sites.now() + self.plan.warm_up).await;
        self.drop_samples();
        let begun = self.sites.now();
        self.rehearsal.course.begin(begun);
        let last = self.plan.timeline.last().map_or(Span::ZERO, |one| Span(one.at.0));
        self.expected.set(last + self.plan.drill.after);
        self.end.set(begun + last + self.plan.patience);
        self.schedule_arrays(begun)?;
        for one in &self.plan.timeline {
            self.pass(begun + Span(one.at.0)).await;
            if self.stop.is_asked() {
                return self.give_up(format!("stopped before the event at {}", Span(one.at.0)));
            }
            if !is_of_pair(one) {
                continue;
            }
            let (planned, now) = (Span(one.at.0), self.sites.now());
            if now > begun + planned {
                let late = format!("now, what was to be at {planned}, during the failover:");
                self.tell(now, late);
            }
            let one = Scheduled { at: now, ..one.clone() };
            self.apply(&one).await?;
        }
        // The array has processed the last event.
        self.pass(self.sites.now() + TICK).await;
        let can_wait = || self.sites.now() < self.end.get() && !self.stop.is_asked();
        while self.sites.keeps_apart().is_none() && !self.sites.apart().is_empty() && can_wait() {
            self.pass(self.sites.now() + Span::seconds(1)).await;
        }
        self.pass(self.sites.now() + self.plan.drill.after).await;
        if self.stop.is_asked() {
            return self.give_up("stopped after the last event".to_owned());
        }
        self.close().await
    }

    /// Schedules what happens to an array alone: it does not wait for the end of a failover, as
    /// what concerns the pair does.
    fn schedule_arrays(&self, begun: Time) -> Result<(), Unable> {
        let timeline = self.plan.timeline.iter();
        for one in timeline.filter(|one| !is_of_pair(one)) {
            let at = Scheduled { at: begun + Span(one.at.0), ..one.clone() };
            self.sites.schedule(&at)?;
        }
        Ok(())
    }

    fn give_up(&self, why: String) -> Result<(), Unable> {
        self.look_for_service();
        self.rehearsal.evidence().unfinished = Some(why);
        Ok(())
    }

    /// Creates the databases of all servers and lets sessions work on them.
    pub(super) async fn open(&self) -> Result<(), Unable> {
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
            self.pass(self.sites.now() + TICK).await;
            if self.stop.is_asked() {
                return Err(Unable::Stopped);
            }
        }
        for (server, world, created) in opened {
            server.open_ledger(&created.1);
            server.serve(&world, created);
        }
        Ok(())
    }

    /// Lets time pass until `until`.
    pub(super) async fn pass(&self, until: Time) {
        while self.sites.now() < until && !self.stop.is_asked() {
            let next = until.min(self.sites.now() + TICK);
            self.sites.world.sleep_until(next).await;
            self.look();
            self.pace().await;
        }
    }

    /// Lets time pass until `task` has ended.
    pub(super) async fn during<R: 'static>(&self, task: Task<R>) -> Option<R> {
        while !task.is_done() {
            if self.stop.is_asked() || self.sites.now() > self.end.get() + HANGS {
                return None;
            }
            self.sites.world.sleep(STEP).await;
            self.look();
        }
        Some(task.await)
    }

    /// Tends the sessions, closes a sample that is due, and notes what the pair reports.
    fn look(&self) {
        let now = self.sites.now();
        for server in &self.servers {
            if let Some(serving) = server.serving.borrow_mut().as_mut() {
                let _ = serving.tend();
            }
        }
        if self.rehearsal.lost().is_none() && !self.sites.serves(self.site.get()) {
            self.lose_service(self.site.get());
        }
        if now.since(self.rehearsal.course.closed_at()) >= self.plan.drill.sample {
            self.close_sample();
        }
    }

    /// Forgets what was measured so far.
    fn drop_samples(&self) {
        for server in &self.servers {
            if let Some(serving) = server.serving.borrow().as_ref() {
                let _ = serving.interval();
            }
        }
        self.rehearsal.course.drop_samples();
    }

    pub(super) fn close_sample(&self) {
        let now = self.sites.now();
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
        self.rehearsal.course.close(now, sample);
        self.observe_pair();
        self.forget();
        if self.end.get() > Time::ZERO {
            self.rehearsal.progress(now, self.expected.get());
        }
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
        self.tell(self.sites.now(), format!("load at {wanted} %"));
        for server in &self.servers {
            server.pace_to(wanted).await;
        }
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
    pub(super) fn observe_pair(&self) {
        let notes = {
            let device = self.sites.array.device();
            device.array().notes()
        };
        for note in notes.iter().skip(self.notes_seen.get()) {
            if matches!(note.what, NoteKind::Pair(_)) {
                self.tell(note.at, note.what.to_string());
            }
        }
        self.notes_seen.set(notes.len());
    }

    pub(super) fn tell(&self, at: Time, what: String) {
        self.rehearsal.tell(at, what);
    }

    /// What replication says would be lost now.
    pub(super) fn at_risk(&self) -> AtRisk {
        let mut at_risk = AtRisk::default();
        for group in self.sites.replication().groups {
            let Some(risk) = group.at_risk else { continue };
            at_risk.writes += risk.writes;
            at_risk.bytes = ByteSize::bytes(at_risk.bytes.get() + risk.bytes);
            at_risk.since = [at_risk.since, risk.since].into_iter().flatten().min();
        }
        at_risk
    }
}

fn is_of_pair(one: &Scheduled) -> bool {
    matches!(one.incident, Incident::Pair(_))
}

/// How exactly the end of work is seen.
const STEP: Span = Span::millis(1);

/// Work that takes longer than this after the end hangs.
const HANGS: Span = Span::seconds(24 * 3600);
