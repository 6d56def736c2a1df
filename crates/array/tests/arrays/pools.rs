//! Disk pools: drives that fail, return and join while a pool works, and LUNs that grow into what
//! joined.

use brunt_array::{Array, ArrayDesign, Extent, Incident, Level, Verb};
use brunt_units::{ByteSize, Span};
use brunt_world::random::Streams;

use super::hosts::{answers, ask, run, second, small, survived, without_times};

/// A pool of small drives: 8 pieces of 16 MiB on each.
pub(crate) fn pool(drives: u16) -> ArrayDesign {
    let level = Level::Pool { piece: ByteSize::mib(16), preserved: None };
    let mut design = small(drives, 0, level);
    design.groups[0].drive_size = Some(ByteSize::mib(128));
    design.groups[0].strip = ByteSize::kib(128);
    design
}

#[test]
fn a_pool_rebuilds_onto_all_and_moves_back() {
    let incidents = [(500, Incident::DriveFails(3)), (20_000, Incident::DriveReturns(3))];
    assert_eq!(
        survived(&pool(12), 60, &incidents),
        [
            "drive 3 failed",
            "group: rebuilding drive 3 onto all others",
            "group: drive 3 is rebuilt",
            "drive 3 is back",
            "group: copying to drive 3",
            "group: copied to drive 3",
        ]
    );
}

#[test]
fn a_pool_survives_one_failure_after_another_while_it_has_room() {
    // Two drives' worth are kept free; two more losses are survived without space to rebuild.
    let fails = |at: u64, drive| (at * 1000, Incident::DriveFails(drive));
    let four = [fails(1, 0), fails(15, 1), fails(30, 2), fails(45, 3)];
    let texts = survived(&pool(13), 60, &four);
    let degraded = texts.iter().any(|text| text.contains("stays degraded"));
    assert!(degraded, "{texts:?}");
    let at_once = [fails(1, 0), fails(1, 1), fails(1, 2)];
    let (_, lost) = run(&pool(13), 20, &at_once).loss().unwrap();
    let words = "group lost: third failure during rebuild (";
    assert!(lost.starts_with(words), "{lost}");
}

#[test]
fn a_pool_that_grows_moves_pieces_to_the_new_drive() {
    let mut design = pool(12);
    design.drives.push(design.drives[0].clone());
    // Its eight slots are not enough for a chunk.
    assert_eq!(
        survived(&design, 60, &[(500, Incident::PoolGrows(0, 12))]),
        ["group: drive 12 has joined", "group: copying to drive 12", "group: copied to drive 12",]
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
    for (number, incident) in (1..).zip(incidents) {
        array.schedule_incident(second(number * 100), incident).unwrap();
    }
    array.advance(second(550));
    let end = before.get().div_euclid(512);
    let writes = |array: &mut Array, start| {
        ask(array, Verb::Write, Extent::new(start, 16), 0);
        array.advance(array.now() + Span::seconds(1));
        answers(array)[0].result.is_ok()
    };
    assert!(!writes(&mut array, end), "it has not grown yet");
    array.advance(second(650));
    assert!(writes(&mut array, end));
    assert!(!writes(&mut array, end + 64 * 2048));
    array.advance(second(1000));
    let notes = array.notes().iter().map(|note| without_times(&note.what));
    let texts: Vec<String> = notes.filter(|text| !text.contains("cop")).collect();
    assert_eq!(
        texts,
        [
            &format!("\"lun\" does not grow: it has {before}, and nothing is free after it"),
            "group: drive 3 cannot join: the drive is in use",
            // 16 of the 24 free slots are the reserve, and a chunk takes ten.
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
    let incidents = [
        (500, Incident::DriveFails(3)),
        // A drive that is the target of rebuilds from the first.
        (1_500, Incident::DriveFails(7)),
        (100_000, Incident::DriveReturns(3)),
        // A drive that pieces are moving away from.
        (102_000, Incident::DriveFails(9)),
    ];
    let texts = survived(&pool(14), 400, &incidents);
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
