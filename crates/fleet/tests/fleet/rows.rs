//! The table of what decides, row by row: one thing happens, to one of three hosts.

use brunt_fleet::{Fate, Phase, Program, Report};
use brunt_report::result::Verdict;
use brunt_units::Span;
use brunt_world_virtual::LinkOptions;

use crate::search::{Accident, Timeline, run, usual};

/// Nothing goes wrong.
fn calm() -> Timeline {
    Timeline {
        hosts: (0..3).map(usual).collect(),
        links: vec![LinkOptions { delay: Span::millis(1), ..LinkOptions::default() }; 3],
        accidents: Vec::new(),
        dies_after: None,
    }
}

fn report(timeline: &Timeline) -> Report {
    let ended = run(1, timeline).expect("it ends");
    ended.report.clone().expect("there is a coordinator")
}

/// The verdict, and what happened to the second host.
fn after(accident: Accident, at: Span) -> (Verdict, Fate) {
    let mut timeline = calm();
    timeline.accidents = vec![(at, accident)];
    let report = report(&timeline);
    (report.verdict, report.agents[1].fate.clone())
}

/// While all collect.
const LOAD: Span = Span::seconds(12);

#[test]
fn all_pass() {
    let report = report(&calm());
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(report.reasons, [""; 0]);
    assert!(report.skew.unwrap() <= Span::millis(100), "{:?}", report.skew);
}

#[test]
fn killed_in_each_phase() {
    for tenths in [2, 15, 40, 70, 120, 180] {
        let (verdict, fate) = after(Accident::AgentKilled(1), Span::millis(tenths * 100));
        match verdict {
            // It was through.
            Verdict::Pass => assert!(tenths > 150),
            _ => {
                assert_eq!(verdict, Verdict::Invalid, "{tenths}: {fate:?}");
                assert_eq!(fate, Fate::Killed { why: "signal 9".to_owned() }, "{tenths}");
            }
        }
    }
}

#[test]
fn restarted() {
    let back = Some(Span::seconds(4));
    let (verdict, fate) = after(Accident::HostKilled(1, back), LOAD);
    assert_eq!((verdict, fate), (Verdict::Invalid, Fate::Restarted));
}

#[test]
fn frozen_while_sessions_work() {
    for lasts in [7, 60] {
        let (verdict, fate) = after(Accident::AgentFrozen(1, Span::seconds(lasts)), LOAD);
        assert_eq!(verdict, Verdict::Invalid);
        assert!(matches!(fate, Fate::Silent { .. }), "{fate:?}");
    }
    let (verdict, _) = after(Accident::AgentFrozen(1, Span::seconds(3)), LOAD);
    assert_eq!(verdict, Verdict::Pass, "that is not long enough");
}

#[test]
fn frozen_before_anything_works_is_only_late() {
    let (verdict, _) = after(Accident::AgentFrozen(1, Span::seconds(9)), Span::millis(700));
    assert_eq!(verdict, Verdict::Pass);
}

#[test]
fn an_engine_that_stands_still_behind_a_lively_beat() {
    let (verdict, fate) = after(Accident::EngineStuck(1, Span::seconds(6)), LOAD);
    assert_eq!(verdict, Verdict::Invalid);
    assert!(matches!(fate, Fate::Silent { .. }), "{fate:?}");
}

#[test]
fn connections_come_back() {
    for host in 0..3 {
        assert_eq!(after(Accident::Reset(host), LOAD).0, Verdict::Pass);
    }
    let mut timeline = calm();
    let cut = |from, to| {
        brunt_units::Time::ZERO + Span::seconds(from)..brunt_units::Time::ZERO + Span::seconds(to)
    };
    timeline.links[1].outages = vec![cut(11, 30)];
    assert_eq!(report(&timeline).verdict, Verdict::Pass, "the run went on meanwhile");
}

#[test]
fn a_host_that_is_not_back_by_the_end() {
    let (verdict, fate) = after(Accident::PowerLost(1, None), LOAD);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(matches!(fate, Fate::Lost { .. }), "{fate:?}");
}

#[test]
fn not_ready_in_time() {
    let mut timeline = calm();
    timeline.hosts[1].course.creating = Span::seconds(300);
    let report = report(&timeline);
    assert_eq!(report.verdict, Verdict::Error);
    assert!(matches!(report.agents[1].fate, Fate::NotReady { .. }), "{report:?}");
    assert_eq!(report.skew, None, "nobody has begun");
}

