//! Growing database files ahead of need.
//!
//! ```text
//!   a tree obtains an extent from the database root
//!        └─> is the root's largest extent now smaller than an extension?  ──> grow, while operations go on
//!   a tree finds no extent that fits                                      ──> grow, and the operation waits
//! ```
//!
//! The new part of the file is filled with zeros before its pages belong to the root. Otherwise the
//! first write of a page would make the file system convert an unwritten extent, and the measured
//! latency would include its metadata update. A database runs one growth at a time. An operation
//! that needs pages meanwhile waits for it and checks again.
//!
//! A file without trees, as in tests of cache and log, grows only on request.

use brunt_units::PageNumber;
use brunt_world::{Class, Io, IoError, Op, Segments};

use super::operate::Leave;
use super::{Base, Instance, database::Database};
use crate::cache::CachedPages;
use crate::content::{Bytes, Content};
use crate::error::EngineError;
use crate::format::page::Page;
use crate::log::{LogRecord, Role};
use crate::meter::Meters;
use crate::page::Pages;
use crate::policy::extension;
use crate::small_file::{file_error, name_error};
use crate::space::{self, Extents, Space, extent_pages};
use crate::tree::TreeId;

/// Zeros written at a time into the new part of a file, in bytes.
const CHUNK_BYTES: u64 = 256 << 10;

/// The input for the next growth decision.
#[derive(Clone, Copy, Debug)]
struct Supply {
    /// The last page owned by the root.
    last: PageNumber,
    /// Pages of the root's largest available extent.
    largest: u32,
    /// Pages to grow by.
    extension: u32,
}

impl Instance<Bytes> {
    /// Grows a database ahead of need until the instance closes.
    pub(crate) async fn run_growth(self, database: u8) -> Result<(), EngineError> {
        let entry = self.0.database(database);
        // Fails without a root, or if it cannot be read. Operations that need it report the error.
        let mut is_due = self.supply(database).await.is_ok();
        while !self.0.closing.get() {
            if is_due && let Ok(supply) = self.supply(database).await {
                let Supply { last, largest, extension } = supply;
                let more = extension::growth(last.0, largest, 0, extension);
                if more > 0 {
                    // Taken before the growth begins, because operations that wait for the growth
                    // hold permits.
                    let _permit = self.0.cache.operations().enter().await;
                    // An operation that still finds no pages retries and reports the error.
                    let _ = self.grow_by(database, more).await;
                }
            }
            is_due = self
                .0
                .changed
                .wait(|| {
                    let drawn_on = entry.is_drawn_on.replace(false);
                    (drawn_on || self.0.closing.get()).then_some(drawn_on)
                })
                .await;
        }
        Ok(())
    }

    /// Records whether `touched` includes space pages of the database root.
    pub(super) fn watch_root(&self, database: u8, pages: &CachedPages<'_>, touched: &[PageNumber]) {
        let is_root = |page: &PageNumber| {
            let bytes = pages.resident(*page).expect("it was just changed");
            Page::new(bytes, self.0.options.page_size).object() == TreeId::DATABASE.object
        };
        if touched.iter().any(is_root) {
            self.0.database(database).is_drawn_on.set(true);
            self.0.changed.notify();
        }
    }

    /// Reads the space trees of the database root.
    async fn supply(&self, database: u8) -> Result<Supply, EngineError> {
        let least = self.0.options.growth_pages;
        self.look(database, |pages| {
            let space = Space::of(pages, TreeId::DATABASE)?;
            let mut extents = Extents::of(pages, space.available)?;
            let mut largest = 0;
            while let Some(place) = extents.next()? {
                largest = place.extent.pages.max(largest);
            }
            let owned = Extents::of(pages, space.owned)?.sum()?;
            // Large enough for the largest extent that a tree of such a database asks for.
            let extension = least.max(extent_pages(owned));
            let last = space::last_page(pages)?;
            Ok(Supply { last, largest, extension })
        })
        .await
    }

    /// Grows a database by `pages` plus an extension, or waits for a growth in progress.
    ///
    /// # Errors
    /// When the volume is full or the file cannot be written.
    pub async fn grow(&self, database: u8, pages: u32) -> Result<(), EngineError> {
        let _permit = self.0.cache.operations().enter().await;
        self.grow_within(database, pages).await
    }

    /// [`Instance::grow`], for an operation that has a permit.
    pub(super) async fn grow_within(&self, database: u8, pages: u32) -> Result<(), EngineError> {
        let number = self.0.database(database).number;
        let count =
            |meters: &mut Meters| meters.databases[usize::from(number)].growth_stalls.tick();
        self.0.cache.meters().with(count);
        let last = self.last_owned(database).await?;
        let more = extension::growth(last.0, 0, pages, self.0.options.growth_pages);
        self.grow_by(database, more).await
    }

