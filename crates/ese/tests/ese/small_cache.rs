//! Many sessions in a cache that has room for the pages of only a few.
//!
//! An operation keeps the pages it has waited for until it is done. If all could start, they would
//! together hold all frames, each waiting for one more: a deadlock.

use crate::common::{INDEX, TABLE, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_units::Span;
use brunt_world::random::Stream;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

const SESSIONS: u64 = 8;
const ROUNDS: u64 = 150;

fn key(number: u64) -> Vec<u8> {
    // Long keys make deep trees.
    let mut key = vec![0x7F; 400];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// Inserts, reads and deletes its own records, which are interleaved with those of other sessions.
async fn session(instance: Instance<Bytes>, number: u64, mut draw: Stream) {
    let mut mine = Vec::new();
    for round in 0..ROUNDS {
        let transaction = instance.begin();
        let record = draw.below(1 << 40) * SESSIONS + number;
        let key_of = key(record);
        let data = vec![1; 8 + usize::try_from(draw.below(1200)).unwrap()];
        let inserted = transaction.insert(0, TABLE, &key_of, &data).await;
        inserted.unwrap();
        let folder = round.to_be_bytes();
        let inserted = transaction.insert(0, INDEX, &folder, &key_of[..20]).await;
        inserted.unwrap();
        mine.push(record);
        if draw.percent(40) {
            let at = usize::try_from(draw.below(mine.len() as u64)).unwrap();
            let gone = key(mine.swap_remove(at));
            transaction.delete(0, TABLE, &gone).await.unwrap();
        }
        transaction.commit(Commit::Lazy).await.unwrap();
        if !mine.is_empty() {
            let at = usize::try_from(draw.below(mine.len() as u64)).unwrap();
            let found = instance.read(0, TABLE, &key(mine[at])).await.unwrap();
            assert!(found.is_some(), "record {} of {number}", mine[at]);
        }
    }
}

fn work(seed: u64, frames: u32) {
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store: tree_files(), ..VirtualOptions::new(seed) });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let options = InstanceOptions {
            // Small growths, so that the database grows often while all sessions wait.
            growth_pages: 8,
            ..options(1, 512)
        };
        let (instance, _) = open(&world, frames, options).await.unwrap();
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let draw = world.random.named(&format!("session/{number}"));
                world.spawner.spawn(session(instance.clone(), number, draw))
            })
            .collect();
        for _ in 0..600 {
            if sessions.iter().all(|session| session.is_done()) {
                break;
            }
            world.sleep(Span::seconds(1)).await;
        }
        let waiting = sessions.iter().filter(|session| !session.is_done()).count();
        assert_eq!(waiting, 0, "seed {seed}: sessions wait for one another");
        instance.close().await.unwrap();
    });
}

#[test]
fn eight_sessions_get_through_with_sixteen_frames() {
    for seed in 1..=6 {
        work(seed, 16);
    }
}

#[test]
fn and_with_more_than_one_at_a_time() {
    for seed in 1..=6 {
        work(seed, 56);
    }
}
