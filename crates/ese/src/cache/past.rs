//! Reading pages past the cache, for maintenance and backup, so that they do not evict pages that
//! operations need.
//!
//! The disk may hold an older version than the cache, and while a write is in flight a mix of old
//! and new. So pages being read are watched. A page with a write in flight at any moment of the
//! read is *disturbed*, and its content means nothing. All others must be exactly what was written
//! last, and are checked like pages read for an operation.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

use brunt_stats::Meter;
use brunt_units::PageNumber;
use brunt_world::{Class, Io, IoError, Op, Segments};

use super::frames::Phase;
use super::{Cache, PageKey, State, Trust};
use crate::content::Content;
use crate::error::PageFault;
use crate::meter::DatabaseMeters;
use crate::policy::coalesce::Run;

/// A page as found on disk.
#[derive(Debug)]
pub(crate) enum OnDisk<P> {
    /// What was written last.
    Sound(P),
    /// All zeros, and never written as far as is known.
    Blank,
    /// A write of it was in flight during the read.
    Disturbed,
    /// Not what was written last.
    Bad(PageFault),
}

/// Purpose of a read past the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    /// The class of its I/O.
    pub(crate) class: Class,
    /// The meter that counts it.
    pub(crate) meter: fn(&mut DatabaseMeters) -> &mut Meter,
}

/// Pages being read, and those among them that were written meanwhile.
pub(super) struct Watch {
    database: u8,
    run: Run,
    written: RefCell<BTreeSet<PageNumber>>,
}

impl<C: Content> Cache<C> {
    /// Reads the pages of `run` in one I/O and checks each.
    ///
    /// # Errors
    /// When the I/O failed. For a run of several pages it is unknown which one caused it.
    pub(crate) async fn read_past(
        &self,
        database: u8,
        run: Run,
        reader: Reader,
    ) -> Result<Vec<OnDisk<C::Page>>, IoError> {
        let size = self.0.options.page_size;
        let watch = self.watch(database, run);
        let file = self.with_database(database, |entry| entry.file);
        let segments: Segments =
            run.pages().map(|_| C::blank(&self.0.world.frames, size)).collect();
        let offset = run.first.offset(size);
        let io = Io::new(reader.class, Op::Read, file, offset, segments);
        let done = self.0.world.disk.submit(io).await;
        let (bytes, latency) = (run.bytes(size), done.latency());
        self.0.meters.database(database, reader.meter, bytes, latency);
        if let Err(error) = done.result {
            if run.count > 1 {
                self.note_failed_run(database, run.first, error);
            }
            return Err(error);
        }
        let written = watch.written.borrow();
        let pages = run.pages().zip(done.segments);
        let judged = pages.map(|(page, segment)| match written.contains(&page) {
            true => OnDisk::Disturbed,
            false => self.judge_on_disk(PageKey { database, page }, C::arrived(segment)),
        });
        let judged: Vec<_> = judged.collect();
        let is_blank = |found: &&OnDisk<C::Page>| matches!(found, OnDisk::Blank);
        let blank = judged.iter().filter(is_blank).count() as u64 * size.bytes_u64();
        let meters = &self.0.meters;
        meters.with(|meters| meters.databases[usize::from(database)].blank.add(blank));
        Ok(judged)
    }

    fn judge_on_disk(&self, key: PageKey, page: C::Page) -> OnDisk<C::Page> {
        match self.judge(key, Ok(()), page, Trust::Verified) {
            Ok(page) => OnDisk::Sound(page),
            Err(PageFault::Uninitialised) if !self.was_written(key) => OnDisk::Blank,
            Err(fault) => OnDisk::Bad(fault),
        }
    }

    fn was_written(&self, key: PageKey) -> bool {
        self.with_database(key.database, |entry| entry.flush.flush_type(key.page) != 0)
    }

    /// The pages of `run` that are in the cache.
    pub(crate) fn cached(&self, database: u8, run: Run) -> BTreeSet<PageNumber> {
        let state = self.0.state.borrow();
        let find = |page: &PageNumber| {
            let page = *page;
            state.frames.find(PageKey { database, page }).is_some()
        };
        run.pages().filter(find).collect()
    }

    /// Waits until no write of the page is in flight.
    pub(crate) async fn landed(&self, database: u8, page: PageNumber) {
        self.0
            .progress
            .wait(|| {
                let state = self.0.state.borrow();
                (!state.is_writing(PageKey { database, page })).then_some(())
            })
            .await;
    }

    fn watch(&self, database: u8, run: Run) -> Rc<Watch> {
        let mut state = self.0.state.borrow_mut();
        let writing = |page: &PageNumber| {
            let page = *page;
            state.is_writing(PageKey { database, page })
        };
        let written = RefCell::new(run.pages().filter(writing).collect());
        let watch = Rc::new(Watch { database, run, written });
        state.watches.push(Rc::downgrade(&watch));
        watch
    }
}

impl<C: Content> State<C> {
    fn is_writing(&self, key: PageKey) -> bool {
        let frame = self.frames.find(key);
        frame.is_some_and(|frame| self.frames.phase(frame) == Phase::Writing)
            || self.mending.contains(&key)
    }
}

/// Marks `run` as being written for all reads past the cache.
pub(super) fn tell(watches: &mut Vec<Weak<Watch>>, database: u8, run: Run) {
    watches.retain(|watch| {
        let Some(watch) = watch.upgrade() else {
            return false;
        };
        if watch.database == database {
            let pages = run.pages().filter(|page| watch.run.contains(*page));
            watch.written.borrow_mut().extend(pages);
        }
        true
    });
}
