//! An instance: one log stream and the databases that share it.
//!
//! Exchange 2007 calls it a storage group (one log, five databases). Later versions have one
//! database per instance. Each database has its own path; so has the log.
//!
//! ```text
//!   Base       databases, cache, checkpoint on disk
//!   Replayer   a base that is fed log: recovery, a passive copy
//!   Instance   a base with its own log and transactions: starts where a replayer has finished
//! ```
//!
//! * `base`: what both share.
//! * [`mod@database`]: a database's file and header.
//! * [`transaction`]: begin, change, commit or undo.
//! * [`transactions`]: open transactions and their undo steps.
//! * [`operate`]: the loop that turns a synchronous change of pages into an asynchronous operation.
//! * [`growth`]: growing database files ahead of need.
//! * [`mod@flush_map`]: the type of each page's last write.
//! * [`checkpoint`]: writing back dirty pages, and moving the point from which recovery starts.
//! * [`replayer`]: feeding log, moving the checkpoint, finishing; `beside`: tasks that read the
//!   databases meanwhile.
//! * `redo`: bringing pages up to the log; `assay`: whether a page is torn or rotten; `mixtures`:
//!   torn pages with a valid checksum.
//! * [`offer`]: a page for another copy; [`mod@substitute`]: a page of another copy in the place of
//!   a bad one.
//! * [`recovery`]: undo and clean-up.
//! * [`messages`]: the records of an open database.
//! * [`open`], `start`: opening, also over blank databases; `close`, `abandon`: leaving with and
//!   without a clean shutdown; `ours`: refusing foreign files.

mod abandon;
mod assay;
pub(crate) mod base;
pub(crate) mod beside;
pub mod checkpoint;
mod close;
pub mod database;
pub mod flush_map;
pub mod growth;
pub mod messages;
mod mixtures;
pub mod offer;
pub mod open;
pub mod operate;
mod ours;
pub mod recovery;
mod redo;
pub mod replayer;
pub(crate) mod start;
pub mod substitute;
pub mod transaction;
pub mod transactions;

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::path::PathBuf;
use std::rc::Rc;

use brunt_units::{ByteSize, LogPosition, PageNumber, PageSize, Span};
use brunt_world::sync::Event;

use crate::cache::Cache;
use crate::content::Content;
use crate::error::EngineError;
use crate::format::stamp::RunId;
use crate::log::{Durability, Log, LogShape};
use crate::policy::checkpoint::Pacing;
pub(crate) use base::Base;
pub use base::Replayed;
use database::Database;
pub use replayer::Replayer;
use transactions::Transactions;

#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// Number in the server, from 0.
    pub number: u8,
    /// Directory of log and checkpoint files.
    pub log_directory: PathBuf,
    /// Paths of the database files.
    pub databases: Vec<PathBuf>,
    /// Page size of every database.
    pub page_size: PageSize,
    /// Sizes of log files and segments.
    pub log: LogShape,
    /// Log buffer in units of 512 bytes; see [`crate::policy::log_buffer::capacity`].
    pub log_buffer_units: u32,
    /// Longest wait of a lazy commit for its log write.
    pub lazy_wait: Span,
    /// How log writes become durable.
    pub durability: Durability,
    /// Target for the log that recovery may have to replay.
    pub checkpoint_depth: ByteSize,
    /// Pacing of write-back.
    pub pacing: Pacing,
    /// Bytes of a new log file formatted at a time, a multiple of 4,096; `None` for what the engine
    /// of this pacing did.
    pub format_chunk: Option<u64>,
    /// Circular logging.
    pub circular: Circular,
    /// Smallest growth of a database, in pages.
    pub growth_pages: u32,
    /// The run recorded in file markers.
    pub run: RunId,
    /// Milliseconds from the Unix epoch to time zero of the world's clock.
    pub epoch_ms: u64,
}

impl InstanceOptions {
    /// The checkpoint depth in whole log files, at least one.
    pub fn checkpoint_logs(&self) -> u32 {
        let depth = self.checkpoint_depth.get();
        let logs = depth.div_euclid(self.log.file_bytes() as u64).max(1);
        u32::try_from(logs).unwrap_or(u32::MAX)
    }
}

/// Circular logging: what to do with logs that recovery no longer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circular {
    /// Keep them for backups.
    Off,
    /// Remove them, and format every new log file before use: engines up to Exchange 2010.
    Remove,
    /// Reuse a few of them as new log files, which saves formatting: later engines.
    Reuse,
}

