//! A full database volume: every transaction can still be undone.
//!
//! A replacement that shortens a record leaves room on its page. If another transaction used it,
//! undoing the replacement would need a split, for which a full volume has no page. So the room
//! stays claimed until the transaction ends.

use crate::common::{TABLE, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::instance::transaction::{Commit, Transaction};
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_units::ByteSize;
use brunt_world_virtual::{Store, VirtualOptions, VirtualVolume, VirtualWorld};

const FRAMES: u32 = 64;
const LONG: usize = 700;

/// A world whose databases have little room to grow.
fn world_of(store: Store) -> VirtualWorld {
    let data = VirtualVolume { bytes: ByteSize::kib(640).get(), ..VirtualVolume::everything() };
    let log = VirtualVolume { path: "/log".into(), ..VirtualVolume::everything() };
    VirtualWorld::new(VirtualOptions { store, volumes: vec![data, log], ..VirtualOptions::new(5) })
}

fn setup() -> InstanceOptions {
    InstanceOptions { growth_pages: 4, ..options(1, 512) }
}

/// Even numbers exist from the start; odd ones go between them.
fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn content(number: u32, length: usize) -> Vec<u8> {
    [key(number).as_slice(), &vec![7; length]].concat()
}

/// Inserts records `from`, `from + 2` and so on, each in its own transaction, until the volume is
/// full; returns the first that failed.
async fn fill(instance: &Instance<Bytes>, from: u32) -> u32 {
    for number in (from..10_000).step_by(2) {
        let transaction = instance.begin();
        let (key, data) = (key(number), content(number, LONG));
        match transaction.insert(0, TABLE, &key, &data).await {
            Ok(()) => transaction.commit(Commit::Hard).await.unwrap(),
            Err(error) => {
                assert!(error.is_full(), "{error}");
                transaction.take_back().await.unwrap();
                return number;
            }
        }
    }
    panic!("never full");
}

async fn replace_all(transaction: &Transaction<'_>, end: u32, length: usize) {
    for number in (0..end).step_by(2) {
        let (key, data) = (key(number), content(number, length));
        transaction.lock(0, TABLE, &key).unwrap();
        let replaced = transaction.replace(0, TABLE, &key, &data);
        replaced.await.unwrap();
    }
}

async fn holds(instance: &Instance<Bytes>, numbers: impl Iterator<Item = u32>, length: usize) {
    for number in numbers {
        let found = instance.read(0, TABLE, &key(number)).await.unwrap();
        assert_eq!(found, Some(content(number, length)), "record {number}");
    }
}

#[test]
fn room_that_a_transaction_gave_up_is_there_when_it_is_taken_back() {
    let mut world = world_of(tree_files());
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        let end = fill(&instance, 0).await;
        assert!(end > 100, "only {end}");
        let shorter = instance.begin();
        replace_all(&shorter, end, 60).await;
        replace_all(&shorter, end, 5).await;
        let between = fill(&instance, 1).await;
        shorter.take_back().await.unwrap();
        holds(&instance, (0..end).step_by(2), LONG).await;
        holds(&instance, (1..between).step_by(2), LONG).await;
        instance.close().await.unwrap();
    });
}

#[test]
fn room_that_a_transaction_gave_up_is_everybodys_when_it_has_committed() {
    let mut world = world_of(tree_files());
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        let end = fill(&instance, 0).await;
        let shorter = instance.begin();
        replace_all(&shorter, end, 5).await;
        assert!(fill(&instance, 1).await < 20, "the room was not claimed");
        shorter.commit(Commit::Hard).await.unwrap();
        let between = fill(&instance, 1001).await;
        assert!(between > 1100, "only {between}");
        holds(&instance, (0..end).step_by(2), 5).await;
        holds(&instance, (1001..between).step_by(2), LONG).await;
        instance.close().await.unwrap();
    });
}

/// A transaction may use the room it claims: the record can grow again, and further if there is
/// room.
#[test]
fn a_transaction_uses_the_room_that_it_claims() {
    let mut world = world_of(tree_files());
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        let end = fill(&instance, 0).await;
        let writer = instance.begin();
        replace_all(&writer, end, 5).await;
        let _ = fill(&instance, 1).await;
        replace_all(&writer, end, LONG).await;
        replace_all(&writer, end, 300).await;
        let _ = fill(&instance, 1001).await;
        replace_all(&writer, end, LONG - 1).await;
        writer.commit(Commit::Hard).await.unwrap();
        holds(&instance, (0..end).step_by(2), LONG - 1).await;
        instance.close().await.unwrap();
    });
}

#[test]
fn recovery_takes_back_on_a_full_volume() {
    let mut world = world_of(tree_files());
    let (inner, machine) = (world.world.clone(), world.machine.clone());
    let end = world.executor.block_on(async move {
        let (instance, _) = open(&inner, FRAMES, setup()).await.unwrap();
        let end = fill(&instance, 0).await;
        let shorter = instance.begin();
        replace_all(&shorter, end, 5).await;
        // Another open transaction, whose hard commit makes everything before it durable.
        let other = instance.begin();
        let _ = fill(&instance, 1).await;
        other.commit(Commit::Hard).await.unwrap();
        end
    });
    let mut world = world_of(machine.store());
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let (instance, report) = open(&inner, FRAMES, setup()).await.unwrap();
        assert_eq!(report.undone, 1);
        holds(&instance, (0..end).step_by(2), LONG).await;
        instance.close().await.unwrap();
    });
}
