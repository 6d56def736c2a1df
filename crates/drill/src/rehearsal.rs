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
use brunt_run::{Listener, News};
use brunt_units::{Span, Time};

use crate::{AtRisk, Broken, Course, Evidence, FailoverDone, Loss, Rehearsed, Steps, Survival};

/// The phase in which users have no service.
const NO_SERVICE: &str = "no service";

/// A drill under way.
pub struct Rehearsal {
    pub course: Course,
    listener: Rc<dyn Listener>,
    evidence: RefCell<Evidence>,
    failovers: RefCell<Vec<FailoverDone>>,
    /// When users lost service, and what replication said then; nothing while they have it.
    lost: Cell<Option<(Time, AtRisk)>>,
}

impl Rehearsal {
    /// Nothing has happened yet.
    pub fn new(listener: &Rc<dyn Listener>) -> Self {
        Self {
            course: Course::default(),
            listener: Rc::clone(listener),
            evidence: RefCell::default(),
            failovers: RefCell::default(),
            lost: Cell::default(),
        }
    }

    pub fn evidence(&self) -> RefMut<'_, Evidence> {
        self.evidence.borrow_mut()
    }

    /// Notes that `what` happened.
    pub fn tell(&self, at: Time, what: impl Into<String>) {
        let what = what.into();
        let at_s = self.course.second(at);
        self.listener.tell(at, &News::Happened { at_s, what: what.clone() });
        self.course.happened(at, what);
    }

    /// It has come to `now`, of a timeline of `whole`.
    pub fn progress(&self, now: Time, whole: Span) {
        let at_s = self.course.second(now);
        let share = (at_s / whole.as_seconds().max(1.0)).min(1.0);
        self.listener.tell(now, &News::Rehearsing { at_s, share });
    }

    /// When users lost service, and what replication said then; nothing while they have it.
    pub fn lost(&self) -> Option<(Time, AtRisk)> {
        self.lost.get()
    }

    /// Users lose service, with so much `at_risk`, if they had it.
    pub fn lose_service(&self, at: Time, at_risk: AtRisk) {
        if self.lost.get().is_none() {
            self.lost.set(Some((at, at_risk)));
            self.course.phase(at, NO_SERVICE);
        }
    }

    /// The loss of service was over with its cause.
    pub fn regain_service(&self) {
        self.lost.set(None);
    }

    /// How long users have had no service, for the evidence.
    pub fn note_outage(&self, now: Time) {
        let since = self.lost.get().map(|(since, _)| since);
        self.evidence().out_of_service = since.map(|since| now.since(since));
    }

    /// After the failover called `name`, whose steps are `steps`, users are served by `by`.
    pub fn served(&self, name: &str, steps: &Steps, at: Time, by: &str) {
        self.lost.set(None);
        let took = at.since(steps.begun());
        self.tell(at, format!("mail is served again by the {by}, after {took}"));
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
    pub fn unusable(&self, at: Time, name: &str, why: String, reported: AtRisk) {
        self.tell(at, format!("{name}: {why}"));
        self.evidence().survivals.push(Survival {
            loss: Err(Broken::Unusable(why)),
            reported: Some(reported),
            recovery_time: None,
            refused: None,
        });
    }

    /// The failover called `name` did not take place, and nothing is lost by it.
    pub fn refused(&self, at: Time, name: &str, why: &str, reported: AtRisk) {
        let text = format!("{name} is refused: {why}");
        self.tell(at, text.clone());
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
