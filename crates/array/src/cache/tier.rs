//! The second level of a read cache, on solid-state drives: which blocks are there, and which come
//! in next.
//!
//! ```text
//!    block      a fixed number of consecutive cache pages of a group; it has one place on one of the drives
//!    valid      pages of the block that can be read there
//!    arriving   pages that are being written there
//!    pins       requests in flight on the place: a pinned place is not reused
//! ```
//!
//! * **Admission**: a block that hosts have missed `admit_after` times. Misses are remembered for
//!   as many blocks as the tier has places, so a single scan of everything leaves no trace.
//! * **Eviction**: the block least recently read.
//! * Pages overwritten by hosts become invalid. Losing the tier loses no data: it holds only
//!   copies.
//!
//! Invariant: valid and arriving are disjoint. Invariant: blocks in the LRU order have a key, and
//! no two share one.
//!
//! Nothing here deals with time or drives; the array asks and acts.

use std::collections::VecDeque;

use super::pages::PageKey;
use crate::Extent;
use crate::group::Spot;
use crate::numbers::NumberMap;

/// Pages of a block, as a set.
pub(crate) type Units = u64;

/// Most pages of a block.
pub(crate) const UNITS_MAX: u64 = 64;

const NONE: u32 = u32::MAX;

/// Counters of the tier since measurement began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierStats {
    /// Host reads that missed the cache and were found entirely here.
    pub hits: u64,
    /// Host reads that missed the cache and were not found entirely here.
    pub misses: u64,
    /// Blocks admitted.
    pub admitted: u64,
    /// Blocks evicted.
    pub evicted: u64,
    /// Pages written to the tier.
    pub pages_written: u64,
    /// Blocks in the tier.
    pub blocks: u64,
    /// Capacity in blocks, on working drives.
    pub room: u64,
}

impl TierStats {
    /// Combines two tiers.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            admitted: self.admitted + other.admitted,
            evicted: self.evicted + other.evicted,
            pages_written: self.pages_written + other.pages_written,
            blocks: self.blocks + other.blocks,
            room: self.room + other.room,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// `None`: the place is free, or will be when its I/O has ended.
    key: Option<PageKey>,
    valid: Units,
    arriving: Units,
    pins: u32,
    newer: u32,
    older: u32,
}

/// One drive of the tier.
struct Shelf {
    drive: u16,
    is_up: bool,
    free: Vec<u32>,
    /// Places from here on have never been used.
    unused: u32,
}

/// Blocks on solid-state drives.
pub(crate) struct Tier {
    pub(crate) page_sectors: u64,
    pub(crate) block_sectors: u64,
    shelves: Vec<Shelf>,
    places: u32,
    index: NumberMap<PageKey, u32>,
    blocks: Vec<Block>,
    newest: u32,
    oldest: u32,
    turn: usize,
    admit_after: u32,
    /// Whether destaged pages are written to the tier when their block is there.
    pub(crate) refreshes: bool,
    missed: NumberMap<PageKey, u32>,
    missed_order: VecDeque<PageKey>,
    /// Counters; those of blocks and capacity are computed on request.
    pub(crate) stats: TierStats,
}

impl Tier {
    /// An empty tier with `places` places on each of `drives`; sizes in sectors.
    pub(crate) fn new(drives: &[u16], places: u32, page_sectors: u64, block_sectors: u64) -> Self {
        let shelf = |drive: &u16| Shelf { drive: *drive, is_up: true, free: Vec::new(), unused: 0 };
        Self {
            page_sectors,
            block_sectors,
            shelves: drives.iter().map(shelf).collect(),
            places,
            index: NumberMap::default(),
            blocks: Vec::new(),
            newest: NONE,
            oldest: NONE,
            turn: 0,
            admit_after: 1,
            refreshes: false,
            missed: NumberMap::default(),
            missed_order: VecDeque::new(),
            stats: TierStats::default(),
        }
    }

    /// The same tier, admitting a block after `admit_after` misses; `refreshes` as the field.
    pub(crate) fn admitting(self, admit_after: u32, refreshes: bool) -> Self {
        Self { admit_after, refreshes, ..self }
    }

    /// Counters up to now.
    pub(crate) fn stats(&self) -> TierStats {
        let up = self.shelves.iter().filter(|shelf| shelf.is_up).count();
        TierStats {
            blocks: self.index.len() as u64,
            room: up as u64 * u64::from(self.places),
            ..self.stats
        }
    }

    /// Whether `drive` belongs to the tier.
    pub(crate) fn uses(&self, drive: u16) -> bool {
        self.shelves.iter().any(|shelf| shelf.drive == drive)
    }

    /// The number of the block that contains `part`, and its pages in `part`.
    fn units(&self, part: Extent) -> (u64, Units) {
        let number = part.start.div_euclid(self.block_sectors);
        let first = (part.start % self.block_sectors).div_euclid(self.page_sectors);
        let end = (part.end() - number * self.block_sectors).div_ceil(self.page_sectors);
        debug_assert!(first < end && end <= UNITS_MAX);
        (number, (Units::MAX >> (64 - (end - first))) << first)
    }

