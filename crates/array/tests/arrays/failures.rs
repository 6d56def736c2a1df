//! Drives of RAID groups that fail under load: event log, answers, and losses.

use brunt_array::drive::Order;
use brunt_array::{Array, Incident, Level, NoteKind, Priority, ScanDesign};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

use super::hosts::{run, second, small, survived};

#[test]
fn a_spare_stands_in_and_gives_back() {
    for level in [Level::Raid10, Level::Raid5, Level::Raid6] {
        let incidents = [(500, Incident::DriveFails(2)), (40_000, Incident::DriveReturns(2))];
        assert_eq!(
            survived(&small(6, 1, level), 120, &incidents),
            [
                "drive 2 failed",
                "group: rebuilding drive 2 onto drive 6",
                "group: drive 2 is rebuilt",
                "drive 2 is back",
                "group: copying to drive 2",
                "group: copied to drive 2",
            ],
            "{level:?}"
        );
    }
}

#[test]
fn without_a_spare_it_stays_degraded_until_the_drive_is_replaced() {
    let incidents = [(500, Incident::DriveFails(0)), (5_000, Incident::DriveReturns(0))];
    assert_eq!(
        survived(&small(5, 0, Level::Raid5), 60, &incidents),
        [
            "drive 0 failed",
            "group: nothing to rebuild drive 0 onto; it stays degraded",
            "drive 0 is back",
            "group: rebuilding drive 0 onto drive 0",
            "group: drive 0 is rebuilt",
        ]
    );
}

#[test]
fn a_second_failure_during_rebuild_is_a_result() {
    let incidents = [(500, Incident::DriveFails(0)), (1_000, Incident::DriveFails(3))];
    let run = run(&small(5, 1, Level::Raid5), 20, &incidents);
    let lost = Time(Span::millis(1000).0);
    let words = "group lost: second failure during rebuild".to_owned();
    assert_eq!(run.loss(), Some((lost, words)));
    assert!(run.failed() > 0, "what is lost is not answered as if it were there");
    let before = run.done.iter().filter(|done| done.at < lost);
    assert!(before.clone().count() > 100);
    assert!(before.clone().all(|done| done.result.is_ok()));
}

#[test]
fn raid_6_survives_the_second_and_not_the_third() {
    let design = small(6, 2, Level::Raid6);
    let two = [(500, Incident::DriveFails(0)), (1_000, Incident::DriveFails(3))];
    let texts = survived(&design, 60, &two);
    let rebuilt = texts.iter().filter(|text| text.contains("is rebuilt"));
    assert_eq!(rebuilt.count(), 2);
    let three = [two[0].clone(), two[1].clone(), (1_500, Incident::DriveFails(5))];
    let (_, lost) = run(&design, 20, &three).loss().unwrap();
    assert_eq!(lost, "group lost: third failure during rebuild");
}

#[test]
fn a_spare_that_fails_is_followed_by_the_next() {
    let incidents = [(500, Incident::DriveFails(1)), (1_500, Incident::DriveFails(4))];
    assert_eq!(
        survived(&small(4, 2, Level::Raid10), 40, &incidents),
        [
            "drive 1 failed",
            "group: rebuilding drive 1 onto drive 4",
            "drive 4 failed",
            "group: rebuilding drive 1 onto drive 5",
            "group: drive 1 is rebuilt",
        ]
    );
}

#[test]
fn a_mirror_pair_is_lost_with_both_and_two_pairs_lose_one_each() {
    let design = small(6, 1, Level::Raid10);
    let first = (500, Incident::DriveFails(0));
    assert_eq!(
        survived(&design, 60, &[first.clone(), (1_000, Incident::DriveFails(2))]),
        [
            "drive 0 failed",
            "group: rebuilding drive 0 onto drive 6",
            "drive 2 failed",
            "group: nothing to rebuild drive 2 onto; it stays degraded",
            "group: drive 0 is rebuilt",
        ]
    );
    let same = run(&design, 60, &[first.clone(), (1_000, Incident::DriveFails(1))]);
    assert!(same.failed() > 0);
    let (at, lost) = same.loss().unwrap();
    let words = "group lost: second failure during rebuild (33.333 % of its stripes)";
    assert_eq!(lost, words);
    let mut after = same.done.iter().filter(|done| done.at > at);
    assert!(after.any(|done| done.result.is_ok()), "the other pairs go on");
}

