//! Redo: bringing pages up to the log, one generation after another.
//!
//! Redo reads the log from the checkpoint and writes the recorded bytes into pages that lack them.
//! A page's time tells what it has: at the record's *before* time it lacks the change, at or past
//! the record's time it has it, and anything else means a lost write. Two kinds of pages are
//! rebuilt without trusting that time: pages that a record begins anew, and pages whose last
//! write was torn (see [`crate::page`] for why that works, and `assay` for telling them from rotten
//! ones). Comparing pages with the log finds pages that were torn although their checksum is valid
//! (`mixtures`).
//!
//! ```text
//!   open: these generations are there      feed ... feed | feed ... finish
//!                                        pages may be    '-- what the crash left has been judged;
//!                                        as new as the       pages are at the log's end
//!                                        last of these
//! ```
//!
//! A crash leaves pages of any version up to the end of the log that existed at opening, so
//! suspicious pages are judged when redo reaches that end. A page that is still torn then is
//! rotten. A page newer than the log means that part of the log is missing.

use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber};
use brunt_world::Class;

use super::database::Database;
use super::replayer::Replayer;
use super::transactions::{Node, Undo};
use crate::cache::Pin;
use crate::content::Bytes;
use crate::error::{EngineError, PageFault};
use crate::format::page::Page;
use crate::log::reader::{Generation, Located};
use crate::log::{Appended, LogRecord, Role};
use crate::page::{PageChange, PageChanges, Pages};
use crate::policy::preread::Changed;
use crate::small_file::read_whole;

impl Replayer {
    /// Replays a generation, the successor of the last one.
    ///
    /// # Errors
    /// When a page cannot be brought up to date.
    pub(super) async fn replay_generation(
        &mut self,
        generation: u32,
        log: &Generation,
    ) -> Result<(), EngineError> {
        let end = log.end();
        self.arrived.0.set(end.max(self.arrived.0.get()));
        self.report.generations += 1;
        let (_, all) = self.base.replayed.get();
        self.base.replayed.set((self.report.generations, all));
        let from = self.from;
        let records = log.records().filter(|record| record.start >= from);
        let records: Vec<Located<'_>> = records.collect();
        let (mut batch, mut later) = self.read_ahead(&records);
        while !batch.is_empty() {
            let (next, rest) = self.read_ahead(later);
            for record in batch {
                self.replay(record, generation).await?;
            }
            (batch, later) = (next, rest);
        }
        self.last = Some((generation, end));
        Ok(())
    }

    /// Called when the log left by a crash has been replayed: no page may still be torn, or newer
    /// than the log.
    pub(super) async fn judge(&self) -> Result<(), EngineError> {
        for database in &self.base.databases {
            // Pages still arriving are read with the lenient trust of recovery, so they must arrive
            // before torn pages are judged.
            self.base.cache.end_preread(database.number).await;
        }
        self.check_rebuilt()?;
        self.check_times()?;
        self.check_frames()
    }

    /// Checks the structure of pages in memory after redo. Evicted pages are checked when they are
    /// read.
    fn check_frames(&self) -> Result<(), EngineError> {
        for database in &self.base.databases {
            let numbers = self.base.cache.resident_pages(database.number);
            let pages = self.base.cache.pages(database.number);
            for page in numbers {
                let Ok(bytes) = pages.resident(page) else {
                    continue;
                };
                if Page::new(bytes, self.base.options.page_size).check_frame().is_err() {
                    return Err(self.base.page_error(database, page, PageFault::Structure));
                }
            }
        }
        Ok(())
    }

    /// Checks that no page is newer than the log: pages are written only after their log is
    /// durable.
    fn check_times(&self) -> Result<(), EngineError> {
        for (number, (has, page)) in &self.newest_page {
            let database = self.base.database(*number);
            if *has > self.base.cache.time(database.number) {
                return Err(self.base.page_error(database, *page, PageFault::TooNew));
            }
        }
        Ok(())
    }

