//! The index by folder and time: new entries go to the end of their folder, old ones are deleted at
//! its start.
//!
//! ```text
//!    ... folder 0 ................ folder 1 ...
//!    |0 0 0 0 0 0|0 0 0 0 1 1 1|1 1 1 1 1 1|
//!                        ^ ^
//!             tail of 0 -' '- head of 1: on one page until those entries of folder 1 are deleted
//! ```
//!
//! Only the ends of a folder are ever touched. The end of a folder is in the middle of the tree, so
//! a full page splits into halves, as everywhere except at the end of a tree. The entries after a
//! new one on its page determine how much of the page moves, and so how much is logged.

use brunt_units::PageNumber;

/// The two ends of one folder.
#[derive(Clone, Copy, Debug)]
struct Folder {
    head: PageNumber,
    /// Entries left on the head page.
    left: u32,
    /// Pages between head and tail, still as loaded.
    between: u32,
    tail: PageNumber,
    /// The folder's own entries on the tail page.
    used: u32,
    /// Entries of the next folder after them.
    behind: u32,
}

/// The ends of all folders.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    folders: Vec<Folder>,
    loaded: u32,
    full: u32,
}

impl Ends {
    /// An index of `entries` entries in `folders` folders, starting at page `first`: `loaded`
    /// entries on a page with room for `full`.
    ///
    /// # Panics
    /// When there are no folders.
    pub(super) fn new(
        first: PageNumber,
        entries: u64,
        folders: u32,
        loaded: u32,
        full: u32,
    ) -> Self {
        assert!(folders > 0, "an index without folders");
        let border = |folder: u32| {
            let at = u128::from(entries) * u128::from(folder);
            u64::try_from(at.div_euclid(folders.into())).expect("no more than the entries")
        };
        let per_page = u64::from(loaded);
        let narrow = |value: u64| u32::try_from(value).expect("pages have 32-bit numbers");
        let folder = |number: u32| {
            let (from, to) = (border(number), border(number + 1).max(border(number) + 1));
            let (head, tail) = (from.div_euclid(per_page), (to - 1).div_euclid(per_page));
            let used = narrow((to - 1).rem_euclid(per_page) + 1);
            let alone = head == tail;
            Folder {
                head: first.after(narrow(head)),
                left: narrow(per_page - from.rem_euclid(per_page)).min(narrow(to - from)),
                between: narrow(tail - head).saturating_sub(1),
                tail: first.after(narrow(tail)),
                used: if alone { narrow(to - from) } else { used },
                behind: loaded - used,
            }
        };
        let mut folders: Vec<_> = (0..folders).map(folder).collect();
        if let Some(last) = folders.last_mut() {
            last.behind = 0;
        }
        Self { folders, loaded, full }
    }

    fn at(&self, number: u64) -> usize {
        let folders = self.folders.len() as u64;
        usize::try_from(number.rem_euclid(folders)).expect("few folders")
    }

    /// The page for a new entry of record `number`.
    pub(super) fn tail(&self, number: u64) -> PageNumber {
        self.folders[self.at(number)].tail
    }

    /// The page of the entry of record `number` to delete.
    pub(super) fn head(&self, number: u64) -> PageNumber {
        self.folders[self.at(number)].head
    }

    /// Number of entries after a new one of record `number` on its page.
    pub(super) fn behind_tail(&self, number: u64) -> u32 {
        self.folders[self.at(number)].behind
    }

    /// Number of entries after that of record `number` on its page, which is the oldest of its
    /// folder.
    pub(super) fn behind_head(&self, number: u64) -> u32 {
        self.folders[self.at(number)].left.saturating_sub(1)
    }

    /// Inserts the entry of record `number`; returns whether its page splits.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let (at, full) = (self.at(number), self.full);
        let folder = &mut self.folders[at];
        folder.used += 1;
        folder.used + folder.behind > full
    }

    /// Moves the upper half of the page with the entry of record `number` to `page`.
    pub(super) fn split(&mut self, number: u64, page: PageNumber) {
        let at = self.at(number);
        let folder = &mut self.folders[at];
        let half = (folder.used + folder.behind).div_euclid(2);
        if folder.behind < half {
            folder.used = half - folder.behind;
            folder.tail = page;
        } else {
            folder.behind -= half;
        }
        let moved = folder.behind > 0 || folder.tail != page;
        if let Some(next) = self.folders.get_mut(at + 1).filter(|_| moved) {
            // Its oldest entries moved along.
            next.head = page;
        }
    }

    /// Deletes the entry of record `number`.
    pub(super) fn delete(&mut self, number: u64) {
        let (at, loaded) = (self.at(number), self.loaded);
        if let Some(before) = at.checked_sub(1) {
            let before = &mut self.folders[before];
            before.behind = before.behind.saturating_sub(1);
        }
        let folder = &mut self.folders[at];
        folder.left = folder.left.saturating_sub(1);
        if folder.left > 0 {
            return;
        }
        folder.left = loaded;
        if folder.between > 0 {
            folder.between -= 1;
            folder.head = folder.head.after(1);
        } else {
            folder.head = folder.tail;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_lie_where_the_entries_put_them() {
        // 110 entries per folder, 50 per page.
        let ends = Ends::new(PageNumber(100), 110 * 4, 4, 50, 60);
        let seen = |number| (ends.head(number).0, ends.tail(number).0);
        assert_eq!([0, 1, 2, 3].map(seen), [(100, 102), (102, 104), (104, 106), (106, 108)]);
        assert_eq!([0, 1, 2, 3].map(|number| ends.behind_tail(number)), [40, 30, 20, 0]);
        assert_eq!([0, 1, 2, 3].map(|number| ends.behind_head(number)), [49, 39, 29, 19]);
    }

    #[test]
    fn a_tail_takes_entries_until_its_page_is_full_and_splits_into_halves() {
        let mut ends = Ends::new(PageNumber(100), 110 * 4, 4, 50, 60);
        for _ in 0..10 {
            assert!(!ends.insert(2));
        }
        assert!(ends.insert(2));
        // 41 of its own and 20 after them: the upper 30 move, ten of them its own.
        ends.split(2, PageNumber(900));
        assert_eq!((ends.tail(2), ends.head(3)), (PageNumber(900), PageNumber(900)));
        assert_eq!((ends.folders[2].used, ends.behind_tail(2)), (10, 20));
        assert_eq!(ends.tail(1), PageNumber(104), "another folder");
    }

    #[test]
    fn a_head_goes_from_page_to_page_and_ends_at_the_tail() {
        let mut ends = Ends::new(PageNumber(100), 210 * 4, 4, 50, 60);
        let heads: Vec<_> = (0..210)
            .map(|_| {
                let head = ends.head(1).0;
                ends.delete(1);
                head
            })
            .collect();
        let count = |page| heads.iter().filter(|head| **head == page).count();
        assert_eq!([104, 105, 106, 107].map(count), [40, 50, 50, 50]);
        assert_eq!(count(108), 20, "the tail is the last");
        assert_eq!(ends.behind_tail(0), 0, "nothing of it is left behind the folder before");
    }
}
