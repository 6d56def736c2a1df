//! The table of frames: what each holds, who pins it, where a page is.

use std::hash::{BuildHasherDefault, Hasher};

use brunt_units::{LogPosition, Time};
use brunt_world::World;
use hashbrown::HashMap;

use super::{CacheOptions, PageKey};
use crate::content::Content;
use crate::policy::replacement::{LruK, Replacement};

/// Evicted pages whose references are remembered. Source: as [`CacheOptions::new`].
const HISTORY: u32 = 100_000;

/// What a frame is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Holds nothing.
    Free,
    /// A read into it is in flight.
    Reading,
    /// Holds a page.
    Resident,
    /// Holds a page that is being written.
    Writing,
}

/// All frames of a cache, by number.
pub(super) struct FrameTable<C: Content> {
    keys: Vec<PageKey>,
    phases: Vec<Phase>,
    pins: Vec<u32>,
    /// One past the newest log record of the page.
    last: Vec<LogPosition>,
    pages: Vec<Option<C::Page>>,
    index: HashMap<PageKey, u32, BuildHasherDefault<KeyHasher>>,
    free: Vec<u32>,
    replacement: Replacement,
}

impl<C: Content> FrameTable<C> {
    pub(super) fn new(world: &World, options: &CacheOptions) -> Self {
        let count = options.frames as usize;
        // Their memory goes back to the pool at once and stays taken from the system.
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
        Self {
            keys: vec![nowhere; count],
            phases: vec![Phase::Free; count],
            pins: vec![0; count],
            last: vec![LogPosition::default(); count],
            pages: std::iter::repeat_with(|| None).take(count).collect(),
            index: HashMap::default(),
            free: (0..options.frames).rev().collect(),
            replacement: Replacement::new(options.frames, lru_k),
        }
    }

    /// The frame that holds or is about to hold a page.
    pub(super) fn find(&self, key: PageKey) -> Option<u32> {
        self.index.get(&key).copied()
    }

    /// Free frames.
    pub(super) fn free(&self) -> u32 {
        u32::try_from(self.free.len()).expect("frames have 32-bit numbers")
    }

    /// Gives a free frame to `key`, in `phase` and pinned once.
    pub(super) fn occupy(
        &mut self,
        key: PageKey,
        phase: Phase,
        page: Option<C::Page>,
        now: Time,
    ) -> Option<u32> {
        let frame = self.free.pop()?;
        let at = frame as usize;
        debug_assert!(self.phases[at] == Phase::Free && self.pins[at] == 0);
        self.keys[at] = key;
        self.phases[at] = phase;
        self.pins[at] = 1;
        self.last[at] = LogPosition::default();
        self.pages[at] = page;
        let former = self.index.insert(key, frame);
        assert!(former.is_none(), "{key:?} is in two frames");
        self.replacement.admit(
            frame,
            u64::from(key.database) << 32 | u64::from(key.page.0),
            now,
        );
        Some(frame)
    }

    /// Forgets every page, so that its memory can serve somebody else.
    pub(super) fn give_back(&mut self) {
        self.pages.fill_with(|| None);
    }

    /// Makes a frame free.
    pub(super) fn vacate(&mut self, frame: u32) {
        let at = frame as usize;
        assert!(self.pins[at] == 0, "an evicted page is not pinned");
        self.index.remove(&self.keys[at]);
        self.phases[at] = Phase::Free;
        self.pages[at] = None;
        self.replacement.evict(frame);
        self.free.push(frame);
    }

    pub(super) fn key(&self, frame: u32) -> PageKey {
        self.keys[frame as usize]
    }

    pub(super) fn phase(&self, frame: u32) -> Phase {
        self.phases[frame as usize]
    }

    pub(super) fn set_phase(&mut self, frame: u32, phase: Phase) {
        self.phases[frame as usize] = phase;
    }

    pub(super) fn pin(&mut self, frame: u32) {
        self.pins[frame as usize] += 1;
    }

    pub(super) fn unpin(&mut self, frame: u32) {
        self.pins[frame as usize] -= 1;
    }

    pub(super) fn is_pinned(&self, frame: u32) -> bool {
        self.pins[frame as usize] > 0
    }

    pub(super) fn last(&self, frame: u32) -> LogPosition {
        self.last[frame as usize]
    }

    pub(super) fn set_last(&mut self, frame: u32, end: LogPosition) {
        self.last[frame as usize] = end;
    }

    pub(super) fn touch(&mut self, frame: u32, now: Time) {
        self.replacement.touch(frame, now);
    }

    pub(super) fn page(&self, frame: u32) -> Option<&C::Page> {
        self.pages[frame as usize].as_ref()
    }

    pub(super) fn page_mut(&mut self, frame: u32) -> &mut Option<C::Page> {
        &mut self.pages[frame as usize]
    }

    /// The coldest frames that could be given up: resident, not pinned, and `may_go` with their page and its newest log
    /// record.
    pub(super) fn coldest(
        &mut self,
        want: usize,
        mut may_go: impl FnMut(u32, PageKey, LogPosition) -> bool,
        out: &mut Vec<u32>,
    ) {
        let mut eligible = |frame: u32| {
            let at = frame as usize;
            self.phases[at] == Phase::Resident
                && self.pins[at] == 0
                && may_go(frame, self.keys[at], self.last[at])
        };
        self.replacement.coldest(want, &mut eligible, out);
    }
}

/// Fibonacci hashing of page keys: they are chosen by nobody hostile, and the order of the table is never looked at.
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
