//! What failed, and why there is no answer: a plain sentence each.

use brunt_units::Span;

use crate::result::{Drill, DrillControl, DrillStep, Outcome, Rule, RunResult};
use crate::{capitalised, counted, grouped};

/// What kept the drill from a pass: rules that failed, then controls that were not found, then
/// everything else that is in the way.
///
/// The first reason of a drill in virtual time is what every such drill is worth; it is not
/// repeated here.
pub(super) fn why_no_pass(result: &RunResult, drill: &Drill) -> Vec<String> {
    let failed = || result.rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(
        failed().filter(|rule| rule.id != "drill-controls").map(|rule| of_rule(rule, drill)),
    );
    sentences.extend(drill.controls.iter().filter(|control| !control.red).map(of_control));
    let is_told = |reason: &&String| {
        let by_rule = failed().any(|rule| reason.starts_with(&rule.against_limit()));
        by_rule
            || drill
                .controls
                .iter()
                .any(|control| !control.red && reason.contains(&format!("\"{}\"", control.name)))
    };
    let others = result.reasons.iter().skip(1).filter(|reason| !is_told(reason));
    sentences.extend(others.map(|reason| sentence(reason)));
    sentences
}

/// The sentence of the result without its leading reason, which is shown apart.
pub(super) fn what_came_of_it(result: &RunResult) -> &str {
    let sentence = result.storage.details.sentence.as_str();
    let begin = result.reasons.iter().find_map(|reason| sentence.strip_prefix(reason.as_str()));
    begin.and_then(|rest| rest.strip_prefix(". ")).unwrap_or(sentence)
}

fn of_rule(rule: &Rule, drill: &Drill) -> String {
    let measured = rule.measured.unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let count = measured as u64;
    let span = |seconds: f64| Span::from_seconds(seconds).to_string();
    let remark = &rule.remark;
    let also = |before: &str| {
        if remark.is_empty() { String::new() } else { format!("{before}{remark}") }
    };
    match rule.id.as_str() {
        "drill-recovery-point" => {
            let all = drill.failovers.iter().map(|one| &one.rpo).chain(&drill.rpo);
            let loss = all.filter(|loss| loss.transactions > 0).find(|loss| match rule.unit.as_str() {
                "s" => loss.seconds == measured,
                _ => loss.transactions == count,
            });
            let limit = rule.limit.filter(|limit| *limit > 0.0).map_or(String::new(), |limit| {
                format!("; at most {} may be lost", span(limit))
            });
            match loss {
                Some(loss) => format!(
                    "{} that users were told are safe are lost, and with them the newest change of {}. The first was acknowledged {} before the failure{limit}.",
                    counted(loss.transactions, "commit"),
                    counted(loss.records, "record"),
                    span(loss.seconds)
                ),
                None => sentence(&format!("commits that users were told are safe are lost{}{limit}", also(": "))),
            }
        }
        "drill-recovery-time" if rule.measured.is_none() => sentence(remark),
        "drill-recovery-time" => {
            let limit = rule.limit.unwrap_or_default();
            let failover = drill.failovers.iter().find(|one| one.rto_s == measured);
            let steps = failover.map_or(drill.steps.as_slice(), |one| &one.steps);
            let longest = steps.iter().max_by(|one, other| one.seconds.total_cmp(&other.seconds));
            let longest = longest.map_or(String::new(), |DrillStep { name, seconds, .. }| {
                format!(" The longest step was {name}, with {}.", span(*seconds))
            });
            format!(
                "Users waited {}, {} longer than the {} that are allowed.{longest}{}",
                span(measured),
                span(measured - limit),
                span(limit),
                also(" ")
            )
        }
        "drill-order" => format!(
            "The survivor does not hold a beginning of what was committed: a write is missing in between, or two changed places{}.",
            if remark.is_empty() { String::new() } else { format!(" ({remark})") }
        ),
        "drill-as-reported" => sentence(&format!(
            "what is lost is older than anything that replication reported to be at risk, so its report cannot be relied on{}",
            also(": ")
        )),
        "drill-records" => format!("{} at the serving side not as committed.", are(count, "record")),
        "drill-remote-checksum" if rule.measured.is_none() => {
            sentence(&format!("the other side cannot be read{}", also(": ")))
        }
        "drill-remote-checksum" => format!(
            "{} at the other side damaged{}: do not fail over to it.",
            are(count, "page"),
            also(", ")
        ),
        "drill-one-side" => "Both sides served at the same time, so each may hold changes that the other lacks; one of them will be lost.".to_owned(),
        "drill-in-step" => format!(
            "{} not in step when the drill ended{}. Until then the other site is behind, and a failover to it loses what it lacks.",
            if count == 1 { "1 group was".to_owned() } else { format!("{} groups were", grouped(count)) },
            also(": ")
        ),
        _ => sentence(&format!("{}{}", rule.against_limit(), also("; "))),
    }
}

/// `1 page is`, `3 pages are`.
fn are(count: u64, what: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, what))
}

fn of_control(control: &DrillControl) -> String {
    format!(
        "The control \u{201c}{}\u{201d} was not found: {}. A check that misses it proves nothing when it is green.",
        control.name,
        control.found.trim_start_matches("nothing: ").trim_end_matches('.')
    )
}

/// With a capital letter at the start and a full stop at the end.
fn sentence(text: &str) -> String {
    format!("{}.", capitalised(text.trim().trim_end_matches('.')))
}
