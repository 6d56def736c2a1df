//! Whether the figures of a run follow from what it recorded.
//!
//! | figure | has to be |
//! | --- | --- |
//! | rates, counts, bytes and latencies of each database and log | those of `counters.csv` |
//! | numbers of an instance | sums and means of its databases |
//! | achieved I/O | reads and writes of all instances |
//! | a measured average | the worst of the streams it is about |
//! | MiB per second of a backup | size through time |
//! | percentiles | those of `latency.hlog`, which has as many latencies as `counters.csv` counts |
//! | length of the collection | that of all samples |
//! | the rules | all that a test of this kind has, with the limits of `scenario.toml` and the values of the tables |
//! | the outcome of a rule | measured value against limit |
//! | the verdict | what its rules give |
//! | reasons against a qualification | at least those that plan, result and tables give |
//! | the sentence of a pass | what rules and rate give |
//!
//! Rules are those of this program. A run by another version may have had others: what differs then
//! is not proven, and not wrong. The same holds for a run without a table. What nothing else in the
//! evidence states cannot be recomputed: I/O errors, what kernel and devices said, the machine.
//!
//! Published papers have such contradictions: one prints 60 I/Os per second for a server in its
//! text and 20 in its table (Dell PowerVault MD3820f, 2015).
//!
//! Tables hold six digits after the point, so figures count as equal within a thousandth, or a
//! thousandth of a unit; percentiles of histograms within a hundredth.

use std::path::Path;

use brunt_qualify::plan::Plan;
use brunt_qualify::result::{Again, again};
use brunt_qualify::rules::{Ending, RuleId, verdict};
use brunt_report::result::{
    Direction, Group, Instance, IoNumbers, LatencySummary, Outcome, Rule, RunResult, Verdict, World,
};
use brunt_report::{ReadError, Run, Tables, counted, decimals, streams};
use brunt_scenario::Document;

use crate::evidence::{Evidence, FILES, RunFiles};
use crate::numbers::float;

/// What was compared, and what does not follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// How many figures were compared.
    pub compared: u64,
    /// Those that do not follow.
    pub wrong: Vec<Wrong>,
    /// What the evidence lacks to recompute everything, in words.
    pub unproven: Vec<String>,
}

/// A figure that does not follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The number of its run.
    pub run: usize,
    /// What it is: `DB1, reads per second`.
    pub what: String,
    /// As the result has it.
    pub stated: String,
    pub follows: String,
    /// Whether it follows from the rules of this program, which other versions need not have.
    pub by_rules: bool,
}

/// How much a figure may be off: a share of it, or of a unit.
const EXACT: f64 = 0.001;
/// Buckets of histograms are that wide.
const BUCKET: f64 = 0.01;
/// Percentages of nearly equal figures.
const PERCENT: f64 = 0.1;

fn is_near(one: Option<f64>, other: Option<f64>, share: f64) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= share * f64::max(1.0, other.abs()),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Audit {
    fn number(&mut self, run: usize, what: &str, stated: Option<f64>, follows: Option<f64>) {
        self.near(run, what, stated, follows, EXACT);
    }

    fn near(
        &mut self,
        run: usize,
        what: &str,
        stated: Option<f64>,
        follows: Option<f64>,
        share: f64,
    ) {
        self.compared += 1;
        if !is_near(stated, follows, share) {
            let shown = |number: Option<f64>| number.map_or("nothing".to_owned(), precise);
            self.words(run, what, &shown(stated), &shown(follows));
        }
    }

    fn words(&mut self, run: usize, what: &str, stated: &str, follows: &str) {
        if stated != follows {
            self.wrong.push(Wrong {
                run,
                what: what.to_owned(),
                stated: stated.to_owned(),
                follows: follows.to_owned(),
                by_rules: false,
            });
        }
    }
}

/// A number with as many digits as tell it from one that differs by a thousandth.
fn precise(number: f64) -> String {
    match number.abs() < 1_000.0 {
        true => format!("{number:.3}"),
        false => decimals(number),
    }
}

