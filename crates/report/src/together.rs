//! Several runs as one: the hosts of one system, tested at the same time.
//!
//! Only runs of different servers that were under load at the same time are one test. Other runs
//! are not added up: two runs of one host only show its performance twice.
//!
//! I/O adds up, and rules and verdicts stay those of each host: the system passes when every host
//! does. Samples are combined by the clock, and their percentiles are those of all I/Os.

mod over_time;

use std::collections::{BTreeMap, BTreeSet};

use brunt_run::Sum;

use crate::Run;
use crate::parts::Parts;
use crate::result::{
    Bottleneck, Bucket, Details, Distribution, Fleet, Origin, Rule, RunResult, SCHEMA, Setup,
    Storage, Tested, Times, Verdict, World, step_of,
};

pub use over_time::{sum_in, sum_of};

/// Why runs are not one test.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TogetherError {
    /// There are no runs.
    #[error("there is no run to add up")]
    None,
    /// They are of different kinds.
    #[error("a {0} test and a {1} test cannot be added up")]
    Tests(Tested, Tested),
    /// One is real and another is virtual.
    #[error("a run on real storage and one on modelled storage cannot be added up")]
    Worlds,
    /// They are drills.
    #[error("each drill is a rehearsal of its own")]
    Drills,
    /// They are tests of mail servers.
    #[error("each test of mail servers has a ledger of its own")]
    Mail,
    /// A run is given twice.
    #[error("run {0} is named twice")]
    Twice(String),
    /// Two of them are of the same server.
    #[error("more than one of them is of {0}, and a server is not added to itself")]
    OneServer(String),
    /// They did not overlap in time.
    #[error("{0} had ended before {1} began")]
    Times(String, String),
}

/// Maximum difference between the starts and ends of the hosts' collections. ESRP requires all
/// servers of a system to run simultaneously; published runs begin within half a minute (EqualLogic
/// PS5000XV, 2008).
const APART_MAX_S: u64 = 30;

/// Combines all `runs` into one, with `sum` as its samples. A single run is returned unchanged.
///
/// # Errors
/// [`TogetherError`] when they are not one test.
pub fn together(runs: Vec<Run>, sum: Option<&Sum>) -> Result<Run, TogetherError> {
    of_fleet(runs, sum, None)
}

/// The same of the hosts of a `fleet`, whose clocks it has compared.
///
/// # Errors
/// [`TogetherError`] when they are not one test.
pub fn of_fleet(
    mut runs: Vec<Run>,
    sum: Option<&Sum>,
    fleet: Option<Fleet>,
) -> Result<Run, TogetherError> {
    are_one_test(&runs)?;
    if runs.len() == 1 {
        let mut run = runs.swap_remove(0);
        run.result.fleet = fleet.or(run.result.fleet);
        return Ok(run);
    }
    Ok(Run {
        samples: sum.map(over_time::samples).unwrap_or_default(),
        parts: sum.map(|sum| Parts::of(sum.samples())).unwrap_or_default(),
        events: events(&runs),
        scenario: scenario(&runs),
        result: result(&runs, fleet),
    })
}

/// Whether `runs` are one test of several servers.
///
/// # Errors
/// [`TogetherError`] says why not.
pub fn are_one_test(runs: &[Run]) -> Result<(), TogetherError> {
    let first = &runs.first().ok_or(TogetherError::None)?.result;
    let mut seen = BTreeSet::new();
    for run in runs {
        let result = &run.result;
        if result.storage.test != first.storage.test {
            return Err(TogetherError::Tests(first.storage.test, result.storage.test));
        }
        if result.world != first.world {
            return Err(TogetherError::Worlds);
        }
        let id = &result.origin.run_id;
        if !seen.insert(id) {
            return Err(TogetherError::Twice(id.clone()));
        }
    }
    if runs.len() > 1 && first.drill.is_some() {
        return Err(TogetherError::Drills);
    }
    if runs.len() > 1 && first.mail.is_some() {
        return Err(TogetherError::Mail);
    }
    let mut servers = BTreeSet::new();
    for server in runs.iter().flat_map(|run| &run.result.storage.servers) {
        if !servers.insert(&server.name) {
            return Err(TogetherError::OneServer(server.name.clone()));
        }
    }
    overlap(runs)
}

