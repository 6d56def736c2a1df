//! Failovers in small: times, notes, refusals and losses, one at a time.

use brunt_world::IoError;

use super::tests::{at, clean, design, group, incident, notes, run, watched, write};
use super::*;
use brunt_units::Span;

/// The number of LUN 0 at the destination.
const REPLICA: u32 = 3;

fn fail_over(to: Site, how: Failover) -> PairIncident {
    let group = None;
    PairIncident::FailOver { group, to, how }
}

/// With 2 ms of round trip: a write takes 1 ms here, and 5 ms there and back.
fn pair(failsafe: bool) -> Pair<ledger::Ledger> {
    let mut design = design(Mode::Synchronous, failsafe);
    design.link.round_trip = Span::millis(2);
    watched(&design)
}

/// Notes from `from` on.
fn since(pair: &Pair<ledger::Ledger>, from: usize) -> Vec<String> {
    notes(pair).split_off(from)
}

fn ended(tag: u64, millis: u64) -> (u64, Span, Result<(), IoError>) {
    (tag, Span::millis(millis), Ok(()))
}

fn refused(tag: u64, millis: u64) -> (u64, Span, Result<(), IoError>) {
    (tag, Span::millis(millis), Err(IoError::Device))
}

#[test]
fn a_planned_failover_waits_for_what_is_under_way_and_loses_nothing() {
    let mut pair = pair(true);
    incident(&mut pair, 2, fail_over(Site::Destination, Failover::Planned));
    pair.submit(Time::ZERO, write(0, 0, 8));
    pair.submit(at(1), write(0, 8, 8));
    pair.submit(at(3), write(0, 16, 8));
    pair.submit(at(3), write(REPLICA, 24, 8));
    let done = run(&mut pair, 10);
    // Both began before, and the hosts of both sites have to wait.
    let expected = [refused(16, 3), refused(24, 3), ended(0, 5), ended(8, 6)];
    assert_eq!(done, expected);
    pair.submit(at(10), write(REPLICA, 32, 8));
    pair.submit(at(10), write(0, 40, 8));
    assert_eq!(run(&mut pair, 20), [refused(40, 10), ended(32, 15)]);
    let state = pair.replication().group(0);
    assert_eq!((state.serving, state.is_served), (Site::Destination, true));
    assert_eq!((state.refused, state.losses.len()), (3, 0));
    incident(&mut pair, 20, fail_over(Site::Source, Failover::Planned));
    pair.submit(at(21), write(0, 48, 8));
    assert_eq!(run(&mut pair, 30), [ended(48, 26)], "nothing was under way");
    let expected = [
        "2.00 ms mail: planned failover: hosts of the source lose its LUNs",
        "3.00 ms mail: hosts of the destination are refused: it does not serve",
        "6.00 ms mail: the destination serves, both sides are in step",
        "10.00 ms mail: hosts of the source are refused: it does not serve",
        "20.00 ms mail: planned failover: hosts of the destination lose its LUNs",
        "20.00 ms mail: the source serves, both sides are in step",
    ];
    assert_eq!(notes(&pair), expected);
    clean(&pair);
}

#[test]
fn a_planned_failover_that_loses_its_link_is_given_up() {
    let mut pair = pair(false);
    incident(&mut pair, 2, fail_over(Site::Destination, Failover::Planned));
    incident(&mut pair, 3, PairIncident::LinkLost);
    pair.submit(Time::ZERO, write(0, 0, 8));
    pair.submit(at(4), write(0, 8, 8));
    assert_eq!(run(&mut pair, 10), [ended(0, 3), ended(8, 5)]);
    let given_up = "3.00 ms mail: planned failover given up: the sites are not connected, as a planned failover needs";
    assert_eq!(notes(&pair)[2], given_up);
    assert_eq!(pair.replication().group(0).serving, Site::Source);
    incident(&mut pair, 10, fail_over(Site::Destination, Failover::Planned));
    incident(&mut pair, 10, PairIncident::LinkReturns);
    run(&mut pair, 30);
    assert_eq!(
        since(&pair, 4)[0],
        "10.00 ms mail: no change: the sites are not connected, as a planned failover needs"
    );
    clean(&pair);
}

