//! Writing dirty pages: in runs, after their log, one write per page at a time.
//!
//! Callers name the frames to write. Neighbouring pages that can join the write are added, and the
//! runs are submitted up to the limit of writes in flight. Each run ends in its own task, so
//! callers do not wait for its I/O.

use std::rc::Rc;

use brunt_units::{DatabaseTime, LogPosition, PageNumber};
use brunt_world::{Class, Io, Op, Segments, Ticket};

use super::databases::CachedDatabase;
use super::frames::Phase;
use super::past::tell;
use super::{Cache, PageKey, State};
use crate::content::Content;
use crate::error::EngineError;
use crate::format::flush_map::next_flush_type;
use crate::log::WriteAhead;
use crate::policy::coalesce::{Candidate, Limits, Run, runs};

/// What happens to a page when its write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It stays in the cache.
    Keep,
    /// It is evicted, unless it has been referenced again.
    Evict,
}

/// A run being written.
struct Departure {
    database: u8,
    /// The first page of the run.
    first: PageNumber,
    frames: Vec<u32>,
    /// The oldest log position needed by each dirty page of the run.
    oldest: Vec<(u32, LogPosition)>,
    write: u64,
    bytes: u64,
    after: After,
}

impl<C: Content> Cache<C> {
    /// Waits for the log of these frames and submits their writes. Returns how many dirty pages
    /// were submitted.
    ///
    /// Skips pages that are clean, in flight, or changed again while waiting for the log.
    ///
    /// # Errors
    /// When the log has failed, or the cache has failed while waiting for writes in flight.
    pub(crate) async fn write_frames(
        &self,
        frames: &[u32],
        after: After,
    ) -> Result<u32, EngineError> {
        for (log, end) in self.logs_of(frames) {
            if log.durable() < end {
                log.flushed(end).await?;
            }
        }
        let mut left = frames.to_vec();
        let mut written = 0;
        while let Some(full) = self.depart_all(&mut left, after, &mut written) {
            // Not for a single write: the runs are computed again each time.
            let quarter = self.0.options.writes_max.div_ceil(4);
            self.0
                .progress
                .wait(|| match self.failure() {
                    Some(error) => Some(Err(error)),
                    None => (self.writes_left(full) >= quarter).then_some(Ok(())),
                })
                .await?;
        }
        Ok(written)
    }

    /// Submits as many of the frames in `left` as may be in flight, and removes them from it.
    /// Returns the database whose limit was reached, if any.
    fn depart_all(&self, left: &mut Vec<u32>, after: After, written: &mut u32) -> Option<u8> {
        let mut departed = Vec::new();
        let mut full = None;
        for (database, run) in self.runs_around(left) {
            if self.writes_left(database) == 0 {
                full = Some(database);
                break;
            }
            let Some((ticket, departure)) = self.depart(database, run, after) else {
                continue;
            };
            *written += u32::try_from(departure.oldest.len()).expect("a run is short");
            departed.extend(&departure.frames);
            let arrival = self.clone().arrive(ticket, departure);
            drop(self.0.world.spawner.spawn(arrival));
        }
        departed.sort_unstable();
        left.retain(|frame| departed.binary_search(frame).is_err());
        full
    }

    /// How many more writes of a database may be in flight.
    fn writes_left(&self, database: u8) -> usize {
        let state = self.0.state.borrow();
        let flying = state.databases[usize::from(database)].flying.len();
        self.0.options.writes_max.saturating_sub(flying)
    }

    /// The newest log position of these frames, per log.
    fn logs_of(&self, frames: &[u32]) -> Vec<(Rc<dyn WriteAhead>, LogPosition)> {
        let state = self.0.state.borrow();
        let mut ends: Vec<(u8, usize, LogPosition)> = Vec::new();
        for &frame in frames {
            let database = usize::from(state.frames.key(frame).database);
            let instance = state.databases[database].instance;
            let last = state.frames.last(frame);
            match ends.iter_mut().find(|(known, ..)| *known == instance) {
                Some((.., end)) => *end = last.max(*end),
                None => ends.push((instance, database, last)),
            }
        }
        ends.into_iter()
            .map(|(_, database, end)| (Rc::clone(&state.databases[database].log), end))
            .collect()
    }

