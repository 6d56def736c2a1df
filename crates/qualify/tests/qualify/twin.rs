//! The twin and the engine on the same storage: their reads, writes and logs agree.
//!
//! Both run the same test, with the mix, page size and thresholds of each version, on databases
//! small enough to be made of bytes but many times larger than the cache. With `BRUNT_LONG=1` and
//! `--nocapture` it prints the table of docs/models/twin.md.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::small::{Left, Small, failed, outcome, plan};
use brunt_ese::policy::preread::IN_FLIGHT_RECOVERY;
use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::{CopyPlan, EnginePlan, LoadPlan, Plan};
use brunt_qualify::rules::{Ending, RuleId};
use brunt_report::result::{Instance, Outcome};
use brunt_units::{ByteSize, Span};
use brunt_workload::profile::Version;
use brunt_world::{Class, Op};

/// How far figures may differ, as a share.
const AGREE: f64 = 0.03;

/// The same with few records on a page and keys in order: the twin only draws which records a split
/// separates.
const AGREE_SMALL_PAGES: f64 = 0.04;

/// The storage cost of an operation, by name; operations per second first.
fn figures(left: &Left, plan: &Plan) -> Vec<(&'static str, f64)> {
    let result = left.result(plan);
    let seconds = left.collected().length;
    let instances = &result.storage.servers[0].instances;
    let operations: u64 = instances.iter().filter_map(|i| i.transactions).sum();
    let rate = operations as f64 / seconds.as_seconds();
    let each = |pick: &dyn Fn(&Instance) -> Option<f64>| {
        instances.iter().filter_map(pick).sum::<f64>() / rate
    };
    let bytes = |rate: Option<f64>, bytes: Option<f64>| Some(rate? * bytes?);
    vec![
        ("operations/s", rate),
        ("reads", each(&|i| i.db_reads_per_s)),
        ("writes", each(&|i| i.db_writes_per_s)),
        ("bytes read", each(&|i| bytes(i.db_reads_per_s, i.db_read_bytes))),
        ("bytes written", each(&|i| bytes(i.db_writes_per_s, i.db_write_bytes))),
        ("log writes", each(&|i| i.log_writes_per_s)),
        ("log bytes", each(&|i| bytes(i.log_writes_per_s, i.log_write_bytes))),
    ]
}

/// A server of two instances with the settings of the version, in a closed loop of eight sessions.
fn server(version: Version) -> Plan {
    let (profile, mut plan) = (version.profile(), plan());
    let cache = ByteSize::mib(32);
    plan.version = version;
    plan.engine = EnginePlan { cache_min: cache, cache_max: cache, ..EnginePlan::of(profile, 2) };
    plan.load = LoadPlan::of(profile);
    // As many bytes of large messages as usual, but in five times as many messages: their number in
    // two minutes depends less on chance.
    plan.load.shape.large_one_in = 200;
    (plan.load.shape.large_min, plan.load.shape.large_max) = (16 << 10, 40 << 10);
    // No limit on growth: it would act at different times on the two.
    plan.limits.reserve_percent = 400;
    plan.sessions = 8;
    // The engine begins with a cache filled by the survey of its records, the twin with an empty
    // one.
    plan.warm_up_min = Span::seconds(60);
    plan.duration = Span::seconds(120);
    for database in plan.instances.iter_mut().flat_map(|i| &mut i.databases) {
        database.size = ByteSize::mib(320);
    }
    plan
}

fn machine() -> Small {
    let mut small = Small::new(3);
    small.room = ByteSize::gib(4);
    small.latency = Box::new(|_, request| match request.op {
        Op::Read => Span::millis(8),
        _ => Span::micros(900),
    });
    small
}

