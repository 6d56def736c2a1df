//! Redo without content, in the order and batches of [`crate::instance::recovery`].
//!
//! While the pages of one batch of changes are read ahead, the previous batch is replayed: its
//! pages are fetched one change after another, changed if they lack it, and evicted like other
//! dirty pages.

use brunt_units::{LogPosition, PageNumber};
use brunt_world::Class;

use super::journal::Noted;
use crate::cache::Trust;
use crate::content::Ghost;
use crate::error::EngineError;
use crate::instance::Base;
use crate::policy::preread::Changed;
use crate::small_file::read_whole;

/// Replays logged changes on databases.
pub(super) struct Redo<'b> {
    pub(super) base: &'b Base<Ghost>,
    pub(super) trust: Trust,
}

impl Redo<'_> {
    /// Reads a whole log file.
    pub(super) async fn read_log(&self, generation: u32) -> Result<(), EngineError> {
        let path = self.base.files.path_of(generation);
        read_whole(&self.base.world, Class::Recovery, &path).await.map(drop)
    }

    /// Replays changes on the pages that lack them, as `lacks` says; returns how many did.
    pub(super) async fn replay(
        &self,
        changes: &[Noted<'_>],
        lacks: impl Fn(u8, PageNumber, LogPosition) -> bool,
    ) -> Result<u64, EngineError> {
        let mut changed = 0;
        let (mut batch, mut later) = self.read_ahead(changes);
        while !batch.is_empty() {
            let (next, rest) = self.read_ahead(later);
            for change in batch {
                changed += self.repeat(change, &lacks).await?;
            }
            (batch, later) = (next, rest);
        }
        Ok(changed)
    }

    /// The next changes to replay, whose pages have been requested, and the changes after them.
    fn read_ahead<'r>(&self, changes: &'r [Noted<'r>]) -> (&'r [Noted<'r>], &'r [Noted<'r>]) {
        self.base.cache.preread_batch(changes, self.trust, |change, out| {
            let number = self.base.database(change.database).number;
            out.extend(change.pages.clone().map(|touched| Changed {
                page: (number, touched.page),
                is_fresh: touched.is_fresh,
            }));
        })
    }

    /// Brings the pages of a change up to date; returns how many lacked it.
    async fn repeat(
        &self,
        change: &Noted<'_>,
        lacks: impl Fn(u8, PageNumber, LogPosition) -> bool,
    ) -> Result<u64, EngineError> {
        let (cache, number) = (&self.base.cache, self.base.database(change.database).number);
        let mut pins = Vec::with_capacity(change.pages.len());
        let mut behind = Vec::with_capacity(change.pages.len());
        for touched in change.pages.clone() {
            pins.push(match touched.is_fresh {
                true => cache.claim(number, touched.page).await?,
                false => cache.fetch(number, touched.page, self.trust).await?,
            });
            if touched.is_fresh || lacks(change.database, touched.page, change.appended.start) {
                behind.push(touched.page);
            }
        }
        let time = cache.time(number).next();
        cache.changed(number, &behind, change.appended, time);
        Ok(behind.len() as u64)
    }
}
