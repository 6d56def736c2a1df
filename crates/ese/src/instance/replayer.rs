//! A replayer: databases that follow a log.
//!
//! ```text
//!   recovery   open ------------------------------------------------------> finish
//!   a copy     open - catch up - feed - feed - checkpoint - feed - ... ----> finish (activation)
//!                        ^                         |
//!                        '--- power fails ---------'
//! ```
//!
//! Recovery replays the log that a crash left. [`Replayer::finish`] then undoes transactions
//! without a commit and starts a writer on the same databases.
//!
//! A passive copy is fed the closed log files of another instance as they arrive. Its databases
//! stay dirty, and a restart continues from its own checkpoint. Activation is the same
//! [`Replayer::finish`], so opening a copy's files as an instance ([`Instance::open`]) activates
//! them too.
//!
//! Until redo reaches the end of the log that existed at opening, pages may be torn or newer than
//! what has been replayed. After that, redo trusts no more than a running instance does. Headers
//! name a generation before any of its changes reaches a page, and the file stays until the
//! checkpoint has passed it, so the next open knows how far to replay.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber};

use super::assay::Turn;
use super::base::{Arrived, Replayed};
use super::beside::Beside;
use super::mixtures::Doubts;
use super::recovery::{RecoveryReport, Redone};
use super::transactions::Open;
use super::{Base, Instance};
use crate::cache::Trust;
use crate::content::Bytes;
use crate::error::{EngineError, PageFault};
use crate::format::header::DatabaseState;
use crate::log::reader::Generation;

/// Databases that follow a log, generation by generation.
pub struct Replayer {
    pub(crate) base: Rc<Base<Bytes>>,
    pub(super) arrived: Rc<Arrived>,
    /// Where replaying begins.
    pub(super) from: LogPosition,
    /// Up to where the log was durable when the checkpoint was written.
    pub(super) durable: LogPosition,
    /// Generations to replay that existed at opening.
    pub(super) there: Vec<u32>,
    /// How far pages are trusted: lenient until the log that existed at opening has been replayed.
    pub(super) trust: Trust,
    /// The first generation to be fed after those.
    pub(super) next: u32,
    /// The newest generation that was named in the headers to be fed.
    pub(super) named: Option<u32>,
    /// The newest generation and its end, where the log continues.
    pub(super) end: (u32, LogPosition),
    /// The generation replayed last, and where it ended.
    pub(super) last: Option<(u32, LogPosition)>,
    /// Databases known to be the ones in the log.
    pub(super) known: BTreeSet<u8>,
    pub(super) open: BTreeMap<u32, Open>,
    /// The largest transaction number seen.
    pub(super) newest: u32,
    /// Logged changes to pages that look torn and have not been needed yet.
    pub(super) turns: BTreeMap<(u8, PageNumber), Vec<Turn>>,
    /// Logged bytes that are missing from pages of a later version.
    pub(super) doubts: Doubts,
    /// The newest page seen in each database.
    pub(super) newest_page: BTreeMap<u8, (DatabaseTime, PageNumber)>,
    pub(super) report: RecoveryReport,
    /// Tasks that read the databases meanwhile.
    pub(super) beside: Beside,
}

impl Replayer {
    pub(crate) fn trust(&self) -> Trust {
        self.trust
    }

    pub(crate) fn beside(&self) -> &Beside {
        &self.beside
    }

    /// Progress through the log that existed at opening.
    pub fn replayed(&self) -> Replayed {
        Rc::clone(&self.base.replayed)
    }

    /// The next generation to feed.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The checkpoint on disk, where the next open starts to replay.
    pub fn checkpoint(&self) -> LogPosition {
        self.base.checkpoint.get()
    }

    /// Replays the log that existed at opening.
    ///
    /// # Errors
    /// Those of recovery. Pages that were right stay right.
    pub async fn catch_up(&mut self) -> Result<(), EngineError> {
        if self.trust == Trust::Verified {
            return Ok(());
        }
        if let Some(last) = self.there.last() {
            self.base.name_generation(*last).await?;
        }
        let replayed = self.replay_there().await;
        replayed.map_err(|error| self.end_missing(error))
    }

    /// Replays the next generation, which is closed. Its file is durable, and has the name of an
    /// older generation in the replayer's log directory. A generation that was replayed before is
    /// skipped.
    ///
    /// # Errors
    /// When an earlier generation is missing; when this one is damaged, or belongs to another
    /// stream or history; or when a page cannot be brought up to it.
    pub async fn feed(&mut self, generation: u32) -> Result<(), EngineError> {
        self.catch_up().await?;
        if generation < self.next {
            return Ok(());
        }
        if generation > self.next {
            let missing = self.base.files.archived_path(self.next);
            return Err(EngineError::LogMissing(missing));
        }
        let log = self.read_generation(generation).await?;
        self.check_fed(&log, generation)?;
        self.check_link(&log)?;
        if self.named.is_none_or(|named| named < generation) {
            self.name_up_to(generation).await?;
        }
        self.replay_generation(generation, &log).await?;
        (self.next, self.end) = (generation + 1, (generation, log.end()));
        Ok(())
    }

    /// The newest generation that was fed or named by [`Replayer::begin`].
    pub fn begun(&self) -> u32 {
        let fed = self.next.saturating_sub(1);
        self.named.map_or(fed, |named| named.max(fed))
    }

