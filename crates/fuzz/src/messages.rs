//! An engine over a clean database of messages with inconsistent pages.
//!
//! Every checksum is valid, and no log is replayed over the damage: the engine reads catalog,
//! records, an index, long values and space trees exactly as the damaged pages state them.
//! Verifying, reading, changing, walking all trees both ways and closing must end with a result or
//! an error.
//!
//! Input: changes of eight bytes each.
//!
//! ```text
//!    0  kind, modulo 7: any two bytes, a field of the header, a tag, the first bytes of an item, a page
//!       number anywhere, the whole page, the number at the end of an item: a child, pages, a length
//!    1  which of them       2  page: u16       4  offset, or the other page: u16       6  new bytes: u16
//! ```

use std::cell::OnceCell;
use std::ops::Range;

use brunt_ese::cache::CachedPages;
use brunt_ese::content::Bytes;
use brunt_ese::create::MessageSource;
use brunt_ese::error::EngineError;
use brunt_ese::format::checksum::seal;
use brunt_ese::format::page::{Page, header_bytes, tag_at};
use brunt_ese::instance::Instance;
use brunt_ese::instance::messages::{MessageTable, NewContent};
use brunt_ese::instance::transaction::Commit;
use brunt_ese::page::Need;
use brunt_ese::space::check::DatabaseCheck;
use brunt_ese::table::{CatalogRead, read_catalog};
use brunt_ese::tree::check::CheckStop;
use brunt_ese::tree::{Cursor, TreeId};
use brunt_ese::verify::verify;
use brunt_testkit::tiny::{database_path, message_database, open, options};
use brunt_testkit::worlds::bounded;
use brunt_units::PageNumber;
use brunt_world::World;
use brunt_world_virtual::Store;

use crate::seeds::{self, FRAMES, PAGE, SEGMENT};

/// Maximum number of changes.
const CHANGES_MAX: usize = 16;
/// I/O limit: a run that exceeds it is assumed endless.
const IOS_MAX: u64 = 100_000;
/// Initial messages in the database.
const MESSAGES: u64 = 60;
/// Operations performed if the instance opens.
const OPERATIONS: u64 = 40;
/// More entries than any tree of this few messages can have.
const ENTRIES_MAX: u64 = 100_000;
/// Kinds of changes.
const KINDS: u8 = 7;

/// Changes of each kind on pages across the database; mutation adds more.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for kind in 0..KINDS {
        for page in (0..80_u8).step_by(3) {
            seeds.push(vec![kind, page, page, 0, page.wrapping_mul(37), page % 16, page % 7, 0]);
        }
    }
    seeds
}

pub fn run(input: &[u8]) {
    thread_local! {
        static FILES: OnceCell<Store> = const { OnceCell::new() };
    }
    let mut store = FILES.with(|files| files.get_or_init(make).fork());
    for change in input.chunks_exact(8).take(CHANGES_MAX) {
        damage(&mut store, change);
    }
    let mut made = seeds::world(store);
    let world = bounded(&made.world, IOS_MAX);
    made.executor.block_on(async move {
        // Any result is fine, but it must end.
        let _ = verify(&world, &database_path(0)).await;
        // Likewise for the engine.
        let _ = work(&world).await;
    });
}

fn make() -> Store {
    let mut made = seeds::world(Store::new());
    let world = made.world.clone();
    made.executor.block_on(async move {
        let made = message_database(&world, PAGE, 0, 20, &Begin);
        made.await.expect("a disk that keeps its word");
    });
    made.machine.store()
}

/// The initial messages.
struct Begin;

fn folder(number: u64) -> i32 {
    i32::try_from(number % 4).expect("few folders")
}

/// Some are stored in their record, some in one chunk, some in several.
fn body(number: u64) -> Vec<u8> {
    vec![7; usize::try_from(number % 5 * 1900).expect("small")]
}

impl MessageSource for Begin {
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(0..MESSAGES)
    }

    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let mut numbers: Vec<u64> = (0..MESSAGES).collect();
        numbers.sort_by_key(|number| (folder(*number), *number));
        Box::new(numbers.into_iter())
    }

    fn keys(&self, number: u64) -> (i64, i32, i64) {
        let id = i64::try_from(number).expect("small");
        (id, folder(number), id)
    }

    fn body_bytes(&self, number: u64) -> usize {
        body(number).len()
    }

    fn subject(&self, _: u64, subject: &mut Vec<u8>) {
        *subject = vec![5; 180];
    }

    fn body(&self, number: u64, into: &mut Vec<u8>) {
        *into = body(number);
    }
}

