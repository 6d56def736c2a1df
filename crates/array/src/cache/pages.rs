//! The pages of an array's cache: which sectors are valid, newer than the drives, or in flight.
//!
//! ```text
//!    valid       can be read here
//!    dirty       newer than the drives, and not being written
//!    destaging   was dirty when its write to the drives began
//!    filling     is being read from the drives
//!    old         the on-disk content is kept beside newer data: a parity can be updated without reading it
//! ```
//!
//! Each is a set of sectors of the page. A page that is neither dirty, destaging nor filling is
//! clean: it is kept in LRU order and evicted when room is needed. Old sectors take the room of a
//! second page; they are kept as long as clean pages can make room for them.
//!
//! Invariant: old sectors are dirty or destaging. Invariant: dirty, destaging and filling pages are
//! not in the LRU order; all others are. Invariant: a page is in its group's dirty order exactly
//! when it has dirty sectors and none that are destaging.
//!
//! Pages are found through chains that begin in `heads` and go on in the pages themselves: a lookup
//! touches one line of heads, which sixteen neighbouring pages share, and the page, which is wanted
//! anyway.
//!
//! Invariant: a page is in the chain of its key exactly once, and no two pages have the same key.

use std::collections::BTreeSet;

use prefetch_index::prefetch_index;

/// Sectors of one page, as a set.
pub(crate) type Sectors = u64;

/// The largest page: 64 sectors.
pub const PAGE_SECTORS_MAX: u64 = 64;

/// Identifies a page or block of a group: the group in the upper 12 bits, the number within it in
/// the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PageKey(u64);

/// Bits of a page's number: enough for two exabytes in pages of 512 bytes.
const NUMBER_BITS: u32 = 52;

impl PageKey {
    /// Page `number` of `group`.
    pub(crate) fn new(group: u32, number: u64) -> Self {
        debug_assert!(group < 1 << (64 - NUMBER_BITS) && number < 1 << NUMBER_BITS);
        Self(u64::from(group) << NUMBER_BITS | number)
    }

    /// The group number.
    pub(crate) fn group(self) -> u32 {
        u32::try_from(self.0 >> NUMBER_BITS).expect("12 bits")
    }

    /// The number within the group.
    pub(crate) fn number(self) -> u64 {
        self.0 & ((1 << NUMBER_BITS) - 1)
    }
}

impl std::hash::Hash for PageKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// A slot number plus one, or 0 for the end of a chain. Zeroes cost no memory until they are
/// written.
type Link = u32;

/// Pages with adjacent numbers whose chains begin in one line of memory.
const NEAR: usize = 16;

const NONE: u32 = u32::MAX;
/// In place of a newer page: this page is not in the LRU order.
const OUTSIDE: u32 = u32::MAX - 1;

/// A page held by the cache. It fills one processor cache line: pages are accessed at random, so
/// each line touched is one memory stall.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Page {
    pub(crate) key: PageKey,
    pub(crate) valid: Sectors,
    pub(crate) dirty: Sectors,
    pub(crate) destaging: Sectors,
    pub(crate) filling: Sectors,
    pub(crate) old: Sectors,
    newer: u32,
    older: u32,
    /// The next page of its chain.
    next: Link,
    /// Whether a request waits for it.
    pub(crate) is_awaited: bool,
}

const _: () = assert!(size_of::<Page>() == 64, "one line");

impl Page {
    fn is_clean(&self) -> bool {
        self.dirty | self.destaging | self.filling == 0
    }

    /// Whether some of it is not yet on the drives.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.dirty | self.destaging != 0
    }

    /// The sectors whose on-disk content is here.
    pub(crate) fn known(&self) -> Sectors {
        self.valid & !(self.dirty | self.destaging) | self.old
    }
}

/// Pages whose memory is reserved at the beginning; it costs nothing until it is used.
const RESERVED: usize = 1 << 24;

pub(crate) struct Pages {
    heads: Vec<Link>,
    held: usize,
    slots: Vec<Page>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    /// Per group: pages with dirty sectors and none that are destaging.
    orders: Vec<BTreeSet<u64>>,
    /// Pages not fully on the drives.
    unwritten: u64,
    /// Pages with old sectors.
    olds: usize,
    most: usize,
}

impl Pages {
    /// Creates room for `most` pages of `groups` groups.
    pub(crate) fn new(groups: usize, most: usize) -> Self {
        Self {
            heads: vec![0; most.next_power_of_two().max(2 * NEAR)],
            held: 0,
            // Growing would copy it, and leave holes of its former sizes in the heap.
            slots: Vec::with_capacity(most.min(RESERVED)),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            orders: vec![BTreeSet::new(); groups],
            unwritten: 0,
            olds: 0,
            most,
        }
    }