    /// The place of `part`, which lies in one block of `group`, if all of it is valid. Marks it as
    /// used.
    pub(crate) fn find(&mut self, group: u32, part: Extent) -> Option<u32> {
        let (number, units) = self.units(part);
        let place = *self.index.get(&PageKey::new(group, number))?;
        if self.blocks[place as usize].valid & units != units {
            return None;
        }
        self.unlink(place);
        self.link(place);
        Some(place)
    }

    /// The position of sector `within` of a block.
    pub(crate) fn spot(&self, place: u32, within: u64) -> Spot {
        let shelves = u32::try_from(self.shelves.len()).expect("few drives");
        let shelf = &self.shelves[(place % shelves) as usize];
        Spot {
            drive: shelf.drive,
            sector: u64::from(place.div_euclid(shelves)) * self.block_sectors + within,
        }
    }

    /// Records a host's miss; returns whether to admit the block.
    pub(crate) fn wants(&mut self, key: PageKey) -> bool {
        if self.index.contains_key(&key) || self.admit_after <= 1 {
            return true;
        }
        let count = self.missed.entry(key).or_insert(0);
        *count += 1;
        if *count == 1 {
            self.missed_order.push_back(key);
        }
        let is_wanted = *count >= self.admit_after;
        let room = self.shelves.len() * self.places as usize;
        while self.missed_order.len() > room.max(1) {
            let oldest = self.missed_order.pop_front().expect("there are some");
            self.missed.remove(&oldest);
        }
        is_wanted
    }

    /// The place of a block, allocated if necessary; `None` when it is being written or there is no
    /// room.
    pub(crate) fn admit(&mut self, key: PageKey) -> Option<u32> {
        if let Some(place) = self.index.get(&key) {
            let is_still = self.blocks[*place as usize].arriving == 0;
            return is_still.then_some(*place);
        }
        let place = self.free_place().or_else(|| self.evict())?;
        if self.blocks.len() <= place as usize {
            self.blocks.resize(place as usize + 1, Block::default());
        }
        self.blocks[place as usize] = Block { key: Some(key), ..Block::default() };
        self.index.insert(key, place);
        self.link(place);
        self.stats.admitted += 1;
        Some(place)
    }

    /// The place of a block that is in the tier and not being written.
    pub(crate) fn resident(&self, key: PageKey) -> Option<u32> {
        let place = *self.index.get(&key)?;
        (self.blocks[place as usize].arriving == 0).then_some(place)
    }

    fn free_place(&mut self) -> Option<u32> {
        let count = self.shelves.len();
        for _ in 0..count {
            self.turn = (self.turn + 1) % count;
            let number = u32::try_from(self.turn).expect("few drives");
            let shelf = &mut self.shelves[self.turn];
            if !shelf.is_up {
                continue;
            }
            if let Some(place) = shelf.free.pop() {
                return Some(place);
            }
            if shelf.unused < self.places {
                shelf.unused += 1;
                let count = u32::try_from(count).expect("few drives");
                return Some((shelf.unused - 1) * count + number);
            }
        }
        None
    }

    /// Evicts the least recently used block without I/O in flight, and returns its place.
    fn evict(&mut self) -> Option<u32> {
        let mut at = self.oldest;
        while at != NONE && self.blocks[at as usize].pins > 0 {
            at = self.blocks[at as usize].newer;
        }
        if at == NONE {
            return None;
        }
        self.drop_block(at);
        self.stats.evicted += 1;
        self.free_place()
    }

    /// Begins writing `units` to `place`.
    pub(crate) fn begin_write(&mut self, place: u32, units: Units) {
        let block = &mut self.blocks[place as usize];
        debug_assert!(block.arriving == 0, "one write to a block at a time");
        block.arriving = units;
        block.valid &= !units;
        block.pins += 1;
        self.stats.pages_written += u64::from(units.count_ones());
    }

    /// Ends the write. Pages overwritten meanwhile are not valid.
    pub(crate) fn end_write(&mut self, place: u32) {
        let block = &mut self.blocks[place as usize];
        if block.key.is_some() {
            block.valid |= block.arriving;
        }
        block.arriving = 0;
        self.unpin(place);
    }

    /// Begins a read from `place`.
    pub(crate) fn pin(&mut self, place: u32) {
        self.blocks[place as usize].pins += 1;
    }

    /// Ends a read.
    pub(crate) fn unpin(&mut self, place: u32) {
        let block = &mut self.blocks[place as usize];
        block.pins -= 1;
        if block.pins == 0 && block.key.is_none() {
            self.give(place);
        }
    }

    /// Invalidates `extent` of `group`, which a host overwrites.
    pub(crate) fn overwrite(&mut self, group: u32, extent: Extent) {
        if self.index.is_empty() {
            return;
        }
        for (number, within) in extent.split(self.block_sectors) {
            let Some(place) = self.index.get(&PageKey::new(group, number)) else {
                continue;
            };
            let (_, units) = self.units(within);
            let block = &mut self.blocks[*place as usize];
            block.valid &= !units;
            block.arriving &= !units;
        }
    }