    pub(super) async fn read_generation(&self, generation: u32) -> Result<Generation, EngineError> {
        let path = self.base.files.path_of(generation);
        let bytes = read_whole(&self.base.world, Class::Recovery, &path).await?;
        let at = LogPosition::start_of(generation);
        match Generation::read(&bytes) {
            Ok(log) if log.header.generation == generation => Ok(log),
            Ok(_) => Err(EngineError::LogCorrupt { path, at, what: "it is another generation" }),
            Err(_) => Err(EngineError::LogCorrupt { path, at, what: "its header cannot be read" }),
        }
    }

    /// A generation's first record must name the end of the previous generation, as it was read.
    pub(super) fn check_link(&self, log: &Generation) -> Result<(), EngineError> {
        let Some((before, end)) = self.last else {
            return Ok(());
        };
        match log.continues(end) {
            None | Some(true) => Ok(()),
            Some(false) => Err(EngineError::LogCorrupt {
                path: self.base.files.path_of(before),
                at: end,
                what: "it ends before the next generation begins",
            }),
        }
    }

    /// The next records to replay, whose pages have been requested, and the records after them.
    fn read_ahead<'r>(&self, records: &'r [Located<'r>]) -> (&'r [Located<'r>], &'r [Located<'r>]) {
        let size = self.base.options.page_size;
        self.base.cache.preread_batch(records, self.trust, |located, out| {
            let Some(LogRecord::Change { database, image, .. }) = located.record else {
                return;
            };
            let Some(entry) = self.base.databases.get(usize::from(database)) else {
                return;
            };
            let changes = PageChanges::new(image, size).flatten();
            out.extend(changes.map(|change| Changed {
                page: (entry.number, change.page),
                is_fresh: change.fresh.is_some(),
            }));
        })
    }

    async fn replay(&mut self, located: &Located<'_>, generation: u32) -> Result<(), EngineError> {
        let corrupt = |what| EngineError::LogCorrupt {
            path: self.base.files.path_of(generation),
            at: located.start,
            what,
        };
        let record = located.record.ok_or_else(|| corrupt("a record makes no sense"))?;
        self.report.records += 1;
        match record {
            LogRecord::Start { .. } => {}
            LogRecord::Attach { database, .. }
            | LogRecord::Detach { database, .. }
            | LogRecord::Grow { database, .. }
            | LogRecord::Change { database, .. }
                if usize::from(database) >= self.base.databases.len() =>
            {
                return Err(corrupt("it names a database that is not given"));
            }
            LogRecord::Detach { database, .. }
            | LogRecord::Grow { database, .. }
            | LogRecord::Change { database, .. }
                if !self.known.contains(&database) =>
            {
                return Err(corrupt("it changes another database file"));
            }
            LogRecord::Attach { database, time, signature } => {
                let entry = self.base.database(database);
                let mut ours = [0; crate::format::stamp::SIGNATURE_BYTES];
                entry.header.borrow().signature.write(&mut ours, 0);
                if *signature != ours {
                    return Err(corrupt("it belongs to another database file"));
                }
                self.known.insert(database);
                self.base.cache.advance_time(entry.number, time);
            }
            LogRecord::Detach { database, time } => {
                self.base.cache.advance_time(self.base.database(database).number, time);
            }
            LogRecord::Grow { database, time, pages } => {
                let entry = self.base.database(database);
                self.base.lengthen(entry, pages).await?;
                self.base.cache.needs_sync(entry.number, located.start);
                self.base.cache.advance_time(entry.number, time);
            }
            LogRecord::Commit { transaction } => {
                if let Some(open) = self.open.get_mut(&transaction) {
                    open.commit();
                }
            }
            LogRecord::RolledBack { transaction } => {
                self.open.remove(&transaction);
            }
            LogRecord::Change { database, time, transaction, role, image } => {
                let appended = Appended { start: located.start, end: located.end };
                let entries: Option<Vec<PageChange<'_>>> =
                    PageChanges::new(image, self.base.options.page_size).collect();
                let entries = entries.ok_or_else(|| corrupt("a change makes no sense"))?;
                let changes = self.apply(database, &entries, time, appended).await?;
                self.report.changes += changes;
                self.follow(transaction, located.start, database, role);
            }
        }
        Ok(())
    }

    /// Brings the pages of one change up to date.
    async fn apply(
        &mut self,
        number: u8,
        entries: &[PageChange<'_>],
        time: DatabaseTime,
        appended: Appended,
    ) -> Result<u64, EngineError> {
        let base = Rc::clone(&self.base);
        let database = base.database(number);
        let mut pins: Vec<Pin<Bytes>> = Vec::with_capacity(entries.len());
        let mut behind: Vec<PageNumber> = Vec::with_capacity(entries.len());
        for entry in entries.iter().filter(|entry| !entry.is_again) {
            let cached = database.number;
            if entry.fresh.is_some() {
                pins.push(base.cache.claim(cached, entry.page).await?);
                base.cache.rebuilt(cached, entry.page);
                behind.push(entry.page);
            } else {
                pins.push(base.cache.fetch(cached, entry.page, self.trust).await?);
                if base.cache.is_torn(cached, entry.page) {
                    self.rebuild(number, entry.page, appended).await?;
                }
                let lacks = match self.is_behind(database, entry, time) {
                    // A write of the page got lost; a copy of the database may have it.
                    Err(_) if base.cache.exchange(cached, entry.page).await => {
                        self.is_behind(database, entry, time)
                    }
                    known => known,
                };
                if lacks? {
                    behind.push(entry.page);
                }
            }
            base.cache.forget_flush(cached, entry.page);
        }
        let mut pages = base.cache.pages(database.number);
        for entry in entries {
            if behind.contains(&entry.page) {
                entry.apply(pages.change(entry.page), time);
            } else {
                let page = pages.resident(entry.page).expect("it is pinned");
                self.doubts.pass(number, entry, page);
            }
        }
        let passed = entries.iter().filter(|entry| !entry.is_again);
        let passed: Vec<_> =
            passed.map(|entry| entry.page).filter(|page| !behind.contains(page)).collect();
        for page in passed {
            let found = pages.resident(page).expect("it is pinned");
            let has = Page::new(found, base.options.page_size).database_time();
            let newest = self.newest_page.entry(number).or_insert((has, page));
            *newest = (has, page).max(*newest);
            let is_now = has == time;
            if is_now && let Some(right) = self.doubts.settle(number, page, found) {
                pages.change(page).copy_from_slice(&right);
                behind.push(page);
                self.report.torn_pages += 1;
            }
        }
        drop(pages);
        base.cache.changed(database.number, &behind, appended, time);
        base.cache.advance_time(database.number, time);
        Ok(behind.len() as u64)
    }

    /// Whether a page lacks a change.
    fn is_behind(
        &self,
        database: &Database,
        entry: &PageChange<'_>,
        time: DatabaseTime,
    ) -> Result<bool, EngineError> {
        let pages = self.base.cache.pages(database.number);
        let bytes = pages.resident(entry.page).expect("it is pinned");
        let has = Page::new(bytes, self.base.options.page_size).database_time();
        if has >= time {
            Ok(false)
        } else if has == entry.before {
            Ok(true)
        } else {
            Err(self.base.page_error(database, entry.page, PageFault::LostFlush))
        }
    }

    /// Every page that looked torn has been rebuilt. One that the log does not mention is rotten.
    fn check_rebuilt(&self) -> Result<(), EngineError> {
        for database in &self.base.databases {
            if let Some(page) = self.base.cache.torn(database.number).first() {
                let fault = self.base.cache.rot(database.number, *page);
                return Err(self.base.page_error(database, *page, fault));
            }
        }
        Ok(())
    }

    /// Records what a transaction has done.
    fn follow(&mut self, transaction: u32, start: LogPosition, database: u8, role: Role<'_>) {
        if transaction == 0 {
            return;
        }
        self.newest = self.newest.max(transaction);
        let open = self.open.entry(transaction).or_default();
        open.first.get_or_insert(start);
        match role {
            Role::Undo => drop(open.steps.pop()),
            Role::Cleanup(at) => {
                open.doomed.remove(&Node { database, tree: at.tree, key: at.key.to_vec() });
            }
            _ => open.steps.extend(Undo::of(database, role)),
        }
    }
}
