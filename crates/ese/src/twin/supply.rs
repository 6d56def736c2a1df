//! Free pages of one database: extents for trees, from the space after them.
//!
//! A tree asks for single pages and gets adjacent ones, because it obtains extents: a sixty-fourth
//! of what it owns, as real trees do ([`crate::space::extent_pages`]). The file grows before the
//! space runs out.

use std::collections::BTreeSet;

use brunt_units::PageNumber;

use crate::space::extent_pages;

/// The trees that take pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    Records,
    /// Separate bodies.
    Bodies,
    /// The index by folder and time.
    Index,
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    next: PageNumber,
    left: u32,
    owned: u64,
}

/// The free pages of a database.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    takers: [Extent; 3],
    /// Pages of removed record leaves.
    given_back: BTreeSet<PageNumber>,
    /// The first page that belongs to no tree.
    free: PageNumber,
}

impl Supply {
    /// Space from page `free` on; each taker owns `owned` pages.
    pub(super) fn new(free: PageNumber, owned: [u32; 3]) -> Self {
        let takers =
            owned.map(|owned| Extent { next: PageNumber::NONE, left: 0, owned: owned.into() });
        Self { takers, given_back: BTreeSet::new(), free }
    }

    /// Takes a page for a tree in a file of `pages` pages; `None` when the file must grow first.
    pub(super) fn take(&mut self, taker: Taker, pages: u32) -> Option<PageNumber> {
        if taker == Taker::Records
            && let Some(page) = self.given_back.pop_first()
        {
            return Some(page);
        }
        let room = self.room(pages);
        let extent = &mut self.takers[taker as usize];
        if extent.left == 0 {
            let wanted = extent_pages(extent.owned);
            if wanted > room {
                return None;
            }
            (extent.next, extent.left) = (self.free, wanted);
            extent.owned += u64::from(wanted);
            self.free = self.free.after(wanted);
        }
        let page = extent.next;
        extent.next = page.after(1);
        extent.left -= 1;
        Some(page)
    }

    /// Returns the page of a removed record leaf. Such pages are taken again first, lowest first,
    /// as the engine takes free extents.
    pub(super) fn give_back(&mut self, page: PageNumber) {
        self.given_back.insert(page);
    }

    /// Pages of a file of `pages` pages that belong to no tree.
    pub(super) fn room(&self, pages: u32) -> u32 {
        (pages + 1).saturating_sub(self.free.0)
    }

    /// The largest extent that a tree asks for.
    pub(super) fn largest(&self) -> u32 {
        let wanted = self.takers.iter().map(|extent| extent_pages(extent.owned));
        wanted.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takers_get_neighbours_and_never_the_same_page() {
        let mut supply = Supply::new(PageNumber(1_000), [6_400, 0, 640]);
        let first = supply.take(Taker::Records, 1_200).unwrap();
        let other = supply.take(Taker::Index, 1_200).unwrap();
        assert_eq!(supply.take(Taker::Records, 1_200), Some(first.after(1)));
        assert_eq!((first, other), (PageNumber(1_000), PageNumber(1_100)));
        assert_eq!(supply.room(1_200), 201 - 116);
        assert_eq!(supply.largest(), 101);
    }

    #[test]
    fn what_was_given_back_is_taken_first_and_for_records_only() {
        let mut supply = Supply::new(PageNumber(1_000), [0, 0, 0]);
        for page in [70, 40] {
            supply.give_back(PageNumber(page));
        }
        let mut take = |taker| supply.take(taker, 2_000).unwrap().0;
        assert_eq!(take(Taker::Index), 1_000);
        let records = [(); 3].map(|()| take(Taker::Records));
        assert_eq!(records, [40, 70, 1_016]);
    }

    #[test]
    fn a_file_that_is_too_short_gives_nothing() {
        let mut supply = Supply::new(PageNumber(1_000), [0, 0, 0]);
        assert_eq!(supply.take(Taker::Bodies, 1_014), None);
        assert_eq!(supply.take(Taker::Bodies, 1_015), Some(PageNumber(1_000)));
    }
}
