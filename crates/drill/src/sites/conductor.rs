//! Takes a drill on two sites through its timeline.
//!
//! Time passes in [`Conductor::pass`] and [`Conductor::ask`] alone; both hear what the sites say. A
//! commit counts as acknowledged when its line is heard, at most a few milliseconds after it was
//! written.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use brunt_report::result::DrillReplication;
use brunt_run::{Listener, Stop};
use brunt_scenario::{Exec, RealDrill, SiteEvent, SiteIncident, SiteReplication};
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::mix::{Commit, Kind};
use brunt_world::World;

use super::error::CourseError;
use super::messages::{Answer, Command, How, SiteMessage, line};
use super::shipping::Shipping;
use super::{Link, Site, Storage};
use crate::{AtRisk, Key, Ledger, Rehearsal, Rehearsed};

/// How often it hears what sites say.
const STEP: Span = Span::millis(1);
/// A site that does not answer for so long hangs, unless it may be reading or writing all its
/// databases.
const PATIENCE: Span = Span::seconds(15 * 60);
/// Bytes per second at which it reads or writes them at least.
const SLOWEST: ByteSize = ByteSize::mib(1);
/// How long a destination on another host may take to empty its folder. What stays is named by the
/// next drill.
const PARTING: Span = Span::seconds(120);
/// The end of a process is noticed within this time.
const DEATH: Span = Span::millis(500);

/// What is asked of a course.
pub struct CoursePlan {
    /// In order of their times.
    pub timeline: Vec<SiteEvent>,
    /// The load before the timeline begins.
    pub warm_up: Span,
    /// The load after the failover; none for a control.
    pub after: Span,
    /// What replicates.
    pub replication: SiteReplication,
    /// How the mirror is broken, when the timeline begins.
    pub how: Option<How>,
}

/// The two sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Destination,
}

impl Side {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
        }
    }
}

/// What a course is taken with.
pub struct Sites {
    /// The source and the destination, at work.
    pub sites: [Rc<dyn Site>; 2],
    pub link: Rc<dyn Link>,
    pub storage: Rc<dyn Storage>,
}

/// A site, and answers of it that were heard.
pub(super) struct Heard {
    pub(super) site: Rc<dyn Site>,
    answers: RefCell<VecDeque<Answer>>,
    /// Whether its end is no surprise.
    pub(super) may_end: Cell<bool>,
}

/// A course of a drill.
pub struct Conductor {
    pub(super) world: World,
    pub(super) drill: Rc<RealDrill>,
    pub(super) plan: CoursePlan,
    stop: Stop,
    sites: [Heard; 2],
    pub(super) link: Rc<dyn Link>,
    pub(super) storage: Rc<dyn Storage>,
    pub(super) rehearsal: Rehearsal,
    pub(super) ledger: RefCell<Ledger>,
    /// Whose commits are in the ledger.
    pub(super) serving: Cell<Side>,
    /// When the source said something last.
    pub(super) source_heard: Cell<Time>,
    /// When the source was cut off or frozen.
    pub(super) apart_since: Cell<Option<Time>>,
    pub(super) struck: Cell<bool>,
    /// Commits that the survivor kept and nobody had acknowledged: their acknowledgements were on
    /// the way to a frozen source.
    pub(super) kept: RefCell<BTreeSet<(Key, Option<u32>)>>,
    /// Durable commits that the former side acknowledged after it was fenced, and the survivor
    /// lacks.
    pub(super) stale: Cell<u64>,
    /// Whether the former side has learnt that it is fenced.
    pub(super) is_fenced: Cell<bool>,
    /// Whether the timeline has begun.
    began: Cell<bool>,
    /// Bytes in a log segment: the larger ones of the two sites, whose logs are the same.
    pub(super) log_segment: Cell<usize>,
    /// Bytes that were sent before the timeline.
    sent_before: Cell<u64>,
    /// Where the logs of the source end.
    pub(super) shipping: RefCell<Shipping>,
    /// When the mirror broke without a failover, and why.
    broken: RefCell<Option<(Time, String)>>,
}

