//! The leaves of a tree with evenly distributed keys: from a key to a page, by arithmetic.
//!
//! ```text
//!    keys     0 ........................................ 2^64
//!    leaves   |  0  |  1  |  2  |  3  | ...       | n-1 |       equal ranges
//!    pages    first  +1    +2    B     +4   ...                 a branch page B after every `fanout` leaves
//!                          '-> split: the upper part of its range is on its own page
//! ```
//!
//! Only leaves that were split or removed are listed; the [`Urn`] tracks how full the others are.
//! Memory is a few bytes for each listed leaf.

use std::collections::VecDeque;
use std::hash::BuildHasherDefault;

use brunt_units::PageNumber;
use brunt_world::random::Stream;
use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

use super::urn::Urn;
use crate::cache::KeyHasher;

/// Recently inserted or deleted keys, and the number of entries on their leaves then.
#[derive(Clone, Debug, Default)]
struct Recent(VecDeque<(u64, usize)>);

impl Recent {
    /// As many as sessions may have in progress at a time in one database.
    const MOST: usize = 16;

    /// Entries on the leaf of the neighbour of `key`, if known.
    fn beside(&self, key: u64) -> Option<usize> {
        let mut newest_first = self.0.iter().rev();
        let beside = newest_first.find(|(other, _)| other.abs_diff(key) == 1);
        beside.map(|(_, entries)| *entries)
    }

    fn note(&mut self, key: u64, entries: usize) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((key, entries));
    }
}

/// Location of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Number of the loaded leaf whose range contains the key.
    index: u32,
    pub(super) page: PageNumber,
}

