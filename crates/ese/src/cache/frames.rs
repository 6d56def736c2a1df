//! The table of frames: their pages, pins and phases, and the index of pages.

use std::collections::BTreeMap;
use std::hash::Hasher;

use brunt_units::{LogPosition, Time};
use brunt_world::World;
use brunt_world::sync::Sign;
use prefetch_index::prefetch_index;

use super::{CacheOptions, PageKey};
use crate::content::{Content, Ghost};
use crate::policy::replacement::{LruK, Replacement, Stamp};

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

/// A frame number plus one, or 0 for the end of a chain.
type Link = u32;

/// Adjacent pages whose chains begin in one line of memory.
const NEAR: usize = 16;

/// One frame. An access needs most of its fields, and together they fill one line of memory.
#[repr(align(64))]
struct Frame<P> {
    key: PageKey,
    /// One past the newest log record of the page.
    last: LogPosition,
    /// The oldest unwritten change of the page; [`LogPosition::MAX`] when it is clean.
    oldest: LogPosition,
    stamp: Stamp,
    pins: u32,
    /// The next frame of its chain.
    next: Link,
    phase: Phase,
    page: Option<P>,
}

const _: () = assert!(size_of::<Frame<<Ghost as Content>::Page>>() == 64, "one line");

/// All frames of a cache, by number.
///
/// Pages are found through chains that begin in `heads` and go on in the frames. Invariant: a frame
/// is in the chain of its key exactly when it is not free.
pub(super) struct FrameTable<C: Content> {
    frames: Vec<Frame<C::Page>>,
    heads: Vec<Link>,
    /// Frames that were used and are free again; those from `unused` on never were.
    free: Vec<u32>,
    unused: u32,
    replacement: Replacement,
    /// For frames with a read in flight: the signal for readers waiting for the page.
    arrivals: BTreeMap<u32, Sign>,
    changes: u64,
}

impl<C: Content> FrameTable<C> {
    pub(super) fn new(world: &World, options: &CacheOptions) -> Self {
        let count = options.frames as usize;
        // The memory returns to the pool at once and stays allocated.
        let taken: Vec<_> =
            (0..options.frames_min).map(|_| C::zeroed(&world.frames, options.page_size)).collect();
        drop(taken);
        let lru_k =
            LruK { correlation: options.correlation, timeout: options.timeout, history: HISTORY };
        let nowhere = PageKey { database: 0, page: brunt_units::PageNumber::NONE };
        let free = || Frame {
            key: nowhere,
            last: LogPosition::default(),
            oldest: LogPosition::MAX,
            stamp: Stamp::VACANT,
            pins: 0,
            next: 0,
            phase: Phase::Free,
            page: None,
        };
        Self {
            frames: std::iter::repeat_with(free).take(count).collect(),
            // Half of them are empty: most pages that are not here are missed without looking at a
            // frame.
            heads: vec![0; (2 * count).next_power_of_two().max(2 * NEAR)],
            free: Vec::new(),
            unused: 0,
            replacement: Replacement::new(options.frames, lru_k),
            arrivals: BTreeMap::new(),
            changes: 0,
        }
    }

    /// Grows with every change that can affect which frames are the coldest that may be evicted.
    /// Only a pinned page becomes dirty, and only a write makes it clean, so counting pins and
    /// phases covers dirtiness too.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The frame that holds or is about to hold a page.
    pub(super) fn find(&self, key: PageKey) -> Option<u32> {
        let mut link = self.heads[self.head_of(key)];
        while let Some(frame) = link.checked_sub(1) {
            let entry = &self.frames[frame as usize];
            if entry.key == key {
                return Some(frame);
            }
            link = entry.next;
        }
        None
    }

