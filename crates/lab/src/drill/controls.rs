//! Negative controls: the same checks on a replica that is broken on purpose must turn red.
//!
//! Each is a short drill of the same scenario, with the failover done at once:
//!
//! ```text
//!   drop, swap, lose the tail    load -> link lost -> link back, log replayed, fault strikes -> in step -> site lost -> failover
//!   promote the stale side       load -> link lost ------------------------------------------> site lost -> failover
//! ```
//!
//! Without a fault, groups that lack their log are red as well.
//!
//! The judge assumes that replication is synchronous and in step, as an operator would.
//! Groups have no failsafe here, and are synchronous, so that there is a log to replay and nothing
//! may be lost.

use std::rc::Rc;

use brunt_array::{Control as Fault, Incident, Mode, PairIncident, Scheduled, SystemDesign};
use brunt_drill::sites::messages::How;
use brunt_drill::{AtRisk, Control, Rehearsed, controls};
use brunt_run::{Listener, News, Silence, Stop};
use brunt_scenario::{Drill, ModelledScenario};
use brunt_units::{Span, Time};

use super::pair::CoursePlan;
use super::roles;
use super::{DrillError, Engine, rehearse};

/// When the link is lost, and for how long.
const LOST: Span = Span::seconds(10);
const BACK: Span = Span::seconds(5);
/// How long after the return the site is lost: the log of a few seconds is replayed by then.
const THEN: Span = Span::seconds(15);

/// Runs all controls on `scenario`.
pub(super) fn all(
    scenario: &ModelledScenario,
    engine: Engine,
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<Vec<Control>, DrillError> {
    let scenario = simple(scenario);
    let tell = |name: &str| {
        // Each control is a world of its own, whose time begins anew.
        listener.tell(Time::ZERO, &News::Control { name: name.to_owned() });
    };
    controls::all(stop, tell, |how| one(&scenario, engine, how, stop))
}

/// The scenario with synchronous groups without failsafe.
fn simple(scenario: &ModelledScenario) -> ModelledScenario {
    let mut scenario = scenario.clone();
    if let SystemDesign::Pair(pair) = &mut scenario.arrays[0].design {
        for group in &mut pair.groups {
            (group.mode, group.failsafe) = (Mode::Synchronous, false);
        }
        pair.resume = brunt_array::ResumePolicy::AllAtOnce;
        pair.link.outages.clear();
    }
    scenario
}

/// One course with a fault. The link comes back before the site is lost, unless the stale side is
/// promoted.
fn one(
    scenario: &ModelledScenario,
    engine: Engine,
    how: Option<How>,
    stop: &Stop,
) -> Result<Rehearsed, DrillError> {
    let fault = match how {
        Some(How::Drop) => Some(Fault::DropOne),
        Some(How::Swap) => Some(Fault::SwapTwo),
        Some(How::Tail) => Some(Fault::LoseTail),
        Some(How::Stale) | None => None,
    };
    let at = |at: Span, incident| Scheduled { at: Time::ZERO + at, array: 0, incident };
    let link = |what| Incident::Pair(what);
    let mut timeline = vec![at(LOST, link(PairIncident::LinkLost))];
    let mut end = LOST + BACK;
    if how != Some(How::Stale) {
        timeline.push(at(end, link(PairIncident::LinkReturns)));
        end += THEN;
    }
    for incident in roles::loss_and_failover() {
        timeline.push(at(end, Incident::Pair(incident)));
    }
    let plan = CoursePlan {
        drill: Drill {
            storage_failover: Span::ZERO,
            host_rescan: Span::ZERO,
            after: Span::seconds(1),
            ..scenario.drill
        },
        timeline,
        warm_up: Span::ZERO,
        patience: Span::ZERO,
    };
    let no_listener: Rc<dyn Listener> = Rc::new(Silence);
    let mut rehearsed = rehearse(scenario, engine, plan, fault, &no_listener, stop)?;
    // An operator believes that both sides are in step.
    for survival in &mut rehearsed.evidence.survivals {
        survival.reported = Some(AtRisk::default());
    }
    rehearsed.struck |= how == Some(How::Stale);
    Ok(rehearsed)
}