/// Compares the figures of the run with this number.
pub(crate) fn check(
    number: usize,
    run: &Run,
    files: &RunFiles,
    evidence: &Evidence,
    audit: &mut Audit,
) -> Result<(), ReadError> {
    let program = evidence.program.as_str();
    let result = &run.result;
    sums(number, result, audit);
    backups(number, result, audit);
    rules(number, result, audit);
    for name in FILES {
        if files.bytes(name).is_none() {
            let what = format!("run{number} has no {name}");
            audit.unproven.push(what);
        }
    }
    // The tables of several servers in one folder have sums only.
    let has_tables = FILES.iter().all(|name| files.bytes(name).is_some());
    let tables = match has_tables && result.storage.servers.len() == 1 {
        true => Some(run.tables(Path::new(&files.label), |name| files.open(name))?),
        false => None,
    };
    if let Some(tables) = &tables {
        recorded(number, result, tables, audit);
    }
    let mut found = Audit::default();
    let kept = Kept {
        is_cut: result.storage.precision.is_some() && result.world == World::Virtual,
        is_whole: files.files.iter().all(|file| file.whole.is_none()),
        has_tables: tables.is_some(),
        is_redacted: evidence.redacted,
    };
    judged(number, run, tables.as_ref(), kept, &mut found);
    audit.compared += found.compared;
    audit.unproven.append(&mut found.unproven);
    let maker = match &result.origin.commit {
        Some(commit) => format!("{} ({commit})", result.origin.version),
        None => result.origin.version.clone(),
    };
    if maker == program || found.wrong.is_empty() {
        let found = found.wrong.into_iter();
        audit.wrong.extend(found.map(|wrong| Wrong { by_rules: true, ..wrong }));
    } else {
        let count = counted(found.wrong.len() as u64, "thing");
        audit.unproven.push(format!(
            "run{number} was tested by brunt {maker}: {count} in its rules would be otherwise by the rules of brunt {program}"
        ));
    }
    Ok(())
}

