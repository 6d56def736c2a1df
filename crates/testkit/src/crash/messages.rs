//! Work on messages: whole databases with catalog, records, an index, and long values for bodies
//! outside their record.
//!
//! The state is assembled from the entries of the three trees, not with the engine's own reading of
//! messages: each body must be complete, and no part of a body may exist without a record that
//! names it.

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::create::MessageSource;
use brunt_ese::error::EngineError;
use brunt_ese::format::long_value::{LongValueId, LongValueRoot};
use brunt_ese::instance::Instance;
use brunt_ese::instance::messages::{MessageTable, NewContent};
use brunt_ese::instance::transaction::Transaction;
use brunt_ese::table::message::{Body, Message, primary_key, received_key};
use brunt_ese::table::{CatalogRead, read_catalog};
use brunt_ese::tree::TreeId;
use brunt_units::PageSize;
use brunt_world::Frames;
use brunt_world::random::Streams;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};

use super::recovery::Trouble;
use super::sessions::{After, Desk, Task};
use super::{Configuration, State};
use crate::tiny::message_database;

const FOLDERS: u32 = 5;

/// Free pages of new databases.
const FREE_PAGES: u32 = 8;

/// The tables that sessions work on.
#[derive(Clone)]
pub(super) struct Tables {
    page_size: PageSize,
    tables: Rc<Vec<MessageTable>>,
}

impl Tables {
    /// The tables of an open instance. They assign the ids of bodies, so there is only one set of
    /// them.
    pub(super) async fn of(
        instance: &Instance<Bytes>,
        configuration: &Configuration,
    ) -> Result<Self, EngineError> {
        let mut tables = Vec::new();
        for database in 0..configuration.databases {
            tables.push(instance.messages(database).await?);
        }
        Ok(Self { page_size: configuration.page_size, tables: Rc::new(tables) })
    }
}

impl Desk for Tables {
    const RECORDS: u64 = 24;

    fn databases(&self) -> u8 {
        u8::try_from(self.tables.len()).expect("few databases")
    }

    async fn work(&self, transaction: &Transaction<'_>, task: Task) -> Result<After, EngineError> {
        let (database, record) = task.record;
        let table = &self.tables[usize::from(database)];
        let key = primary_key(record.into());
        transaction.lock(database, table.trees().records, &key)?;
        let there = transaction.instance().read(database, table.trees().records, &key);
        let there = there.await?.is_some();
        let pads = Pads::of(task.version, self.page_size);
        let new = pads.content(record, task.version);
        match (there, task.deletes) {
            (false, _) => transaction.insert_message(table, &new).await?,
            (true, true) => transaction.delete_message(table, record.into()).await?,
            (true, false) => transaction.replace_message(table, &new).await?,
        }
        Ok((!there || !task.deletes).then_some(task.version))
    }
}

/// The content of a version, besides its record's number.
#[derive(PartialEq, Eq)]
struct Pads {
    received: i64,
    subject: Vec<u8>,
    body: Vec<u8>,
}

impl Pads {
    /// Bodies that stay in their record, that take part of a chunk, or that take several chunks.
    fn of(version: u64, size: PageSize) -> Self {
        let mut draw = Streams::new(version).named("message");
        let page = size.bytes_u64();
        let length = match draw.below(10) {
            0..5 => draw.below(1000),
            5..8 => page.div_euclid(2) + draw.below(page),
            _ => draw.below(3 * page),
        };
        let received = i64::try_from(draw.below(1000)).expect("a small number");
        let mut bytes = |length: u64| {
            let mut bytes = vec![0; usize::try_from(length).expect("a small number")];
            draw.fill(&mut bytes);
            bytes
        };
        Self { received, subject: bytes(100), body: bytes(length) }
    }

    fn content(&self, record: u32, version: u64) -> NewContent<'_> {
        NewContent {
            id: record.into(),
            folder: folder(record),
            received: self.received,
            version: i32::try_from(version).expect("versions are below 2^31"),
            subject: &self.subject,
            body: &self.body,
        }
    }
}

fn folder(record: u32) -> i32 {
    i32::try_from(record % FOLDERS).expect("few folders")
}

/// Databases without messages.
pub(super) fn files(size: PageSize, databases: u8, frames: &Frames) -> Store {
    let mut made =
        VirtualWorld::new(VirtualOptions { frames: frames.clone(), ..VirtualOptions::new(1) });
    let world = made.world.clone();
    made.executor.block_on(async move {
        for database in 0..databases {
            let made = message_database(&world, size, database, FREE_PAGES, &NoMessages);
            made.await.expect("there is room");
        }
    });
    made.machine.store()
}

struct NoMessages;

