//! Whole tests in virtual time: passes, failures and their reasons, refusals, and the files they
//! leave.

use std::path::Path;

use crate::small::{DATABASE_SIZE, Small, failed, fails, outcome, plan};
use brunt_qualify::error::RunError;
use brunt_qualify::plan::Plan;
use brunt_qualify::rules::{Ending, RuleId};
use brunt_qualify::truth::oracle::Findings;
use brunt_report::result::{Group, Outcome, Verdict};
use brunt_run::News;
use brunt_units::{ByteSize, Span};

#[test]
fn a_fast_disk_passes_and_everything_is_verified() {
    let test = Small::new(1).run(&plan());
    let run = test.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Complete);
    let records = run.records.unwrap();
    assert!(records.expected > 1_000, "{records:?}");
    assert_eq!(records.checked, records.expected);
    assert_eq!(records.findings, Findings::default());
    let files = run.files.as_ref().unwrap();
    assert_eq!((files.databases.files, files.databases.bad), (2, 0));
    assert!(files.databases.seen > 2_000 && files.logs.seen > 100);
    assert_eq!((files.logs.bad, run.log.findings.total(), run.log.errors), (0, 0, 0));
    let collected = run.collected.as_ref().unwrap();
    assert_eq!(collected.samples.len(), 10);
    assert_eq!(collected.length, Span::seconds(20));
    let operations: u64 = run.operations.iter().sum();
    assert!(operations > 5_000, "{operations} operations");
    for size in &run.initial {
        let share = size.get() as f64 / DATABASE_SIZE.get() as f64;
        // Hardly a thousand records, so a single large message makes a difference.
        assert!((0.9..1.1).contains(&share), "{size} for {DATABASE_SIZE}");
    }
    assert!(run.batches[0].abs_diff(run.batches[1]) <= 1, "rotation");

    let result = test.result(&plan());
    assert_eq!(failed(&result), Vec::<String>::new());
    assert_eq!(result.verdict, Verdict::Pass);
    assert!(!result.qualifies);
    assert!(result.reasons[0].contains("20 s"), "{:?}", result.reasons);
    let instances = &result.storage.servers[0].instances;
    assert_eq!(instances.len(), 2);
    let reads = instances[0].db_read_latency;
    assert!(reads.count > 1_000 && reads.p99_ms.unwrap() < 1.0);
    let transactions: u64 = instances.iter().filter_map(|i| i.transactions).sum();
    assert!((1..=operations).contains(&transactions));
    let stalls = instances.iter().map(|i| i.page_fault_stalls_per_s.unwrap());
    let all = result.storage.servers[0].host_counter("Database Page Fault Stalls/sec");
    assert!((stalls.sum::<f64>() - all.unwrap().avg.unwrap()).abs() < 1e-9);
    assert_eq!(instances[1].operation_latency.count, instances[1].transactions.unwrap());
    let unknown = [
        RuleId::DeviceAgrees,
        RuleId::TesterDelay,
        RuleId::HostStolenTime,
        RuleId::HostThrottledTime,
        RuleId::HostIoLimits,
        RuleId::TesterStandstill,
    ];
    for rule in &result.rules {
        let here = rule.outcome == Outcome::NotMeasured && unknown.iter().any(|id| id.is(rule));
        let here = here || RuleId::TesterProcessor.is(rule);
        // In twenty seconds the engine is still cold, and the rate falls until it is warm.
        let here = here || rule.group == Group::Steadiness;
        assert!(rule.outcome == Outcome::Ok || here, "{rule:?}");
    }
}

#[test]
fn equal_seeds_are_equal_tests() {
    let digest = |seed| {
        let test = Small::new(seed).run(&plan());
        (test.digest, test.requests, test.counters)
    };
    let (one, other) = (digest(7), digest(8));
    assert_eq!(one, digest(7));
    assert_ne!(one.0, other.0);
    assert_ne!(one.1, other.1);
}

#[test]
fn a_slow_disk_fails_for_its_reads() {
    let mut small = Small::new(1);
    small.latency = Box::new(|_, _| Span::millis(21));
    let test = small.run(&plan());
    let result = test.result(&plan());
    assert_eq!(result.verdict, Verdict::Fail);
    fails(&result, RuleId::DatabaseReadAverage, Outcome::Failed);
    assert_eq!(outcome(&result, RuleId::DatabaseReadWorst), Outcome::Ok);
    fails(&result, RuleId::LogWriteAverage, Outcome::Failed);
    assert_eq!(outcome(&result, RuleId::RecordsVerified), Outcome::Ok);
    assert!(result.storage.details.sentence.contains("database read, average 21"));
}