impl Conductor {
    /// A course of `drill` with these sites.
    pub fn new(
        world: &World,
        drill: &Rc<RealDrill>,
        with: Sites,
        plan: CoursePlan,
        listener: &Rc<dyn Listener>,
        stop: &Stop,
    ) -> Self {
        let Sites { sites, link, storage } = with;
        let log_segment = storage.log_segment();
        Self {
            world: world.clone(),
            drill: Rc::clone(drill),
            plan,
            stop: stop.clone(),
            sites: sites.map(|site| Heard {
                site,
                answers: RefCell::default(),
                may_end: Cell::new(false),
            }),
            link,
            storage,
            rehearsal: Rehearsal::new(listener),
            ledger: RefCell::default(),
            serving: Cell::new(Side::Source),
            source_heard: Cell::new(world.clock.now()),
            apart_since: Cell::default(),
            struck: Cell::new(false),
            kept: RefCell::default(),
            stale: Cell::new(0),
            is_fenced: Cell::new(false),
            began: Cell::default(),
            log_segment: Cell::new(log_segment),
            sent_before: Cell::new(0),
            shipping: RefCell::default(),
            broken: RefCell::default(),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.world.clock.now()
    }

    pub(super) fn site(&self, side: Side) -> &Heard {
        &self.sites[match side {
            Side::Source => 0,
            Side::Destination => 1,
        }]
    }

    /// Runs the course to its end. One that the user stops has no answer, but a course.
    ///
    /// # Errors
    /// [`CourseError`] when it did not come to its end for another reason.
    pub async fn rehearse(self) -> Result<Rehearsed, CourseError> {
        let ended = self.run().await;
        self.part().await;
        let unfinished = match ended {
            Ok(()) => None,
            Err(CourseError::Stopped) => Some("stopped before its end".to_owned()),
            Err(error) => return Err(error),
        };
        let mut rehearsed = self.into_rehearsed();
        if unfinished.is_some() {
            rehearsed.evidence.unfinished = unfinished;
        }
        Ok(rehearsed)
    }

    async fn run(&self) -> Result<(), CourseError> {
        self.open().await?;
        self.pass(self.now() + self.plan.warm_up).await?;
        self.rehearsal.course.drop_samples();
        let begun = self.now();
        self.rehearsal.course.begin(begun);
        self.began.set(true);
        self.sent_before.set(self.link.sent());
        if let Some(told) = self.link.shortcoming() {
            self.tell(begun, told);
        }
        if let Some(how) = self.plan.how {
            self.ask(Side::Destination, &Command::Break { how }).await?;
        }
        for event in &self.plan.timeline {
            self.pass(begun + event.at).await?;
            self.apply(event).await?;
        }
        if let Some(told) = self.link.carried() {
            self.tell(self.now(), told);
        }
        Ok(())
    }

    async fn apply(&self, event: &SiteEvent) -> Result<(), CourseError> {
        let now = self.now();
        match &event.what {
            SiteIncident::SourceLost => {
                let source = self.site(Side::Source);
                source.may_end.set(true);
                source.site.kill();
                self.rehearsal.lose_service(now, AtRisk::default());
                self.tell(now, "the processes of the source are killed");
                Ok(())
            }
            SiteIncident::SourceFrozen => {
                self.site(Side::Source).site.freeze();
                self.apart_since.set(Some(now));
                self.rehearsal.lose_service(now, AtRisk::default());
                self.tell(now, "the processes of the source are frozen");
                Ok(())
            }
            SiteIncident::LinkLost => {
                self.link.cut();
                self.apart_since.set(Some(now));
                match self.plan.replication == SiteReplication::Synchronous {
                    true => self.rehearsal.lose_service(now, AtRisk::default()),
                    // Nobody waits for the other site.
                    false => self.rehearsal.course.phase(now, "link lost"),
                }
                self.tell(now, "the link is lost");
                Ok(())
            }
            SiteIncident::FailOver(decision) => self.fail_over(*decision).await,
            SiteIncident::Exec(exec) => self.exec(exec).await,
        }
    }

    /// Runs a command of the user, while the sites go on.
    pub(super) async fn exec(&self, exec: &Exec) -> Result<(), CourseError> {
        let (begun, name) = (self.now(), &exec.name);
        self.tell(begun, format!("\"{name}\" begins"));
        self.storage.exec(&self.world, exec, Box::new(|| self.listen())).await?;
        let now = self.now();
        self.tell(now, format!("\"{name}\" has ended, after {}", now.since(begun)));
        Ok(())
    }

    /// Lets time pass until `until`.
    pub(super) async fn pass(&self, until: Time) -> Result<(), CourseError> {
        while self.now() < until {
            self.listen()?;
            self.world.sleep_until(until.min(self.now() + STEP)).await;
        }
        self.listen()
    }

    /// Asks a site, and waits for its answer.
    pub(super) async fn ask(&self, side: Side, command: &Command) -> Result<Answer, CourseError> {
        let site = self.site(side);
        site.site.send(&line(command));
        let patience = patience(&self.drill);
        let until = self.now() + patience;
        while self.now() < until {
            self.listen()?;
            let answer = site.answers.borrow_mut().pop_front();
            match answer {
                Some(Answer::Failed { why }) => {
                    return Err(CourseError::Failed { site: self.name(side), why });
                }
                Some(answer) => return Ok(answer),
                None => self.world.sleep(STEP).await,
            }
        }
        Err(CourseError::Silent { site: self.name(side), patience })
    }

    fn name(&self, side: Side) -> &'static str {
        self.site(side).site.name()
    }

