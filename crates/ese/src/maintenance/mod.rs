//! Background maintenance: reads every page of a database again and again, slowly, to find bad ones
//! before they are needed.
//!
//! [`crate::policy::scan`] sets its pace: a batch, a pause, the next batch. Its I/O is counted as
//! maintenance, and schedulers that use classes let operations go first. A batch is handled like
//! this:
//!
//! ```text
//!   all pages cached          not read: cached pages were checked when they were read, and their disk version is old
//!   some pages not cached     one read of the whole batch; uncached pages are checked like pages an operation reads
//!   a write in flight         the page is left for the next pass
//!   all zero, never written   fine: space of the file that is not in use yet
//!   the read fails            each page on its own, to find the bad one
//! ```
//!
//! A bad page stops nothing. It is recorded, and an operation that needs it will get the same
//! error, unless a copy of the database can repair it ([`crate::patch`]).
//!
//! A passive copy is scanned like an active, through its own cache: while its [`Replayer`] lives,
//! and from where it was when that is opened again. Pages that are being replayed are cached, and
//! so they are left to redo.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::{PageNumber, PageSize, Span, Time};
use brunt_world::Class;

use crate::cache::{OnDisk, Reader, Trust};
use crate::content::Content;
use crate::error::{EngineError, PageFault};
use crate::instance::beside::Beside;
use crate::instance::database::Database;
use crate::instance::{Base, Instance, Replayer};
use crate::policy::coalesce::Run;
use crate::policy::scan::{Scan, Throttle};

const READER: Reader =
    Reader { class: Class::Maintenance, meter: |meters| &mut meters.maintenance };

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

/// The scan of one database. It runs until the instance closes or fails, or until the replayer
/// ends. A clone is another handle.
#[derive(Clone, Debug)]
pub struct Maintenance(Rc<Shared>);

#[derive(Debug)]
struct Shared {
    throttle: Throttle,
    scan: RefCell<Scan>,
    findings: RefCell<Findings>,
}

impl Maintenance {
    /// A scan of a database with pages of `size`; its first pass begins `now`.
    ///
    /// # Panics
    /// When the pause between batches is zero: a scan of cached pages would never yield.
    pub fn new(throttle: Throttle, size: PageSize, now: Time) -> Self {
        assert!(throttle.sleep > Span::ZERO, "a scan without pauses");
        Self(Rc::new(Shared {
            throttle,
            scan: RefCell::new(Scan::new(throttle, size, now)),
            findings: RefCell::default(),
        }))
    }

    /// Notes that a bad page was replaced by that of another copy.
    pub fn patched(&self, page: PageNumber) {
        let mut findings = self.0.findings.borrow_mut();
        if findings.bad.remove(&page).is_some() {
            findings.patched += 1;
        }
    }

    /// Findings so far.
    pub fn findings(&self) -> Findings {
        self.0.findings.borrow().clone()
    }
}

impl<C: Content> Instance<C> {
    /// Starts the scan of a database.
    ///
    /// # Panics
    /// As [`Maintenance::new`].
    pub fn maintain(&self, database: u8, throttle: Throttle) -> Maintenance {
        let base = &self.0.base;
        let now = base.world.clock.now();
        let maintenance = Maintenance::new(throttle, base.options.page_size, now);
        let scan = maintenance.over(base, database);
        let instance = self.clone();
        self.run_background(async move {
            while !instance.0.closing.get() && instance.failure().is_none() {
                if let Some(next) = scan.step().await {
                    instance.pause(next).await;
                }
            }
            Ok(())
        });
        maintenance
    }
}

impl Replayer {
    /// Lets the scan of a database go on until the replayer ends or fails.
    ///
    /// # Panics
    /// Before [`Replayer::catch_up`]: until then pages may be torn or newer than what has been
    /// replayed.
    pub fn maintain(&self, database: u8, maintenance: &Maintenance) {
        assert_eq!(self.trust(), Trust::Verified, "the log is not replayed yet");
        maintenance.run_beside(&self.base, self.beside(), database);
    }
}

impl Maintenance {
    /// Lets the scan of a database go on beside redo, until that ends or fails.
    pub(crate) fn run_beside<C: Content>(&self, base: &Rc<Base<C>>, beside: &Beside, database: u8) {
        let (scan, base) = (self.over(base, database), Rc::clone(base));
        let world = base.world.clone();
        beside.run(&world, |running| async move {
            while !running.are_over() && base.cache.failure().is_none() {
                if let Some(next) = scan.step().await {
                    running.pause(&base.world, next).await;
                }
            }
        });
    }

    fn over<C: Content>(&self, base: &Rc<Base<C>>, database: u8) -> Scanning<C> {
        Scanning { base: Rc::clone(base), database, shared: Rc::clone(&self.0) }
    }
}

/// A scan at work on a database.
struct Scanning<C: Content> {
    base: Rc<Base<C>>,
    database: u8,
    shared: Rc<Shared>,
}

impl<C: Content> Scanning<C> {
    /// Reads and checks the next batch if it is due; else says when to look again.
    async fn step(&self) -> Option<Time> {
        let now = || self.base.world.clock.now();
        let (entry, scan) = (self.base.database(self.database), &self.shared.scan);
        let taken = scan.borrow_mut().take(now(), entry.pages.get());
        let Some(run) = taken else {
            return Some(next_look(&scan.borrow(), now(), self.shared.throttle));
        };
        self.batch(entry, run).await;
        let mut scan = scan.borrow_mut();
        scan.finished(now());
        self.shared.findings.borrow_mut().passes = scan.passes();
        None
    }

    async fn batch(&self, entry: &Database, run: Run) {
        let cached = self.base.cache.cached(entry.number, run);
        self.shared.findings.borrow_mut().skipped += cached.len() as u64;
        if cached.len() == run.count as usize {
            return;
        }
        let read = self.base.cache.read_past(entry.number, run, READER).await;
        if let Ok(pages) = read {
            let pages = run.pages().zip(pages);
            for (page, found) in pages.filter(|(page, _)| !cached.contains(page)) {
                self.note(entry, page, found).await;
            }
            return;
        }
        for page in run.pages().filter(|page| !cached.contains(page)) {
            let found = self.page(entry, page).await;
            self.note(entry, page, found).await;
        }
    }

    async fn page(&self, entry: &Database, page: PageNumber) -> OnDisk<C::Page> {
        let run = Run { first: page, count: 1 };
        match self.base.cache.read_past(entry.number, run, READER).await {
            Ok(mut pages) => pages.pop().expect("one page was read"),
            Err(error) => OnDisk::Bad(PageFault::Device(error)),
        }
    }

    /// Records a page. A bad page is read once more as an operation would, which asks the copies,
    /// if there are any.
    async fn note(&self, entry: &Database, page: PageNumber, found: OnDisk<C::Page>) {
        let fault = {
            let mut findings = self.shared.findings.borrow_mut();
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
        let is_mended = self.base.cache.has_copies() && {
            let again = self.base.cache.fetch(entry.number, page, Trust::Verified);
            again.await.is_ok()
        };
        let mut findings = self.shared.findings.borrow_mut();
        findings.patched += u64::from(is_mended);
        let error = self.base.page_error(entry, page, fault);
        findings.bad.insert(page, error);
    }
}

/// When to look again. An empty file gives no batch even when one is due.
fn next_look(scan: &Scan, now: Time, throttle: Throttle) -> Time {
    if scan.due() > now { scan.due() } else { now + throttle.sleep }
}