#[test]
fn a_spare_that_fails_while_it_is_copied_back_is_rebuilt_from_the_others() {
    for level in [Level::Raid10, Level::Raid5] {
        let incidents = [
            (500, Incident::DriveFails(2)),
            (40_000, Incident::DriveReturns(2)),
            (40_500, Incident::DriveFails(6)),
            (80_000, Incident::DriveReturns(6)),
            (81_000, Incident::DriveFails(2)),
            (120_000, Incident::DriveReturns(2)),
            // The spare is free again by then, and replaces the next one.
            (160_000, Incident::DriveFails(4)),
        ];
        assert_eq!(
            survived(&small(6, 1, level), 200, &incidents),
            [
                "drive 2 failed",
                "group: rebuilding drive 2 onto drive 6",
                "group: drive 2 is rebuilt",
                "drive 2 is back",
                "group: copying to drive 2",
                "drive 6 failed",
                "group: rebuilding drive 6 onto drive 2",
                "group: drive 6 is rebuilt",
                "drive 6 is back",
                "drive 2 failed",
                "group: rebuilding drive 2 onto drive 6",
                "group: drive 2 is rebuilt",
                "drive 2 is back",
                "group: copying to drive 2",
                "group: copied to drive 2",
                "drive 4 failed",
                "group: rebuilding drive 4 onto drive 6",
                "group: drive 4 is rebuilt",
            ],
            "{level:?}"
        );
    }
}

#[test]
fn a_drive_that_returns_while_spares_change_gets_its_part_back() {
    let incidents = [
        (500, Incident::DriveFails(1)),
        (40_000, Incident::DriveFails(5)),
        (40_500, Incident::DriveReturns(1)),
    ];
    assert_eq!(
        survived(&small(5, 2, Level::Raid5), 120, &incidents)[3..],
        [
            "drive 5 failed",
            "group: rebuilding drive 5 onto drive 6",
            "drive 1 is back",
            "group: drive 5 is rebuilt",
            "group: copying to drive 1",
            "group: copied to drive 1",
        ]
    );
}

#[test]
fn a_slow_drive_slows_its_readers() {
    let mut design = small(1, 0, Level::Raid0);
    design.policy.order = Order::Fcfs;
    let times = |incidents: &[(u64, Incident)]| run(&design, 20, incidents).done.len() as f64;
    let ratio = times(&[]) / times(&[(0, Incident::DriveSlows(0, 4.0))]);
    assert!((ratio - 4.0).abs() < 0.2, "{ratio}");
}

#[test]
fn a_rebuild_with_high_priority_ends_sooner_and_hurts_more() {
    let took = |priority| {
        let mut design = small(5, 1, Level::Raid5);
        design.groups[0].repair.priority = priority;
        let run = run(&design, 120, &[(500, Incident::DriveFails(0))]);
        let took = run.notes.iter().find_map(|(_, what)| match what {
            NoteKind::RebuildEnded { took, .. } => Some(*took),
            _ => None,
        });
        (took.unwrap(), run.done.len())
    };
    let (fast, low) = (took(Priority::Highest), took(Priority::Low));
    assert!(low.0.0 > 2 * fast.0.0, "{low:?} {fast:?}");
    assert!(low.1 > fast.1);
}

#[test]
fn a_media_scan_reads_every_drive_at_its_pace_and_passes_over_failed_ones() {
    let mut design = small(4, 0, Level::Raid10);
    design.scan = Some(ScanDesign { unit: ByteSize::kib(256), pause: Span::millis(50) });
    let mut array = Array::new(&design, Streams::new(1)).unwrap();
    array.schedule_incident(second(10), Incident::DriveFails(3)).unwrap();
    array.advance(second(20));
    // 512 sectors take a turn or two: with pauses of 50 ms, 18 to 20 reads per second.
    let reads: Vec<u64> = array.drive_stats().iter().map(|drive| drive.reads).collect();
    for count in &reads[..3] {
        assert!((360..400).contains(count), "{reads:?}");
    }
    assert!((180..200).contains(&reads[3]), "{reads:?}");
    assert_eq!(array.scanned(), ByteSize::kib(256 * reads.iter().sum::<u64>()));
}

#[test]
fn a_spare_whose_rebuild_became_impossible_is_a_spare_again() {
    let incidents = [
        (500, Incident::DriveFails(0)),
        (1_000, Incident::DriveFails(1)),
        (5_000, Incident::DriveFails(2)),
    ];
    let texts = run(&small(6, 1, Level::Raid10), 60, &incidents).texts();
    let wanted = "rebuilding drive 2 onto drive 6";
    assert!(texts.iter().any(|text| text.contains(wanted)), "{texts:?}");
}

#[test]
fn a_rebuild_comes_before_a_copyback_under_way() {
    let incidents = [
        (500, Incident::DriveFails(1)),
        (40_000, Incident::DriveReturns(1)),
        (40_500, Incident::DriveFails(3)),
    ];
    let texts = survived(&small(5, 2, Level::Raid5), 200, &incidents);
    let place = |wanted: &str| texts.iter().position(|text| text.contains(wanted));
    let (rebuilt, copied) = (place("drive 3 is rebuilt"), place("copied to drive 1"));
    assert!(rebuilt.is_some() && rebuilt < copied, "{texts:?}");
}