    /// Runs with these frames and the neighbours that can join them.
    fn runs_around(&self, frames: &[u32]) -> Vec<(u8, Run)> {
        let state = self.0.state.borrow();
        let size = self.0.options.page_size;
        let limits = Limits {
            max_bytes: self.0.options.coalesce_bytes,
            max_gap_bytes: self.0.options.gap_bytes,
        };
        let reach =
            u32::try_from(limits.max_bytes.div_euclid(size.bytes_u64())).unwrap_or(1).max(1) - 1;
        let mut seeds: Vec<PageKey> = frames
            .iter()
            .filter(|frame| state.may_depart(**frame) && state.is_dirty(**frame))
            .map(|frame| state.frames.key(*frame))
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        let mut found = Vec::new();
        let mut candidates = Vec::new();
        let mut out = Vec::new();
        let mut seeds = seeds.into_iter().peekable();
        // Neighbourhoods of different seeds may overlap; a page joins the first.
        let mut covered: Option<PageKey> = None;
        while let Some(seed) = seeds.next() {
            let below = match covered {
                Some(last) if last.database == seed.database => seed.page.0 - last.page.0 - 1,
                _ => seed.page.0.saturating_sub(1),
            };
            let clean_too = limits.max_gap_bytes > 0;
            candidates.clear();
            state.candidates_below(seed, reach.min(below), clean_too, &mut candidates);
            candidates.push(Candidate { page: seed.page, dirty: true });
            // Go up as long as pages are cached and a seed is near, including seeds on the way.
            let mut page = seed.page;
            let mut end = seed.page.after(reach);
            while page < end {
                page = page.after(1);
                let key = PageKey { page, ..seed };
                let Some(candidate) = state.candidate(key, clean_too) else {
                    break;
                };
                if seeds.next_if_eq(&key).is_some() {
                    end = page.after(reach);
                }
                candidates.push(candidate);
            }
            let last = candidates.last().expect("the seed is one");
            covered = Some(PageKey { page: last.page, ..seed });
            out.clear();
            runs(&candidates, size, limits, &mut out);
            found.extend(out.iter().map(|run| (seed.database, *run)));
        }
        found
    }

    /// Seals and submits one run. `None` when none of it may be written any more.
    fn depart(&self, database: u8, run: Run, after: After) -> Option<(Ticket, Departure)> {
        let mut state = self.0.state.borrow_mut();
        let state = &mut *state;
        let size = self.0.options.page_size;
        let mut segments = Segments::new();
        let mut frames = Vec::with_capacity(run.count as usize);
        for page in run.pages() {
            let frame = state.frames.find(PageKey { database, page })?;
            let is_dirty = state.is_dirty(frame);
            let entry = &mut state.databases[usize::from(database)];
            let slot = state.frames.page_mut(frame).as_mut()?;
            // A clean page that only fills a gap keeps its type: no log record would inform
            // recovery of a change. A newly created page has no type yet and continues from the
            // type of its predecessor.
            let former = match C::flush_type(slot, size) {
                0 => entry.flush.flush_type(page),
                known => known,
            };
            let flush_type = if is_dirty { next_flush_type(former) } else { former };
            let segment =
                C::depart(slot, page, size, flush_type).expect("no write of it is in flight");
            entry.flush.written(page, flush_type, C::time(slot, size));
            segments.push(segment);
            frames.push(frame);
        }
        tell(&mut state.watches, database, run);
        let entry = &mut state.databases[usize::from(database)];
        let order = &mut state.instances[usize::from(entry.instance)].dirty;
        let mut oldest = Vec::with_capacity(frames.len());
        for &frame in &frames {
            state.frames.set_phase(frame, Phase::Writing);
            if let Some(position) = state.frames.set_oldest(frame, None) {
                order.remove(frame, position);
                oldest.push((frame, position));
            }
        }
        let write = state.next_write;
        state.next_write += 1;
        let first = oldest.iter().map(|(_, position)| *position).min();
        entry.flying.insert(write, first.unwrap_or(LogPosition::MAX));
        if after == After::Evict {
            state.coming_free += run.count;
            state.freeing_writes += 1;
        }
        let io = Io::new(Class::Database, Op::Write, entry.file, run.first.offset(size), segments);
        let io = Io { tag: u64::from(run.first.0), ..io };
        let bytes = run.bytes(size);
        let ticket = self.0.world.disk.submit(io);
        Some((
            ticket,
            Departure { database, first: run.first, frames, oldest, write, bytes, after },
        ))
    }

