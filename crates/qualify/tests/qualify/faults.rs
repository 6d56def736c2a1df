//! Storage that fails during a test: the error carries its ESE code, the result has the right
//! verdict, and the databases recover.

use crate::small::{Left, Small, fails, outcome, plan, rule};
use brunt_qualify::error::RunError;
use brunt_qualify::plan::Plan;
use brunt_qualify::rules::{Ending, RuleId};
use brunt_report::RunResult;
use brunt_report::result::{Outcome, Verdict};
use brunt_units::Span;
use brunt_world::fault::{Fault, FaultKind};

/// A plan whose fault `kind` strikes `file` after `after` requests.
fn after(after: u64, kind: FaultKind, file: &str) -> Plan {
    Plan { faults: vec![Fault { after, ..Fault::new(kind, file, 0..1 << 40) }], ..plan() }
}

fn run(plan: &Plan) -> (Left, RunResult) {
    let test = Small::new(1).run(plan);
    let result = test.result(plan);
    (test, result)
}

fn remark(result: &RunResult, id: RuleId) -> &str {
    &rule(result, id).remark
}

/// The same databases on healthy storage.
fn recovers(left: &Left) {
    let again = Small { store: left.store.fork(), ..Small::new(2) };
    let again = again.run(&plan());
    let run = again.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Complete);
    let records = run.records.unwrap();
    assert_eq!(records.findings.total(), 0, "{records:?}");
    assert_eq!(again.result(&plan()).verdict, Verdict::Pass);
}

#[test]
fn a_database_that_cannot_be_read_fails_the_test_by_name() {
    let mut plan = after(500, FaultKind::DeviceError, "1.edb");
    plan.faults[0].only = Some(brunt_world::fault::Direction::Reads);
    let (test, result) = run(&plan);
    fails(&result, RuleId::IoErrors, Outcome::Failed);
    let why = remark(&result, RuleId::IoErrors);
    assert!(why.contains("db/1.edb") && why.contains("(ESE -1022)"), "{why}");
    assert_eq!(result.verdict, Verdict::Fail);
    recovers(&test);
}

#[test]
fn a_log_that_cannot_be_written_fails_the_test_by_name() {
    let mut plan = after(200, FaultKind::DeviceError, "log1/*.log");
    plan.faults[0].only = Some(brunt_world::fault::Direction::Writes);
    let (test, result) = run(&plan);
    fails(&result, RuleId::IoErrors, Outcome::Failed);
    let why = remark(&result, RuleId::IoErrors);
    assert!(why.contains("(ESE -510)"), "{why}");
    let sentence = &result.storage.details.sentence;
    assert!(sentence.contains("the log cannot be written"), "{sentence}");
    assert_eq!(result.verdict, Verdict::Fail);
    assert!(result.storage.achieved_iops.is_some(), "what was measured until then");
    recovers(&test);
}

#[test]
fn a_full_volume_is_named_and_is_not_the_storages_fault() {
    let (test, result) = run(&after(50, FaultKind::NoSpace, "log1/*.log"));
    let sentence = &result.storage.details.sentence;
    assert!(sentence.contains("(ESE -"), "{sentence}");
    assert!(sentence.contains("no space"), "{sentence}");
    assert_eq!(outcome(&result, RuleId::IoErrors), Outcome::Ok);
    assert_eq!(result.verdict, Verdict::Error);
    recovers(&test);
}

#[test]
fn a_volume_that_stops_answering_is_noticed_like_io() {
    let mut small = Small::new(1);
    small.names_hang_after = Some(Span::seconds(10));
    let test = small.run(&Plan { duration: Span::seconds(60), ..plan() });
    let result = test.result(&plan());
    fails(&result, RuleId::HungIo, Outcome::Failed);
    let why = remark(&result, RuleId::HungIo);
    let names =
        ["renaming", "opening", "removing", "syncing", "giving a file", "closing", "listing"];
    assert!(names.iter().any(|name| why.starts_with(name)), "{why}");
    assert_eq!(result.verdict, Verdict::Fail);
}

#[test]
fn a_volume_that_never_answers_is_an_error_and_not_a_wait() {
    let mut small = Small::new(1);
    small.names_hang_after = Some(Span::ZERO);
    let test = small.run(&plan());
    match test.run.err() {
        Some(RunError::Hung(what)) => assert!(what.contains("for 30 s"), "{what}"),
        other => panic!("{other:?}"),
    }
}

/// Reads of a database are slow in every sample. Ended early, the test has the verdict and the rule
/// that its whole length would have had.
#[test]
fn a_test_that_has_failed_for_good_ends_in_order_when_it_is_asked_to() {
    let plan = Plan {
        duration: Span::seconds(60),
        ..after(0, FaultKind::Slow(Span::millis(150)), "1.edb")
    };
    let (_, whole) = run(&plan);
    let (test, result) = run(&Plan { abort_on_fail: true, ..plan.clone() });
    let ended = test.run.as_ref().unwrap();
    assert_eq!(ended.ending, Ending::Complete);
    assert!(result.times.collection_s < 30.0, "{} s", result.times.collection_s);
    assert_eq!(whole.times.collection_s, 60.0);
    for result in [&whole, &result] {
        assert_eq!(result.verdict, Verdict::Fail);
        assert_eq!(outcome(result, RuleId::DatabaseReadWorst), Outcome::Failed);
    }
    // Everything was closed and verified.
    assert_eq!(outcome(&result, RuleId::PagesVerified), Outcome::Ok);
    assert_eq!(outcome(&result, RuleId::RecordsVerified), Outcome::Ok);
    let sentence = &result.storage.details.sentence;
    let end = "since nothing could mend this: database read, worst sample: 15";
    assert!(sentence.contains("It was ended after ") && sentence.contains(end), "{sentence}");
    recovers(&test);
}

#[test]
fn a_test_that_passes_is_not_ended_early() {
    let (test, result) = run(&Plan { abort_on_fail: true, ..plan() });
    assert_eq!(result.verdict, Verdict::Pass);
    assert_eq!(test.run.as_ref().unwrap().hopeless, None);
    assert_eq!(result.times.collection_s, plan().duration.as_seconds());
}
