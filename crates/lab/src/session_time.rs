//! Where the time of sessions went.

use brunt_qualify::kinds::Work;
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::Plan;
use brunt_report::result::SessionTime;
use brunt_stats::Latencies;

/// The sum of all latencies, in seconds.
fn seconds(latencies: &Latencies) -> f64 {
    let mean = latencies.mean().map_or(0.0, |mean| mean.as_seconds());
    mean * latencies.count() as f64
}

/// The shares of one server; `None` without a collection, and in a recovery, whose replay is
/// measured and has no sessions.
pub(crate) fn of(plan: &Plan, run: &TestRun) -> Option<SessionTime> {
    if plan.kind.work() != Work::Load {
        return None;
    }
    let collected = run.collected.as_ref()?;
    let whole = f64::from(plan.sessions) * collected.length.as_seconds();
    if whole <= 0.0 || collected.operations.is_empty() {
        return None;
    }
    let operations = run.operation_latencies().from_actual_start;
    let active = (seconds(&operations) / whole).min(1.0);
    // The computing comes after the end of an operation.
    let computing = plan.load.cost.as_seconds() * operations.count() as f64 / whole;
    let computing = computing.min(1.0 - active);
    let reads: f64 = run.board.with(|meters| {
        let databases = meters.databases.iter();
        databases.map(|one| seconds(one.reads.latencies())).sum()
    });
    let reading = (reads / whole).min(active);
    Some(SessionTime {
        held_back: 1.0 - active - computing,
        reading,
        computing,
        other: active - reading,
    })
}

/// The mean over all servers, which have the same number of sessions.
pub(crate) fn mean(all: &[Option<SessionTime>]) -> Option<SessionTime> {
    let all: Vec<SessionTime> = all.iter().flatten().copied().collect();
    let count = all.len() as f64;
    let mean = |pick: fn(&SessionTime) -> f64| all.iter().map(pick).sum::<f64>() / count;
    (!all.is_empty()).then(|| SessionTime {
        held_back: mean(|time| time.held_back),
        reading: mean(|time| time.reading),
        computing: mean(|time| time.computing),
        other: mean(|time| time.other),
    })
}
