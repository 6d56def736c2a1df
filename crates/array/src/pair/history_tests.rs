//! What groups write while they are apart, and how they come together again: log, copy, order of
//! resumption.

use std::rc::Rc;

use brunt_units::{ByteSize, Span, Time};

use super::ledger::Ledger;
use super::tests::{at, clean, design, group, incident, notes, over, run, store, watched, write};
use super::*;

#[test]
fn without_failsafe_writes_go_into_the_log_which_is_replayed_in_order() {
    let mut design = design(Mode::Synchronous, false);
    design.link.round_trip = Span::millis(2);
    design.outstanding = 1;
    let mut pair = watched(&design);
    incident(&mut pair, 1, PairIncident::LinkLost);
    incident(&mut pair, 50, PairIncident::LinkReturns);
    pair.submit(Time::ZERO, write(0, 0, 8));
    for number in 1..5 {
        pair.submit(at(number * 10), write(0, number * 8, 8));
    }
    let done = run(&mut pair, 49);
    let ends: Vec<Span> = done.iter().map(|one| one.1).collect();
    assert_eq!(ends, [1, 11, 21, 31, 41].map(Span::millis), "as the source alone");
    let state = pair.replication().group(0);
    assert_eq!((state.phase, state.log.used), (Phase::Logging, ByteSize::kib(20)));
    // 20 KiB in 39 ms since the first; 236 KiB are left.
    let full_in = state.log.full_in.unwrap().as_millis();
    assert!((full_in - 48.0 * 236.0 / 20.0).abs() < 1.0, "{full_in}");
    let risk = AtRisk { writes: 5, bytes: 20 << 10, since: Some(at(1)) };
    assert_eq!(state.at_risk, Some(risk));
    // 2 ms to ask, then 5 ms for each of five; a write meanwhile appends, and waits for nothing.
    pair.submit(at(60), write(0, 80, 8));
    assert_eq!(run(&mut pair, 61), [(80, Span::millis(61), Ok(()))]);
    assert_eq!(pair.replication().group(0).phase, Phase::Merging);
    run(&mut pair, 81);
    assert_eq!(pair.replication().group(0).phase, Phase::Merging);
    run(&mut pair, 82);
    let state = pair.replication().group(0);
    assert_eq!((state.phase, state.log.used.get()), (Phase::Normal, 0));
    assert_eq!(state.log_peak, ByteSize::kib(20));
    assert_eq!(pair.replication().longest_resumption(), Some(Span::millis(32)));
    pair.submit(at(90), write(0, 80, 8));
    assert_eq!(run(&mut pair, 99), [(80, Span::millis(95), Ok(()))], "both again");
    clean(&pair);
}

#[test]
fn a_log_that_overflows_is_given_up_and_written_blocks_are_copied() {
    let mut design = design(Mode::Synchronous, false);
    design.link.round_trip = Span::millis(2);
    let mut pair = watched(&design);
    incident(&mut pair, 1, PairIncident::LinkLost);
    incident(&mut pair, 500, PairIncident::LinkReturns);
    // 9 writes of 32 KiB: the log holds 8 of them. They touch two blocks.
    for number in 0..9 {
        pair.submit(at(10 + number * 10), write(0, 2048 - 64 + number * 64, 64));
    }
    run(&mut pair, 400);
    let state = pair.replication().group(0);
    assert_eq!((state.phase, state.log.used.get()), (Phase::Overflowed, 0));
    let risk = state.at_risk.unwrap();
    assert_eq!((risk.writes, risk.bytes, risk.since), (9, 9 << 15, Some(at(11))));
    // Asked at 502; read within 1 ms; then two round trips and 1 ms at the destination.
    run(&mut pair, 504);
    let state = pair.replication().group(0);
    assert_eq!((state.phase, state.at_risk), (Phase::Copying, None));
    pair.submit(at(504), write(1, 0, 8));
    assert_eq!(run(&mut pair, 510), [(0, Span::millis(509), Ok(()))], "to both");
    let state = pair.replication().group(0);
    assert_eq!((state.phase, state.at_risk), (Phase::Normal, Some(AtRisk::default())));
    assert_eq!(state.copied.0, ByteSize::mib(2));
    let expected = [
        "1.00 ms link lost",
        "1.00 ms mail: writes go into the write history log",
        "70.00 ms mail: write history log has 224 KiB of 256 KiB, full in 8.57 ms",
        "90.00 ms mail: write history log overflowed: a full copy is due",
        "500.00 ms link is back",
        "502.00 ms mail: full copy of 2 MiB: not crash-consistent until it ends",
        "508.00 ms mail: both sides are in step, after 507.00 ms",
    ];
    assert_eq!(notes(&pair), expected);
    assert_eq!(pair.observer.copies_ended, 1);
    clean(&pair);
}

