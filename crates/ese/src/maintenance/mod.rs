//! Background maintenance: reads every page of a database again and again, slowly, to find bad ones before they are needed.
//!
//! [`crate::policy::scan`] sets its pace: a batch, a pause, the next batch. Its I/O is counted as maintenance, and
//! schedulers that use classes let operations go first. A batch is handled like this:
//!
//! ```text
//!   all pages cached          not read: cached pages were checked when they were read, and their disk version is old
//!   some pages not cached     one read of the whole batch; uncached pages are checked like pages an operation reads
//!   a write in flight         the page is left for the next pass
//!   all zero, never written   fine: space of the file that is not in use yet
//!   the read fails            each page on its own, to find the bad one
//! ```
//!
//! A bad page stops nothing. It is recorded, and an operation that needs it will get the same error, unless a copy of the
//! database can repair it ([`crate::patch`]).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::{PageNumber, Span, Time};
use brunt_world::Class;

use crate::cache::{OnDisk, Reader, Trust};
use crate::content::Content;
use crate::error::{EngineError, PageFault};
use crate::instance::Instance;
use crate::instance::database::Database;
use crate::policy::coalesce::Run;
use crate::policy::scan::{Scan, Throttle};

const READER: Reader = Reader {
    class: Class::Maintenance,
    meter: |meters| &mut meters.maintenance,
};

/// Findings of a scan so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Complete passes over the whole database.
    pub passes: u64,
    /// Pages checked.
    pub judged: u64,
    /// Pages not checked: cached, or being written.
    pub skipped: u64,
    /// Blank pages that were never written.
    pub blank: u64,
    /// Bad pages repaired from a copy.
    pub patched: u64,
    /// Bad pages, each with its latest error.
    pub bad: BTreeMap<PageNumber, EngineError>,
}

/// The scan of one database. It runs until the instance closes or fails.
#[derive(Clone, Debug)]
pub struct Maintenance(Rc<RefCell<Findings>>);

impl Maintenance {
    /// Findings so far.
    pub fn findings(&self) -> Findings {
        self.0.borrow().clone()
    }
}

impl<C: Content> Instance<C> {
    /// Starts the scan of a database.
    ///
    /// # Panics
    /// When the pause between batches is zero: a scan of cached pages would never yield.
    pub fn maintain(&self, database: u8, throttle: Throttle) -> Maintenance {
        assert!(throttle.sleep > Span::ZERO, "a scan without pauses");
        let findings = Rc::<RefCell<Findings>>::default();
        let scan = self
            .clone()
            .run_scan(database, throttle, Rc::clone(&findings));
        self.run_background(scan);
        Maintenance(findings)
    }

    async fn run_scan(
        self,
        database: u8,
        throttle: Throttle,
        findings: Rc<RefCell<Findings>>,
    ) -> Result<(), EngineError> {
        let entry = self.0.database(database);
        let now = || self.0.world.clock.now();
        let mut scan = Scan::new(throttle, self.0.options.page_size, now());
        while !self.0.closing.get() && self.failure().is_none() {
            match scan.take(now(), entry.pages.get()) {
                Some(run) => {
                    self.scan_batch(entry, run, &findings).await;
                    scan.finished(now());
                    findings.borrow_mut().passes = scan.passes();
                }
                None => self.pause(next_look(&scan, now(), throttle)).await,
            }
        }
        Ok(())
    }

    async fn scan_batch(&self, entry: &Database, run: Run, findings: &RefCell<Findings>) {
        let cached = self.0.cache.cached(entry.number, run);
        findings.borrow_mut().skipped += cached.len() as u64;
        if cached.len() == run.count as usize {
            return;
        }
        let read = self.0.cache.read_past(entry.number, run, READER).await;
        if let Ok(pages) = read {
            let pages = run.pages().zip(pages);
            for (page, found) in pages.filter(|(page, _)| !cached.contains(page)) {
                self.note(entry, page, found, findings).await;
            }
            return;
        }
        for page in run.pages().filter(|page| !cached.contains(page)) {
            let found = self.scan_page(entry, page).await;
            self.note(entry, page, found, findings).await;
        }
    }

    async fn scan_page(&self, entry: &Database, page: PageNumber) -> OnDisk<C::Page> {
        let run = Run {
            first: page,
            count: 1,
        };
        match self.0.cache.read_past(entry.number, run, READER).await {
            Ok(mut pages) => pages.pop().expect("one page was read"),
            Err(error) => OnDisk::Bad(PageFault::Device(error)),
        }
    }

    /// Records a page. A bad page is read once more as an operation would, which asks the copies, if there are any.
    async fn note(
        &self,
        entry: &Database,
        page: PageNumber,
        found: OnDisk<C::Page>,
        findings: &RefCell<Findings>,
    ) {
        let fault = {
            let mut findings = findings.borrow_mut();
            match found {
                OnDisk::Sound(_) => findings.judged += 1,
                OnDisk::Blank => findings.blank += 1,
                OnDisk::Disturbed => findings.skipped += 1,
                OnDisk::Bad(_) => findings.judged += 1,
            }
            match found {
                OnDisk::Bad(fault) => fault,
                _ => return,
            }
        };
        let is_mended = self.0.cache.has_copies() && {
            let again = self.0.cache.fetch(entry.number, page, Trust::Verified);
            again.await.is_ok()
        };
        let mut findings = findings.borrow_mut();
        findings.patched += u64::from(is_mended);
        let error = self.0.page_error(entry, page, fault);
        findings.bad.insert(page, error);
    }
}

/// When to look again. An empty file gives no batch even when one is due.
fn next_look(scan: &Scan, now: Time, throttle: Throttle) -> Time {
    if scan.due() > now {
        scan.due()
    } else {
        now + throttle.sleep
    }
}
