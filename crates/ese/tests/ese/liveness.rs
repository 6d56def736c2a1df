//! Everything terminates: many sessions get through on the smallest cache, and an undo that finds
//! nothing to undo gives up.

use crate::common::{INDEX, TABLE, database_path, open, options, tree_database, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::log::Role;
use brunt_ese::tree;
use brunt_units::Span;
use brunt_world::World;
use brunt_world::random::Stream;
use brunt_world_virtual::{Store, VirtualOptions, VirtualVolume, VirtualWorld};

const SESSIONS: u64 = 12;
const FRAMES: u32 = 16;

/// Inserts much more than fits in the frames, all over the tree.
async fn session(instance: Instance<Bytes>, mut draw: Stream) -> u64 {
    let mut done = 0;
    for _ in 0..60 {
        let number = draw.below(4000);
        let key = [number.to_be_bytes().as_slice(), &[7; 100]].concat();
        let transaction = instance.begin();
        let data = vec![1; usize::try_from(1 + draw.below(900)).unwrap()];
        let inserted = async {
            transaction.lock(0, TABLE, &key)?;
            transaction.insert(0, TABLE, &key, &data).await?;
            transaction.insert(0, INDEX, &(number % 9).to_be_bytes(), &key).await
        };
        match inserted.await {
            Ok(()) => {
                transaction.commit(Commit::Lazy).await.unwrap();
                done += 1;
            }
            Err(EngineError::KeyDuplicate | EngineError::WriteConflict) => {
                transaction.take_back().await.unwrap()
            }
            Err(error) => panic!("{error}"),
        }
    }
    done
}

/// Runs `test` on an instance with the smallest cache, over a database with two empty trees.
fn on_a_tree(test: impl AsyncFnOnce(World, Instance<Bytes>) + 'static) {
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store: tree_files(), ..VirtualOptions::new(3) });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, options(1, 512)).await.unwrap();
        test(world, instance).await;
    });
}

#[test]
fn many_sessions_on_the_smallest_cache_get_through() {
    on_a_tree(async |world, instance| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let draw = world.random.named(&format!("session/{number}"));
                world.spawner.spawn(session(instance.clone(), draw))
            })
            .collect();
        // Background tasks would let virtual time run forever.
        let alarm = world.clone();
        drop(world.spawner.spawn(async move {
            alarm.sleep(Span::seconds(3600)).await;
            panic!("an hour is gone and the sessions are not done");
        }));
        let mut done = 0;
        for session in sessions {
            done += session.await;
        }
        assert!(done > 600, "{done} inserts");
        instance.close().await.unwrap();
    });
}

/// The undo loop reverts the last step until there is none. If the pages do not have that step, it
/// cannot be reverted, and the loop used to retry forever.
#[test]
fn undoing_what_is_not_there_is_an_error() {
    on_a_tree(async |_, instance| {
        let transaction = instance.begin();
        transaction.insert(0, TABLE, b"key", b"data").await.unwrap();
        let behind_its_back =
            instance.change(0, 0, Role::System, |change| tree::remove(change, TABLE, b"key"));
        behind_its_back.await.unwrap();
        let undone = transaction.take_back().await;
        assert!(matches!(undone, Err(EngineError::Damaged { .. })), "{undone:?}");
    });
}

/// Works until there is no room, then continues in an open transaction until the reserve logs are
/// used up too, and closes. Returns the final error, and whether closing failed.
async fn fill_the_volume(world: World) -> (EngineError, bool) {
    let (instance, _) = open(&world, FRAMES, options(1, 512)).await.unwrap();
    let open = instance.begin();
    open.insert(0, TABLE, b"stays open", b"data").await.unwrap();
    let mut number = 0_u64;
    let why = loop {
        let transaction = instance.begin();
        let key = number.to_be_bytes();
        number += 1;
        if let Err(error) = transaction.insert(0, TABLE, &key, &[1; 500]).await {
            break error;
        }
        if let Err(error) = transaction.commit(Commit::Hard).await {
            break error;
        }
    };
    let mut key = [0xFF; 12];
    while open.insert(0, TABLE, &key, &[1; 500]).await.is_ok() {
        key[..8].copy_from_slice(&number.to_be_bytes());
        number += 1;
    }
    // Undo writes log too, and the log may be what ran out of room.
    let closed = instance.clone().close().await;
    (why, closed.is_err())
}

/// After a failed instance was closed, its checkpoint kept moving and released logs while they were
/// being verified.
#[test]
fn an_instance_that_could_not_be_closed_leaves_its_files_alone() {
    let mut failed = 0;
    for room in (500..=700).step_by(25) {
        let mut store = Store::new();
        tree_database(&mut store, &database_path(0));
        let volume = VirtualVolume { bytes: room << 10, ..VirtualVolume::everything() };
        let mut machine = VirtualWorld::new(VirtualOptions {
            store,
            volumes: vec![volume],
            ..VirtualOptions::new(3)
        });
        let world = machine.world.clone();
        let (why, is_failed) = machine.executor.block_on(fill_the_volume(world.clone()));
        let before = machine.machine.store().digest();
        machine.executor.block_on(async move { world.sleep(Span::seconds(30)).await });
        let after = machine.machine.store().digest();
        assert_eq!(after, before, "{room} KiB of room: {why}");
        failed += u32::from(is_failed);
    }
    assert!(failed > 0, "all could be closed");
}
