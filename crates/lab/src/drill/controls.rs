//! Negative controls: the same checks on a replica that is broken on purpose must turn red.
//!
//! Each is a short drill of the same scenario, with the failover done at once:
//!
//! ```text
//!   drop, swap, lose the tail    load -> link lost -> link back, log replayed, fault strikes -> in step -> site lost -> failover
//!   promote the stale side       load -> link lost ------------------------------------------> site lost -> failover
//! ```
//!
//! The judge is told that replication is synchronous and in step, as an operator would believe. Groups have no failsafe here, and are
//! synchronous, so that there is a log to replay and nothing may be lost.

use std::rc::Rc;

use brunt_array::{Control as Fault, Incident, Mode, PairIncident, Scheduled, SystemDesign};
use brunt_drill::{Control, Deaf, DrillListener, Objectives, Said};
use brunt_qualify::progress::Stop;
use brunt_report::result::Outcome;
use brunt_scenario::{Drill, ModelledScenario};
use brunt_units::{Span, Time};

use super::conductor::Script;
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
    listener: &Rc<dyn DrillListener>,
    stop: &Stop,
) -> Result<Vec<Control>, DrillError> {
    let scenario = simple(scenario);
    let mut controls = Vec::new();
    for (name, fault) in CONTROLS {
        if stop.is_asked() {
            break;
        }
        listener.control(name);
        controls.push(one(&scenario, engine, name, fault, stop)?);
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

fn one(
    scenario: &ModelledScenario,
    engine: Engine,
    name: &'static str,
    fault: Option<Fault>,
    stop: &Stop,
) -> Result<Control, DrillError> {
    let at = |at: Span, incident| Scheduled {
        at: Time::ZERO + at,
        array: 0,
        incident,
    };
    let link = |what| Incident::Pair(what);
    let mut timeline = vec![at(LOST, link(PairIncident::LinkLost))];
    let mut end = LOST + BACK;
    if fault.is_some() {
        timeline.push(at(end, link(PairIncident::LinkReturns)));
        end += THEN;
    }
    for incident in roles::loss_and_failover() {
        timeline.push(at(end, Incident::Pair(incident)));
    }
    let script = Script {
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
    let deaf: Rc<dyn DrillListener> = Rc::new(Deaf);
    let mut rehearsed = rehearse(scenario, engine, script, fault, &deaf, stop)?;
    // An operator believes that both sides are in step.
    for survival in &mut rehearsed.evidence.survivals {
        survival.said = Some(Said::default());
    }
    let rules = rehearsed.evidence.rules(&Objectives::usual(true));
    let failed = rules.iter().find(|rule| rule.outcome == Outcome::Failed);
    let found = failed.map(|rule| match rule.remark.as_str() {
        "" => rule.against_limit(),
        remark => format!("{}: {remark}", rule.title),
    });
    Ok(Control {
        name,
        struck: fault.is_none() || rehearsed.struck,
        found,
    })
}