    pub(crate) fn find(&self, key: PageKey) -> Option<u32> {
        let mut link = self.heads[self.head_of(key)];
        while let Some(slot) = link.checked_sub(1) {
            let page = &self.slots[slot as usize];
            if page.key == key {
                return Some(slot);
            }
            link = page.next;
        }
        None
    }

    /// A page will be looked for soon.
    pub(crate) fn anticipate(&self, key: PageKey) {
        prefetch_index(&self.heads, self.head_of(key));
    }

    /// Where the chain of `key` begins: multiplicative hashing by 2^64 / golden ratio of all but
    /// the lowest bits.
    fn head_of(&self, key: PageKey) -> usize {
        let lines = self.heads.len().div_euclid(NEAR);
        let (line, within) = (key.0 >> NEAR.ilog2(), key.0 % NEAR as u64);
        let line = line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - lines.ilog2());
        usize::try_from(line * NEAR as u64 + within).expect("below the number of heads")
    }

    pub(crate) fn page(&self, slot: u32) -> &Page {
        &self.slots[slot as usize]
    }

    /// Sets whether a request waits for a page.
    pub(crate) fn set_awaited(&mut self, slot: u32, is_awaited: bool) {
        self.slots[slot as usize].is_awaited = is_awaited;
    }

    /// Pages not fully on the drives.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// Pages held.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.held
    }

    /// Finds or creates a page; the oldest clean page is evicted if there is no room.
    pub(crate) fn get_or_make(&mut self, key: PageKey) -> u32 {
        if let Some(slot) = self.find(key) {
            return slot;
        }
        self.make_room(1);
        let head = self.head_of(key);
        let page = Page {
            key,
            valid: 0,
            dirty: 0,
            destaging: 0,
            filling: 0,
            old: 0,
            newer: OUTSIDE,
            older: NONE,
            next: self.heads[head],
            is_awaited: false,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = page;
                slot
            }
            None => {
                self.slots.push(page);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 pages")
            }
        };
        self.heads[head] = slot + 1;
        self.held += 1;
        slot
    }

    /// Changes a page and updates the orders it belongs to.
    pub(crate) fn change(&mut self, slot: u32, change: impl FnOnce(&mut Page)) {
        let page = &mut self.slots[slot as usize];
        let (was_unwritten, was_due) = (page.is_unwritten(), is_due(page));
        let had_old = page.old != 0;
        change(page);
        debug_assert!(page.old & !(page.dirty | page.destaging) == 0);
        let has_old = page.old != 0;
        let (key, is_unwritten, is_due) = (page.key, page.is_unwritten(), is_due(page));
        let is_clean = page.is_clean();
        match (was_unwritten, is_unwritten) {
            (false, true) => self.unwritten += 1,
            (true, false) => self.unwritten -= 1,
            _ => {}
        }
        match (was_due, is_due) {
            (false, true) => {
                self.orders[key.group() as usize].insert(key.number());
            }
            (true, false) => {
                self.orders[key.group() as usize].remove(&key.number());
            }
            _ => {}
        }
        if self.slots[slot as usize].newer != OUTSIDE {
            self.unlink(slot);
        }
        match (had_old, has_old) {
            (false, true) if self.make_room(1) => self.olds += 1,
            (false, true) => self.slots[slot as usize].old = 0,
            (true, false) => self.olds -= 1,
            _ => {}
        }
        if is_clean {
            if self.slots[slot as usize].valid == 0 || self.held + self.olds > self.most {
                self.drop_page(slot);
            } else {
                self.link(slot);
            }
        }
    }

    /// The next page of `group` to destage, from `position` upwards and then from the bottom.
    pub(crate) fn next_due(&self, group: u32, position: u64) -> Option<u64> {
        let order = &self.orders[group as usize];
        let next = order.range(position..).next().or_else(|| order.first());
        next.copied()
    }

    /// The due pages of `group` from `first` up to but excluding `end`.
    pub(crate) fn due_within(&self, group: u32, first: u64, end: u64) -> impl Iterator<Item = u64> {
        self.orders[group as usize].range(first..end).copied()
    }

    /// Forgets all pages; returns how many were not fully on the drives.
    pub(crate) fn lose_all(&mut self) -> u64 {
        let lost = self.unwritten;
        *self = Self::new(self.orders.len(), self.most);
        lost
    }

    /// Evicts clean pages, oldest first, until there is room for `more`; false when that fails.
    fn make_room(&mut self, more: usize) -> bool {
        while self.held + self.olds + more > self.most {
            if self.oldest == NONE {
                return false;
            }
            self.forget(self.oldest);
        }
        true
    }

    fn forget(&mut self, slot: u32) {
        debug_assert!(self.slots[slot as usize].is_clean());
        self.unlink(slot);
        self.drop_page(slot);
        if let Some(oldest) = self.slots.get(self.oldest as usize) {
            // The next one to be evicted, and the one after it.
            self.anticipate(oldest.key);
            prefetch_index(&self.slots, oldest.newer as usize);
        }
    }

    fn drop_page(&mut self, slot: u32) {
        let Page { key, next, .. } = self.slots[slot as usize];
        let head = self.head_of(key);
        let link = slot + 1;
        if self.heads[head] == link {
            self.heads[head] = next;
        } else {
            let mut before = self.heads[head] as usize - 1;
            while self.slots[before].next != link {
                before = self.slots[before].next as usize - 1;
            }
            self.slots[before].next = next;
        }
        self.held -= 1;
        self.free.push(slot);
    }

    fn link(&mut self, slot: u32) {
        let newest = self.newest;
        let page = &mut self.slots[slot as usize];
        (page.newer, page.older) = (NONE, newest);
        if newest == NONE {
            self.oldest = slot;
        } else {
            self.slots[newest as usize].newer = slot;
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let page = &mut self.slots[slot as usize];
        let newer = std::mem::replace(&mut page.newer, OUTSIDE);
        let older = page.older;
        if newer == NONE {
            self.newest = older;
        } else {
            self.slots[newer as usize].older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.slots[older as usize].newer = newer;
        }
    }
}