#[test]
fn an_unplanned_failover_says_what_is_lost_and_the_source_returns_as_a_standby() {
    let mut pair = pair(false);
    incident(&mut pair, 10, PairIncident::LinkLost);
    for number in 0..3 {
        pair.submit(at(5 * number), write(0, number * 8, 8));
    }
    run(&mut pair, 20);
    incident(&mut pair, 20, PairIncident::SourceLost);
    pair.submit(at(21), write(0, 24, 8));
    incident(&mut pair, 30, fail_over(Site::Destination, Failover::Unplanned));
    pair.submit(at(31), write(REPLICA, 32, 8));
    assert_eq!(run(&mut pair, 40), [refused(24, 21), ended(32, 32)]);
    let state = pair.replication().group(0);
    let [loss] = state.losses[..] else {
        panic!("one loss");
    };
    let lost = AtRisk { writes: 1, bytes: 4096, since: Some(at(11)) };
    assert_eq!((loss.to, loss.lost), (Site::Destination, Some(lost)));
    assert_eq!(state.phase, Phase::Logging);
    // The source returns before its link, and its hosts want to go on.
    incident(&mut pair, 50, PairIncident::SourceReturns);
    pair.submit(at(51), write(0, 40, 8));
    incident(&mut pair, 60, PairIncident::LinkReturns);
    incident(&mut pair, 100, fail_over(Site::Source, Failover::Planned));
    assert_eq!(run(&mut pair, 99), [refused(40, 51)]);
    let state = pair.replication().group(0);
    assert_eq!((state.phase, state.copied.0), (Phase::Normal, ByteSize::mib(1)));
    pair.submit(at(101), write(0, 48, 8));
    assert_eq!(run(&mut pair, 110), [ended(48, 106)]);
    let expected = [
        "20.00 ms source lost",
        "30.00 ms mail: the destination serves; 1 write lost, 4 KiB, up to 19.00 ms old",
        "50.00 ms source is back",
        "50.00 ms mail: the source stands by, the destination serves",
        "51.00 ms mail: hosts of the source are refused: it does not serve",
        "60.00 ms link is back",
        "62.00 ms mail: full copy of 1 MiB: not crash-consistent until it ends",
        "68.00 ms mail: both sides are in step, after 58.00 ms",
        "100.00 ms mail: planned failover: hosts of the destination lose its LUNs",
        "100.00 ms mail: the source serves, both sides are in step",
    ];
    assert_eq!(since(&pair, 2), expected);
    clean(&pair);
}

#[test]
fn where_nothing_was_beyond_the_log_brings_the_source_into_step() {
    let mut pair = pair(true);
    pair.submit(Time::ZERO, write(0, 0, 8));
    incident(&mut pair, 10, PairIncident::SourceLost);
    incident(&mut pair, 11, fail_over(Site::Destination, Failover::Unplanned));
    pair.submit(at(20), write(REPLICA, 8, 8));
    // Failsafe is off: there is nothing to write to.
    assert_eq!(run(&mut pair, 30), [ended(0, 5), ended(8, 21)]);
    incident(&mut pair, 30, PairIncident::SourceReturns);
    run(&mut pair, 50);
    let state = pair.replication().group(0);
    assert_eq!((state.phase, state.copied.0.get()), (Phase::Normal, 0));
    assert!(state.losses[0].is_failsafe);
    assert_eq!(state.losses[0].lost, Some(AtRisk::default()));
    // It is on again.
    incident(&mut pair, 50, PairIncident::SourceLost);
    pair.submit(at(51), write(REPLICA, 16, 8));
    assert_eq!(run(&mut pair, 60), [refused(16, 51)]);
    assert!(notes(&pair).contains(&"32.00 ms mail: merging 4 KiB of write history".to_owned()));
    clean(&{
        incident(&mut pair, 60, PairIncident::SourceReturns);
        run(&mut pair, 90);
        pair
    });
}

#[test]
fn both_sites_serve_only_when_forced_and_one_is_chosen() {
    let mut pair = pair(false);
    incident(&mut pair, 10, PairIncident::LinkLost);
    incident(&mut pair, 20, fail_over(Site::Destination, Failover::Unplanned));
    incident(&mut pair, 21, fail_over(Site::Destination, Failover::Forced));
    let keep = |site| PairIncident::Keep { group: None, site };
    incident(&mut pair, 22, keep(Site::Source));
    pair.submit(at(15), write(0, 0, 8));
    pair.submit(at(30), write(0, 8, 8));
    pair.submit(at(30), write(REPLICA, 16, 8));
    pair.submit(at(35), write(REPLICA, 24, 8));
    let done = run(&mut pair, 40);
    assert_eq!(done, [ended(0, 16), ended(8, 31), ended(16, 31), ended(24, 36)]);
    incident(&mut pair, 40, PairIncident::LinkReturns);
    incident(&mut pair, 60, keep(Site::Destination));
    run(&mut pair, 55);
    let split = pair.replication().group(0).split.unwrap();
    assert_eq!(split.map(|one| one.unwrap().writes), [2, 2]);
    pair.submit(at(58), write(0, 32, 8));
    assert_eq!(run(&mut pair, 100), [ended(32, 59)], "both still serve");
    let expected = [
        "20.00 ms mail: no change: the source serves, and the link is lost; with force, both serve",
        "21.00 ms mail: forced: the destination serves, too; both sites change now",
        "22.00 ms mail: no change: the sites cannot talk yet",
        "40.00 ms link is back",
        "40.00 ms mail: split: the source has 2 writes of its own, the destination 2 writes; nothing is overwritten until one is chosen",
        "60.00 ms mail: split ends, the destination is kept; 3 writes lost, 12 KiB, up to 44.00 ms old",
        "62.00 ms mail: full copy of 1 MiB: not crash-consistent until it ends",
        "68.00 ms mail: both sides are in step, after 58.00 ms",
    ];
    assert_eq!(since(&pair, 2), expected);
    clean(&pair);
}

