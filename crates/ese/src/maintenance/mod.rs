//! Background maintenance: reading every page of a database again and again, slowly, to find bad ones before they are needed.
//!
//! Its pace is [`crate::policy::scan`]: a batch, a pause, the next batch; its I/O is counted as maintenance and yields to
//! operations in whatever schedules by class. Of a batch:
//!
//! ```text
//!   all pages cached          not read at all: cached pages were judged when they came, and their disk version is old
//!   some pages not cached     one read of the whole batch; those not cached are judged like pages an operation reads
//!   a write in flight         the page is left for the next pass
//!   all zero, never written   fine: room of the file that is not in use yet
//!   the read fails            each page on its own, to find which it is
//! ```
//!
//! A bad page ends nothing. It is remembered, and whoever needs it will meet the same error, unless another copy of the
//! database puts it right ([`crate::patch`]).

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

/// What a scan has found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Passes over the whole database that are complete.
    pub passes: u64,
    /// Pages judged.
    pub judged: u64,
    /// Pages not judged: cached, or being written.
    pub skipped: u64,
    /// Pages that are blank and were never written.
    pub blank: u64,
    /// Times that a page was bad and is right now, thanks to another copy.
    pub patched: u64,
    /// Pages that were found bad, with the latest of what was wrong.
    pub bad: BTreeMap<PageNumber, EngineError>,
}

/// The scan of one database. It runs until the instance closes or fails.
#[derive(Clone, Debug)]
pub struct Maintenance(Rc<RefCell<Findings>>);

impl Maintenance {
    /// What it has found so far.
    pub fn findings(&self) -> Findings {
        self.0.borrow().clone()
    }
}

impl<C: Content> Instance<C> {
    /// Starts the scan of a database.
    ///
    /// # Panics
    /// When the pause between batches is zero: a scan of cached pages would never let anything else happen.
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

    /// Keeps account of a page. A bad one is read once more as an operation would, which asks the other copies, if there are
    /// any.
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

/// When to look again; an empty file gives no batch although one is due.
fn next_look(scan: &Scan, now: Time, throttle: Throttle) -> Time {
    if scan.due() > now {
        scan.due()
    } else {
        now + throttle.sleep
    }
}
