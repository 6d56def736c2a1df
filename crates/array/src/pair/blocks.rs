//! The blocks of a group's LUNs that a full copy has to bring to the destination.

use super::order::GroupExtent;
use crate::Extent;

/// A block of a full copy: 1 MiB. Source: HP, Continuous Access EVA ("1 MB").
pub(super) const BLOCK_SECTORS: u64 = 2048;

/// A set of blocks of some LUNs.
pub(super) struct Blocks {
    /// Sectors of each LUN.
    sizes: Vec<u64>,
    sets: Vec<Vec<u64>>,
    count: u64,
    /// Where the search for the next block goes on.
    cursor: (usize, u64),
}

impl Blocks {
    /// No blocks of LUNs with these sectors.
    pub(super) fn new(sizes: Vec<u64>) -> Self {
        let words = |size: &u64| {
            let blocks = size.div_ceil(BLOCK_SECTORS);
            usize::try_from(blocks.div_ceil(64)).expect("few blocks")
        };
        Self {
            sets: sizes.iter().map(|size| vec![0; words(size)]).collect(),
            sizes,
            count: 0,
            cursor: (0, 0),
        }
    }

    /// Number of blocks in the set.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds every block that `place` touches.
    pub(super) fn mark(&mut self, place: GroupExtent) {
        let set = &mut self.sets[usize::from(place.lun)];
        for (block, _) in place.extent.split(BLOCK_SECTORS) {
            let (word, bit) = word_and_bit(block);
            self.count += u64::from(set[word] & bit == 0);
            set[word] |= bit;
        }
    }

    /// Adds all blocks.
    pub(super) fn mark_all(&mut self) {
        for (lun, size) in (0..).zip(self.sizes.clone()) {
            let extent = Extent::new(0, size);
            self.mark(GroupExtent { lun, extent });
        }
    }

    pub(super) fn clear(&mut self) {
        self.sets.iter_mut().for_each(|set| set.fill(0));
        self.count = 0;
    }

    /// Takes the next block, in turn.
    pub(super) fn take(&mut self) -> Option<GroupExtent> {
        if self.count == 0 {
            return None;
        }
        loop {
            let (lun, block) = self.cursor;
            let (word, bit) = word_and_bit(block);
            let Some(set) = self.sets.get_mut(lun) else {
                self.cursor = (0, 0);
                continue;
            };
            match set.get_mut(word) {
                None => self.cursor = (lun + 1, 0),
                Some(0) => self.cursor = (lun, (block - block % 64) + 64),
                Some(bits) => {
                    self.cursor = (lun, block + 1);
                    if *bits & bit != 0 {
                        *bits &= !bit;
                        self.count -= 1;
                        return Some(self.place(lun, block));
                    }
                }
            }
        }
    }

    /// A block; the last one of a LUN may be shorter.
    fn place(&self, lun: usize, block: u64) -> GroupExtent {
        let start = block * BLOCK_SECTORS;
        let length = BLOCK_SECTORS.min(self.sizes[lun] - start);
        GroupExtent {
            lun: u16::try_from(lun).expect("few LUNs"),
            extent: Extent::new(start, length),
        }
    }
}

fn word_and_bit(block: u64) -> (usize, u64) {
    let word = usize::try_from(block.div_euclid(64)).expect("few blocks");
    (word, 1 << (block % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_that_was_touched_comes_once_and_in_turn() {
        let mut blocks = Blocks::new(vec![200 * BLOCK_SECTORS + 5, BLOCK_SECTORS]);
        let place = |lun, start, length| GroupExtent { lun, extent: Extent::new(start, length) };
        blocks.mark(place(0, 150 * BLOCK_SECTORS - 1, 2));
        blocks.mark(place(0, 150 * BLOCK_SECTORS, 8));
        blocks.mark(place(1, 7, 1));
        assert_eq!(blocks.count(), 3);
        let block = |number| place(0, number * BLOCK_SECTORS, BLOCK_SECTORS);
        assert_eq!(blocks.take(), Some(block(149)));
        blocks.mark(place(0, 0, 1));
        assert_eq!(blocks.take(), Some(block(150)));
        assert_eq!(blocks.take(), Some(place(1, 0, BLOCK_SECTORS)));
        assert_eq!(blocks.take(), Some(block(0)), "from the beginning again");
        assert_eq!((blocks.take(), blocks.count()), (None, 0));
        blocks.mark_all();
        assert_eq!(blocks.count(), 202);
        let last =
            (0..202).filter_map(|_| blocks.take()).max_by_key(|one| (one.lun == 0, one.extent));
        assert_eq!(last, Some(place(0, 200 * BLOCK_SECTORS, 5)));
        blocks.mark_all();
        blocks.clear();
        assert_eq!(blocks.take(), None);
    }
}
