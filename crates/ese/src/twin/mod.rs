//! The twin: a table reduced to arithmetic, under the same cache, log, checkpoint and maintenance
//! as a real one.
//!
//! A server of terabytes does not fit in memory, and need not: the pages that an operation touches
//! follow from its key, and the bytes it logs from the sizes of records. So everything that
//! *decides* is the engine itself, driving [`Ghost`] pages; only the content of pages is replaced:
//!
//! ```text
//!    records   a leaf for every range of keys       leaves.rs    how full leaves are, and when one splits: urn.rs
//!    index     two ends of every folder             ends.rs
//!    bodies    a run of pages, new ones at the end
//!    space     extents from the space after them    supply.rs
//!    sizes     nodes on pages, records in the log   measure.rs, nodes.rs
//!    pages     what an operation changes            pages.rs
//!    redo      what a log changes                   journal.rs, redo.rs
//!    crash     what recovery reads and changes      recovery.rs
//!    copies    what a passive copy does             copy.rs
//! ```
//!
//! An operation makes its pages resident one after another, as the engine does. Then it logs and
//! changes them at once and commits. A delete removes what it has marked after its commit. A test
//! runs both on the same modelled storage and compares their reads, writes and log.
//!
//! **Branch pages** can be read and cached like all others, as in the engine, or count as always in
//! memory ([`Layout::reads_branches`]). The latter matches published tests whose databases have
//! more branch pages than the cache has frames.

mod copy;
mod ends;
mod journal;
mod leaves;
mod measure;
mod nodes;
mod pages;
mod recovery;
mod redo;
mod supply;
mod urn;

use std::cell::RefCell;
use std::rc::Rc;

use brunt_units::{LogPosition, PageNumber};
use brunt_world::World;
use brunt_world::random::Stream;

use crate::content::Ghost;
use crate::error::EngineError;
use crate::format::catalog::system::FIRST_USER_PAGE;
use crate::instance::Instance;
use crate::instance::transaction::Commit;
use crate::log::{Appended, FlushReason};
use crate::policy::extension;
pub use copy::TwinCopy;
use ends::Ends;
pub use journal::Journal;
use leaves::Leaves;
pub use measure::{LogRecords, Measure};
use pages::Held;
pub use recovery::{Elsewhere, Left, Reopening};
use supply::{Supply, Taker};

/// Root and two space trees of each of the three trees.
const ROOTS: u32 = 3;

/// The initial content of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Sizes of its records.
    pub measure: Measure,
    pub records: u64,
    /// Mean pages of a body besides its record.
    pub body_pages: f64,
    /// Folders of the index.
    pub folders: u32,
    /// Free pages after the trees.
    pub free_pages: u32,
    /// Whether branch pages are read like others, or are always in memory.
    pub reads_branches: bool,
}

/// A record as identified by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwinRecord {
    /// Its number in the order of insertion.
    pub number: u64,
    /// Key; keys are evenly distributed over all 64-bit numbers.
    pub key: u64,
    /// Length of its body in bytes.
    pub body: usize,
}

/// The table of one database; see the [module](self).
pub struct TwinTable {
    database: u8,
    /// The database's number in the cache.
    number: u8,
    layout: Layout,
    records: RefCell<Leaves>,
    ends: RefCell<Ends>,
    bodies: (PageNumber, u32),
    supply: RefCell<Supply>,
    random: RefCell<Stream>,
    /// The first page after the trees as loaded.
    loaded: PageNumber,
    journal: Option<Rc<RefCell<Journal>>>,
}

/// Location of a layout's trees.
struct Places {
    records: Leaves,
    bodies: (PageNumber, u32),
    ends: Ends,
    index_pages: u32,
    /// The first page after all trees.
    end: PageNumber,
}

