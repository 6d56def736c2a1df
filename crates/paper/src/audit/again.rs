//! The rules of a run, judged again from its plan and its tables
//! ([`brunt_qualify::result::again`]), and the end of its test log, written again from its result.

use std::path::Path;

use brunt_qualify::plan::Plan;
use brunt_qualify::result::{Again, again};
use brunt_qualify::rules::{Ending, RuleId, verdict};
use brunt_report::result::{Group, Outcome, Rule, RunResult, Verdict, World};
use brunt_report::{Event, Run, TEST_ENDS, Tables, ending, one_line};
use brunt_scenario::Document;

use super::{Audit, BUCKET, EXACT, PERCENT, is_near, rounding};

/// Judges the run again, and compares its rules.
pub(super) fn judged(
    number: usize,
    run: &Run,
    tables: Option<&Tables>,
    kept: Kept,
    audit: &mut Audit,
) {
    let scenario = Document::new("scenario.toml", &run.scenario, Path::new("/"));
    let plan = match scenario.and_then(|document| document.server()) {
        Ok(scenario) => scenario.plan(),
        Err(refusal) => {
            let refusal = refusal.to_string();
            let why = refusal.lines().next().unwrap_or_default();
            audit.unproven.push(format!("run{number}: its rules cannot be evaluated: {why}"));
            return;
        }
    };
    let result = &run.result;
    audit.compared += 1;
    audit.words(number, "kind of test", result.storage.test.word(), plan.kind.word());
    let servers = &result.storage.servers;
    if servers.is_empty() {
        audit.unproven.push(format!("run{number} has no server"));
        return;
    }
    let again = again(&plan, result, tables);
    match servers.as_slice() {
        [_] => {
            let rounded = tables.map_or(0.0, rounding);
            one_server(number, result, &again, (kept, rounded), audit);
        }
        several => {
            audit.unproven.push(format!(
                "run{number} is of {} servers in one simulation, whose own tables stay behind: the values of their rules are not recomputed",
                several.len()
            ));
            for server in several {
                let rules = result.rules.iter();
                let of_server = |rule: &&Rule| rule.server.as_ref() == Some(&server.name);
                let stated: Vec<&Rule> = rules.filter(of_server).collect();
                for rule in &again.rules {
                    let _ = twin(number, rule, &stated, audit);
                }
            }
        }
    }
    limits_kept(number, result, &plan, audit);
}

/// Compares the end of the test log with what the result writes there.
pub(super) fn logged(number: usize, run: &Run, kept: Kept, audit: &mut Audit) {
    // Of several servers each has its own.
    if run.result.storage.servers.len() > 1 {
        return;
    }
    if !run.events.iter().any(|event| event.text.starts_with(TEST_ENDS)) {
        audit.unproven.push(format!("run{number} has no end of its test log"));
        return;
    }
    for line in ending(&run.result) {
        let line = line.replace('\n', " ");
        let line = one_line(&line);
        audit.compared += 1;
        if run.events.iter().any(|event| kept.says(&event.text, &line)) {
            continue;
        }
        let (what, stated) = line.split_once(": ").unwrap_or((&line, "stated"));
        let told =
            |event: &Event| event.text.strip_prefix(what)?.strip_prefix(": ").map(str::to_owned);
        let follows = run.events.iter().rev().find_map(told);
        let follows = follows.unwrap_or_else(|| "nothing".to_owned());
        audit.words(number, &format!("{what}, by the test log"), stated, &follows);
    }
}

/// What of a run is there to recompute its rules from.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// Whether its tables were not shortened.
    pub(super) is_whole: bool,
    pub(super) has_tables: bool,
    pub(super) is_redacted: bool,
}

