//! Reading pages ahead: many pages in few reads.
//!
//! Wanted pages are collected per database, sorted and joined into runs by
//! [`crate::policy::preread`]. A limited number of reads is in flight; when one ends, the next
//! begins. Each page is checked as if it had been read alone.
//!
//! A preread is optional: it takes a frame only while enough are free, and drops bad pages and gap
//! pages that only join two runs. An operation that needs a dropped page reads it and reports the
//! fault.

use brunt_units::PageNumber;
use brunt_world::{Io, Op, Segments, Ticket};

use super::frames::Phase;
use super::{Cache, CacheOptions, PageKey, Trust};
use crate::content::Content;
use crate::policy::coalesce::{Limits, Run};
use crate::policy::preread::{self, Changed, IN_FLIGHT, Preread};

/// Prereads of one database.
#[derive(Debug)]
pub(super) struct Ahead {
    wanted: Preread,
    trust: Trust,
    in_flight: u32,
}

impl Ahead {
    pub(super) fn new() -> Self {
        Self { wanted: Preread::new(), trust: Trust::Verified, in_flight: 0 }
    }

    /// Maximum reads in flight.
    fn most(&self, options: &CacheOptions) -> u32 {
        match self.trust {
            Trust::Recovering => options.recovery_reads,
            _ => IN_FLIGHT,
        }
    }

    /// Whether any page is waiting or in flight.
    #[cfg(test)]
    pub(super) fn pending(&self) -> bool {
        self.in_flight > 0 || self.wanted.pending() > 0
    }
}

/// A read in flight.
struct Arrival {
    database: u8,
    run: Run,
    trust: Trust,
    /// The wanted pages of the run, ascending, and their frames.
    frames: Vec<(PageNumber, u32)>,
}

impl<C: Content> Cache<C> {
    /// Reads pages ahead in the background. A failed read is repeated, and its error reported, when
    /// the page is needed. Pages without room for them are dropped, but during recovery they wait
    /// for room.
    pub fn preread(&self, database: u8, pages: impl IntoIterator<Item = PageNumber>, trust: Trust) {
        self.with_database(database, |entry| {
            entry.ahead.trust = trust;
            for page in pages {
                entry.ahead.wanted.want(page);
            }
        });
        self.read_ahead(database);
    }