impl MessageSource for NoMessages {
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(std::iter::empty())
    }

    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(std::iter::empty())
    }

    fn keys(&self, _: u64) -> (i64, i32, i64) {
        unreachable!("there are none")
    }

    fn body_bytes(&self, _: u64) -> usize {
        unreachable!("there are none")
    }

    fn subject(&self, _: u64, _: &mut Vec<u8>) {
        unreachable!("there are none")
    }

    fn body(&self, _: u64, _: &mut Vec<u8>) {
        unreachable!("there are none")
    }
}

/// The state of an open instance.
///
/// # Errors
/// When a message mixes versions, trees disagree, something was left behind, or the engine fails.
pub(super) async fn read(
    instance: &Instance<Bytes>,
    configuration: &Configuration,
) -> Result<State, Trouble> {
    let mut state = State::new();
    for database in 0..configuration.databases {
        let table = instance.messages(database).await?;
        read_table(instance, &table, configuration.page_size, &mut state).await?;
    }
    Ok(state)
}

async fn read_table(
    instance: &Instance<Bytes>,
    table: &MessageTable,
    size: PageSize,
    state: &mut State,
) -> Result<(), Trouble> {
    let (database, trees) = (table.database, table.trees());
    let mut bodies = bodies(super::records::scan(instance, database, trees.bodies).await?)?;
    let mut index = Vec::new();
    for (key, record) in super::records::scan(instance, database, trees.records).await? {
        let broken = || format!("a record of database {database} is a mixture");
        let message = Message::decode(&record, size).map_err(|_| broken())?;
        let number = u32::try_from(message.id).map_err(|_| broken())?;
        let version = u64::try_from(message.version).map_err(|_| broken())?;
        let body = match message.body {
            Body::Inside(body) => body.to_vec(),
            Body::Apart(id) => {
                bodies.remove(&id).ok_or("a record names a body that is not there")?
            }
        };
        let found = Pads { received: message.received, subject: message.subject.to_vec(), body };
        let is_whole = key == primary_key(message.id)
            && message.folder == folder(number)
            && found == Pads::of(version, size);
        if !is_whole {
            return Err(broken().into());
        }
        index.push((received_key(message.folder, message.received).to_vec(), key));
        state.insert((database, number), version);
    }
    index.sort();
    if super::records::scan(instance, database, trees.by_received).await? != index {
        return Err(format!("the index of database {database} disagrees with its table").into());
    }
    if !bodies.is_empty() {
        return Err(format!("{} bodies that no record names", bodies.len()).into());
    }
    Ok(())
}

/// Assembles bodies from the entries of their tree, in key order.
fn bodies(entries: Vec<(Vec<u8>, Vec<u8>)>) -> Result<BTreeMap<LongValueId, Vec<u8>>, String> {
    let mut bodies: BTreeMap<LongValueId, Vec<u8>> = BTreeMap::new();
    let mut lengths = BTreeMap::new();
    for (key, data) in entries {
        let id = key.first_chunk().map(|id| u32::from_be_bytes(*id));
        let id = LongValueId(id.ok_or("a long value without an id")?);
        if key == id.root_key() {
            let root = LongValueRoot::from_bytes(&data).filter(|root| root.references == 1);
            lengths.insert(id, root.ok_or("a long value that is shared")?.bytes);
            bodies.insert(id, Vec::new());
            continue;
        }
        let body = bodies.get_mut(&id).ok_or("a chunk without its long value")?;
        let offset = u32::try_from(body.len()).expect("a short body");
        if key != id.chunk_key(offset) {
            return Err("a long value with a hole".to_owned());
        }
        body.extend(data);
    }
    let is_whole = |(id, body): (&LongValueId, &Vec<u8>)| lengths[id] as usize == body.len();
    match bodies.iter().all(is_whole) {
        true => Ok(bodies),
        false => Err("a long value of another length than it says".to_owned()),
    }
}

/// Every tree that the catalog of a database names.
///
/// # Errors
/// When the catalog is invalid or cannot be read.
pub(super) async fn trees(
    instance: &Instance<Bytes>,
    database: u8,
) -> Result<Vec<TreeId>, Trouble> {
    let tables = instance.look(database, |pages| match read_catalog(pages) {
        Ok(tables) => Ok(Ok(tables)),
        Err(CatalogRead::Need(need)) => Err(need),
        Err(error) => Ok(Err(error.to_string())),
    });
    let mut trees = Vec::new();
    for table in tables.await?? {
        let id = |root, object| TreeId { root, object };
        trees.push(id(table.root, table.object));
        let indexes = table.indexes.iter().filter(|index| !index.is_primary());
        trees.extend(indexes.map(|index| id(index.root, index.object)));
        trees.extend(table.long_values.map(|tree| id(tree.root, tree.object)));
    }
    Ok(trees)
}
