//! Reads and writes through the cache.
//!
//! ```text
//!    write   there is room              its pages become dirty and the write completes
//!            there is none              it waits: forced flushing
//!            write-back is disabled     its pages are destaged at once and the write waits for them: write-through
//!    read    everything is valid        a hit
//!            some is being filled       it waits for that
//!            some is missing            it is read from the drives and kept
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::mem::take;

use brunt_units::{Span, Time};
use brunt_world::IoError;
use smallvec::{SmallVec, smallvec};

use super::jobs::Owner;
use super::observer::{Move, Observer};
use super::{Array, Event, Verb};
use crate::Extent;
use crate::breakdown::Breakdown;
use crate::cache::pages::{PageKey, Pages, Sectors};
use crate::cache::prefetch::Streams;
use crate::cache::stats::CacheStats;
use crate::design::CacheDesign;
use crate::incident::NoteKind;
use crate::slab::{Key, Slab};

/// Data being read into pages.
pub(super) struct Fill {
    request: Option<Key>,
    group: u32,
    /// Blocks to admit to the tier once they have been read.
    pub(super) admits: SmallVec<[u64; 2]>,
    /// Whether the data read may stay in the cache: see [`Cache::lost_destages`].
    stays: bool,
    pages: SmallVec<[(u32, Sectors); 2]>,
    pub(super) jobs: u32,
    result: Result<(), IoError>,
}

/// A stripe whose dirty pages are being written.
pub(super) struct Destage {
    pub(super) group: u32,
    pub(super) pages: SmallVec<[u32; 8]>,
    /// The cache memory holding its data was lost.
    pub(super) is_lost: bool,
}

/// The cache of an array.
pub(super) struct Cache {
    pub(super) design: CacheDesign,
    pub(super) page_sectors: u64,
    pub(super) write_pages: u64,
    pub(super) pages: Pages,
    pub(super) fills: Slab<Fill>,
    pub(super) destages: Slab<Destage>,
    /// Requests waiting for room.
    pub(super) stalled: VecDeque<Key>,
    /// Destages whose cache memory was lost but which may still be writing. Data read meanwhile may
    /// be older than what the drives will hold, so it must not stay in the cache.
    pub(super) lost_destages: usize,
    /// Requests waiting for a page to be filled or written; the page has a flag for whether there
    /// are any.
    pub(super) waiting: BTreeMap<u32, SmallVec<[Key; 2]>>,
    pub(super) streams: Vec<Streams>,
    /// Per group: the elevator position, the destages in flight and their limit.
    pub(super) positions: Vec<u64>,
    pub(super) under_way: Vec<usize>,
    pub(super) most: Vec<usize>,
    pub(super) flushing: bool,
    /// Whether flushing or admission is already running further up the stack.
    pub(super) in_flush: bool,
    pub(super) in_admission: bool,
    pub(super) is_idle: bool,
    pub(super) idle_armed: bool,
    pub(super) last_io: Time,
    pub(super) write_back: bool,
    pub(super) stats: CacheStats,
}

/// The pages of `extent` in a group, each with the sectors it covers.
fn pages_of(
    page_sectors: u64,
    group: u32,
    extent: Extent,
) -> impl Iterator<Item = (PageKey, Sectors)> {
    extent
        .split(page_sectors)
        .map(move |(number, within)| (PageKey::new(group, number), sectors(within)))
}

fn sectors(within: Extent) -> Sectors {
    debug_assert!(within.length > 0 && within.end() <= 64);
    (Sectors::MAX >> (64 - within.length)) << within.start
}

/// Extends `before` to cover `sectors` of a page that begins at `page`, which lies after it.
fn widened(before: Option<Extent>, page: u64, sectors: Sectors) -> Option<Extent> {
    if sectors == 0 {
        return before;
    }
    let first = page + u64::from(sectors.trailing_zeros());
    let end = page + 64 - u64::from(sectors.leading_zeros());
    let start = before.map_or(first, |before| before.start);
    Some(Extent::new(start, end - start))
}

