//! A set of page numbers: one bit for each page of a file.

use brunt_units::PageNumber;

/// A set of pages of a file of known length.
#[derive(Clone, Debug)]
pub(super) struct PageSet {
    words: Vec<u64>,
    pages: u32,
}

impl PageSet {
    /// An empty set for a file with pages 1 to `pages`.
    pub(super) fn new(pages: u32) -> Self {
        Self { words: vec![0; (pages as usize + 1).div_ceil(64)], pages }
    }

    /// Adds `page`, if the file has it. Returns whether it is new.
    pub(super) fn insert(&mut self, page: PageNumber) -> bool {
        if page.0 > self.pages {
            return false;
        }
        let (word, bit) = place(page);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Whether `page` is in the set.
    pub(super) fn contains(&self, page: PageNumber) -> bool {
        let (word, bit) = place(page);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether both sets have a page in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.any(|(mine, others)| mine & others != 0)
    }

    /// The pages that are in both sets, ascending.
    pub(super) fn common(&self, other: &Self) -> Vec<PageNumber> {
        let pages = (0..=self.pages).map(PageNumber);
        let both = pages.filter(|page| self.contains(*page) && other.contains(*page));
        both.collect()
    }

    /// Whether the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

fn place(page: PageNumber) -> (usize, u64) {
    ((page.0 >> 6) as usize, 1 << (page.0 & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_in_or_out() {
        let mut set = PageSet::new(128);
        assert!(set.is_empty());
        assert!(set.insert(PageNumber(128)));
        assert!(!set.insert(PageNumber(128)));
        assert!(!set.insert(PageNumber(129)), "not a page of the file");
        assert!(set.contains(PageNumber(128)));
        assert!(!set.contains(PageNumber(127)) && !set.contains(PageNumber(u32::MAX)));
        let mut other = PageSet::new(128);
        other.insert(PageNumber(127));
        assert!(!set.meets(&other));
        other.insert(PageNumber(128));
        assert!(set.meets(&other));
        assert_eq!(set.common(&other), [PageNumber(128)]);
    }
}
