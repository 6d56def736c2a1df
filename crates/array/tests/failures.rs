//! Drives that fail while an array works: what is noted, what is answered, what is lost.

use brunt_array::drive::{Order, library};
use brunt_array::{
    Array, ArrayDesign, Extent, Finished, HostIo, Incident, Level, NoteKind, Priority, ScanDesign,
    Verb,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

/// A design whose groups use so little of their drives that a rebuild takes seconds.
fn small(drives: u16, spares: u16, level: Level) -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").unwrap();
    let mut design = ArrayDesign::one_group(&model, drives, level);
    design.drives = vec![model; usize::from(drives + spares)];
    design.spares = (drives..drives + spares).collect();
    design.groups[0].drive_size = Some(ByteSize::mib(256));
    design.groups[0].repair.priority = Priority::Highest;
    design
}

struct Run {
    notes: Vec<(Time, NoteKind)>,
    done: Vec<Finished>,
}

impl Run {
    fn failed(&self) -> usize {
        self.done.iter().filter(|done| done.result.is_err()).count()
    }

    fn texts(&self) -> Vec<String> {
        self.notes
            .iter()
            .map(|(_, what)| what.to_string())
            .collect()
    }
}

/// Random reads and writes, eight at once, for `seconds`, with incidents at milliseconds.
fn run(design: &ArrayDesign, seconds: u64, incidents: &[(u64, Incident)]) -> Run {
    let streams = Streams::new(5);
    let mut array = Array::new(design, streams).unwrap();
    for (at, incident) in incidents {
        array.schedule_incident(Time(Span::millis(*at).0), *incident);
    }
    let mut stream = streams.named("load");
    let sectors = array.lun_size(0).get().div_euclid(512);
    let mut ask = |array: &mut Array, now, tag| {
        let verb = if stream.percent(50) {
            Verb::Read
        } else {
            Verb::Write
        };
        let start = stream.below(sectors.div_euclid(16)) * 16;
        let extent = Extent::new(start, 16);
        array.submit(
            now,
            HostIo {
                lun: 0,
                verb,
                extent,
                tag,
            },
        );
    };
    for tag in 0..8 {
        ask(&mut array, Time::ZERO, tag);
    }
    let (end, mut done) = (Time(Span::seconds(seconds).0), Vec::new());
    while let Some(now) = array.next_at().filter(|at| *at <= end) {
        array.advance(now);
        let finished: Vec<Finished> = array.finished().collect();
        for one in finished {
            assert_eq!(one.breakdown.total(), one.at - one.submitted_at, "{one:?}");
            done.push(one);
            if one.result.is_ok() || one.at > one.submitted_at {
                ask(&mut array, now, one.tag);
            }
        }
    }
    Run {
        notes: array
            .notes()
            .iter()
            .map(|note| (note.at, note.what.clone()))
            .collect(),
        done,
    }
}

#[test]
fn a_spare_stands_in_and_gives_back() {
    for level in [Level::Raid10, Level::Raid5, Level::Raid6] {
        let design = small(6, 1, level);
        let run = run(
            &design,
            120,
            &[
                (500, Incident::DriveFails(2)),
                (40_000, Incident::DriveReturns(2)),
            ],
        );
        assert_eq!(run.failed(), 0, "{level:?}");
        let texts = run.texts();
        assert_eq!(texts[0], "drive 2 failed");
        assert_eq!(texts[1], "group: rebuilding drive 2 onto drive 6");
        assert!(
            texts[2].starts_with("group: drive 2 is rebuilt, after"),
            "{texts:?}"
        );
        assert_eq!(texts[3], "drive 2 is back");
        assert_eq!(texts[4], "group: copying to drive 2");
        assert!(
            texts[5].starts_with("group: copied to drive 2, after"),
            "{texts:?}"
        );
        assert_eq!(texts.len(), 6);
    }
}

#[test]
fn without_a_spare_it_stays_degraded_until_the_drive_is_replaced() {
    let design = small(5, 0, Level::Raid5);
    let run = run(
        &design,
        60,
        &[
            (500, Incident::DriveFails(0)),
            (5_000, Incident::DriveReturns(0)),
        ],
    );
    assert_eq!(run.failed(), 0);
    let texts = run.texts();
    assert_eq!(
        texts[1],
        "group: nothing to rebuild drive 0 onto; it stays degraded"
    );
    assert_eq!(texts[3], "group: rebuilding drive 0 onto drive 0");
    assert!(
        texts[4].starts_with("group: drive 0 is rebuilt"),
        "{texts:?}"
    );
}