#[test]
fn a_site_that_was_lost_asks_before_it_serves_again() {
    let mut pair = pair(false);
    incident(&mut pair, 10, PairIncident::SourceLost);
    incident(&mut pair, 11, PairIncident::LinkLost);
    incident(&mut pair, 20, PairIncident::SourceReturns);
    pair.submit(at(21), write(0, 0, 8));
    incident(&mut pair, 30, PairIncident::LinkReturns);
    pair.submit(at(33), write(0, 8, 8));
    assert_eq!(run(&mut pair, 40), [refused(0, 21), ended(8, 38)]);
    let expected = [
        "20.00 ms source is back",
        "20.00 ms mail: the source serves no hosts: it has to ask the destination first",
        "21.00 ms mail: hosts of the source are refused: it does not serve",
        "30.00 ms link is back",
        "32.00 ms mail: the source serves again",
    ];
    assert_eq!(since(&pair, 2)[..5], expected);
    clean(&pair);
    // Both die; the one with the newest writes stays away.
    incident(&mut pair, 50, PairIncident::SourceLost);
    incident(&mut pair, 51, fail_over(Site::Destination, Failover::Unplanned));
    pair.submit(at(52), write(REPLICA, 16, 8));
    incident(&mut pair, 60, PairIncident::DestinationLost);
    incident(&mut pair, 70, PairIncident::SourceReturns);
    run(&mut pair, 79);
    pair.submit(at(79), write(0, 24, 8));
    let back = fail_over(Site::Source, Failover::Unplanned);
    incident(&mut pair, 80, back);
    assert_eq!(run(&mut pair, 81), [refused(24, 79)]);
    let last = notes(&pair).pop().unwrap();
    assert_eq!(last, "80.00 ms mail: the source serves; 1 write lost, 4 KiB, up to 27.00 ms old");
    incident(&mut pair, 90, PairIncident::DestinationReturns);
    run(&mut pair, 120);
    clean(&pair);
}

#[test]
fn a_site_in_the_middle_of_a_full_copy_serves_only_when_forced() {
    let mut pair = pair(false);
    let resumed = PairIncident::GroupResumed { group: 0, full_copy: true };
    pair.submit(Time::ZERO, write(0, 0, 8));
    incident(&mut pair, 10, resumed);
    incident(&mut pair, 12, PairIncident::SourceLost);
    for (millis, how) in [(13, Failover::Unplanned), (14, Failover::Forced)] {
        incident(&mut pair, millis, fail_over(Site::Destination, how));
    }
    incident(&mut pair, 20, PairIncident::SourceReturns);
    run(&mut pair, 100);
    let said = notes(&pair).join("\n");
    let inconsistent = "13.00 ms mail: no change: a full copy has left the destination inconsistent; force it if nothing else is left";
    assert!(said.contains(inconsistent), "{said}");
    assert!(
        said.contains("14.00 ms mail: the destination serves; that is not a state of the group")
    );
    assert_eq!(pair.replication().group(0).losses[0].lost, None);
    clean(&pair);
}

#[test]
fn a_link_flaps_and_groups_change_sites_alone() {
    let mut design = design(Mode::Synchronous, false);
    design.groups = vec![
        group("one", &[0], Mode::Synchronous, false),
        group("other", &[1], Mode::Synchronous, false),
    ];
    let mut pair = watched(&design);
    let flaps = PairIncident::LinkFlaps { times: 2, down: Span::millis(1), up: Span::millis(3) };
    incident(&mut pair, 10, flaps);
    let alone =
        PairIncident::FailOver { group: Some(1), to: Site::Destination, how: Failover::Planned };
    incident(&mut pair, 30, alone);
    pair.submit(at(31), write(0, 0, 8));
    pair.submit(at(31), write(REPLICA + 1, 8, 8));
    pair.submit(at(31), write(1, 16, 8));
    assert_eq!(run(&mut pair, 40), [refused(16, 31), ended(8, 32), ended(0, 32)]);
    let link: Vec<String> = notes(&pair).into_iter().filter(|note| note.contains("link")).collect();
    let expected = [
        "10.00 ms link lost",
        "11.00 ms link is back",
        "14.00 ms link lost",
        "15.00 ms link is back",
    ];
    assert_eq!(link, expected);
    let missing =
        PairIncident::FailOver { group: Some(2), to: Site::Source, how: Failover::Planned };
    let missing = pair.schedule(&Scheduled::new(at(50), Incident::Pair(missing)));
    assert_eq!(missing, Err(Misplaced::Part("replication group", 2)));
    clean(&pair);
}
