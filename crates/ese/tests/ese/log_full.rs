//! A log volume fills up: open transactions end, no new ones start, databases close clean, and a
//! crash loses nothing.

use std::path::{Path, PathBuf};

use crate::common::{TABLE, database_path, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Circular, Instance, InstanceOptions};
use brunt_ese::log::reserve::{RESERVES, reserve_path};
use brunt_units::ByteSize;
use brunt_world::Environment;
use brunt_world_virtual::{Store, VirtualOptions, VirtualVolume, VirtualWorld};

const LOG: ByteSize = ByteSize::kib(64);
const FRAMES: u32 = 32;

/// A world whose log volume has room for `logs` files, the checkpoint, and half a file that cannot
/// be used.
fn world_of(store: Store, logs: u64) -> VirtualWorld {
    let log = VirtualVolume {
        path: PathBuf::from("/log"),
        bytes: logs * LOG.get() + ByteSize::kib(40).get(),
        ..VirtualVolume::everything()
    };
    VirtualWorld::new(VirtualOptions {
        store,
        volumes: vec![VirtualVolume::everything(), log],
        ..VirtualOptions::new(5)
    })
}

fn setup() -> InstanceOptions {
    InstanceOptions { circular: Circular::Off, ..options(1, 512) }
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

async fn insert(instance: &Instance<Bytes>, number: u32) -> Result<(), EngineError> {
    let transaction = instance.begin();
    transaction.insert(0, TABLE, &key(number), &[9; 1000]).await?;
    transaction.commit(Commit::Hard).await
}

/// Inserts until there is no room; returns the number of records.
async fn fill(instance: &Instance<Bytes>) -> u32 {
    for number in 0..10_000 {
        match insert(instance, number).await {
            Ok(()) => {}
            Err(EngineError::LogDiskFull(directory, _)) => {
                assert_eq!(directory, Path::new("/log"));
                return number;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("never full");
}

async fn holds(instance: &Instance<Bytes>, numbers: impl Iterator<Item = u32>) {
    for number in numbers {
        let found = instance.read(0, TABLE, &key(number)).await.unwrap();
        assert_eq!(found, Some(vec![9; 1000]), "record {number}");
    }
}

fn state(store: &Store) -> DatabaseState {
    let bytes = store.get(&database_path(0)).unwrap();
    DatabaseHeader::find(&bytes).unwrap().header.state
}

#[test]
fn reserves_are_there_from_the_first_moment_and_stay() {
    let mut world = world_of(tree_files(), 100);
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        instance.close().await.unwrap();
    });
    let store = world.machine.store();
    for number in 1..=RESERVES {
        let file = store.find(&reserve_path(Path::new("/log"), "edb", number));
        assert_eq!(store.length(file.unwrap()), Some(LOG.get()));
    }
}

#[test]
fn what_has_begun_ends_and_the_databases_close_clean() {
    let mut world = world_of(tree_files(), 9);
    let inner = world.world.clone();
    let records = world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        let [ends, changes_its_mind, stays_open] = [9001, 9002, 9003].map(|number| {
            let transaction = instance.begin();
            (transaction, key(number))
        });
        for (transaction, key) in [&ends, &changes_its_mind, &stays_open] {
            transaction.insert(0, TABLE, key, &[9; 1000]).await.unwrap();
        }
        let records = fill(&instance).await;
        assert!(instance.failure().is_none());
        // Other transactions continue if they have already changed something.
        ends.0.insert(0, TABLE, &key(9004), &[9; 1000]).await.unwrap();
        ends.0.delete(0, TABLE, &key(0)).await.unwrap();
        ends.0.commit(Commit::Hard).await.unwrap();
        changes_its_mind.0.take_back().await.unwrap();
        assert!(insert(&instance, 9005).await.is_err());
        let used =
            instance.cache().meters().with(|meters| meters.logs[0].reserves.close_interval());
        assert!((1..=u64::from(RESERVES)).contains(&used), "{used} reserves");
        instance.close().await.unwrap();
        records
    });
    let store = world.machine.store();
    assert_eq!(state(&store), DatabaseState::Clean);
    let mut world = world_of(store, 100);
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        holds(&instance, (1..records).chain([9001, 9004])).await;
        for gone in [0, 9002, 9003, 9005] {
            let found = instance.read(0, TABLE, &key(gone)).await.unwrap();
            assert_eq!(found, None, "record {gone}");
        }
        instance.close().await.unwrap();
    });
}

