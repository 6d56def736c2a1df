//! Deletes that meet a page that cannot be read. A sparse page whose neighbour is bad is not
//! merged: what was deleted is gone, and nothing stays locked. A record whose own page has become
//! bad by the commit stays marked, and the database dirty.

use std::rc::Rc;

use crate::common::{SIZE, TABLE, database_path, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::format::page::{Page, PageFlags};
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::Commit;
use brunt_units::PageNumber;
use brunt_world::{Class, Io};
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

fn number_key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn on(store: Store, work: impl AsyncFnOnce(&Instance<Bytes>) + 'static) -> Store {
    let mut made = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::default() });
    let inner = made.world.clone();
    made.executor.block_on(async move {
        let (instance, _) = open(&inner, 64, options(1, 512)).await.unwrap();
        work(&instance).await;
        instance.close().await.unwrap();
    });
    made.machine.store()
}

/// The leaves of the table in order, with their keys.
fn leaves(store: &Store) -> Vec<(PageNumber, Vec<Vec<u8>>)> {
    let file = store.find(&database_path(0)).unwrap();
    let mut leaves = Vec::new();
    for number in (4..200).map(PageNumber) {
        let mut bytes = vec![0; SIZE.bytes()];
        store.read(file, number.offset(SIZE), &mut bytes);
        let page = Page::new(&bytes, SIZE);
        if page.object() == TABLE.object && page.flags().has(PageFlags::LEAF) {
            let nodes = (0..page.node_count()).map(|at| page.node(at).unwrap());
            leaves.push((number, nodes.map(|node| node.key.to_vec()).collect()));
        }
    }
    leaves.sort_by(|one: &(_, Vec<Vec<u8>>), other| one.1.cmp(&other.1));
    leaves
}

#[test]
fn a_delete_beside_a_bad_page_is_carried_out() {
    let mut store = on(tree_files(), async |instance| {
        for number in 0..100 {
            let transaction = instance.begin();
            let key = number_key(number);
            let inserted = transaction.insert(0, TABLE, &key, &[7; 300]);
            inserted.await.unwrap();
            transaction.commit(Commit::Lazy).await.unwrap();
        }
    });
    let leaves = leaves(&store);
    let (bad, _) = leaves[2];
    let file = store.find(&database_path(0)).unwrap();
    store.write(file, bad.offset(SIZE) + 512, &[0x5A; 512]);
    let keys = leaves[1].1.clone();
    on(store, async move |instance| {
        for key in &keys[1..] {
            let transaction = instance.begin();
            transaction.delete(0, TABLE, key).await.unwrap();
            transaction.commit(Commit::Hard).await.unwrap();
            assert_eq!(instance.read(0, TABLE, key).await.unwrap(), None);
        }
        let told = instance.unfinished();
        assert!(matches!(told, Some(EngineError::Page { page, .. }) if page == bad), "{told:?}");
        // The page is still worked with.
        let transaction = instance.begin();
        let inserted = transaction.insert(0, TABLE, &keys[1], &[8; 300]);
        inserted.await.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
        let found = instance.read(0, TABLE, &keys[1]).await.unwrap();
        assert_eq!(found, Some(vec![8; 300]));
    });
}

#[test]
fn a_delete_on_a_page_that_became_bad_is_committed_and_keeps_the_database_dirty() {
    let records = 0..2_000;
    let store = on(tree_files(), {
        let records = records.clone();
        async move |instance| {
            for number in records {
                let transaction = instance.begin();
                let key = number_key(number);
                let inserted = transaction.insert(0, TABLE, &key, &[7; 300]);
                inserted.await.unwrap();
                transaction.commit(Commit::Lazy).await.unwrap();
            }
        }
    });
    let (bad, keys) = leaves(&store)[2].clone();
    let mut made = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::default() });
    let world = made.world.clone();
    made.executor.block_on(async move {
        let (instance, _) = open(&world, 64, options(1, 512)).await.unwrap();
        let transaction = instance.begin();
        transaction.delete(0, TABLE, &keys[1]).await.unwrap();
        instance.cache().write_all(0).await.unwrap();
        for number in records.rev() {
            let key = number_key(number);
            if !keys.contains(&key) {
                instance.read(0, TABLE, &key).await.unwrap();
            }
        }
        let file = instance.databases()[0].file;
        let mut frame = world.frames.zeroed(SIZE.bytes());
        frame.fill(0x5A);
        let io = Io::write_through(Class::Database, file, bad.offset(SIZE), &Rc::new(frame));
        world.disk.submit(io).await.result.unwrap();
        transaction.commit(Commit::Hard).await.unwrap();
        let is_bad =
            |error: &EngineError| matches!(error, EngineError::Page { page, .. } if *page == bad);
        assert!(instance.unfinished().as_ref().is_some_and(is_bad));
        // Its key is free of locks, but its node is still there.
        let transaction = instance.begin();
        let read = transaction.insert(0, TABLE, &keys[1], &[8; 300]).await;
        assert!(is_bad(&read.unwrap_err()));
        transaction.commit(Commit::Hard).await.unwrap();
        assert!(is_bad(&instance.close().await.unwrap_err()));
    });
    let file = made.machine.store().find(&database_path(0)).unwrap();
    let mut header = vec![0; SIZE.bytes()];
    made.machine.store().read(file, 0, &mut header);
    let header = DatabaseHeader::read(&header).unwrap();
    assert_eq!(header.state, DatabaseState::Dirty);
}
