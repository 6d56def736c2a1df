//! Keeping frames available: evicting clean pages and writing dirty ones, coldest first, over the
//! whole cache.

use std::rc::Rc;

use brunt_units::{LogPosition, Span};

use super::write::After;
use super::{Cache, PageKey, State};
use crate::content::Content;
use crate::error::EngineError;
use crate::log::WriteAhead;
use crate::policy::available::Demand;
use brunt_world::sync::Alarm;
use brunt_world::{Class, Io};

/// How soon to retry when no frame could be freed and no write is about to end.
///
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/bf/_bfconst.hxx (available
/// pool maintenance).
const RETRY: Span = Span::millis(10);

/// How many pages before its eviction the memory that it needs is fetched: some hundred
/// nanoseconds.
const AHEAD: usize = 4;

impl<C: Content> Cache<C> {
    pub(super) async fn run_cleaner(self) {
        let mut cold = Cold::default();
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        while let Some(demand) = self.next_demand().await {
            self.look_for_cold(demand, &mut cold);
            if cold.evicted > 0 {
                self.0.progress.notify();
            }
            for instance in 0..cold.early.len() {
                self.hasten(instance, &mut cold);
            }
            let written = match self.write_frames(&cold.dirty, After::Evict).await {
                Ok(written) => written,
                Err(error) => return self.fail(error),
            };
            if cold.evicted == 0 && written == 0 {
                // The cold pages are pinned or in flight, or their log is not durable yet: retry
                // soon.
                let retry = self.0.world.clock.now() + RETRY;
                self.wait_for(&self.0.write_ended, retry, &alarm).await;
            }
        }
    }

    /// Evicts cold clean pages and collects dirty ones to write, no more than may be written now.
    fn look_for_cold(&self, demand: Demand, cold: &mut Cold) {
        let mut state = self.0.state.borrow_mut();
        state.evict_clean(demand.frames, cold);
        let writes = demand.writes.saturating_sub(state.freeing_writes);
        cold.dirty.truncate(writes as usize);
    }

    /// Flushes the log of pages that cannot be evicted before it is durable. Runs in its own task,
    /// so other pages can go meanwhile.
    fn hasten(&self, instance: usize, cold: &mut Cold) {
        let Some((log, end)) = cold.early[instance].take() else {
            return;
        };
        let state = &mut self.0.state.borrow_mut();
        if std::mem::replace(&mut state.instances[instance].hastening, true) {
            return;
        }
        let cache = self.clone();
        drop(self.0.world.spawner.spawn(async move {
            let flushed = log.flushed(end).await;
            cache.0.state.borrow_mut().instances[instance].hastening = false;
            match flushed {
                Ok(()) => cache.look_again(),
                Err(error) => cache.fail(error),
            }
        }));
    }

    /// Waits until frames are needed; `None` when the cache is closed or has failed.
    async fn next_demand(&self) -> Option<Demand> {
        self.0
            .demand
            .wait(|| {
                if self.0.closing.get() || self.0.failure.borrow().is_some() {
                    return Some(None);
                }
                let mut state = self.0.state.borrow_mut();
                let (free, coming) = (state.frames.free(), state.coming_free);
                let (pool, freeing) = (&self.0.available, self.0.options.freeing);
                let demand = pool.demand(freeing, free, coming, state.freeing);
                state.freeing = demand.frames > 0;
                state.freeing.then_some(Some(demand))
            })
            .await
    }

    /// Submits writes for up to `limit` dirty pages of `instance` that need log before `position`.
    /// Returns how many pages were submitted.
    ///
    /// # Errors
    /// When the log or the cache has failed.
    pub async fn write_older_than(
        &self,
        instance: u8,
        position: LogPosition,
        limit: usize,
    ) -> Result<u32, EngineError> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let mut frames = Vec::new();
        self.0.state.borrow_mut().instances[usize::from(instance)].dirty.older_than(
            position,
            limit,
            &mut frames,
        );
        self.write_frames(&frames, After::Keep).await
    }

    /// Writes of `instance` in flight.
    pub fn writes_in_flight(&self, instance: u8) -> u32 {
        let state = self.0.state.borrow();
        let flying = state.databases.iter().filter(|database| database.instance == instance);
        flying
            .map(|database| u32::try_from(database.flying.len()).expect("writes are bounded"))
            .sum()
    }

    /// Writes every dirty page of `instance` and waits for all writes, including pages changed
    /// meanwhile.
    ///
    /// # Errors
    /// When the log or the cache has failed; no write is in flight then either.
    pub async fn write_all(&self, instance: u8) -> Result<(), EngineError> {
        loop {
            let submitted = self.write_older_than(instance, LogPosition::MAX, 256).await;
            self.all_landed(instance).await?;
            submitted?;
            if self.0.state.borrow().instances[usize::from(instance)].dirty.is_empty() {
                return Ok(());
            }
        }
    }

    /// Waits until no write of `instance` is in flight, also after a failure: until then its files
    /// still change, and [`Cache::failed_writes`] lacks what fails later.
    ///
    /// # Errors
    /// When the log or the cache has failed.
    pub(crate) async fn all_landed(&self, instance: u8) -> Result<(), EngineError> {
        self.0.progress.wait(|| (self.writes_in_flight(instance) == 0).then_some(())).await;
        self.failure().map_or(Ok(()), Err)
    }

    /// Something other than pages was written to a database, such as the new part of a longer file.
    /// The log from `position` on is needed until the next sync.
    pub fn needs_sync(&self, database: u8, position: LogPosition) {
        let mut state = self.0.state.borrow_mut();
        let entry = &mut state.databases[usize::from(database)];
        entry.is_unsynced(position);
    }

    /// Syncs a database. Log positions held by writes completed before the call are no longer
    /// needed.
    ///
    /// # Errors
    /// When the sync fails. It is then unknown which writes survived, and the cache stops.
    pub async fn sync(&self, database: u8) -> Result<(), EngineError> {
        let file = {
            let mut state = self.0.state.borrow_mut();
            let entry = &mut state.databases[usize::from(database)];
            let Some(covered) = entry.unsynced.take() else {
                return Ok(());
            };
            entry.syncing = Some(entry.syncing.map_or(covered, |older| covered.min(older)));
            entry.file
        };
        let done = self.0.world.disk.submit(Io::sync(Class::Database, file)).await;
        self.0.meters.database(database, |meters| &mut meters.syncs, 0, done.latency());
        let mut state = self.0.state.borrow_mut();
        let entry = &mut state.databases[usize::from(database)];
        match done.result {
            Ok(()) => {
                entry.syncing = None;
                Ok(())
            }
            Err(error) => {
                let error = EngineError::File { path: entry.path.clone(), error };
                drop(state);
                self.fail(error.clone());
                Err(error)
            }
        }
    }
}

