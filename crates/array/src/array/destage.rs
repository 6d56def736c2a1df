//! Writing dirty pages to the drives.
//!
//! Pages are written in ascending sector order within a group, then from the bottom again, to keep
//! seeks short. All dirty data of a stripe is written together: adjacent pages become one write,
//! and a fully dirty stripe needs no reads.

use brunt_world::IoError;
use smallvec::SmallVec;

use super::caching::Destage;
use super::jobs::{Extents, Owner};
use super::observer::{Move, Observer};
use super::{Array, Verb};
use crate::Extent;
use crate::cache::flush::Pressure;
use crate::cache::pages::{PageKey, Sectors};
use crate::incident::NoteKind;
use crate::slab::Key;

/// Adds the runs of sectors of a page that begins at `start`, merging with a run that ends there.
fn add_runs(extents: &mut Extents, start: u64, mut sectors: Sectors) {
    let mut at = start;
    while sectors != 0 {
        let gap = sectors.trailing_zeros();
        sectors >>= gap;
        at += u64::from(gap);
        let run = sectors.trailing_ones();
        sectors = sectors.checked_shr(run).unwrap_or(0);
        match extents.last_mut() {
            Some(last) if last.end() == at => last.length += u64::from(run),
            _ => extents.push(Extent::new(at, u64::from(run))),
        }
        at += u64::from(run);
    }
}

impl<O: Observer> Array<O> {
    /// Starts as many destages as the watermarks allow.
    pub(super) fn flush(&mut self) {
        let cache = self.cache();
        if std::mem::replace(&mut cache.in_flush, true) {
            return; // A destage ended at once; the outer call continues the flush.
        }
        let pressure = if !cache.stalled.is_empty() || !cache.write_back {
            Pressure::Forced
        } else if cache.is_idle {
            Pressure::Idle
        } else {
            Pressure::None
        };
        for group in 0..cache.most.len() {
            let cache = self.cache();
            let (allowed, flushing) = cache.design.marks.allowed(
                cache.pages.unwritten(),
                cache.write_pages.max(1),
                cache.flushing,
                pressure,
                cache.most[group],
            );
            cache.flushing = flushing;
            let number = u32::try_from(group).expect("few groups");
            while self.cache().under_way[group] < allowed {
                let cache = self.cache();
                let Some(page) = cache.pages.next_due(number, cache.positions[group]) else {
                    break;
                };
                self.destage(number, page);
            }
        }
        self.cache().in_flush = false;
    }

    /// Writes everything dirty in the stripe of `page`, which is due.
    pub(super) fn destage(&mut self, group: u32, page: u64) {
        let stripe_sectors = self.groups[group as usize].shape.data_sectors();
        let cache = self.cache();
        let page_sectors = cache.page_sectors;
        let number = (page * page_sectors).div_euclid(stripe_sectors);
        let first = number * stripe_sectors;
        let end = (first + stripe_sectors).div_euclid(page_sectors);
        let due: SmallVec<[u64; 8]> =
            cache.pages.due_within(group, first.div_euclid(page_sectors), end).collect();
        let (mut extents, mut pages) = (Extents::new(), SmallVec::new());
        for page in due {
            let key = PageKey::new(group, page);
            let slot = cache.pages.find(key).expect("it is due");
            cache.pages.change(slot, |page| {
                page.destaging = page.dirty;
                page.dirty = 0;
            });
            let sectors = cache.pages.page(slot).destaging;
            add_runs(&mut extents, page * page_sectors - first, sectors);
            pages.push(slot);
        }
        cache.positions[group as usize] = end;
        cache.under_way[group as usize] += 1;
        cache.stats.destages += 1;
        cache.stats.destaged_pages += pages.len() as u64;
        let destage = cache.destages.insert(Destage { group, pages, is_lost: false });
        let at = self.groups[group as usize].stripe(number);
        self.start_job(Owner::Destage(destage), group, at, extents, Verb::Write);
    }

    /// Updates a destage's pages after its stripe was written, or failed to be, and wakes the
    /// requests that waited for it.
    pub(super) fn settle_destage(&mut self, key: Key, result: Result<(), IoError>) {
        let cache = self.cache();
        let destage = cache.destages.remove(key).expect("it is under way");
        cache.under_way[destage.group as usize] -= 1;
        cache.lost_destages -= usize::from(destage.is_lost);
        let keeps_old = result.is_ok() && self.keeps_old(destage.group);
        let mut numbers: SmallVec<[u64; 8]> = SmallVec::new();
        for slot in destage.pages {
            self.observe(Move::Destaged { slot, keeps_old });
            let cache = self.cache();
            numbers.push(cache.pages.page(slot).key.number());
            cache.pages.change(slot, |page| {
                page.old &= !page.destaging;
                if keeps_old {
                    // Sectors that were written and have been overwritten since are now the old
                    // content on the drives.
                    page.old |= page.destaging & page.dirty;
                }
                page.destaging = 0;
            });
            self.wake_waiting(slot, result);
        }
        if result.is_ok() {
            self.refresh_tier(destage.group, &numbers);
        }
    }

    /// Follows up on a destage: there may be room now, and more to destage.
    pub(super) fn destage_ended(&mut self) {
        self.admit_stalled();
        self.flush();
    }

    /// Whether a destage's data was lost with the cache.
    pub(super) fn is_lost(&self, destage: Key) -> bool {
        let cache = self.cache.as_ref();
        cache.is_some_and(|cache| cache.destages[destage].is_lost)
    }

    /// Whether pages of `group` keep the on-disk content beside newer data.
    pub(super) fn keeps_old(&self, group: u32) -> bool {
        let keeps = self.cache.as_ref().is_some_and(|cache| cache.design.keeps_old);
        keeps && self.groups[group as usize].shape.parities() > 0
    }

    /// Re-evaluates write-back: it requires a working battery and, if the cache is mirrored, both
    /// controllers.
    pub(super) fn review_write_back(&mut self) {
        let (working, all) = (self.front.working(), self.front.controllers());
        let battery = self.has_battery;
        let Some(cache) = &mut self.cache else { return };
        let protected = working == all || !cache.design.mirrored;
        let may = cache.write_pages > 0 && battery && protected && working > 0;
        if may == cache.write_back {
            return;
        }
        cache.write_back = may;
        let note = if may {
            NoteKind::WriteBack
        } else {
            NoteKind::WriteThrough { battery_lost: !battery }
        };
        self.note(note);
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_join_across_pages() {
        let mut extents = Extents::new();
        add_runs(&mut extents, 0, 0xF0);
        add_runs(&mut extents, 8, 0x81);
        add_runs(&mut extents, 16, u64::MAX);
        assert_eq!(extents.as_slice(), [Extent::new(4, 5), Extent::new(15, 65)]);
    }
}