    /// Names generations up to `newest` in the headers at once, so that feeding them does not write
    /// headers for each. Their files are durable and have their names. The next open replays them
    /// all, fed or not; a generation before the newest one that was named takes that back, as long
    /// as none after it was fed.
    ///
    /// # Errors
    /// When the log that existed at opening cannot be replayed, or a header cannot be written.
    pub async fn begin(&mut self, newest: u32) -> Result<(), EngineError> {
        self.catch_up().await?;
        let newest = newest.max(self.next.saturating_sub(1));
        let is_other = match self.named {
            Some(named) => named != newest,
            None => newest >= self.next,
        };
        if is_other {
            self.name_up_to(newest).await?;
        }
        Ok(())
    }

    /// Databases are in use from the next generation on, and need the log up to `newest`.
    async fn name_up_to(&mut self, newest: u32) -> Result<(), EngineError> {
        for entry in &self.base.databases {
            let mut header = entry.header.borrow_mut();
            if header.state == DatabaseState::Clean {
                header.state = DatabaseState::Dirty;
                header.attached = LogPosition::start_of(self.next);
                header.attached_on = self.base.files.stamp();
                header.detached = LogPosition::default();
                header.log_signature = self.base.files.place().signature;
            }
        }
        self.base.name_generation(newest).await?;
        self.named = Some(newest);
        Ok(())
    }

    /// Whether a fed file is a whole generation of this stream.
    fn check_fed(&self, log: &Generation, generation: u32) -> Result<(), EngineError> {
        if log.header.signature != self.base.files.place().signature {
            return Err(EngineError::LogOfOthers {
                directory: self.base.options.log_directory.clone(),
                database: self.base.database(0).path.clone(),
            });
        }
        check_whole(log.damaged, || self.base.files.archived_path(generation))
    }

    /// Whether a generation that the crash left is whole: a later one shows that all of it was
    /// durable, and so does a checkpoint for the log before it.
    fn check_left(&self, log: &Generation, generation: u32) -> Result<(), EngineError> {
        check_whole(log.damaged, || self.base.files.path_of(generation))?;
        let end = self.base.options.log.next_border(log.end());
        let mut known = [self.from, self.durable].into_iter();
        match known.find(|known| known.generation == generation && *known > end) {
            None => Ok(()),
            Some(durable) => Err(EngineError::LogShort {
                path: self.base.files.path_of(generation),
                end,
                durable,
            }),
        }
    }

    /// Makes everything replayed so far durable, and moves the checkpoint past it as far as open
    /// transactions allow.
    ///
    /// # Errors
    /// When a write fails. The old checkpoint stays valid.
    pub async fn move_checkpoint(&mut self) -> Result<(), EngineError> {
        self.open.retain(|_, open| !open.is_over());
        let Some((_, end)) = self.last.filter(|_| self.trust == Trust::Verified) else {
            return Ok(());
        };
        let open = self.open.values().filter_map(|open| open.first);
        self.base.write_back_to(end, open).await
    }

    /// Leaves the databases as they are, for the next open.
    pub async fn close(mut self) -> Result<(), EngineError> {
        self.beside.end().await;
        self.move_checkpoint().await?;
        self.base.close_databases().await
    }

    /// Ends replaying: replays the log that existed at opening, undoes transactions without a
    /// commit, and starts a writer.
    ///
    /// # Errors
    /// Those of recovery. The databases stay recoverable.
    pub async fn finish(mut self) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
        self.beside.end().await;
        let finished = async {
            self.replay_there().await?;
            let (generation, end) = self.end;
            let instance = Instance::over(Rc::clone(&self.base), generation + 1, end);
            instance.0.give_up_old_logs().await?;
            let redone = Redone {
                open: std::mem::take(&mut self.open),
                newest: self.newest,
                report: self.report,
            };
            let report = instance.undo_and_clean(redone).await?;
            Ok((instance, report))
        };
        let finished = finished.await;
        let (instance, report) = finished.map_err(|error| self.end_missing(error))?;
        instance.attach().await?;
        instance.make_room().await?;
        instance.run_background(instance.clone().run_checkpoint());
        for database in (0_u8..).take(instance.0.databases.len()) {
            instance.run_background(instance.clone().run_growth(database));
        }
        Ok((instance, report))
    }

    async fn replay_there(&mut self) -> Result<(), EngineError> {
        if self.trust == Trust::Verified {
            return Ok(());
        }
        for generation in self.there.clone() {
            let log = self.read_generation(generation).await?;
            self.check_link(&log)?;
            self.check_left(&log, generation)?;
            self.replay_generation(generation, &log).await?;
        }
        self.judge().await?;
        self.trust = Trust::Verified;
        Ok(())
    }

    /// A page newer than the log means that the end of the log is missing.
    fn end_missing(&self, error: EngineError) -> EngineError {
        let (generation, end) = self.end;
        match error {
            EngineError::Page { database, page, fault: PageFault::TooNew, .. }
                if self.there.contains(&generation) =>
            {
                EngineError::LogEndMissing {
                    path: self.base.files.path_of(generation),
                    end,
                    database,
                    page,
                }
            }
            error => error,
        }
    }
}

/// Refuses a log file that is damaged before what was durable.
pub(super) fn check_whole(
    damaged: Option<LogPosition>,
    path: impl FnOnce() -> PathBuf,
) -> Result<(), EngineError> {
    match damaged {
        None => Ok(()),
        Some(at) => Err(EngineError::LogCorrupt {
            path: path(),
            at,
            what: "a segment that was durable is damaged",
        }),
    }
}
