//! Crash search with transactions: a table with a primary tree and a secondary index, sessions that insert, delete,
//! replace, commit hard or lazily, or change their minds.
//!
//! Commits have an order, that of their records in the log. Whatever survives a crash, recovery must bring back the state
//! after some number of commits: every hard commit that was acknowledged is among them, lazy ones are a prefix, nothing
//! that was taken back or never committed is seen, and table and index agree.
//!
//! Table and index lie in one database, or in two of one instance: a transaction then is whole across both. Recovery
//! may be cut off, too; the next one must find the same state.

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::transaction::{Commit, Transaction};
use brunt_ese::space::check::DatabaseCheck;
use brunt_ese::tree::check::CheckStop;
use brunt_ese::tree::{Cursor, TreeId};
use brunt_units::Span;
use brunt_world::random::{Stream, Streams};
use brunt_world::{Frames, World};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Journal, Machine, Store, VirtualOptions, VirtualWorld};
use common::{INDEX, TABLE, database_path, open, options, tree_database};

/// Records by key: version and length decide the content.
type State = BTreeMap<u32, u64>;
type History = Rc<RefCell<Vec<State>>>;

const KEYS: u64 = 60;
const FRAMES: u32 = 24;

fn key(number: u32) -> Vec<u8> {
    // Long keys make deep trees.
    let mut key = vec![0x7F; 120];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key
}

fn content(version: u64) -> Vec<u8> {
    let mut draw = Streams::new(version).named("content");
    let mut bytes = vec![0; usize::try_from(8 + draw.below(700)).unwrap()];
    draw.fill(&mut bytes);
    bytes[..8].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The index orders records by a folder that never changes, many records to a folder.
fn folder(number: u32) -> Vec<u8> {
    (number % 5).to_be_bytes().to_vec()
}

struct Session {
    world: World,
    machine: Machine,
    instance: Instance<Bytes>,
    history: History,
    draw: Stream,
    number: u64,
    /// The database that the index lies in; the table lies in the first.
    index_in: u8,
}

impl Session {
    async fn run(mut self) {
        let instance = self.instance.clone();
        for batch in 0..25 {
            let transaction = instance.begin();
            // What this transaction makes of the records it has locked.
            let mut mine: BTreeMap<u32, Option<u64>> = BTreeMap::new();
            for step in 0..=self.draw.below(4) {
                let version = self.number << 40 | batch << 20 | step << 10 | 1;
                let number = u32::try_from(self.draw.below(KEYS)).unwrap();
                let choice = self.draw.below(3);
                match work(
                    &transaction,
                    self.index_in,
                    number,
                    version,
                    choice,
                    mine.get(&number).copied(),
                )
                .await
                {
                    Ok(Some(after)) => drop(mine.insert(number, after)),
                    Ok(None) | Err(EngineError::WriteConflict) => {}
                    Err(error) => panic!("{error}"),
                }
                if self.draw.percent(10) {
                    self.world.sleep(Span::millis(self.draw.below(50))).await;
                }
            }
            if self.draw.percent(15) {
                transaction.take_back().await.unwrap();
            } else {
                self.commit(transaction, mine).await;
            }
        }
    }

    async fn commit(&mut self, transaction: Transaction<'_>, mine: BTreeMap<u32, Option<u64>>) {
        if mine.is_empty() {
            // It logged nothing, so its commit promises nothing.
            return transaction.commit(Commit::Hard).await.unwrap();
        }
        let mut state = self.history.borrow().last().unwrap().clone();
        for (number, after) in mine {
            match after {
                Some(version) => drop(state.insert(number, version)),
                None => drop(state.remove(&number)),
            }
        }
        let hard = self.draw.percent(40);
        // No task runs between this and the commit's record, so the order of states is that of the log.
        let number = self.history.borrow().len() as u64;
        self.history.borrow_mut().push(state);
        transaction
            .commit(if hard { Commit::Hard } else { Commit::Lazy })
            .await
            .unwrap();
        if hard {
            self.machine.mark("durable", number);
        }
    }
}

/// One insert, delete or replace, whichever makes sense; what the record is then.
async fn work(
    transaction: &Transaction<'_>,
    index_in: u8,
    number: u32,
    version: u64,
    choice: u64,
    mine: Option<Option<u64>>,
) -> Result<Option<Option<u64>>, EngineError> {
    let (key, data) = (key(number), content(version));
    let entry = [folder(number), key.clone()].concat();
    transaction.lock(0, TABLE, &key)?;
    if mine == Some(None) {
        return Ok(None); // We have deleted it ourselves; the entry is still there.
    }
    let there = transaction.instance().read(0, TABLE, &key).await?.is_some();
    match (there, choice) {
        (false, _) => {
            transaction.insert(0, TABLE, &key, &data).await?;
            transaction
                .insert(index_in, INDEX, &folder(number), &key)
                .await?;
            Ok(Some(Some(version)))
        }
        (true, 0) => {
            transaction.delete(index_in, INDEX, &entry).await?;
            transaction.delete(0, TABLE, &key).await?;
            Ok(Some(None))
        }
        (true, _) => {
            transaction.replace(0, TABLE, &key, &data).await?;
            Ok(Some(Some(version)))
        }
    }
}

fn run(seed: u64, databases: u8, frames: &Frames) -> (Journal, Vec<State>) {
    let mut store = Store::new();
    for database in 0..databases.into() {
        tree_database(&mut store, &database_path(database));
    }
    let options_of_world = VirtualOptions {
        store,
        frames: frames.clone(),
        ..VirtualOptions::new(seed)
    };
    let mut virtual_world = VirtualWorld::new(options_of_world);
    let (world, machine) = (virtual_world.world.clone(), virtual_world.machine.clone());
    let history: History = Rc::new(RefCell::new(vec![State::new()]));
    machine.start_recording();
    let kept = Rc::clone(&history);
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, options(databases.into(), 512))
            .await
            .unwrap();
        let sessions: Vec<_> = (0..3)
            .map(|number| {
                let session = Session {
                    world: world.clone(),
                    machine: machine.clone(),
                    instance: instance.clone(),
                    history: Rc::clone(&kept),
                    draw: world.random.named(&format!("session/{number}")),
                    number,
                    index_in: databases - 1,
                };
                world.spawner.spawn(session.run())
            })
            .collect();
        for session in sessions {
            session.await;
        }
        instance.close().await.unwrap();
    });
    let journal = virtual_world.machine.stop_recording().unwrap();
    let states = history.borrow().clone();
    (journal, states)
}

