//! The effects of a crash, one scenario at a time.

use std::collections::BTreeSet;
use std::path::Path;

use brunt_units::Span;
use brunt_world::{Class, Io, Op, OpenMode, Volume};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Journal, VirtualOptions, VirtualWorld};

use super::files::{jittered, stamp, write};

/// A shrinking may be lost, but never cuts off data that became durable after it.
#[test]
fn shrinking_is_ordered_with_durable_writes() {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let path = Path::new("file");
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        write(&world, Op::Write, file, 0, 8, 1).await;
        machine.start_recording();
        write(&world, Op::Write, file, 6, 2, 50).await;
        world.volume.allocate(file, 8192).await.unwrap();
        world.volume.allocate(file, 1024).await.unwrap();
        machine.mark("shrunk", 0);
        world.volume.allocate(file, 4096).await.unwrap();
        machine.mark("grown", 0);
        write(&world, Op::WriteThrough, file, 3, 1, 100).await;
        machine.mark("written", 0);
    });
    let journal = made.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    for cut in images.cuts() {
        let passed: Vec<_> = images.marks(cut).map(|mark| mark.what).collect();
        let mut seen = BTreeSet::new();
        for sample in (0..200).map(Sample::nth) {
            let image = images.image(cut, sample);
            let file = image.find(Path::new("file")).unwrap();
            let stamps = |range: std::ops::Range<u64>| -> Vec<u64> {
                range.map(|sector| stamp(&image, file, sector)).collect()
            };
            assert_eq!(stamps(0..2), [1, 2], "below the cut nothing changes");
            seen.insert((image.length(file).unwrap(), stamps(7..8)[0]));
            if passed.contains(&"written") {
                assert_eq!(stamps(2..4), [0, 100], "shrunk, then written");
                assert_eq!(stamps(6..8), [0, 0], "what was cut off is gone");
            }
        }
        match passed.last() {
            Some(&"shrunk") => assert!(seen.is_superset(&[(1024, 0), (4096, 8)].into())),
            Some(&"written") => assert_eq!(seen, [(2048, 0), (4096, 0)].into()),
            _ => {}
        }
    }
}

#[test]
fn corners_are_what_they_say() {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let path = Path::new("d/file");
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        world.volume.allocate(file, 2048).await.unwrap();
        machine.start_recording();
        write(&world, Op::Write, file, 0, 2, 7).await;
        let x = Path::new("d/x");
        world.volume.open(x, OpenMode::CreateNew).await.unwrap();
        write(&world, Op::Write, file, 2, 2, 50).await;
    });
    let journal = made.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    let cuts = images.cuts();
    // The second write is in flight.
    let cut = cuts[cuts.len() - 2];
    let expected = [
        ([0, 0, 0, 0], false),
        ([7, 8, 50, 51], true),
        ([7, 8, 0, 0], true),
        ([0, 0, 50, 51], false),
        ([0, 0, 50, 51], false),
        ([0, 0, 50, 51], true),
        ([7, 8, 50, 51], false),
        ([0, 0, 0, 0], true),
        ([7, 0, 50, 0], true),
        ([0, 8, 0, 51], true),
    ];
    for (corner, (stamps, is_named)) in Sample::CORNERS.into_iter().zip(expected) {
        let image = images.image(cut, corner);
        let file = image.find(Path::new("d/file")).unwrap();
        let found = [0, 1, 2, 3].map(|sector| stamp(&image, file, sector));
        assert_eq!(found, stamps, "{corner:?}");
        assert_eq!(image.find(Path::new("d/x")).is_some(), is_named, "{corner:?}");
    }
}

/// The states of `d/new` over many random samples at the last cut: whether it exists, and its first
/// sector.
fn seen_at_the_end(journal: &Journal) -> BTreeSet<Option<(u64, u64)>> {
    let mut images = CrashImages::new(journal);
    let last = *images.cuts().last().unwrap();
    let samples = (0..300).map(Sample::Random);
    samples
        .map(|sample| {
            let image = images.image(last, sample);
            let file = image.find(Path::new("d/new"))?;
            Some((image.length(file)?, stamp(&image, file, 0)))
        })
        .collect()
}

