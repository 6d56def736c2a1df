//! The table of frames: their pages, pins and phases, and the index of pages.

use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};

use brunt_units::{LogPosition, Time};
use brunt_world::World;
use brunt_world::sync::Sign;
use hashbrown::HashMap;

use super::{CacheOptions, PageKey};
use crate::content::Content;
use crate::policy::replacement::{LruK, Replacement};

/// Evicted pages whose references are remembered. Source: as [`CacheOptions::new`].
const HISTORY: u32 = 100_000;

/// What a frame is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Empty.
    Free,
    /// A read into it is in flight.
    Reading,
    /// Holds a page.
    Resident,
    /// Holds a page that is being written.
    Writing,
}

/// One frame. An access needs most of its fields, and together they fit one cache line.
struct Frame<P> {
    key: PageKey,
    /// One past the newest log record of the page.
    last: LogPosition,
    pins: u32,
    phase: Phase,
    page: Option<P>,
}

/// All frames of a cache, by number.
pub(super) struct FrameTable<C: Content> {
    frames: Vec<Frame<C::Page>>,
    index: HashMap<PageKey, u32, BuildHasherDefault<KeyHasher>>,
    free: Vec<u32>,
    replacement: Replacement,
    /// For frames with a read in flight: the signal for readers waiting for the page.
    arrivals: BTreeMap<u32, Sign>,
    changes: u64,
}

impl<C: Content> FrameTable<C> {
    pub(super) fn new(world: &World, options: &CacheOptions) -> Self {
        let count = options.frames as usize;
        // The memory returns to the pool at once and stays allocated.
        let taken: Vec<_> = (0..options.frames_min)
            .map(|_| C::zeroed(&world.frames, options.page_size))
            .collect();
        drop(taken);
        let lru_k = LruK {
            correlation: options.correlation,
            timeout: options.timeout,
            history: HISTORY,
        };
        let nowhere = PageKey {
            database: 0,
            page: brunt_units::PageNumber::NONE,
        };
        let free = || Frame {
            key: nowhere,
            last: LogPosition::default(),
            pins: 0,
            phase: Phase::Free,
            page: None,
        };
        Self {
            frames: std::iter::repeat_with(free).take(count).collect(),
            index: HashMap::default(),
            free: (0..options.frames).rev().collect(),
            replacement: Replacement::new(options.frames, lru_k),
            arrivals: BTreeMap::new(),
            changes: 0,
        }
    }

    /// Grows with every change that can affect which frames are the coldest that may be evicted. Only a pinned page becomes
    /// dirty, and only a write makes it clean, so counting pins and phases covers dirtiness too.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The frame that holds or is about to hold a page.
    pub(super) fn find(&self, key: PageKey) -> Option<u32> {
        self.index.get(&key).copied()
    }

    /// Free frames.
    pub(super) fn free(&self) -> u32 {
        u32::try_from(self.free.len()).expect("frames have 32-bit numbers")
    }

    /// Assigns a free frame to `key`, in `phase` and pinned once.
    pub(super) fn occupy(
        &mut self,
        key: PageKey,
        phase: Phase,
        page: Option<C::Page>,
        now: Time,
    ) -> Option<u32> {
        let frame = self.free.pop()?;
        self.changes += 1;
        let entry = &mut self.frames[frame as usize];
        debug_assert!(entry.phase == Phase::Free && entry.pins == 0);
        *entry = Frame {
            key,
            last: LogPosition::default(),
            pins: 1,
            phase,
            page,
        };
        let former = self.index.insert(key, frame);
        assert!(former.is_none(), "{key:?} is in two frames");
        self.replacement.admit(
            frame,
            u64::from(key.database) << 32 | u64::from(key.page.0),
            now,
        );
        Some(frame)
    }

    /// Drops every page, so that its memory can be reused.
    pub(super) fn give_back(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.page = None);
    }

    /// Frees a frame.
    pub(super) fn vacate(&mut self, frame: u32) {
        let entry = &mut self.frames[frame as usize];
        assert!(entry.pins == 0, "an evicted page is not pinned");
        self.index.remove(&entry.key);
        entry.page = None;
        self.set_phase(frame, Phase::Free);
        self.replacement.evict(frame);
        self.free.push(frame);
    }

    pub(super) fn key(&self, frame: u32) -> PageKey {
        self.frames[frame as usize].key
    }

    pub(super) fn phase(&self, frame: u32) -> Phase {
        self.frames[frame as usize].phase
    }

    pub(super) fn set_phase(&mut self, frame: u32, phase: Phase) {
        self.changes += 1;
        let before = std::mem::replace(&mut self.frames[frame as usize].phase, phase);
        if before == Phase::Reading
            && let Some(sign) = self.arrivals.remove(&frame)
        {
            sign.show();
        }
    }

    /// Signals when the read into `frame` has ended, or will never end.
    pub(super) fn arrival(&mut self, frame: u32) -> Sign {
        debug_assert!(self.phase(frame) == Phase::Reading);
        self.arrivals.entry(frame).or_default().clone()
    }

    /// Wakes all readers; there is no read left to wait for.
    pub(super) fn show_arrivals(&mut self) {
        std::mem::take(&mut self.arrivals)
            .into_values()
            .for_each(|sign| sign.show());
    }

    pub(super) fn pin(&mut self, frame: u32) {
        self.changes += 1;
        self.frames[frame as usize].pins += 1;
    }

    pub(super) fn unpin(&mut self, frame: u32) {
        self.changes += 1;
        self.frames[frame as usize].pins -= 1;
    }

    pub(super) fn is_pinned(&self, frame: u32) -> bool {
        self.frames[frame as usize].pins > 0
    }

    pub(super) fn last(&self, frame: u32) -> LogPosition {
        self.frames[frame as usize].last
    }

    pub(super) fn set_last(&mut self, frame: u32, end: LogPosition) {
        self.frames[frame as usize].last = end;
    }

    /// The page will be referenced soon.
    pub(super) fn promise(&mut self, frame: u32, now: Time) {
        self.changes += 1;
        self.replacement.promise(frame, now);
    }

    pub(super) fn touch(&mut self, frame: u32, now: Time) {
        self.changes += 1;
        self.replacement.touch(frame, now);
    }

    pub(super) fn page(&self, frame: u32) -> Option<&C::Page> {
        self.frames[frame as usize].page.as_ref()
    }

    pub(super) fn page_mut(&mut self, frame: u32) -> &mut Option<C::Page> {
        &mut self.frames[frame as usize].page
    }

    /// The coldest frames that may be evicted: resident, not pinned, and accepted by `may_go`, given their page and its
    /// newest log record.
    pub(super) fn coldest(
        &mut self,
        want: usize,
        mut may_go: impl FnMut(u32, PageKey, LogPosition) -> bool,
        out: &mut Vec<u32>,
    ) {
        let mut eligible = |frame: u32| {
            let entry = &self.frames[frame as usize];
            entry.phase == Phase::Resident
                && entry.pins == 0
                && may_go(frame, entry.key, entry.last)
        };
        self.replacement.coldest(want, &mut eligible, out);
    }
}

/// Fibonacci hashing of page keys. No attacker chooses the keys, and the order of the table is never used.
#[derive(Clone, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        let mixed = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u8(*byte));
    }

    fn write_u8(&mut self, value: u8) {
        self.0 = self.0 << 8 | u64::from(value);
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = self.0 << 32 | u64::from(value);
    }
}