impl Cache {
    pub(super) fn new(design: CacheDesign, drives: &[usize], luns: usize) -> Self {
        let page_sectors = design.page.get().div_euclid(512);
        let pages = |size: brunt_units::ByteSize| size.get().div_euclid(design.page.get());
        let write_pages = pages(design.write);
        let most = write_pages + pages(design.read);
        // A destage is one stripe: at least two drive writes in a protected group.
        let share =
            |drives: &usize| (drives * design.destages_per_drive as usize).div_ceil(2).max(1);
        Self {
            page_sectors,
            write_pages,
            pages: Pages::new(drives.len(), usize::try_from(most).expect("addressable")),
            fills: Slab::default(),
            destages: Slab::default(),
            stalled: VecDeque::new(),
            lost_destages: 0,
            waiting: BTreeMap::new(),
            streams: vec![Streams::default(); luns],
            positions: vec![0; drives.len()],
            under_way: vec![0; drives.len()],
            most: drives.iter().map(share).collect(),
            flushing: false,
            in_flush: false,
            in_admission: false,
            is_idle: false,
            idle_armed: false,
            last_io: Time::ZERO,
            write_back: write_pages > 0,
            stats: CacheStats::default(),
            design,
        }
    }

    /// The page with `sector` of a group will be looked for soon.
    pub(super) fn anticipate(&self, group: u32, sector: u64) {
        let page = PageKey::new(group, sector.div_euclid(self.page_sectors));
        self.pages.anticipate(page);
    }

    /// Whether there is room for the pages of `extent` as dirty pages.
    fn has_room(&self, group: u32, extent: Extent) -> bool {
        let unwritten = self.pages.unwritten();
        if unwritten == 0 || self.write_pages == 0 {
            // An empty cache takes a request of any size; with no write cache, nothing waits for
            // room.
            return true;
        }
        let new = pages_of(self.page_sectors, group, extent).filter(|(key, _)| {
            let slot = self.pages.find(*key);
            slot.is_none_or(|slot| !self.pages.page(slot).is_unwritten())
        });
        unwritten + new.count() as u64 <= self.write_pages
    }

    /// The smallest extent covering the part of `extent` whose on-disk content is not in the cache.
    pub(super) fn lacks(&self, group: u32, extent: Extent) -> Option<Extent> {
        let mut lacking = None::<Extent>;
        for (key, wanted) in pages_of(self.page_sectors, group, extent) {
            let slot = self.pages.find(key);
            let known = slot.map_or(0, |slot| self.pages.page(slot).known());
            lacking = widened(lacking, key.number() * self.page_sectors, wanted & !known);
        }
        lacking
    }

    /// Whether all of `extent`, which is at most one page, is in the cache and clean.
    pub(super) fn holds_clean(&self, group: u32, extent: Extent) -> bool {
        pages_of(self.page_sectors, group, extent).all(|(key, wanted)| {
            let slot = self.pages.find(key);
            slot.is_some_and(|slot| {
                let page = self.pages.page(slot);
                !page.is_unwritten() && wanted & !page.valid == 0
            })
        })
    }

    /// The smallest extent covering the part of `extent` that is neither valid nor being filled,
    /// and the pages being filled.
    fn look_up(&self, group: u32, extent: Extent) -> (Option<Extent>, SmallVec<[u32; 4]>) {
        let (mut missing, mut coming) = (None::<Extent>, SmallVec::new());
        for (key, wanted) in pages_of(self.page_sectors, group, extent) {
            let slot = self.pages.find(key);
            let (valid, filling) = slot.map_or((0, 0), |slot| {
                let page = self.pages.page(slot);
                (page.valid, page.filling)
            });
            if let Some(slot) = slot.filter(|_| wanted & filling & !valid != 0) {
                coming.push(slot);
            }
            let lacks = wanted & !valid & !filling;
            missing = widened(missing, key.number() * self.page_sectors, lacks);
        }
        (missing, coming)
    }
}

impl<O: Observer> Array<O> {
    pub(super) fn cache(&mut self) -> &mut Cache {
        self.cache.as_mut().expect("only arrays with a cache come here")
    }

    /// Records host activity: the array is not idle.
    pub(super) fn stir(&mut self) {
        let now = self.now;
        let cache = self.cache();
        cache.last_io = now;
        cache.is_idle = false;
        let after = cache.design.idle_after;
        if after > Span::ZERO && !cache.idle_armed {
            cache.idle_armed = true;
            self.schedule.set(now + after, Event::IdleCheck);
        }
    }

    /// Checks whether hosts have been quiet for long enough to be idle.
    pub(super) fn check_idle(&mut self) {
        let now = self.now;
        let cache = self.cache();
        let due = cache.last_io + cache.design.idle_after;
        if now < due {
            self.schedule.set(due, Event::IdleCheck);
            return;
        }
        cache.idle_armed = false;
        cache.is_idle = true;
        self.flush();
    }

