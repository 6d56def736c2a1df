//! Tests of every kind in virtual time: one that passes, and one that fails for the right reason.

use std::path::Path;

use crate::small::{Small, failed, fails, instances, outcome, plan};
use brunt_qualify::error::RunError;
use brunt_qualify::goal::{Growth, Target};
use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::{Limits, Plan};
use brunt_qualify::rules::{Ending, RuleId};
use brunt_qualify::truth::oracle::Findings;
use brunt_report::RunResult;
use brunt_report::result::{
    BusyPart, Limiting, Outcome, PhaseName, PhaseOp, Rule, Sample, Verdict,
};
use brunt_run::News;
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::mix::Mix;
use brunt_workload::profile::Version;
use brunt_world::fault::{Direction, Fault, FaultKind};
use brunt_world::{Class, Op};

fn of_kind(kind: TestKind) -> Plan {
    Plan { kind, limits: Limits::of(Version::Exchange2013.profile(), kind), ..plan() }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_read_of_a_backup_that_fails_once_fails_the_test() {
    let once = Fault {
        after: 3,
        times: 1,
        only: Some(Direction::Reads),
        ..Fault::new(FaultKind::DeviceError, "1.edb", 1 << 20..1 << 40)
    };
    let plan = Plan { faults: vec![once], ..of_kind(TestKind::DatabaseBackup) };
    let result = Small::new(1).run(&plan).result(&plan);
    fails(&result, RuleId::IoErrors, Outcome::Failed);
    assert_eq!(result.verdict, Verdict::Fail);
}

#[test]
fn a_backup_reads_every_database() {
    let plan = of_kind(TestKind::DatabaseBackup);
    let test = Small::new(1).run(&plan);
    let result = test.result(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    assert_eq!(result.verdict, Verdict::Pass);
    assert_eq!(result.storage.test, TestKind::DatabaseBackup.into());
    let backup = &result.storage.servers[0].backup;
    assert_eq!(backup.len(), 2);
    // 256 KiB in 200 us each, one at a time: 1,250 MiB/s.
    for one in backup {
        assert!((3.5..5.0).contains(&one.size.0), "{one:?}");
        assert!((900.0..1_300.0).contains(&one.rate.0), "{one:?}");
    }
    assert_eq!(outcome(&result, RuleId::DatabasesBackedUp), Outcome::Ok);
    assert_eq!(outcome(&result, RuleId::RecordsVerified), Outcome::Ok);
    assert!(result.rules.iter().all(|rule| !RuleId::DatabaseReadAverage.is(rule)));
}

/// A backup that is restored, within this time.
fn restoring(within: Span) -> Plan {
    let mut plan = of_kind(TestKind::DatabaseBackup);
    plan.copy_to = Some("copies".into());
    plan.limits.restore_within = Some(within);
    plan
}

/// The phases of the only server, in order.
fn phases(result: &RunResult) -> Vec<PhaseName> {
    let phases = &result.storage.servers[0].phases;
    phases.iter().map(|phase| phase.phase).collect()
}

/// Bytes that a phase moved on paths that begin so.
fn moved(result: &RunResult, phase: PhaseName, io: PhaseOp, path: &str) -> u64 {
    let phase = result.storage.servers[0].phase(phase).unwrap();
    let rows = phase.files.iter();
    let rows = rows.filter(|row| row.io == io && row.path.starts_with(path));
    rows.map(|row| row.bytes).sum()
}

#[test]
fn each_phase_has_the_io_that_it_caused() {
    let plan = restoring(Span::seconds(60));
    let test = Small::new(1).run(&plan);
    let result = test.result_on(&plan, |around| {
        around.mounts = vec!["db".to_owned(), "copies".to_owned()];
    });
    use PhaseName::{Backup, Checksum, Replay, Restore};
    assert_eq!(phases(&result), [Backup, Restore, Replay, Checksum]);
    // Of the first database.
    let size = test.run.as_ref().unwrap().last[0].get();
    let near_bytes = |phase, io, path: &str, wanted: u64| {
        let bytes = moved(&result, phase, io, path);
        let header = 64 << 10;
        let is_near = (wanted - header..wanted + header).contains(&bytes);
        assert!(is_near, "{phase}, {io} of {path}: {bytes} of {wanted}");
    };
    let near = |phase, io, path: &str, times: u64| near_bytes(phase, io, path, size * times);
    let copy = "copies/brunt-backup-1-DB1.edb";
    near(Backup, PhaseOp::Read, "db/1.edb", 1);
    near(Backup, PhaseOp::Write, copy, 1);
    assert_eq!(moved(&result, Backup, PhaseOp::Write, "db/"), 0);
    near(Restore, PhaseOp::Write, "db/1.edb", 1);
    near(Restore, PhaseOp::Read, copy, 2);
    near(Restore, PhaseOp::Read, "db/1.edb", 1);
    // Its content is measured afterwards, on one of 64 chunks of 32 KiB.
    let sample = size.div_ceil(64 * (32 << 10)) * (32 << 10);
    near_bytes(Checksum, PhaseOp::Read, "db/1.edb", size + sample);
    assert_eq!(moved(&result, Checksum, PhaseOp::Write, ""), 0);

    let server = &result.storage.servers[0];
    let backup = server.phase(Backup).unwrap();
    let read = backup.files.iter().find(|row| row.path == "db/1.edb").unwrap();
    assert_eq!((read.name.as_deref(), read.volume.as_deref()), (Some("DB1"), Some("db")));
    // 256 KiB in 200 us each, one at a time.
    assert!((0.19..0.21).contains(&read.latency_ms_mean.unwrap()), "{read:?}");
    let volume = |mount: &str, io| {
        let rows = backup.volumes.iter().filter(|row| row.path == mount && row.io == io);
        rows.map(|row| row.bytes).sum::<u64>()
    };
    assert_eq!(volume("db", PhaseOp::Read), moved(&result, Backup, PhaseOp::Read, "db/"));
    assert_eq!(volume("copies", PhaseOp::Write), moved(&result, Backup, PhaseOp::Write, "copies/"));
    let restore = server.restore.as_ref().unwrap();
    assert!(restore.copy_seconds < restore.seconds, "{restore:?}");
    assert_eq!(server.backup[0].copied_to.as_deref(), Some("copies"));
    let streams = server.main_streams(TestKind::DatabaseBackup.into(), &server.instances[0]);
    let reads = streams.unwrap().databases[0].reads;
    assert_eq!((reads.count, reads.bytes), (read.count, read.bytes));
    assert_eq!(outcome(&result, RuleId::RestoreTime), Outcome::Ok);
}

#[test]
fn log_generation_and_replay_are_counted_apart() {
    let plan = Plan { logs: 8, duration: Span::seconds(600), ..of_kind(TestKind::SoftRecovery) };
    let result = Small::new(1).run(&plan).result(&plan);
    use PhaseName::{Checksum, LogGeneration, Replay};
    assert_eq!(phases(&result), [LogGeneration, Replay, Checksum]);
    let server = &result.storage.servers[0];
    let logs = plan.engine.log_file.get() * 8;
    let written = moved(&result, LogGeneration, PhaseOp::Write, "log1");
    assert!(written * 10 > logs * 9, "{written} of {logs}");
    // All of them are read, and little is written.
    let read = moved(&result, Replay, PhaseOp::Read, "log1");
    assert!(read >= logs, "{read} of {logs}");
    let written = moved(&result, Replay, PhaseOp::Write, "log1");
    assert!(written * 2 < logs, "{written} of {logs}");
    let replayed: f64 = server.recovery.iter().map(|one| one.seconds).fold(0.0, f64::max);
    let seconds = server.phase(Replay).unwrap().seconds;
    assert!((replayed..replayed * 1.1 + 0.1).contains(&seconds), "{seconds}");
}

#[test]
fn a_restore_that_takes_too_long_fails_for_it() {
    let plan = restoring(Span::millis(1));
    let result = Small::new(1).run(&plan).result(&plan);
    fails(&result, RuleId::RestoreTime, Outcome::Failed);
    assert_eq!(outcome(&result, RuleId::DatabasesRestored), Outcome::Ok);
    assert_eq!(result.verdict, Verdict::Fail);
}

#[test]
fn a_copy_is_restored_and_holds_every_record() {
    let plan = restoring(Span::seconds(60));
    let test = Small::new(1).run(&plan);
    let run = test.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Complete);
    let restored = run.restored.unwrap();
    assert!(restored.copied < restored.took && restored.bytes > 7 << 20, "{restored:?}");
    let result = test.result(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    assert_eq!(outcome(&result, RuleId::DatabasesRestored), Outcome::Ok);
    assert_eq!(outcome(&result, RuleId::RestoreTime), Outcome::Ok);
    let records = run.records.unwrap();
    assert!(records.checked > 1_000 && records.checked == records.expected);
    let copies: Vec<_> =
        test.store.names().filter(|(path, _)| path.starts_with("copies")).collect();
    assert!(copies.len() >= 6, "two databases, their logs and checkpoints: {}", copies.len());

    // Again over the same folder: the old backup is removed, and the databases are used as they
    // are.
    let mut next = Small::new(2);
    next.store = test.store.fork();
    let again = next.run(&plan);
    assert_eq!(failed(&again.result(&plan)), Vec::<String>::new());
    assert!(!again.news.iter().any(|news| matches!(news, News::Created { .. })));
}

#[test]
fn a_database_that_cannot_be_read_fails_its_backup() {
    let mut plan = of_kind(TestKind::DatabaseBackup);
    plan.faults =
        vec![Fault { after: 3, ..Fault::new(FaultKind::DeviceError, "db/1.edb", 0..1 << 40) }];
    let result = Small::new(1).run(&plan).result(&plan);
    fails(&result, RuleId::DatabasesBackedUp, Outcome::Failed);
    fails(&result, RuleId::IoErrors, Outcome::Failed);
    assert_eq!(result.verdict, Verdict::Fail);
}

/// A backup is verified before anything is removed: the databases stay.
#[test]
fn a_copy_that_rots_is_not_restored() {
    let mut plan = Plan { copy_to: Some("copies".into()), ..of_kind(TestKind::DatabaseBackup) };
    plan.faults = vec![Fault::new(
        FaultKind::TwoBitFlip,
        "copies/brunt-backup-1-DB1.edb",
        1 << 20..(1 << 20) + 4_096,
    )];
    let test = Small::new(1).run(&plan);
    let result = test.result(&plan);
    assert_eq!(outcome(&result, RuleId::DatabasesBackedUp), Outcome::Ok);
    fails(&result, RuleId::DatabasesRestored, Outcome::Failed);
    let sentence = &result.storage.details.sentence;
    assert!(sentence.contains("the copy has bad pages; nothing was restored"), "{sentence}");
    let mut names = test.store.names();
    assert!(names.any(|(path, _)| path == Path::new("db/1.edb")), "it is still there");
}

/// Without a restore the backups are written and stay, and no rule says that they were restored.
#[test]
fn a_backup_that_is_not_restored_stays() {
    let plan = Plan {
        copy_to: Some("copies".into()),
        restores: false,
        ..of_kind(TestKind::DatabaseBackup)
    };
    let test = Small::new(1).run(&plan);
    let result = test.result(&plan);
    assert_eq!(outcome(&result, RuleId::DatabasesBackedUp), Outcome::Ok);
    let mut rules = result.rules.iter();
    assert!(!rules.any(|rule| RuleId::DatabasesRestored.is(rule)));
    let written = test.store.names();
    let written = written.filter(|(path, _)| path.starts_with("copies"));
    assert!(written.count() > 0, "the backups are there");
}

#[test]
fn a_log_that_rots_cannot_be_replayed() {
    let mut plan =
        Plan { logs: 8, duration: Span::seconds(600), ..of_kind(TestKind::SoftRecovery) };
    plan.faults = vec![Fault::new(FaultKind::TwoBitFlip, "log1/*.log", 64 << 10..(64 << 10) + 512)];
    let result = Small::new(1).run(&plan).result(&plan);
    fails(&result, RuleId::LogsReplayed, Outcome::Failed);
    fails(&result, RuleId::LogsVerified, Outcome::Failed);
    assert_eq!(result.verdict, Verdict::Fail);
}

#[test]
fn a_foreign_file_among_the_copies_stays() {
    let plan = Plan { copy_to: Some("copies".into()), ..of_kind(TestKind::DatabaseBackup) };
    let mut small = Small::new(1);
    small.foreign = Some("copies/brunt-backup-1-DB1.edb");
    let test = small.run(&plan);
    let why = match &test.run.as_ref().unwrap().ending {
        Ending::Broken(why) => why.clone(),
        other => panic!("{other:?}"),
    };
    let foreign = RunError::Foreign(Path::new("copies/brunt-backup-1-DB1.edb").to_owned());
    assert_eq!(why, foreign.to_string());
    assert_eq!(test.result(&plan).verdict, Verdict::Error);
}

#[test]
fn logs_are_replayed_and_nothing_is_lost() {
    let plan = Plan { logs: 8, duration: Span::seconds(600), ..of_kind(TestKind::SoftRecovery) };
    let test = Small::new(1).run(&plan);
    let run = test.run.as_ref().unwrap();
    assert_eq!(run.ending, Ending::Complete);
    assert_eq!(run.recoveries.len(), 2);
    for recovered in &run.recoveries {
        assert!(recovered.logs >= 8, "{recovered:?}");
        assert!(recovered.took > Span::millis(1), "{recovered:?}");
    }
    let records = run.records.unwrap();
    assert_eq!(records.findings, Findings::default());
    assert_eq!(records.checked, records.expected);
    let result = test.result(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    assert_eq!(result.verdict, Verdict::Pass);
    assert_eq!(outcome(&result, RuleId::LogsReplayed), Outcome::Ok);
    assert_eq!(result.storage.servers[0].recovery.len(), 2);
}

/// Regression: pages evicted early from a small cache advanced the checkpoint, and fewer logs were
/// replayed than asked for.
#[test]
fn a_small_cache_leaves_as_many_logs_to_replay() {
    let mut plan =
        Plan { logs: 24, duration: Span::seconds(600), ..of_kind(TestKind::SoftRecovery) };
    plan.engine.cache_min = ByteSize::kib(256);
    plan.engine.cache_max = ByteSize::kib(256);
    let test = Small::new(1).run(&plan);
    let run = test.run.as_ref().unwrap();
    let logs: Vec<u32> = run.recoveries.iter().map(|recovered| recovered.logs).collect();
    assert!(logs.iter().all(|logs| *logs >= 24), "{logs:?}");
    let result = test.result(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    assert_eq!(run.records.unwrap().findings, Findings::default());
}

#[test]
fn instances_recover_at_the_same_time() {
    let mut plan = Plan {
        logs: 40,
        duration: Span::seconds(600),
        sessions: 12,
        instances: instances(6),
        ..of_kind(TestKind::SoftRecovery)
    };
    plan.engine.cache_min = ByteSize::kib(512);
    let test = Small::new(1).run(&plan);
    assert_eq!(failed(&test.result(&plan)), Vec::<String>::new());
    let told = |word: &str| {
        let told = test.news.iter().zip(&test.told_at);
        let told = told
            .filter(|(news, _)| matches!(news, News::Note { text: note } if note.contains(word)));
        told.map(|(_, at)| *at).collect::<Vec<Time>>()
    };
    let (left, recovered) = (told("left without"), told("recovered from"));
    assert_eq!((left.len(), recovered.len()), (1, 6));
    let run = test.run.as_ref().unwrap();
    let one_by_one: f64 = run.recoveries.iter().map(|one| one.took.as_seconds()).sum();
    let together = (recovered[5] - left[0]).as_seconds();
    assert!(together < one_by_one / 3.0, "{together} s for {one_by_one} s");
    let progress = test.news.iter().filter_map(|news| match news {
        News::Recovering { done, logs } => Some((*done, *logs)),
        _ => None,
    });
    let progress: Vec<_> = progress.collect();
    assert!(progress.is_sorted() && !progress.is_empty(), "{progress:?}");
}

#[test]
fn a_clean_shutdown_says_how_far_it_is() {
    let mut small = Small::new(1);
    // Dirty pages take a while to write.
    small.latency = Box::new(|_, request| match (request.class, request.op) {
        (Class::Database, Op::Write) => Span::seconds(1),
        _ => Span::micros(200),
    });
    let mut plan = plan();
    plan.engine.checkpoint_depth = ByteSize::mib(4);
    let test = small.run(&plan);
    let progress = test.news.iter().filter_map(|news| match news {
        News::Closing { done, total } => Some((done.get(), total.get())),
        _ => None,
    });
    let progress: Vec<_> = progress.collect();
    assert!(progress.len() > 2 && progress[0].0 == 0, "{progress:?}");
    assert!(progress.is_sorted(), "{progress:?}");
    assert!(progress.iter().all(|(done, total)| done <= total));
}

#[test]
fn too_few_logs_are_no_recovery_test() {
    let plan = Plan { logs: 5_000, duration: Span::seconds(5), ..of_kind(TestKind::SoftRecovery) };
    let test = Small::new(1).run(&plan);
    let run = test.run.as_ref().unwrap();
    assert!(
        matches!(&run.ending, Ending::Unanswered(why) if why.starts_with("fewer than 5000 log files"))
    );
    let result = test.result(&plan);
    assert_eq!(result.verdict, Verdict::Inconclusive);
    assert_eq!(outcome(&result, RuleId::LogsReplayed), Outcome::NotMeasured);
}

#[test]
fn a_stress_test_that_grows_slow_fails_for_it() {
    // The first minutes of a cold engine do not reflect the storage.
    let plan = Plan {
        duration: Span::seconds(60),
        warm_up_min: Span::seconds(120),
        ..of_kind(TestKind::Stress)
    };
    let steady = Small::new(1).run(&plan);
    let result = steady.result(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    assert!(result.reasons[0].contains("not for 24 hours"), "{:?}", result.reasons);
    let mut credits = Small::new(1);
    // Half a minute after the beginning the credits are used up.
    credits.latency = Box::new(|now, _| match now.0 > 150 * SECOND {
        true => Span::millis(15),
        false => Span::micros(200),
    });
    let test = credits.run(&plan);
    let result = test.result(&plan);
    fails(&result, RuleId::StationaryDatabaseRead, Outcome::Failed);
    fails(&result, RuleId::StationaryIoRate, Outcome::Failed);
    assert_eq!(outcome(&result, RuleId::DatabaseReadAverage), Outcome::Ok);
    assert_eq!(result.verdict, Verdict::Fail);
}

#[test]
fn a_target_is_kept_or_missed() {
    let with = |io_per_s| Plan {
        target: Some(Target { io_per_s, headroom_percent: 20 }),
        // The pace follows the cost of operations over a third of the time so far.
        warm_up_min: Span::seconds(120),
        duration: Span::seconds(60),
        sessions: 16,
        ..plan()
    };
    let plan = with(200.0);
    let kept = Small::new(1).run(&plan).result(&plan);
    assert_eq!(failed(&kept), Vec::<String>::new());
    let achieved = kept.storage.achieved_iops.unwrap();
    // The databases are rewritten once a minute, and cost less afterwards: the pace lags behind.
    assert!((225.0..255.0).contains(&achieved), "{achieved} for 240");
    assert_eq!(outcome(&kept, RuleId::AchievedHeadroom), Outcome::Ok);
    assert_eq!(kept.storage.bottlenecks, []);
    let plan = with(20_000.0);
    let missed = Small::new(1).run(&plan).result_on(&plan, |surroundings| {
        surroundings.busiest = Some(BusyPart { part: "vda".to_owned(), busy: 0.31 });
    });
    fails(&missed, RuleId::AchievedIo, Outcome::Failed);
    assert_eq!(missed.verdict, Verdict::Fail);
    let [why] = missed.storage.bottlenecks.as_slice() else {
        panic!("{:?}", missed.storage.bottlenecks);
    };
    assert_eq!(why.limit, Limiting::Sessions, "{}", why.sentence);
    let sentence = &missed.storage.details.sentence;
    assert!(sentence.starts_with("Target missed: "), "{sentence}");
    assert!(sentence.contains(" 16 sessions at "), "{sentence}");
}

/// Everything is in memory, so pages are written for the checkpoint alone.
fn paced_in_memory(depth: ByteSize) -> Plan {
    let mut plan = Plan {
        target: Some(Target { io_per_s: 100.0, headroom_percent: 20 }),
        warm_up_min: Span::seconds(2),
        duration: Span::seconds(30),
        sessions: 8,
        instances: instances(2),
        ..plan()
    };
    for database in plan.instances.iter_mut().flat_map(|one| &mut one.databases) {
        database.size = ByteSize::mib(32);
    }
    plan.engine.cache_min = ByteSize::mib(48);
    plan.engine.cache_max = ByteSize::mib(48);
    plan.engine.checkpoint_depth = depth;
    plan
}

#[test]
fn a_test_waits_for_its_writes_and_says_when_there_are_none() {
    let plan = paced_in_memory(ByteSize::mib(1));
    let test = Small::new(1).run(&plan);
    let result = test.result(&plan);
    let samples = &test.collected().samples;
    let writes = |samples: &[Sample]| samples.iter().map(|s| s.database_writes.per_s).sum::<f64>();
    let [first, last] = [&samples[..3], &samples[samples.len() - 3..]].map(writes);
    assert!(first > 0.0 && last > 0.0, "{first} and {last}");
    assert_eq!(outcome(&result, RuleId::DatabaseWrites), Outcome::Ok);
    assert_eq!(outcome(&result, RuleId::LoadPace), Outcome::Ok);
    assert_eq!(result.verdict, Verdict::Pass);

    let mut idle = paced_in_memory(ByteSize::gib(4));
    idle.engine.cache_min = ByteSize::mib(128);
    idle.engine.cache_max = ByteSize::mib(128);
    let mut plan = idle.clone();
    plan.target = Some(Target { io_per_s: 0.5, headroom_percent: 20 });
    let test = Small::new(1).run(&plan);
    let result = test.result(&plan);
    let writes = outcome(&result, RuleId::DatabaseWrites);
    assert_eq!(writes, Outcome::NotMeasured);
    assert_eq!(result.verdict, Verdict::Inconclusive);
    let sentence = &result.storage.details.sentence;
    assert!(sentence.contains("a smaller `checkpoint_depth`"), "{sentence}");
    let reason = |reason: &String| reason.contains("before the load was complete");
    assert!(result.reasons.iter().any(reason), "{:?}", result.reasons);
    // It sees that the wait would be too long.
    let test = Small::new(1).run(&idle);
    let when = |wanted: fn(&News) -> bool| {
        let mut told = test.news.iter().zip(&test.told_at);
        *told.find(|(news, _)| wanted(news)).unwrap().1
    };
    let waits = when(
        |news| matches!(news, News::Settling { what, .. } if what.contains("no database writes before")),
    );
    let warm = when(|news| matches!(news, News::WarmedUp { .. }));
    // The wait itself would be four times the test.
    assert!(warm - waits <= Span::millis(1_200), "{waits:?} to {warm:?}");

    // A small cache has pages to write before: the load is not complete, and the rule says so.
    let mut plan = paced_in_memory(ByteSize::gib(4));
    plan.engine.cache_min = ByteSize::mib(1);
    plan.engine.cache_max = ByteSize::mib(1);
    let result = Small::new(1).run(&plan).result(&plan);
    fails(&result, RuleId::DatabaseWrites, Outcome::Advisory);
    assert_eq!(result.verdict, Verdict::Pass);

    // Reads alone need no log.
    let mut plan = paced_in_memory(ByteSize::gib(4));
    plan.load.mix = Mix::new(0, 0, 0, 0).unwrap();
    let result = Small::new(1).run(&plan).result(&plan);
    let named = |rule: &&Rule| RuleId::DatabaseWrites.is(rule);
    assert_eq!(result.rules.iter().find(named), None);
}

#[test]
fn logs_are_read_once_for_each_copy() {
    let plan = Plan { copies: 3, ..plan() };
    let test = Small::new(1).run(&plan);
    let result = test.result(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    let instance = &result.storage.servers[0].instances[0];
    let (read, written) =
        (instance.details.log.replication_reads, instance.details.log.writes.bytes);
    let copies = read.bytes as f64 / written as f64;
    assert!((1.7..2.6).contains(&copies), "{copies} of two");
    // A file of 256 KiB has a header and one piece after it.
    assert_eq!(read.bytes * 2, read.count * (256 << 10));
}

#[test]
fn storage_that_dies_in_the_warm_up_ends_the_test() {
    let plan = Plan { precondition: 100.0, ..plan() };
    let mut small = Small::new(1);
    small.latency = Box::new(|now: Time, _| match now.0 > 10 * SECOND {
        true => Span::seconds(1 << 32),
        false => Span::micros(200),
    });
    let test = small.run(&plan);
    let run = test.run.as_ref().unwrap();
    assert!(matches!(run.ending, Ending::Broken(_)), "{:?}", run.ending);
    assert!(run.collected.is_none());
    assert!((300..400).contains(&(run.ended.0.div_euclid(SECOND))));
    let result = test.result(&plan);
    fails(&result, RuleId::HungIo, Outcome::Failed);
}

#[test]
fn one_io_that_never_comes_back_leaves_a_report() {
    let plan = Plan { duration: Span::seconds(50), ..plan() };
    let mut small = Small::new(1);
    let mut lost = false;
    small.latency = Box::new(move |now: Time, request| {
        let read = request.op == Op::Read && request.class == Class::Database;
        match read && now.0 > 10 * SECOND && !std::mem::replace(&mut lost, true) {
            true => Span::seconds(1 << 32),
            false => Span::micros(200),
        }
    });
    let test = small.run(&plan);
    let run = test.run.as_ref().unwrap();
    assert_eq!(run.hung.count, 1);
    assert!(
        matches!(&run.ending, Ending::Broken(why) if why.contains("a read of db/")),
        "{:?}",
        run.ending
    );
    let result = test.result(&plan);
    fails(&result, RuleId::HungIo, Outcome::Failed);
    assert_eq!(outcome(&result, RuleId::PagesVerified), Outcome::NotMeasured);
    assert_eq!(result.verdict, Verdict::Fail);
    // The other sessions continued to the end.
    assert_eq!(run.collected.as_ref().unwrap().length, Span::seconds(50));
}

#[test]
fn growth_that_does_not_fit_is_refused_if_asked_for() {
    let plan = Plan { growth: Growth::Refuse, duration: Span::seconds(3_600), ..plan() };
    let test = Small::new(1).run(&plan);
    let run = test.run.as_ref().unwrap();
    assert!(
        matches!(&run.ending, Ending::Broken(why) if why.contains("test.growth")),
        "{:?}",
        run.ending
    );
    assert!(run.collected.is_none());
    assert_eq!(test.result(&plan).verdict, Verdict::Error);
    let room = run.last.iter().all(|size| *size < ByteSize::mib(6));
    assert!(room, "it ended before");
}
