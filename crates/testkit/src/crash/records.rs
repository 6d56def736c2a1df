//! Work with transactions: a table and its index, sessions that insert, delete, replace, commit hard or lazily, or change
//! their minds.
//!
//! Table and index lie in one database, or in two of one instance: a transaction then is whole across both.

use std::collections::BTreeMap;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::{Commit, Transaction};
use brunt_ese::space::check::DatabaseCheck;
use brunt_ese::tree::check::CheckStop;
use brunt_ese::tree::{Cursor, TreeId};
use brunt_units::Span;
use brunt_world::random::{Stream, Streams};

use super::recovery::Trouble;
use super::story::{DURABLE, Stage};
use super::{Configuration, Mistake, State};
use crate::tiny::{INDEX, TABLE};

const KEYS: u64 = 60;
/// Transactions of a session.
const BATCHES: u64 = 40;

/// What a transaction makes of the records that it has locked: a version, or nothing.
type Work = BTreeMap<u32, Option<u64>>;

/// One session.
pub(super) async fn session(stage: Stage, number: u64) -> Result<(), EngineError> {
    let mut draw = stage.draw(number);
    let index_in = stage.configuration.databases - 1;
    let instance = stage.instance.clone();
    for batch in 0..BATCHES {
        let transaction = instance.begin();
        let mut mine = Work::new();
        for step in 0..=draw.below(4) {
            let record = u32::try_from(draw.below(KEYS)).expect("few keys");
            let task = Task {
                record,
                version: number << 40 | batch << 20 | step << 10 | 1,
                choice: draw.below(3),
                index_in,
            };
            match task.work(&transaction, mine.get(&record).copied()).await {
                Ok(Some(after)) => drop(mine.insert(record, after)),
                Ok(None) | Err(EngineError::WriteConflict) => {}
                // Nobody begins to change anything then; who has begun goes on.
                Err(EngineError::LogDiskFull(_)) => stage.refused.set(stage.refused.get() + 1),
                Err(error) => return Err(error),
            }
            if draw.percent(10) {
                stage.world.sleep(Span::millis(draw.below(50))).await;
            }
        }
        if draw.percent(15) {
            transaction.take_back().await?;
        } else {
            commit(&stage, &mut draw, transaction, mine).await?;
        }
    }
    Ok(())
}

async fn commit(
    stage: &Stage,
    draw: &mut Stream,
    transaction: Transaction<'_>,
    mine: Work,
) -> Result<(), EngineError> {
    if mine.is_empty() {
        // It logged nothing, so its commit promises nothing.
        return transaction.commit(Commit::Hard).await;
    }
    let is_hard = draw.percent(40);
    let number = stage.note(|state| {
        for (record, after) in mine {
            match after {
                Some(version) => drop(state.insert((0, record), version)),
                None => drop(state.remove(&(0, record))),
            }
        }
    });
    if is_hard && stage.configuration.mistake == Some(Mistake::AcknowledgeEarly) {
        stage.machine.mark(DURABLE, number);
    }
    let commit = if is_hard { Commit::Hard } else { Commit::Lazy };
    transaction.commit(commit).await?;
    if is_hard {
        stage.machine.mark(DURABLE, number);
    }
    Ok(())
}

/// One insert, delete or replace, whichever makes sense.
struct Task {
    record: u32,
    version: u64,
    choice: u64,
    index_in: u8,
}

impl Task {
    /// What the record is then; `None` when nothing was done. `mine` is what this transaction has made of it before.
    async fn work(
        &self,
        transaction: &Transaction<'_>,
        mine: Option<Option<u64>>,
    ) -> Result<Option<Option<u64>>, EngineError> {
        let (key, data) = (key(self.record), content(self.version));
        let folder = folder(self.record);
        transaction.lock(0, TABLE, &key)?;
        if mine == Some(None) {
            return Ok(None); // We have deleted it ourselves; the entry is still there.
        }
        let there = transaction.instance().read(0, TABLE, &key).await?.is_some();
        match (there, self.choice) {
            (false, _) => {
                transaction.insert(0, TABLE, &key, &data).await?;
                let entry = transaction.insert(self.index_in, INDEX, &folder, &key);
                entry.await?;
                Ok(Some(Some(self.version)))
            }
            (true, 0) => {
                let entry = [folder, key.clone()].concat();
                transaction.delete(self.index_in, INDEX, &entry).await?;
                transaction.delete(0, TABLE, &key).await?;
                Ok(Some(None))
            }
            (true, _) => {
                transaction.replace(0, TABLE, &key, &data).await?;
                Ok(Some(Some(self.version)))
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

fn content(version: u64) -> Vec<u8> {
    let mut draw = Streams::new(version).named("content");
    let mut bytes = vec![0; usize::try_from(8 + draw.below(700)).expect("a small number")];
    draw.fill(&mut bytes);
    bytes[..8].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The index orders records by a folder that never changes, many records to a folder.
fn folder(record: u32) -> Vec<u8> {
    (record % 5).to_be_bytes().to_vec()
}

/// What an open instance holds.
///
/// # Errors
/// When a record is a mixture, table and index disagree, something was left behind, or the engine fails.
pub(super) async fn read(
    instance: &Instance<Bytes>,
    configuration: &Configuration,
) -> Result<State, Trouble> {
    let mut state = State::new();
    for (key, data) in scan(instance, 0, TABLE).await? {
        let version = data.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let version = version.filter(|version| data == content(*version));
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

/// All entries of a tree.
async fn scan(
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

/// Walks every tree and all space of every database.
///
/// # Errors
/// When something is unsound, or cannot be read.
pub(super) async fn walk(
    instance: &Instance<Bytes>,
    configuration: &Configuration,
) -> Result<(), Trouble> {
    for database in 0..configuration.databases {
        let mut check = DatabaseCheck::new(&[TABLE, INDEX]);
        let checked = instance.look(database, |pages| match check.run(pages) {
            Ok(_) => Ok(Ok(())),
            Err(CheckStop::Need(need)) => Err(need),
            Err(fault) => Ok(Err(format!("database {database} is unsound: {fault:?}"))),
        });
        checked.await??;
    }
    Ok(())
}
