//! Sessions are found before the test, or the result says why not.

use crate::small::{Left, Small, failed, fails, outcome, plan};
use brunt_qualify::goal::{Target, Tune};
use brunt_qualify::plan::Plan;
use brunt_qualify::rules::{Ending, RuleId};
use brunt_report::RunResult;
use brunt_report::result::{Outcome, Tuning, Verdict};
use brunt_units::{Span, Time};

/// Storage that serves one I/O at a time, each in 1 ms: a thousand per second, and a queue for the
/// rest.
fn one_at_a_time(seed: u64) -> Small {
    let mut free = Time::ZERO;
    Small {
        latency: Box::new(move |now, _| {
            free = free.max(now) + Span::millis(1);
            free - now
        }),
        ..Small::new(seed)
    }
}

fn tuned(plan: &Plan) -> (Left, RunResult, Tuning) {
    let test = one_at_a_time(1).run(plan);
    let result = test.result(plan);
    let tuning = result.storage.details.tuning.clone().expect("it was tuned");
    (test, result, tuning)
}

#[test]
fn without_a_target_the_most_that_passes_is_found() {
    let plan = Plan { tune: Some(Tune::Maximum { percent: 100 }), sessions: 2, ..plan() };
    let (_, result, tuning) = tuned(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    let most = tuning.io_per_s.unwrap();
    // Logs take some of the thousand.
    assert!((600.0..1_000.0).contains(&most), "{most} of 1,000");
    let sessions = tuning.sessions.unwrap();
    assert!(sessions > 2, "{sessions}");
    assert_eq!(result.storage.details.setup.sessions, sessions);
    assert_eq!(outcome(&result, RuleId::SessionsFound), Outcome::Ok);
    assert_eq!(result.storage.target_iops, None);
    let achieved = result.storage.achieved_iops.unwrap();
    assert!((achieved / most - 1.0).abs() < 0.15, "{achieved} and {most}");
    assert!(tuning.trials.len() < 20, "{:?}", tuning.trials);
    assert!(tuning.trials.iter().all(|trial| !trial.is_paced));
}

#[test]
fn a_share_of_the_most_is_what_the_test_asks_for() {
    let plan = Plan {
        tune: Some(Tune::Maximum { percent: 50 }),
        sessions: 4,
        duration: Span::seconds(60),
        ..plan()
    };
    let (_, result, tuning) = tuned(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    let target = result.storage.target_iops.unwrap();
    assert!((target / tuning.io_per_s.unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(outcome(&result, RuleId::AchievedIo), Outcome::Ok);
    let achieved = result.storage.achieved_iops.unwrap();
    assert!((achieved / target - 1.0).abs() < 0.1, "{achieved} for {target}");
}

#[test]
fn for_a_target_the_fewest_sessions_are_found() {
    let plan = Plan {
        target: Some(Target { io_per_s: 300.0, headroom_percent: 20 }),
        tune: Some(Tune::Target),
        sessions: 64,
        duration: Span::seconds(60),
        ..plan()
    };
    let (_, result, tuning) = tuned(&plan);
    assert_eq!(failed(&result), Vec::<String>::new());
    let sessions = tuning.sessions.unwrap();
    assert!((1..16).contains(&sessions), "{sessions}, {:?}", tuning.trials);
    assert_eq!(outcome(&result, RuleId::AchievedHeadroom), Outcome::Ok);
    assert!(tuning.trials.iter().all(|trial| trial.is_paced));
}

#[test]
fn a_target_out_of_reach_is_said_with_what_is_in_reach() {
    let plan = Plan {
        target: Some(Target { io_per_s: 5_000.0, headroom_percent: 20 }),
        tune: Some(Tune::Target),
        sessions: 4,
        ..plan()
    };
    let (test, result, tuning) = tuned(&plan);
    let run = test.run.as_ref().unwrap();
    let Ending::Broken(why) = &run.ending else {
        panic!("{:?}", run.ending);
    };
    assert!(why.starts_with("no number of sessions keeps 6,000 I/Os per second"), "{why}");
    assert!(why.contains("; the most that passes is "), "{why}");
    assert!(run.collected.is_none(), "the test itself was not begun");
    assert_eq!(tuning.sessions, None);
    fails(&result, RuleId::SessionsFound, Outcome::Failed);
    assert_eq!(result.verdict, Verdict::Fail);
    assert!(result.storage.details.sentence.contains("no number of sessions"));
}

#[test]
fn storage_that_is_too_slow_for_one_session_is_told_so() {
    let plan = Plan { tune: Some(Tune::Maximum { percent: 100 }), ..plan() };
    let mut slow = Small::new(1);
    slow.latency = Box::new(|_, _| Span::millis(25));
    let test = slow.run(&plan);
    let result = test.result(&plan);
    assert_eq!(result.verdict, Verdict::Fail);
    let sentence = &result.storage.details.sentence;
    assert!(sentence.contains("even the fewest sessions are above a limit"), "{sentence}");
}