/// Checks that all runs overlap at some moment; virtual ones have no common clock.
fn overlap(runs: &[Run]) -> Result<(), TogetherError> {
    if runs[0].result.world == World::Virtual {
        return Ok(());
    }
    let last = runs.iter().max_by_key(|run| span(run).0);
    let first = runs.iter().min_by_key(|run| span(run).1);
    match (first, last) {
        (Some(first), Some(last)) if span(first).1 < span(last).0 => {
            Err(TogetherError::Times(label(first), label(last)))
        }
        _ => Ok(()),
    }
}

/// Start and end of a run's collection, in seconds; of the whole run if there was no collection. A
/// run without a known end ended with its collection.
fn span(run: &Run) -> (u64, u64) {
    let times = &run.result.times;
    let begin = times.collection_started.unwrap_or(times.started);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    let collected = times.collection_s.ceil() as u64;
    let end = times.collection_ended.or(times.ended);
    let end = end.unwrap_or_else(|| begin.after(collected));
    (begin.unix_seconds, end.unix_seconds)
}

/// The label of a run among others.
fn label(run: &Run) -> String {
    let names: Vec<&str> = run.result.storage.servers.iter().map(|s| s.name.as_str()).collect();
    names.join(", ")
}

fn result(runs: &[Run], fleet: Option<Fleet>) -> RunResult {
    let results = || runs.iter().map(|run| &run.result);
    let first = &runs[0].result;
    let verdict = verdict(results().map(|result| result.verdict));
    let clocks = match fleet {
        Some(_) => String::new(),
        None => by_their_clocks(runs),
    };
    let reasons = reasons(runs);
    let mut names: Vec<&str> = results().map(|result| result.scenario.as_str()).collect();
    names.dedup();
    RunResult {
        schema: SCHEMA.to_owned(),
        scenario: names.join(", "),
        world: first.world,
        verdict,
        qualifies: reasons.is_empty() && results().all(|result| result.qualifies),
        reasons,
        rules: runs.iter().flat_map(rules).collect(),
        times: times(runs),
        origin: origin(runs),
        storage: storage(runs, verdict, &clocks),
        drill: None,
        mail: None,
        fleet,
    }
}

fn storage(runs: &[Run], verdict: Verdict, clocks: &str) -> Storage {
    let tests = || runs.iter().map(|run| &run.result.storage);
    let first = &runs[0].result.storage;
    let achieved_iops = tests().map(|test| test.achieved_iops).sum();
    Storage {
        test: first.test,
        achieved_iops,
        target_iops: tests().map(|test| test.target_iops).sum(),
        bottlenecks: runs.iter().flat_map(bottlenecks).collect(),
        database_bytes_initial: tests().map(|test| test.database_bytes_initial).sum(),
        database_bytes_final: tests().map(|test| test.database_bytes_final).sum(),
        database_files: tests().map(|test| test.database_files).sum(),
        integrity: tests()
            .map(|test| test.integrity)
            .reduce(|all, own| Some(all?.and(own?)))
            .flatten(),
        // Shares of different samples do not add up.
        content: Vec::new(),
        faults: tests().flat_map(|test| test.faults.clone()).collect(),
        // As the models that they come from.
        states: Vec::new(),
        precision: None,
        servers: tests().flat_map(|test| test.servers.clone()).collect(),
        details: Details {
            tuning: None,
            sentence: sentence(runs, verdict, achieved_iops, clocks),
            setup: setup(runs),
            distributions: distributions(runs),
            found: tests().flat_map(|test| test.details.found.clone()).collect(),
            // Runs that were simulated separately have their own models.
            model: None,
        },
    }
}

/// The setup of the first, with the sessions and mailboxes of all.
fn setup(runs: &[Run]) -> Setup {
    let all = || runs.iter().map(|run| &run.result.storage.details.setup);
    Setup {
        sessions: all().map(|own| own.sessions).sum(),
        mailboxes: all().map(|own| own.mailboxes).sum(),
        pace_iops: all().map(|own| own.pace_iops).sum(),
        ..runs[0].result.storage.details.setup.clone()
    }
}

