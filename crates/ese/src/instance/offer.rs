//! A page for another copy of the database, with the place in the log that it belongs to.
//!
//! ```text
//!   log    ......x.......x..........|        x  changes of the page
//!                                   '-- the page that is offered has every change before this position, and none after
//! ```
//!
//! The page comes from the cache, because its disk version may be any older one. It is copied
//! between two events, when no operation is half done, together with the end of the log. It leaves
//! only when that log is durable: no other copy may hold a change that a crash here would undo.

use brunt_units::{LogPosition, PageNumber};

use super::base::Base;
use super::database::Database;
use super::{Instance, Replayer};
use crate::cache::Trust;
use crate::content::Bytes;
use crate::error::EngineError;
use crate::format::checksum;
use crate::format::page::Page;
use crate::format::stamp::Signature;
use crate::page::Pages;

/// A page, as it may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOffer {
    /// The signature of its database.
    pub signature: Signature,
    /// It has every change before this position and none after.
    pub replayed: LogPosition,
    /// The page with its checksum.
    pub bytes: Vec<u8>,
}

impl Base<Bytes> {
    /// The page as it is at one moment, and what `end` says of that moment; `None` for a page that
    /// does not exist or is blank.
    async fn copied_page(
        &self,
        entry: &Database,
        page: PageNumber,
        end: impl FnOnce() -> LogPosition,
    ) -> Result<Option<PageOffer>, EngineError> {
        if !(1..=entry.pages.get()).contains(&page.0) {
            return Ok(None);
        }
        let pin = self.cache.fetch(entry.number, page, Trust::Verified).await?;
        let size = self.options.page_size;
        let (mut bytes, replayed) = {
            let pages = self.cache.pages(entry.number);
            let found = pages.resident(page).expect("it is pinned");
            (found.to_vec(), end())
        };
        drop(pin);
        // A frame that was claimed for a new page is blank until its first change.
        if Page::new(&bytes, size).database_time().0 == 0 {
            return Ok(None);
        }
        checksum::seal(&mut bytes, size, page);
        Ok(Some(PageOffer { signature: entry.header.borrow().signature, replayed, bytes }))
    }
}

impl Instance<Bytes> {
    /// A page for a copy of database number `database`. The log that it belongs to is durable, and
    /// in a file that is closed. `None` for a page that does not exist or is blank, and when the
    /// instance is being closed.
    ///
    /// # Errors
    /// [`EngineError::Page`] when the page is bad here as well; when the log cannot be written.
    pub async fn offer_page(
        &self,
        database: u8,
        page: PageNumber,
    ) -> Result<Option<PageOffer>, EngineError> {
        let Some(entry) = self.0.databases.get(usize::from(database)) else {
            return Ok(None);
        };
        let Some(_stay) = self.stay() else {
            return Ok(None);
        };
        let log = &self.0.log;
        let offer = self.0.copied_page(entry, page, || log.tail()).await?;
        if let Some(offer) = &offer {
            log.close_file(offer.replayed).await?;
        }
        Ok(offer)
    }

    /// Closes the log file of `position`, unless a later one is being written: a copy can then have
    /// all log before that position.
    ///
    /// # Errors
    /// [`EngineError::Stopped`] when the instance is being closed; when the log cannot be written.
    pub async fn close_log_file(&self, position: LogPosition) -> Result<(), EngineError> {
        let Some(_stay) = self.stay() else {
            return Err(EngineError::Stopped);
        };
        self.0.log.close_file(position).await
    }
}

impl Replayer {
    /// A page for the active, with all log that has been replayed. `None` for a page that does not
    /// exist or is blank, and before any log has been replayed.
    ///
    /// # Errors
    /// [`EngineError::Page`] when the page is bad here as well.
    pub async fn offer_page(
        &self,
        database: u8,
        page: PageNumber,
    ) -> Result<Option<PageOffer>, EngineError> {
        let entry = self.base.databases.get(usize::from(database));
        let (Some(entry), Some((_, end))) = (entry, self.last) else {
            return Ok(None);
        };
        if self.trust != Trust::Verified {
            return Ok(None);
        }
        // Nothing follows in its last segment.
        let end = self.base.options.log.next_border(end);
        self.base.copied_page(entry, page, || end).await
    }

    /// Whether a page is what was written last, and no newer than what has been replayed.
    ///
    /// # Errors
    /// [`EngineError::Page`] when it is not.
    pub async fn check_page(&self, database: u8, page: PageNumber) -> Result<(), EngineError> {
        let entry = self.base.database(database);
        let fetched = self.base.cache.fetch(entry.number, page, self.trust).await;
        fetched.map(drop)
    }
}
