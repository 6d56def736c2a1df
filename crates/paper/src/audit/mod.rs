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
//! | remarks of rules | those that the tables give |
//! | the machine, its devices, I/O errors, remarks of integrity and of a fair test | those of the end of the test log |
//!
//! Rules are those of this program. A run by another version may have had others: what differs then
//! is not proven, and not wrong. The same holds for a run without a table, and for several servers
//! in one simulation, whose own tables stay behind. I/O errors, what kernel and devices said and
//! the machine are in no table: they have to be those of the test log.
//!
//! Published papers have such contradictions: one prints 60 I/Os per second for a server in its
//! text and 20 in its table (Dell PowerVault MD3820f, 2015).
//!
//! Tables hold six digits after the point, so figures count as equal within a thousandth, or a
//! thousandth of a unit; percentiles of histograms within a hundredth.

mod again;

use std::path::Path;

use brunt_qualify::rules::RuleId;
use brunt_report::result::{
    Direction, Group, Instance, IoNumbers, LatencySummary, Outcome, Rule, RunResult, Verdict,
};
use brunt_report::{ReadError, Run, Tables, counted, decimals, streams};

use crate::evidence::{Evidence, FILES, POINTS, RunFiles};
use crate::numbers::float;
use again::{Kept, judged, logged};

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
    let is_absent = |name: &&str| *name != POINTS && files.bytes(name).is_none();
    let absent: Vec<&str> = FILES.into_iter().filter(is_absent).collect();
    audit.unproven.extend(absent.iter().map(|name| format!("run{number} has no {name}")));
    // The tables of several servers in one folder have sums only.
    let has_tables = absent.is_empty() && result.storage.servers.len() == 1;
    let tables = match has_tables {
        true => Some(run.tables(Path::new(&files.label), |name| files.open(name))?),
        false => None,
    };
    if let Some(tables) = &tables {
        recorded(number, result, tables, audit);
    }
    let mut found = Audit::default();
    let kept = Kept {
        is_whole: files.files.iter().all(|file| file.whole.is_none()),
        has_tables,
        is_redacted: evidence.redacted,
    };
    judged(number, run, tables.as_ref(), kept, &mut found);
    logged(number, run, kept, &mut found);
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
            let follows = backup.size.over(backup.seconds).0;
            audit.number(run, &what, Some(backup.rate.0), Some(follows));
        }
    }
    let servers = result.storage.servers.iter();
    for restore in servers.filter_map(|server| server.restore.as_ref()) {
        if restore.seconds > 0.0 {
            let follows = restore.size.over(restore.seconds).0;
            audit.number(run, "restore, MiB per second", Some(restore.rate.0), Some(follows));
        }
    }
}

fn rules(run: usize, result: &RunResult, audit: &mut Audit) {
    let precision = result.storage.precision.as_ref();
    let is_cut = precision.is_some_and(|precision| precision.stopped_early);
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
        Group::FairTest => {
            ![RuleId::DeviceAgrees, RuleId::TesterStandstill].iter().any(|id| id.is(rule))
        }
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
    let share = EXACT + rounding(tables);
    audit.near(run, "achieved I/Os per second, by counters.csv", achieved, follows, share);
    if result.times.collection_started.is_some() {
        let (stated, follows) = (result.times.collection_s, tables.length_s);
        let what = "seconds of the collection, by counters.csv";
        audit.near(run, what, Some(stated), Some(follows), share);
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
    // Means of the machine are weighed by lengths of samples.
    let servers = result.storage.servers.iter().zip(&figures.storage.servers);
    // The machine is not watched while nothing runs.
    let is_carried_on = result.reasons.iter().any(|reason| reason.contains(" and carried on"));
    for (stated, follows) in servers.filter(|_| !is_carried_on) {
        for counter in follows.host.iter().filter(|counter| counter.avg.is_some()) {
            let own = stated.host_counter(&counter.counter).and_then(|own| own.avg);
            let what = format!("{}, by counters.csv", counter.counter);
            audit.near(run, &what, own, counter.avg, share);
        }
    }
}

/// By which share lengths of samples, which the tables keep to the millisecond, and what is divided
/// by them may be off.
fn rounding(tables: &Tables) -> f64 {
    0.001 * float(tables.samples.len() as u64) / tables.length_s.max(0.001)
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
