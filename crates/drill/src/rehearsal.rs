//! A drill under way: what its conductor notes, whatever it conducts.
//!
//! ```text
//!   lose_service ---> failover: begins, steps ---> served ---> survived
//!                                        '-------> unusable, refused: users still wait
//!   at the end: into_rehearsed
//! ```

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

use brunt_report::result::DrillReplication;
use brunt_run::{Listener, News, Stop};
use brunt_units::{Span, Time};
use brunt_world::World;

use crate::{
    AtRisk, Broken, Course, CourseError, Evidence, FailoverDone, Loss, Rehearsed, Side, Steps,
    Survival,
};

/// The phase in which users have no service.
const NO_SERVICE: &str = "no service";

/// A drill under way.
pub struct Rehearsal {
    pub world: World,
    pub course: Course,
    /// The site that serves, or did so last.
    pub serving: Cell<Side>,
    stop: Stop,
    listener: Rc<dyn Listener>,
    evidence: RefCell<Evidence>,
    failovers: RefCell<Vec<FailoverDone>>,
    /// How long the timeline takes with the load after it; nothing before it begins.
    length: Cell<Option<Span>>,
    /// When users lost service, and what replication said then; nothing while they have it.
    lost: Cell<Option<(Time, AtRisk)>>,
}

impl Rehearsal {
    /// Nothing has happened yet.
    pub fn new(world: &World, listener: &Rc<dyn Listener>, stop: &Stop) -> Self {
        Self {
            world: world.clone(),
            course: Course::new(listener),
            serving: Cell::new(Side::Source),
            stop: stop.clone(),
            listener: Rc::clone(listener),
            evidence: RefCell::default(),
            failovers: RefCell::default(),
            length: Cell::default(),
            lost: Cell::default(),
        }
    }

    pub fn evidence(&self) -> RefMut<'_, Evidence> {
        self.evidence.borrow_mut()
    }

    pub fn now(&self) -> Time {
        self.world.clock.now()
    }

    /// Whether it may go on.
    ///
    /// # Errors
    /// [`CourseError::Stopped`] when the user has asked to stop.
    pub fn heed(&self) -> Result<(), CourseError> {
        match self.stop.is_asked() {
            true => Err(CourseError::Stopped),
            false => Ok(()),
        }
    }

    /// Notes that `what` happens.
    pub fn tell(&self, what: impl Into<String>) {
        self.told(self.now(), what);
    }

    /// Notes that `what` happened at `at`.
    pub fn told(&self, at: Time, what: impl Into<String>) {
        let what = what.into();
        let at_s = self.course.second(at);
        self.listener.tell(at, &News::Happened { at_s, what: what.clone() });
        self.course.happened(at, what);
    }

    /// The timeline begins, and takes `length` with the load after it.
    pub fn begin(&self, length: Span) {
        self.course.drop_samples();
        self.course.begin(self.now());
        self.length.set(Some(length));
    }

    /// Whether the timeline has begun.
    pub fn has_begun(&self) -> bool {
        self.length.get().is_some()
    }

    /// The timeline, once it has begun, has come so far.
    pub fn progress(&self) {
        let (now, Some(length)) = (self.now(), self.length.get()) else { return };
        let at_s = self.course.second(now);
        let share = (at_s / length.as_seconds().max(1.0)).min(1.0);
        self.listener.tell(now, &News::Rehearsing { at_s, share });
    }

    /// When users lost service, and what replication said then; nothing while they have it.
    pub fn lost(&self) -> Option<(Time, AtRisk)> {
        self.lost.get()
    }

    /// Users lose service, with so much `at_risk`, if they had it.
    pub fn lose_service(&self, at_risk: AtRisk) {
        if self.lost.get().is_none() {
            self.lost.set(Some((self.now(), at_risk)));
            self.course.phase(self.now(), NO_SERVICE);
        }
    }

    /// The loss of service was over with its cause.
    pub fn regain_service(&self) {
        self.lost.set(None);
    }

    /// How long users have had no service, for the evidence.
    pub fn note_outage(&self) {
        let lost = self.lost.get();
        self.evidence().out_of_service = lost.map(|(since, _)| self.now().since(since));
    }

    /// After the failover called `name`, whose steps are `steps`, users are served by `by`.
    pub fn served(&self, name: &str, steps: &Steps, at: Time, by: &str) {
        self.lost.set(None);
        let took = at.since(steps.begun());
        self.told(at, format!("mail is served again by the {by}, after {took}"));
        self.course.phase(at, &format!("after the {name}"));
    }

    /// What the survivor of that failover has lost, and what replication had said to be at risk.
    pub fn survived(
        &self,
        name: &str,
        steps: &Steps,
        served: Time,
        loss: Result<Loss, Broken>,
        reported: Option<AtRisk>,
    ) {
        let told = loss.as_ref().copied().unwrap_or_default();
        let done = FailoverDone::new(name, steps, served, &told, reported.unwrap_or_default());
        self.failovers.borrow_mut().push(done);
        let recovery_time = Some(served.since(steps.begun()));
        self.evidence().survivals.push(Survival { loss, reported, recovery_time, refused: None });
    }

    /// The survivor of the failover called `name` cannot be used.
    pub fn unusable(&self, name: &str, why: String, reported: AtRisk) {
        self.tell(format!("{name}: {why}"));
        self.evidence().survivals.push(Survival {
            loss: Err(Broken::Unusable(why)),
            reported: Some(reported),
            recovery_time: None,
            refused: None,
        });
    }

    /// The failover called `name` did not take place, and nothing is lost by it.
    pub fn refused(&self, name: &str, why: &str, reported: AtRisk) {
        let text = format!("{name} is refused: {why}");
        self.tell(text.clone());
        self.evidence().survivals.push(Survival {
            loss: Ok(Loss::default()),
            reported: Some(reported),
            recovery_time: None,
            refused: Some(text),
        });
    }

    /// The newest survivor turns out not to be one.
    pub fn is_no_survivor(&self, why: Broken) {
        if let Some(last) = self.evidence().survivals.last_mut() {
            last.loss = Err(why);
        }
    }

    /// What it led to, with what replication has done; `struck` says whether a control has broken
    /// something.
    pub fn into_rehearsed(self, replication: DrillReplication, struck: bool) -> Rehearsed {
        Rehearsed {
            evidence: self.evidence.into_inner(),
            failovers: self.failovers.into_inner(),
            course: self.course,
            replication,
            struck,
        }
    }
}
