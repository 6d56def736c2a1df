//! Which records a database holds, found by walking its table.
//!
//! A database of an earlier run comes without a list of its records. Their numbers follow from
//! their ids, so one pass over the records' tree finds the live ones. Bodies are not read, except a
//! few that show whether they were made with this scenario's settings. The same pass counts records
//! after a test.
//!
//! The ids are cut into ranges that are walked concurrently, so that storage sees more than one
//! read at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_ese::instance::messages::MessageTable;
use brunt_ese::page::{Need, Pages};
use brunt_ese::table::message::{Message, primary_key};
use brunt_ese::tree::{Cursor, TreeId};
use brunt_run::{Listener, News};
use brunt_units::Span;
use brunt_workload::keys::{Extent, Population};
use brunt_world::World;

use crate::error::RunError;
use crate::server::Server;
use crate::truth::records::{Compared, Contents, StoredFields};

/// Ranges walked concurrently.
const RANGES: u64 = 16;
/// Records visited before other tasks run, and their cost on a modelled core.
const TURN: (u32, Span) = (64, Span::micros(20));

/// Records of a database whose bytes are checked, at most.
const SAMPLED: u64 = 64;
/// If this many of them are wrong, the database was made with other `[records]`. A single one may
/// be damage, which the test must judge.
const SAMPLED_WRONG: u64 = 2;

/// The populations of all databases.
///
/// # Errors
/// [`RunError::Unreadable`] when a database holds foreign records, [`RunError::OtherRecords`] when
/// they are ours but their bytes differ from what this scenario makes; the engine's error.
pub async fn survey(
    world: &World,
    server: &Rc<Server>,
    listener: &dyn Listener,
) -> Result<Vec<Population>, RunError> {
    let mut populations = Vec::new();
    for table in server.tables() {
        let instance = server.instance_of(table);
        let messages = table.messages();
        let contents = *table.contents();
        let found = Rc::new(RefCell::new(NumberSet::default()));
        let strange = Rc::new(Cell::new(false));
        let tree = messages.trees().records;
        let mut tasks = Vec::new();
        for range in 0..RANGES {
            let (found, strange) = (Rc::clone(&found), Rc::clone(&strange));
            let see = move |message: &Message<'_>| {
                let record = contents.record(message.id);
                let ours = message.folder == Contents::folder(record)
                    && message.received == Contents::received(record);
                match ours {
                    true => found.borrow_mut().insert(record.number),
                    false => strange.set(true),
                }
            };
            let walk = walk(world.clone(), instance.clone(), messages.database, tree, range, see);
            tasks.push(world.spawner.spawn(walk));
        }
        for task in tasks {
            task.await?;
            let records = found.borrow().len;
            listener.tell(world.clock.now(), &News::Surveying { records });
        }
        let path = &instance.databases()[usize::from(messages.database)].path;
        if strange.get() {
            return Err(RunError::Unreadable(path.clone()));
        }
        let extent = found.borrow().extent();
        let (wrong, seen) = sample(instance, messages, &contents, &extent).await?;
        if wrong >= SAMPLED_WRONG {
            let path = path.clone();
            return Err(RunError::OtherRecords { path, wrong, seen });
        }
        populations.push(Population::restore(contents.mixer(), &extent));
    }
    Ok(populations)
}

/// Checks evenly spread records of a database; returns how many do not hold what `contents` makes,
/// and how many were checked. Unreadable ones are left to the verification.
async fn sample(
    instance: &Instance<Bytes>,
    messages: &MessageTable,
    contents: &Contents,
    extent: &Extent,
) -> Result<(u64, u64), EngineError> {
    let step = (extent.next - extent.low).div_ceil(SAMPLED).max(1);
    let numbers = (extent.low..extent.next).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let live = numbers.filter(|number| extent.gone.binary_search(number).is_err());
    let (mut wrong, mut seen) = (0, 0);
    for number in live {
        let record = contents.mixer().record(number);
        let id = Contents::id(record);
        let message = match instance.read_message(messages, id, true).await {
            Ok(Some(message)) => message,
            Ok(None) | Err(EngineError::Page { .. } | EngineError::Record { .. }) => continue,
            Err(error) => return Err(error),
        };
        let stored = StoredFields::from(&message);
        seen += 1;
        wrong += u64::from(contents.compare(record, &stored) == Compared::Wrong);
    }
    Ok((wrong, seen))
}