#[test]
fn another_commit() {
    let mut timeline = calm();
    timeline.hosts[2].program =
        Program { commit: Some("older".to_owned()), ..crate::search::program() };
    let report = report(&timeline);
    assert_eq!(report.verdict, Verdict::Error);
    let why = "MAIL3: cannot begin: here is brunt 0.1.0 (older), there is 0.1.0 (abc)";
    assert_eq!(report.reasons, [why]);
}

#[test]
fn a_machine_or_a_device_twice() {
    let mut timeline = calm();
    timeline.hosts[2].devices = timeline.hosts[0].devices.clone();
    let ended = run(1, &timeline).unwrap();
    let report = ended.report.clone().unwrap();
    assert_eq!(
        report.reasons,
        ["MAIL3: cannot begin: /mnt is on lun-0, which MAIL1 writes to"
            .replace("cannot begin: ", "")]
    );
    assert_eq!(report.verdict, Verdict::Error);
    assert!(ended.servers.iter().all(|server| !server.truth.is_ready.get()), "nothing was written");
    let mut timeline = calm();
    timeline.hosts[2].boot = timeline.hosts[0].boot.clone();
    assert_eq!(self::report(&timeline).verdict, Verdict::Error);
}

#[test]
fn a_clock_that_is_not_known_well_enough() {
    let mut timeline = calm();
    timeline.links[1].delay = Span::millis(300);
    let report = report(&timeline);
    assert_eq!(report.verdict, Verdict::Error);
    assert!(matches!(report.agents[1].fate, Fate::Skew { .. }), "{report:?}");
}

#[test]
fn one_host_over_a_limit() {
    let mut timeline = calm();
    timeline.hosts[0].course.verdict = Verdict::Fail;
    let report = report(&timeline);
    assert_eq!(report.verdict, Verdict::Fail);
    assert_eq!(report.reasons, ["MAIL1: fail"]);
    assert_eq!(report.agents[1].fate, Fate::Complete(Verdict::Pass), "all went on");
}

#[test]
fn one_ends_its_collection_early() {
    let mut timeline = calm();
    timeline.hosts[0].course.gives_up = Some(Span::seconds(2));
    let report = report(&timeline);
    assert_eq!(report.verdict, Verdict::Invalid);
    assert_eq!(report.reasons, ["MAIL1: ended early: its databases are full"]);
    assert_eq!(report.agents[1].fate, Fate::WithOthers);
}

#[test]
fn one_breaks_in_each_phase() {
    for phase in [Phase::Checking, Phase::Preparing, Phase::Warming, Phase::Collecting] {
        let mut timeline = calm();
        timeline.hosts[0].course.breaks = Some(phase);
        let wanted = match phase {
            Phase::Checking => Verdict::Error,
            _ => Verdict::Invalid,
        };
        assert_eq!(report(&timeline).verdict, wanted, "{phase:?}");
    }
}

#[test]
fn a_folder_damaged_on_its_way_or_too_large() {
    assert_eq!(after(Accident::Damage(1), Span::seconds(1)).0, Verdict::Pass);
    let mut timeline = calm();
    timeline.hosts[1].course.folder_bytes = 2 << 20;
    let report = report(&timeline);
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(matches!(report.agents[1].fate, Fate::NotFetched { .. }), "{report:?}");
}

#[test]
fn stopped_by_the_user() {
    for at in [1, 4, 8, 12] {
        let (verdict, fate) = after(Accident::Stop, Span::seconds(at));
        assert_eq!((verdict, fate), (Verdict::Interrupted, Fate::Stopped), "{at}");
    }
}

#[test]
fn a_coordinator_killed_at_every_step_is_followed_by_another() {
    for messages in (0..130).step_by(3) {
        let mut timeline = calm();
        timeline.dies_after = Some((messages, Span::seconds(2)));
        assert_eq!(report(&timeline).verdict, Verdict::Pass, "after {messages} messages");
    }
}

#[test]
fn without_a_coordinator_hosts_end_in_order_or_finish() {
    let lost = |at| {
        let mut timeline = calm();
        timeline.accidents = vec![(at, Accident::CoordinatorKilled(None))];
        let ended = run(1, &timeline).expect("hosts end");
        ended.servers.iter().filter(|server| server.truth.is_complete.get()).count()
    };
    assert_eq!(lost(Span::seconds(3)), 0);
    assert_eq!(lost(LOAD), 3);
}

#[test]
fn a_second_coordinator_takes_over() {
    assert_eq!(after(Accident::Another, LOAD).0, Verdict::Pass);
}
