//! Recovery without content: from the state after a crash to databases that need no log.
//!
//! ```text
//!   journal     the changes of the log                     kept while sessions work
//!   Left        pages with unwritten changes               determined when the server is left
//!   Reopening   each log is read whole and replayed (redo.rs)
//! ```
//!
//! A real page tells by its time whether it lacks a change; here it lacks those made since it was
//! last clean. Nothing is undone: every change of the twin is logged with its commit.

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::{LogPosition, PageNumber};
use brunt_world::{OpenMode, World};

use super::journal::Journal;
use super::redo::Redo;
use crate::cache::{Cache, Trust};
use crate::content::Ghost;
use crate::error::EngineError;
use crate::format::header::DatabaseHeader;
use crate::format::stamp::Signature;
use crate::instance::base::{Beginning, Replayed};
use crate::instance::database::Found;
use crate::instance::recovery::RecoveryReport;
use crate::instance::{Base, Instance, InstanceOptions};
use crate::small_file::name_error;

/// Log records per operation: changes of a record and of its index entry, and the commit.
const RECORDS: u64 = 3;

/// What an instance leaves behind without being closed, or what its backup holds.
pub struct Left {
    databases: Vec<(DatabaseHeader, u32)>,
    signature: Signature,
    checkpoint: LogPosition,
    tail: LogPosition,
    /// Whether the newest log file still has the name of the current one.
    is_current: bool,
    /// The oldest unwritten change of each page.
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

/// What another site holds of a server's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// The log there ends here.
    pub durable: LogPosition,
    /// What its checkpoint file says.
    pub checkpoint: LogPosition,
    /// Whether the newest log file there has the name of the current one.
    pub is_current: bool,
    /// Pages of which a write has not arrived, by database and first page.
    pub missing: Vec<(u8, PageNumber)>,
}

impl Left {
    /// The same as another site has it. Pages of which a write is missing there count as lacking
    /// every change since its checkpoint.
    #[must_use]
    pub fn elsewhere(mut self, site: Elsewhere) -> Self {
        self.tail = site.durable;
        self.checkpoint = site.checkpoint;
        self.is_current = site.is_current;
        for page in site.missing {
            let oldest = self.unwritten.entry(page).or_insert(site.checkpoint);
            *oldest = site.checkpoint.min(*oldest);
        }
        self
    }
}

impl Instance<Ghost> {
    /// The state left after [`Instance::abandon`]; `journal` describes its log.
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
            is_current: true,
            unwritten,
            journal,
        }
    }

    /// What a backup of an instance without sessions holds. Each of its log files has the name of
    /// its generation.
    pub fn backed_up(&self) -> Left {
        Left { is_current: false, ..self.left(Journal::default()) }
    }

    /// First step of reopening an instance with the same `options` from what it, or a backup of it,
    /// has `left`.
    ///
    /// # Errors
    /// When a file cannot be opened, or the log cannot continue.
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
            end: left.tail,
            signature: Some(left.signature),
            checkpoint: left.checkpoint,
            ..Beginning::default()
        };
        let (base, _) = Base::assemble(world, cache, options, beginning, found).await?;
        if left.is_current {
            base.files.left(left.tail.generation);
        }
        Ok(Reopening { base, left })
    }
}

/// An instance whose files are open, but which is not running yet.
pub struct Reopening {
    base: Rc<Base<Ghost>>,
    left: Left,
}

impl Reopening {
    /// Progress through the log.
    pub fn replayed(&self) -> Replayed {
        Rc::clone(&self.base.replayed)
    }

    /// Replays the log, and starts the background tasks.
    ///
    /// # Errors
    /// When a page or a log file cannot be read or written.
    pub async fn finish(self) -> Result<(Instance<Ghost>, RecoveryReport), EngineError> {
        let report = self.replay_journal().await?;
        let end = self.left.tail;
        let instance = Instance::over(self.base, end.generation + 1, end);
        instance.attach().await?;
        instance.run_background(instance.clone().run_checkpoint());
        Ok((instance, report))
    }

    async fn replay_journal(&self) -> Result<RecoveryReport, EngineError> {
        let (left, mut report) = (&self.left, RecoveryReport::default());
        let redo = Redo { base: &self.base, trust: Trust::Recovering };
        let from = left.checkpoint;
        let generations = from.generation.max(1)..=left.tail.generation;
        let all = left.tail.generation + 1 - generations.start();
        for generation in generations {
            redo.read_log(generation).await?;
            report.generations += 1;
            self.base.replayed.set((report.generations, all));
            let changes: Vec<_> = left.journal.of_generation(generation, from).collect();
            report.records += RECORDS * changes.len() as u64;
            let lacks = |database, page, start| left.lacks(database, page, start);
            report.changes += redo.replay(&changes, lacks).await?;
        }
        for database in &self.base.databases {
            self.base.cache.end_preread(database.number).await;
        }
        Ok(report)
    }
}