/// A single failure fails all; a run without an answer leaves nothing to judge.
fn verdict(all: impl Iterator<Item = Verdict>) -> Verdict {
    let gravity = |verdict: &Verdict| match verdict {
        Verdict::Pass => 0,
        Verdict::Interrupted => 1,
        Verdict::Inconclusive | Verdict::NoLimitSet => 2,
        Verdict::Error => 3,
        Verdict::Invalid => 4,
        Verdict::Fail => 5,
    };
    all.max_by_key(gravity).unwrap_or(Verdict::Error)
}

fn rules(run: &Run) -> Vec<Rule> {
    let of_server = |rule: &Rule| Rule {
        server: rule.server.clone().or_else(|| Some(label(run))),
        ..rule.clone()
    };
    run.result.rules.iter().map(of_server).collect()
}

fn bottlenecks(run: &Run) -> impl Iterator<Item = Bottleneck> {
    let of_server = |bottleneck: &Bottleneck| Bottleneck {
        server: bottleneck.server.clone().or_else(|| Some(label(run))),
        ..bottleneck.clone()
    };
    run.result.storage.bottlenecks.iter().map(of_server)
}

/// Every reason of any run. One that all runs have is not repeated for each.
fn reasons(runs: &[Run]) -> Vec<String> {
    let mut reasons: Vec<String> = apart(runs).into_iter().collect();
    let of_all = |reason: &&String| runs.iter().all(|run| run.result.reasons.contains(reason));
    let shared: Vec<&String> = runs[0].result.reasons.iter().filter(of_all).collect();
    reasons.extend(shared.iter().copied().cloned());
    for run in runs {
        let label = label(run);
        let own = run.result.reasons.iter();
        let own = own.filter(|reason| !shared.contains(reason));
        reasons.extend(own.map(|reason| format!("{label}: {reason}")));
    }
    reasons
}

/// Why the runs were not simultaneous, if they were not; virtual ones have no common clock.
fn apart(runs: &[Run]) -> Option<String> {
    if runs[0].result.world == World::Virtual {
        return None;
    }
    let times = runs.iter().map(|run| &run.result.times);
    let ends = times.filter_map(|times| {
        let (begin, end) = (times.collection_started?, times.collection_ended?);
        Some((begin.unix_seconds, end.unix_seconds))
    });
    let ends: Vec<_> = ends.collect();
    let spread = |of: fn(&(u64, u64)) -> u64| {
        let (first, last) = (ends.iter().map(of).min()?, ends.iter().map(of).max()?);
        Some(last - first)
    };
    let (begins, ends) = (spread(|pair| pair.0)?, spread(|pair| pair.1)?);
    (begins.max(ends) > APART_MAX_S).then(|| {
        format!(
            "the hosts did not collect at the same time: they began {begins} s apart and ended {ends} s apart"
        )
    })
}

/// What clocks leave open about the begins of the runs; empty when that is nothing, or not known.
fn by_their_clocks(runs: &[Run]) -> String {
    let clock = |run: &Run| run.result.storage.servers.first()?.details.machine.clock;
    let free = runs.iter().filter(|run| clock(run).is_some_and(|clock| !clock.synchronised));
    let free: Vec<String> = free.map(label).collect();
    if !free.is_empty() {
        let (whose, were) = match free.len() {
            1 => ("The clock", "was"),
            _ => ("The clocks", "were"),
        };
        let names = free.join(", ");
        return format!(
            " {whose} of {names} {were} not synchronised: how far apart the servers began is not known."
        );
    }
    let begins =
        runs.iter().filter_map(|run| Some(run.result.times.collection_started?.unix_seconds));
    let apart = begins.clone().max().zip(begins.min()).map_or(0, |(last, first)| last - first);
    let errors: Option<Vec<f64>> = runs.iter().map(|run| Some(clock(run)?.max_error_ms)).collect();
    let mut errors = errors.unwrap_or_default();
    errors.sort_by(f64::total_cmp);
    // The two that may be off the furthest, in opposite directions.
    let error_s = errors.iter().rev().take(2).sum::<f64>() / 1e3;
    match apart > 0 && apart as f64 <= error_s {
        true => format!(
            " They began {apart} s apart, which is within the error of their clocks ({} s).",
            crate::decimals(error_s)
        ),
        false => String::new(),
    }
}

