//! A replayer: databases that follow a log.
//!
//! ```text
//!   recovery   open ------------------------------------------------------> finish
//!   a copy     open - catch up - feed - feed - checkpoint - feed - ... ----> finish (activation)
//!                        ^                         |
//!                        '--- power fails ---------'
//! ```
//!
//! Recovery replays the log that a crash left, and [`Replayer::finish`] takes back what has no commit and begins a writer on the
//! same databases. A passive copy is fed the closed log files of another instance, for as long as they come; its databases stay
//! dirty and a restart goes on from its own checkpoint. Activating it is the same [`Replayer::finish`], so a copy's files that
//! are opened as an instance ([`Instance::open`]) are activated, too.
//!
//! Until redo has come to the end of the log that was there at opening, pages may be torn or newer than what has been replayed.
//! After it nothing is trusted that a running instance would not trust. So that the next opening knows how far to go, headers
//! name a generation before a page of it changes, and it stays until the checkpoint has left it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber};

use super::assay::Turn;
use super::base::{Arrived, Replayed};
use super::mixtures::Doubts;
use super::recovery::{RecoveryReport, Redone};
use super::transactions::Open;
use super::{Base, Instance};
use crate::cache::Trust;
use crate::content::Bytes;
use crate::error::{EngineError, PageFault};
use crate::format::header::DatabaseState;
use crate::log::reader::Generation;
use crate::small_file::name_error;

/// Databases that follow a log, generation by generation.
pub struct Replayer {
    pub(super) base: Rc<Base<Bytes>>,
    pub(super) arrived: Rc<Arrived>,
    /// Where replaying begins.
    pub(super) from: LogPosition,
    /// The generations to replay that were there at opening.
    pub(super) there: Vec<u32>,
    /// What pages have to prove: less until the log that was there has been replayed.
    pub(super) trust: Trust,
    /// The generation to be fed after those that were there.
    pub(super) next: u32,
    /// The newest generation and its end: the log goes on behind it.
    pub(super) end: (u32, LogPosition),
    /// The generation replayed last, and where it ended.
    pub(super) last: Option<(u32, LogPosition)>,
    /// Databases that are known to be the ones the log means.
    pub(super) known: BTreeSet<u8>,
    pub(super) open: BTreeMap<u32, Open>,
    /// The largest transaction number seen.
    pub(super) newest: u32,
    /// What the log does to pages that look torn and have not been needed yet.
    pub(super) turns: BTreeMap<(u8, PageNumber), Vec<Turn>>,
    /// What pages lack that are of a later version.
    pub(super) doubts: Doubts,
    /// The newest page met in each database.
    pub(super) newest_page: BTreeMap<u8, (DatabaseTime, PageNumber)>,
    pub(super) report: RecoveryReport,
}

impl Replayer {
    /// How far it is with the log that was there at opening.
    pub fn replayed(&self) -> Replayed {
        Rc::clone(&self.base.replayed)
    }

    /// The generation that it wants next.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The checkpoint on disk: the next opening replays from there.
    pub fn checkpoint(&self) -> LogPosition {
        self.base.checkpoint.get()
    }

    /// Replays the log that was there at opening.
    ///
    /// # Errors
    /// What recovery reports; nothing that was right is wrong then.
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

    /// Replays a closed generation, the next one. Its file is durable, under the name of an older generation in the log directory
    /// of this replayer. One that has been replayed before is passed over.
    ///
    /// # Errors
    /// When a generation is missing before it, when it is damaged, of another stream or of another history, or when a page cannot
    /// be brought up to it.
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
        for entry in &self.base.databases {
            let mut header = entry.header.borrow_mut();
            if header.state == DatabaseState::Clean {
                header.state = DatabaseState::Dirty;
                header.attached = LogPosition::start_of(generation);
                header.attached_on = self.base.files.stamp();
                header.detached = LogPosition::default();
                header.log_signature = log.header.signature;
            }
        }
        self.base.name_generation(generation).await?;
        self.replay_generation(generation, &log).await?;
        (self.next, self.end) = (generation + 1, (generation, log.end()));
        Ok(())
    }

    /// Whether a file that was fed is a whole generation of this stream.
    fn check_fed(&self, log: &Generation, generation: u32) -> Result<(), EngineError> {
        if log.header.signature != self.base.files.place().signature {
            return Err(EngineError::LogOfOthers {
                directory: self.base.options.log_directory.clone(),
                database: self.base.database(0).path.clone(),
            });
        }
        match log.damaged {
            None => Ok(()),
            Some(at) => Err(EngineError::LogCorrupt {
                path: self.base.files.archived_path(generation),
                at,
                what: "a segment that was durable is damaged",
            }),
        }
    }

    /// Makes everything that has been replayed durable, and moves the checkpoint over it as far as open transactions allow.
    ///
    /// # Errors
    /// When a write fails. The old checkpoint holds.
    pub async fn move_checkpoint(&mut self) -> Result<(), EngineError> {
        self.open.retain(|_, open| !open.is_over());
        let Some((_, end)) = self.last.filter(|_| self.trust == Trust::Verified) else {
            return Ok(());
        };
        let base = &self.base;
        base.cache.write_all(base.options.number).await?;
        for database in &base.databases {
            base.cache.sync(database.number).await?;
        }
        let needed = base.cache.oldest_needed(base.options.number);
        let open = self.open.values().filter_map(|open| open.first);
        let position = needed.into_iter().chain(open).fold(end, LogPosition::min);
        if position > base.checkpoint.get() {
            base.write_flush_maps().await?;
            let file = base.open_checkpoint().await?;
            let written = base.write_checkpoint(file, position).await;
            let closed = base.world.volume.close(file).await;
            written?;
            closed.map_err(name_error(&base.checkpoint_path()))?;
            base.give_up_old_logs().await?;
        }
        Ok(())
    }

    /// Leaves the databases as they are, for the next opening.
    ///
    /// # Errors
    /// As [`Replayer::move_checkpoint`].
    pub async fn close(mut self) -> Result<(), EngineError> {
        self.move_checkpoint().await?;
        self.base.close_databases().await
    }

    /// No more log comes: replays what was there at opening, takes back what has no commit, and begins to write.
    ///
    /// # Errors
    /// What recovery reports. The databases stay recoverable.
    pub async fn finish(mut self) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
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
            self.replay_generation(generation, &log).await?;
        }
        self.judge().await?;
        self.trust = Trust::Verified;
        Ok(())
    }

    /// A page that is newer than the log says that the log lacks its end.
    fn end_missing(&self, error: EngineError) -> EngineError {
        let (generation, end) = self.end;
        match error {
            EngineError::Page {
                database,
                page,
                fault: PageFault::TooNew,
                ..
            } if self.there.contains(&generation) => EngineError::LogEndMissing {
                path: self.base.files.path_of(generation),
                end,
                database,
                page,
            },
            error => error,
        }
    }
}
