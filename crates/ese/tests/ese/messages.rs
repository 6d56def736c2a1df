//! A database from creation to clean shutdown: bulk load, transactions, verification, read back.

use std::path::Path;
use std::rc::Rc;

use crate::common::{RUN, database_path, options};
use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::create::{CreateOptions, MessageSource, create_database};
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_ese::instance::messages::{MessageTable, NewContent};
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_ese::log::LogShape;
use brunt_ese::meter::MeterBoard;
use brunt_ese::space::check::DatabaseCheck;
use brunt_ese::table::{CatalogRead, read_catalog};
use brunt_ese::tree::TreeId;
use brunt_ese::tree::check::CheckStop;
use brunt_units::{ByteSize, PageSize};
use brunt_world::World;
use brunt_world::random::Streams;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

const COUNT: u64 = 1500;
const FOLDERS: u64 = 7;

/// Messages whose ids are their numbers with reversed bits, so that consecutive messages are far
/// apart in the tree.
struct Source;

fn id_of(number: u64) -> i64 {
    i64::try_from(number.reverse_bits() >> 1).unwrap()
}

fn subject_and_body(number: u64, version: i32) -> (Vec<u8>, Vec<u8>) {
    let mut draw = Streams::new(number).named(&format!("message/{version}"));
    let length = match draw.below(20) {
        0 => 40_000 + draw.below(60_000),
        1..10 => draw.below(1000),
        _ => 2000,
    };
    let mut bytes = vec![0; usize::try_from(200 + length).unwrap()];
    draw.fill(&mut bytes);
    let body = bytes.split_off(200);
    (bytes, body)
}

impl MessageSource for Source {
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let mut numbers: Vec<u64> = (0..COUNT).collect();
        numbers.sort_by_key(|number| id_of(*number));
        Box::new(numbers.into_iter())
    }

    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let mut numbers: Vec<u64> = (0..COUNT).collect();
        numbers.sort_by_key(|number| (number % FOLDERS, *number));
        Box::new(numbers.into_iter())
    }

    fn keys(&self, number: u64) -> (i64, i32, i64) {
        (id_of(number), i32::try_from(number % FOLDERS).unwrap(), i64::try_from(number).unwrap())
    }

    fn body_bytes(&self, number: u64) -> usize {
        subject_and_body(number, 0).1.len()
    }

    fn subject(&self, number: u64, subject: &mut Vec<u8>) {
        *subject = subject_and_body(number, 0).0;
    }

    fn body(&self, number: u64, body: &mut Vec<u8>) {
        *body = subject_and_body(number, 0).1;
    }
}

fn engine(size: PageSize) -> InstanceOptions {
    InstanceOptions {
        page_size: size,
        log: LogShape::new(512, 256 << 10),
        log_buffer_units: 512,
        checkpoint_depth: ByteSize::mib(1),
        ..options(1, 512)
    }
}

async fn open(world: &World, size: PageSize) -> Instance<brunt_ese::content::Bytes> {
    let cache = Cache::new(world, CacheOptions::new(size, 64), Rc::new(MeterBoard::new(1, 1)));
    Instance::open(world, &cache, engine(size)).await.unwrap().0
}

/// Checks that every message is there with the right content, and no other.
async fn read_back(
    instance: &Instance<brunt_ese::content::Bytes>,
    table: &MessageTable,
    version: impl Fn(u64) -> Option<i32>,
) {
    for number in 0..COUNT + 200 {
        let found = instance.read_message(table, id_of(number), true).await.unwrap();
        match (found, version(number)) {
            (Some(found), Some(version)) => {
                let (subject, body) = subject_and_body(number, version);
                assert_eq!((found.version, found.subject), (version, subject), "message {number}");
                assert!(found.body == Some(body), "body of message {number}");
            }
            (None, None) => {}
            (found, version) => panic!("message {number}: {:?} but {version:?}", found.is_some()),
        }
    }
}

