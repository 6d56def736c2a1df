//! Redo is idempotent: it makes the same pages whether they have some of the log or all of it,
//! however often it starts.

use std::path::Path;

use crate::common::{SIZE, TABLE, database_path, open, options, tree_files};
use brunt_ese::format::page::{DATABASE_TIME_AT, FLAGS_AT, Page, PageFlags};
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Circular, InstanceOptions};
use brunt_units::{ByteSize, PageNumber, Span};
use brunt_world::random::Streams;
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Journal, Store, VirtualOptions, VirtualWorld};

const FRAMES: u32 = 64;

/// Checkpoints move and logs are released only on request.
fn quiet() -> InstanceOptions {
    InstanceOptions {
        circular: Circular::Off,
        checkpoint_depth: ByteSize::mib(8),
        lazy_wait: Span::seconds(100),
        ..options(1, 512)
    }
}

/// Hard commits of inserts and replacements, some before all pages are written and some after.
fn work(seed: u64, later: u64) -> Journal {
    let mut made =
        VirtualWorld::new(VirtualOptions { store: tree_files(), ..VirtualOptions::new(seed) });
    let world = made.world.clone();
    made.machine.start_recording();
    made.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, quiet()).await.unwrap();
        let mut draw = Streams::new(seed).named("work");
        for number in 0..=60 + later {
            if number == 60 {
                instance.cache().write_all(0).await.unwrap();
                instance.cache().sync(0).await.unwrap();
                continue;
            }
            let transaction = instance.begin();
            let key = draw.below(30).to_be_bytes();
            let data = vec![7; usize::try_from(1 + draw.below(400)).unwrap()];
            let there = instance.read(0, TABLE, &key).await.unwrap().is_some();
            let done = match there {
                true => transaction.replace(0, TABLE, &key, &data).await,
                false => transaction.insert(0, TABLE, &key, &data).await,
            };
            done.unwrap();
            transaction.commit(Commit::Hard).await.unwrap();
        }
    });
    made.machine.stop_recording().unwrap()
}

fn lost_power(journal: &Journal) -> Store {
    let mut images = CrashImages::new(journal);
    let end = *images.cuts().last().unwrap();
    images.image(end, Sample::Nothing)
}

/// Opens and closes what a crash left; returns the recovery report and the files.
fn recover(store: Store) -> (RecoveryReport, Store) {
    let mut made = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(1) });
    let world = made.world.clone();
    let report = made.executor.block_on(async move {
        let (instance, report) = open(&world, FRAMES, quiet()).await.unwrap();
        instance.close().await.unwrap();
        report
    });
    (report, made.machine.store())
}

/// The pages of the database without what each write changes: checksum and flush type.
fn pages(store: &Store) -> Vec<Vec<u8>> {
    let file = store.find(&database_path(0)).unwrap();
    let page = |number| {
        let mut bytes = vec![0; SIZE.bytes()];
        store.read(file, PageNumber(number).offset(SIZE), &mut bytes);
        let flags = Page::new(&bytes, SIZE).flags().without(PageFlags::FLUSH_TYPE);
        bytes[..DATABASE_TIME_AT].fill(0);
        bytes[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&flags.0.to_le_bytes());
        bytes
    };
    (1..=pages_of(store)).map(page).collect()
}

fn pages_of(store: &Store) -> u32 {
    let bytes = store.length(store.find(&database_path(0)).unwrap()).unwrap();
    u32::try_from(bytes.div_euclid(SIZE.bytes_u64()) - 2).unwrap()
}

#[test]
fn pages_that_have_everything_are_left_as_they_are() {
    for seed in 1..6 {
        let left = lost_power(&work(seed, 0));
        let (report, found) = recover(left.fork());
        assert!(report.records > 60, "{report:?}");
        // Pages that the log starts from zeros are rebuilt as they were.
        assert!(report.changes < report.records, "{report:?}");
        assert!(pages(&left) == pages(&found), "seed {seed}");
    }
}

/// The pages made by one redo, with the earlier headers, logs and checkpoint.
#[test]
fn a_second_redo_makes_the_same_pages() {
    for seed in 1..6 {
        let left = lost_power(&work(seed, 40));
        let (first, found) = recover(left.fork());
        assert!(first.changes > 0, "{first:?}");
        let mut again = left.fork();
        let (from, to) =
            [&found, &again].map(|store| store.find(&database_path(0)).unwrap()).into();
        for number in (1..=pages_of(&found)).map(PageNumber) {
            let mut bytes = vec![0; SIZE.bytes()];
            found.read(from, number.offset(SIZE), &mut bytes);
            again.write(to, number.offset(SIZE), &bytes);
        }
        // The earlier flush map remembers other writes of these pages.
        again.unlink(Path::new("/data/tiny0.jfm"));
        let (second, same) = recover(again);
        assert_eq!(second.records, first.records);
        assert!(second.changes <= first.changes, "{first:?} {second:?}");
        assert!(pages(&same) == pages(&found), "seed {seed}");
    }
}
