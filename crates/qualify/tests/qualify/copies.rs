//! Passive copies that follow a test in virtual time.

use brunt_qualify::error::RunError;
use brunt_qualify::plan::{CopyPlan, InstancePlan, Plan};
use brunt_qualify::rules::{Ending, RuleId};
use brunt_report::result::{Outcome, PassiveCopy, Verdict};
use brunt_run::News;
use brunt_units::Span;
use brunt_world::fault::{Direction, Fault, FaultKind};

use crate::small::{Left, Small, fails, outcome, plan};

/// A copy of instance number `of`, with this lag.
fn copy(of: usize, number: usize, lag: Span) -> CopyPlan {
    let mut databases = plan().instances[of].databases.clone();
    for database in &mut databases {
        database.path = format!("copy{number}/{of}.edb").into();
    }
    CopyPlan {
        of,
        lag,
        files: InstancePlan {
            name: format!("Copy {number}"),
            log: format!("copy{number}/log").into(),
            databases,
        },
    }
}

/// The small test, with these copies.
fn with(passive: Vec<CopyPlan>) -> Plan {
    Plan { passive, ..plan() }
}

fn copies(left: &Left, plan: &Plan) -> Vec<PassiveCopy> {
    left.result(plan).storage.servers[0].copies.clone()
}

fn files_of_copies(left: &Left) -> Vec<String> {
    let names = left.store.names().map(|(path, _)| path);
    let names = names.filter(|path| path.starts_with("copy1"));
    names.map(|path| path.display().to_string()).collect()
}

#[test]
fn sixteen_copies_keep_up_and_equal_their_actives() {
    let all = (1..=16).map(|number| copy(number % 2, number, Span::ZERO));
    let plan = with(all.collect());
    let left = Small::new(1).run(&plan);
    let result = left.result(&plan);
    assert_eq!(left.run.as_ref().unwrap().ending, Ending::Complete);
    assert_eq!(outcome(&result, RuleId::CopiesVerified), Outcome::Ok);
    assert_eq!(result.verdict, Verdict::Pass);
    let copies = copies(&left, &plan);
    assert_eq!(copies.len(), 16);
    for copy in &copies {
        assert_eq!(copy.is_wrong, Some(false), "{copy:?}");
        assert!(copy.logs > 20 && copy.copy_queue_logs.len() == 10, "{copy:?}");
        let [stored, replayed] = copy.longest().map(Option::unwrap);
        assert!(stored <= 2 && replayed <= 4, "{copy:?}");
        assert!(copy.records_checked.unwrap() > 400, "{copy:?}");
    }
    assert!(left.counters.contains(",Copy-16.replay-queue,,,"));
    assert_eq!(files_of_copies(&left), Vec::<String>::new());
    // Every log is read once for each of its eight copies.
    let logs = left.run.as_ref().unwrap().board.with(|meters| {
        let logs = meters.logs.iter();
        logs.map(|log| log.replication.total().bytes).sum::<u64>()
    });
    let shipped: u64 = copies.iter().map(|copy| copy.logs).sum();
    assert!(logs > 0 && logs <= shipped * (256 << 10), "{logs} of {shipped}");
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let plan = with(vec![copy(0, 1, Span::ZERO), copy(1, 2, Span::seconds(5))]);
    let digest = |seed| {
        let left = Small::new(seed).run(&plan);
        (left.digest, left.requests, left.counters)
    };
    assert_eq!(digest(7), digest(7));
    assert_ne!(digest(7).0, digest(8).0);
}