/// The coldest pages, by what must happen before they can be evicted.
#[derive(Default)]
pub(super) struct Cold {
    /// Nothing: they have been evicted.
    evicted: u32,
    /// They must be written.
    dirty: Vec<u32>,
    /// They were changed recently: their instance's log must first be durable up to here.
    early: Vec<Option<(Rc<dyn WriteAhead>, LogPosition)>>,
}

impl<C: Content> State<C> {
    /// Evicts the clean pages among the coldest `want`. Skips the search if the last one was in
    /// vain and no frame has changed since, so that of all readers waiting for a frame only the
    /// first searches.
    pub(super) fn evict_for_reader(&mut self, want: u32) {
        if self.searched_in_vain == Some(self.frames.changes()) {
            return;
        }
        let mut cold = Cold::default();
        self.evict_clean(want, &mut cold);
        self.searched_in_vain = (cold.evicted == 0).then(|| self.frames.changes());
    }

    /// Evicts clean pages among the coldest `want` that need not wait for their log, and collects
    /// dirty ones.
    pub(super) fn evict_clean(&mut self, want: u32, cold: &mut Cold) {
        let mut chosen = Vec::with_capacity(want as usize);
        cold.early.resize_with(self.instances.len(), || None);
        let databases = &self.databases;
        let may_go = |key: PageKey, last: LogPosition, is_dirty: bool| {
            let database = &databases[usize::from(key.database)];
            if !is_dirty || last <= database.log.durable() {
                return true;
            }
            let early = &mut cold.early[usize::from(database.instance)];
            let end = early.take().map_or(last, |(_, end): (Rc<dyn WriteAhead>, _)| last.max(end));
            *early = Some((Rc::clone(&database.log), end));
            false
        };
        self.frames.coldest(want as usize, may_go, &mut chosen);
        if chosen.len() >= want as usize {
            // Enough pages can go, so there is no need to hurry the log of the others.
            cold.early.fill_with(|| None);
        }
        cold.dirty.clear();
        cold.evicted = 0;
        for (number, frame) in chosen.iter().copied().enumerate() {
            if let Some(later) = chosen.get(number + AHEAD) {
                self.frames.anticipate_eviction(*later);
            }
            if self.is_dirty(frame) {
                cold.dirty.push(frame);
            } else {
                self.frames.vacate(frame);
                cold.evicted += 1;
            }
        }
    }
}
