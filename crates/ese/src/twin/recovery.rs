//! Recovery without content: from what a crash leaves to databases that need no log.
//!
//! ```text
//!   journal     the changes of the log                     kept while sessions work
//!   Left        pages whose changes no write has reached   looked up when the server has been left
//!   Reopening   each log is read whole; the pages of a batch of changes are read while those of the batch before are fetched, one
//!               change after the other; those that lack it are changed, and leave the cache as dirty pages do
//! ```
//!
//! As [`crate::instance::recovery`] does with bytes, in the same order and the same batches. A page with bytes tells by its time
//! whether it lacks a change; here it lacks those that were made since it was last clean. Nothing is taken back: every
//! change of the twin is one with its commit.

use std::collections::BTreeMap;

use brunt_units::{LogPosition, PageNumber};
use brunt_world::{Class, OpenMode, World};

use super::journal::{Journal, Noted};
use crate::cache::{Cache, Trust};
use crate::content::Ghost;
use crate::error::EngineError;
use crate::format::header::DatabaseHeader;
use crate::format::stamp::Signature;
use crate::instance::database::Found;
use crate::instance::recovery::RecoveryReport;
use crate::instance::start::Beginning;
use crate::instance::{Instance, InstanceOptions};
use crate::policy::preread::Changed;
use crate::small_file::{name_error, read_whole};

/// Log records of an operation: changes of a record and of its index entry, and the commit.
const RECORDS: u64 = 3;

/// What an instance leaves that is not closed.
pub struct Left {
    databases: Vec<(DatabaseHeader, u32)>,
    signature: Signature,
    checkpoint: LogPosition,
    tail: LogPosition,
    /// The oldest change of each page that no write has reached.
    unwritten: BTreeMap<(u8, PageNumber), LogPosition>,
    journal: Journal,
}

impl Left {
    /// Whether a page lacks a change at `start`.
    fn lacks(&self, database: u8, page: PageNumber, start: LogPosition) -> bool {
        let oldest = self.unwritten.get(&(database, page));
        oldest.is_some_and(|oldest| *oldest <= start)
    }
}

impl Instance<Ghost> {
    /// What the instance leaves, after [`Instance::abandon`]; `journal` knows its log.
    pub fn left(&self, journal: Journal) -> Left {
        let mut unwritten = BTreeMap::new();
        for (database, entry) in (0_u8..).zip(self.databases()) {
            let pages = self.cache().unwritten_of(entry.number);
            unwritten.extend(pages.map(|(page, oldest)| ((database, page), oldest)));
        }
        let databases = self.databases().iter();
        Left {
            databases: databases
                .map(|entry| (entry.header.borrow().clone(), entry.pages.get()))
                .collect(),
            signature: self.log().files().place().signature,
            checkpoint: self.0.checkpoint.get(),
            tail: self.log().tail(),
            unwritten,
            journal,
        }
    }

    /// The first step of opening what an instance of the same `options` has `left`.
    ///
    /// # Errors
    /// When a file cannot be opened, or the log not go on.
    pub async fn begin_reopening(
        world: &World,
        cache: &Cache<Ghost>,
        options: InstanceOptions,
        left: Left,
    ) -> Result<Reopening, EngineError> {
        let mut found = Vec::new();
        for (path, (header, pages)) in options.databases.iter().zip(&left.databases) {
            let file = world.volume.open(path, OpenMode::Write).await;
            found.push(Found {
                file: file.map_err(name_error(path))?,
                header: header.clone(),
                pages: *pages,
            });
        }
        let beginning = Beginning {
            generation: left.tail.generation + 1,
            previous_end: left.tail,
            signature: Some(left.signature),
            checkpoint: left.checkpoint,
        };
        let instance = Self::assemble(world, cache, options, beginning, found).await?;
        instance.log().files().left(left.tail.generation);
        Ok(Reopening { instance, left })
    }

    async fn replay_journal(&self, left: &Left) -> Result<RecoveryReport, EngineError> {
        let mut report = RecoveryReport::default();
        let from = left.checkpoint;
        let generations = from.generation.max(1)..=left.tail.generation;
        let all = left.tail.generation + 1 - generations.start();
        for generation in generations {
            self.read_log(generation).await?;
            report.generations += 1;
            self.0.replayed.set((report.generations, all));
            let changes: Vec<_> = left.journal.of_generation(generation, from).collect();
            let (mut batch, mut later) = self.read_ahead(&changes);
            while !batch.is_empty() {
                let (next, rest) = self.read_ahead(later);
                for change in batch {
                    report.records += RECORDS;
                    report.changes += self.repeat(left, change).await?;
                }
                (batch, later) = (next, rest);
            }
        }
        for database in self.databases() {
            self.cache().end_preread(database.number).await;
        }
        Ok(report)
    }

    /// Reads a log file whole.
    async fn read_log(&self, generation: u32) -> Result<(), EngineError> {
        let path = self.log().files().path_of(generation);
        read_whole(&self.0.world, Class::Recovery, &path)
            .await
            .map(drop)
    }

    /// The changes to repeat next, whose pages have been asked for, and those after them.
    fn read_ahead<'r>(&self, changes: &'r [Noted<'r>]) -> (&'r [Noted<'r>], &'r [Noted<'r>]) {
        self.cache().preread_batch(changes, |change, out| {
            let number = self.database(change.database).number;
            out.extend(change.pages.iter().map(|touched| Changed {
                page: (number, touched.page),
                is_fresh: touched.is_fresh,
            }));
        })
    }

    /// Brings the pages of a change up to it; how many lacked it.
    async fn repeat(&self, left: &Left, change: &Noted<'_>) -> Result<u64, EngineError> {
        let (cache, number) = (self.cache(), self.database(change.database).number);
        let mut pins = Vec::with_capacity(change.pages.len());
        let mut behind = Vec::with_capacity(change.pages.len());
        for touched in change.pages {
            pins.push(match touched.is_fresh {
                true => cache.claim(number, touched.page).await?,
                false => cache.fetch(number, touched.page, Trust::Recovering).await?,
            });
            if touched.is_fresh || left.lacks(change.database, touched.page, change.appended.start)
            {
                behind.push(touched.page);
            }
        }
        let time = cache.time(number).next();
        cache.changed(number, &behind, change.appended, time);
        Ok(behind.len() as u64)
    }
}

/// An instance whose files are open, and nothing else yet.
pub struct Reopening {
    instance: Instance<Ghost>,
    left: Left,
}

impl Reopening {
    /// The instance: for its counters, until it is open.
    pub fn instance(&self) -> &Instance<Ghost> {
        &self.instance
    }

    /// Replays the log, and starts what runs in the background.
    ///
    /// # Errors
    /// When a page or a log file cannot be read or written.
    pub async fn finish(self) -> Result<(Instance<Ghost>, RecoveryReport), EngineError> {
        let instance = self.instance;
        let report = instance.replay_journal(&self.left).await?;
        instance.attach().await?;
        instance.run_background(instance.clone().run_checkpoint());
        Ok((instance, report))
    }
}