    /// A drive is lost with its blocks, or returns empty.
    pub(crate) fn set_drive(&mut self, drive: u16, is_up: bool) {
        let Some(shelf) = self.shelves.iter().position(|shelf| shelf.drive == drive) else {
            return;
        };
        self.shelves[shelf].is_up = is_up;
        if !is_up {
            let all = (0..self.blocks.len()).skip(shelf).step_by(self.shelves.len());
            for place in all {
                self.drop_block(u32::try_from(place).expect("few places"));
            }
        }
    }

    /// Forgets all blocks.
    pub(crate) fn forget_all(&mut self) {
        for place in 0..self.blocks.len() {
            self.drop_block(u32::try_from(place).expect("few places"));
        }
        self.missed.clear();
        self.missed_order.clear();
    }

    fn drop_block(&mut self, place: u32) {
        let Some(key) = self.blocks[place as usize].key else {
            return;
        };
        self.unlink(place);
        self.index.remove(&key);
        let block = &mut self.blocks[place as usize];
        (block.key, block.valid, block.arriving) = (None, 0, 0);
        if block.pins == 0 {
            self.give(place);
        }
    }

    fn give(&mut self, place: u32) {
        let shelf = place as usize % self.shelves.len();
        self.shelves[shelf].free.push(place);
    }

    fn link(&mut self, place: u32) {
        let newest = std::mem::replace(&mut self.newest, place);
        let block = &mut self.blocks[place as usize];
        (block.newer, block.older) = (NONE, newest);
        if newest == NONE {
            self.oldest = place;
        } else {
            self.blocks[newest as usize].newer = place;
        }
    }

    fn unlink(&mut self, place: u32) {
        let Block { newer, older, .. } = self.blocks[place as usize];
        if newer == NONE {
            self.newest = older;
        } else {
            self.blocks[newer as usize].older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.blocks[older as usize].newer = newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two drives with two places each; blocks of eight pages of 16 sectors.
    fn tier(admit_after: u32) -> Tier {
        Tier::new(&[5, 6], 2, 16, 128).admitting(admit_after, true)
    }

    fn key(number: u64) -> PageKey {
        PageKey::new(0, number)
    }

    /// Admits all of block `number`.
    fn bring(tier: &mut Tier, number: u64) -> u32 {
        let place = tier.admit(key(number)).unwrap();
        tier.begin_write(place, 0xFF);
        tier.end_write(place);
        place
    }

    fn has(tier: &mut Tier, number: u64) -> bool {
        tier.find(0, Extent::new(number * 128, 16)).is_some()
    }

    #[test]
    fn a_block_comes_in_when_it_was_missed_often_enough() {
        let mut tier = tier(2);
        assert!(!tier.wants(key(1)));
        assert!(tier.wants(key(1)));
        assert!(!tier.wants(key(2)));
        for number in 10..14 {
            assert!(!tier.wants(key(number)));
        }
        assert!(!tier.wants(key(2)), "four others were missed since");
    }

    #[test]
    fn the_block_that_was_not_used_for_longest_goes_unless_it_is_pinned() {
        let mut tier = tier(1);
        for number in 0..4 {
            bring(&mut tier, number);
        }
        let drives: Vec<u16> = (0..4).map(|place| tier.spot(place, 0).drive).collect();
        assert_eq!(drives, [5, 6, 5, 6]);
        assert!(has(&mut tier, 0));
        let first = tier.index[&key(1)];
        tier.pin(first);
        bring(&mut tier, 4);
        assert!(has(&mut tier, 0) && has(&mut tier, 1) && !has(&mut tier, 2));
        tier.unpin(first);
        assert_eq!((tier.stats().blocks, tier.stats().evicted), (4, 1));
    }

    #[test]
    fn what_is_overwritten_on_its_way_does_not_arrive() {
        let mut tier = tier(1);
        let place = tier.admit(key(3)).unwrap();
        tier.begin_write(place, 0b11);
        assert_eq!(tier.admit(key(3)), None, "one write at a time");
        tier.overwrite(0, Extent::new(3 * 128 + 20, 1));
        tier.end_write(place);
        assert!(tier.find(0, Extent::new(3 * 128, 16)).is_some());
        assert!(tier.find(0, Extent::new(3 * 128 + 16, 16)).is_none());
    }

    #[test]
    fn a_drive_takes_its_blocks_along_and_comes_back_empty() {
        let mut tier = tier(1);
        for number in 0..4 {
            bring(&mut tier, number);
        }
        let held = (0..4).find(|number| tier.spot(tier.index[&key(*number)], 0).drive == 6);
        let held = tier.index[&key(held.unwrap())];
        tier.pin(held);
        tier.set_drive(6, false);
        assert_eq!((tier.stats().blocks, tier.stats().room), (2, 2));
        bring(&mut tier, 7);
        assert_eq!(tier.stats().blocks, 2, "the other drive is full");
        tier.set_drive(6, true);
        assert_ne!(bring(&mut tier, 8), held, "somebody still reads there");
        tier.unpin(held);
        assert_eq!(bring(&mut tier, 9), held);
    }
}