#[test]
fn a_second_failure_during_rebuild_is_a_result() {
    let design = small(5, 1, Level::Raid5);
    let run = run(
        &design,
        20,
        &[
            (500, Incident::DriveFails(0)),
            (1_000, Incident::DriveFails(3)),
        ],
    );
    let lost = run.notes.iter().find(|(_, what)| what.is_loss()).unwrap();
    assert_eq!(lost.0, Time(Span::millis(1000).0));
    assert_eq!(
        lost.1.to_string(),
        "group lost: second failure during rebuild"
    );
    assert!(
        run.failed() > 0,
        "what is lost is not answered as if it were there"
    );
    let before = run.done.iter().filter(|done| done.at < lost.0);
    assert!(before.clone().count() > 100);
    assert!(before.clone().all(|done| done.result.is_ok()));
}

#[test]
fn raid_6_survives_the_second_and_not_the_third() {
    let design = small(6, 2, Level::Raid6);
    let two = [
        (500, Incident::DriveFails(0)),
        (1_000, Incident::DriveFails(3)),
    ];
    let survived = run(&design, 60, &two);
    assert_eq!(survived.failed(), 0);
    assert!(!survived.notes.iter().any(|(_, what)| what.is_loss()));
    let rebuilt = survived
        .texts()
        .iter()
        .filter(|text| text.contains("is rebuilt"))
        .count();
    assert_eq!(rebuilt, 2);
    let three = [two[0], two[1], (1_500, Incident::DriveFails(5))];
    let lost = run(&design, 20, &three);
    assert!(
        lost.texts()
            .contains(&"group lost: third failure during rebuild".to_owned())
    );
}

#[test]
fn a_spare_that_fails_is_followed_by_the_next() {
    let design = small(4, 2, Level::Raid10);
    let run = run(
        &design,
        40,
        &[
            (500, Incident::DriveFails(1)),
            (1_500, Incident::DriveFails(4)),
        ],
    );
    assert_eq!(run.failed(), 0);
    let texts = run.texts();
    assert_eq!(texts[3], "group: rebuilding drive 1 onto drive 5");
    assert!(
        texts[4].starts_with("group: drive 1 is rebuilt"),
        "{texts:?}"
    );
}

/// The texts of notes without the times in them.
fn without_times(texts: Vec<String>) -> Vec<String> {
    let cut = |text: &String| text.split(", after").next().unwrap_or(text).to_owned();
    texts.iter().map(cut).collect()
}

#[test]
fn a_mirror_pair_is_lost_with_both_and_two_pairs_lose_one_each() {
    let design = small(6, 1, Level::Raid10);
    let first = (500, Incident::DriveFails(0));
    let other = run(&design, 60, &[first, (1_000, Incident::DriveFails(2))]);
    assert_eq!(other.failed(), 0);
    assert_eq!(
        without_times(other.texts()),
        [
            "drive 0 failed",
            "group: rebuilding drive 0 onto drive 6",
            "drive 2 failed",
            "group: nothing to rebuild drive 2 onto; it stays degraded",
            "group: drive 0 is rebuilt",
        ]
    );
    let same = run(&design, 60, &[first, (1_000, Incident::DriveFails(1))]);
    assert!(same.failed() > 0);
    let lost = same.notes.iter().find(|(_, what)| what.is_loss()).unwrap();
    assert_eq!(
        lost.1.to_string(),
        "group lost: second failure during rebuild (33.333 % of its stripes)"
    );
    let mut after = same.done.iter().filter(|done| done.at > lost.0);
    assert!(
        after.any(|done| done.result.is_ok()),
        "the other pairs go on"
    );
}

#[test]
fn a_spare_that_fails_while_it_is_copied_back_is_rebuilt_from_the_others() {
    for level in [Level::Raid10, Level::Raid5] {
        let design = small(6, 1, level);
        let run = run(
            &design,
            200,
            &[
                (500, Incident::DriveFails(2)),
                (40_000, Incident::DriveReturns(2)),
                (40_500, Incident::DriveFails(6)),
                (80_000, Incident::DriveReturns(6)),
                (81_000, Incident::DriveFails(2)),
                (120_000, Incident::DriveReturns(2)),
                // The spare is free again by then, and takes the next one.
                (160_000, Incident::DriveFails(4)),
            ],
        );
        assert_eq!(run.failed(), 0, "{level:?}");
        assert_eq!(
            without_times(run.texts()),
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
            ]
        );
    }
}

