//! From a synchronous change of pages to an asynchronous operation.
//!
//! An operation's closure looks at resident pages and changes them without waiting. When it needs
//! something, it says so before it has changed anything. This loop provides it, keeps fetched pages
//! pinned, and runs the closure again. So there are no latches, no operation waits in the middle of
//! a change, and every change is one log record.
//!
//! Operations that wait for frames while holding pins could deadlock a small cache. So an operation
//! takes a permit before it fetches anything, and permits are limited so that their pins always
//! leave free frames. An operation whose pages are all resident needs no permit. Growing a database
//! happens under the permit of the operation that needs it.

use super::Instance;
use crate::cache::{CachedPages, Pin, Trust};
use crate::content::Bytes;
use crate::error::{EngineError, PageFault};
use crate::log::{LogRecord, Role, record};
use crate::page::{Change, Need};
use crate::tree::{Step, TreeId};
use brunt_units::PageNumber;
use brunt_world::sync::Permit;

/// Pages that a look keeps pinned.
const PINS_LOOKING: usize = 12;

/// Whether an operation takes a permit before it pins anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// It does.
    Asked,
    /// It runs under another operation's permit.
    Given,
}

/// Limit on the steps one change may take to make room. Pages and extents for a split on every
/// level, and for the space trees of each owner, take a few hundred steps. Beyond that the
/// structure must be damaged.
const STEPS_MAX: u32 = 1000;

/// Limit on the file growths that one change may wait for. One growth brings enough, but other
/// operations may take the pages first. If the file keeps growing for the same change, something is
/// wrong.
const GROWTHS_MAX: u32 = 100;

/// What an operation keeps pinned, and its permit.
struct Hold {
    leave: Leave,
    permit: Option<Permit>,
    pins: Vec<Pin<Bytes>>,
}

impl Hold {
    fn new(leave: Leave) -> Self {
        Self { leave, permit: None, pins: Vec::new() }
    }
}

/// Outcome of one attempt.
enum Try<T> {
    Done(T),
    /// A step was made; this page was the last it touched.
    Again(PageNumber),
    Need(Need),
}