#[test]
fn a_lagged_copy_holds_logs_back_and_has_them_all_at_the_end() {
    let plan = with(vec![copy(0, 1, Span::ZERO), copy(0, 2, Span::seconds(8))]);
    let left = Small::new(1).run(&plan);
    let [prompt, lagged] = copies(&left, &plan).try_into().unwrap();
    assert_eq!((prompt.is_wrong, lagged.is_wrong), (Some(false), Some(false)));
    let last = |copy: &PassiveCopy| *copy.replay_queue_logs.last().unwrap();
    assert!(last(&prompt) <= 2, "{prompt:?}");
    // The logs of eight seconds.
    let per_s = lagged.logs as f64 / 22.0;
    let wanted = per_s * 8.0;
    assert!(
        (wanted * 0.6..wanted * 1.6).contains(&f64::from(last(&lagged))),
        "{wanted}: {lagged:?}"
    );
    // A lag holds back the replay and not the copy. A log that was closed since the active last
    // looked, which it does every 50 ms, is on its way when a sample ends; never a second one.
    for copy in [&lagged, &prompt] {
        assert!(copy.copy_queue_logs.iter().all(|logs| *logs <= 1), "{copy:?}");
    }
    assert_eq!(prompt.logs, lagged.logs);
    let reason = prompt.best.as_deref().unwrap();
    assert!(reason.starts_with("shortest replay queue: "), "{reason}");
    assert_eq!(lagged.best, None);
}

#[test]
fn a_copy_whose_storage_lies_is_found_by_name() {
    let plan = Plan {
        faults: vec![Fault {
            after: 20,
            settles: Some(4 << 10),
            only: Some(Direction::Writes),
            ..Fault::new(FaultKind::Lost, "copy2/1.edb", 0..1 << 40)
        }],
        ..with(vec![copy(0, 1, Span::ZERO), copy(1, 2, Span::ZERO)])
    };
    let left = Small::new(1).run(&plan);
    let result = left.result(&plan);
    fails(&result, RuleId::CopiesVerified, Outcome::Failed);
    assert_eq!(outcome(&result, RuleId::RecordsVerified), Outcome::Ok);
    let [fine, wrong] = copies(&left, &plan).try_into().unwrap();
    assert_eq!((fine.is_wrong, wrong.is_wrong), (Some(false), Some(true)));
}

/// Two bits of a page flip when it is read for the first time after a while.
fn rot(file: &str, after: u64) -> Fault {
    Fault {
        after,
        times: 1,
        settles: Some(4 << 10),
        only: Some(Direction::Reads),
        ..Fault::new(FaultKind::TwoBitFlip, file, 8 << 10..1 << 40)
    }
}

fn told(left: &Left, what: &str) -> bool {
    let says = |news: &News| matches!(news, News::Note { text } if text.contains(what));
    left.news.iter().any(says)
}

#[test]
fn a_bad_page_of_a_copy_is_replaced_by_that_of_its_active() {
    for after in [3, 60, 200] {
        let plan =
            Plan { faults: vec![rot("copy1/0.edb", after)], ..with(vec![copy(0, 1, Span::ZERO)]) };
        let left = Small::new(1).run(&plan);
        let result = left.result(&plan);
        let copy = &copies(&left, &plan)[0];
        assert_eq!((copy.is_wrong, copy.pages_repaired), (Some(false), Some(1)), "{copy:?}");
        assert!(copy.remark.ends_with("; 1 bad page repaired from the active"), "{copy:?}");
        assert_eq!(outcome(&result, RuleId::CopiesVerified), Outcome::Ok);
        assert_eq!(outcome(&result, RuleId::IoErrors), Outcome::Ok);
        assert!(told(&left, "(ESE -1018), patched from the active"), "{:?}", left.news);
    }
}

/// The test fails, because its storage returned a bad page; but no session meets it, and nothing is
/// lost.
#[test]
fn a_bad_page_of_an_active_is_replaced_by_that_of_a_copy() {
    for after in [40, 300] {
        let of = plan().instances[0].databases[0].path.clone();
        let late = copy(0, 2, Span::seconds(60));
        let plan = Plan {
            faults: vec![rot(of.to_str().unwrap(), after)],
            ..with(vec![late, copy(0, 1, Span::ZERO)])
        };
        let left = Small::new(1).run(&plan);
        let result = left.result(&plan);
        assert_eq!(left.run.as_ref().unwrap().ending, Ending::Complete);
        fails(&result, RuleId::IoErrors, Outcome::Failed);
        for rule in [RuleId::RecordsVerified, RuleId::PagesVerified, RuleId::CopiesVerified] {
            assert_eq!(outcome(&result, rule), Outcome::Ok, "{rule:?}");
        }
        let given = copies(&left, &plan).iter().map(|copy| copy.pages_given).collect::<Vec<_>>();
        assert_eq!(given, [Some(0), Some(1)]);
        assert!(told(&left, "(ESE -1018), patched from Copy 1"), "{:?}", left.news);
    }
}

