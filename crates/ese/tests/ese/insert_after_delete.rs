//! A transaction inserts an entry that it has deleted itself. The deleted entry is still in place,
//! because the delete may be undone.
//!
//! Messages need this: a body that becomes shorter and longer again in one transaction deletes
//! chunks and inserts them again.

use crate::common::{INDEX, TABLE, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::{Commit, Transaction};
use brunt_ese::tree::TreeId;
use brunt_world::World;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

const KEY: &[u8] = b"key";
const ENTRY: &[u8] = b"folderkey";

fn world_of(store: Store) -> VirtualWorld {
    VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(5) })
}

async fn opened(world: &World) -> Instance<Bytes> {
    open(world, 32, options(1, 512)).await.unwrap().0
}

/// Deletes and inserts `rounds` times, with different data each time.
async fn turn_over(transaction: &Transaction<'_>, rounds: u8) -> Result<(), EngineError> {
    transaction.lock(0, TABLE, KEY)?;
    for round in 0..rounds {
        transaction.delete(0, INDEX, ENTRY).await?;
        transaction.delete(0, TABLE, KEY).await?;
        let data = vec![round + 1; 20 * usize::from(round + 1)];
        transaction.insert(0, TABLE, KEY, &data).await?;
        transaction.insert(0, INDEX, b"folder", KEY).await?;
    }
    Ok(())
}

async fn begin_with_one(world: &World) -> Instance<Bytes> {
    let instance = opened(world).await;
    let transaction = instance.begin();
    transaction.insert(0, TABLE, KEY, b"first").await.unwrap();
    let entry = transaction.insert(0, INDEX, b"folder", KEY);
    entry.await.unwrap();
    transaction.commit(Commit::Hard).await.unwrap();
    instance
}

async fn found(instance: &Instance<Bytes>, tree: TreeId, key: &[u8]) -> Option<Vec<u8>> {
    instance.read(0, tree, key).await.unwrap()
}

#[test]
fn it_stays_when_the_transaction_commits() {
    let mut world = world_of(tree_files());
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let instance = begin_with_one(&inner).await;
        let transaction = instance.begin();
        turn_over(&transaction, 3).await.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
        assert_eq!(found(&instance, TABLE, KEY).await, Some(vec![3; 60]));
        assert_eq!(found(&instance, INDEX, ENTRY).await, Some(KEY.to_vec()));
        let transaction = instance.begin();
        turn_over(&transaction, 1).await.unwrap();
        transaction.delete(0, TABLE, KEY).await.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
        assert_eq!(found(&instance, TABLE, KEY).await, None);
        instance.close().await.unwrap();
    });
}

#[test]
fn it_is_as_it_was_when_the_transaction_is_taken_back() {
    let mut world = world_of(tree_files());
    let inner = world.world.clone();
    world.executor.block_on(async move {
        let instance = begin_with_one(&inner).await;
        let transaction = instance.begin();
        turn_over(&transaction, 3).await.unwrap();
        let other = instance.begin();
        let refused = other.insert(0, TABLE, KEY, b"mine").await;
        assert_eq!(refused, Err(EngineError::KeyDuplicate));
        transaction.delete(0, TABLE, KEY).await.unwrap();
        let refused = other.insert(0, TABLE, KEY, b"mine").await;
        assert_eq!(refused, Err(EngineError::WriteConflict));
        transaction.take_back().await.unwrap();
        assert_eq!(found(&instance, TABLE, KEY).await, Some(b"first".to_vec()));
        assert_eq!(found(&instance, INDEX, ENTRY).await, Some(KEY.to_vec()));
        instance.close().await.unwrap();
    });
}

/// The result of recovery, from the log alone: committed or not.
#[test]
fn recovery_knows_it_too() {
    for commits in [true, false] {
        let mut world = world_of(tree_files());
        let (inner, machine) = (world.world.clone(), world.machine.clone());
        world.executor.block_on(async move {
            let instance = begin_with_one(&inner).await;
            let transaction = instance.begin();
            turn_over(&transaction, 2).await.unwrap();
            if commits {
                transaction.commit(Commit::Hard).await.unwrap();
            }
            // The hard commit of another transaction makes the whole log durable.
            let other = instance.begin();
            other.insert(0, TABLE, b"other", b"data").await.unwrap();
            other.commit(Commit::Hard).await.unwrap();
        });
        let mut world = world_of(machine.store());
        let inner = world.world.clone();
        world.executor.block_on(async move {
            let instance = opened(&inner).await;
            let data = if commits { vec![2; 40] } else { b"first".to_vec() };
            assert_eq!(found(&instance, TABLE, KEY).await, Some(data));
            assert_eq!(found(&instance, INDEX, ENTRY).await, Some(KEY.to_vec()));
            instance.close().await.unwrap();
        });
    }
}
