//! Finding pages and reading them.
//!
//! A reader that needs a frame takes a free one. If there is none, it evicts cold clean pages
//! itself. If there are none of those either, it waits. This is a *page-fault stall*: storage
//! absorbs dirty pages more slowly than it delivers others.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/bf.cxx (allocation of a buffer).

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use brunt_units::PageNumber;
use brunt_world::sync::{Sign, Until};
use brunt_world::{Class, Io, IoError, Op, Segments};

use super::frames::Phase;
use super::mend::Bad;
use super::{Cache, PageKey};
use crate::content::{Content, Flips};
use crate::error::{EngineError, PageFault};

/// How strictly a page that was read is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Fully: checksum, number, flush type.
    Verified,
    /// Not at all: recovery takes what is there, and remembers torn pages.
    Recovering,
}

impl Trust {
    /// I/O class of the read.
    pub(super) fn class(self) -> Class {
        match self {
            Self::Verified => Class::Database,
            Self::Recovering => Class::Recovery,
        }
    }
}

/// Keeps a page in the cache.
pub struct Pin<C: Content> {
    cache: Cache<C>,
    frame: u32,
}

impl<C: Content> Drop for Pin<C> {
    fn drop(&mut self) {
        let mut state = self.cache.0.state.borrow_mut();
        state.frames.unpin(self.frame);
        // A reader may be waiting for a frame, and the cleaner for one to free.
        let is_short = state.frames.free() == 0;
        drop(state);
        if is_short {
            self.cache.0.progress.notify();
        }
    }
}

/// Result of a lookup in the table.
enum Found {
    /// The page, pinned.
    Here(u32),
    /// A frame for it, pinned; the page must still be read.
    Read(u32),
    /// Another operation is reading it, and signals this when it arrives.
    Coming(Sign),
    /// No frame is free.
    Stalled,
}

impl<C: Content> Cache<C> {
    /// Pins the page, after reading it if necessary.
    ///
    /// # Errors
    /// [`EngineError::Page`] when the disk does not have the right page.
    pub async fn fetch(
        &self,
        database: u8,
        page: PageNumber,
        trust: Trust,
    ) -> Result<Pin<C>, EngineError> {
        let key = PageKey { database, page };
        self.0.meters.with(|meters| meters.page_requests.tick());
        match self.frame_for(key, Phase::Reading).await? {
            Found::Read(frame) => self.read(frame, key, trust).await,
            Found::Here(frame) => {
                self.0.meters.with(|meters| meters.page_hits.tick());
                Ok(self.pinned(frame))
            }
            Found::Coming(_) | Found::Stalled => unreachable!("waited for"),
        }
    }

    /// Pins a frame for a page whose former content does not matter.
    ///
    /// # Errors
    /// When the cache has failed.
    pub async fn claim(&self, database: u8, page: PageNumber) -> Result<Pin<C>, EngineError> {
        match self.frame_for(PageKey { database, page }, Phase::Resident).await? {
            Found::Read(frame) | Found::Here(frame) => Ok(self.pinned(frame)),
            Found::Coming(_) | Found::Stalled => unreachable!("waited for"),
        }
    }

    fn pinned(&self, frame: u32) -> Pin<C> {
        Pin { cache: self.clone(), frame }
    }

    /// Waits until the page arrives or a frame is free for it. A new frame enters `phase`.
    async fn frame_for(&self, key: PageKey, phase: Phase) -> Result<Found, EngineError> {
        let mut stalled = false;
        self.0
            .progress
            .wait_until(|| {
                if let Some(error) = self.failure() {
                    return ControlFlow::Break(Err(error));
                }
                match self.look(key, phase) {
                    Found::Coming(sign) => ControlFlow::Continue(Until::Shown(sign)),
                    Found::Stalled => {
                        if !stalled {
                            stalled = true;
                            self.0.meters.with(|meters| {
                                let database = usize::from(key.database);
                                meters.databases[database].page_fault_stalls.tick();
                                meters.page_fault_stalls.tick();
                            });
                        }
                        self.0.demand.notify();
                        ControlFlow::Continue(Until::Notified)
                    }
                    found => ControlFlow::Break(Ok(found)),
                }
            })
            .await
    }

    fn look(&self, key: PageKey, phase: Phase) -> Found {
        let now = self.0.world.clock.now();
        let mut state = self.0.state.borrow_mut();
        if let Some(frame) = state.frames.find(key) {
            if state.frames.phase(frame) == Phase::Reading {
                return Found::Coming(state.frames.arrival(frame));
            }
            state.frames.pin(frame);
            state.frames.touch(frame, now);
            return Found::Here(frame);
        }
        state.frames.anticipate(key);
        if state.frames.free() == 0 {
            state.evict_for_reader(self.0.available.stop);
        }
        let frames = &mut state.frames;
        let page = match phase {
            Phase::Resident => Some(C::zeroed(&self.0.world.frames, self.0.options.page_size)),
            _ => None,
        };
        match frames.occupy(key, phase, page, now) {
            Some(frame) => {
                if frames.free() < self.0.available.begin(self.0.options.freeing) {
                    self.0.demand.notify();
                }
                Found::Read(frame)
            }
            None => Found::Stalled,
        }
    }

