//! A finished test, judged again from its plan, its result and its tables.
//!
//! Rates, latencies and times come from the tables, what was verified and done from the result.
//! What neither holds, such as what the kernel said, is not measured here: the rule is there, with
//! its limit.

use brunt_report::result::{
    Backend, Integrity, IoNumbers, Outcome, Rule, RunResult, Verdict, World,
};
use brunt_report::{Tables, host_counters, streams};
use brunt_stats::Percentile;
use brunt_units::{ByteSize, Span, Time};

use super::qualifies::{obstacles, unproven};
use super::{Assembly, Beneath, Surroundings, VolumeUse};
use crate::goal::{Target, Tune};
use crate::kinds::Work;
use crate::phases::test_run::TestRun;
use crate::plan::Plan;
use crate::rules::tester::Tester;
use crate::rules::{
    Done, Ending, Evidence, RecordsVerified, ReplicaOutcome, RuleId, Samples, StreamLatency,
    SystemLog, Writes, judge, sentence,
};
use crate::truth::oracle::Findings;

/// What follows from a result and its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// Every rule that the test must have.
    pub rules: Vec<Rule>,
    /// The rate that had to be reached.
    pub target_io_per_s: Option<f64>,
    /// Reasons that keep it from being a qualification. There may be others.
    pub reasons: Vec<String>,
    /// What is said of it, if it passed.
    pub sentence: Option<String>,
}

/// Judges a test of `plan` on one server by what is in `result` and in its `tables`. Without
/// tables, rules have no measurements.
///
/// # Panics
/// When the result has no server.
pub fn again(plan: &Plan, result: &RunResult, tables: Option<&Tables>) -> Again {
    let target = target(plan, result);
    let evidence = evidence(plan, result, tables, target);
    let run = TestRun {
        is_shortened: shortened(result),
        last: result.storage.database_bytes_final.map(ByteSize::bytes).into_iter().collect(),
        target,
        ..TestRun::unfinished(plan, Time::ZERO)
    };
    let stated = Evidence { achieved_io_per_s: result.storage.achieved_iops, ..evidence.clone() };
    let mut reasons = run.board.with(|meters| {
        let assembly = Assembly {
            length: Span::from_seconds(result.times.collection_s),
            ..Assembly::of(plan, &run, meters)
        };
        obstacles(&assembly.circumstances(&surroundings(result), &stated))
    });
    reasons.extend(unproven(result.verdict, &result.rules));
    let bottleneck = result.storage.bottlenecks.first();
    Again {
        rules: judge(plan.kind, &evidence, &plan.limits),
        target_io_per_s: target.map(|target| target.io_per_s),
        reasons,
        sentence: (result.verdict == Verdict::Pass)
            .then(|| sentence(&Ending::Complete, &result.rules, &stated, bottleneck)),
    }
}

/// Whether it is a prediction that stopped early.
fn shortened(result: &RunResult) -> bool {
    result.storage.precision.as_ref().is_some_and(|precision| precision.stopped_early)
}

/// The target of the plan, or the share of a maximum that was found.
fn target(plan: &Plan, result: &RunResult) -> Option<Target> {
    let share = match plan.tune {
        Some(Tune::Maximum { percent }) if percent < 100 => result.storage.target_iops,
        _ => None,
    };
    let found = share.map(|io_per_s| Target { io_per_s, headroom_percent: 0 });
    plan.target.or(found)
}

/// Which log had not gone through the checkpoint depth when the collection began: only the rule
/// says it.
fn short_of(result: &RunResult) -> Option<String> {
    let rule = result.rules.iter().find(|rule| RuleId::DatabaseWrites.is(rule))?;
    let (_, short_of) = rule.remark.split_once("when measuring began, ")?;
    Some(short_of.to_owned())
}

fn evidence(
    plan: &Plan,
    result: &RunResult,
    tables: Option<&Tables>,
    target: Option<Target>,
) -> Evidence {
    let count = |wrong: usize| vec![ReplicaOutcome::default(); wrong];
    let bare = Evidence {
        target,
        tuning: result.storage.details.tuning.clone(),
        is_predicted: result.world == World::Virtual,
        mailboxes: plan.mailboxes,
        records: result.storage.integrity.map(records),
        system_log: (result.world == World::Real).then(SystemLog::default),
        copies: count(plan.passive.len()),
        writes: plan.load.writes().then(|| Writes { per_s: None, short_of: short_of(result) }),
        done: done(plan, result),
        shortened: shortened(result)
            .then(|| (Span::from_seconds(result.times.collection_s), plan.duration)),
        restored: restored(result).map(Span::from_seconds),
        tester: tester(plan, result),
        ..Evidence::default()
    };
    let Some(tables) = tables.filter(|tables| tables.length_s > 0.0) else {
        return bare;
    };
    let limits = &plan.limits.latency;
    let servers = &tables.figures.storage.servers;
    let instances = || servers.iter().flat_map(|server| &server.instances);
    let databases = || instances().flat_map(|instance| &instance.details.databases);
    let of = |name: &str, what: &str, io: &IoNumbers, limit| StreamLatency {
        name: name.to_owned(),
        mean: io.latency_ms_mean.map(millis),
        samples: samples(tables, &streams::of(name, what), limit),
    };
    let tail = |name: &str, what: &str| {
        let latencies = tables.latencies.get(&streams::of(name, what))?;
        Some((name.to_owned(), latencies.percentile(Percentile::P99_9)?))
    };
    let stalls = tables.counts.get(streams::PAGE_FAULT_STALLS);
    let operations = tables.latencies.get(streams::OPERATION);
    let written: u64 = databases().map(|one| one.writes.count).sum();
    Evidence {
        writes: bare
            .writes
            .clone()
            .map(|writes| Writes { per_s: Some(written as f64 / tables.length_s), ..writes }),
        reads: databases()
            .map(|one| of(&one.name, "read", &one.reads, limits.read_sample))
            .collect(),
        log_writes: instances()
            .map(|one| of(&one.name, "log-write", &one.details.log.writes, limits.log_sample))
            .collect(),
        stalls_per_s: Some(stalls.copied().unwrap_or(0) as f64 / tables.length_s),
        achieved_io_per_s: tables.figures.storage.achieved_iops,
        samples: tables.samples.clone(),
        read_tails: databases().filter_map(|one| tail(&one.name, "read")).collect(),
        log_tails: instances().filter_map(|one| tail(&one.name, "log-write")).collect(),
        operation_p99: operations.and_then(|all| all.percentile(Percentile::P99)),
        ..bare
    }
}