#[test]
fn background_maintenance_reads_copies_as_it_reads_their_active() {
    let both = || with(vec![copy(0, 1, Span::ZERO)]);
    let left = Small::new(1).run(&both());
    let scan = copies(&left, &both())[0].scan.clone().unwrap();
    // All of its pages once; then it waits for the next day.
    assert_eq!((scan.passes, scan.pages_bad), (1, Some(0)), "{scan:?}");
    assert!((200..1500).contains(&scan.pages_judged.unwrap()), "{scan:?}");
    let mut plan = both();
    plan.engine.background_maintenance = false;
    let left = Small::new(1).run(&plan);
    assert_eq!(copies(&left, &plan)[0].scan, None);
}

#[test]
fn the_copy_of_an_interrupted_run_is_replaced_only_with_consent() {
    let plan = with(vec![copy(0, 1, Span::ZERO)]);
    let mut small = Small::new(1);
    small.abandon_after = Some(Span::seconds(15));
    let left = small.run(&plan);
    assert!(!files_of_copies(&left).is_empty());
    let again = |renew| {
        Small { store: left.store.fork(), ..Small::new(2) }.run(&Plan { renew, ..plan.clone() })
    };
    let refused = again(false).run.err().unwrap();
    assert!(matches!(refused, RunError::CopyThere(_)), "{refused}");
    let replaced = again(true);
    assert_eq!(copies(&replaced, &plan)[0].is_wrong, Some(false));
    assert_eq!(files_of_copies(&replaced), Vec::<String>::new());
}

#[test]
fn a_foreign_file_in_the_place_of_a_copy_stays() {
    let plan = with(vec![copy(0, 1, Span::ZERO)]);
    for foreign in ["copy1/0.edb", "copy1/0.edb-seeding"] {
        let mut small = Small::new(1);
        small.foreign = Some(foreign);
        let refused = small.run(&Plan { renew: true, ..plan.clone() });
        assert_eq!(refused.run.err().unwrap(), RunError::Foreign(foreign.into()));
    }
}

#[test]
fn copies_of_the_twin_keep_up_and_a_lagged_one_waits() {
    let passive = vec![copy(0, 1, Span::ZERO), copy(0, 2, Span::seconds(8))];
    let mut plan = with(passive);
    // Databases this small grow past it in the twin.
    plan.limits.reserve_percent = 400;
    let left = Small::new(1).simulate(&plan);
    let result = left.result(&plan);
    assert_eq!(left.run.as_ref().unwrap().ending, Ending::Complete);
    assert_eq!(outcome(&result, RuleId::CopiesVerified), Outcome::NotMeasured);
    let [prompt, lagged] = copies(&left, &plan).try_into().unwrap();
    let last = |copy: &PassiveCopy| *copy.replay_queue_logs.last().unwrap();
    assert!(prompt.logs > 20 && last(&prompt) <= 2, "{prompt:?}");
    let held = lagged.logs as f64 / 22.0 * 8.0;
    assert!((held * 0.6..held * 1.6).contains(&f64::from(last(&lagged))), "{held}: {lagged:?}");
    // Both have every log at the end, and only the active's are left.
    assert_eq!(prompt.logs, lagged.logs);
    assert!(prompt.catch_up_s.unwrap() < lagged.catch_up_s.unwrap());
    let digest = Small::new(1).simulate(&plan).digest;
    assert_eq!(left.digest, digest);
}

#[test]
fn a_stopped_test_leaves_no_copies() {
    let plan = with(vec![copy(0, 1, Span::ZERO)]);
    let mut small = Small::new(1);
    small.stop_after = Some(Span::seconds(15));
    let left = small.run(&plan);
    assert_eq!(left.run.as_ref().unwrap().ending, Ending::Stopped);
    let result = left.result(&plan);
    assert_eq!(outcome(&result, RuleId::CopiesVerified), Outcome::NotMeasured);
    assert_eq!(files_of_copies(&left), Vec::<String>::new());
}
