//! An instance: one log stream and the databases that share it.
//!
//! Exchange 2007 calls it a storage group (one log, five databases); later versions have one database to an instance.
//! Each database has a path of its own, the log another.
//!
//! ```text
//!   Base       databases, cache, checkpoint on disk
//!   Replayer   a base that log is fed to: recovery, a passive copy
//!   Instance   a base with a log and transactions of its own: begins where a replayer has finished
//! ```
//!
//! * `base`: what both stand on.
//! * [`mod@database`]: a database's file and header.
//! * [`transaction`]: begin, change, commit or take back.
//! * [`transactions`]: who has done what and not committed.
//! * [`operate`]: the loop that turns a synchronous change of pages into an asynchronous operation.
//! * [`growth`]: making database files longer, ahead of need.
//! * [`mod@flush_map`]: which write of each page was the last.
//! * [`checkpoint`]: letting dirty pages go, and moving the point from which recovery starts.
//! * [`replayer`]: feeding log, letting the checkpoint follow, finishing.
//! * `redo`: bringing pages up to the log; `assay`: whether a page is torn or rotten; `mixtures`: torn pages with a right checksum.
//! * [`recovery`]: undo and clean-up.
//! * [`messages`]: the records of an open database.
//! * [`open`], `start`, `close`, `abandon`: opening, also blank ones, closing, and leaving without; `ours`: whose files these are.

mod abandon;
mod assay;
pub(crate) mod base;
pub mod checkpoint;
mod close;
pub mod database;
pub mod flush_map;
pub mod growth;
pub mod messages;
mod mixtures;
pub mod open;
pub mod operate;
mod ours;
pub mod recovery;
mod redo;
pub mod replayer;
pub(crate) mod start;
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

/// What an instance is set up with.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// Its number in the server, from 0.
    pub number: u8,
    /// Where log and checkpoint files lie.
    pub log_directory: PathBuf,
    /// The database files.
    pub databases: Vec<PathBuf>,
    /// The page size of all of them.
    pub page_size: PageSize,
    /// Sizes of log files and segments.
    pub log: LogShape,
    /// Log that may wait in memory, in units of 512 bytes; see [`crate::policy::log_buffer::capacity`].
    pub log_buffer_units: u32,
    /// How long a lazy commit may wait.
    pub lazy_wait: Span,
    /// How log writes become durable.
    pub durability: Durability,
    /// Log bytes that recovery may have to replay.
    pub checkpoint_depth: ByteSize,
    /// How dirty pages are let go.
    pub pacing: Pacing,
    /// What becomes of logs that no recovery needs.
    pub circular: Circular,
    /// Least pages that a database grows by.
    pub growth_pages: u32,
    /// The run that files are marked with.
    pub run: RunId,
    /// Milliseconds from the Unix epoch to the beginning of the world's clock.
    pub epoch_ms: u64,
}

/// What becomes of logs that no recovery needs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circular {
    /// They stay, for backups to take.
    Off,
    /// They are removed, and every new log file is formatted before it is used: engines up to Exchange 2010.
    Remove,
    /// A few of them become the next ones, which need no formatting: later engines.
    Reuse,
}

pub(crate) struct Inner<C: Content> {
    pub(crate) base: Rc<Base<C>>,
    pub(crate) log: Log<C>,
    pub(crate) transactions: Transactions,
    /// Whether the checkpoint stays where it is ([`Instance::hold_checkpoint`]).
    pub(crate) checkpoint_held: Cell<bool>,
    pub(crate) closing: Cell<bool>,
    /// Background tasks that run.
    pub(crate) background: Cell<u32>,
    pub(crate) changed: Event,
    pub(crate) failure: RefCell<Option<EngineError>>,
}

impl<C: Content> Deref for Inner<C> {
    type Target = Base<C>;

    fn deref(&self) -> &Base<C> {
        &self.base
    }
}

/// An open instance. Cloning gives another handle.
pub struct Instance<C: Content>(pub(crate) Rc<Inner<C>>);

impl<C: Content> Clone for Instance<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C: Content> Instance<C> {
    /// What it was set up with.
    pub fn options(&self) -> &InstanceOptions {
        &self.0.options
    }

    /// Its log stream.
    pub fn log(&self) -> &Log<C> {
        &self.0.log
    }

    /// The cache it shares.
    pub fn cache(&self) -> &Cache<C> {
        &self.0.cache
    }

    /// Its databases.
    pub fn databases(&self) -> &[Database] {
        &self.0.databases
    }

    /// The checkpoint on disk: recovery would start there.
    pub fn checkpoint(&self) -> LogPosition {
        self.0.checkpoint.get()
    }

    /// Keeps the checkpoint where it is from now on, until the instance is closed: recovery would replay the log from here,
    /// whatever has been written to the databases meanwhile.
    pub fn hold_checkpoint(&self) {
        self.0.checkpoint_held.set(true);
    }

    /// Why it has stopped, if it has.
    pub fn failure(&self) -> Option<EngineError> {
        self.0
            .failure
            .borrow()
            .clone()
            .or_else(|| self.0.log.failure())
            .or_else(|| self.0.cache.failure())
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

    /// Starts work that runs until the instance closes, and that closing waits for. An error of it ends the instance.
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

    /// Ends all background tasks and waits until they have ended.
    pub(crate) async fn end_background(&self) {
        self.0.closing.set(true);
        self.0.changed.notify();
        self.0.cache.look_again();
        self.0
            .changed
            .wait(|| (self.0.background.get() == 0).then_some(()))
            .await;
    }

    pub(crate) fn fail(&self, error: EngineError) {
        self.0.failure.borrow_mut().get_or_insert(error);
        self.0.changed.notify();
    }
}
