//! The result of a drill in its written form.

use brunt_report::result::{
    Drill, DrillControl, DrillFailover, DrillLoss, DrillReplication, DrillStep, RunResult, Tested,
    Verdict, given_and_measured,
};
use brunt_report::{Timestamp, counted};
use brunt_units::{Span, Time};

use crate::course::Course;
use crate::judge::{AtRisk, Evidence, Objectives, latencies};
use crate::loss::Loss;

/// Steps of a failover so far, each with its end.
#[derive(Clone, Debug)]
pub struct Steps {
    begun: Time,
    /// Name, end, and whether the scenario gives the time.
    all: Vec<(String, Time, bool)>,
}

impl Steps {
    /// Those of a failover after a failure at `begun`.
    pub fn new(begun: Time) -> Self {
        Self { begun, all: Vec::new() }
    }

    /// When users lost service.
    pub fn begun(&self) -> Time {
        self.begun
    }

    /// The step called `name` ended at `at`; `is_given` says whether the scenario gives its time.
    pub fn push(&mut self, name: impl Into<String>, at: Time, is_given: bool) {
        self.all.push((name.into(), at, is_given));
    }

    /// How long each took.
    pub fn lengths(&self) -> Vec<DrillStep> {
        let begins = std::iter::once(self.begun).chain(self.all.iter().map(|(_, end, _)| *end));
        let steps = self.all.iter().zip(begins);
        steps
            .map(|((name, end, given), begin)| DrillStep {
                name: name.clone(),
                seconds: end.since(begin).as_seconds(),
                given: *given,
            })
            .collect()
    }
}

/// A failover that was carried through.
#[derive(Clone, Debug)]
pub struct FailoverDone {
    /// Its name.
    pub kind: String,
    /// When users lost service.
    pub at: Time,
    /// What it lost.
    pub loss: DrillLoss,
    /// How long users waited.
    pub took: Span,
    pub steps: Vec<DrillStep>,
}

impl FailoverDone {
    /// The failover called `kind` with `steps`, which ended with the first operation at `served`.
    pub fn new(kind: &str, steps: &Steps, served: Time, loss: &Loss, reported: AtRisk) -> Self {
        Self {
            kind: kind.to_owned(),
            at: steps.begun(),
            loss: DrillLoss {
                records: loss.records,
                transactions: loss.transactions,
                bytes: reported.bytes.get(),
                seconds: loss.age.as_seconds(),
                lazy: loss.lazy,
                kept: loss.kept,
            },
            took: served.since(steps.begun()),
            steps: steps.lengths(),
        }
    }
}

/// What a course of a drill led to.
pub struct Rehearsed {
    /// What was found.
    pub evidence: Evidence,
    pub failovers: Vec<FailoverDone>,
    /// What was seen over time.
    pub course: Course,
    pub replication: DrillReplication,
    /// Whether the control has broken something.
    pub struck: bool,
}

/// What a result says of a drill besides its figures.
pub struct Words<'a> {
    /// How the loss was found.
    pub by: &'a str,
    /// Why the drill is no qualification.
    pub remark: &'a str,
}

/// What the head of a journal says of a drill, of which nothing is known yet: `result` of a server
/// that was not tested.
#[must_use]
pub fn outline(mut result: RunResult) -> RunResult {
    result.verdict = Verdict::Interrupted;
    result.qualifies = false;
    result.reasons = vec!["the drill has not ended".to_owned()];
    result.rules.clear();
    result.times.ended = None;
    result.storage.test = Tested::Drill;
    result.storage.details.sentence = "The drill has not ended.".to_owned();
    result.drill = Some(Drill {
        outcome: Verdict::Interrupted,
        rpo: None,
        rto_s: None,
        out_of_service_s: None,
        steps: Vec::new(),
        controls: Vec::new(),
        replication: DrillReplication::default(),
        failovers: Vec::new(),
        events: Vec::new(),
        phases: Vec::new(),
        samples: Vec::new(),
    });
    result
}

impl Rehearsed {
    /// Puts the drill into `result`, judged by `wanted`.
    pub fn put_into(self, result: &mut RunResult, wanted: &Objectives, words: &Words<'_>) {
        let mut rules = self.evidence.rules(wanted);
        let limits = &result.storage.details.setup.limits;
        rules.extend(latencies(&self.course.phases(), limits));
        let (outcome, why) = self.evidence.outcome(&rules);
        let had_failover = !self.evidence.survivals.is_empty();
        let drill = self.written(outcome);
        let begun = result.times.started;
        let length = drill.samples.last().map_or(0.0, |sample| sample.at_s);
        result.times.collection_started = Some(begun);
        result.times.collection_ended = Some(later(begun, length));
        result.times.ended = Some(later(begun, length));
        result.times.collection_s = length;
        result.verdict = outcome;
        result.qualifies = false;
        result.reasons = std::iter::once(words.remark.to_owned()).chain(why.clone()).collect();
        result.rules = rules;
        result.storage.test = Tested::Drill;
        result.storage.details.sentence = sentence(&drill, words.by, &why, had_failover);
        result.drill = Some(drill);
    }

