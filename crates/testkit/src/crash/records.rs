//! Work on bare trees: a table and its index.
//!
//! Table and index are in one database, or in two of one instance, which a transaction then must
//! keep consistent. Keys are long, so that trees are deep.

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::Transaction;
use brunt_ese::space::check::DatabaseCheck;
use brunt_ese::tree::check::CheckStop;
use brunt_ese::tree::{Cursor, TreeId};
use brunt_units::PageSize;
use brunt_world::random::Streams;

use super::recovery::Trouble;
use super::sessions::{After, Desk, Task};
use super::{Configuration, State};
use crate::tiny::{INDEX, TABLE};

/// The trees of the sessions.
pub(super) struct Trees {
    page_size: PageSize,
    index_in: u8,
}

impl Trees {
    pub(super) fn of(configuration: &Configuration) -> Self {
        Self { page_size: configuration.page_size, index_in: configuration.databases - 1 }
    }
}

impl Desk for Trees {
    const RECORDS: u64 = 60;

    /// All records are in the first database.
    fn databases(&self) -> u8 {
        1
    }

    async fn work(&self, transaction: &Transaction<'_>, task: Task) -> Result<After, EngineError> {
        let (_, record) = task.record;
        let (key, folder) = (key(record), folder(record));
        let data = content(task.version, self.page_size);
        transaction.lock(0, TABLE, &key)?;
        let there = transaction.instance().read(0, TABLE, &key).await?.is_some();
        match (there, task.deletes) {
            (false, _) => {
                transaction.insert(0, TABLE, &key, &data).await?;
                let entry = transaction.insert(self.index_in, INDEX, &folder, &key);
                entry.await?;
                Ok(Some(task.version))
            }
            (true, true) => {
                let entry = [folder, key.clone()].concat();
                transaction.delete(self.index_in, INDEX, &entry).await?;
                transaction.delete(0, TABLE, &key).await?;
                Ok(None)
            }
            (true, false) => {
                transaction.replace(0, TABLE, &key, &data).await?;
                Ok(Some(task.version))
            }
        }
    }
}

fn key(record: u32) -> Vec<u8> {
    // Long keys make deep trees.
    let mut key = vec![0x7F; 120];
    key[..4].copy_from_slice(&record.to_be_bytes());
    key
}

/// Content of a size that puts a few records on a page, at any page size.
fn content(version: u64, size: PageSize) -> Vec<u8> {
    let mut draw = Streams::new(version).named("content");
    let most = size.bytes_u64().div_euclid(6);
    let mut bytes = vec![0; usize::try_from(8 + draw.below(most)).expect("a small number")];
    draw.fill(&mut bytes);
    bytes[..8].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The index orders records by a folder that never changes, many records to a folder.
fn folder(record: u32) -> Vec<u8> {
    (record % 5).to_be_bytes().to_vec()
}

/// The state of an open instance.
///
/// # Errors
/// When a record mixes versions, table and index disagree, something was left behind, or the engine
/// fails.
pub(super) async fn read(
    instance: &Instance<Bytes>,
    configuration: &Configuration,
) -> Result<State, Trouble> {
    let mut state = State::new();
    for (key, data) in scan(instance, 0, TABLE).await? {
        let version = data.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let version = version.filter(|version| data == content(*version, configuration.page_size));
        let version = version.ok_or_else(|| "a record is a mixture".to_owned())?;
        state.insert((0, number(&key)?), version);
    }
    let index = scan(instance, configuration.databases - 1, INDEX).await?;
    let index: Result<Vec<u32>, String> = index.iter().map(|(_, key)| number(key)).collect();
    let mut expected: Vec<u32> = state.keys().map(|(_, record)| *record).collect();
    expected.sort_by_key(|record| (folder(*record), *record));
    if index? != expected {
        let what = "the index disagrees with the table";
        return Err(Trouble::Wrong(what.to_owned()));
    }
    Ok(state)
}

fn number(key: &[u8]) -> Result<u32, String> {
    let number = key.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    number
        .filter(|number| key.ends_with(&self::key(*number)[4..]))
        .ok_or_else(|| "a key was never written".to_owned())
}

/// All entries of a tree, none of which may be marked deleted.
///
/// # Errors
/// When an entry is marked deleted, or the engine fails.
pub(super) async fn scan(
    instance: &Instance<Bytes>,
    database: u8,
    tree: TreeId,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Trouble> {
    let mut cursor = Cursor::before(tree, &[]);
    let mut entries = Vec::new();
    loop {
        let next = instance.look(database, |pages| {
            let mut tried = cursor.clone();
            let entry = tried
                .next(pages)?
                .map(|entry| (entry.deleted, entry.key.to_vec(), entry.data.to_vec()));
            Ok((entry, tried))
        });
        let (entry, moved) = next.await?;
        cursor = moved;
        match entry {
            Some((true, ..)) => {
                let what = "a deleted entry was left behind";
                return Err(Trouble::Wrong(what.to_owned()));
            }
            Some((false, key, data)) => entries.push((key, data)),
            None => return Ok(entries),
        }
    }
}

/// Walks every tree and all space of a database.
///
/// # Errors
/// When something is inconsistent or cannot be read.
pub(super) async fn walk(
    instance: &Instance<Bytes>,
    database: u8,
    trees: &[TreeId],
) -> Result<(), Trouble> {
    let mut check = DatabaseCheck::new(trees);
    let checked = instance.look(database, |pages| match check.run(pages) {
        Ok(_) => Ok(Ok(())),
        Err(CheckStop::Need(need)) => Err(need),
        Err(fault) => Ok(Err(format!("database {database} is unsound: {fault:?}"))),
    });
    Ok(checked.await??)
}