/// All entries of a tree.
async fn scan(instance: &Instance<Bytes>, database: u8, tree: TreeId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = Cursor::before(tree, &[]);
    let mut entries = Vec::new();
    loop {
        let next = instance.look(database, |pages| {
            let mut tried = cursor.clone();
            let entry = tried.next(pages)?.map(|entry| {
                assert!(!entry.deleted, "a deleted entry was left behind");
                (entry.key.to_vec(), entry.data.to_vec())
            });
            Ok((entry, tried))
        });
        let (entry, moved) = next.await.unwrap();
        cursor = moved;
        match entry {
            Some(entry) => entries.push(entry),
            None => return entries,
        }
    }
}

/// What an image holds after recovery; all that was done to recover it and to close it.
fn recover(store: Store, databases: u8, frames: &Frames) -> (State, Journal) {
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        store,
        frames: frames.clone(),
        ..VirtualOptions::new(1)
    });
    let world = virtual_world.world.clone();
    virtual_world.machine.start_recording();
    let state = virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, options(databases.into(), 512))
            .await
            .expect("recovery");
        let mut state = State::new();
        for (key, data) in scan(&instance, 0, TABLE).await {
            let version = u64::from_le_bytes(*data.first_chunk().unwrap());
            assert!(data == content(version), "a record is a mixture");
            state.insert(u32::from_be_bytes(*key.first_chunk().unwrap()), version);
        }
        let index: Vec<u32> = scan(&instance, databases - 1, INDEX)
            .await
            .iter()
            .map(|(_, key)| u32::from_be_bytes(*key.first_chunk().unwrap()))
            .collect();
        let mut expected: Vec<u32> = state.keys().copied().collect();
        expected.sort_by_key(|number| (folder(*number), *number));
        assert_eq!(index, expected, "the index disagrees with the table");
        for database in 0..databases {
            let mut check = DatabaseCheck::new(&[TABLE, INDEX]);
            let checked = instance.look(database, |pages| match check.run(pages) {
                Ok(summary) => Ok(summary),
                Err(CheckStop::Need(need)) => Err(need),
                Err(fault) => panic!("the database is unsound: {fault:?}"),
            });
            checked.await.expect("checking after recovery");
        }
        instance.close().await.expect("closing after recovery");
        state
    });
    (state, virtual_world.machine.stop_recording().unwrap())
}

/// Cuts a recovery off somewhere, and recovers from that.
fn recover_twice(first: &Journal, databases: u8, draw: u64, frames: &Frames) -> State {
    let mut images = CrashImages::new(first);
    let cuts = images.cuts();
    let mut stream = Streams::new(draw).named("second crash");
    let cut = cuts[usize::try_from(stream.below(cuts.len() as u64)).unwrap()];
    let image = images.image(cut, Sample::nth(stream.below(20)));
    recover(image, databases, frames).0
}

fn search(seed: u64, databases: u8, every: usize, samples: u64) {
    let frames = Frames::in_memory();
    let (journal, states) = run(seed, databases, &frames);
    let mut images = CrashImages::new(&journal);
    for (round, cut) in (0..).zip(images.cuts().into_iter().step_by(every)) {
        let acknowledged = images.marks(cut).map(|mark| mark.number).max().unwrap_or(0);
        for number in 0..samples {
            let sample = Sample::nth(number + seed);
            let what = format!("seed {seed}, {databases} databases, cut {cut:?}, {sample:?}");
            let image = images.image(cut, sample);
            let recovered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let (state, journal) = recover(image, databases, &frames);
                let draw = seed << 40 | round << 8 | number;
                let again = recover_twice(&journal, databases, draw, &frames);
                assert_eq!(again, state, "the second recovery found another state");
                state
            }));
            let state = recovered.unwrap_or_else(|_| panic!("recovery failed: {what}"));
            let found = states.iter().rposition(|known| *known == state);
            let found = found.unwrap_or_else(|| panic!("not a state that ever was: {what}"));
            assert!(
                found as u64 >= acknowledged,
                "lost a commit ({found} < {acknowledged}): {what}"
            );
        }
    }
}

#[test]
fn every_crash_leaves_a_prefix_of_commits() {
    for seed in 1..4 {
        search(seed, 1, 9, 4);
    }
}

#[test]
fn and_so_in_two_databases_of_one_log() {
    for seed in 1..4 {
        search(seed, 2, 9, 4);
    }
}