    /// Hears what was said since the last time.
    pub(super) fn listen(&self) -> Result<(), CourseError> {
        for side in [Side::Source, Side::Destination] {
            let lines = self.site(side).site.new_lines();
            for line in lines {
                match SiteMessage::parse(&line) {
                    Some(message) => self.handle(side, message)?,
                    None => {
                        return Err(CourseError::Nonsense { site: self.name(side), line });
                    }
                }
            }
            let Heard { site, may_end, .. } = self.site(side);
            if site.has_ended() && !may_end.get() {
                let (site, last_words) = (site.name(), site.last_words());
                return Err(CourseError::Ended { site, last_words });
            }
        }
        // A site that has ended says so itself.
        if let Some((at, why)) = &*self.broken.borrow()
            && self.rehearsal.lost().is_none()
            && self.now() > *at + DEATH
        {
            return Err(CourseError::MirrorBroken(why.clone()));
        }
        match self.stop.is_asked() {
            true => Err(CourseError::Stopped),
            false => Ok(()),
        }
    }

    fn handle(&self, side: Side, message: SiteMessage) -> Result<(), CourseError> {
        let now = self.now();
        if side == Side::Source {
            self.source_heard.set(now);
        }
        let is_current = side == self.serving.get();
        match message {
            SiteMessage::Asked(change) if is_current => self.ledger.borrow_mut().asked(&change),
            SiteMessage::Acknowledged(change) if is_current => {
                self.ledger.borrow_mut().acknowledged(now, &change);
            }
            SiteMessage::Acknowledged(change) if change.commit == Commit::Hard => {
                let key = (change.instance, change.database, change.number);
                let after = (change.kind != Kind::Delete).then_some(change.version);
                if !self.kept.borrow().contains(&(key, after)) {
                    self.stale.set(self.stale.get() + 1);
                }
            }
            SiteMessage::Asked(_) | SiteMessage::Acknowledged(_) => {}
            SiteMessage::Answer(answer) => self.site(side).answers.borrow_mut().push_back(answer),
            SiteMessage::News(Answer::Sample { load }) => {
                if is_current && self.began.get() {
                    self.rehearsal.course.close_own(now, load);
                    let last = self.plan.timeline.last().map_or(Span::ZERO, |event| event.at);
                    self.rehearsal.progress(now, last + self.plan.after);
                }
            }
            SiteMessage::News(Answer::Logs { ends }) if side == Side::Source => {
                self.shipping.borrow_mut().seen(now, ends);
            }
            // After a loss, the failover shows what comes of it.
            SiteMessage::News(Answer::Broken { why })
                if self.rehearsal.lost().is_none() && is_current =>
            {
                self.broken.borrow_mut().get_or_insert((now, why));
            }
            SiteMessage::News(Answer::Fenced { epoch }) => {
                self.is_fenced.set(true);
                self.site(side).may_end.set(true);
                self.tell(
                    now,
                    format!("the source learns that it is fenced by epoch {epoch}, and ends"),
                );
            }
            SiteMessage::News(_) => {}
        }
        Ok(())
    }

    pub(super) fn tell(&self, at: Time, what: impl Into<String>) {
        self.rehearsal.tell(at, what);
    }

    /// Lets a destination on another host empty its folder.
    async fn part(&self) {
        if !self.storage.is_remote() {
            return;
        }
        // Nothing comes any more that could make files anew.
        let source = self.site(Side::Source);
        source.may_end.set(true);
        source.site.kill();
        let destination = &self.site(Side::Destination).site;
        destination.dismiss();
        let until = self.now() + PARTING;
        while !destination.has_ended() && self.now() < until {
            let _ = destination.new_lines();
            self.world.sleep(STEP).await;
        }
    }

    /// What the course led to.
    fn into_rehearsed(self) -> Rehearsed {
        let link_bytes = self.link.sent().saturating_sub(self.sent_before.get());
        let replication = DrillReplication { link_bytes, ..DrillReplication::default() };
        self.rehearsal.into_rehearsed(replication, self.struck.get())
    }
}

/// How long a site may take for what it is asked.
fn patience(drill: &RealDrill) -> Span {
    let databases = drill.scenario.databases();
    let bytes: u64 = databases.map(|database| database.size.get()).sum();
    let link = drill.link.and_then(|link| link.bandwidth);
    let slowest = link.map_or(SLOWEST, |link| link.min(SLOWEST)).get().max(1);
    PATIENCE + Span::seconds(bytes.div_ceil(slowest))
}

pub(super) fn unexpected(side: Side) -> CourseError {
    CourseError::Unexpected(side.word())
}
