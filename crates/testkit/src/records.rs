//! Records of a tiny table, and the workload of tests that damage storage: some hundred records are
//! replaced, and as many inserted between them, which splits leaves and branches.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::page::{Page, PageFlags};
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_units::{PageNumber, Span};
use brunt_world::World;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

use crate::tiny::{SIZE, TABLE, database_path, open, tree_files};

/// Number of records in a prepared database, which have even numbers; work inserts as many more.
pub const RECORDS: u32 = 600;

/// Frames of the cache: the table has three levels and does not fit.
pub const FRAMES: u32 = 24;

/// The last committed version of each record.
pub type Versions = Rc<RefCell<BTreeMap<u32, u8>>>;

/// The key of a record.
pub fn key(number: u32) -> Vec<u8> {
    let mut key = vec![0x7F; 120];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key
}

/// The content of a version of a record.
pub fn content(number: u32, version: u8) -> Vec<u8> {
    let mut content = vec![version; 1900];
    content[..4].copy_from_slice(&number.to_be_bytes());
    content
}

/// A world with the files in `store`.
pub fn world_of(store: &Store) -> VirtualWorld {
    VirtualWorld::new(VirtualOptions { store: store.fork(), ..VirtualOptions::new(1) })
}

/// The files of a closed instance with records 0, 2, 4, ..., and a leaf and a branch of their tree
/// that is not the root.
///
/// # Panics
/// When the engine fails.
pub fn prepared(options: InstanceOptions) -> (Store, [PageNumber; 2]) {
    let mut made = world_of(&tree_files());
    let world = made.world.clone();
    made.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, options).await.unwrap();
        insert_all(&instance).await.unwrap();
        instance.close().await.unwrap();
    });
    let store = made.machine.store();
    let bytes = store.get(&database_path(0)).expect("it was closed");
    let last = |is_leaf: bool| {
        let pages = (1..).zip(bytes.chunks_exact(SIZE.bytes()).skip(2));
        let wanted = pages.filter(|(_, bytes)| {
            let page = Page::new(bytes, SIZE);
            let flags = page.flags();
            page.object() == TABLE.object
                && !flags.has(PageFlags::ROOT)
                && flags.has(PageFlags::LEAF) == is_leaf
        });
        PageNumber(wanted.last().expect("there is one").0)
    };
    let pages = [last(true), last(false)];
    (store, pages)
}

async fn insert_all(instance: &Instance<Bytes>) -> Result<(), EngineError> {
    for number in 0..RECORDS {
        let transaction = instance.begin();
        let (key, content) = (key(2 * number), content(2 * number, 0));
        transaction.insert(0, TABLE, &key, &content).await?;
        transaction.commit(Commit::Lazy).await?;
    }
    Ok(())
}

/// The versions in a freshly prepared database.
pub fn no_versions() -> Versions {
    let versions = (0..RECORDS).map(|number| (2 * number, 0));
    Rc::new(RefCell::new(versions.collect()))
}

/// Replaces every record, then inserts one after each, which splits leaves and branches. Commits
/// are recorded in `versions`. Sleeps for `pause` after each, since the checkpoint moves once a
/// second.
///
/// # Errors
/// The engine's first error.
pub async fn work(
    world: &World,
    pause: Span,
    instance: &Instance<Bytes>,
    versions: &Versions,
) -> Result<(), EngineError> {
    for version in 1..3 {
        for number in 0..RECORDS {
            let transaction = instance.begin();
            let number = 2 * number + u32::from(version == 2);
            let (key, content) = (key(number), content(number, version));
            match version {
                1 => transaction.replace(0, TABLE, &key, &content).await?,
                _ => transaction.insert(0, TABLE, &key, &content).await?,
            };
            transaction.commit(Commit::Hard).await?;
            versions.borrow_mut().insert(number, version);
            world.sleep(pause).await;
        }
    }
    Ok(())
}