#[test]
fn a_stopped_test_leaves_clean_databases_that_the_next_one_uses() {
    let mut small = Small::new(3);
    small.stop_after = Some(Span::seconds(10));
    let test = small.run(&plan());
    let run = test.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Stopped);
    assert!(run.collected.as_ref().unwrap().length < Span::seconds(11));
    assert!(run.files.is_none() && run.records.is_none());
    let result = test.result(&plan());
    assert_eq!(result.verdict, Verdict::Interrupted);
    assert_eq!(outcome(&result, RuleId::PagesVerified), Outcome::NotMeasured);

    let mut next = Small::new(4);
    next.store = test.store.fork();
    let again = next.run(&plan());
    let created = |news: &News| matches!(news, News::Created { .. });
    assert!(!again.news.iter().any(created));
    let recovered =
        |news: &News| matches!(news, News::Note { text: note } if note.contains("recovered"));
    assert!(!again.news.iter().any(recovered));
    let run = again.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Complete);
    let records = run.records.unwrap();
    assert_eq!(records.findings, Findings::default());
}

#[test]
fn databases_that_were_not_closed_are_recovered_and_used() {
    let mut small = Small::new(5);
    small.abandon_after = Some(Span::seconds(10));
    let crashed = small.run(&plan());
    let mut next = Small::new(6);
    next.store = crashed.store.fork();
    let test = next.run(&plan());
    let recovered =
        |news: &News| matches!(news, News::Note { text: note } if note.contains("recovered"));
    assert!(test.news.iter().any(recovered), "{:?}", test.news.first());
    let run = test.run.as_ref().unwrap();
    let records = run.records.unwrap();
    assert_eq!(records.findings, Findings::default());
    assert_eq!(failed(&test.result(&plan())), Vec::<String>::new());
}

#[test]
fn new_makes_databases_anew_and_a_foreign_file_stays() {
    let first = Small::new(1).run(&plan());
    let before = first.store.fork();
    let mut small = Small::new(2);
    small.store = before;
    let renewed = Plan { renew: true, ..plan() };
    let test = small.run(&renewed);
    assert_eq!(test.run.as_ref().unwrap().ending, Ending::Complete);
    assert!(test.news.iter().any(|n| matches!(n, News::Created { .. })));

    let mut small = Small::new(2);
    small.foreign = Some("db/2.edb");
    let refused = small.run(&renewed);
    let foreign = Path::new("db/2.edb").to_owned();
    assert_eq!(refused.run.err(), Some(RunError::Foreign(foreign)));
    let left: Vec<_> = refused.store.names().map(|(path, _)| path).collect();
    assert_eq!(left, [Path::new("db/2.edb")]);
}

#[test]
fn a_full_volume_ends_the_test_and_is_not_the_storages_fault() {
    let mut small = Small::new(1);
    small.room = ByteSize::kib(11 << 10);
    let test = small.run(&plan());
    let run = test.run.as_ref().unwrap();
    assert!(matches!(&run.ending, Ending::Broken(why) if why.contains("no space")));
    let result = test.result(&plan());
    assert_eq!(failed(&result), Vec::<String>::new());
    assert_eq!(result.verdict, Verdict::Error);
    assert_eq!(outcome(&result, RuleId::IoErrors), Outcome::Ok);

    // With enough space again the same databases recover, and pass.
    let mut next = Small::new(2);
    next.store = test.store.fork();
    let again = next.run(&plan());
    let records = again.run.as_ref().unwrap().records.unwrap();
    assert_eq!(records.findings, Findings::default());
}

#[test]
fn databases_of_other_records_are_refused_and_left_as_they_are() {
    let first = Small::new(1).run(&plan());
    let with = |change: fn(&mut Plan), renew| {
        let mut plan = Plan { renew, ..plan() };
        change(&mut plan);
        let small = Small { store: first.store.fork(), ..Small::new(2) };
        small.run(&plan)
    };
    let changes: [fn(&mut Plan); 4] = [
        |plan| plan.load.shape.long = 1_500,
        |plan| plan.load.shape.short = 100,
        |plan| plan.load.shape.compressible_percent = 50,
        |plan| plan.load.shape.duplicate_percent = 30,
    ];
    for change in changes {
        let refused = with(change, false).run.err();
        let Some(error @ RunError::OtherRecords { .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(error.to_string().contains("made with other [records]"));
    }
    let renewed = with(changes[0], true);
    assert_eq!(renewed.run.as_ref().unwrap().ending, Ending::Complete);
    let as_it_was = with(|_| {}, false);
    assert_eq!(as_it_was.run.as_ref().unwrap().ending, Ending::Complete);
}