    /// Grows on behalf of a caller that has a permit.
    async fn grow_by(&self, database: u8, more: u32) -> Result<(), EngineError> {
        if !self.begin_growth(database).await {
            return Ok(());
        }
        let grown = self.extend(database, self.0.database(database), more).await;
        self.end_growth(database);
        grown
    }

    async fn last_owned(&self, database: u8) -> Result<PageNumber, EngineError> {
        self.look_with(Leave::Given, database, |pages| space::last_page(pages)).await
    }

    async fn extend(&self, database: u8, entry: &Database, more: u32) -> Result<(), EngineError> {
        let root = TreeId::DATABASE;
        let full = || file_error(&entry.path)(IoError::NoSpace);
        // Not the end of the file: a growth cut short by a crash may have left the file longer.
        let last = self.last_owned(database).await?;
        let pages = last.0.checked_add(more).filter(|_| more > 0);
        let pages = pages.ok_or_else(full)?;
        self.lengthen_logged(database, pages).await?;
        self.change_with(Leave::Given, database, 0, Role::System, |change| {
            space::grow(change, root, more)
        })
        .await?;
        Ok(())
    }
}

impl<C: Content> Instance<C> {
    /// Grows the file of a database without trees by `more` pages, or waits for a growth in
    /// progress.
    ///
    /// # Errors
    /// When the volume is full or the file cannot be written.
    pub(crate) async fn grow_file(&self, database: u8, more: u32) -> Result<(), EngineError> {
        if !self.begin_growth(database).await {
            return Ok(());
        }
        let entry = self.0.database(database);
        let full = || file_error(&entry.path)(IoError::NoSpace);
        let grown = match entry.pages.get().checked_add(more) {
            Some(pages) => self.lengthen_logged(database, pages).await,
            None => Err(full()),
        };
        self.end_growth(database);
        grown
    }

    /// True if a growth may begin. Otherwise one was in progress, and has ended.
    async fn begin_growth(&self, database: u8) -> bool {
        let entry = self.0.database(database);
        if !entry.growing.replace(true) {
            return true;
        }
        let ended = || (!entry.growing.get()).then_some(());
        self.0.changed.wait(ended).await;
        false
    }

    fn end_growth(&self, database: u8) {
        self.0.database(database).growing.set(false);
        self.0.changed.notify();
    }

    /// Extends the file to `pages` and logs it.
    async fn lengthen_logged(&self, database: u8, pages: u32) -> Result<(), EngineError> {
        let entry = self.0.database(database);
        self.0.lengthen(entry, pages).await?;
        let time = self.0.cache.time(entry.number).next();
        self.0.cache.advance_time(entry.number, time);
        let grow = LogRecord::Grow { database, time, pages };
        let start = self.append(&grow).start;
        self.0.cache.needs_sync(entry.number, start);
        Ok(())
    }
}

impl<C: Content> Base<C> {
    /// Extends the file to `pages` and fills the new part with zeros.
    pub(crate) async fn lengthen(&self, entry: &Database, pages: u32) -> Result<(), EngineError> {
        let size = self.options.page_size;
        let (from, to) = (entry.pages.get(), pages);
        if to <= from {
            return Ok(());
        }
        let mut at = PageNumber(from).after(1).offset(size);
        let end = PageNumber(to).offset(size) + size.bytes_u64();
        self.world.volume.allocate(entry.file, end).await.map_err(name_error(&entry.path))?;
        while at < end {
            let piece = CHUNK_BYTES.min(end - at);
            self.write_zeros(entry, at, piece).await.map_err(file_error(&entry.path))?;
            at += piece;
        }
        entry.pages.set(pages);
        self.cache.set_pages(entry.number, pages);
        Ok(())
    }

    async fn write_zeros(&self, entry: &Database, at: u64, bytes: u64) -> Result<(), IoError> {
        let size = self.options.page_size;
        let pages = 0..bytes.div_euclid(size.bytes_u64());
        let blank: Vec<_> = pages.map(|_| None).collect();
        let segments = Segments::from_buf([C::gathered(&self.world.frames, &blank, size)]);
        let io = Io::new(Class::Create, Op::Write, entry.file, at, segments);
        let written = self.world.disk.submit(io).await;
        let meters = self.cache.meters();
        meters.database(entry.number, |meters| &mut meters.growth, bytes, written.latency());
        written.result
    }
}
