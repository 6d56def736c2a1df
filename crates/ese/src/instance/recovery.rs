//! Recovery: redo, undo, clean-up.
//!
//! *Redo* reads the log from the checkpoint and writes the recorded bytes into pages that lack them. A page says by its
//! time what it has: at the record's *before* it lacks the change, at or past the record's time it has it, and anything
//! else means that a write got lost which the device had promised to keep. Two kinds of pages are rebuilt without trusting
//! that time: those that a record begins with zeros, and those whose last write was torn (see [`crate::page`] for why that is
//! enough, and `assay` for how those are told from rotten ones). A page that was torn although its checksum is right is
//! noticed by what the log says it should hold (`mixtures`).
//!
//! *Undo* takes back, newest first, what transactions without a commit have done, through the same trees and with log
//! records of its own, so that a crash during recovery is an ordinary crash. *Clean-up* removes nodes that committed
//! transactions had marked.

use std::collections::{BTreeMap, BTreeSet};

use brunt_units::{DatabaseTime, LogPosition, PageNumber};
use brunt_world::Class;

use super::assay::Turn;
use super::mixtures::Doubts;
use super::transactions::{Node, Open, Undo};
use super::{Instance, database::Database};
use crate::cache::{Pin, Trust};
use crate::content::Bytes;
use crate::error::{EngineError, PageFault};
use crate::format::page::Page;
use crate::log::reader::{Generation, Located};
use crate::log::{Appended, LogRecord, NodeAt, Role};
use crate::page::{PageChange, PageChanges, Pages};
use crate::policy::preread::Changed;
use crate::small_file::read_whole;
use crate::tree::{self, RemoveOutcome, Step, TreeId};

/// What a recovery did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Log files read.
    pub generations: u32,
    /// Records replayed or found done.
    pub records: u64,
    /// Changes of pages that were missing and written.
    pub changes: u64,
    /// Pages whose last write was torn, rebuilt from the log.
    pub torn_pages: u32,
    /// Transactions taken back.
    pub undone: u32,
}

/// Redo's memory while it reads.
#[derive(Default)]
pub(crate) struct Redo {
    open: BTreeMap<u32, Open>,
    /// The largest transaction number seen.
    newest: u32,
    /// Databases that are known to be the ones the log means.
    known: BTreeSet<u8>,
    /// The log files that are replayed.
    pub(super) generations: Vec<u32>,
    /// What the log does to pages that look torn and have not been needed yet.
    pub(super) turns: BTreeMap<(u8, PageNumber), Vec<Turn>>,
    /// What pages lack that are of a later version.
    doubts: Doubts,
    /// The newest page met in each database.
    newest_page: BTreeMap<u8, (DatabaseTime, PageNumber)>,
    pub(crate) report: RecoveryReport,
}

impl Instance<Bytes> {
    /// Replays `generations` from `from` on. The databases in `known` took part there; others have to be attached first.
    pub(crate) async fn redo(
        &self,
        from: LogPosition,
        generations: &[u32],
        known: BTreeSet<u8>,
    ) -> Result<Redo, EngineError> {
        let mut redo = Redo {
            known,
            generations: generations.to_vec(),
            ..Redo::default()
        };
        let mut generations = generations.iter().copied().peekable();
        let mut ahead = None;
        while let Some(generation) = generations.next() {
            let log = match ahead.take() {
                Some(log) => log,
                None => self.read_generation(generation).await?,
            };
            redo.report.generations += 1;
            let (_, all) = self.0.replayed.get();
            self.0.replayed.set((redo.report.generations, all));
            let records: Vec<Located<'_>> = log
                .records()
                .filter(|record| record.start >= from)
                .collect();
            let (mut batch, mut later) = self.read_ahead(&records);
            while !batch.is_empty() {
                let (next, rest) = self.read_ahead(later);
                for record in batch {
                    self.replay(&mut redo, record, generation).await?;
                }
                (batch, later) = (next, rest);
            }
            if let Some(&next) = generations.peek() {
                let next = self.read_generation(next).await?;
                self.check_link(&log, &next)?;
                ahead = Some(next);
            }
        }
        for database in &self.0.databases {
            // What still arrives is trusted as recovery trusts, so it must arrive before the torn pages are judged.
            self.0.cache.end_preread(database.number).await;
        }
        self.check_rebuilt()?;
        self.check_times(&redo)?;
        self.check_frames()?;
        Ok(redo)
    }