/// Changes a page, then recomputes its checksum.
fn damage(store: &mut Store, change: &[u8]) {
    let size = PAGE.bytes();
    let file = store.find(&database_path(0)).expect("it was made");
    let bytes = usize::try_from(store.length(file).expect("it has a name")).expect("small");
    let pages = bytes.div_euclid(size).saturating_sub(2).max(1);
    let word = |at: usize| usize::from(u16::from_le_bytes([change[at], change[at + 1]]));
    let pick = |at: usize| PageNumber(1 + u32::try_from(word(at) % pages).expect("small"));
    let (number, other) = (pick(2), pick(4));
    let mut page = vec![0; size];
    store.read(file, number.offset(PAGE), &mut page);
    let which = usize::from(change[1]);
    let new = &change[6..8];
    let tags = Page::new(&page, PAGE).tag_count();
    let places: Range<usize> = match change[0] % KINDS {
        0 => at(word(4) % (size - 1), 2),
        // Database time, links, object, counts, flags.
        1 => at(8 + 2 * (which % 16), 2),
        2 => at(tag_at(PAGE, which % tags.clamp(1, 64)) + word(4) % 2 * 2, 2),
        3 => {
            let tag = Page::new(&page, PAGE).tag(which % tags.max(1));
            let offset = tag.map_or(0, |tag| tag.offset) % (size - header_bytes(PAGE) - 16);
            at(header_bytes(PAGE) + offset + word(4) % 12, 2)
        }
        4 => {
            let places = at(word(4) % (size - 4), 4);
            page[places.clone()].copy_from_slice(&other.0.to_le_bytes());
            at(places.start, 0)
        }
        5 => {
            store.read(file, other.offset(PAGE), &mut page);
            at(0, 0)
        }
        _ => {
            let tag = Page::new(&page, PAGE).tag(which % tags.max(1));
            let end = tag.map_or(size, |tag| header_bytes(PAGE) + tag.offset + tag.size);
            let end = end.clamp(4, size);
            let number = i32::from(i16::from_le_bytes([new[0], new[1]]));
            page[end - 4..end].copy_from_slice(&number.to_le_bytes());
            at(0, 0)
        }
    };
    let length = places.len();
    page[places].copy_from_slice(&new[..length]);
    seal(&mut page, PAGE, number);
    store.write(file, number.offset(PAGE), &page);
}

fn at(start: usize, length: usize) -> Range<usize> {
    start..start + length
}

async fn work(world: &World) -> Result<(), EngineError> {
    let (instance, _) = open(world, FRAMES, options(1, SEGMENT)).await?;
    let worked = match instance.messages(0).await {
        Ok(table) => operate(&instance, &table).await,
        Err(error) => Err(error),
    };
    let walked = walk(&instance).await;
    let closed = instance.close().await;
    worked.and(walked).and(closed)
}

/// A bad page ends one operation; the next may use good pages.
async fn operate(instance: &Instance<Bytes>, table: &MessageTable) -> Result<(), EngineError> {
    let mut worked = Ok(());
    for number in 0..OPERATIONS {
        let done = change(instance, table, number).await;
        worked = worked.and(done);
        if instance.failure().is_some() {
            break;
        }
    }
    worked
}

async fn change(
    instance: &Instance<Bytes>,
    table: &MessageTable,
    number: u64,
) -> Result<(), EngineError> {
    let message = number * 7 % (MESSAGES + 20);
    let (id, folder, received) = Begin.keys(message);
    let body = body(number);
    let new = NewContent {
        id,
        folder,
        received: received + 1,
        version: 1,
        subject: &[3; 60],
        body: &body,
    };
    let there = instance.read_message(table, id, true).await?.is_some();
    let transaction = instance.begin();
    let done = match (there, number % 3) {
        (false, _) => transaction.insert_message(table, &new).await,
        (true, 0) => transaction.delete_message(table, id).await,
        (true, _) => transaction.replace_message(table, &new).await,
    };
    match done {
        Ok(()) if number.is_multiple_of(5) => transaction.take_back().await,
        Ok(()) => transaction.commit(Commit::Hard).await,
        Err(error) => transaction.take_back().await.and(Err(error)),
    }
}

/// Walks all trees in the catalog, and all space trees, up to the first few faults.
async fn walk(instance: &Instance<Bytes>) -> Result<(), EngineError> {
    let tables = instance.look(0, |pages| match read_catalog(pages) {
        Ok(tables) => Ok(tables),
        Err(CatalogRead::Need(need)) => Err(need),
        Err(_) => Ok(Vec::new()),
    });
    let mut trees = Vec::new();
    for table in tables.await? {
        let id = |root, object| TreeId { root, object };
        trees.push(id(table.root, table.object));
        trees.extend(table.indexes.iter().map(|index| id(index.root, index.object)));
        trees.extend(table.long_values.map(|tree| id(tree.root, tree.object)));
    }
    let mut check = DatabaseCheck::new(&trees);
    for _ in 0..8 {
        let checked = instance.look(0, |pages| match check.run(pages) {
            Ok(_) => Ok(true),
            Err(CheckStop::Need(need)) => Err(need),
            Err(_) => Ok(false),
        });
        if checked.await? {
            break;
        }
    }
    for tree in trees {
        go_through(instance, Cursor::before(tree, &[]), |cursor, pages| {
            cursor.next(pages).map(|entry| entry.is_some())
        })
        .await?;
        go_through(instance, Cursor::at_end(tree), |cursor, pages| {
            cursor.previous(pages).map(|entry| entry.is_some())
        })
        .await?;
    }
    Ok(())
}

/// A step through a tree; returns whether there was another entry.
type Way = fn(&mut Cursor, &CachedPages<'_>) -> Result<bool, Need>;

async fn go_through(
    instance: &Instance<Bytes>,
    mut cursor: Cursor,
    way: Way,
) -> Result<(), EngineError> {
    let mut entries = 0;
    loop {
        let look = instance.look(0, |pages| way(&mut cursor, pages));
        match look.await {
            Ok(true) => entries += 1,
            Ok(false) | Err(EngineError::Page { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        assert!(entries < ENTRIES_MAX, "a tree without end");
    }
}
