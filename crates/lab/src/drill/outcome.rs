//! The result of a drill in its written form.

use brunt_array::Mode;
use brunt_drill::Objectives;
use brunt_qualify::phases::test_run::TestRun;
use brunt_report::result::{
    Drill, DrillControl, DrillFailover, DrillReplication, RunResult, Verdict,
};
use brunt_report::{Timestamp, counted};
use brunt_scenario::ModelledScenario;
use brunt_units::{Span, Time};

use super::stage::pair_of;
use super::{DrillOptions, Engine, Rehearsed};
use crate::server::Server;

/// Drills of models are about procedures and order, not about hardware.
const PREDICTED: &str =
    "a rehearsal on modelled arrays: times of hosts and operators are those of [drill]";

/// The result of `scenario`, rehearsed with `engine`.
pub(super) fn result(
    scenario: &ModelledScenario,
    options: &DrillOptions,
    engine: Engine,
    rehearsed: Rehearsed,
) -> RunResult {
    let Rehearsed {
        evidence,
        failovers,
        course,
        replication,
        ..
    } = rehearsed;
    let wanted = objectives(scenario);
    let rules = evidence.rules(&wanted);
    let (outcome, why) = evidence.outcome(&rules);
    let second = |at: Time| course.second(at);
    let failovers: Vec<DrillFailover> = failovers
        .into_iter()
        .map(|one| DrillFailover {
            kind: one.kind,
            at_s: second(one.at),
            rpo: one.loss,
            rto_s: one.took.as_seconds(),
            steps: one.steps,
        })
        .collect();
    let last = failovers.last();
    let controls = evidence.controls.iter().map(|control| DrillControl {
        name: control.name.to_owned(),
        red: control.found.is_some(),
        found: match (&control.found, control.struck) {
            (Some(found), _) => found.clone(),
            (None, true) => "nothing: the checks are blind to it".to_owned(),
            (None, false) => "there was nothing to break".to_owned(),
        },
    });
    let drill = Drill {
        outcome,
        rpo: last.map(|one| one.rpo),
        rto_s: last.map(|one| one.rto_s),
        steps: last.map(|one| one.steps.clone()).unwrap_or_default(),
        controls: controls.collect(),
        replication: DrillReplication {
            whl_peak_bytes: replication.log_peak.get(),
            merge_s: replication.longest_resumption.map(Span::as_seconds),
            link_bytes: replication.link_bytes,
        },
        events: course.events(),
        phases: course.phases(),
        samples: course.samples.borrow().clone(),
        failovers,
    };
    let server = Server::new(scenario, 0, false, (scenario.scenario.test.seed, 1));
    let nothing = TestRun::unfinished(&server.plan, Time::ZERO);
    let mut result = server.result(scenario, &options.program, None, &[], &nothing);
    let begun = result.times.started;
    let length = drill.samples.last().map_or(0.0, |sample| sample.at_s);
    result.times.collection_started = Some(begun);
    result.times.collection_ended = Some(later(begun, length));
    result.times.ended = Some(later(begun, length));
    result.times.collection_s = length;
    result.verdict = outcome;
    result.qualifies = false;
    result.reasons = std::iter::once(PREDICTED.to_owned())
        .chain(why.clone())
        .collect();
    result.rules = rules;
    result.storage.test = "drill".to_owned();
    result.storage.details.sentence = sentence(&drill, engine, &why);
    result.drill = Some(drill);
    result
}

fn later(begun: Timestamp, seconds: f64) -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, and a drill is shorter"
    )]
    begun.after(seconds as u64)
}

fn objectives(scenario: &ModelledScenario) -> Objectives {
    let pair = pair_of(scenario).expect("it was rehearsed");
    let is_synchronous = pair
        .groups
        .iter()
        .all(|group| group.mode == Mode::Synchronous);
    let usual = Objectives::usual(is_synchronous);
    Objectives {
        recovery_time: scenario.drill.recovery_time,
        recovery_point: scenario.drill.recovery_point.or(usual.recovery_point),
    }
}

/// What the drill showed, in one sentence.
fn sentence(drill: &Drill, engine: Engine, why: &[String]) -> String {
    let by = match engine {
        Engine::Bytes => "every record was read at the survivor",
        Engine::Twin => "by where the logs end at the survivor",
    };
    let red = drill.controls.iter().filter(|control| control.red).count();
    let controls = match drill.controls.len() {
        0 => "no control was run".to_owned(),
        all => format!("{red} of {all} controls were found"),
    };
    let told = match (&drill.rpo, drill.rto_s) {
        (Some(rpo), Some(rto)) => {
            let lost = match rpo.transactions {
                0 => "Nothing that was acknowledged is lost".to_owned(),
                some => format!("{} lost", counted(some, "acknowledged commit")),
            };
            format!(
                "{lost} ({by}); users waited {}; {controls}.",
                Span::from_seconds(rto)
            )
        }
        _ => match drill.replication.merge_s {
            Some(seconds) => format!(
                "Both sides were in step {} after the return; {controls}.",
                Span::from_seconds(seconds)
            ),
            None => format!("Service was never lost; {controls}."),
        },
    };
    match drill.outcome {
        Verdict::Pass => told,
        _ => format!(
            "{} {told}",
            why.first()
                .map_or(String::new(), |first| format!("{first}."))
        ),
    }
}