    /// Splits off the records that recovery replays next and requests their pages. Also returns the
    /// remaining records. `changes` appends the pages of a record.
    pub(crate) fn preread_batch<'r, R>(
        &self,
        records: &'r [R],
        trust: Trust,
        changes: impl FnMut(&R, &mut Vec<Changed>),
    ) -> (&'r [R], &'r [R]) {
        let (batch, later, missing) = {
            let frames = &self.0.state.borrow().frames;
            preread::batch(records, changes, |(database, page)| {
                frames.find(PageKey { database, page }).is_some()
            })
        };
        let missing: Vec<_> = missing.into_iter().collect();
        for own in missing.chunk_by(|one, other| one.0 == other.0) {
            let pages = own.iter().map(|(_, page)| *page);
            self.preread(own[0].0, pages, trust);
        }
        (batch, later)
    }

    /// Drops prereads that have not started, and waits for those in flight.
    pub async fn end_preread(&self, database: u8) {
        self.with_database(database, |entry| entry.ahead.wanted.clear());
        self.0
            .progress
            .wait(|| {
                self.with_database(database, |entry| (entry.ahead.in_flight == 0).then_some(()))
            })
            .await;
    }

    /// Starts as many reads as may be in flight.
    fn read_ahead(&self, database: u8) {
        let (mut runs, mut missing) = (Vec::new(), Vec::new());
        let limits = Limits {
            max_bytes: self.0.options.coalesce_bytes,
            max_gap_bytes: self.0.options.gap_bytes,
        };
        let trust = {
            let mut state = self.0.state.borrow_mut();
            let state = &mut *state;
            let ahead = &mut state.databases[usize::from(database)].ahead;
            let mut cached = |page| {
                let cached = state.frames.find(PageKey { database, page }).is_some();
                if !cached {
                    missing.push(page);
                }
                cached
            };
            let (size, in_flight, most) =
                (self.0.options.page_size, ahead.in_flight, ahead.most(&self.0.options));
            ahead.wanted.issue(in_flight, most, size, limits, &mut cached, &mut runs);
            ahead.trust
        };
        for run in runs {
            let wanted = missing.iter().copied().filter(|page| run.contains(*page));
            let wanted: Vec<_> = wanted.collect();
            let Some((ticket, arrival)) = self.begin(database, run, trust, &wanted) else {
                self.put_off(database, &wanted);
                continue;
            };
            drop(self.0.world.spawner.spawn(self.clone().finish(ticket, arrival)));
        }
    }

    /// There is no room for these pages. Recovery will need them, so it tries again when a read
    /// ends or more pages are wanted. Other readers drop them.
    fn put_off(&self, database: u8, pages: &[PageNumber]) {
        self.with_database(database, |entry| match entry.ahead.trust {
            Trust::Recovering => {
                let ahead = &mut entry.ahead;
                pages.iter().for_each(|page| ahead.wanted.want(*page));
            }
            _ => entry.ahead.wanted.clear(),
        });
    }

    /// Takes frames for the `wanted` pages of a run and submits its read. `None` when frames are
    /// scarce.
    fn begin(
        &self,
        database: u8,
        run: Run,
        trust: Trust,
        wanted: &[PageNumber],
    ) -> Option<(Ticket, Arrival)> {
        let size = self.0.options.page_size;
        let now = self.0.world.clock.now();
        let mut state = self.0.state.borrow_mut();
        let state = &mut *state;
        let count = u32::try_from(wanted.len()).expect("a run is short");
        self.0.demand.notify();
        if state.frames.free() < self.0.available.start + count {
            return None;
        }
        let mut occupy = |page| {
            let key = PageKey { database, page };
            let frame = state.frames.occupy(key, Phase::Reading, None, now);
            let frame = frame.expect("enough frames are free");
            state.frames.promise(frame, now);
            (page, frame)
        };
        let frames = wanted.iter().copied().map(&mut occupy).collect();
        let entry = &mut state.databases[usize::from(database)];
        entry.ahead.in_flight += 1;
        let segments: Segments =
            run.pages().map(|_| C::blank(&self.0.world.frames, size)).collect();
        let io = Io {
            tag: u64::from(run.first.0),
            ..Io::new(trust.class(), Op::Read, entry.file, run.first.offset(size), segments)
        };
        let arrival = Arrival { database, run, trust, frames };
        Some((self.0.world.disk.submit(io), arrival))
    }

    /// Waits for a read, puts its pages into their frames, and starts the next.
    async fn finish(self, ticket: Ticket, arrival: Arrival) {
        let Arrival { database, run, trust, frames } = arrival;
        let done = ticket.await;
        self.0.meters.database(
            database,
            |meters| &mut meters.reads,
            run.bytes(self.0.options.page_size),
            done.latency(),
        );
        if let Err(error) = done.result {
            self.note_failed_run(database, run.first, error);
        }
        let read = run.pages().zip(done.segments);
        let mut frames = frames.into_iter().peekable();
        for (page, segment) in read {
            let Some((_, frame)) = frames.next_if(|(wanted, _)| *wanted == page) else {
                continue;
            };
            // If a run failed, the bad page is unknown: each is read again on its own.
            let key = PageKey { database, page };
            let page = C::arrived(segment);
            let judged = done.result.ok().and_then(|()| self.judge_ahead(key, page, trust));
            self.settle(frame, judged);
        }
        self.with_database(database, |entry| entry.ahead.in_flight -= 1);
        self.0.progress.notify();
        self.read_ahead(database);
    }

    /// The page, unless it is bad. Recovery accepts a bad page, but not if a copy may have a good
    /// one: then the operation that needs it reads it again and asks the copies.
    fn judge_ahead(&self, key: PageKey, mut page: C::Page, trust: Trust) -> Option<C::Page> {
        match self.has_copies() {
            true => self.examine(key, Ok(()), &mut page, trust).ok()?,
            false => return self.judge(key, Ok(()), page, trust).ok(),
        }
        Some(page)
    }

    /// Ends the read into a frame: the page has arrived, or not.
    fn settle(&self, frame: u32, page: Option<C::Page>) {
        let mut state = self.0.state.borrow_mut();
        state.frames.unpin(frame);
        match page {
            Some(page) => {
                *state.frames.page_mut(frame) = Some(page);
                state.frames.set_phase(frame, Phase::Resident);
            }
            None => state.frames.vacate(frame),
        }
    }
}