impl Kept {
    /// Whether `stated` says what `follows` does: in evidence with other names, the same numbers.
    fn says(self, stated: &str, follows: &str) -> bool {
        let numbers = |text: &str| -> Vec<String> {
            let words = text.split_whitespace().map(str::to_owned);
            words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).collect()
        };
        stated == follows || self.is_redacted && numbers(stated) == numbers(follows)
    }

    /// Whether `stated` says what `follows` from the tables does: they keep times to the
    /// millisecond, so a percentage may differ as its figure may, and another number by one in its
    /// last digit.
    fn tells(self, stated: &str, follows: &str) -> bool {
        let [one, other] = [stated, follows].map(|text| text.split(' ').collect::<Vec<_>>());
        let is_near = |at: usize| {
            let share = one.get(at + 1).is_some_and(|unit| unit.starts_with('%'));
            one[at] == other[at] || is_rounded(one[at], other[at], share)
        };
        self.says(stated, follows) || one.len() == other.len() && (0..one.len()).all(is_near)
    }

    /// Whether the value that `follows` for a rule is the one that a result has to state.
    fn has(self, follows: &Rule) -> bool {
        follows.measured.is_some() && (self.is_whole || !is_worst(&follows.id))
    }
}

/// Whether two words are numbers that rounding explains.
fn is_rounded(one: &str, other: &str, is_percentage: bool) -> bool {
    let number = |word: &str| -> Option<(f64, usize)> {
        let word = word.trim_end_matches([',', ';', ')']).trim_start_matches('(').replace(',', "");
        let decimals = word.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some((word.parse().ok()?, decimals))
    };
    let Some(((one, digits), (other, others))) = number(one).zip(number(other)) else {
        return false;
    };
    let last = 10_f64.powi(-i32::try_from(digits).unwrap_or(0));
    match is_percentage {
        true => is_near(Some(one), Some(other), PERCENT),
        false => digits == others && (one - other).abs() < 1.5 * last,
    }
}

/// Whether a rule is about the worst sample. I/O in flight at the end counts for it, which no table
/// has.
fn is_worst(id: &str) -> bool {
    [RuleId::DatabaseReadWorst, RuleId::LogWriteWorst].iter().any(|rule| rule.name().id == id)
}

fn one_server(
    run: usize,
    result: &RunResult,
    again: &Again,
    (kept, rounded): (Kept, f64),
    audit: &mut Audit,
) {
    let stated: Vec<&Rule> = result.rules.iter().collect();
    let mut settled = Vec::new();
    for follows in &again.rules {
        let Some(rule) = twin(run, follows, &stated, audit) else {
            continue;
        };
        if !kept.has(follows) {
            settled.push(rule.clone());
            continue;
        }
        let share = match (follows.group, follows.unit.as_str()) {
            (Group::Tail, _) => BUCKET,
            (_, "%") => PERCENT,
            (_, "/s") => EXACT + rounded,
            _ => EXACT,
        };
        let is_worse = is_worst(&rule.id) && rule.measured > follows.measured;
        if !is_worse {
            let what = format!("{}, measured", rule.heading());
            audit.near(run, &what, rule.measured, follows.measured, share);
            remark(run, rule, follows, kept, audit);
        }
        // At the limit, the last digit decides.
        let is_open = match is_worse {
            true => follows.outcome != Outcome::Failed,
            false => is_near(follows.measured, follows.limit, share),
        };
        if !is_open {
            let what = format!("{}, outcome", rule.heading());
            let [one, other] = [rule, follows].map(|rule| rule.outcome.to_string());
            audit.compared += 1;
            audit.words(run, &what, &one, &other);
            settled.push(follows.clone());
        } else {
            settled.push(rule.clone());
        }
    }
    if result.verdict == Verdict::Pass {
        let follows = verdict(&Ending::Complete, &settled);
        audit.words(run, "verdict by all rules", result.verdict.word(), follows.word());
    }
    if kept.has_tables {
        for reason in &again.reasons {
            audit.compared += 1;
            if !result.reasons.iter().any(|stated| kept.tells(stated, reason)) {
                audit.words(run, "a reason against a qualification", "not there", reason);
            }
        }
    }
    audit.compared += 1;
    let says = |qualifies| if qualifies { "yes" } else { "no" };
    let follows = result.reasons.is_empty() && result.world == World::Real;
    audit.words(run, "qualifies", says(result.qualifies), says(follows));
    audit.number(run, "target, I/Os per second", result.storage.target_iops, again.target_io_per_s);
    if let Some(sentence) = &again.sentence {
        audit.compared += 1;
        let stated = &result.storage.details.sentence;
        if !kept.tells(stated, sentence) {
            audit.words(run, "the sentence of the verdict", stated, sentence);
        }
    }
}

