//! From a synchronous change of pages to an asynchronous operation.
//!
//! A piece of work looks at resident pages and changes them without waiting. When it needs something it says so before it
//! has changed anything; the need is fulfilled here, what was fetched stays pinned, and the work starts over. So there
//! are no latches, nothing is half changed while anybody waits, and every change is one log record.

use brunt_units::PageNumber;
use brunt_world::{Class, Io, Op, Segments};

use super::{Instance, database::Database};
use crate::cache::{CachedPages, Pin, Trust};
use crate::content::{Bytes, Content};
use crate::error::{EngineError, PageFault};
use crate::log::{LogRecord, Role, record};
use crate::page::{Change, Need};
use crate::small_file::{file_error, name_error};
use crate::space;
use crate::tree::{Step, TreeId};

/// Bytes written at a time into the new part of a file.
const GROWTH_CHUNK: u64 = 256 << 10;

/// Pages that a look keeps pinned.
const PINS_LOOKING: usize = 12;

/// How a try ended.
enum Try<T> {
    Done(T),
    Again,
    Need(Need),
}

impl Instance<Bytes> {
    /// Looks at a database's pages until `look` has seen what it wants.
    ///
    /// Of the pages that were fetched for it the newest few stay pinned: enough for any path through a tree. Whoever looks at
    /// more keeps what it has learned, as a cursor or a check does.
    ///
    /// # Errors
    /// When a page cannot be read or the instance has failed.
    pub async fn look<T>(
        &self,
        database: u8,
        mut look: impl FnMut(&CachedPages<'_>) -> Result<T, Need>,
    ) -> Result<T, EngineError> {
        let mut pins = Vec::new();
        loop {
            let seen = look(&self.0.cache.pages(self.database(database).number));
            match seen {
                Ok(value) => return Ok(value),
                Err(need) => self.fulfil(database, need, &mut pins).await?,
            }
            if pins.len() > PINS_LOOKING {
                pins.remove(0);
            }
        }
    }

    /// Changes a database's pages: `work` until it is done, each change of it as one log record, the last one under
    /// `role` for `transaction`, structural ones before it as the system's.
    ///
    /// # Errors
    /// When a page cannot be read, the log cannot be written or the database not grow.
    pub async fn change<T>(
        &self,
        database: u8,
        transaction: u32,
        role: Role<'_>,
        mut work: impl FnMut(&mut Change<'_, CachedPages<'_>>) -> Result<Step<T>, Need>,
    ) -> Result<T, EngineError> {
        let mut pins = Vec::new();
        loop {
            if let Some(error) = self.failure() {
                return Err(error);
            }
            self.0.log.room().await?;
            match self.attempt(database, transaction, role, &mut work) {
                Try::Done(value) => return Ok(value),
                Try::Again => {}
                Try::Need(need) => self.fulfil(database, need, &mut pins).await?,
            }
        }
    }

    fn attempt<T>(
        &self,
        database: u8,
        transaction: u32,
        role: Role<'_>,
        work: &mut impl FnMut(&mut Change<'_, CachedPages<'_>>) -> Result<Step<T>, Need>,
    ) -> Try<T> {
        let number = self.database(database).number;
        let mut pages = self.0.cache.pages(number);
        let mut change = Change::new(&mut pages);
        let (outcome, transaction, role) = match work(&mut change) {
            Ok(Step::Done(value)) => (Try::Done(value), transaction, role),
            Ok(Step::Again) => (Try::Again, 0, Role::System),
            Err(need) => {
                assert!(
                    change.is_empty(),
                    "a need is noticed before anything is changed"
                );
                return Try::Need(need);
            }
        };
        let changed = change.finish();
        drop(pages);
        if changed.touched.is_empty() {
            return outcome;
        }
        let mut spelled = Vec::with_capacity(changed.image.len() + 64);
        let image = &changed.image;
        record::encode(
            &LogRecord::Change {
                database,
                time: changed.time,
                transaction,
                role,
                image,
            },
            &mut spelled,
        );
        let appended = self.0.log.append(&spelled);
        self.0
            .cache
            .changed(number, &changed.touched, appended, changed.time);
        self.0
            .transactions
            .logged(transaction, appended.start, database, role);
        outcome
    }

    async fn fulfil(
        &self,
        database: u8,
        need: Need,
        pins: &mut Vec<Pin<Bytes>>,
    ) -> Result<(), EngineError> {
        let number = self.database(database).number;
        match need {
            Need::Page(page) => pins.push(self.0.cache.fetch(number, page, Trust::Verified).await?),
            Need::Fresh(page) => pins.push(self.0.cache.claim(number, page).await?),
            Need::Growth(pages) => Box::pin(self.grow(database, pages)).await?,
            Need::Repair(page) => {
                return Err(self.page_error(self.database(database), page, PageFault::Structure));
            }
        }
        Ok(())
    }

    /// Makes a database at least `pages` longer, or waits for whoever is doing it.
    ///
    /// # Errors
    /// When the volume is full or the file cannot be written.
    pub async fn grow(&self, database: u8, pages: u32) -> Result<(), EngineError> {
        let entry = self.database(database);
        if entry.growing.replace(true) {
            self.0
                .changed
                .wait(|| (!entry.growing.get()).then_some(()))
                .await;
            return Ok(());
        }
        let grown = self
            .extend(database, entry, pages.max(self.0.options.growth_pages))
            .await;
        entry.growing.set(false);
        self.0.changed.notify();
        grown
    }

    async fn extend(&self, database: u8, entry: &Database, more: u32) -> Result<(), EngineError> {
        let pages = entry.pages.get() + more;
        self.lengthen(entry, pages).await?;
        let time = self.0.cache.time(entry.number).next();
        let mut spelled = Vec::new();
        record::encode(
            &LogRecord::Grow {
                database,
                time,
                pages,
            },
            &mut spelled,
        );
        self.0.cache.advance_time(entry.number, time);
        self.0.log.append(&spelled);
        let root = TreeId::DATABASE;
        self.change(database, 0, Role::System, |change| {
            space::grow(change, root, more)
        })
        .await?;
        Ok(())
    }

    /// Makes the file `pages` long and writes zeros into the new part, so that no timed write meets an unwritten extent.
    pub(crate) async fn lengthen(&self, entry: &Database, pages: u32) -> Result<(), EngineError> {
        let size = self.0.options.page_size;
        let (from, to) = (entry.pages.get(), pages);
        if to <= from {
            return Ok(());
        }
        let (mut at, end) = (
            PageNumber(from + 1).offset(size),
            PageNumber(to + 1).offset(size),
        );
        self.0
            .world
            .volume
            .allocate(entry.file, end)
            .await
            .map_err(name_error(&entry.path))?;
        let zeros = vec![0; usize::try_from(GROWTH_CHUNK).expect("a chunk")];
        while at < end {
            let piece = GROWTH_CHUNK.min(end - at);
            let bytes = &zeros[..usize::try_from(piece).expect("a chunk")];
            let segments = Segments::from_buf([Bytes::outgoing(&self.0.world.frames, bytes)]);
            let written = self
                .0
                .world
                .disk
                .submit(Io::new(Class::Create, Op::Write, entry.file, at, segments))
                .await;
            written.result.map_err(file_error(&entry.path))?;
            at += piece;
        }
        entry.pages.set(pages);
        self.0.cache.set_pages(entry.number, pages);
        Ok(())
    }

    pub(crate) fn database(&self, database: u8) -> &Database {
        &self.0.databases[usize::from(database)]
    }
}