/// With `beside_percent` of the records beside others, and `again` percent of the reads repeated.
fn agrees(version: Version, beside_percent: u32, again: u32) {
    let mut plan = server(version);
    plan.load.shape.beside_percent = beside_percent;
    plan.load.reads_again_percent = again;
    let engine = machine().run(&plan);
    let twin = machine().simulate(&plan);
    let most = match plan.engine.page.bytes() {
        4096 if beside_percent > 0 => AGREE_SMALL_PAGES,
        _ => AGREE,
    };
    let mut apart = Vec::new();
    let figures = figures(&engine, &plan).into_iter().zip(figures(&twin, &plan));
    let mut table = format!("{version}, {beside_percent} % beside, {again} % again\n");
    for ((name, engine), (_, twin)) in figures {
        let share = twin / engine - 1.0;
        let line = format!("  {name:14} {engine:10.3} {twin:10.3} {:+5.1} %\n", share * 100.0);
        if share.abs() > most {
            apart.push(line.clone());
        }
        table.push_str(&line);
    }
    for left in [&engine, &twin] {
        let stalls = left.result(&plan).storage.servers[0]
            .instances
            .iter()
            .map(|i| i.page_fault_stalls_per_s.unwrap())
            .sum::<f64>();
        table.push_str(&format!("  stalls {stalls:.3}\n"));
    }
    assert!(apart.is_empty(), "{table}");
    #[expect(clippy::print_stdout, reason = "the table is what the test is for")]
    {
        print!("{table}");
    }
}

/// The version's own key order; in the long form (`BRUNT_LONG`) also keys without order.
fn both(version: Version) {
    if std::env::var_os("BRUNT_LONG").is_some() {
        agrees(version, 0, 0);
    }
    let profile = version.profile();
    agrees(version, profile.beside_percent.value, profile.reads_again_percent.value);
}

#[test]
fn exchange_2003() {
    both(Version::Exchange2003);
}

#[test]
fn exchange_2007_early() {
    both(Version::Exchange2007Early);
}

#[test]
fn exchange_2007() {
    both(Version::Exchange2007);
}

#[test]
fn exchange_2013() {
    both(Version::Exchange2013);
}

/// A recovery reads the same logs and waits as long for pages; here reads take most of its time.
#[test]
fn a_recovery_takes_as_long() {
    let mut plan = server(Version::Exchange2007);
    plan.kind = TestKind::SoftRecovery;
    plan.logs = 180;
    plan.engine.recovery_reads = Some(IN_FLIGHT_RECOVERY);
    plan.duration = Span::seconds(600);
    plan.warm_up_min = Span::ZERO;
    let took = |left: &Left| {
        let run = left.run.as_ref().unwrap();
        assert_eq!(run.ending, Ending::Complete);
        let recoveries = run.recoveries.iter();
        let logs: Vec<_> = recoveries.clone().map(|recovered| recovered.logs).collect();
        let seconds: f64 = recoveries.map(|r| r.took.as_seconds()).sum();
        (logs, seconds)
    };
    let (logs, engine) = took(&machine().run(&plan));
    let (same, twin) = took(&machine().simulate(&plan));
    let each = |logs: &[u32]| f64::from(logs.iter().sum::<u32>());
    let (engine, twin) = (engine / each(&logs), twin / each(&same));
    let share = twin / engine - 1.0;
    let line = format!(
        "recovery: logs {logs:?} and {same:?}, {engine:.3} s and {twin:.3} s for one, {:+.1} %",
        share * 100.0
    );
    assert!(share.abs() < 0.1, "{line}");
    assert!(logs.iter().chain(&same).all(|logs| *logs >= 180), "{line}");
    println!("{line}");
}

