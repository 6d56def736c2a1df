//! Each limit of a load test, exceeded by a whole test in virtual time; by that limit alone where
//! possible.

use std::ops::Range;

use crate::small::{Small, failed, fails, outcome, plan, rule};
use brunt_qualify::goal::Target;
use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::{Limits, Plan};
use brunt_qualify::rules::RuleId;
use brunt_report::RunResult;
use brunt_report::result::{Outcome, Verdict};
use brunt_run::News;
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::profile::Version;
use brunt_world::fault::{Direction, Fault, FaultKind};
use brunt_world::{Class, Op};
use brunt_world_virtual::Request;

const MS: Span = Span::millis(1);
/// A page of a database, and a segment of a log file.
const PAGE: Range<u64> = 1 << 20..(1 << 20) + 4_096;
const SEGMENT: Range<u64> = 64 << 10..(64 << 10) + 512;
const FAST: Span = Span::micros(200);

/// The result of `plan` on storage with this `latency`.
fn on(plan: &Plan, latency: impl FnMut(Time, &Request) -> Span + 'static) -> RunResult {
    let small = Small { latency: Box::new(latency), ..Small::new(1) };
    small.run(plan).result(plan)
}

fn is_log(request: &Request) -> bool {
    request.class == Class::Log && request.op != Op::Read
}

/// Checks that this rule failed and no other.
fn fails_alone(result: &RunResult, id: RuleId) {
    fails(result, id, Outcome::Failed);
    assert_eq!(failed(result).len(), 1, "{:?}", failed(result));
}

#[test]
fn a_slow_log_fails_for_its_writes_and_nothing_else() {
    let result = on(&plan(), |_, request| match is_log(request) {
        true => MS * 11,
        false => FAST,
    });
    fails_alone(&result, RuleId::LogWriteAverage);
    assert_eq!(outcome(&result, RuleId::DatabaseReadAverage), Outcome::Ok);
    assert_eq!(result.verdict, Verdict::Fail);
}

/// One sample of ten has a mean over the limit of a sample, while the mean of all samples is below
/// theirs.
#[test]
fn one_bad_sample_fails_a_short_test() {
    // Twice as long as a sample, so that one sample is bad throughout.
    let bad = |now: Time| (15..23).contains(&now.0.div_euclid(1_000_000_000));
    let plan = Plan { duration: Span::seconds(40), ..plan() };
    let reads = on(&plan, move |now, request| match request.op == Op::Read && bad(now) {
        true => MS * 150,
        false => FAST,
    });
    fails_alone(&reads, RuleId::DatabaseReadWorst);
    let logs = on(&plan, move |now, request| match is_log(request) && bad(now) {
        true => MS * 150,
        false => FAST,
    });
    fails_alone(&logs, RuleId::LogWriteWorst);
}

#[test]
fn a_cache_without_free_pages_fails_for_its_stalls() {
    let mut plan = Plan { sessions: 24, ..plan() };
    plan.engine.cache_min = ByteSize::kib(256);
    plan.engine.cache_max = ByteSize::kib(256);
    plan.load.cost = Span::micros(100);
    plan.duration = Span::seconds(10);
    let result = on(&plan, |_, request| match request.op {
        Op::Read => FAST,
        _ => MS * 9,
    });
    fails_alone(&result, RuleId::PageFaultStalls);
    let rule = rule(&result, RuleId::PageFaultStalls);
    assert!(rule.remark.contains("fewer sessions"), "{rule:?}");
}

#[test]
fn a_target_without_its_headroom_is_an_advice_and_does_not_qualify() {
    let plan = Plan {
        target: Some(Target { io_per_s: 400.0, headroom_percent: 20 }),
        duration: Span::seconds(60),
        sessions: 16,
        ..plan()
    };
    // One I/O at a time: about as much as the target, with log and maintenance on top.
    let mut free = Time::ZERO;
    let result = on(&plan, move |now, request| {
        if request.class != Class::Database {
            return FAST;
        }
        free = free.max(now) + Span::micros(2_350);
        free - now
    });
    let achieved = result.storage.achieved_iops.unwrap();
    assert_eq!(outcome(&result, RuleId::AchievedIo), Outcome::Ok, "{achieved}");
    fails(&result, RuleId::AchievedHeadroom, Outcome::Advisory);
    let headroom = |reason: &String| reason.contains("headroom");
    assert!(result.reasons.iter().any(headroom), "{:?}", result.reasons);
}

/// One percent of all I/Os is slow, which no mean shows.
fn hesitant(plan: &Plan, class: fn(&Request) -> bool) -> RunResult {
    let mut count = 0_u64;
    on(plan, move |_, request| {
        count += u64::from(class(request));
        match class(request) && count.is_multiple_of(50) {
            true => MS * 450,
            false => FAST,
        }
    })
}

#[test]
fn a_long_tail_advises_and_fails_who_wants_it_strict() {
    let mut plan = Plan { duration: Span::seconds(60), ..plan() };
    let reads: fn(&Request) -> bool =
        |request| request.class == Class::Database && request.op == Op::Read;
    for (strict, wanted) in [(false, Outcome::Advisory), (true, Outcome::Failed)] {
        plan.limits.strict_tail = strict;
        let device = hesitant(&plan, reads);
        fails(&device, RuleId::TailDatabaseRead, wanted);
        fails(&device, RuleId::TailOperation, wanted);
        assert_eq!(outcome(&device, RuleId::TailLogWrite), Outcome::Ok);
        assert_eq!(outcome(&device, RuleId::DatabaseReadAverage), Outcome::Ok);
        let log = hesitant(&plan, is_log);
        fails(&log, RuleId::TailLogWrite, wanted);
        assert_eq!(outcome(&log, RuleId::TailDatabaseRead), Outcome::Ok);
    }
}

