//! Negative controls: the same checks on a replica that is broken on purpose must turn red.
//!
//! Each is a short drill of the same scenario, with the failover done at once:
//!
//! ```text
//!   drop, swap, lose the tail    load -> link lost -> link back, log replayed, fault strikes -> in step -> site lost -> failover
//!   promote the stale side       load -> link lost ------------------------------------------> site lost -> failover
//! ```
//!
//! The same course without a fault comes first. Where that is red already, as with groups that lack
//! their log, a red control shows nothing.
//!
//! The judge assumes that replication is synchronous and in step, as an operator would.
//! Groups have no failsafe here, and are synchronous, so that there is a log to replay and nothing
//! may be lost.

use std::rc::Rc;

use brunt_array::{Control as Fault, Incident, Mode, PairIncident, Scheduled, SystemDesign};
use brunt_drill::{AtRisk, Control, Objectives};
use brunt_report::result::Rule;
use brunt_run::{Listener, News, Silence, Stop};
use brunt_scenario::{Drill, ModelledScenario};
use brunt_units::{Span, Time};

use super::conductor::CoursePlan;
use super::roles;
use super::{DrillError, Engine, rehearse};

/// When the link is lost, and for how long.
const LOST: Span = Span::seconds(10);
const BACK: Span = Span::seconds(5);
/// How long after the return the site is lost: the log of a few seconds is replayed by then.
const THEN: Span = Span::seconds(15);

/// What is broken.
const CONTROLS: [(&str, Option<Fault>); 4] = [
    ("drop one acknowledged write", Some(Fault::DropOne)),
    ("swap two writes", Some(Fault::SwapTwo)),
    ("promote the stale side", None),
    ("lose the tail of the log", Some(Fault::LoseTail)),
];

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
    let mut controls = Vec::new();
    tell("no fault");
    let (sound, _) = one(&scenario, engine, None, true, stop)?;
    for (name, fault) in CONTROLS {
        if stop.is_asked() {
            break;
        }
        tell(name);
        let (rules, struck) = one(&scenario, engine, fault, fault.is_some(), stop)?;
        controls.push(Control::judged(name, fault.is_none() || struck, &rules, &sound));
    }
    Ok(controls)
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

/// The rules of one course with `fault`, and whether that struck. The link comes back before the
/// site is lost, or does not.
fn one(
    scenario: &ModelledScenario,
    engine: Engine,
    fault: Option<Fault>,
    link_returns: bool,
    stop: &Stop,
) -> Result<(Vec<Rule>, bool), DrillError> {
    let at = |at: Span, incident| Scheduled { at: Time::ZERO + at, array: 0, incident };
    let link = |what| Incident::Pair(what);
    let mut timeline = vec![at(LOST, link(PairIncident::LinkLost))];
    let mut end = LOST + BACK;
    if link_returns {
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
    let rules = rehearsed.evidence.rules(&Objectives::usual(true));
    Ok((rules, rehearsed.struck))
}