/// Judges the run again, and compares its rules.
fn judged(number: usize, run: &Run, tables: Option<&Tables>, kept: Kept, audit: &mut Audit) {
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
    audit.words(number, "kind of test", &result.storage.test, plan.kind.word());
    let servers = &result.storage.servers;
    if servers.is_empty() {
        audit.unproven.push(format!("run{number} has no server"));
        return;
    }
    let again = again(&plan, result, tables);
    match servers.as_slice() {
        [_] => one_server(number, result, &again, kept, audit),
        several => {
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

/// What of a run is there to recompute its rules from.
#[derive(Clone, Copy)]
struct Kept {
    /// A prediction that could stop early; its figures are estimates.
    is_cut: bool,
    /// Whether its tables were not shortened.
    is_whole: bool,
    has_tables: bool,
    is_redacted: bool,
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

    /// Whether the value that `follows` for a rule is the one that a result has to state.
    fn has(self, follows: &Rule) -> bool {
        let is_of_load = matches!(follows.group, Group::Limits | Group::Steadiness | Group::Tail);
        follows.measured.is_some()
            && !(self.is_cut && is_of_load)
            && (self.is_whole || !is_worst(&follows.id))
    }
}

/// Whether a rule is about the worst sample. I/O in flight at the end counts for it, which no table
/// has.
fn is_worst(id: &str) -> bool {
    [RuleId::DatabaseReadWorst, RuleId::LogWriteWorst].iter().any(|rule| rule.name().id == id)
}

fn one_server(run: usize, result: &RunResult, again: &Again, kept: Kept, audit: &mut Audit) {
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
            _ => EXACT,
        };
        let is_worse = is_worst(&rule.id) && rule.measured > follows.measured;
        if !is_worse {
            let what = format!("{}, measured", rule.heading());
            audit.near(run, &what, rule.measured, follows.measured, share);
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
    if kept.has_tables && !kept.is_cut {
        for reason in &again.reasons {
            audit.compared += 1;
            if !result.reasons.iter().any(|stated| kept.says(stated, reason)) {
                audit.words(run, "a reason against a qualification", "not there", reason);
            }
        }
    }
    audit.compared += 1;
    let says = |qualifies| if qualifies { "yes" } else { "no" };
    let follows = result.reasons.is_empty() && result.world == World::Real;
    audit.words(run, "qualifies", says(result.qualifies), says(follows));
    if !kept.is_cut {
        audit.number(
            run,
            "target, I/Os per second",
            result.storage.target_iops,
            again.target_io_per_s,
        );
    }
    if let Some(sentence) = again.sentence.as_ref().filter(|_| !kept.is_cut) {
        audit.compared += 1;
        let stated = &result.storage.details.sentence;
        if !kept.says(stated, sentence) {
            audit.words(run, "the sentence of the verdict", stated, sentence);
        }
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

fn sums(run: usize, result: &RunResult, audit: &mut Audit) {
    let rate = |instance: &Instance| {
        instance.db_reads_per_s.unwrap_or(0.0) + instance.db_writes_per_s.unwrap_or(0.0)
    };
    if let Some(achieved) = result.storage.achieved_iops {
        let sum = result.instances().map(rate).sum();
        audit.number(run, "achieved I/Os per second", Some(achieved), Some(sum));
    }
    for instance in result.instances() {
        let databases = || instance.details.databases.iter();
        let reads = IoNumbers::together(databases().map(|d| &d.reads));
        let writes = IoNumbers::together(databases().map(|d| &d.writes));
        let collected = instance.db_reads_per_s.is_some();
        let sums = [
            (
                "database reads per second",
                instance.db_reads_per_s,
                collected.then_some(reads.per_s),
            ),
            (
                "database writes per second",
                instance.db_writes_per_s,
                collected.then_some(writes.per_s),
            ),
            ("database read latency", instance.db_read_latency_ms, reads.latency_ms_mean),
            ("database write latency", instance.db_write_latency_ms, writes.latency_ms_mean),
            (
                "log writes per second",
                instance.log_writes_per_s,
                collected.then_some(instance.details.log.writes.per_s),
            ),
            (
                "log write latency",
                instance.log_write_latency_ms,
                instance.details.log.writes.latency_ms_mean,
            ),
        ];
        for (what, stated, follows) in sums {
            audit.number(run, &format!("{}, {what}", instance.name), stated, follows);
        }
    }
    let servers = &result.storage.servers;
    if let [server] = servers.as_slice() {
        let bad = server.checksum.iter().filter_map(|file| file.pages_bad);
        let bad: u64 = bad.sum();
        let mut stated = 0.0;
        let mut judged = false;
        for rule in &result.rules {
            if ["pages-verified", "logs-verified"].contains(&rule.id.as_str()) {
                judged |= rule.measured.is_some();
                stated += rule.measured.unwrap_or(0.0);
            }
        }
        if judged && !server.checksum.is_empty() {
            audit.number(run, "bad pages", Some(stated), Some(float(bad)));
        }
    }
}

fn backups(run: usize, result: &RunResult, audit: &mut Audit) {
    for backup in result.storage.servers.iter().flat_map(|server| &server.backup) {
        if backup.seconds > 0.0 {
            let what = format!("{}, MiB per second", backup.instance);
            let follows = backup.megabytes / backup.seconds;
            audit.number(run, &what, Some(backup.mb_per_s), Some(follows));
        }
    }
    let servers = result.storage.servers.iter();
    for restore in servers.filter_map(|server| server.restore.as_ref()) {
        if restore.seconds > 0.0 {
            let follows = restore.megabytes / restore.seconds;
            audit.number(run, "restore, MiB per second", Some(restore.mb_per_s), Some(follows));
        }
    }
}

fn rules(run: usize, result: &RunResult, audit: &mut Audit) {
    let is_cut = result.storage.precision.is_some() && result.world == World::Virtual;
    for rule in &result.rules {
        if let Some(follows) = outcome(rule, is_cut) {
            audit.compared += 1;
            audit.words(
                run,
                &format!("outcome of {}", rule.heading()),
                &rule.outcome.to_string(),
                &follows.to_string(),
            );
        }
    }
    audit.compared += 1;
    let follows = match (Verdict::of(&result.rules), result.verdict) {
        // What held the tester back is no rule of its own.
        (Verdict::Fail, weaker @ (Verdict::Invalid | Verdict::Inconclusive)) => weaker,
        (follows, _) => follows,
    };
    audit.words(run, "verdict", result.verdict.word(), follows.word());
    if is_cut {
        return;
    }
    let worst = |of: fn(&Instance) -> Vec<Option<f64>>| {
        let all = result.instances().flat_map(of).flatten();
        all.reduce(f64::max)
    };
    let reads = worst(|i| i.details.databases.iter().map(|d| d.reads.latency_ms_mean).collect());
    let logs = worst(|i| vec![i.details.log.writes.latency_ms_mean]);
    let stated = |id: &str| {
        let own = result.rules.iter().filter(|rule| rule.id == id);
        own.filter_map(|rule| rule.measured).reduce(f64::max)
    };
    for (id, what, follows) in [
        ("database-read-average", "worst mean of database reads", reads),
        ("log-write-average", "worst mean of log writes", logs),
    ] {
        if let Some(stated) = stated(id) {
            audit.number(run, what, Some(stated), follows);
        }
    }
}

/// The outcome that limit and measured value give; `None` where there is none, or others are
/// possible. Only a prediction that stopped early leaves a value without one.
fn outcome(rule: &Rule, is_cut: bool) -> Option<Outcome> {
    let (limit, measured) = (rule.limit?, rule.measured?);
    let holds = match rule.direction {
        Direction::AtMost => measured <= limit,
        Direction::AtLeast => measured >= limit,
    };
    match (holds, rule.outcome) {
        // A value within its limit can be remarkable all the same, or not be judged.
        (_, Outcome::NotJudged) if is_cut => None,
        (true, Outcome::Advisory) => None,
        (true, _) => Some(Outcome::Ok),
        (false, Outcome::Advisory) if advises(rule) => Some(Outcome::Advisory),
        (false, Outcome::Ok) if tolerates(&rule.id) => None,
        (false, _) => Some(Outcome::Failed),
    }
}

/// Whether a rule that does not hold may be advice.
fn advises(rule: &Rule) -> bool {
    match rule.group {
        Group::Integrity => false,
        Group::Limits => RuleId::AchievedHeadroom.is(rule),
        Group::FairTest => !RuleId::DeviceAgrees.is(rule),
        Group::Steadiness | Group::Tail => true,
    }
}

/// Whether a rule can hold beyond its limit: single samples may be slow, and scatter is no trend.
fn tolerates(id: &str) -> bool {
    id.ends_with("-worst") || id.starts_with("stationary-")
}

/// Compares what `result` says with what the `tables` say.
fn recorded(run: usize, result: &RunResult, tables: &Tables, audit: &mut Audit) {
    let figures = &tables.figures;
    let (achieved, follows) = (result.storage.achieved_iops, figures.storage.achieved_iops);
    audit.number(run, "achieved I/Os per second, by counters.csv", achieved, follows);
    if result.times.collection_started.is_some() {
        audit.number(
            run,
            "seconds of the collection, by counters.csv",
            Some(result.times.collection_s),
            Some(tables.length_s),
        );
    }
    if tables.samples.is_empty() {
        return;
    }
    histograms(run, tables, audit);
    for (stated, follows) in result.instances().zip(figures.instances()) {
        let logs = (&stated.details.log.writes, &follows.details.log.writes);
        stream(run, &format!("{}, log writes", stated.name), logs, audit);
        let databases = stated.details.databases.iter();
        for (one, other) in databases.zip(&follows.details.databases) {
            let name = &one.name;
            let (reads, writes) = ((&one.reads, &other.reads), (&one.writes, &other.writes));
            stream(run, &format!("{name}, reads"), reads, audit);
            stream(run, &format!("{name}, writes"), writes, audit);
        }
        for (what, one, other) in [
            ("database read", stated.db_read_latency, follows.db_read_latency),
            ("database write", stated.db_write_latency, follows.db_write_latency),
            ("log write", stated.log_write_latency, follows.log_write_latency),
        ] {
            let what = format!("{}, {what}", stated.name);
            spread(run, &what, &one, &other, audit);
        }
    }
    let servers = result.storage.servers.iter().zip(&figures.storage.servers);
    // The machine is not watched while nothing runs.
    let is_carried_on = result.reasons.iter().any(|reason| reason.contains(" and carried on"));
    for (stated, follows) in servers.filter(|_| !is_carried_on) {
        for counter in follows.host.iter().filter(|counter| counter.avg.is_some()) {
            let own = stated.host_counter(&counter.counter).and_then(|own| own.avg);
            let what = format!("{}, by counters.csv", counter.counter);
            audit.number(run, &what, own, counter.avg);
        }
    }
}

/// `latency.hlog` has each latency that `counters.csv` counts.
fn histograms(run: usize, tables: &Tables, audit: &mut Audit) {
    const SERVER: [&str; 4] =
        [streams::DATABASE_READ, streams::DATABASE_WRITE, streams::LOG_WRITE, streams::OPERATION];
    for (stream, count) in &tables.counts {
        let kind = stream.rsplit_once('.').map(|(_, kind)| kind);
        let is_measured = matches!(kind, Some("read" | "write" | "log-write"))
            || SERVER.contains(&stream.as_str());
        if is_measured {
            let found = tables.latencies.get(&streams::tag(stream));
            let found = found.map_or(0, brunt_stats::Latencies::count);
            let what = format!("latencies of {stream} in latency.hlog");
            audit.number(run, &what, Some(float(found)), Some(float(*count)));
        }
    }
}

/// Compares percentiles.
fn spread(run: usize, what: &str, one: &LatencySummary, other: &LatencySummary, audit: &mut Audit) {
    for (percentile, one, other) in [
        ("median", one.p50_ms, other.p50_ms),
        ("p95", one.p95_ms, other.p95_ms),
        ("p99", one.p99_ms, other.p99_ms),
        ("p99.9", one.p999_ms, other.p999_ms),
    ] {
        let what = format!("{what}, {percentile}, by latency.hlog");
        audit.near(run, &what, one, other, BUCKET);
    }
    let what = format!("{what}, longest, by counters.csv");
    audit.number(run, &what, one.max_ms, other.max_ms);
}

fn stream(run: usize, what: &str, (stated, follows): (&IoNumbers, &IoNumbers), audit: &mut Audit) {
    let of = |kind: &str| format!("{what}{kind}, by counters.csv");
    let (one, other) = (float(stated.count), float(follows.count));
    audit.number(run, &of(""), Some(one), Some(other));
    let (one, other) = (float(stated.bytes), float(follows.bytes));
    audit.number(run, &of(" in bytes"), Some(one), Some(other));
    let (one, other) = (stated.latency_ms_mean, follows.latency_ms_mean);
    audit.number(run, &of(", mean latency"), one, other);
    let (one, other) = (stated.latency_ms_max, follows.latency_ms_max);
    audit.number(run, &of(", longest"), one, other);
    let (one, other) = (stated.latency_ms_p99, follows.latency_ms_p99);
    let what = format!("{what}, p99, by latency.hlog");
    audit.near(run, &what, one, other, BUCKET);
}

#[cfg(test)]
mod tests {
    use brunt_report::result::{Group, RuleName};

    use super::*;

    #[test]
    fn scatter_beyond_its_limit_is_ok() {
        let over = |id| {
            let name = RuleName { id, group: Group::Steadiness, title: "" };
            let outcome_of = |stated| {
                let rule = Rule::at_most(name, "%", 15.0, Some(22.0));
                let rule = Rule { outcome: stated, ..rule };
                outcome(&rule, false)
            };
            [Outcome::Ok, Outcome::Failed].map(outcome_of)
        };
        assert_eq!(over("stationary-database-read"), [None, Some(Outcome::Failed)]);
        assert_eq!(
            over("database-read-average"),
            [Some(Outcome::Failed); 2],
            "a mean over its limit"
        );
    }

    #[test]
    fn a_number_may_be_off_by_a_thousandth() {
        let mut audit = Audit::default();
        audit.number(1, "a", Some(1_000.9), Some(1_000.0));
        audit.number(1, "b", None, None);
        assert_eq!(audit.wrong, []);
        audit.number(1, "c", Some(60.0), Some(20.0));
        audit.number(1, "d", Some(1.0), None);
        let said: Vec<_> =
            audit.wrong.iter().map(|w| (w.stated.as_str(), w.follows.as_str())).collect();
        assert_eq!(said, [("60.000", "20.000"), ("1.000", "nothing")]);
        assert_eq!(audit.compared, 4);
    }
}