impl Layout {
    fn places(&self) -> Places {
        let measure = &self.measure;
        let (record, entry) = (measure.record_cost(), measure.index_cost());
        let loaded = measure.loaded(record);
        let leaves = self.records.div_ceil(loaded.into());
        let first = FIRST_USER_PAGE.after(ROOTS);
        let fanout = measure.fanout(leaves);
        let records = Leaves::new(first, self.records, loaded, measure.full(record), fanout);
        let bodies = first.after(records.loaded_pages() + ROOTS);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float cast saturates, and a database has no more pages"
        )]
        let body_pages = (self.records as f64 * self.body_pages).ceil() as u32;
        let index = bodies.after(body_pages + ROOTS);
        let per_page = measure.loaded(entry);
        let ends = Ends::new(index, self.records, self.folders, per_page, measure.full(entry));
        let index_leaves = self.records.div_ceil(per_page.into());
        let index_pages = index_leaves + index_leaves.div_ceil(measure.fanout(index_leaves).into());
        let index_pages = u32::try_from(index_pages).expect("pages have 32-bit numbers");
        Places {
            records,
            bodies: (bodies, body_pages),
            ends,
            index_pages,
            end: index.after(index_pages),
        }
    }

    /// Pages of a database with only this table, for [`Instance::start_blank`].
    pub fn pages(&self) -> u32 {
        self.places().end.0 - 1 + self.free_pages
    }
}

impl TwinTable {
    /// The table of a database of `instance`, which was created with [`Layout::pages`] pages.
    pub fn new(world: &World, instance: &Instance<Ghost>, database: u8, layout: Layout) -> Self {
        let entry = instance.0.database(database);
        let Places { records, bodies, ends, index_pages, end } = layout.places();
        let owned = [records.loaded_pages(), bodies.1, index_pages];
        let name = format!("twin/{}", entry.path.display());
        Self {
            database,
            number: entry.number,
            layout,
            records: RefCell::new(records),
            ends: RefCell::new(ends),
            bodies,
            supply: RefCell::new(Supply::new(end, owned)),
            random: RefCell::new(world.random.named(&name)),
            loaded: end,
            journal: None,
        }
    }

    /// The same table, recording its changes in its instance's journal.
    #[must_use]
    pub fn noting(self, journal: Rc<RefCell<Journal>>) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// The journal that it records its changes in.
    pub fn journal(&self) -> Option<Rc<RefCell<Journal>>> {
        self.journal.clone()
    }

    /// Forgets recorded changes of its instance before `position`.
    pub fn forget_before(&self, position: LogPosition) {
        if let Some(journal) = &self.journal {
            journal.borrow_mut().forget_before(position);
        }
    }

    /// Takes the recorded changes of its instance.
    pub fn take_journal(&self) -> Journal {
        self.journal.as_ref().map(|journal| journal.take()).unwrap_or_default()
    }

    /// The database's number within its instance.
    pub fn database(&self) -> u8 {
        self.database
    }