    async fn read(&self, frame: u32, key: PageKey, trust: Trust) -> Result<Pin<C>, EngineError> {
        let pin = self.pinned(frame);
        let size = self.0.options.page_size;
        let (file, offset) = {
            let state = self.0.state.borrow();
            (state.databases[usize::from(key.database)].file, key.page.offset(size))
        };
        let segments = Segments::from_buf([C::blank(&self.0.world.frames, size)]);
        let io = Io {
            tag: u64::from(key.page.0),
            ..Io::new(trust.class(), Op::Read, file, offset, segments)
        };
        let done = self.0.world.disk.submit(io).await;
        self.0.meters.database(
            key.database,
            |meters| &mut meters.reads,
            size.bytes_u64(),
            done.latency(),
        );
        let result = done.result;
        let segment = done.segments.into_iter().next().expect("a read brings its memory back");
        let mut page = C::arrived(segment);
        let judged = match self.examine(key, result, &mut page, trust) {
            Ok(()) => Ok(page),
            Err(bad) => match self.mend(key, bad, trust).await {
                Some(page) => Ok(page),
                None => self.make_do(key, bad, page, trust),
            },
        };
        let mut state = self.0.state.borrow_mut();
        let outcome = match judged {
            Ok(page) => {
                *state.frames.page_mut(frame) = Some(page);
                state.frames.set_phase(frame, Phase::Resident);
                Ok(pin)
            }
            Err(fault) => {
                let database = state.databases[usize::from(key.database)].path.clone();
                drop(state);
                drop(pin);
                state = self.0.state.borrow_mut();
                state.frames.vacate(frame);
                Err(EngineError::Page { database, page: key.page, offset, fault })
            }
        };
        drop(state);
        self.0.progress.notify();
        outcome
    }

    /// The page that arrived, if it is valid.
    pub(super) fn judge(
        &self,
        key: PageKey,
        result: Result<(), IoError>,
        mut page: C::Page,
        trust: Trust,
    ) -> Result<C::Page, PageFault> {
        match self.examine(key, result, &mut page, trust) {
            Ok(()) => Ok(page),
            Err(bad) => self.make_do(key, bad, page, trust),
        }
    }

    /// Whether what arrived is the page last written. Corrects a flipped bit, but not during
    /// recovery.
    pub(super) fn examine(
        &self,
        key: PageKey,
        result: Result<(), IoError>,
        page: &mut C::Page,
        trust: Trust,
    ) -> Result<(), Bad> {
        result.map_err(PageFault::Device)?;
        let state = self.0.state.borrow();
        let database = &state.databases[usize::from(key.database)];
        let flips = match trust {
            Trust::Verified => Flips::Correct,
            Trust::Recovering => Flips::Leave,
        };
        let size = self.0.options.page_size;
        let sound = C::verify(page, key.page, database.pages, size, flips)?;
        if trust == Trust::Recovering {
            return Ok(());
        }
        if sound.corrected {
            self.0.meters.with(|meters| meters.corrected.tick());
        }
        let agrees = database.flush.agrees(key.page, sound.flush_type, sound.time);
        match agrees {
            false => Err(Bad { fault: PageFault::LostFlush, found: sound.time }),
            true if sound.time > Some(database.time) => Err(PageFault::TooNew.into()),
            true => Ok(()),
        }
    }

    /// Handles a bad page that no copy has: recovery treats it as torn, and rebuilds it.
    fn make_do(
        &self,
        key: PageKey,
        bad: Bad,
        page: C::Page,
        trust: Trust,
    ) -> Result<C::Page, PageFault> {
        let page = match (trust, bad.fault) {
            (Trust::Verified, fault) => return Err(fault),
            // Past the end: the file's new length did not survive, and its pages will be rebuilt
            // like torn ones.
            (Trust::Recovering, PageFault::Device(IoError::PastEnd)) => {
                C::zeroed(&self.0.world.frames, self.0.options.page_size)
            }
            (Trust::Recovering, PageFault::Device(error)) => return Err(PageFault::Device(error)),
            (Trust::Recovering, _) => page,
        };
        self.with_database(key.database, |entry| entry.torn.insert(key.page, bad.fault));
        Ok(page)
    }

    /// Whether recovery found the page torn and has not rebuilt it yet.
    pub fn is_torn(&self, database: u8, page: PageNumber) -> bool {
        self.0.state.borrow().databases[usize::from(database)].torn.contains_key(&page)
    }

    /// The page's former content no longer matters, so it no longer counts as torn.
    pub fn rebuilt(&self, database: u8, page: PageNumber) {
        self.with_database(database, |entry| {
            entry.torn.remove(&page);
        });
    }

    /// Pages that recovery found torn and has not rebuilt yet.
    pub fn torn(&self, database: u8) -> BTreeSet<PageNumber> {
        self.with_database(database, |entry| entry.torn.keys().copied().collect())
    }

    /// What is wrong with a page that looked torn and that the log does not rebuild.
    pub(crate) fn rot(&self, database: u8, page: PageNumber) -> PageFault {
        match self.with_database(database, |entry| entry.torn.get(&page).copied()) {
            Some(PageFault::Uninitialised) => PageFault::Uninitialised,
            _ => PageFault::Checksum,
        }
    }

    /// The pages of a database in memory.
    pub(crate) fn resident_pages(&self, database: u8) -> Vec<PageNumber> {
        let state = self.0.state.borrow();
        let filled = (0..self.0.options.frames).filter(|frame| state.is_filled(*frame));
        let keys = filled.map(|frame| state.frames.key(frame));
        let own = keys.filter(|key| key.database == database);
        own.map(|key| key.page).collect()
    }

    /// Discards the flush map's knowledge of a page that recovery has visited; the crash may have
    /// come between the two writes.
    pub fn forget_flush(&self, database: u8, page: PageNumber) {
        self.with_database(database, |entry| entry.flush.forget_learned(page));
    }

    pub(super) fn with_database<T>(
        &self,
        database: u8,
        work: impl FnOnce(&mut super::databases::CachedDatabase) -> T,
    ) -> T {
        work(&mut self.0.state.borrow_mut().databases[usize::from(database)])
    }
}
