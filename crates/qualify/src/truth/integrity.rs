//! After the test: is every record there, as committed last, and no other?
//!
//! ```text
//!   whole:    every live record, by id, byte by byte; then all records are counted, which reveals any extra ones
//!   sampled:  records spread evenly over the order of insertion  +  changed ones that the oracle remembers
//!             +  recently deleted ones, which must be gone
//! ```
//!
//! The server was closed and is opened again with an empty cache, so this sees the storage and not
//! memory. Large databases are sampled, and reading stops when its time is up: ids are spread
//! evenly, so the records up to any id are a sample too. The result states the share of records
//! that were compared, and for how many of them the oracle knew the version. Of the others only the
//! bytes can be judged.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_run::{Listener, News, Stop};
use brunt_units::{Span, Time};
use brunt_workload::keys::{Extent, Record};
use brunt_world::World;

use crate::rules::RecordsVerified;
use crate::server::Server;
use crate::truth::oracle::{Finding, Findings};
use crate::truth::records::{Contents, IdOrder};
use crate::truth::survey;

/// Databases with at most this many records are compared whole.
const WHOLE_MAX: u64 = 1_000_000;
/// Records compared in larger ones, spread evenly over the order of insertion.
const SAMPLE: u64 = 100_000;
/// Changed records of the oracle that are compared as well, spread evenly over their keys.
const CHANGED: usize = 200_000;
/// Concurrent readers.
const READERS: usize = 32;
/// Records that a reader takes at a time: neighbours in the tree.
const TAKEN_AT_ONCE: usize = 32;

/// Reads the records of all databases and compares them, until `until` at the latest.
///
/// # Errors
/// When the engine cannot continue. A bad page is not such an error: its records count as lost.
pub async fn records(
    world: &World,
    server: &Rc<Server>,
    extents: &[Extent],
    until: Time,
    listener: &dyn Listener,
    stop: &Stop,
) -> Result<RecordsVerified, EngineError> {
    let mut all = RecordsVerified::default();
    let databases: Vec<Database> = extents
        .iter()
        .enumerate()
        .map(|(index, extent)| Database::new(server, index, extent))
        .collect();
    let total = databases.iter().map(|database| database.asked).sum();
    let count = databases.len() as u64;
    for (database, before_it) in databases.into_iter().zip(0..) {
        let before = all.checked;
        // What one does not need, the others share.
        let now = world.clock.now();
        let left = until.since(now);
        let until = now + Span(left.0.div_euclid(count - before_it));
        let going = |checked| {
            let done = before + checked;
            listener.tell(world.clock.now(), &News::VerifyingRecords { done, total });
            !stop.is_asked() && world.clock.now() < until
        };
        let found = database.compare(world, going).await?;
        all.add(&found);
    }
    Ok(all)
}

/// One database, and the records of it that are compared.
struct Database {
    server: Rc<Server>,
    index: usize,
    /// Number of live records.
    expected: u64,
    /// Number of records to compare.
    asked: u64,
    is_whole: bool,
    live: Rc<Queue>,
    deleted: Vec<Record>,
}

/// Records that readers take from.
type Queue = RefCell<Box<dyn Iterator<Item = Record>>>;

/// The results of all readers, and whether to go on.
struct Sum {
    checked: Cell<u64>,
    known: Cell<u64>,
    findings: RefCell<Findings>,
    going: Cell<bool>,
}

impl Database {
    fn new(server: &Rc<Server>, index: usize, extent: &Extent) -> Self {
        let table = &server.tables()[index];
        let contents = *table.contents();
        let mixer = contents.mixer();
        let expected = extent.next - extent.low - extent.gone.len() as u64;
        let is_whole = expected <= WHOLE_MAX;
        let oracle = table.oracle();
        let changed = match is_whole {
            true => Vec::new(),
            false => {
                let keys = oracle.changed();
                let step = keys.len().div_ceil(CHANGED).max(1);
                let numbers = keys.into_iter().step_by(step).map(|key| mixer.number(key));
                let mut numbers: Vec<u64> = numbers.collect();
                numbers.sort_unstable();
                numbers
            }
        };
        let deleted = oracle.deleted_lately();
        let deleted = deleted.map(|key| mixer.record(mixer.number(key))).collect();
        let wanted = if is_whole { expected } else { SAMPLE };
        let asked = expected.min(wanted + changed.len() as u64);
        Self {
            server: Rc::clone(server),
            index,
            expected,
            asked,
            is_whole,
            live: Rc::new(RefCell::new(in_order(&contents, extent, wanted, changed))),
            deleted,
        }
    }

