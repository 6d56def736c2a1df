//! What the log after the checkpoint does not record about a database: its identity, and its latest
//! time.
//!
//! An idle database is not mentioned in the log while others of its instance are busy, and after a
//! shutdown of the instance the log after the checkpoint is empty. Each test then cuts the power
//! and loses everything that is not durable.

use crate::common::{TABLE, database_path, open, options, tree_database};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_ese::page::Pages;
use brunt_units::{LogPosition, Span};
use brunt_world::World;
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

const FRAMES: u32 = 64;
const SEED: u64 = 1;

/// Databases whose lazy commits stay in memory until something else flushes them.
fn patient(databases: usize) -> InstanceOptions {
    InstanceOptions { lazy_wait: Span::seconds(1_000), ..options(databases, 512) }
}

/// Works on an instance and returns what is on disk after a power failure at the end.
fn until_power_fails(
    databases: usize,
    work: impl AsyncFnOnce(&World, &Instance<Bytes>) + 'static,
) -> Store {
    let mut store = Store::new();
    for database in 0..databases {
        tree_database(&mut store, &database_path(database));
    }
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(SEED) });
    let world = virtual_world.world.clone();
    virtual_world.machine.start_recording();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, patient(databases)).await.unwrap();
        work(&world, &instance).await;
    });
    let journal = virtual_world.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    let last = images.cuts().pop().unwrap();
    images.image(last, Sample::Nothing)
}

/// Recovers what is on disk, checks it, and closes it.
fn recovered(databases: usize, store: Store, look: impl AsyncFnOnce(&Instance<Bytes>) + 'static) {
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(SEED + 1) });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, patient(databases)).await.unwrap();
        look(&instance).await;
        instance.close().await.unwrap();
    });
}

/// Fills the log of database 0 until moving the checkpoint is worthwhile, with every page written
/// and synced.
async fn fill_log(instance: &Instance<Bytes>) {
    let depth = instance.options().checkpoint_depth.get();
    let (shape, begin) = (instance.options().log, instance.log().tail());
    let mut number = 0_u32;
    while shape.distance(begin, instance.log().tail()) < depth {
        let transaction = instance.begin();
        let key = [b"filling ", number.to_be_bytes().as_slice()].concat();
        let data = [7; 1000];
        transaction.insert(0, TABLE, &key, &data).await.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
        number += 1;
    }
    settle(instance).await;
}

/// Writes and syncs every page.
async fn settle(instance: &Instance<Bytes>) {
    instance.cache().write_all(0).await.unwrap();
    for database in instance.databases() {
        instance.cache().sync(database.number).await.unwrap();
    }
}

/// Waits until the checkpoint has passed `position`.
async fn checkpoint_past(world: &World, instance: &Instance<Bytes>, position: LogPosition) {
    for _ in 0..4 {
        if instance.checkpoint() > position {
            return;
        }
        world.sleep(Span::seconds(1)).await;
    }
    panic!("the checkpoint stays");
}

/// A crash after database 1 has been idle until the log after the checkpoint does not mention it.
fn after_a_rest() -> Store {
    until_power_fails(2, async |world, instance| {
        for number in 0..20_u32 {
            let transaction = instance.begin();
            let key = number.to_be_bytes();
            transaction.insert(1, TABLE, &key, b"x").await.unwrap();
            transaction.commit(Commit::Hard).await.unwrap();
        }
        let rests = instance.log().tail();
        fill_log(instance).await;
        checkpoint_past(world, instance, rests).await;
        // Leave something to replay.
        let transaction = instance.begin();
        transaction.insert(0, TABLE, b"last", b"x").await.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
    })
}

#[test]
fn the_time_of_a_database_at_rest_does_not_go_back() {
    let store = after_a_rest();
    recovered(2, store, async |instance| {
        let cache = instance.cache();
        let pages = (1..=24).map(brunt_units::PageNumber);
        for page in pages {
            let latest = instance.look(1, |view| {
                let bytes = view.resident(page)?;
                Ok(u64::from_le_bytes(*bytes[8..].first_chunk().unwrap()))
            });
            // Pages that were never written are blank.
            if let Ok(latest) = latest.await {
                assert!(latest <= cache.time(1).0, "page {page}: {latest}");
            }
        }
        let transaction = instance.begin();
        transaction.insert(1, TABLE, b"after", b"x").await.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
    });
}

/// A crash during a clean shutdown: the log has ended but no header is clean yet.
#[test]
fn a_shutdown_that_is_cut_off_can_be_recovered_and_worked_on() {
    let mut store = Store::new();
    for database in 0..2 {
        tree_database(&mut store, &database_path(database));
    }
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(SEED) });
    let (world, machine) = (virtual_world.world.clone(), virtual_world.machine.clone());
    machine.start_recording();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, patient(2)).await.unwrap();
        for number in 0..20_u32 {
            for database in 0..2 {
                let transaction = instance.begin();
                let key = number.to_be_bytes();
                transaction.insert(database, TABLE, &key, b"x").await.unwrap();
                transaction.commit(Commit::Hard).await.unwrap();
            }
        }
        machine.mark("closing", 1);
        instance.close().await.unwrap();
    });
    let journal = virtual_world.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    for cut in images.cuts() {
        if images.marks(cut).count() == 0 {
            continue;
        }
        let store = images.image(cut, Sample::Nothing);
        recovered(2, store, async |instance| {
            for database in 0..2 {
                let before =
                    instance.cache().time(instance.databases()[usize::from(database)].number);
                assert!(before.0 > 20, "database {database} is at {before:?}");
                let transaction = instance.begin();
                transaction.insert(database, TABLE, b"more", b"x").await.unwrap();
                transaction.commit(Commit::Hard).await.unwrap();
            }
        });
    }
}

/// The scenario was edited between crash and recovery.
#[test]
fn a_log_is_not_replayed_into_another_database() {
    let store = after_a_rest();
    let before = [0, 1].map(|database| store.get(&database_path(database)).unwrap());
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(SEED + 1) });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let mut exchanged = patient(2);
        exchanged.databases.reverse();
        let refused = open(&world, FRAMES, exchanged).await.map(drop);
        assert!(matches!(refused, Err(EngineError::LogCorrupt { .. })), "{refused:?}");
    });
    let store = virtual_world.machine.store();
    let after = [0, 1].map(|database| store.get(&database_path(database)).unwrap());
    assert!(before == after, "they were written to");
}
