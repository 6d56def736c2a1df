//! Random work, every cut, many samples.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brunt_units::Span;
use brunt_world::random::Stream;
use brunt_world::{Class, FileId, Io, Op, OpenMode, World};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Journal, VirtualWorld};

use super::files::{jittered, stamp, write};
use super::oracle::{Names, Oracle, names};

const SECTORS: u64 = 12;
const SAMPLES: u64 = 800;

fn name(stream: &mut Stream) -> PathBuf {
    let choice = usize::try_from(stream.below(4)).unwrap();
    PathBuf::from(["d/one", "d/two", "e/one", "e/two"][choice])
}

/// One of several tasks that write and rename at random; impossible operations are included.
async fn worker(world: World, file: FileId, number: u64, steps: u64) {
    let mut stream = world.random.named(&format!("worker/{number}"));
    for step in 0..steps {
        let volume = &world.volume;
        match stream.below(12) {
            0..=3 => {
                let op = if stream.percent(60) { Op::Write } else { Op::WriteThrough };
                let (sector, count) = (stream.below(SECTORS), 1 + stream.below(4));
                let (first, count) = (1000 * (number * 100 + step) + 1, usize::try_from(count));
                write(&world, op, file, sector, count.unwrap(), first).await;
            }
            4 => {
                let sync = Io::sync(Class::Database, file);
                world.disk.submit(sync).await.result.unwrap();
            }
            5 | 6 => drop(volume.open(&name(&mut stream), OpenMode::CreateNew).await),
            7 | 8 => drop(volume.rename(&name(&mut stream), &name(&mut stream)).await),
            9 => drop(volume.remove(&name(&mut stream)).await),
            10 => {
                let directory = ["d", "e"][usize::from(stream.percent(50))];
                volume.sync_directory(Path::new(directory)).await.unwrap();
            }
            // Only one task does this, beyond all writes, so that nothing ever shrinks.
            _ if number == 0 => {
                let length = (SECTORS + 4 + step) * 512;
                volume.allocate(file, length).await.unwrap();
            }
            _ => world.sleep(Span::micros(70)).await,
        }
    }
}

fn record(seed: u64, workers: u64, steps: u64) -> (Journal, VirtualWorld) {
    let mut made = VirtualWorld::new(jittered(seed));
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let path = Path::new("d/file");
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        write(&world, Op::Write, file, 0, 4, 1).await;
        machine.start_recording();
        let tasks: Vec<_> = (0..workers)
            .map(|number| worker(world.clone(), file, number, steps))
            .map(|worker| world.spawner.spawn(worker))
            .collect();
        for task in tasks {
            task.await;
        }
    });
    (made.machine.stop_recording().unwrap(), made)
}

#[test]
fn every_image_is_legal() {
    let (mut sectors_seen, mut names_checked) = (0, 0);
    for seed in 0..12 {
        let (journal, _) = record(seed, 3, 12);
        let mut images = CrashImages::new(&journal);
        for cut in images.cuts() {
            let oracle = Oracle::new(&journal, cut);
            let legal_names = oracle.names();
            let mut legal = BTreeMap::new();
            for sample in (0..40).map(Sample::nth) {
                let image = images.image(cut, sample);
                let context = format!("seed {seed}, {cut:?}, {sample:?}");
                if let Some(legal) = &legal_names {
                    assert!(legal.contains(&names(&image)), "names: {context}");
                    names_checked += 1;
                }
                for (_, file) in image.names() {
                    let length = image.length(file).unwrap();
                    let (least, most) = oracle.lengths(file);
                    assert!((least..=most).contains(&length), "length: {context}");
                    for sector in 0..length.div_euclid(512) {
                        let key = (file, sector);
                        let legal = legal.entry(key).or_insert_with(|| oracle.sector(file, sector));
                        let found = stamp(&image, file, sector);
                        assert!(legal.contains(&found), "sector {sector}: {context}");
                        sectors_seen += 1;
                    }
                }
            }
        }
    }
    assert!(sectors_seen > 100_000, "{sectors_seen} sectors");
    assert!(names_checked > 10_000, "{names_checked} maps of names");
}