    async fn compare(
        self,
        world: &World,
        mut tell: impl FnMut(u64) -> bool,
    ) -> Result<RecordsVerified, EngineError> {
        let sum = Rc::new(Sum {
            checked: Cell::new(0),
            known: Cell::new(0),
            findings: RefCell::default(),
            going: Cell::new(tell(0)),
        });
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                let (server, live) = (Rc::clone(&self.server), Rc::clone(&self.live));
                let read = read(server, self.index, live, Rc::clone(&sum));
                world.spawner.spawn(read)
            })
            .collect();
        while readers.iter().any(|reader| !reader.is_done()) {
            world.sleep(Span::millis(50)).await;
            sum.going.set(tell(sum.checked.get()));
        }
        for reader in readers {
            reader.await?;
        }
        let mut found = RecordsVerified {
            expected: self.expected,
            checked: sum.checked.get(),
            known: sum.known.get(),
            findings: *sum.findings.borrow(),
        };
        found.findings.phantom += match self.is_whole && found.checked == self.expected {
            true => self.uncalled_for(world, found.findings.lost).await?,
            false if sum.going.get() => self.undead().await?,
            false => 0,
        };
        Ok(found)
    }

    /// Counts records beyond those that must be there.
    async fn uncalled_for(&self, world: &World, lost: u64) -> Result<u64, EngineError> {
        match survey::count(world, &self.server, self.index).await {
            Ok(there) => Ok((there + lost).saturating_sub(self.expected)),
            // Unreadable pages were found before, and their records cannot be counted.
            Err(EngineError::Page { .. } | EngineError::Record { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Counts recently deleted records that are back.
    async fn undead(&self) -> Result<u64, EngineError> {
        let table = &self.server.tables()[self.index];
        let instance = self.server.instance_of(table);
        let mut undead = 0;
        for record in &self.deleted {
            let id = Contents::id(*record);
            match instance.read_message(table.messages(), id, false).await {
                Ok(Some(_)) => undead += 1,
                Ok(None) | Err(EngineError::Page { .. } | EngineError::Record { .. }) => {}
                Err(error) => return Err(error),
            }
            self.server.rest().await;
        }
        Ok(undead)
    }
}

/// About `wanted` of the live records, and those that have `changed`, in id order.
fn in_order(
    contents: &Contents,
    extent: &Extent,
    wanted: u64,
    changed: Vec<u64>,
) -> Box<dyn Iterator<Item = Record>> {
    let expected = extent.next - extent.low - extent.gone.len() as u64;
    let step = expected.div_ceil(wanted.max(1)).max(1);
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let count = expected.div_ceil(step as u64) + changed.len() as u64;
    let gone: Rc<[u64]> = extent.gone.clone().into();
    let live = (extent.low..extent.next).filter(move |number| gone.binary_search(number).is_err());
    let changed: Rc<[u64]> = changed.into();
    let apart = Rc::clone(&changed);
    let others = live.step_by(step).filter(move |number| apart.binary_search(number).is_err());
    let all = others.chain(Shared(changed, 0));
    Box::new(IdOrder::new(contents.mixer(), all, count))
}

/// Iterates over shared numbers; cloning copies none of them.
#[derive(Clone)]
struct Shared(Rc<[u64]>, usize);

impl Iterator for Shared {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let number = self.0.get(self.1).copied();
        self.1 += 1;
        number
    }
}

async fn read(
    server: Rc<Server>,
    index: usize,
    queue: Rc<Queue>,
    sum: Rc<Sum>,
) -> Result<(), EngineError> {
    let table = &server.tables()[index];
    let instance = server.instance_of(table);
    while sum.going.get() {
        let taken: Vec<Record> = queue.borrow_mut().by_ref().take(TAKEN_AT_ONCE).collect();
        if taken.is_empty() {
            return Ok(());
        }
        for record in taken {
            let id = Contents::id(record);
            let message = instance.read_message(table.messages(), id, true).await;
            let finding = match message {
                Ok(Some(message)) => table.compare(record, &message).err(),
                Ok(None) | Err(EngineError::Page { .. }) => Some(Finding::Lost),
                Err(EngineError::Record { .. }) => Some(Finding::Torn),
                Err(error) => return Err(error),
            };
            let is_known = table.oracle().version(record).is_some();
            sum.checked.set(sum.checked.get() + 1);
            sum.known.set(sum.known.get() + u64::from(is_known));
            finding.into_iter().for_each(|finding| sum.findings.borrow_mut().add(finding));
            server.rest().await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brunt_ese::format::stamp::{RunId, Signature, Stamp};
    use brunt_workload::content::Shape;

    use super::*;

    #[test]
    fn a_sample_has_every_changed_record_once() {
        let signature = Signature::ours(1, Stamp::from_unix_millis(7), RunId(9));
        let contents = Contents::new(&signature, Shape::JETSTRESS);
        let extent = Extent { low: 1_000, next: 11_000, gone: vec![1_001, 1_002, 5_000] };
        let changed: Vec<u64> = (2_000..2_300).collect();
        let records: Vec<Record> = in_order(&contents, &extent, 500, changed.clone()).collect();
        let ids = records.iter().map(|record| Contents::id(*record));
        assert!(ids.is_sorted_by(|one, next| one < next), "each once");
        let numbers: BTreeSet<u64> = records.iter().map(|record| record.number).collect();
        assert!(changed.iter().all(|number| numbers.contains(number)));
        assert!(extent.gone.iter().all(|number| !numbers.contains(number)));
        assert!((750..=800).contains(&numbers.len()), "{}", numbers.len());
        let whole = in_order(&contents, &extent, 9_997, Vec::new());
        assert_eq!(whole.count(), 9_997);
    }
}