    /// Reads a record, without its body.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub async fn read(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
    ) -> Result<(), EngineError> {
        self.descend(instance, record).await.map(drop)
    }

    /// Inserts a record and commits; `asked` hears where the commit ends in the log before it is
    /// waited for.
    ///
    /// # Errors
    /// When a page cannot be read, the log cannot be written, or the file cannot grow.
    pub async fn insert(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
        commit: Commit,
        asked: impl FnOnce(LogPosition),
    ) -> Result<(), EngineError> {
        instance.log().room().await?;
        let measure = &self.layout.measure;
        let mut held = Held::default();
        let mut bytes = 0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few pages")]
        let body_pages = measure.body_pages(record.body).ceil() as u32;
        for _ in 0..body_pages {
            self.fresh(instance, Taker::Bodies, &mut held).await?;
        }
        let leaf = self.leaf_of(instance, record, &mut held).await?;
        let splits = {
            let mut random = self.random.borrow_mut();
            self.records.borrow_mut().insert(record.key, &mut random)
        };
        if splits {
            bytes += measure.split_log(measure.record_cost());
            self.split(instance, leaf, &mut held).await?;
        }
        let behind = self.ends.borrow().behind_tail(record.number);
        bytes += measure.insert_log(record.body, behind);
        bytes += self.enter(instance, record.number, &mut held).await?;
        let end = self.change(instance, held, bytes).end;
        self.grow_ahead(instance);
        asked(end);
        finish(instance, end, commit).await
    }

    /// Deletes a record, commits, and then removes it; `asked` as for [`Self::insert`].
    ///
    /// # Errors
    /// When a page cannot be read or the log cannot be written.
    pub async fn delete(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
        commit: Commit,
        asked: impl FnOnce(LogPosition),
    ) -> Result<(), EngineError> {
        let measure = &self.layout.measure;
        let head = self.ends.borrow().head(record.number);
        let held = self.pages_of(instance, record, head).await?;
        let marked = self.change(instance, held, measure.delete_log(record.body));
        asked(marked.end);
        finish(instance, marked.end, commit).await?;
        let mut held = self.pages_of(instance, record, head).await?;
        let behind = self.ends.borrow().behind_head(record.number);
        let mut bytes = measure.clean_up_log(record.body, behind);
        let is_empty = {
            let mut random = self.random.borrow_mut();
            self.records.borrow_mut().delete(record.key, &mut random)
        };
        if is_empty {
            bytes += measure.unlink_log();
            self.unlink(instance, record, &mut held).await?;
        }
        self.change(instance, held, bytes);
        self.ends.borrow_mut().delete(record.number);
        Ok(())
    }

    /// Replaces a record by one of the same size and commits; `asked` as for [`Self::insert`].
    ///
    /// # Errors
    /// When a page cannot be read or the log cannot be written.
    pub async fn replace(
        &self,
        instance: &Instance<Ghost>,
        record: TwinRecord,
        commit: Commit,
        asked: impl FnOnce(LogPosition),
    ) -> Result<(), EngineError> {
        instance.log().room().await?;
        let mut held = Held::default();
        self.leaf_of(instance, record, &mut held).await?;
        self.body_of(instance, record, &mut held).await?;
        let bytes = self.layout.measure.replace_log(record.body);
        let end = self.change(instance, held, bytes).end;
        asked(end);
        finish(instance, end, commit).await
    }

    /// Logs `bytes` bytes, changes the pages and unpins them.
    fn change(&self, instance: &Instance<Ghost>, held: Held, bytes: usize) -> Appended {
        // No record is longer than a page plus its encoding.
        let most = self.layout.measure.page.bytes();
        let log = instance.log();
        let first = log.append(bytes.min(most));
        let mut appended = first;
        let mut left = bytes.saturating_sub(most);
        while left > 0 {
            let piece = left.min(most);
            appended.end = log.append(piece).end;
            left -= piece;
        }
        let time = instance.cache().time(self.number).next();
        instance.cache().changed(self.number, held.pages(), appended, time);
        if let Some(journal) = &self.journal {
            let mut journal = journal.borrow_mut();
            journal.note(appended, self.database, held.pages(), self.loaded);
        }
        appended
    }

    /// Extends the file in the background when less than one growth of pages is left.
    fn grow_ahead(&self, instance: &Instance<Ghost>) {
        let entry = instance.0.database(self.database);
        let pages = entry.pages.get();
        let room = self.supply.borrow().room(pages);
        let more = extension::growth(pages, room, 0, self.extension(instance));
        if more == 0 || entry.growing.get() {
            return;
        }
        let (own, database) = (instance.clone(), self.database);
        instance.run_background(async move {
            // An operation that still finds no pages grows the file itself, and reports the error.
            let _ = own.grow_file(database, more).await;
            Ok(())
        });
    }

    /// Extends the file, or waits for a growth in progress.
    async fn grow(&self, instance: &Instance<Ghost>) -> Result<(), EngineError> {
        let extension = self.extension(instance);
        instance.grow_file(self.database, extension).await
    }

    /// Pages to grow by, enough for the largest extent that a tree asks for.
    fn extension(&self, instance: &Instance<Ghost>) -> u32 {
        let largest = self.supply.borrow().largest();
        instance.options().growth_pages.max(largest)
    }
}

/// Commits what was logged before `end`.
async fn finish(
    instance: &Instance<Ghost>,
    end: LogPosition,
    commit: Commit,
) -> Result<(), EngineError> {
    match commit {
        Commit::Hard => instance.log().flushed(end, FlushReason::Commit).await,
        Commit::Lazy => {
            instance.log().lazy();
            Ok(())
        }
    }
}