    /// What redo made of pages makes sense. Those that have left memory since are checked when they are read.
    fn check_frames(&self) -> Result<(), EngineError> {
        for database in &self.0.databases {
            let numbers = self.0.cache.resident_pages(database.number);
            let pages = self.0.cache.pages(database.number);
            for page in numbers {
                let Ok(bytes) = pages.resident(page) else {
                    continue;
                };
                if Page::new(bytes, self.0.options.page_size)
                    .check_frame()
                    .is_err()
                {
                    return Err(self.page_error(database, page, PageFault::Structure));
                }
            }
        }
        Ok(())
    }

    /// No page is of a time that the log has not come to: pages are written when their log is durable.
    fn check_times(&self, redo: &Redo) -> Result<(), EngineError> {
        for (number, (has, page)) in &redo.newest_page {
            let database = self.database(*number);
            if *has > self.0.cache.time(database.number) {
                return Err(self.page_error(database, *page, PageFault::TooNew));
            }
        }
        Ok(())
    }

    pub(super) async fn read_generation(&self, generation: u32) -> Result<Generation, EngineError> {
        let path = self.0.log.files().path_of(generation);
        let bytes = read_whole(&self.0.world, Class::Recovery, &path).await?;
        Generation::read(&bytes).map_err(|_| EngineError::LogCorrupt {
            path,
            at: LogPosition::start_of(generation),
            what: "its header cannot be read",
        })
    }

    /// The next generation's first record must say that this one ends where reading it ended.
    fn check_link(&self, log: &Generation, next: &Generation) -> Result<(), EngineError> {
        let Some(first) = next.records().next() else {
            return Ok(());
        };
        let shape = self.0.options.log;
        let end = log.end();
        match first.record {
            Some(LogRecord::Start { previous_end })
                if shape.next_border(previous_end) == shape.next_border(end) =>
            {
                Ok(())
            }
            _ => Err(EngineError::LogCorrupt {
                path: self.0.log.files().path_of(log.header.generation),
                at: end,
                what: "it ends before the next generation begins",
            }),
        }
    }