fn millis(millis: f64) -> Span {
    Span::from_seconds(millis / 1e3)
}

fn samples(tables: &Tables, stream: &str, limit: Span) -> Samples {
    let mut samples = Samples::default();
    for (at_s, mean) in tables.means.get(stream).into_iter().flatten() {
        samples.note(Span::from_seconds(*at_s), mean.map(millis), limit);
    }
    samples
}

fn records(found: Integrity) -> RecordsVerified {
    RecordsVerified {
        expected: found.records,
        checked: found.records_checked,
        known: found.versions_known,
        findings: Findings {
            lost: found.lost,
            stale: found.stale,
            phantom: found.phantom,
            torn: found.torn,
        },
    }
}

/// Seconds until the databases could be used after a restore.
fn restored(result: &RunResult) -> Option<f64> {
    let mut servers = result.storage.servers.iter();
    servers.find_map(|server| Some(server.restore.as_ref()?.seconds))
}

/// Work besides carrying load.
fn done(plan: &Plan, result: &RunResult) -> Vec<Done> {
    let servers = || result.storage.servers.iter();
    let databases = plan.databases().count() as u64;
    let work = |what, wanted, done| Done { what, wanted, done, remark: String::new() };
    match plan.kind.work() {
        Work::Load => Vec::new(),
        Work::BackUp => {
            let read = servers().flat_map(|server| &server.backup).count() as u64;
            let restored = restored(result).map(|_| databases);
            let restored = work(RuleId::DatabasesRestored, databases, restored);
            let read = work(RuleId::DatabasesBackedUp, databases, Some(read));
            std::iter::once(read).chain(plan.copy_to.is_some().then_some(restored)).collect()
        }
        Work::Replay => {
            let recoveries = servers().flat_map(|server| &server.recovery);
            let least = recoveries.map(|one| one.logs).min();
            vec![work(RuleId::LogsReplayed, plan.logs.into(), least)]
        }
    }
}

fn tester(plan: &Plan, result: &RunResult) -> Tester {
    let mean = |name: &str| {
        let mut servers = result.storage.servers.iter();
        servers.find_map(|server| server.host_counter(name))?.avg
    };
    // Only the first obstacle of a machine is a reason, and these come first.
    let first = [RuleId::HostIoLimits, RuleId::TesterStandstill];
    let is_broken = |rule: &Rule| {
        rule.outcome != Outcome::Ok && first.iter().any(|id| id.is(rule)) && rule.measured.is_some()
    };
    if result.rules.iter().any(is_broken) {
        return Tester::default();
    }
    Tester {
        busy_percent: mean(host_counters::OWN_PROCESSOR)
            .map(|percent| percent / f64::from(plan.shards)),
        host_percent: mean(host_counters::PROCESSOR),
        steal_percent: mean(host_counters::STEAL),
        throttled_percent: mean(host_counters::THROTTLED),
        ..Tester::default()
    }
}

/// What the test did not know about itself, as far as the result has it.
pub(super) fn surroundings(result: &RunResult) -> Surroundings {
    let server = result.storage.servers.first();
    let details = &server.expect("every result has a server").details;
    let volumes = details.backend.volumes.iter();
    // Which writes went through the page cache is only said there.
    let mut reasons = result.reasons.iter();
    let is_said = reasons.any(|reason| reason.contains(" through the page cache of the operating"));
    Surroundings {
        world: result.world,
        machine: details.machine.clone(),
        host: Vec::new(),
        busiest: None,
        phases: Vec::new(),
        mounts: Vec::new(),
        cached_writes: Vec::new(),
        setup: Vec::new(),
        backend: Backend { direct: details.backend.direct || is_said, ..details.backend.clone() },
        volumes: volumes
            .map(|volume| VolumeUse {
                volume: volume.clone(),
                bytes: None,
                device_read: None,
                device_written: None,
                databases: Vec::new(),
                logs: Vec::new(),
                beneath: Beneath::default(),
            })
            .collect(),
        durability: details.durability.clone(),
        system_log: None,
        io_limits: None,
        replicas: Vec::new(),
        origin: result.origin.clone(),
    }
}
