//! Two sites that are asked by lines: what is heard of them, and how.
//!
//! Time passes in [`Pair::pass`] and [`SitePair::ask`] alone; both hear what the sites say. A commit
//! counts as acknowledged when its line is heard, at most a few milliseconds after it was written.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use brunt_report::result::DrillReplication;
use brunt_run::{Listener, Stop};
use brunt_scenario::{Exec, RealDrill, SiteEvent, SiteReplication};
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::mix::{Commit, Kind};
use brunt_world::World;

use super::messages::{Answer, Command, How, SiteMessage, line};
use super::shipping::Shipping;
use super::{Link, Site, Storage};
use crate::{
    AtRisk, CourseError, Key, Pair, Rehearsal, Rehearsed, SharedLedger, Side, Timetable, conduct,
};

/// How often it hears what sites say.
pub(super) const STEP: Span = Span::millis(1);
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

/// Two sites in a course of a drill.
pub struct SitePair {
    pub(super) drill: Rc<RealDrill>,
    pub(super) plan: CoursePlan,
    sites: [Heard; 2],
    pub(super) link: Rc<dyn Link>,
    pub(super) storage: Rc<dyn Storage>,
    pub(super) rehearsal: Rehearsal,
    pub(super) ledger: SharedLedger,
    /// When the source said something last.
    pub(super) source_heard: Cell<Time>,
    /// When the source was cut off or frozen.
    pub(super) apart_since: Cell<Option<Time>>,
    pub(super) struck: Cell<bool>,
    /// What replication said was lost, at the failover.
    pub(super) reported: Cell<Option<AtRisk>>,
    /// Commits that the survivor kept and nobody had acknowledged: their acknowledgements were on
    /// the way to a frozen source.
    pub(super) kept: RefCell<BTreeSet<(Key, Option<u32>)>>,
    /// Durable commits that the former side acknowledged after it was fenced, and the survivor
    /// lacks.
    pub(super) stale: Cell<u64>,
    /// Whether the former side has learnt that it is fenced.
    pub(super) is_fenced: Cell<bool>,
    /// Bytes in a log segment: the larger ones of the two sites, whose logs are the same.
    pub(super) log_segment: Cell<usize>,
    /// Bytes that were sent before the timeline.
    pub(super) sent_before: Cell<u64>,
    /// Where the logs of the source end.
    pub(super) shipping: RefCell<Shipping>,
    /// When the mirror broke without a failover, and why.
    broken: RefCell<Option<(Time, String)>>,
}

impl SitePair {
    /// These sites, for a course of `drill`.
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
            drill: Rc::clone(drill),
            plan,
            sites: sites.map(|site| Heard {
                site,
                answers: RefCell::default(),
                may_end: Cell::new(false),
            }),
            link,
            storage,
            rehearsal: Rehearsal::new(world, listener, stop),
            ledger: SharedLedger::default(),
            source_heard: Cell::new(world.clock.now()),
            apart_since: Cell::default(),
            struck: Cell::new(false),
            reported: Cell::default(),
            kept: RefCell::default(),
            stale: Cell::new(0),
            is_fenced: Cell::new(false),
            log_segment: Cell::new(log_segment),
            sent_before: Cell::new(0),
            shipping: RefCell::default(),
            broken: RefCell::default(),
        }
    }

    pub(super) fn site(&self, side: Side) -> &Heard {
        &self.sites[match side {
            Side::Source => 0,
            Side::Destination => 1,
        }]
    }

    /// Takes them through the course, to its end. One that the user stops has no answer, but a
    /// course.
    ///
    /// # Errors
    /// [`CourseError`] when it did not come to its end for another reason.
    pub async fn rehearse(self) -> Result<Rehearsed, CourseError> {
        let events = self.plan.timeline.iter().map(|event| (event.at, event.what.clone()));
        let (warm_up, after) = (self.plan.warm_up, self.plan.after);
        let timetable = Timetable { events: events.collect(), warm_up, after };
        let ended = conduct(&self, &timetable).await;
        match (&ended, self.link.carried()) {
            (Ok(()), Some(told)) => self.rehearsal.tell(told),
            (Err(CourseError::Stopped), _) => {
                self.rehearsal.note_outage();
                self.rehearsal.evidence().unfinished = Some("stopped before its end".to_owned());
            }
            _ => {}
        }
        self.part().await;
        match ended {
            Ok(()) | Err(CourseError::Stopped) => Ok(self.into_rehearsed()),
            Err(error) => Err(error),
        }
    }

    /// Runs a command of the user, while the sites go on.
    pub(super) async fn exec(&self, exec: &Exec) -> Result<(), CourseError> {
        let (begun, name) = (self.now(), &exec.name);
        self.rehearsal.tell(format!("\"{name}\" begins"));
        self.storage.exec(&self.rehearsal.world, exec, Box::new(|| self.listen())).await?;
        let took = self.now().since(begun);
        self.rehearsal.tell(format!("\"{name}\" has ended, after {took}"));
        Ok(())
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
                None => self.rehearsal.world.sleep(STEP).await,
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
        self.rehearsal.heed()
    }

    fn handle(&self, side: Side, message: SiteMessage) -> Result<(), CourseError> {
        let now = self.now();
        if side == Side::Source {
            self.source_heard.set(now);
        }
        let is_current = side == self.rehearsal.serving.get();
        match message {
            SiteMessage::Asked(change) if is_current => self.ledger.lock().asked(&change),
            SiteMessage::Acknowledged(change) if is_current => {
                self.ledger.lock().acknowledged(now, &change);
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
                if is_current && self.rehearsal.has_begun() {
                    self.rehearsal.course.close_own(now, load);
                    self.rehearsal.progress();
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
                let told =
                    format!("the source learns that it is fenced by epoch {epoch}, and ends");
                self.rehearsal.tell(told);
            }
            SiteMessage::News(_) => {}
        }
        Ok(())
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
            self.rehearsal.world.sleep(STEP).await;
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