fn is_due(page: &Page) -> bool {
    page.dirty != 0 && page.destaging == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> PageKey {
        PageKey::new(0, number)
    }

    fn fill(pages: &mut Pages, number: u64) -> u32 {
        let slot = pages.get_or_make(key(number));
        pages.change(slot, |page| page.valid = 0xFF);
        slot
    }

    #[test]
    fn the_oldest_clean_page_goes_first() {
        let mut pages = Pages::new(1, 3);
        for number in 0..3 {
            fill(&mut pages, number);
        }
        fill(&mut pages, 0);
        fill(&mut pages, 3);
        assert!(pages.find(key(1)).is_none());
        assert!(pages.find(key(0)).is_some());
        assert_eq!(pages.len(), 3);
    }

    #[test]
    fn pages_are_found_as_in_a_list() {
        let mut random = brunt_world::random::Streams::new(3).named("pages");
        let mut pages = Pages::new(2, 50);
        let mut kept: Vec<PageKey> = Vec::new();
        for _ in 0..20_000 {
            let group = u32::try_from(random.below(2)).unwrap();
            let key = PageKey::new(group, random.below(100) << (group * 40));
            assert_eq!(pages.find(key).is_some(), kept.contains(&key));
            let slot = pages.get_or_make(key);
            pages.change(slot, |page| page.valid = 1);
            kept.retain(|other| *other != key);
            kept.push(key);
            kept.drain(..kept.len().saturating_sub(50));
            assert_eq!(pages.page(slot).key, key);
        }
        assert_eq!(pages.len(), 50);
    }

    #[test]
    fn dirty_pages_stay_and_come_in_order() {
        let mut pages = Pages::new(1, 2);
        for number in [9, 4, 7] {
            let slot = pages.get_or_make(key(number));
            pages.change(slot, |page| page.dirty = 1);
        }
        assert_eq!(pages.unwritten(), 3, "dirty pages are not thrown out for lack of room");
        assert_eq!(pages.next_due(0, 5), Some(7));
        assert_eq!(pages.next_due(0, 10), Some(4));
        let slot = pages.find(key(7)).unwrap();
        pages.change(slot, |page| (page.destaging, page.dirty) = (page.dirty, 0));
        assert_eq!(pages.next_due(0, 5), Some(9));
        pages.change(slot, |page| (page.destaging, page.valid) = (0, 1));
        assert_eq!(pages.unwritten(), 2);
        assert!(pages.find(key(7)).is_none(), "there is no room for it as a clean page");
        assert_eq!(pages.lose_all(), 2);
        assert_eq!(pages.len(), 0);
    }

    #[test]
    fn old_sectors_take_room_of_clean_pages_only() {
        let mut pages = Pages::new(1, 3);
        for number in 0..3 {
            fill(&mut pages, number);
        }
        let overwrite = |pages: &mut Pages, number| {
            let slot = pages.find(key(number)).unwrap();
            pages.change(slot, |page| {
                (page.old, page.dirty) = (page.known() & 0xF, page.dirty | 0xF);
            });
            pages.page(slot).old
        };
        assert_eq!(overwrite(&mut pages, 2), 0xF);
        assert_eq!(pages.len(), 2, "page 0 made room");
        assert_eq!(overwrite(&mut pages, 1), 0, "no clean page is left");
        let slot = pages.find(key(2)).unwrap();
        assert_eq!(pages.page(slot).known(), 0xFF);
        pages.change(slot, |page| (page.old, page.dirty) = (0, 0));
        assert_eq!(pages.olds, 0);
        fill(&mut pages, 7);
        assert_eq!(pages.len(), 3);
    }
}