/// Every legal state can be reached: with enough samples, every value of every sector and every map
/// of names occurs.
#[test]
fn every_legal_state_is_reached() {
    let mut missed = Vec::new();
    for seed in 0..6 {
        let (journal, _) = record(seed, 3, 8);
        let file = journal.base().find(Path::new("d/file")).unwrap();
        let mut images = CrashImages::new(&journal);
        for cut in images.cuts() {
            let oracle = Oracle::new(&journal, cut);
            let (mut seen_names, mut seen_stamps) = (BTreeSet::new(), BTreeSet::new());
            for sample in (0..SAMPLES).map(Sample::nth) {
                let image = images.image(cut, sample);
                seen_names.insert(names(&image));
                let sectors = image.length(file).unwrap().div_euclid(512).min(SECTORS);
                seen_stamps.extend((0..sectors).map(|at| (at, stamp(&image, file, at))));
            }
            let unseen = |legal: &Names| !seen_names.contains(legal);
            if oracle.names().is_some_and(|legal| legal.iter().any(unseen)) {
                missed.push((seed, cut, None));
            }
            for at in
                (0..SECTORS).filter(|at| seen_stamps.range((*at, 0)..(*at + 1, 0)).count() > 0)
            {
                let legal = oracle.sector(file, at);
                if legal.iter().any(|stamp| !seen_stamps.contains(&(at, *stamp))) {
                    missed.push((seed, cut, Some(at)));
                }
            }
        }
    }
    assert!(missed.is_empty(), "seed, cut, sector: {missed:?}");
}

#[test]
fn equal_samples_give_equal_images_in_any_order() {
    let (journal, _) = record(3, 3, 12);
    let mut forwards = CrashImages::new(&journal);
    let cuts = forwards.cuts();
    let samples = [Sample::Random(1), Sample::Random(2), Sample::TornOdd];
    let mut digests = Vec::new();
    for cut in &cuts {
        for sample in samples {
            digests.push(forwards.image(*cut, sample).digest());
        }
    }
    let distinct: BTreeSet<_> = digests.iter().map(|digest| digest.value()).collect();
    assert!(distinct.len() > cuts.len(), "samples differ");
    let mut again = CrashImages::new(&journal);
    for cut in cuts.iter().rev().step_by(7) {
        for sample in samples.into_iter().rev() {
            let at = cuts.iter().position(|one| one == cut).unwrap() * samples.len();
            let place = samples.iter().position(|one| *one == sample).unwrap();
            assert_eq!(again.image(*cut, sample).digest(), digests[at + place]);
        }
    }
}

#[test]
fn everything_is_the_live_store_and_a_full_sync_leaves_no_choice() {
    for seed in 0..10 {
        let (journal, made) = record(seed, 3, 15);
        let live = made.machine.store();
        let mut images = CrashImages::new(&journal);
        let last = *images.cuts().last().unwrap();
        let everything = images.image(last, Sample::Everything);
        assert_eq!(names(&everything), names(&live));
        assert_eq!(everything.digest(), live.digest(), "seed {seed}");
    }
    let mut made = VirtualWorld::new(jittered(1));
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let path = Path::new("d/file");
        machine.start_recording();
        let file = world.volume.open(path, OpenMode::CreateNew).await.unwrap();
        worker(world.clone(), file, 1, 30).await;
        world.disk.submit(Io::sync(Class::Database, file)).await.result.unwrap();
        for directory in ["d", "e"] {
            world.volume.sync_directory(Path::new(directory)).await.unwrap();
        }
        machine.mark("synced", 1);
    });
    let journal = made.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    let last = *images.cuts().last().unwrap();
    assert_eq!(images.marks(last).next_back().unwrap().what, "synced");
    assert_eq!(images.pending(last), 0);
    for sample in (0..30).map(Sample::nth) {
        let image = images.image(last, sample);
        assert_eq!(image.digest(), made.machine.store().digest());
    }
}
