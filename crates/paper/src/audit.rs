//! Whether the figures of a run follow from what it recorded.
//!
//! | figure | has to be |
//! | --- | --- |
//! | rates, counts, bytes and latencies of each database and log | those of `counters.csv` |
//! | numbers of an instance | sums and means of its databases |
//! | achieved I/O | reads and writes of all instances |
//! | a measured average | the worst of the streams it is about |
//! | MiB per second of a backup | size through time |
//! | the outcome of a rule | measured value against limit |
//! | the verdict | what its rules give |
//!
//! Published papers have such contradictions: one prints 60 I/Os per second for a server in its text and 20 in its table (Dell
//! PowerVault MD3820f, 2015).
//!
//! Tables hold six digits after the point, so figures count as equal within a thousandth, or a thousandth of a unit.

use brunt_report::result::{
    Direction, Instance, IoNumbers, Outcome, Rule, RunResult, Verdict, World,
};
use brunt_report::{ReadError, Run, decimals};
use std::path::Path;

use crate::evidence::RunFiles;
use crate::numbers::float;

/// What was compared, and what does not follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// How many figures were compared.
    pub compared: u64,
    /// Those that do not follow.
    pub wrong: Vec<Wrong>,
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
    /// As it follows.
    pub follows: String,
}

impl Audit {
    fn number(&mut self, run: usize, what: &str, stated: Option<f64>, follows: Option<f64>) {
        self.compared += 1;
        let is_equal = match (stated, follows) {
            (Some(one), Some(other)) => (one - other).abs() <= f64::max(0.001, 0.001 * other.abs()),
            (one, other) => one.is_none() && other.is_none(),
        };
        if !is_equal {
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
    audit: &mut Audit,
) -> Result<(), ReadError> {
    let result = &run.result;
    sums(number, result, audit);
    backups(number, result, audit);
    rules(number, result, audit);
    // The tables of several servers in one folder have sums only.
    if result.storage.servers.len() == 1 && !run.samples.is_empty() {
        let tables = run.from_tables(Path::new(&files.label), |name| files.open(name))?;
        recorded(number, result, &tables, audit);
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
            (
                "database read latency",
                instance.db_read_latency_ms,
                reads.latency_ms_mean,
            ),
            (
                "database write latency",
                instance.db_write_latency_ms,
                writes.latency_ms_mean,
            ),
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
    for backup in result
        .storage
        .servers
        .iter()
        .flat_map(|server| &server.backup)
    {
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
            audit.number(
                run,
                "restore, MiB per second",
                Some(restore.mb_per_s),
                Some(follows),
            );
        }
    }
}

fn rules(run: usize, result: &RunResult, audit: &mut Audit) {
    let is_cut = result.storage.precision.is_some() && result.world == World::Virtual;
    for rule in &result.rules {
        if let Some(follows) = outcome(rule) {
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
    let reads = worst(|i| {
        i.details
            .databases
            .iter()
            .map(|d| d.reads.latency_ms_mean)
            .collect()
    });
    let logs = worst(|i| vec![i.details.log.writes.latency_ms_mean]);
    let stated = |id: &str| {
        let own = result.rules.iter().filter(|rule| rule.id == id);
        own.filter_map(|rule| rule.measured).reduce(f64::max)
    };
    for (id, what, follows) in [
        (
            "database-read-average",
            "worst mean of database reads",
            reads,
        ),
        ("log-write-average", "worst mean of log writes", logs),
    ] {
        if let Some(stated) = stated(id) {
            audit.number(run, what, Some(stated), follows);
        }
    }
}

/// The outcome that limit and measured value give; `None` where there is none, or others are possible.
fn outcome(rule: &Rule) -> Option<Outcome> {
    let (limit, measured) = (rule.limit?, rule.measured?);
    let holds = match rule.direction {
        Direction::AtMost => measured <= limit,
        Direction::AtLeast => measured >= limit,
    };
    match (holds, rule.outcome) {
        // A value within its limit can be remarkable all the same, or not be judged.
        (_, Outcome::NotJudged) | (true, Outcome::Advisory) => None,
        (true, _) => Some(Outcome::Ok),
        (false, Outcome::Advisory) => Some(Outcome::Advisory),
        (false, Outcome::Ok) if tolerates(&rule.id) => None,
        (false, _) => Some(Outcome::Failed),
    }
}

/// Whether a rule can hold beyond its limit: single samples may be slow, and scatter is no trend.
fn tolerates(id: &str) -> bool {
    id.ends_with("-worst") || id.starts_with("stationary-")
}

/// Compares what `result` says with what the `tables` say.
fn recorded(run: usize, result: &RunResult, tables: &RunResult, audit: &mut Audit) {
    let (achieved, follows) = (result.storage.achieved_iops, tables.storage.achieved_iops);
    if achieved.is_some() {
        audit.number(
            run,
            "achieved I/Os per second, by counters.csv",
            achieved,
            follows,
        );
    }
    for (stated, follows) in result.instances().zip(tables.instances()) {
        let logs = (&stated.details.log.writes, &follows.details.log.writes);
        stream(run, &format!("{}, log writes", stated.name), logs, audit);
        let databases = stated.details.databases.iter();
        for (one, other) in databases.zip(&follows.details.databases) {
            let name = &one.name;
            stream(
                run,
                &format!("{name}, reads"),
                (&one.reads, &other.reads),
                audit,
            );
            stream(
                run,
                &format!("{name}, writes"),
                (&one.writes, &other.writes),
                audit,
            );
        }
    }
}

fn stream(run: usize, what: &str, (stated, follows): (&IoNumbers, &IoNumbers), audit: &mut Audit) {
    let of = |what: &str, kind: &str| format!("{what}{kind}, by counters.csv");
    let (one, other) = (float(stated.count), float(follows.count));
    audit.number(run, &of(what, ""), Some(one), Some(other));
    let (one, other) = (float(stated.bytes), float(follows.bytes));
    audit.number(run, &of(what, " in bytes"), Some(one), Some(other));
    let (one, other) = (stated.latency_ms_mean, follows.latency_ms_mean);
    audit.number(run, &of(what, ", mean latency"), one, other);
    let (one, other) = (stated.latency_ms_max, follows.latency_ms_max);
    audit.number(run, &of(what, ", longest"), one, other);
}

#[cfg(test)]
mod tests {
    use brunt_report::result::{Group, RuleName};

    use super::*;

    #[test]
    fn scatter_beyond_its_limit_is_ok() {
        let over = |id| {
            let name = RuleName {
                id,
                group: Group::Steadiness,
                title: "",
            };
            let outcome_of = |stated| {
                let rule = Rule::at_most(name, "%", 15.0, Some(22.0));
                outcome(&Rule {
                    outcome: stated,
                    ..rule
                })
            };
            [Outcome::Ok, Outcome::Failed].map(outcome_of)
        };
        assert_eq!(
            over("stationary-database-read"),
            [None, Some(Outcome::Failed)]
        );
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
        let said: Vec<_> = audit
            .wrong
            .iter()
            .map(|w| (w.stated.as_str(), w.follows.as_str()))
            .collect();
        assert_eq!(said, [("60.000", "20.000"), ("1.000", "nothing")]);
        assert_eq!(audit.compared, 4);
    }
}