impl Leaf {
    /// The part of its range that it is; the lowest if the entry has moved in the meantime.
    fn place(self, parts: &[PageNumber]) -> usize {
        let place = parts.iter().position(|part| *part == self.page);
        place.unwrap_or(0)
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Leaves {
    first: PageNumber,
    count: u32,
    fanout: u32,
    /// Entries on a leaf as loaded.
    loaded: u32,
    /// Maximum entries on a leaf.
    full: u32,
    urn: Urn,
    came: Recent,
    went: Recent,
    /// Pages of the loaded leaves' ranges that have changed: a range with several pages, or on a
    /// different page than it was loaded on. Equal shares, lowest first.
    parted: HashMap<u32, SmallVec<[PageNumber; 4]>, BuildHasherDefault<KeyHasher>>,
}

impl Leaves {
    /// A tree of `entries` entries starting at page `first`: `loaded` entries on a leaf with room
    /// for `full`, and a branch page after every `fanout` leaves.
    ///
    /// # Panics
    /// When the leaves have no 32-bit numbers.
    pub(super) fn new(
        first: PageNumber,
        entries: u64,
        loaded: u32,
        full: u32,
        fanout: u32,
    ) -> Self {
        let whole = entries.div_euclid(loaded.into());
        let rest = u32::try_from(entries.rem_euclid(loaded.into())).expect("below a 32-bit number");
        let mut urn = Urn::new(full);
        urn.add(whole, loaded);
        if rest > 0 || whole == 0 {
            urn.add(1, rest);
        }
        Self {
            first,
            count: u32::try_from(urn.leaves()).expect("pages have 32-bit numbers"),
            fanout,
            loaded,
            full,
            urn,
            came: Recent::default(),
            went: Recent::default(),
            parted: HashMap::default(),
        }
    }

    /// Pages of the tree as loaded.
    pub(super) fn loaded_pages(&self) -> u32 {
        self.count + self.count.div_ceil(self.fanout)
    }

    /// The location of the entry of `key`, either loaded or `inserted` later.
    pub(super) fn find(&self, key: u64, inserted: bool) -> Leaf {
        let scaled = u128::from(key) * u128::from(self.count);
        #[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
        let (index, within) = ((scaled >> 64) as u32, scaled as u64);
        let cut_off = !inserted && is_cut_off(key, 1, self.loaded) && index + 1 < self.count;
        let index = index + u32::from(cut_off);
        let page = self.parted.get(&index).map(|parts| {
            let shares = parts.len() as u128;
            let share = usize::try_from((u128::from(within) * shares) >> 64).expect("few parts");
            // The next part has the second of two neighbours if the split was between them. That is
            // one position of `full`, and half of the neighbours are before it.
            let behind = !cut_off && is_cut_off(key, 2, self.full) && share + 1 < parts.len();
            parts[share + usize::from(behind)]
        });
        Leaf { index, page: page.unwrap_or_else(|| self.page(index)) }
    }

    /// The pages of a loaded leaf's range, lowest first.
    fn parts(&self, index: u32) -> SmallVec<[PageNumber; 4]> {
        let parted = self.parted.get(&index).cloned();
        parted.unwrap_or_else(|| smallvec![self.page(index)])
    }

    /// The page that a leaf was loaded on.
    fn page(&self, index: u32) -> PageNumber {
        self.first.after(index + index.div_euclid(self.fanout))
    }

    /// The branch page above a leaf.
    pub(super) fn branch(&self, leaf: Leaf) -> PageNumber {
        let group = leaf.index.div_euclid(self.fanout);
        let last = ((group + 1) * self.fanout).min(self.count) - 1;
        self.page(last).after(1)
    }

    /// The next leaf, whose link a split changes.
    pub(super) fn behind(&self, leaf: Leaf) -> Option<PageNumber> {
        let parts = self.parts(leaf.index);
        let own = parts.get(leaf.place(&parts) + 1).copied();
        let next = leaf.index + 1;
        own.or_else(|| (next < self.count).then(|| self.parts(next)[0]))
    }

    /// The previous leaf, whose link changes when this one is removed.
    pub(super) fn before(&self, leaf: Leaf) -> Option<PageNumber> {
        let parts = self.parts(leaf.index);
        match leaf.place(&parts).checked_sub(1) {
            Some(place) => Some(parts[place]),
            None => self.parts(leaf.index.checked_sub(1)?).last().copied(),
        }
    }

    /// Inserts the entry of `key`.
    pub(super) fn insert(&mut self, key: u64, random: &mut Stream) -> bool {
        let inserted = self.urn.insert(self.came.beside(key), random);
        self.came.note(key, inserted.entries);
        inserted.splits
    }

    /// Deletes the entry of `key`; returns whether its leaf is empty and must be
    /// [unlinked](Self::unlink).
    pub(super) fn delete(&mut self, key: u64, random: &mut Stream) -> bool {
        let beside = self.went.beside(key);
        let beside = beside.filter(|_| !is_cut_off(key, 1, self.loaded));
        let leaves = self.urn.leaves();
        let left = self.urn.delete(beside, random);
        self.went.note(key, left);
        self.urn.leaves() < leaves
    }

    /// Removes an empty leaf: its range becomes that of the next leaf, or of the previous one if
    /// there is no next.
    pub(super) fn unlink(&mut self, leaf: Leaf) {
        let mut parts = self.parts(leaf.index);
        if parts.len() == 1 {
            parts.extend(self.behind(leaf).or_else(|| self.before(leaf)));
        }
        // An outdated page number may belong to the only other leaf.
        if parts.len() > 1 {
            parts.remove(leaf.place(&parts));
        }
        self.parted.insert(leaf.index, parts);
    }

    /// Moves the upper part of a leaf's range to `page`.
    pub(super) fn split(&mut self, leaf: Leaf, page: PageNumber) {
        let mut parts = self.parts(leaf.index);
        parts.push(page);
        self.parted.insert(leaf.index, parts);
    }
}

/// Whether an entry is on a different leaf than the key before it, if `parted` of `entries`
/// neighbours are separated: a leaf boundary is as likely between neighbours as anywhere. An
/// inserted entry goes to its neighbour's leaf, and is separated from it when that leaf splits.
/// (The second of two neighbours has an odd key: `keys.rs` of the workload.)
fn is_cut_off(key: u64, parted: u64, entries: u32) -> bool {
    let scattered = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    !key.is_multiple_of(2) && scattered % u64::from(entries) < parted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brunt_world::random::Streams;

    use super::*;

    fn tree() -> Leaves {
        Leaves::new(PageNumber(34), 5_003, 5, 7, 100)
    }

    #[test]
    fn every_page_is_met_and_none_twice() {
        let tree = tree();
        assert_eq!((tree.count, tree.loaded_pages()), (1_001, 1_001 + 11));
        let mut random = Streams::new(3).named("keys");
        let found: BTreeSet<_> =
            (0..60_000).map(|_| tree.find(random.bits(), false).page).collect();
        assert_eq!(found.len(), 1_001);
        let branches: BTreeSet<_> = (0..1_001)
            .map(|index| {
                let page = tree.page(index);
                tree.branch(Leaf { index, page })
            })
            .collect();
        assert_eq!(branches.len(), 11);
        assert!(branches.is_disjoint(&found));
        let all: BTreeSet<_> = found.union(&branches).map(|page| page.0).collect();
        assert!(all.into_iter().eq(34..34 + tree.loaded_pages()));
    }

    #[test]
    fn a_split_takes_the_upper_part_of_a_range() {
        let mut tree = tree();
        let width = u64::MAX.div_euclid(1_001);
        let (low, high) = (
            (500 * width + width.div_euclid(8)) & !1,
            (500 * width + width.div_euclid(8) * 7) & !1,
        );
        let leaf = tree.find(low, false);
        assert_eq!(tree.find(high, false), leaf);
        tree.split(leaf, PageNumber(9_000));
        assert_eq!(tree.find(low, false), leaf);
        assert_eq!(tree.find(high, false).page, PageNumber(9_000));
        assert_eq!(tree.branch(tree.find(high, false)), tree.branch(leaf));
        assert_eq!(tree.behind(leaf), Some(PageNumber(9_000)));
        assert_eq!(tree.behind(tree.find(high, false)), Some(leaf.page.after(1)));
        assert_eq!(tree.before(tree.find(high, false)), Some(leaf.page));
    }

    #[test]
    fn the_leaf_behind_takes_over_the_range_of_one_that_is_gone() {
        let mut tree = tree();
        let (low, high) = (u64::MAX.div_euclid(3) & !1, (u64::MAX.div_euclid(3) + 1_000) & !1);
        let leaf = tree.find(low, false);
        assert_eq!(tree.find(high, false), leaf);
        let (before, behind) = (tree.before(leaf), tree.behind(leaf).unwrap());
        assert_eq!(before, Some(PageNumber(leaf.page.0 - 1)));
        tree.unlink(leaf);
        assert_eq!(tree.find(low, false).page, behind);
        // After another split it loses its lowest part, and then the other one.
        tree.split(tree.find(low, false), PageNumber(9_000));
        let lowest = Leaf { index: leaf.index, page: behind };
        tree.unlink(lowest);
        assert_eq!(tree.find(low, false).page, PageNumber(9_000));
        tree.unlink(tree.find(low, false));
        assert_eq!(tree.find(low, false).page, behind);
    }
}