/// The process dies while the volume is full, and the next one has no more room.
#[test]
fn a_full_volume_is_recovered_as_it_is() {
    let mut world = world_of(tree_files(), 9);
    let inner = world.world.clone();
    let records = world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        let open = instance.begin();
        open.insert(0, TABLE, &key(9001), &[9; 1000]).await.unwrap();
        fill(&instance).await
    });
    let mut world = world_of(world.machine.store(), 9);
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, report) = open(&inner, FRAMES, setup()).await.unwrap();
        assert_eq!(report.undone, 1);
        holds(&instance, 0..records).await;
        assert!(insert(&instance, 9002).await.is_err(), "still full");
        instance.close().await.unwrap();
    });
    assert_eq!(state(&world.machine.store()), DatabaseState::Clean);
}

/// With circular logging, no manual clean-up is needed: the next open releases what it does not
/// need, whether the instance was closed or died.
#[test]
fn the_next_start_makes_room_with_circular_logging() {
    let circular = || InstanceOptions { circular: Circular::Reuse, ..setup() };
    for closes in [true, false] {
        let mut world = world_of(tree_files(), 9);
        let inner = world.world.clone();
        let records = world.executor.block_on(async move {
            let (instance, _) = open(&inner, FRAMES, circular()).await.unwrap();
            let records = fill(&instance).await;
            if closes {
                instance.close().await.unwrap();
            }
            records
        });
        let mut world = world_of(world.machine.store(), 9);
        let inner = world.world.clone();
        world.executor.block_on(async move {
            let (instance, _) = open(&inner, FRAMES, circular()).await.unwrap();
            for number in 8000..8050 {
                insert(&instance, number).await.unwrap();
            }
            holds(&instance, (0..records).chain(8000..8050)).await;
            instance.close().await.unwrap();
        });
    }
}

/// Old logs are removed, as by a backup, and work resumes by itself.
#[test]
fn work_goes_on_when_there_is_room_again() {
    let mut world = world_of(tree_files(), 9);
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        let records = fill(&instance).await;
        inner.sleep(brunt_units::Span::seconds(5)).await;
        let files = instance.log().files();
        let newest = instance.checkpoint().generation;
        assert!(newest > 3, "the checkpoint has moved");
        files.give_up_before(newest, 0).await.unwrap();
        for number in 8000..8050 {
            insert(&instance, number).await.unwrap();
        }
        assert!(!files.is_low());
        holds(&instance, (0..records).chain(8000..8050)).await;
        instance.close().await.unwrap();
    });
}

/// One endless transaction uses up the reserves too. The stream ends with the same error number,
/// and committed records are there after space has been freed.
#[test]
fn reserves_are_not_without_end() {
    let mut world = world_of(tree_files(), 9);
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        for number in 0..20 {
            insert(&instance, number).await.unwrap();
        }
        let endless = instance.begin();
        let mut number = 100;
        let error = loop {
            let inserted = endless.insert(0, TABLE, &key(number), &[9; 1000]).await;
            match inserted {
                Ok(()) => number += 1,
                Err(error) => break error,
            }
        };
        let full = EngineError::LogDiskFull(PathBuf::from("/log"), Environment::NoSpace);
        assert_eq!((error, instance.failure()), (full.clone(), Some(full)));
        assert!(instance.close().await.is_err());
    });
    let mut world = world_of(world.machine.store(), 100);
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, report) = open(&inner, FRAMES, setup()).await.unwrap();
        assert_eq!(report.undone, 1);
        holds(&instance, 0..20).await;
        assert_eq!(instance.read(0, TABLE, &key(100)).await.unwrap(), None);
        instance.close().await.unwrap();
    });
}

/// A foreign file with a reserve's name is not touched.
#[test]
fn a_reserve_of_somebody_else_is_refused() {
    let path = reserve_path(Path::new("/log"), "edb", 2);
    let mut store = tree_files();
    store.put(&path, &[7; 8192]);
    let mut world = world_of(store, 100);
    let inner = world.world.clone();
    let named = path.clone();
    world.executor.block_on(async move {
        let opened = open(&inner, FRAMES, setup()).await;
        assert_eq!(opened.err(), Some(EngineError::NotOurs(named)));
    });
    assert_eq!(world.machine.store().get(&path), Some(vec![7; 8192]));
}
