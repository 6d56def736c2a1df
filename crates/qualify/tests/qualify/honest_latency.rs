//! Latency counts from when an operation should have begun.
//!
//! A device freezes for one second in ten, under 400 paced operations per second of one uncached
//! read each. In a closed loop, sessions wait for each answer and see a p95 of two milliseconds:
//! during a freeze there are only as many requests as sessions. Paced by time, a tenth of all
//! operations waits half a second on average.

use crate::small::{Small, fails, plan};
use brunt_qualify::goal::Growth;
use brunt_qualify::plan::{LoadPlan, Plan};
use brunt_qualify::rules::{Ending, RuleId};
use brunt_report::result::Outcome;
use brunt_stats::Percentile;
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::content::Shape;
use brunt_workload::mix::Mix;
use brunt_workload::session::Scheduling;

const SECOND: u64 = 1_000_000_000;
const FREEZE: u64 = 10;

/// Two milliseconds; requests of the first second of ten complete at its end.
fn freezing(now: Time) -> Span {
    let within = now.0.rem_euclid(FREEZE * SECOND);
    Span(SECOND.saturating_sub(within)) + Span::millis(2)
}

/// Only reads; hardly any page is cached except the branches.
fn reads(scheduling: Scheduling, sessions: u32) -> Plan {
    let mut plan = plan();
    plan.duration = Span::seconds(100);
    plan.sessions = sessions;
    plan.engine.background_maintenance = false;
    // Room for the branches and one page per session: a fiftieth of all leaves.
    plan.engine.cache_max = ByteSize::mib(3);
    (plan.engine.start_percent, plan.engine.stop_percent) = (1, 2);
    plan.growth = Growth::Balance;
    plan.load = LoadPlan {
        mix: Mix::new(0, 0, 0, 0).unwrap(),
        scheduling,
        cost: Span::micros(10),
        // Small bodies stay in their record, so a read needs only the record's page.
        shape: Shape { long: 50, large_one_in: 0, beside_percent: 0, ..plan.load.shape },
        // A repeated read would find its page in memory.
        reads_again_percent: 0,
        ..plan.load
    };
    for instance in &mut plan.instances {
        instance.databases[0].size = ByteSize::mib(64);
    }
    plan
}

fn run(plan: &Plan) -> crate::small::Left {
    let mut small = Small::new(1);
    // Databases are created before the freezes begin.
    small.latency = Box::new(|now, _| freezing(now));
    small.run(plan)
}

#[test]
fn a_freeze_of_one_second_in_ten_shows_in_operations() {
    let plan = reads(Scheduling::Paced { rate: 400.0 }, 512);
    let test = run(&plan);
    let run = test.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Complete);
    let collected = run.collected.as_ref().unwrap();
    let operations = &run.operation_latencies().from_intended_start;
    let millis = |per_mille| {
        let at = operations.percentile(Percentile::per_mille(per_mille));
        at.unwrap().as_millis()
    };
    assert!(operations.count().abs_diff(40_000) < 400, "{}", operations.count());
    let (p95, p99) = (millis(950), millis(990));
    assert!((470.0..530.0).contains(&p95), "p95 {p95} ms");
    assert!((870.0..930.0).contains(&p99), "p99 {p99} ms");
    assert!(millis(500) < 5.0, "the median is that of the storage");
    let reads: u64 = collected.reads.iter().map(|samples| samples.count).sum();
    assert!(reads > 0);
    let per_operation = test.result(&plan).storage.achieved_iops.unwrap() / 400.0;
    assert!((0.9..1.1).contains(&per_operation), "{per_operation} reads each");
    // A strict tail would fail; by default it advises.
    let result = test.result(&plan);
    fails(&result, RuleId::TailOperation, Outcome::Advisory);
    fails(&result, RuleId::TailDatabaseRead, Outcome::Advisory);
}

#[test]
fn a_closed_loop_of_few_hides_it() {
    let plan = reads(Scheduling::None, 1);
    let test = run(&plan);
    let operations = test.run.as_ref().unwrap().operation_latencies();
    let p99 = operations.from_intended_start.percentile(Percentile::P99);
    assert!(p99.unwrap() < Span::millis(3), "{p99:?}");
}

/// Storage that freezes shortly before the end answers when nobody counts any more.
#[test]
fn what_is_in_flight_at_the_end_counts() {
    let plan = plan();
    let longest = |freezes_at: Time| {
        let mut small = Small::new(1);
        small.latency = Box::new(move |now, _| match now >= freezes_at {
            true => (freezes_at + Span::seconds(24)).max(now) - now + Span::micros(200),
            false => Span::micros(200),
        });
        let test = small.run(&plan);
        let run = test.run.as_ref().unwrap();
        assert_eq!(run.ending, Ending::Complete);
        let longest = run.board.with(|meters| {
            let reads = meters.databases.iter().map(|one| one.reads.total().max);
            let logs = meters.logs.iter().map(|one| one.writes.total().max);
            reads.chain(logs).flatten().max().unwrap()
        });
        (run.collection_ended.unwrap(), longest)
    };
    let (end, usual) = longest(Time(u64::MAX));
    assert!(usual < Span::millis(1), "{usual}");
    let (frozen_end, frozen) = longest(Time(end.0 - 1_700_000_000));
    assert_eq!(frozen_end, end);
    assert!(frozen > Span::millis(1_600), "{frozen}");
}