/// A sync makes no promise about I/O in flight at its submission.
#[test]
fn syncs_pass_over_what_is_in_flight() {
    for waits in [true, false] {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let (world, machine) = (made.world.clone(), made.machine.clone());
        made.executor.block_on(async move {
            machine.start_recording();
            let volume = &world.volume;
            let create = volume.open(Path::new("d/new"), OpenMode::CreateNew);
            let directory = Path::new("d");
            let file = if waits {
                let file = create.await.unwrap();
                volume.sync_directory(directory).await.unwrap();
                file
            } else {
                let sync = volume.sync_directory(directory);
                let file = create.await.unwrap();
                sync.await.unwrap();
                file
            };
            let writer = world.clone();
            let write = async move { write(&writer, Op::Write, file, 0, 1, 7).await };
            let write = world.spawner.spawn(write);
            if waits {
                write.await;
                world.disk.submit(Io::sync(Class::Log, file)).await.result.unwrap();
            } else {
                // Lets the write be submitted, and submits the sync while it is in flight.
                world.sleep(Span::micros(1)).await;
                world.disk.submit(Io::sync(Class::Log, file)).await.result.unwrap();
                write.await;
            }
        });
        let journal = made.machine.stop_recording().unwrap();
        let seen = seen_at_the_end(&journal);
        let any: BTreeSet<_> = [None, Some((0, 0)), Some((512, 0)), Some((512, 7))].into();
        let certain: BTreeSet<_> = [Some((512, 7))].into();
        assert_eq!(seen, if waits { certain } else { any });
    }
}

/// A write past the end may leave its length without its bytes, and a growth may be lost.
#[test]
fn lengths_and_bytes_survive_apart() {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let path = Path::new("d/new");
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        machine.start_recording();
        write(&world, Op::Write, file, 0, 2, 7).await;
        world.volume.allocate(file, 2048).await.unwrap();
    });
    let journal = made.machine.stop_recording().unwrap();
    let lengths = [(0, 0), (512, 7), (1024, 0), (1024, 7), (2048, 0), (2048, 7)];
    assert_eq!(seen_at_the_end(&journal), lengths.map(Some).into());
}

/// A growth that becomes durable late does not cut off data written beyond it meanwhile.
#[test]
fn growing_never_shortens() {
    for through in [Op::Write, Op::WriteThrough] {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let (world, machine) = (made.world.clone(), made.machine.clone());
        made.executor.block_on(async move {
            let path = Path::new("d/new");
            let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
            machine.start_recording();
            world.volume.allocate(file, 1024).await.unwrap();
            write(&world, through, file, 0, 4, 7).await;
            let sync = Io::sync(Class::Metadata, file);
            world.disk.submit(sync).await.result.unwrap();
        });
        let journal = made.machine.stop_recording().unwrap();
        assert_eq!(seen_at_the_end(&journal), [Some((2048, 7))].into());
    }
}

/// A durable removal takes the whole file with it, and a move between directories needs both
/// synced.
#[test]
fn names_need_every_directory_they_touch() {
    for synced in [&["e"][..], &["d"], &["d", "e"]] {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let (world, machine) = (made.world.clone(), made.machine.clone());
        let removed = made.executor.block_on(async move {
            let create = |path| world.volume.open(Path::new(path), OpenMode::CreateNew);
            let (moved, removed) =
                (create("e/old").await.unwrap(), create("d/gone").await.unwrap());
            write(&world, Op::Write, moved, 0, 1, 7).await;
            let inode = machine.store().find(Path::new("d/gone")).unwrap();
            machine.start_recording();
            write(&world, Op::Write, removed, 0, 1, 8).await;
            let volume = &world.volume;
            volume.rename(Path::new("e/old"), Path::new("d/new")).await.unwrap();
            volume.remove(Path::new("d/gone")).await.unwrap();
            for directory in synced {
                volume.sync_directory(Path::new(directory)).await.unwrap();
            }
            inode
        });
        let journal = made.machine.stop_recording().unwrap();
        let is_certain = synced.len() == 2;
        let moved = Some((512, 7));
        let expected = if is_certain { vec![moved] } else { vec![None, moved] };
        assert_eq!(seen_at_the_end(&journal), expected.into_iter().collect());
        let mut images = CrashImages::new(&journal);
        let last = *images.cuts().last().unwrap();
        assert_eq!(images.pending(last) == 0, is_certain);
        for sample in (0..50).map(Sample::nth) {
            let image = images.image(last, sample);
            let is_named = image.find(Path::new("d/gone")).is_some();
            assert!(!(is_named && synced.contains(&"d")), "a durable removal");
            assert_eq!(image.length(removed).is_some(), is_named);
        }
    }
}