pub(crate) struct Inner<C: Content> {
    pub(crate) base: Rc<Base<C>>,
    pub(crate) log: Log<C>,
    pub(crate) transactions: Transactions,
    /// Whether [`Instance::hold_checkpoint`] holds the checkpoint.
    pub(crate) checkpoint_held: Cell<bool>,
    pub(crate) closing: Cell<bool>,
    /// Number of running background tasks.
    pub(crate) background: Cell<u32>,
    pub(crate) changed: Event,
    pub(crate) failure: RefCell<Option<EngineError>>,
    /// Why a sparse page was not merged, or a committed delete not carried out, the first time.
    pub(crate) unfinished: RefCell<Option<EngineError>>,
}

impl<C: Content> Deref for Inner<C> {
    type Target = Base<C>;

    fn deref(&self) -> &Base<C> {
        &self.base
    }
}

/// An open instance. Cloning gives another handle.
pub struct Instance<C: Content>(pub(crate) Rc<Inner<C>>);

/// Something that closing waits for; see [`Instance::stay`].
pub(crate) struct Stay<C: Content>(Instance<C>);

impl<C: Content> Drop for Stay<C> {
    fn drop(&mut self) {
        let running = &self.0.0.background;
        running.set(running.get() - 1);
        self.0.0.changed.notify();
    }
}

impl<C: Content> Clone for Instance<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C: Content> Instance<C> {
    pub fn options(&self) -> &InstanceOptions {
        &self.0.options
    }

    /// The log stream.
    pub fn log(&self) -> &Log<C> {
        &self.0.log
    }

    /// The cache, which instances may share.
    pub fn cache(&self) -> &Cache<C> {
        &self.0.cache
    }

    pub fn databases(&self) -> &[Database] {
        &self.0.databases
    }

    /// The checkpoint on disk, where recovery would start.
    pub fn checkpoint(&self) -> LogPosition {
        self.0.checkpoint.get()
    }

    /// Stops the checkpoint from moving until the instance closes. Recovery would replay the log
    /// from here, even if the pages have been written since.
    pub fn hold_checkpoint(&self) {
        self.0.checkpoint_held.set(true);
    }

    /// The error that stopped the instance, if any.
    pub fn failure(&self) -> Option<EngineError> {
        self.0
            .failure
            .borrow()
            .clone()
            .or_else(|| self.0.log.failure())
            .or_else(|| self.0.cache.failure())
    }

    /// The first error of a page that a committed delete was to remove a node from or to be merged
    /// with. The instance works on without.
    pub fn unfinished(&self) -> Option<EngineError> {
        self.0.unfinished.borrow().clone()
    }

    pub(super) fn record_error(
        &self,
        database: &Database,
        page: PageNumber,
        what: &'static str,
    ) -> EngineError {
        EngineError::Record {
            database: database.path.clone(),
            page,
            offset: page.offset(self.0.options.page_size),
            what,
        }
    }

    /// Starts a task that runs until the instance closes; closing waits for it. If it fails, the
    /// instance fails.
    pub(crate) fn run_background(
        &self,
        work: impl Future<Output = Result<(), EngineError>> + 'static,
    ) {
        let instance = self.clone();
        let running = &self.0.background;
        running.set(running.get() + 1);
        drop(self.0.world.spawner.spawn(async move {
            if let Err(error) = work.await {
                instance.fail(error);
            }
            let running = &instance.0.background;
            running.set(running.get() - 1);
            instance.0.changed.notify();
        }));
    }

    /// Keeps the instance from closing while the guard lives; `None` when it is being closed, or
    /// has failed.
    pub(crate) fn stay(&self) -> Option<Stay<C>> {
        if self.0.closing.get() || self.failure().is_some() {
            return None;
        }
        let running = &self.0.background;
        running.set(running.get() + 1);
        Some(Stay(self.clone()))
    }

    /// Stops all background tasks and waits for them.
    pub(crate) async fn end_background(&self) {
        self.0.closing.set(true);
        self.0.changed.notify();
        self.0.cache.look_again();
        self.0.changed.wait(|| (self.0.background.get() == 0).then_some(())).await;
    }

    pub(crate) fn fail(&self, error: EngineError) {
        self.0.failure.borrow_mut().get_or_insert(error);
        self.0.changed.notify();
    }
}