/// Every tree in the catalog, and the catalog itself.
async fn all_trees(instance: &Instance<brunt_ese::content::Bytes>) -> Vec<TreeId> {
    let tables = instance.look(0, |pages| match read_catalog(pages) {
        Ok(tables) => Ok(tables),
        Err(CatalogRead::Need(need)) => Err(need),
        Err(error) => panic!("{error}"),
    });
    let mut trees = Vec::new();
    for table in tables.await.unwrap() {
        trees.push(TreeId { root: table.root, object: table.object });
        let indexes = table.indexes.iter().filter(|index| !index.is_primary());
        trees.extend(indexes.map(|index| TreeId { root: index.root, object: index.object }));
        trees.extend(table.long_values.map(|tree| TreeId { root: tree.root, object: tree.object }));
    }
    trees
}

async fn check(instance: &Instance<brunt_ese::content::Bytes>) {
    let mut check = DatabaseCheck::new(&all_trees(instance).await);
    let checked = instance.look(0, |pages| match check.run(pages) {
        Ok(summary) => Ok(summary),
        Err(CheckStop::Need(need)) => Err(need),
        Err(fault) => panic!("the database is unsound: {fault:?}"),
    });
    checked.await.unwrap();
}

async fn life(world: World, size: PageSize) {
    let path = database_path(0);
    let how = CreateOptions {
        page_size: size,
        fill_percent: 90,
        free_pages: 40,
        expected_bytes: 4 << 20,
        signature: Signature::ours(7, Stamp::from_unix_millis(1_700_000_000_000), RUN),
    };
    let created = create_database(&world, &path, &how, &Source, &|_| {}).await.unwrap();
    assert_eq!(created.messages, COUNT);
    verify(&world, &path).await;

    let instance = open(&world, size).await;
    let table = instance.messages(0).await.unwrap();
    check(&instance).await;
    read_back(&instance, &table, |number| (number < COUNT).then_some(0)).await;
    for number in 0..300 {
        let transaction = instance.begin();
        transaction.delete_message(&table, id_of(number)).await.unwrap();
        let (subject, body) = subject_and_body(COUNT + number, 0);
        let new = |number, version| {
            let (id, folder, received) = Source.keys(number);
            NewContent { id, folder, received, version, subject: &[], body: &[] }
        };
        if number < 200 {
            let new = NewContent { subject: &subject, body: &body, ..new(COUNT + number, 0) };
            transaction.insert_message(&table, &new).await.unwrap();
        }
        let (subject, body) = subject_and_body(600 + number, 1);
        let changed = NewContent { subject: &subject, body: &body, ..new(600 + number, 1) };
        transaction.replace_message(&table, &changed).await.unwrap();
        transaction
            .commit(if number % 3 == 0 { Commit::Hard } else { Commit::Lazy })
            .await
            .unwrap();
    }
    let transaction = instance.begin();
    transaction.delete_message(&table, id_of(1000)).await.unwrap();
    transaction.take_back().await.unwrap();
    let expected = |number| match number {
        0..300 => None,
        600..900 => Some(1),
        300..1700 => Some(0),
        _ => None,
    };
    read_back(&instance, &table, expected).await;
    check(&instance).await;
    instance.close().await.unwrap();
    verify(&world, &path).await;

    let instance = open(&world, size).await;
    let table = instance.messages(0).await.unwrap();
    read_back(&instance, &table, expected).await;
    instance.close().await.unwrap();
}

async fn verify(world: &World, path: &Path) {
    let report = brunt_ese::verify::verify(world, path).await.unwrap();
    assert!(report.pages_seen > 100, "{report:?}");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn a_database_lives() {
    for size in PageSize::ALL {
        let mut virtual_world = VirtualWorld::new(VirtualOptions::new(5));
        let world = virtual_world.world.clone();
        virtual_world.executor.block_on(life(world, size));
    }
}