#[test]
fn a_log_that_grows_slow_fails_a_stress_test() {
    let plan = Plan {
        kind: TestKind::Stress,
        limits: Limits::of(Version::Exchange2013.profile(), TestKind::Stress),
        duration: Span::seconds(60),
        warm_up_min: Span::seconds(120),
        ..plan()
    };
    let result =
        on(&plan, |now, request| match is_log(request) && now > Time::ZERO + Span::seconds(150) {
            true => MS * 4,
            false => MS,
        });
    fails(&result, RuleId::StationaryLogWrite, Outcome::Failed);
    assert_eq!(outcome(&result, RuleId::LogWriteAverage), Outcome::Ok);
}

/// The result of the usual test with one injected fault.
fn with(fault: Fault) -> RunResult {
    let plan = Plan { faults: vec![fault], ..plan() };
    on(&plan, |_, _| FAST)
}

/// Two bits flip at rest, in a file that is not read again before the test is over.
#[test]
fn rot_fails_the_test_wherever_it_is() {
    let log = with(Fault {
        // The current one is read first, when records are compared.
        after: 1,
        times: 1,
        ..Fault::new(FaultKind::TwoBitFlip, "log1/*.log", SEGMENT)
    });
    fails_alone(&log, RuleId::LogsVerified);
    assert_eq!(log.verdict, Verdict::Fail);
    let database = with(Fault::new(FaultKind::TwoBitFlip, "db/1.edb", PAGE));
    fails(&database, RuleId::PagesVerified, Outcome::Failed);
    assert!(
        database.storage.details.found[0].contains("(ESE -1018)"),
        "{:?}",
        database.storage.details.found
    );
}

/// Writes of a page are acknowledged and dropped. Its checksum is perfect; the engine remembers how
/// it wrote the page last, and the oracle what its records are.
#[test]
fn a_write_that_was_lost_is_a_record_that_is_wrong() {
    // The order of writes decides which page is hit, and so what notices it first: a session that
    // reads it, or the look at all pages afterwards. Where sessions went on without the page, its
    // records are wrong.
    let met = (1..=10).map(|tens| {
        let result = with(Fault {
            after: tens * 10,
            settles: Some(4 << 10),
            only: Some(Direction::Writes),
            ..Fault::new(FaultKind::Lost, "db/1.edb", 0..1 << 40)
        });
        assert_eq!(result.verdict, Verdict::Fail, "after {tens}0 writes");
        let noticed = [RuleId::IoErrors, RuleId::PagesVerified].map(|id| outcome(&result, id));
        assert!(noticed.contains(&Outcome::Failed), "after {tens}0 writes: {noticed:?}");
        result
    });
    let met: Vec<RunResult> = met.collect();
    let wrong = |result: &&RunResult| outcome(result, RuleId::RecordsVerified) == Outcome::Failed;
    let result = met.iter().find(wrong).expect("one of ten pages is worked on without its writes");
    fails(result, RuleId::RecordsVerified, Outcome::Failed);
}

/// Nothing that is submitted in the second and a half from here completes before its end.
fn stopped(plan: &Plan, class: fn(&Request) -> bool) -> RunResult {
    let begin = Time::ZERO + Span::seconds(12);
    let end = begin + MS * 1_500;
    on(plan, move |now, request| match class(request) && (begin..end).contains(&now) {
        true => end - now,
        false => FAST,
    })
}

#[test]
fn a_stop_of_all_io_is_named_with_its_time() {
    let mut plan = Plan { duration: Span::seconds(150), ..plan() };
    let result = stopped(&plan, |_| true);
    fails(&result, RuleId::LongestStop, Outcome::Advisory);
    assert_eq!(result.verdict, Verdict::Pass, "it advises");
    let longest = rule(&result, RuleId::LongestStop);
    let measured = longest.measured.unwrap();
    assert!((1_500.0..1_550.0).contains(&measured), "{longest:?}");
    assert!(longest.remark.ends_with(" s after the start"), "{longest:?}");
    // No other rule shows it.
    for id in [
        RuleId::DatabaseReadWorst,
        RuleId::LogWriteWorst,
        RuleId::TailDatabaseRead,
        RuleId::TailOperation,
    ] {
        assert_eq!(outcome(&result, id), Outcome::Ok, "{id:?}");
    }
    let writes: fn(&Request) -> bool = |request| request.op != Op::Read;
    let longest = rule(&stopped(&plan, writes), RuleId::LongestStop).clone();
    assert_eq!(longest.outcome, Outcome::Advisory);
    assert!(longest.remark.contains("writes of "), "{longest:?}");
    plan.limits.strict_tail = true;
    let strict = stopped(&plan, |_| true);
    fails(&strict, RuleId::LongestStop, Outcome::Failed);
    assert_eq!(strict.verdict, Verdict::Fail);
}

#[test]
fn a_stop_is_told_once_when_it_ends() {
    let begin = Time::ZERO + Span::seconds(12);
    let small = Small {
        latency: Box::new(move |now, _| match now >= begin && now < begin + MS * 2_000 {
            true => begin + MS * 2_000 - now,
            false => FAST,
        }),
        ..Small::new(1)
    };
    let left = small.run(&plan());
    let told = left.news.iter().zip(&left.told_at);
    let told = told.filter_map(|(news, at)| match news {
        News::Note { text } if text.starts_with("no I/O completed") => Some((text, *at)),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    let [(text, at)] = told[..] else {
        panic!("{told:?}");
    };
    assert!(text.starts_with("no I/O completed for 2.0"), "{text}");
    assert!(at - begin < MS * 2_400, "{at:?}");
}