    pub(super) fn cached_write(&mut self, request: Key, group: u32, extent: Extent) {
        let cache = self.cache();
        if !cache.stalled.is_empty() || !cache.has_room(group, extent) {
            cache.stalled.push_back(request);
            cache.stats.stalled += 1;
            self.requests[request].jobs += 1;
            return self.flush();
        }
        self.accept_write(request, group, extent);
        self.flush();
    }

    /// Admits requests that waited for room.
    pub(super) fn admit_stalled(&mut self) {
        if std::mem::replace(&mut self.cache().in_admission, true) {
            return;
        }
        while let Some(request) = self.cache().stalled.front().copied() {
            let (group, extent) = self.requests[request].place();
            if !self.cache().has_room(group, extent) {
                break;
            }
            self.cache().stalled.pop_front();
            self.accept_write(request, group, extent);
            self.part_ended(request, Ok(()), Breakdown::default());
        }
        self.cache().in_admission = false;
    }

    fn accept_write(&mut self, request: Key, group: u32, extent: Extent) {
        let keeps_old = self.keeps_old(group);
        if let Some(tier) = &mut self.tier {
            tier.overwrite(group, extent);
        }
        let cache = self.cache();
        let page_sectors = cache.page_sectors;
        let mut touched: SmallVec<[(PageKey, u32); 8]> = SmallVec::new();
        for (key, part) in pages_of(page_sectors, group, extent) {
            let slot = cache.pages.get_or_make(key);
            cache.pages.change(slot, |page| {
                if keeps_old {
                    page.old |= page.known() & part;
                }
                page.valid |= part;
                page.dirty |= part;
            });
            touched.push((key, slot));
        }
        cache.stats.writes += 1;
        self.observe(Move::Accepted(request));
        let cache = self.cache();
        cache.stats.unwritten_most = cache.stats.unwritten_most.max(cache.pages.unwritten());
        if cache.write_back {
            return;
        }
        for (_, slot) in &touched {
            cache.wait_for(*slot, request);
        }
        self.requests[request].jobs += u32::try_from(touched.len()).expect("few pages");
        for (key, _) in touched {
            // A destage of a neighbouring page may have included it.
            let is_due =
                self.cache().pages.due_within(group, key.number(), key.number() + 1).next();
            if is_due.is_some() {
                self.destage(group, key.number());
            }
        }
    }

    pub(super) fn cached_read(&mut self, request: Key, lun: u32, group: u32, extent: Extent) {
        let (start, sectors) = self.lun_range(lun);
        let cache = self.cache();
        let (missing, coming) = cache.look_up(group, extent);
        let is_hit = missing.is_none() && coming.is_empty();
        for slot in &coming {
            cache.wait_for(*slot, request);
        }
        if is_hit {
            cache.stats.read_hits += 1;
            cache.touch(group, extent);
        } else {
            cache.stats.read_misses += 1;
        }
        let window = cache.design.prefetch.get().div_euclid(512);
        let ahead = cache.streams[lun as usize].read(extent, window, start + sectors);
        self.requests[request].jobs += u32::try_from(coming.len()).expect("few pages");
        if let Some(missing) = missing {
            self.requests[request].jobs += 1;
            self.fill(Some(request), group, missing);
        }
        if let Some(ahead) = ahead
            && let (Some(missing), _) = self.cache().look_up(group, ahead)
        {
            self.cache().stats.prefetched_sectors += missing.length;
            self.fill(None, group, missing);
        }
    }

    /// Reads `extent` into its pages.
    fn fill(&mut self, request: Option<Key>, group: u32, extent: Extent) {
        let cache = self.cache();
        let mut pages = SmallVec::new();
        for (key, part) in pages_of(cache.page_sectors, group, extent) {
            let slot = cache.pages.get_or_make(key);
            let page = cache.pages.page(slot);
            let lacks = part & !page.valid & !page.filling;
            cache.pages.change(slot, |page| page.filling |= lacks);
            if lacks != 0 {
                pages.push((slot, lacks));
            }
        }
        let fill = cache.fills.insert(Fill {
            request,
            group,
            admits: SmallVec::new(),
            stays: cache.lost_destages == 0,
            pages,
            jobs: 1,
            result: Ok(()),
        });
        if request.is_some() && self.tier.is_some() {
            for part in self.read_tier(fill, group, extent) {
                self.read_behind(fill, group, part);
            }
        } else {
            self.read_behind(fill, group, extent);
        }
        self.fill_ended(fill, Ok(()), Breakdown::default());
    }