#[test]
fn a_drive_that_returns_while_spares_change_gets_its_part_back() {
    let design = small(5, 2, Level::Raid5);
    let run = run(
        &design,
        120,
        &[
            (500, Incident::DriveFails(1)),
            (40_000, Incident::DriveFails(5)),
            (40_500, Incident::DriveReturns(1)),
        ],
    );
    assert_eq!(run.failed(), 0);
    assert_eq!(
        without_times(run.texts())[3..],
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

/// A pool of little drives: 8 pieces of 16 MiB on each.
fn pool(drives: u16) -> ArrayDesign {
    let level = Level::Pool {
        piece: ByteSize::mib(16),
        preserved: None,
    };
    let mut design = small(drives, 0, level);
    design.groups[0].drive_size = Some(ByteSize::mib(128));
    design.groups[0].strip = ByteSize::kib(128);
    design
}

#[test]
fn a_pool_rebuilds_onto_all_and_moves_back() {
    let run = run(
        &pool(12),
        60,
        &[
            (500, Incident::DriveFails(3)),
            (20_000, Incident::DriveReturns(3)),
        ],
    );
    assert_eq!(run.failed(), 0);
    let texts = run.texts();
    assert_eq!(texts[1], "group: rebuilding drive 3 onto all others");
    assert!(
        texts[2].starts_with("group: drive 3 is rebuilt"),
        "{texts:?}"
    );
    assert_eq!(texts[4], "group: copying to drive 3");
    assert!(
        texts[5].starts_with("group: copied to drive 3"),
        "{texts:?}"
    );
}

#[test]
fn a_pool_survives_one_failure_after_another_while_it_has_room() {
    // Two drives' worth are kept free, and two more losses are survived without room.
    let fails = |at: u64, drive| (at * 1000, Incident::DriveFails(drive));
    let four = [fails(1, 0), fails(15, 1), fails(30, 2), fails(45, 3)];
    let survived = run(&pool(13), 60, &four);
    assert_eq!(survived.failed(), 0, "{:?}", survived.texts());
    assert!(
        !survived.notes.iter().any(|(_, what)| what.is_loss()),
        "{:?}",
        survived.texts()
    );
    assert!(
        survived
            .texts()
            .iter()
            .any(|text| text.contains("stays degraded"))
    );
    let at_once = [fails(1, 0), fails(1, 1), fails(1, 2)];
    let lost = run(&pool(13), 20, &at_once);
    let loss = lost
        .texts()
        .into_iter()
        .find(|text| text.contains("lost: third failure"))
        .unwrap();
    assert!(
        loss.starts_with("group lost: third failure during rebuild ("),
        "{loss}"
    );
}

#[test]
fn a_media_scan_reads_every_drive_at_its_pace_and_passes_over_failed_ones() {
    let mut design = small(4, 0, Level::Raid10);
    design.scan = Some(ScanDesign {
        unit: ByteSize::kib(256),
        pause: Span::millis(50),
    });
    let mut array = Array::new(&design, Streams::new(1)).unwrap();
    array.schedule_incident(Time(Span::seconds(10).0), Incident::DriveFails(3));
    array.advance(Time(Span::seconds(20).0));
    // 512 sectors take a turn or two: at a pause of 50 ms, between 18 and 20 reads a second.
    let reads: Vec<u64> = array
        .drive_stats()
        .iter()
        .map(|drive| drive.reads)
        .collect();
    for count in &reads[..3] {
        assert!((360..400).contains(count), "{reads:?}");
    }
    assert!((180..200).contains(&reads[3]), "{reads:?}");
    assert_eq!(
        array.scanned(),
        ByteSize::kib(256 * reads.iter().sum::<u64>())
    );
}

#[test]
fn a_pool_that_grows_moves_pieces_to_the_new_drive() {
    let mut design = pool(12);
    design.drives.push(design.drives[0].clone());
    let run = run(&design, 60, &[(500, Incident::PoolGrows(0, 12))]);
    assert_eq!(run.failed(), 0);
    let texts = run.texts();
    // Its eight slots are not enough for a chunk.
    assert_eq!(texts[0], "group: drive 12 has joined");
    assert_eq!(texts[1], "group: copying to drive 12");
    assert!(
        texts[2].starts_with("group: copied to drive 12"),
        "{texts:?}"
    );
}

#[test]
fn a_lun_grows_into_what_joined_and_no_further() {
    let mut design = pool(12);
    design.drives.extend(vec![design.drives[0].clone(); 3]);
    let mut array = Array::new(&design, Streams::new(5)).unwrap();
    let before = array.lun_size(0);
    let larger = |mib: u64| ByteSize::bytes(before.get() + ByteSize::mib(mib).get());
    let incidents = [
        Incident::LunGrows(0, ByteSize::bytes(0)),
        Incident::PoolGrows(0, 3),
        Incident::PoolGrows(0, 12),
        Incident::PoolGrows(0, 13),
        Incident::LunGrows(0, larger(1024)),
        Incident::LunGrows(0, larger(64)),
        Incident::PoolGrows(0, 14),
        Incident::LunGrows(0, ByteSize::bytes(0)),
    ];
    for (second, incident) in (1..).zip(incidents) {
        array.schedule_incident(Time(Span::seconds(second * 100).0), incident);
    }
    array.advance(Time(Span::seconds(550).0));
    let end = before.get().div_euclid(512);
    let ask = |array: &mut Array, start| {
        let extent = Extent::new(start, 16);
        let (now, verb) = (array.now(), Verb::Write);
        array.submit(
            now,
            HostIo {
                lun: 0,
                verb,
                extent,
                tag: 0,
            },
        );
        array.advance(now + Span::seconds(1));
        let done: Vec<Finished> = array.finished().collect();
        done[0].result.is_ok()
    };
    assert!(!ask(&mut array, end), "it has not grown yet");
    array.advance(Time(Span::seconds(650).0));
    assert!(ask(&mut array, end));
    assert!(!ask(&mut array, end + 64 * 2048));
    array.advance(Time(Span::seconds(1000).0));
    let texts = without_times(
        array
            .notes()
            .iter()
            .map(|note| note.what.to_string())
            .collect(),
    );
    let moves = |text: &&String| !text.contains("cop");
    let texts: Vec<&String> = texts.iter().filter(moves).collect();
    assert_eq!(
        texts,
        [
            &format!("\"lun\" does not grow: it has {before}, and nothing is free after it"),
            "group: drive 3 cannot join: the drive is in use",
            // Sixteen of 24 free slots are the reserve, and a chunk takes ten.
            "group: drive 12 has joined",
            "group: drive 13 has joined, 128 MiB more for LUNs to grow into",
            &format!(
                "\"lun\" does not grow: it has {before}, and there is room for {}",
                larger(128)
            ),
            &format!("\"lun\" has grown to {}", larger(64)),
            "group: drive 14 has joined, 128 MiB more for LUNs to grow into",
            &format!("\"lun\" has grown to {}", larger(256)),
        ]
    );
    assert_eq!(array.lun_size(0), larger(256));
}

#[test]
fn a_pool_that_loses_drives_while_it_rebuilds_and_moves_says_when_it_has_done() {
    let design = pool(14);
    let run = run(
        &design,
        400,
        &[
            (500, Incident::DriveFails(3)),
            // A drive that pieces of the first are being rebuilt onto.
            (1_500, Incident::DriveFails(7)),
            (100_000, Incident::DriveReturns(3)),
            // A drive that pieces are being moved from.
            (102_000, Incident::DriveFails(9)),
        ],
    );
    assert_eq!(run.failed(), 0);
    let texts = without_times(run.texts());
    for text in [
        "group: drive 3 is rebuilt",
        "group: drive 7 is rebuilt",
        "group: drive 9 is rebuilt",
        "group: copied to drive 3",
    ] {
        let times = texts.iter().filter(|one| *one == text).count();
        assert_eq!(times, 1, "{text}: {texts:?}");
    }
    let at = |text: &str| texts.iter().position(|one| one == text);
    assert!(at("group: drive 9 is rebuilt") > at("group: rebuilding drive 9 onto all others"));
}