/// An acknowledged record must be found again. `through` says whether writes are write-through.
fn lost_records(through: bool) -> usize {
    let mut made = VirtualWorld::new(jittered(9));
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let path = Path::new("log");
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        world.volume.allocate(file, 16 * 512).await.unwrap();
        machine.start_recording();
        let op = if through { Op::WriteThrough } else { Op::Write };
        for record in 0..16 {
            write(&world, op, file, record, 1, record + 1).await;
            machine.mark("acknowledged", record);
            world.sleep(Span::micros(10)).await;
        }
    });
    let journal = made.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    let mut lost = 0;
    for cut in images.cuts() {
        for sample in (0..30).map(Sample::nth) {
            let image = images.image(cut, sample);
            let file = image.find(Path::new("log")).unwrap();
            let is_lost = |record: u64| stamp(&image, file, record) != record + 1;
            lost += usize::from(journal.marks(cut).any(|mark| is_lost(mark.number)));
        }
    }
    lost
}

#[test]
fn a_careful_log_loses_nothing_and_a_careless_one_is_caught() {
    assert_eq!(lost_records(true), 0);
    assert!(lost_records(false) > 100);
}

/// Replacing a file by a new one is safe only if the new file is synced before the rename, and the
/// directory after it.
fn broken_replacements(syncs_file: bool, syncs_directory: bool) -> (usize, usize) {
    let mut made = VirtualWorld::new(jittered(4));
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let volume: &dyn Volume = &*world.volume;
        let old = volume.open(Path::new("d/now"), OpenMode::CreateNew).await.unwrap();
        write(&world, Op::Write, old, 0, 2, 10).await;
        machine.start_recording();
        let new = volume.open(Path::new("d/new"), OpenMode::CreateNew).await.unwrap();
        write(&world, Op::Write, new, 0, 2, 20).await;
        if syncs_file {
            world.disk.submit(Io::sync(Class::Metadata, new)).await.result.unwrap();
        }
        volume.rename(Path::new("d/new"), Path::new("d/now")).await.unwrap();
        if syncs_directory {
            volume.sync_directory(Path::new("d")).await.unwrap();
        }
        machine.mark("replaced", 0);
    });
    let journal = made.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    let (mut torn, mut stale) = (0, 0);
    for cut in images.cuts() {
        for sample in (0..50).map(Sample::nth) {
            let image = images.image(cut, sample);
            let file = image.find(Path::new("d/now")).expect("never without a name");
            let found = [stamp(&image, file, 0), stamp(&image, file, 1)];
            torn += usize::from(![[10, 11], [20, 21]].contains(&found));
            stale += usize::from(journal.marks(cut).count() > 0 && found != [20, 21]);
        }
    }
    (torn, stale)
}

#[test]
fn replacing_a_file_needs_both_syncs() {
    assert_eq!(broken_replacements(true, true), (0, 0));
    let (torn, _) = broken_replacements(false, true);
    assert!(torn > 0, "a name without its bytes was not found");
    let (torn, stale) = broken_replacements(true, false);
    assert_eq!(torn, 0);
    assert!(stale > 0, "a lost rename was not found");
}