    /// The records to replay next, whose pages have been asked for, and those after them.
    fn read_ahead<'r>(&self, records: &'r [Located<'r>]) -> (&'r [Located<'r>], &'r [Located<'r>]) {
        let size = self.0.options.page_size;
        self.0.cache.preread_batch(records, |located, out| {
            let Some(LogRecord::Change {
                database, image, ..
            }) = located.record
            else {
                return;
            };
            let Some(entry) = self.0.databases.get(usize::from(database)) else {
                return;
            };
            let changes = PageChanges::new(image, size).flatten();
            out.extend(changes.map(|change| Changed {
                page: (entry.number, change.page),
                is_fresh: change.is_fresh,
            }));
        })
    }

    async fn replay(
        &self,
        redo: &mut Redo,
        located: &Located<'_>,
        generation: u32,
    ) -> Result<(), EngineError> {
        let corrupt = |what| EngineError::LogCorrupt {
            path: self.0.log.files().path_of(generation),
            at: located.start,
            what,
        };
        let record = located
            .record
            .ok_or_else(|| corrupt("a record makes no sense"))?;
        redo.report.records += 1;
        match record {
            LogRecord::Start { .. } => {}
            LogRecord::Attach { database, .. }
            | LogRecord::Detach { database, .. }
            | LogRecord::Grow { database, .. }
            | LogRecord::Change { database, .. }
                if usize::from(database) >= self.0.databases.len() =>
            {
                return Err(corrupt("it names a database that is not given"));
            }
            LogRecord::Detach { database, .. }
            | LogRecord::Grow { database, .. }
            | LogRecord::Change { database, .. }
                if !redo.known.contains(&database) =>
            {
                return Err(corrupt("it changes another database file"));
            }
            LogRecord::Attach {
                database,
                time,
                signature,
            } => {
                let entry = self.database(database);
                let mut ours = [0; crate::format::stamp::SIGNATURE_BYTES];
                entry.header.borrow().signature.write(&mut ours, 0);
                if *signature != ours {
                    return Err(corrupt("it belongs to another database file"));
                }
                redo.known.insert(database);
                self.0.cache.advance_time(entry.number, time);
            }
            LogRecord::Detach { database, time } => {
                self.0
                    .cache
                    .advance_time(self.database(database).number, time);
            }
            LogRecord::Grow {
                database,
                time,
                pages,
            } => {
                let entry = self.database(database);
                self.lengthen(entry, pages).await?;
                self.0.cache.needs_sync(entry.number, located.start);
                self.0.cache.advance_time(entry.number, time);
            }
            LogRecord::Commit { transaction } => {
                if let Some(open) = redo.open.get_mut(&transaction) {
                    open.commit();
                }
            }
            LogRecord::RolledBack { transaction } => {
                redo.open.remove(&transaction);
            }
            LogRecord::Change {
                database,
                time,
                transaction,
                role,
                image,
            } => {
                let appended = Appended {
                    start: located.start,
                    end: located.end,
                };
                let entries: Option<Vec<PageChange<'_>>> =
                    PageChanges::new(image, self.0.options.page_size).collect();
                let entries = entries.ok_or_else(|| corrupt("a change makes no sense"))?;
                let changes = self.apply(redo, database, &entries, time, appended).await?;
                redo.report.changes += changes;
                redo.follow(transaction, located.start, database, role);
            }
        }
        Ok(())
    }

    /// Brings the pages of one change up to it.
    async fn apply(
        &self,
        redo: &mut Redo,
        number: u8,
        entries: &[PageChange<'_>],
        time: DatabaseTime,
        appended: Appended,
    ) -> Result<u64, EngineError> {
        let database = self.database(number);
        let mut pins: Vec<Pin<Bytes>> = Vec::with_capacity(entries.len());
        let mut behind: Vec<PageNumber> = Vec::with_capacity(entries.len());
        for entry in entries.iter().filter(|entry| !entry.is_again) {
            let cached = database.number;
            if entry.is_fresh {
                pins.push(self.0.cache.claim(cached, entry.page).await?);
                self.0.cache.rebuilt(cached, entry.page);
                behind.push(entry.page);
            } else {
                pins.push(
                    self.0
                        .cache
                        .fetch(cached, entry.page, Trust::Recovering)
                        .await?,
                );
                if self.0.cache.is_torn(cached, entry.page) {
                    self.rebuild(redo, number, entry.page, appended).await?;
                }
                let lacks = match self.is_behind(database, entry, time) {
                    // A write of it got lost: another copy may have it.
                    Err(_) if self.0.cache.exchange(cached, entry.page).await => {
                        self.is_behind(database, entry, time)
                    }
                    known => known,
                };
                if lacks? {
                    behind.push(entry.page);
                }
            }
            self.0.cache.forget_flush(cached, entry.page);
        }
        let mut pages = self.0.cache.pages(database.number);
        for entry in entries {
            if behind.contains(&entry.page) {
                entry.apply(pages.change(entry.page), time);
            } else {
                let page = pages.resident(entry.page).expect("it is pinned");
                redo.doubts.pass(number, entry, page);
            }
        }
        let passed = entries.iter().filter(|entry| !entry.is_again);
        let passed: Vec<_> = passed
            .map(|entry| entry.page)
            .filter(|page| !behind.contains(page))
            .collect();
        for page in passed {
            let found = pages.resident(page).expect("it is pinned");
            let has = Page::new(found, self.0.options.page_size).database_time();
            let newest = redo.newest_page.entry(number).or_insert((has, page));
            *newest = (has, page).max(*newest);
            let is_now = has == time;
            if is_now && let Some(right) = redo.doubts.settle(number, page, found) {
                pages.change(page).copy_from_slice(&right);
                behind.push(page);
                redo.report.torn_pages += 1;
            }
        }
        drop(pages);
        self.0
            .cache
            .changed(database.number, &behind, appended, time);
        self.0.cache.advance_time(database.number, time);
        Ok(behind.len() as u64)
    }

    /// Whether a page lacks a change.
    fn is_behind(
        &self,
        database: &Database,
        entry: &PageChange<'_>,
        time: DatabaseTime,
    ) -> Result<bool, EngineError> {
        let pages = self.0.cache.pages(database.number);
        let bytes = pages.resident(entry.page).expect("it is pinned");
        let has = Page::new(bytes, self.0.options.page_size).database_time();
        if has >= time {
            Ok(false)
        } else if has == entry.before {
            Ok(true)
        } else {
            Err(self.page_error(database, entry.page, PageFault::LostFlush))
        }
    }

    /// What looked torn has been rebuilt, or the log does not know of it and it was never merely torn.
    fn check_rebuilt(&self) -> Result<(), EngineError> {
        for database in &self.0.databases {
            if let Some(page) = self.0.cache.torn(database.number).first() {
                return Err(self.page_error(database, *page, PageFault::Checksum));
            }
        }
        Ok(())
    }

    /// Takes back what has no commit, and removes what committed transactions had marked.
    pub(crate) async fn undo_and_clean(&self, redo: Redo) -> Result<RecoveryReport, EngineError> {
        let mut report = redo.report;
        for (transaction, open) in redo.open {
            if !open.steps.is_empty() {
                report.undone += 1;
            }
            self.0.transactions.adopt(transaction, open);
        }
        self.0.transactions.start_after(redo.newest);
        // Newest first: a later transaction may have built on what an earlier one left.
        for transaction in self.0.transactions.numbers().into_iter().rev() {
            self.take_back(transaction).await?;
            self.carry_out(transaction).await?;
        }
        Ok(report)
    }

    /// Undoes the steps of a transaction, newest first, and closes the book on them.
    pub(crate) async fn take_back(&self, transaction: u32) -> Result<(), EngineError> {
        let had_steps = self.0.transactions.last_step(transaction).is_some();
        while let Some(step) = self.0.transactions.last_step(transaction) {
            let left = self.0.transactions.steps_left(transaction);
            let (Undo::Insert(node)
            | Undo::Delete(node)
            | Undo::Unmark(node)
            | Undo::Replace(node, _)) = &step;
            match &step {
                Undo::Insert(_) => {
                    self.remove(node.database, transaction, Role::Undo, node.tree, &node.key)
                        .await?;
                }
                Undo::Delete(_) => {
                    self.change(node.database, transaction, Role::Undo, |change| {
                        tree::clear_deleted(change, node.tree, &node.key).map(Step::Done)
                    })
                    .await?;
                }
                Undo::Unmark(_) => {
                    self.change(node.database, transaction, Role::Undo, |change| {
                        tree::mark_deleted(change, node.tree, &node.key).map(Step::Done)
                    })
                    .await?;
                }
                Undo::Replace(_, former) => {
                    self.change(node.database, transaction, Role::Undo, |change| {
                        tree::replace(change, node.tree, &node.key, former)
                    })
                    .await?;
                }
            }
            if self.0.transactions.steps_left(transaction) >= left {
                return Err(self.nothing_there(node));
            }
        }
        if had_steps {
            self.append(&LogRecord::RolledBack { transaction });
        }
        Ok(())
    }

    /// Removes a node, and gives room back when little is left around it.
    async fn remove(
        &self,
        database: u8,
        transaction: u32,
        role: Role<'_>,
        id: TreeId,
        key: &[u8],
    ) -> Result<(), EngineError> {
        let removed = self.change(database, transaction, role, |change| {
            tree::remove(change, id, key)
        });
        if let RemoveOutcome::Removed { sparse: true } = removed.await? {
            self.change(database, 0, Role::System, |change| {
                tree::shrink(change, id, key)
            })
            .await?;
        }
        Ok(())
    }

    /// Removes the nodes that a committed transaction had marked, and ends it.
    pub(crate) async fn carry_out(&self, transaction: u32) -> Result<(), EngineError> {
        while let Some(node) = self.0.transactions.next_doomed(transaction) {
            let role = Role::Cleanup(NodeAt {
                tree: node.tree,
                key: &node.key,
            });
            self.remove(node.database, transaction, role, node.tree, &node.key)
                .await?;
            if self.0.transactions.next_doomed(transaction).as_ref() == Some(&node) {
                return Err(self.nothing_there(&node));
            }
        }
        self.0.transactions.close(transaction, self.0.log.tail());
        Ok(())
    }

    /// What is to be undone or cleaned up changed nothing: the log and the pages contradict one another. Trying again would
    /// never end.
    fn nothing_there(&self, node: &Node) -> EngineError {
        EngineError::Damaged {
            path: self.database(node.database).path.clone(),
            what: "the log is to take back a change that its pages do not have",
        }
    }
}

impl Redo {
    /// Keeps account of what a transaction has done.
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
                open.doomed.remove(&Node {
                    database,
                    tree: at.tree,
                    key: at.key.to_vec(),
                });
            }
            _ => open.steps.extend(Undo::of(database, role)),
        }
    }
}