/// A passive copy reads and writes as one with content does.
#[test]
fn a_passive_copy_does_the_same_io() {
    let mut plan = server(Version::Exchange2010);
    let mut files = plan.instances[0].clone();
    files.name = "Copy".to_owned();
    files.log = "copy/log".into();
    files.databases[0].path = "copy/0.edb".into();
    plan.passive.push(CopyPlan { of: 0, lag: Span::ZERO, files });
    plan.read_files = false;
    let figures = |left: &Left| {
        let result = left.result(&plan);
        let server = &result.storage.servers[0];
        let copy = &server.copies[0];
        let operations = server.instances[0].transactions.unwrap() as f64;
        let seconds = left.collected().length.as_seconds();
        let each = |rate: Option<f64>| rate.unwrap() * seconds / operations;
        [
            ("reads", each(copy.database_reads_per_s), AGREE),
            // They follow the log, of which the twin has less.
            ("writes", each(copy.database_writes_per_s), 0.05),
        ]
    };
    let (engine, twin) = (machine().run(&plan), machine().simulate(&plan));
    let mut apart = Vec::new();
    for ((name, engine, most), (_, twin, _)) in figures(&engine).into_iter().zip(figures(&twin)) {
        let share = twin / engine - 1.0;
        let line = format!(
            "passive copy, {name} per operation of its active: {engine:.3} and {twin:.3}, {:+.1} %",
            share * 100.0
        );
        println!("{line}");
        if share.abs() > most {
            apart.push(line);
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}

/// I/Os and bytes of each kind.
type Counts = BTreeMap<(Class, Op), (u64, u64)>;

/// Backs up and restores; returns what was left and the I/Os of backup, verification and recovery.
fn restore(plan: &Plan, twin: bool) -> (Left, Counts) {
    let counts = Rc::new(RefCell::new(Counts::new()));
    let counting = Rc::clone(&counts);
    let mut small = machine();
    small.latency = Box::new(move |_, request| {
        let mut counts = counting.borrow_mut();
        let count = counts.entry((request.class, request.op)).or_default();
        *count = (count.0 + 1, count.1 + request.length);
        let moved = Span::nanos(2 * request.length);
        match request.op {
            Op::Read => Span::micros(500) + moved,
            _ => Span::micros(200) + moved,
        }
    });
    let left = match twin {
        true => small.simulate(plan),
        false => small.run(plan),
    };
    let mut counts = counts.take();
    counts.retain(|(class, _), _| matches!(class, Class::Backup | Class::Verify));
    (left, counts)
}

/// A backup is written, judged, put in the databases' place and recovered with the same I/Os, in
/// the same time.
#[test]
fn a_restore_takes_as_long() {
    let mut plan = server(Version::Exchange2007);
    plan.kind = TestKind::DatabaseBackup;
    plan.copy_to = Some("copies".into());
    plan.read_files = false;
    let figures = |twin| {
        let (left, counts) = restore(&plan, twin);
        let run = left.run.as_ref().unwrap();
        assert_eq!(run.ending, Ending::Complete);
        let result = left.result(&plan);
        assert_eq!(failed(&result), Vec::<String>::new());
        assert_eq!(outcome(&result, RuleId::DatabasesRestored), Outcome::Ok);
        let logs = run.recoveries.iter().map(|recovered| recovered.logs);
        assert_eq!(logs.collect::<Vec<_>>(), [1, 1]);
        let (backups, restored) = (&result.storage.servers[0].backup, run.restored.unwrap());
        // The engine has grown its files by an extension before the backup begins; the twin waits
        // for the first insert.
        let mebibytes = restored.bytes as f64 / f64::from(1 << 20);
        let (judged, judged_bytes) = counts[&(Class::Verify, Op::Read)];
        let mut figures = vec![
            ("MiB restored", mebibytes, 0.04),
            ("judging reads", judged as f64, AGREE),
            ("MiB judged", judged_bytes as f64 / f64::from(1 << 20), AGREE),
        ];
        let mut rate = |name, rate| figures.push((name, rate, 0.01));
        rate("backup, MiB/s", backups.iter().map(|one| one.rate.0).sum());
        rate("copy, MiB/s", mebibytes / restored.copied.as_seconds());
        rate("restore, MiB/s", mebibytes / restored.took.as_seconds());
        let (reads, bytes_read) = counts[&(Class::Backup, Op::Read)];
        let (writes, bytes_written) = counts[&(Class::Backup, Op::Write)];
        rate("reads per MiB", reads as f64 / mebibytes);
        rate("bytes read per MiB", bytes_read as f64 / mebibytes);
        rate("writes per MiB", writes as f64 / mebibytes);
        rate("bytes written per MiB", bytes_written as f64 / mebibytes);
        figures
    };
    let mut apart = Vec::new();
    for ((name, engine, most), (_, twin, _)) in figures(false).into_iter().zip(figures(true)) {
        let share = twin / engine - 1.0;
        let line = format!("{name:22} {engine:12.1} {twin:12.1} {:+.2} %", share * 100.0);
        println!("{line}");
        if share.abs() > most {
            apart.push(line);
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}