    /// Where the chain of `key` begins: multiplicative hashing by 2^64 / golden ratio of all but
    /// the lowest bits.
    fn head_of(&self, key: PageKey) -> usize {
        let lines = self.heads.len().div_euclid(NEAR);
        let key = key.to_u64();
        let (line, within) = (key >> NEAR.ilog2(), key % NEAR as u64);
        let line = line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - lines.ilog2());
        usize::try_from(line * NEAR as u64 + within).expect("below the number of heads")
    }

    /// Free frames.
    pub(super) fn free(&self) -> u32 {
        let free = self.frames.len() - self.unused as usize + self.free.len();
        u32::try_from(free).expect("frames have 32-bit numbers")
    }

    fn take_free(&mut self) -> Option<u32> {
        if let Some(frame) = self.free.pop() {
            return Some(frame);
        }
        let frame = self.unused;
        ((frame as usize) < self.frames.len()).then(|| {
            self.unused += 1;
            frame
        })
    }

    /// Assigns a free frame to `key`, in `phase` and pinned once.
    pub(super) fn occupy(
        &mut self,
        key: PageKey,
        phase: Phase,
        page: Option<C::Page>,
        now: Time,
    ) -> Option<u32> {
        let frame = self.take_free()?;
        self.changes += 1;
        assert!(self.find(key).is_none(), "{key:?} is in two frames");
        let head = self.head_of(key);
        let next = std::mem::replace(&mut self.heads[head], frame + 1);
        let entry = &mut self.frames[frame as usize];
        debug_assert!(entry.phase == Phase::Free && entry.pins == 0);
        *entry = Frame {
            key,
            last: LogPosition::default(),
            oldest: LogPosition::MAX,
            stamp: Stamp::VACANT,
            pins: 1,
            next,
            phase,
            page,
        };
        self.replacement.admit(frame, &mut entry.stamp, key.to_u64(), now);
        Some(frame)
    }

    /// Drops every page, so that its memory can be reused.
    pub(super) fn give_back(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.page = None);
    }

    /// The page will be given a frame soon.
    pub(super) fn anticipate(&self, key: PageKey) {
        self.replacement.anticipate(key.to_u64());
    }

    /// The frame will be freed soon.
    pub(super) fn anticipate_eviction(&self, frame: u32) {
        let key = self.key(frame);
        prefetch_index(&self.heads, self.head_of(key));
        self.replacement.anticipate(key.to_u64());
    }

    /// Frees a frame.
    pub(super) fn vacate(&mut self, frame: u32) {
        let entry = &mut self.frames[frame as usize];
        assert!(entry.pins == 0, "an evicted page is not pinned");
        entry.page = None;
        self.replacement.evict(&mut entry.stamp, entry.key.to_u64());
        self.unchain(frame);
        self.set_phase(frame, Phase::Free);
        self.free.push(frame);
    }

    fn unchain(&mut self, frame: u32) {
        let Frame { key, next, .. } = self.frames[frame as usize];
        let (head, link) = (self.head_of(key), frame + 1);
        if self.heads[head] == link {
            self.heads[head] = next;
            return;
        }
        let mut before = self.heads[head] as usize - 1;
        while self.frames[before].next != link {
            before = self.frames[before].next as usize - 1;
        }
        self.frames[before].next = next;
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
        std::mem::take(&mut self.arrivals).into_values().for_each(|sign| sign.show());
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

    /// The oldest unwritten change of the page; `None` when it is clean.
    pub(super) fn oldest(&self, frame: u32) -> Option<LogPosition> {
        let oldest = self.frames[frame as usize].oldest;
        (oldest != LogPosition::MAX).then_some(oldest)
    }

    /// Sets the oldest unwritten change of the page, or that it is clean; returns the former one.
    pub(super) fn set_oldest(
        &mut self,
        frame: u32,
        oldest: Option<LogPosition>,
    ) -> Option<LogPosition> {
        let former = self.oldest(frame);
        self.frames[frame as usize].oldest = oldest.unwrap_or(LogPosition::MAX);
        former
    }

    /// The page will be referenced soon.
    pub(super) fn promise(&mut self, frame: u32, now: Time) {
        self.changes += 1;
        let stamp = &mut self.frames[frame as usize].stamp;
        self.replacement.promise(stamp, now);
    }

    pub(super) fn touch(&mut self, frame: u32, now: Time) {
        self.changes += 1;
        let stamp = &mut self.frames[frame as usize].stamp;
        self.replacement.touch(stamp, now);
    }

    pub(super) fn page(&self, frame: u32) -> Option<&C::Page> {
        self.frames[frame as usize].page.as_ref()
    }

    pub(super) fn page_mut(&mut self, frame: u32) -> &mut Option<C::Page> {
        &mut self.frames[frame as usize].page
    }

    /// The coldest frames that may be evicted: resident, not pinned, and accepted by `may_go`,
    /// given their page, its newest log record and whether it is dirty.
    pub(super) fn coldest(
        &mut self,
        want: usize,
        mut may_go: impl FnMut(PageKey, LogPosition, bool) -> bool,
        out: &mut Vec<u32>,
    ) {
        let mut eligible = |frame: u32| {
            let entry = &self.frames[frame as usize];
            entry.phase == Phase::Resident
                && entry.pins == 0
                && may_go(entry.key, entry.last, entry.oldest != LogPosition::MAX)
        };
        let stamp_of = |frame: u32| self.frames[frame as usize].stamp;
        self.replacement.coldest(want, stamp_of, &mut eligible, out);
    }
}

/// Fibonacci hashing of page keys. No attacker chooses the keys, and the order of the table is
/// never used.
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
