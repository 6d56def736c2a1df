//! A passive copy: databases that are fed the closed log files of another instance.

use std::path::Path;

use crate::common::{TABLE, open, options, tree_files};
use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::error::EngineError;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Circular, InstanceOptions, Replayer};
use brunt_ese::meter::MeterBoard;
use brunt_testkit::shipping::{log_path, ship};
use brunt_world::World;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

const FRAMES: u32 = 64;
const RECORDS: u32 = 300;

fn setup() -> InstanceOptions {
    InstanceOptions { circular: Circular::Off, ..options(1, 512) }
}

fn world_of(seed: u64, store: Store) -> VirtualWorld {
    VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(seed) })
}

/// The closed log files of an instance that has inserted records one by one, oldest generation
/// first.
fn logs(seed: u64) -> Vec<Vec<u8>> {
    let mut made = world_of(seed, tree_files());
    let world = made.world.clone();
    made.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, setup()).await.unwrap();
        for number in 0..RECORDS {
            let transaction = instance.begin();
            let key = number.to_be_bytes();
            let inserted = transaction.insert(0, TABLE, &key, &[7; 700]).await;
            inserted.unwrap();
            transaction.commit(Commit::Hard).await.unwrap();
        }
        instance.close().await.unwrap();
    });
    let store = made.machine.store();
    let closed = (1..).map_while(|generation| store.get(&log_path(Path::new("/log"), generation)));
    closed.collect()
}

/// Opens the copy.
async fn follow(world: &World) -> Replayer {
    let meters = MeterBoard::new(1, 1).into();
    let cache = Cache::new(world, CacheOptions::new(setup().page_size, FRAMES), meters);
    let mut replayer = Replayer::open(world, &cache, setup()).await.unwrap();
    replayer.catch_up().await.unwrap();
    replayer
}

async fn shipped(world: &World, generation: u32, bytes: &[u8]) {
    let shipped = ship(world, Path::new("/log"), generation, bytes);
    shipped.await.unwrap();
}

/// Activates the copy and returns its number of records; they must be the first ones, without gaps.
async fn activate(replayer: Replayer) -> u32 {
    let (instance, _) = replayer.finish().await.unwrap();
    let mut found = Vec::new();
    for number in 0..RECORDS {
        let key = number.to_be_bytes();
        found.push(instance.read(0, TABLE, &key).await.unwrap().is_some());
    }
    instance.close().await.unwrap();
    let first = found.partition_point(|is_there| *is_there);
    assert!(found[first..].iter().all(|is_there| !is_there));
    u32::try_from(first).unwrap()
}

#[test]
fn a_restart_goes_on_where_the_checkpoint_is() {
    let logs = logs(1);
    assert!(logs.len() >= 4, "{} logs", logs.len());
    let mut made = world_of(2, tree_files());
    let world = made.world.clone();
    made.executor.block_on(async move {
        shipped(&world, 1, &logs[0]).await;
        let mut replayer = follow(&world).await;
        for generation in 1..=3 {
            shipped(&world, generation, &logs[generation as usize - 1]).await;
            replayer.feed(generation).await.unwrap();
        }
        replayer.close().await.unwrap();
        for (generation, log) in (4..).zip(&logs[3..]) {
            let mut replayer = follow(&world).await;
            assert_eq!(replayer.replayed().get(), (1, 1));
            assert_eq!(replayer.checkpoint().generation, generation - 1);
            assert_eq!(replayer.next(), generation);
            shipped(&world, generation, log).await;
            replayer.feed(generation).await.unwrap();
            replayer.close().await.unwrap();
        }
        let there = activate(follow(&world).await).await;
        // The last log file was never closed.
        assert!(there > 150 && there < RECORDS, "{there} records");
        let (instance, report) = open(&world, FRAMES, setup()).await.unwrap();
        assert_eq!(report.generations, 0);
        instance.close().await.unwrap();
    });
}

#[test]
fn a_log_that_does_not_follow_is_refused_and_the_right_one_goes_on() {
    let (logs, others) = (logs(1), logs(3));
    let mut made = world_of(2, tree_files());
    let world = made.world.clone();
    made.executor.block_on(async move {
        shipped(&world, 1, &logs[0]).await;
        let mut replayer = follow(&world).await;
        replayer.feed(1).await.unwrap();
        replayer.feed(1).await.unwrap();
        shipped(&world, 3, &logs[2]).await;
        let missing = log_path(Path::new("/log"), 2);
        assert_eq!(replayer.feed(3).await, Err(EngineError::LogMissing(missing)));
        shipped(&world, 2, &others[1]).await;
        let refused = replayer.feed(2).await.unwrap_err();
        assert!(matches!(refused, EngineError::LogOfOthers { .. }));
        shipped(&world, 2, &logs[2]).await;
        let refused = replayer.feed(2).await.unwrap_err();
        assert!(matches!(refused, EngineError::LogCorrupt { .. }));
        let mut damaged = logs[1].clone();
        damaged[20 << 10] ^= 1;
        damaged[21 << 10] ^= 7;
        shipped(&world, 2, &damaged).await;
        let refused = replayer.feed(2).await.unwrap_err();
        assert!(matches!(refused, EngineError::LogCorrupt { .. }));
        for (generation, log) in (2..).zip(&logs[1..]) {
            shipped(&world, generation, log).await;
            replayer.feed(generation).await.unwrap();
        }
        assert!(activate(replayer).await > 150);
    });
}