    /// Waits for a run's write and releases its pages.
    async fn arrive(self, ticket: Ticket, departure: Departure) {
        let done = ticket.await;
        self.0.meters.database(
            departure.database,
            |meters| &mut meters.writes,
            departure.bytes,
            done.latency(),
        );
        drop(done.segments);
        let mut state = self.0.state.borrow_mut();
        let state_ref = &mut *state;
        let entry = &mut state_ref.databases[usize::from(departure.database)];
        let instance = usize::from(entry.instance);
        let first = entry.flying.remove(&departure.write).expect("each write ends once");
        match done.result {
            Ok(()) if first != LogPosition::MAX => entry.is_unsynced(first),
            Ok(()) => {}
            Err(error) => {
                // The content of the disk is unknown: the pages stay dirty and hold the checkpoint.
                let order = &mut state_ref.instances[instance].dirty;
                for &(frame, position) in &departure.oldest {
                    if let Some(newer) = state_ref.frames.set_oldest(frame, Some(position)) {
                        order.remove(frame, newer);
                    }
                    order.insert(frame, position);
                }
                let (path, page) = (entry.path.clone(), departure.first);
                state_ref.land(&departure);
                drop(state);
                let count = u32::try_from(departure.frames.len()).expect("a run is short");
                let run = Run { first: page, count };
                let mut failed = self.0.failed_writes.borrow_mut();
                failed.push((departure.database, run));
                drop(failed);
                self.fail(match error {
                    error if error.environment().is_some() => EngineError::File { path, error },
                    error => EngineError::Write {
                        database: path,
                        page,
                        offset: page.offset(self.0.options.page_size),
                        error,
                    },
                });
                return;
            }
        }
        state_ref.land(&departure);
        state_ref.instances[instance].write_ended.notify();
        drop(state);
        self.0.progress.notify();
        self.0.write_ended.notify();
    }
}

impl CachedDatabase {
    /// The log from `position` on is needed until the next sync.
    pub(super) fn is_unsynced(&mut self, position: LogPosition) {
        let oldest = self.unsynced.map_or(position, |older| position.min(older));
        self.unsynced = Some(oldest);
    }
}

impl<C: Content> State<C> {
    pub(super) fn is_dirty(&self, frame: u32) -> bool {
        self.frames.oldest(frame).is_some()
    }

    /// Whether the page may be written now: it is not in flight, its log is durable, and recovery
    /// has not found it torn (a new checksum would make it look right).
    fn may_depart(&self, frame: u32) -> bool {
        let key = self.frames.key(frame);
        let database = &self.databases[usize::from(key.database)];
        self.frames.phase(frame) == Phase::Resident
            && self.frames.last(frame) <= database.log.durable()
            && !database.torn.contains_key(&key.page)
    }

    fn candidate(&self, key: PageKey, with_clean: bool) -> Option<Candidate> {
        let frame = self.frames.find(key).filter(|frame| self.may_depart(*frame))?;
        let dirty = self.is_dirty(frame);
        (dirty || with_clean && self.is_filled(frame))
            .then_some(Candidate { page: key.page, dirty })
    }

    /// Whether the frame holds a page, not just memory claimed for a page yet to be created.
    pub(super) fn is_filled(&self, frame: u32) -> bool {
        let page = self.frames.page(frame);
        page.is_some_and(|page| C::time(page, self.page_size) != Some(DatabaseTime(0)))
    }

    /// Cached pages just below `seed` that can join its write, lowest first.
    fn candidates_below(
        &self,
        seed: PageKey,
        reach: u32,
        with_clean: bool,
        out: &mut Vec<Candidate>,
    ) {
        for distance in 1..=reach {
            let key = PageKey { page: PageNumber(seed.page.0 - distance), ..seed };
            match self.candidate(key, with_clean) {
                Some(candidate) => out.push(candidate),
                None => break,
            }
        }
        out.reverse();
    }

    /// Returns the pages of a run to their normal state.
    fn land(&mut self, departure: &Departure) {
        for &frame in &departure.frames {
            self.frames.set_phase(frame, Phase::Resident);
        }
        if departure.after == After::Evict {
            self.freeing_writes -= 1;
            self.coming_free -= u32::try_from(departure.frames.len()).expect("a run is short");
            for &frame in &departure.frames {
                if !self.frames.is_pinned(frame) && !self.is_dirty(frame) {
                    self.frames.vacate(frame);
                }
            }
        }
    }
}