/// Counts the records of one database.
///
/// # Errors
/// The engine's error.
pub async fn count(world: &World, server: &Server, index: usize) -> Result<u64, EngineError> {
    let table = &server.tables()[index];
    let instance = server.instance_of(table);
    let (database, tree) = (table.messages().database, table.messages().trees().records);
    let counted = Rc::new(Cell::new(0));
    let mut tasks = Vec::new();
    for range in 0..RANGES {
        let counted = Rc::clone(&counted);
        let see = move |_: &Message<'_>| counted.set(counted.get() + 1);
        let walk = walk(world.clone(), instance.clone(), database, tree, range, see);
        tasks.push(world.spawner.spawn(walk));
    }
    for task in tasks {
        task.await?;
    }
    Ok(counted.get())
}

/// Passes every message of one range of ids to `see`.
async fn walk(
    world: World,
    instance: Instance<Bytes>,
    database: u8,
    tree: TreeId,
    range: u64,
    mut see: impl FnMut(&Message<'_>),
) -> Result<(), EngineError> {
    let (first, last) = ids(range);
    let end = primary_key(last);
    let mut cursor = Cursor::before(tree, &primary_key(first));
    loop {
        let look = instance.look(database, |pages| {
            for _ in 0..TURN.0 {
                let Some(entry) = cursor.next(pages)? else {
                    return Ok(true);
                };
                if entry.key.compare(&end).is_gt() {
                    return Ok(true);
                }
                if entry.deleted {
                    continue;
                }
                match Message::decode(entry.data, pages.page_size()) {
                    Ok(message) => see(&message),
                    Err(_) => return Err(Need::Repair(entry.page)),
                }
            }
            Ok(false)
        });
        if look.await? {
            return Ok(());
        }
        world.clock.spend(TURN.1).await;
    }
}

/// The first and last id of a range.
fn ids(range: u64) -> (i64, i64) {
    let width = u64::MAX.div_euclid(RANGES) + 1;
    let id = |place: u64| (place ^ (1 << 63)).cast_signed();
    (id(range * width), id(range * width + (width - 1)))
}

/// A set of numbers, most of them neighbours: one bit each, in blocks that exist only where needed.
#[derive(Clone, Debug, Default)]
struct NumberSet {
    blocks: BTreeMap<u64, Box<[u64; WORDS]>>,
    len: u64,
}

const WORDS: usize = 512;
const BLOCK: u64 = 64 * WORDS as u64;

impl NumberSet {
    fn insert(&mut self, number: u64) {
        let block = self.blocks.entry(number.div_euclid(BLOCK));
        let words = block.or_insert_with(|| Box::new([0; WORDS]));
        let (word, bit) = place(number);
        self.len += u64::from(words[word] & bit == 0);
        words[word] |= bit;
    }

    fn has(&self, number: u64) -> bool {
        let words = self.blocks.get(&number.div_euclid(BLOCK));
        let (word, bit) = place(number);
        words.is_some_and(|words| words[word] & bit != 0)
    }

    /// The numbers as an interval with gaps.
    fn extent(&self) -> Extent {
        let within = |block: u64| block * BLOCK..block.saturating_mul(BLOCK).saturating_add(BLOCK);
        let first = self.blocks.keys().next().copied().map(within);
        let low = first.and_then(|mut block| block.find(|number| self.has(*number)));
        let last = self.blocks.keys().next_back().copied().map(within);
        let high = last.and_then(|block| block.rev().find(|number| self.has(*number)));
        let (Some(low), Some(high)) = (low, high) else {
            return Extent::default();
        };
        Extent {
            low,
            next: high + 1,
            gone: (low..high).filter(|number| !self.has(*number)).collect(),
        }
    }
}

fn place(number: u64) -> (usize, u64) {
    let within = number.rem_euclid(BLOCK);
    let word = usize::try_from(within.div_euclid(64)).expect("within a block");
    (word, 1 << within.rem_euclid(64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_and_cover_every_id() {
        assert_eq!(ids(0).0, i64::MIN);
        assert_eq!(ids(RANGES - 1).1, i64::MAX);
        for range in 1..RANGES {
            assert_eq!(ids(range).0, ids(range - 1).1 + 1);
        }
    }

    #[test]
    fn a_set_becomes_an_interval_with_gaps() {
        let mut set = NumberSet::default();
        let live = (BLOCK - 5..3 * BLOCK).filter(|number| number % 1_000 != 7);
        let live: Vec<u64> = live.collect();
        for number in live.iter().rev() {
            set.insert(*number);
            set.insert(*number);
        }
        assert_eq!(set.len, live.len() as u64);
        let extent = set.extent();
        assert_eq!((extent.low, extent.next), (live[0], live[live.len() - 1] + 1));
        let restored: Vec<u64> = (extent.low..extent.next)
            .filter(|number| extent.gone.binary_search(number).is_err())
            .collect();
        assert_eq!(restored, live);
        assert_eq!(NumberSet::default().extent(), Extent::default());
    }
}
