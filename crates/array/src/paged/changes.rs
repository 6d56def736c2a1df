//! What hosts have changed in a LUN since a moment, by grain.

use std::collections::BTreeMap;
use std::ops::Range;

use super::PagedArray;

/// Grains of a LUN, counted over its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grains {
    bits: Vec<u64>,
    count: u64,
}

fn index(word: u64) -> usize {
    usize::try_from(word).expect("addressable")
}

impl Grains {
    pub(crate) fn insert(&mut self, grains: Range<u64>) {
        let words = index(grains.end.div_ceil(64));
        if self.bits.len() < words {
            self.bits.resize(words, 0);
        }
        for grain in grains {
            let (word, bit) = (&mut self.bits[index(grain.div_euclid(64))], 1 << (grain % 64));
            self.count += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Adds those of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.bits.len() < other.bits.len() {
            self.bits.resize(other.bits.len(), 0);
        }
        for (own, other) in self.bits.iter_mut().zip(&other.bits) {
            self.count += u64::from((other & !*own).count_ones());
            *own |= other;
        }
    }

    pub(crate) fn remove(&mut self, grains: Range<u64>) {
        for grain in grains {
            if let Some(word) = self.bits.get_mut(index(grain.div_euclid(64))) {
                let bit = 1 << (grain % 64);
                self.count -= u64::from(*word & bit != 0);
                *word &= !bit;
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The first run from `from` on, of at most `most`, that stays within a multiple of `within`.
    pub(crate) fn next_run(&self, from: u64, most: u64, within: u64) -> Option<Range<u64>> {
        let start = self.next(from)?;
        let end = (start + most.max(1)).min((start.div_euclid(within) + 1) * within);
        let mut run = start..start + 1;
        while run.end < end && self.has(run.end) {
            run.end += 1;
        }
        Some(run)
    }

    fn has(&self, grain: u64) -> bool {
        let word = index(grain.div_euclid(64));
        self.bits.get(word).is_some_and(|word| word >> (grain % 64) & 1 == 1)
    }

    fn next(&self, from: u64) -> Option<u64> {
        let first = index(from.div_euclid(64));
        let words = self.bits.iter().enumerate().skip(first);
        for (at, word) in words {
            let word = match at == first {
                true => word >> (from % 64) << (from % 64),
                false => *word,
            };
            if word != 0 {
                return Some(at as u64 * 64 + u64::from(word.trailing_zeros()));
            }
        }
        None
    }
}

/// The LUNs whose changes are kept.
#[derive(Default)]
pub(super) struct Changes(BTreeMap<u32, Grains>);

impl PagedArray {
    /// A host changes grains of a page.
    pub(super) fn changed(&mut self, lun: u32, page: u32, grains: Range<usize>) {
        if self.changes.0.is_empty() {
            return;
        }
        let first = u64::from(page) * self.map.grains_per_page();
        if let Some(changes) = self.changes.0.get_mut(&lun) {
            changes.insert(first + grains.start as u64..first + grains.end as u64);
        }
    }

    /// A LUN may have changed anywhere.
    pub(super) fn changed_altogether(&mut self, lun: u32) {
        let all = self.map.grains_of(lun);
        if let Some(changes) = self.changes.0.get_mut(&lun) {
            changes.insert(0..all);
        }
    }

    /// Begins to keep the changes of a LUN, or begins anew; returns what was kept.
    pub(crate) fn keep_changes(&mut self, lun: u32) -> Grains {
        self.changes.0.insert(lun, Grains::default()).unwrap_or_default()
    }

    /// What has changed in a LUN since.
    pub(crate) fn changes(&self, lun: u32) -> Option<&Grains> {
        self.changes.0.get(&lun)
    }

    /// The grains of a LUN that were ever written.
    pub(crate) fn written_grains(&self, lun: u32) -> Grains {
        let mut grains = Grains::default();
        let each = self.map.grains_per_page();
        for page in 0..self.map.pages(lun) {
            let first = u64::from(page) * each;
            for grain in self.map.grains_with_data(lun, page) {
                grains.insert(first + grain as u64..first + grain as u64 + 1);
            }
        }
        grains
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn grains_are_a_set_of_numbers() {
        let mut stream = Streams::new(5).named("grains");
        let (mut grains, mut oracle) = (Grains::default(), BTreeSet::new());
        for _ in 0..2000 {
            let start = stream.below(400);
            let range = start..start + stream.below(9);
            match stream.below(3) {
                0 => {
                    grains.remove(range.clone());
                    oracle.retain(|one| !range.contains(one));
                }
                1 => {
                    let mut other = Grains::default();
                    other.insert(range.clone());
                    grains.merge(&other);
                    oracle.extend(range);
                }
                _ => {
                    grains.insert(range.clone());
                    oracle.extend(range);
                }
            }
            assert_eq!(grains.count(), oracle.len() as u64);
            let (mut at, mut found) = (0, Vec::new());
            while let Some(run) = grains.next_run(at, 3, 8) {
                assert!(run.end - run.start <= 3);
                assert_eq!(run.start.div_euclid(8), (run.end - 1).div_euclid(8));
                at = run.end;
                found.extend(run);
            }
            assert!(found.iter().eq(oracle.iter()));
        }
    }
}
