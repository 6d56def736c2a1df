//! The leaves of a tree whose keys are spread evenly: from a key to a page, by arithmetic.
//!
//! ```text
//!    keys     0 ........................................ 2^64
//!    leaves   |  0  |  1  |  2  |  3  | ...       | n-1 |       equal ranges
//!    pages    first  +1    +2    B     +4   ...                 a branch page B behind every so many leaves
//!                          '-> split: the upper part of its range is on a page of its own
//! ```
//!
//! Only leaves that were split are listed; how full the others are is the [`Urn`]'s. Memory is a few bytes for each split.

use std::hash::BuildHasherDefault;

use brunt_units::PageNumber;
use brunt_world::random::Stream;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::urn::Urn;
use crate::cache::KeyHasher;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Number of the loaded leaf whose range the key is in.
    index: u32,
    /// The page.
    pub(super) page: PageNumber,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Leaves {
    first: PageNumber,
    count: u32,
    fanout: u32,
    /// Entries on a leaf as it was loaded.
    loaded: u32,
    urn: Urn,
    split: HashMap<u32, SmallVec<[PageNumber; 2]>, BuildHasherDefault<KeyHasher>>,
}

impl Leaves {
    /// A tree of `entries` entries from page `first` on: `loaded` entries on a leaf that has room for `full`, and a branch
    /// page behind every `fanout` leaves.
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
            urn,
            split: HashMap::default(),
        }
    }

    /// Pages of the tree as it was loaded.
    pub(super) fn loaded_pages(&self) -> u32 {
        self.count + self.count.div_ceil(self.fanout)
    }

    /// Where the entry of `key` is, which the tree was loaded with, or which was `inserted` later.
    pub(super) fn find(&self, key: u64, inserted: bool) -> Leaf {
        let scaled = u128::from(key) * u128::from(self.count);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the low half is what is meant"
        )]
        let (index, within) = ((scaled >> 64) as u32, scaled as u64);
        let cut_off = !inserted && self.is_cut_off(key) && index + 1 < self.count;
        let index = index + u32::from(cut_off);
        let page = match self.split.is_empty() {
            true => None,
            false => self.split.get(&index),
        };
        let page = page.and_then(|parts| {
            // The loaded page and its parts, as equal shares of the range.
            let shares = parts.len() as u128 + 1;
            let share = usize::try_from((u128::from(within) * shares) >> 64).expect("few parts");
            share.checked_sub(1).map(|part| parts[part])
        });
        Leaf {
            index,
            page: page.unwrap_or_else(|| self.page(index)),
        }
    }

    /// Whether a loaded entry is on the next leaf although the key before it is on this one: where one leaf ends and the next begins
    /// is as likely between neighbours as anywhere. One that is inserted comes to its neighbour, wherever that is. (Of two neighbours the second has an odd key: `keys.rs` of the workload.)
    fn is_cut_off(&self, key: u64) -> bool {
        let scattered = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        !key.is_multiple_of(2) && scattered.is_multiple_of(self.loaded.into())
    }

    /// The page of a loaded leaf.
    fn page(&self, index: u32) -> PageNumber {
        self.first.after(index + index.div_euclid(self.fanout))
    }

    /// The branch page above a leaf.
    pub(super) fn branch(&self, leaf: Leaf) -> PageNumber {
        let group = leaf.index.div_euclid(self.fanout);
        let last = ((group + 1) * self.fanout).min(self.count) - 1;
        self.page(last).after(1)
    }

    /// The leaf behind a leaf, whose link a split changes.
    pub(super) fn behind(&self, leaf: Leaf) -> Option<PageNumber> {
        let next = leaf.index + 1;
        (next < self.count).then(|| self.page(next))
    }

    /// Puts an entry in; whether a leaf is split for it.
    pub(super) fn insert(&mut self, random: &mut Stream) -> bool {
        self.urn.insert(random)
    }

    /// Takes an entry out.
    pub(super) fn delete(&mut self, random: &mut Stream) {
        self.urn.delete(random);
    }

    /// The upper part of a leaf's range is on `page` now.
    pub(super) fn split(&mut self, leaf: Leaf, page: PageNumber) {
        self.split.entry(leaf.index).or_default().push(page);
    }
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
        let found: BTreeSet<_> = (0..60_000)
            .map(|_| tree.find(random.bits(), false).page)
            .collect();
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
        assert_eq!(tree.behind(leaf), Some(leaf.page.after(1)));
    }
}
