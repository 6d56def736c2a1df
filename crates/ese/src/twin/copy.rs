//! A passive copy without content: databases that follow the log of another instance.
//!
//! ```text
//!   create      databases of the active's size, with nothing on their pages
//!   begin       headers name the logs that are going to be replayed: one write for several of them
//!   follow      a log in the copy's folder is read whole, and the active's changes in it are replayed
//!   checkpoint  everything is written back every `checkpoint_depth` of log
//! ```
//!
//! These are the I/Os of a copy with content ([`crate::instance::Replayer`]), in its order and with
//! its cache. What is in a log follows from the [`Journal`] of the active.

use std::cell::RefCell;
use std::rc::Rc;

use brunt_units::{LogPosition, PageNumber};
use brunt_world::World;

use super::journal::Journal;
use super::redo::Redo;
use crate::cache::{Cache, Trust};
use crate::content::Ghost;
use crate::error::EngineError;
use crate::format::header::DatabaseState;
use crate::instance::base::Arrived;
use crate::instance::beside::Beside;
use crate::instance::{Base, Instance, InstanceOptions};
use crate::maintenance::Maintenance;
use crate::policy::scan::Throttle;

/// A passive copy of an instance without content.
pub struct TwinCopy {
    base: Rc<Base<Ghost>>,
    arrived: Rc<Arrived>,
    /// The newest generation that was replayed.
    replayed: u32,
    /// The newest generation that headers name.
    begun: u32,
    /// The checkpoint moves when this generation is replayed.
    checkpoint_at: u32,
    beside: Beside,
}

impl TwinCopy {
    /// Creates the files of a copy of `active`, which has not logged anything yet.
    ///
    /// # Errors
    /// When one of the files exists already, or the volume is full.
    pub async fn create(
        world: &World,
        cache: &Cache<Ghost>,
        options: InstanceOptions,
        active: &Instance<Ghost>,
    ) -> Result<Self, EngineError> {
        let pages = active.databases().iter().map(|entry| entry.pages.get());
        let pages: Vec<u32> = pages.collect();
        let (base, arrived) = Base::blank(world, cache, options, &pages).await?;
        for entry in &base.databases {
            let mut header = entry.header.borrow_mut();
            header.state = DatabaseState::Dirty;
            header.log_signature = active.log().files().place().signature;
        }
        let keeps_maps = active.0.keeps_flush_maps.get();
        base.keeps_flush_maps.set(keeps_maps);
        let mut copy = Self {
            beside: Beside::new(world),
            base,
            arrived,
            replayed: 0,
            begun: 0,
            checkpoint_at: 0,
        };
        copy.plan_checkpoint();
        Ok(copy)
    }

    /// Starts the scan of a database, which ends with the copy.
    pub fn maintain(&self, database: u8, throttle: Throttle) -> Maintenance {
        let (size, now) = (self.base.options.page_size, self.base.world.clock.now());
        let maintenance = Maintenance::new(throttle, size, now);
        maintenance.run_beside(&self.base, &self.beside, database);
        maintenance
    }

    /// The newest generation that was replayed.
    pub fn replayed(&self) -> u32 {
        self.replayed
    }

    /// The newest generation that headers name.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    /// Names generations up to `newest` in the headers.
    ///
    /// # Errors
    /// When a header cannot be written.
    pub async fn begin(&mut self, newest: u32) -> Result<(), EngineError> {
        self.base.name_generation(newest).await?;
        self.begun = newest;
        Ok(())
    }

    /// Replays the next generation, whose file is in the copy's folder.
    ///
    /// # Errors
    /// When a page or a log file cannot be read or written.
    pub async fn follow(
        &mut self,
        active: &Instance<Ghost>,
        journal: &RefCell<Journal>,
    ) -> Result<(), EngineError> {
        let generation = self.replayed + 1;
        let part = journal.borrow().part(generation);
        let end = LogPosition::start_of(generation + 1);
        for (own, theirs) in self.base.databases.iter().zip(active.databases()) {
            self.base.lengthen(own, theirs.pages.get()).await?;
        }
        let redo = Redo { base: &self.base, trust: Trust::Verified };
        redo.read_log(generation).await?;
        let changes: Vec<_> = part.of_generation(generation, LogPosition::default()).collect();
        // A change that begins in this log may end in the next one.
        let ends = changes.iter().map(|change| change.appended.end);
        self.arrived.0.set(ends.fold(end, LogPosition::max));
        let all = |_, _: PageNumber, _| true;
        redo.replay(&changes, all).await?;
        self.replayed = generation;
        if generation >= self.checkpoint_at {
            self.base.write_back_to(end, std::iter::empty()).await?;
            self.plan_checkpoint();
        }
        Ok(())
    }

    /// The checkpoint follows at the depth of the instance, in whole logs.
    fn plan_checkpoint(&mut self) {
        let logs = self.base.options.checkpoint_logs();
        self.checkpoint_at = self.replayed.saturating_add(logs);
    }

    /// Writes back everything and closes the files.
    ///
    /// # Errors
    /// When a write fails.
    pub async fn close(self) -> Result<(), EngineError> {
        self.beside.end().await;
        let end = LogPosition::start_of(self.replayed + 1);
        self.base.write_back_to(end, std::iter::empty()).await?;
        self.base.close_databases().await
    }
}
