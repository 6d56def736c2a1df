//! Keeping frames available: evict what is clean, write what is dirty, coldest first, over the whole cache.

use brunt_units::{LogPosition, Span};

use super::write::After;
use super::{Cache, State};
use crate::content::Content;
use crate::error::EngineError;
use brunt_world::{Class, Io};

/// How soon to look again when no frame could be freed and no write ends.
///
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/bf/_bfconst.hxx (available pool maintenance).
const RETRY: Span = Span::millis(10);

impl<C: Content> Cache<C> {
    pub(super) async fn run_cleaner(self) {
        let mut dirty = Vec::new();
        while let Some(want) = self.next_demand().await {
            dirty.clear();
            let evicted = self.0.state.borrow_mut().evict_clean(want, &mut dirty);
            if evicted > 0 {
                self.0.progress.notify();
            }
            let written = match self.write_frames(&dirty, After::Evict).await {
                Ok(written) => written,
                Err(error) => return self.fail(error),
            };
            if evicted == 0 && written == 0 {
                // What is cold is pinned, in flight, or was changed while its log was awaited: look again soon.
                self.write_ended_by(self.0.world.clock.now() + RETRY).await;
            }
        }
    }

    /// Waits until frames are wanted; `None` when the cache is closed or has failed.
    async fn next_demand(&self) -> Option<u32> {
        self.0
            .demand
            .wait(|| {
                if self.0.closing.get() || self.0.failure.borrow().is_some() {
                    return Some(None);
                }
                let mut state = self.0.state.borrow_mut();
                let (free, coming) = (state.frames.free(), state.coming_free);
                let want = self.0.available.demand(free, coming, state.freeing);
                state.freeing = want > 0;
                (want > 0).then_some(Some(want))
            })
            .await
    }

    /// Submits writes for up to `limit` dirty pages of `instance` that the log before `position` needs; says how many
    /// pages are on their way.
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
        self.0.state.borrow_mut().dirty[usize::from(instance)].older_than(
            position,
            limit,
            &mut frames,
        );
        self.write_frames(&frames, After::Keep).await
    }

    /// Writes of `instance` in flight.
    pub fn writes_in_flight(&self, instance: u8) -> u32 {
        let state = self.0.state.borrow();
        let flying = state
            .databases
            .iter()
            .filter(|database| database.instance == instance);
        flying
            .map(|database| u32::try_from(database.flying.len()).expect("writes are bounded"))
            .sum()
    }

    /// Writes every dirty page of `instance` and waits until all of them have arrived. Pages changed meanwhile go too.
    ///
    /// # Errors
    /// When the log or the cache has failed.
    pub async fn write_all(&self, instance: u8) -> Result<(), EngineError> {
        loop {
            self.write_older_than(instance, LogPosition::MAX, 256)
                .await?;
            let done = self
                .0
                .progress
                .wait(|| {
                    if let Some(error) = self.failure() {
                        return Some(Err(error));
                    }
                    let state = self.0.state.borrow();
                    let flying = state.databases.iter().any(|database| {
                        database.instance == instance && !database.flying.is_empty()
                    });
                    (!flying).then(|| Ok(state.dirty[usize::from(instance)].is_empty()))
                })
                .await?;
            if done {
                return Ok(());
            }
        }
    }

    /// Something beside its pages was written to a database, such as the new part of a longer file: the log from `position`
    /// on is needed until that is synced.
    pub fn needs_sync(&self, database: u8, position: LogPosition) {
        let mut state = self.0.state.borrow_mut();
        let entry = &mut state.databases[usize::from(database)];
        entry.is_unsynced(position);
    }

    /// Syncs a database: the positions of all writes that have completed by now are needed no more.
    ///
    /// # Errors
    /// When the sync fails: which writes survived is unknown, and the cache stops.
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
        let done = self
            .0
            .world
            .disk
            .submit(Io::sync(Class::Database, file))
            .await;
        self.0
            .meters
            .database(database, |meters| &mut meters.syncs, 0, done.latency());
        let mut state = self.0.state.borrow_mut();
        let entry = &mut state.databases[usize::from(database)];
        match done.result {
            Ok(()) => {
                entry.syncing = None;
                Ok(())
            }
            Err(error) => {
                let error = EngineError::File {
                    path: entry.path.clone(),
                    error,
                };
                drop(state);
                self.fail(error.clone());
                Err(error)
            }
        }
    }
}

impl<C: Content> State<C> {
    /// Evicts clean pages among the coldest `want`, and collects the dirty ones.
    fn evict_clean(&mut self, want: u32, dirty: &mut Vec<u32>) -> u32 {
        let mut cold = Vec::with_capacity(want as usize);
        self.frames.coldest(want as usize, &mut cold);
        let mut evicted = 0;
        for frame in cold {
            let key = self.frames.key(frame);
            let instance = self.databases[usize::from(key.database)].instance;
            if self.dirty[usize::from(instance)].position(frame).is_some() {
                dirty.push(frame);
            } else {
                self.frames.vacate(frame);
                evicted += 1;
            }
        }
        evicted
    }
}