/// Compares what a rule remarks, as far as the tables say it.
fn remark(run: usize, rule: &Rule, follows: &Rule, kept: Kept, audit: &mut Audit) {
    if !kept.is_whole || follows.remark.is_empty() {
        return;
    }
    audit.compared += 1;
    if !kept.tells(&rule.remark, &follows.remark) {
        let what = format!("{}, remark", rule.heading());
        audit.words(run, &what, &rule.remark, &follows.remark);
    }
}

/// The rule of `stated` that is `follows`, with the same limit.
fn twin<'r>(
    run: usize,
    follows: &Rule,
    stated: &[&'r Rule],
    audit: &mut Audit,
) -> Option<&'r Rule> {
    let mut found = stated.iter().filter(|rule| rule.id == follows.id);
    let heading = follows.heading();
    audit.compared += 1;
    let Some(rule) = found.next() else {
        audit.words(run, &format!("the rule {heading}"), "not there", "there");
        return None;
    };
    if found.next().is_some() {
        audit.words(run, &format!("the rule {heading}"), "there twice", "there once");
    }
    let of = |rule: &Rule| format!("{}, {}", rule.group, rule.limit_in_words());
    let name = format!("the limit of {heading}");
    match (rule.limit, follows.limit) {
        (Some(_), Some(_)) if rule.direction == follows.direction => {
            audit.number(run, &name, rule.limit, follows.limit);
        }
        _ => audit.words(run, &name, &of(rule), &of(follows)),
    }
    let words = |rule: &Rule| format!("{} ({}) {}", rule.title, rule.group, rule.unit);
    audit.words(run, "the rule", &words(rule), &words(follows));
    Some(rule)
}

/// Compares the limits that the result names besides its rules.
fn limits_kept(run: usize, result: &RunResult, plan: &Plan, audit: &mut Audit) {
    let stated = &result.storage.details.setup.limits;
    let latency = &plan.limits.latency;
    for (what, stated, follows) in [
        ("limit of database reads", stated.database_read_ms_mean, latency.read_mean),
        ("limit of a sample of database reads", stated.database_read_ms_max, latency.read_sample),
        ("limit of log writes", stated.log_write_ms_mean, latency.log_mean),
        ("limit of a sample of log writes", stated.log_write_ms_max, latency.log_sample),
    ] {
        audit.number(run, what, Some(stated), Some(follows.as_millis()));
    }
    let version = format!("exchange-{}", plan.version.name());
    let profile = &result.storage.details.setup.profile;
    audit.words(run, "profile", profile, &version);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_of_a_time_may_be_rounded() {
        let kept = Kept { is_whole: true, has_tables: true, is_redacted: false };
        let tells = |stated, follows| kept.tells(stated, follows);
        assert!(tells("DB2, 5 s after the start", "DB2, 4 s after the start"));
        assert!(tells("3.33 % higher (1,200 s)", "3.32 % higher (1,201 s)"));
        assert!(tells("6.36 % lower", "6.39 % lower") && !tells("6.36 % lower", "7.39 % lower"));
        assert!(!tells("DB2, 6 s after the start", "DB2, 4 s after the start"));
        assert!(!tells("DB1, 5 s after the start", "DB2, 5 s after the start"));
        assert!(!tells("3.3 ms", "3.32 ms"));
        assert!(!tells("5 s", "5 s after the start"));
        assert!(!kept.says("5 s", "4 s"), "a test log is written from the result");
    }
}