    fn written(self, outcome: Verdict) -> Drill {
        let course = &self.course;
        let failovers = self.failovers.into_iter().map(|one| DrillFailover {
            kind: one.kind,
            at_s: course.second(one.at),
            rpo: one.loss,
            rto_s: one.took.as_seconds(),
            steps: one.steps,
        });
        let failovers: Vec<DrillFailover> = failovers.collect();
        let loss = failovers.iter().map(|one| one.rpo);
        let loss = loss.max_by_key(|rpo| (rpo.transactions, rpo.records, rpo.bytes));
        let longest =
            |one: &&DrillFailover, other: &&DrillFailover| one.rto_s.total_cmp(&other.rto_s);
        let longest = failovers.iter().max_by(longest);
        let controls = self.evidence.controls.iter().map(|control| DrillControl {
            name: control.name.to_owned(),
            red: control.found.is_some(),
            found: match (&control.found, &control.fails_anyway, control.struck) {
                (Some(found), ..) => found.clone(),
                (None, Some(why), _) => {
                    format!("without the fault, the same course fails as well: {why}")
                }
                (None, None, true) => "nothing: the checks are blind to it".to_owned(),
                (None, None, false) => "there was nothing to break".to_owned(),
            },
        });
        Drill {
            outcome,
            rpo: loss,
            rto_s: longest.map(|one| one.rto_s),
            out_of_service_s: self.evidence.out_of_service.map(Span::as_seconds),
            steps: longest.map(|one| one.steps.clone()).unwrap_or_default(),
            controls: controls.collect(),
            replication: self.replication,
            events: course.events(),
            phases: course.phases(),
            samples: course.samples(),
            failovers,
        }
    }
}

fn later(begun: Timestamp, seconds: f64) -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, and a drill is shorter"
    )]
    begun.after(seconds as u64)
}

/// A recovery time, and how much of it was measured: `6 min 00 s, of which 5 min 59 s are given and
/// 0.7 s measured`.
fn waited(rto_s: f64, steps: &[DrillStep]) -> String {
    let span = |seconds: f64| Span::from_seconds(seconds).to_string();
    match given_and_measured(steps) {
        (given, measured) if given > 0.0 => {
            format!("{} ({} given, {} measured)", span(rto_s), span(given), span(measured))
        }
        _ => span(rto_s),
    }
}

/// What the drill showed, in one sentence.
fn sentence(drill: &Drill, by: &str, why: &[String], had_failover: bool) -> String {
    let red = drill.controls.iter().filter(|control| control.red).count();
    let controls = match drill.controls.len() {
        0 => "no control was run".to_owned(),
        all => format!("{red} of {all} deliberately broken replicas were detected"),
    };
    let told = match (&drill.rpo, drill.rto_s) {
        _ if let Some(waited) = drill.out_of_service_s => {
            format!("Users had no service for the last {}; {controls}.", Span::from_seconds(waited))
        }
        (Some(rpo), Some(rto)) => {
            let lost = match rpo.transactions {
                0 => "Nothing that was acknowledged is lost".to_owned(),
                some => format!("{} lost", counted(some, "acknowledged commit")),
            };
            let worst = match drill.failovers.len() {
                0 | 1 => String::new(),
                many => format!(", the worst of {many} failovers"),
            };
            format!("{lost} ({by}); users waited {}{worst}; {controls}.", waited(rto, &drill.steps))
        }
        _ if had_failover => format!("No failover brought service back; {controls}."),
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
        _ => format!("{} {told}", why.first().map_or(String::new(), |first| format!("{first}."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failover_that_failed_is_no_drill_in_which_service_was_never_lost() {
        let drill = |out_of_service_s| Drill {
            outcome: Verdict::Inconclusive,
            rpo: None,
            rto_s: None,
            out_of_service_s,
            steps: Vec::new(),
            controls: Vec::new(),
            replication: DrillReplication::default(),
            events: Vec::new(),
            phases: Vec::new(),
            samples: Vec::new(),
            failovers: Vec::new(),
        };
        let told = |outage, had_failover| sentence(&drill(outage), "", &[], had_failover);
        assert!(told(None, false).contains("Service was never lost"));
        assert!(told(None, true).contains("No failover brought service back"));
        for had_failover in [false, true] {
            let told = told(Some(90.0), had_failover);
            assert!(told.contains("Users had no service for the last 90.0 s"), "{told}");
        }
    }
}