#[test]
fn an_operator_may_choose_to_copy_everything() {
    let mut design = design(Mode::Synchronous, false);
    design.link.round_trip = Span::millis(2);
    let mut pair = watched(&design);
    incident(&mut pair, 1, PairIncident::GroupSuspended(0));
    let resumed = PairIncident::GroupResumed { group: 0, full_copy: true };
    incident(&mut pair, 20, resumed);
    incident(&mut pair, 200, resumed);
    pair.submit(at(5), write(0, 0, 8));
    run(&mut pair, 100);
    let copied = |pair: &Pair<Ledger>| pair.replication().group(0).copied.0;
    assert_eq!(copied(&pair), ByteSize::mib(8), "both LUNs");
    run(&mut pair, 201);
    assert_eq!(pair.replication().group(0).phase, Phase::Copying, "at once");
    run(&mut pair, 300);
    assert_eq!(copied(&pair), ByteSize::mib(16));
    assert_eq!(pair.observer.copies_ended, 2);
    clean(&pair);
}

/// Two groups with ten writes each while the link is lost, from 1 to 10 ms.
fn two_groups_apart(policy: ResumePolicy) -> Pair<Ledger> {
    let mut design = design(Mode::Synchronous, false);
    design.resume = policy;
    design.outstanding = 1;
    design.groups = vec![
        group("one", &[0], Mode::Synchronous, false),
        group("other", &[1], Mode::Synchronous, false),
    ];
    let mut pair = watched(&design);
    incident(&mut pair, 1, PairIncident::LinkLost);
    incident(&mut pair, 10, PairIncident::LinkReturns);
    for number in 0..10 {
        pair.submit(at(2), write(0, number * 8, 8));
        pair.submit(at(2), write(1, number * 8, 8));
    }
    pair
}

#[test]
fn groups_resume_all_at_once_one_by_one_or_at_a_time() {
    let resumed = |policy| {
        let mut pair = two_groups_apart(policy);
        run(&mut pair, 1_000);
        clean(&pair);
        notes(&pair)
            .into_iter()
            .filter_map(|note| note.split_once(": both").map(|(name, _)| name.to_owned()))
            .collect::<Vec<_>>()
    };
    // Ten writes of 1 ms, one after the other.
    let together = ["20.00 ms one", "20.00 ms other"];
    assert_eq!(resumed(ResumePolicy::AllAtOnce), together);
    let staggered = ["20.00 ms one", "30.00 ms other"];
    assert_eq!(resumed(ResumePolicy::Staggered), staggered);
    let later = ["110.00 ms one", "110.00 ms other"];
    assert_eq!(resumed(ResumePolicy::NotBefore(at(100))), later);
}

#[test]
fn a_group_that_stops_while_it_resumes_does_not_hold_up_the_next() {
    let mut pair = two_groups_apart(ResumePolicy::Staggered);
    incident(&mut pair, 15, PairIncident::GroupSuspended(0));
    run(&mut pair, 1_000);
    let phases = [0, 1].map(|group| pair.replication().group(group).phase);
    assert_eq!(phases, [Phase::Logging, Phase::Normal]);
}

#[test]
fn the_log_costs_requests_where_it_lies_on_a_lun() {
    let mut design = design(Mode::Synchronous, false);
    design.history.lun = Some(2);
    let mut pair = watched(&design);
    incident(&mut pair, 1, PairIncident::LinkLost);
    incident(&mut pair, 10, PairIncident::LinkReturns);
    pair.submit(at(2), write(0, 0, 8));
    assert_eq!(run(&mut pair, 5), [(0, Span::millis(3), Ok(()))]);
    run(&mut pair, 11);
    assert_eq!(pair.replication().group(0).phase, Phase::Merging, "read first");
    run(&mut pair, 12);
    assert_eq!(pair.replication().group(0).phase, Phase::Normal);
    clean(&pair);
}

#[test]
fn writes_that_were_waiting_follow_each_other_in_the_log() {
    let mut design = design(Mode::Synchronous, false);
    design.history.lun = Some(2);
    design.link.round_trip = Span::millis(20);
    let source = store("source");
    let asked = Rc::clone(&source.asked);
    let mut pair = over(&design, source, store("destination"));
    for number in 0..3 {
        pair.submit(Time::ZERO, write(0, number * 8, 8));
    }
    incident(&mut pair, 5, PairIncident::LinkLost);
    run(&mut pair, 10);
    let asked = asked.borrow();
    let logged = asked.iter().filter(|io| io.lun == 2);
    let starts: Vec<u64> = logged.map(|io| io.extent.start).collect();
    assert_eq!(starts, [0, 8, 16]);
}
