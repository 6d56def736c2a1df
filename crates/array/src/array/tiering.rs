//! The solid-state tier behind the cache: reads from it and writes to it.
//!
//! ```text
//!    a host misses the cache    blocks that are valid in the tier are read there, the rest from the drives
//!    the rest has been read     and is written to the tier if it was missed often enough
//!    a page has been destaged   and is also written to the tier if its block is there
//! ```
//!
//! Hosts wait for reads of the tier but never for writes to it; read-ahead bypasses it. When a tier
//! drive fails, the reads in flight on it go to the drives instead.

use brunt_world::IoError;
use smallvec::{SmallVec, smallvec};

use super::Array;
use super::jobs::IoOwner;
use super::observer::{Move, Observer};
use crate::Extent;
use crate::breakdown::Breakdown;
use crate::cache::pages::PageKey;
use crate::cache::tier::{TierStats, Units};
use crate::slab::Key;

/// An I/O of the tier.
pub(super) enum TierIo {
    Read {
        place: u32,
        fill: Key,
        group: u32,
        part: Extent,
    },
    /// Pages of a block, in `pending` drive requests.
    Write {
        place: u32,
        pending: u32,
    },
}

/// Runs of units in a set: the first unit and the count.
fn runs(mut units: Units) -> impl Iterator<Item = (u64, u64)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if units == 0 {
            return None;
        }
        let gap = units.trailing_zeros();
        units >>= gap;
        let run = units.trailing_ones();
        units = units.checked_shr(run).unwrap_or(0);
        let first = at + u64::from(gap);
        at = first + u64::from(run);
        Some((first, u64::from(run)))
    })
}

impl<O: Observer> Array<O> {
    /// Counters of the solid-state tier, if there is one.
    pub fn tier_stats(&self) -> Option<TierStats> {
        self.tier.as_ref().map(|tier| tier.stats())
    }

    /// Starts the tier reads of `extent` for a host; returns what must be read from the drives.
    pub(super) fn read_tier(
        &mut self,
        fill: Key,
        group: u32,
        extent: Extent,
    ) -> SmallVec<[Extent; 1]> {
        let Some(tier) = &mut self.tier else {
            return smallvec![extent];
        };
        let block = tier.block_sectors;
        let mut behind: SmallVec<[Extent; 1]> = SmallVec::new();
        let mut found: SmallVec<[(u32, Extent); 2]> = SmallVec::new();
        let mut wanted: SmallVec<[u64; 2]> = SmallVec::new();
        for (number, within) in extent.split(block) {
            let part = Extent::new(number * block + within.start, within.length);
            if let Some(place) = tier.find(group, part) {
                tier.pin(place);
                found.push((place, part));
                continue;
            }
            if tier.wants(PageKey::new(group, number)) {
                wanted.push(number);
            }
            match behind.last_mut() {
                Some(last) if last.end() == part.start => last.length += part.length,
                _ => behind.push(part),
            }
        }
        if behind.is_empty() {
            tier.stats.hits += 1;
        } else {
            tier.stats.misses += 1;
        }
        self.cache().fills[fill].admits = wanted;
        for (place, part) in found {
            self.read_place(fill, group, place, part);
        }
        behind
    }

    fn read_place(&mut self, fill: Key, group: u32, place: u32, part: Extent) {
        self.cache().fills[fill].jobs += 1;
        let tier = self.tier.as_ref().expect("it was found there");
        let spot = tier.spot(place, part.start % tier.block_sectors);
        let io = self.tier_ios.insert(TierIo::Read { place, fill, group, part });
        let io = self.ask_drive(IoOwner::Tier(io), spot, part.length, false);
        self.observe(Move::TierReadBegan { io, spot, fill, part });
    }

    /// The pages of a block that are entirely in the cache and clean.
    fn whole_pages(&self, group: u32, block: u64) -> Units {
        let (Some(cache), Some(tier)) = (&self.cache, &self.tier) else {
            return 0;
        };
        let each = tier.block_sectors.div_euclid(tier.page_sectors);
        let page =
            |unit: u64| Extent::new((block * each + unit) * tier.page_sectors, tier.page_sectors);
        let known = (0..each).filter(|unit| cache.holds_clean(group, page(*unit)));
        known.fold(0, |set, unit| set | 1 << unit)
    }

    /// Writes the cached pages of a block to the tier.
    pub(super) fn admit(&mut self, group: u32, number: u64) {
        let units = self.whole_pages(group, number);
        let Some(tier) = &mut self.tier else { return };
        if units != 0
            && let Some(place) = tier.admit(PageKey::new(group, number))
        {
            self.write_place(group, number, place, units);
        }
    }

    /// Updates the tier after a destage: blocks in the tier get the pages they lack.
    pub(super) fn refresh_tier(&mut self, group: u32, pages: &[u64]) {
        let Some(tier) = self.tier.as_ref().filter(|tier| tier.refreshes) else {
            return;
        };
        let each = tier.block_sectors.div_euclid(tier.page_sectors);
        let mut blocks: SmallVec<[(u64, Units); 4]> = SmallVec::new();
        for page in pages {
            let (block, unit) = (page.div_euclid(each), 1 << (page % each));
            match blocks.last_mut() {
                Some((last, units)) if *last == block => *units |= unit,
                _ => blocks.push((block, unit)),
            }
        }
        for (number, units) in blocks {
            let units = units & self.whole_pages(group, number);
            let tier = self.tier.as_ref().expect("it is there");
            if units != 0
                && let Some(place) = tier.resident(PageKey::new(group, number))
            {
                self.write_place(group, number, place, units);
            }
        }
    }

    fn write_place(&mut self, group: u32, number: u64, place: u32, units: Units) {
        let tier = self.tier.as_mut().expect("a place is there");
        tier.begin_write(place, units);
        let page = tier.page_sectors;
        let first = number * tier.block_sectors;
        let pending = u32::try_from(runs(units).count()).expect("few runs");
        let io = self.tier_ios.insert(TierIo::Write { place, pending });
        for (unit, count) in runs(units) {
            let tier = self.tier.as_ref().expect("it is there");
            let spot = tier.spot(place, unit * page);
            let io = self.ask_drive(IoOwner::Tier(io), spot, count * page, true);
            self.observe(Move::TierWriteBegan {
                io,
                spot,
                group,
                part: Extent::new(first + unit * page, count * page),
            });
        }
    }

    /// An I/O of the tier has ended, or its drive failed.
    pub(super) fn tier_io_ended(&mut self, key: Key, breakdown: Breakdown, is_lost: bool) {
        let tier = self.tier.as_mut().expect("it was asked");
        match &mut self.tier_ios[key] {
            TierIo::Write { place, pending } => {
                *pending -= 1;
                if *pending == 0 {
                    tier.end_write(*place);
                    self.tier_ios.forget(key);
                }
            }
            TierIo::Read { place, fill, group, part } => {
                let (fill, group, part) = (*fill, *group, *part);
                tier.unpin(*place);
                self.tier_ios.forget(key);
                if is_lost {
                    self.read_behind(fill, group, part);
                }
                self.fill_ended(fill, Ok::<(), IoError>(()), breakdown);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_set() {
        let all = |units| runs(units).collect::<Vec<_>>();
        assert_eq!(all(0b1101_1000), [(3, 2), (6, 2)]);
        assert_eq!(all(Units::MAX), [(0, 64)]);
        assert_eq!(all(1 << 63), [(63, 1)]);
        assert_eq!(all(0), []);
    }
}