impl Instance<Bytes> {
    /// Looks at a database's pages until `look` succeeds.
    ///
    /// The newest few fetched pages stay pinned: enough for any path through a tree. A `look` at
    /// more pages must remember what it has seen, as a cursor or a check does.
    ///
    /// # Errors
    /// When a page cannot be read or the instance has failed.
    pub async fn look<T>(
        &self,
        database: u8,
        look: impl FnMut(&CachedPages<'_>) -> Result<T, Need>,
    ) -> Result<T, EngineError> {
        self.look_with(Leave::Asked, database, look).await
    }

    pub(super) async fn look_with<T>(
        &self,
        leave: Leave,
        database: u8,
        mut look: impl FnMut(&CachedPages<'_>) -> Result<T, Need>,
    ) -> Result<T, EngineError> {
        let mut hold = Hold::new(leave);
        loop {
            let seen = look(&self.0.cache.pages(self.0.database(database).number));
            match seen {
                Ok(value) => return Ok(value),
                Err(need) => self.fulfil(database, need, &mut hold).await?,
            }
            if hold.pins.len() > PINS_LOOKING {
                hold.pins.remove(0);
            }
        }
    }

    /// Changes a database's pages: runs `work` until it is done. Each change becomes one log
    /// record: the last with `role` for `transaction`, structural ones before it with the system's.
    ///
    /// # Errors
    /// When a page cannot be read, the log cannot be written or the database cannot grow;
    /// [`PageFault::Structure`] for the last changed page when the change takes too many steps.
    pub async fn change<T>(
        &self,
        database: u8,
        transaction: u32,
        role: Role<'_>,
        work: impl FnMut(&mut Change<'_, CachedPages<'_>>) -> Result<Step<T>, Need>,
    ) -> Result<T, EngineError> {
        self.change_with(Leave::Asked, database, transaction, role, work).await
    }

    pub(super) async fn change_with<T>(
        &self,
        leave: Leave,
        database: u8,
        transaction: u32,
        role: Role<'_>,
        mut work: impl FnMut(&mut Change<'_, CachedPages<'_>>) -> Result<Step<T>, Need>,
    ) -> Result<T, EngineError> {
        let mut hold = Hold::new(leave);
        let (mut steps, mut growths, mut last) = (0, 0, TreeId::DATABASE.root);
        while steps < STEPS_MAX && growths < GROWTHS_MAX {
            if let Some(error) = self.failure() {
                return Err(error);
            }
            self.0.log.room().await?;
            match self.attempt(database, transaction, role, &mut work) {
                Try::Done(value) => return Ok(value),
                Try::Again(touched) => {
                    (steps, last) = (steps + 1, touched);
                    // The next step needs other pages, and will find shared ones in memory.
                    hold.pins.clear();
                }
                Try::Need(need) => {
                    growths += u32::from(matches!(need, Need::Growth(_)));
                    self.fulfil(database, need, &mut hold).await?;
                }
            }
        }
        Err(self.0.page_error(self.0.database(database), last, PageFault::Structure))
    }

    fn attempt<T>(
        &self,
        database: u8,
        transaction: u32,
        role: Role<'_>,
        work: &mut impl FnMut(&mut Change<'_, CachedPages<'_>>) -> Result<Step<T>, Need>,
    ) -> Try<T> {
        let number = self.0.database(database).number;
        let mut pages = self.0.cache.pages(number);
        let claims = self.0.transactions.claims(database);
        let mut change = Change::new(&mut pages).with_claims(claims.as_deref());
        let (outcome, transaction, role) = match work(&mut change) {
            Ok(Step::Done(value)) => (Try::Done(value), transaction, role),
            Ok(Step::Again) => {
                let last = change.touched().last().copied();
                let last = last.unwrap_or(TreeId::DATABASE.root);
                (Try::Again(last), 0, Role::System)
            }
            Err(need) => {
                assert!(change.is_empty(), "a need is noticed before anything is changed");
                return Try::Need(need);
            }
        };
        let changed = change.finish();
        drop(claims);
        if matches!(outcome, Try::Again(_)) {
            // Extents leave the root in changes of their own.
            self.watch_root(database, &pages, &changed.touched);
        }
        drop(pages);
        if changed.touched.is_empty() {
            return outcome;
        }
        let mut spelled = Vec::with_capacity(changed.image.len() + 64);
        let image = &changed.image;
        record::encode(
            &LogRecord::Change { database, time: changed.time, transaction, role, image },
            &mut spelled,
        );
        let appended = self.0.log.append(&spelled);
        self.0.cache.changed(number, &changed.touched, appended, changed.time);
        self.0.transactions.logged(transaction, appended.start, database, role);
        outcome
    }

    /// Provides what the operation needs. After waiting for a permit it provides nothing: the page
    /// may belong to another operation by now, and claiming a page assumes that it is free.
    async fn fulfil(&self, database: u8, need: Need, hold: &mut Hold) -> Result<(), EngineError> {
        let number = self.0.database(database).number;
        if hold.leave == Leave::Asked && hold.permit.is_none() {
            hold.permit = Some(self.0.cache.operations().enter().await);
            return Ok(());
        }
        let cache = &self.0.cache;
        match need {
            Need::Page(page) => hold.pins.push(cache.fetch(number, page, Trust::Verified).await?),
            Need::Fresh(page) => hold.pins.push(cache.claim(number, page).await?),
            Need::Growth(pages) => {
                // Growth pins pages of its own.
                hold.pins.clear();
                Box::pin(self.grow_within(database, pages)).await?;
            }
            Need::Repair(page) => {
                return Err(self.0.page_error(
                    self.0.database(database),
                    page,
                    PageFault::Structure,
                ));
            }
        }
        Ok(())
    }
}