    /// Reads part of a fill from the drives of its group.
    pub(super) fn read_behind(&mut self, fill: Key, group: u32, extent: Extent) {
        let stripe_sectors = self.groups[group as usize].shape.data_sectors();
        for (number, part) in extent.split(stripe_sectors) {
            let at = self.groups[group as usize].stripe(number);
            self.cache().fills[fill].jobs += 1;
            self.start_job(Owner::Fill(fill), group, at, smallvec![part], Verb::Read);
        }
    }

    /// Ends one part of a fill; the last part ends the fill.
    pub(super) fn fill_ended(
        &mut self,
        key: Key,
        result: Result<(), IoError>,
        breakdown: Breakdown,
    ) {
        let cache = self.cache();
        let fill = &mut cache.fills[key];
        fill.jobs -= 1;
        fill.result = fill.result.and(result);
        if fill.jobs > 0 {
            return;
        }
        // Takes only the fields it needs: moving the whole fill would dominate the cost of this
        // function.
        let (group, request, result) = (fill.group, fill.request, fill.result);
        let stays = fill.stays && result.is_ok();
        let (pages, admits) = (take(&mut fill.pages), take(&mut fill.admits));
        cache.fills.forget(key);
        for (slot, part) in pages {
            if result.is_ok() {
                self.observe(Move::Filled { fill: key, slot, part });
            }
            let cache = self.cache();
            cache.pages.change(slot, |page| {
                page.filling &= !part;
                if stays {
                    page.valid |= part;
                }
            });
            // The page, now filled and clean, may be evicted for lack of room; waiting requests
            // have been served by then.
            self.wake_waiting(slot, result);
        }
        for number in admits.into_iter().filter(|_| stays) {
            self.admit(group, number);
        }
        if let Some(request) = request {
            self.part_ended(request, result, breakdown);
        }
    }

    /// Wakes the requests that wait for a page, unless it is still being filled or written.
    pub(super) fn wake_waiting(&mut self, slot: u32, result: Result<(), IoError>) {
        let cache = self.cache();
        let page = cache.pages.page(slot);
        let goes_on = page.is_unwritten() && !cache.write_back || page.filling != 0;
        if goes_on || !page.is_awaited {
            return;
        }
        cache.pages.set_awaited(slot, false);
        for request in cache.waiting.remove(&slot).unwrap_or_default() {
            self.part_ended(request, result, Breakdown::default());
        }
    }

    /// Handles the loss of all controllers' memory.
    pub(super) fn lose_cache(&mut self) {
        let Some(cache) = &mut self.cache else { return };
        if let Some(tier) = &mut self.tier {
            tier.forget_all();
        }
        let pages = cache.pages.lose_all();
        cache.fills.for_each(|fill| fill.pages.clear());
        cache.lost_destages = cache.destages.len();
        cache.destages.for_each(|destage| {
            destage.pages.clear();
            destage.is_lost = true;
        });
        let waiting = std::mem::take(&mut cache.waiting);
        let stalled = std::mem::take(&mut cache.stalled);
        for request in waiting.into_values().flatten().chain(stalled) {
            self.part_ended(request, Err(IoError::Device), Breakdown::default());
        }
        self.observe(Move::CacheLost);
        if pages > 0 {
            self.note(NoteKind::CacheLost { pages });
        }
    }
}

impl Cache {
    /// Makes `request` wait for a page that is being filled or written.
    fn wait_for(&mut self, slot: u32, request: Key) {
        self.pages.set_awaited(slot, true);
        self.waiting.entry(slot).or_default().push(request);
    }

    /// Marks the pages of `extent` as used.
    fn touch(&mut self, group: u32, extent: Extent) {
        for (key, _) in pages_of(self.page_sectors, group, extent) {
            let slot = self.pages.find(key).expect("it was a hit");
            self.pages.change(slot, |_| {});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_pages_are_sets_of_sectors() {
        let parts: Vec<_> = pages_of(16, 2, Extent::new(12, 22)).collect();
        let key = |number| PageKey::new(2, number);
        assert_eq!(parts, [(key(0), 0xF000), (key(1), 0xFFFF), (key(2), 0x3)]);
        assert_eq!(sectors(Extent::new(0, 64)), u64::MAX);
    }
}