fn sentence(runs: &[Run], verdict: Verdict, achieved_iops: Option<f64>, clocks: &str) -> String {
    let hosts = runs.len();
    let rate = achieved_iops.map_or("no I/O was measured on some".to_owned(), |rate| {
        format!("{} transactional I/Os per second together", crate::decimals(rate))
    });
    let not_passed: Vec<String> = runs
        .iter()
        .filter(|run| run.result.verdict != Verdict::Pass)
        .map(|run| format!("{} ({})", label(run), run.result.verdict.word()))
        .collect();
    match verdict {
        Verdict::Pass => format!("All {hosts} servers held every limit, at {rate}.{clocks}"),
        _ => format!(
            "{} of {hosts} servers did not pass: {}; {rate}.{clocks}",
            not_passed.len(),
            not_passed.join(", ")
        ),
    }
}

fn times(runs: &[Run]) -> Times {
    let times = || runs.iter().map(|run| &run.result.times);
    let ended: Option<Vec<_>> = times().map(|times| times.ended).collect();
    Times {
        started: times().map(|t| t.started).min().expect("there is a run"),
        collection_started: times().filter_map(|t| t.collection_started).min(),
        collection_ended: times().filter_map(|t| t.collection_ended).max(),
        ended: ended.and_then(|ended| ended.into_iter().max()),
        collection_s: times().map(|t| t.collection_s).fold(0.0, f64::max),
    }
}

fn distributions(runs: &[Run]) -> Vec<Distribution> {
    let all = || runs.iter().flat_map(|run| &run.result.storage.details.distributions);
    let mut names: Vec<&String> = Vec::new();
    for distribution in all() {
        if !names.contains(&&distribution.name) {
            names.push(&distribution.name);
        }
    }
    let of = |name: &String| {
        let mut steps = BTreeMap::<i32, Bucket>::new();
        let buckets = all().filter(|d| d.name == *name).flat_map(|d| &d.buckets);
        for bucket in buckets {
            let step = steps.entry(step_of(bucket.latency_ms_max));
            let step = step.or_insert(Bucket { count: 0, ..*bucket });
            step.count += bucket.count;
            step.latency_ms_max = step.latency_ms_max.max(bucket.latency_ms_max);
        }
        Distribution { name: name.clone(), buckets: steps.into_values().collect() }
    };
    names.into_iter().map(of).collect()
}

fn origin(runs: &[Run]) -> Origin {
    let all = |of: fn(&Origin) -> &String| {
        let of = |run: &Run| of(&run.result.origin).clone();
        let mut texts: Vec<String> = runs.iter().map(of).collect();
        texts.dedup();
        texts
    };
    let commits = runs.iter();
    let commits = commits.filter_map(|run| run.result.origin.commit.clone());
    let mut commits: Vec<String> = commits.collect();
    commits.dedup();
    Origin {
        command: all(|origin| &origin.command).join("; "),
        version: all(|origin| &origin.version).join(", "),
        commit: (!commits.is_empty()).then(|| commits.join(", ")),
        seed: runs[0].result.origin.seed,
        run_id: all(|origin| &origin.run_id).join(", "),
    }
}

fn events(runs: &[Run]) -> Vec<crate::Event> {
    let mut events = Vec::new();
    for run in runs {
        let label = label(run);
        events.extend(
            run.events.iter().map(|event| crate::Event {
                at: event.at,
                text: format!("{label}: {}", event.text),
            }),
        );
    }
    events.sort_by_key(|event| event.at);
    events
}

fn scenario(runs: &[Run]) -> String {
    let parts = runs.iter();
    let parts: Vec<String> =
        parts.map(|run| format!("# {}\n{}", label(run), run.scenario)).collect();
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_verdict_counts() {
        let of = |verdicts: &[Verdict]| verdict(verdicts.iter().copied());
        assert_eq!(of(&[Verdict::Pass, Verdict::Pass]), Verdict::Pass);
        assert_eq!(of(&[Verdict::Pass, Verdict::Interrupted]), Verdict::Interrupted);
        assert_eq!(of(&[Verdict::Fail, Verdict::Invalid]), Verdict::Fail);
        assert_eq!(of(&[Verdict::Error, Verdict::Invalid]), Verdict::Invalid);
        assert_eq!(of(&[Verdict::Inconclusive, Verdict::Error]), Verdict::Error);
    }
}
