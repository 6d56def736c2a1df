//! A run of sectors: on a drive, in a group, in a LUN.

use brunt_units::SECTOR_BYTES;

/// `length` sectors of 512 bytes from `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// First sector.
    pub start: u64,
    /// Number of sectors.
    pub length: u64,
}

impl Extent {
    /// `length` sectors from `start`.
    pub const fn new(start: u64, length: u64) -> Self {
        Self { start, length }
    }

    /// The first sector after the extent.
    pub const fn end(self) -> u64 {
        self.start + self.length
    }

    /// Length in bytes.
    pub const fn bytes(self) -> u64 {
        self.length * SECTOR_BYTES
    }

    /// The sectors in both; `None` when there are none.
    pub fn overlap(self, other: Self) -> Option<Self> {
        let start = self.start.max(other.start);
        let end = self.end().min(other.end());
        (start < end).then(|| Self::new(start, end - start))
    }

    /// Splits at multiples of `block` sectors: block number, and the part within the block.
    pub fn split(self, block: u64) -> impl Iterator<Item = (u64, Self)> {
        let mut at = self.start;
        let end = self.end();
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (number, within) = (at.div_euclid(block), at % block);
            let length = (block - within).min(end - at);
            at += length;
            Some((number, Self::new(within, length)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_covers_every_sector_once() {
        let parts: Vec<_> = Extent::new(5, 20).split(8).collect();
        assert_eq!(
            parts,
            [
                (0, Extent::new(5, 3)),
                (1, Extent::new(0, 8)),
                (2, Extent::new(0, 8)),
                (3, Extent::new(0, 1))
            ]
        );
        assert_eq!(Extent::new(7, 0).split(8).count(), 0);
    }

    #[test]
    fn overlaps() {
        let one = Extent::new(10, 10);
        assert_eq!(one.overlap(Extent::new(15, 10)), Some(Extent::new(15, 5)));
        assert_eq!(one.overlap(Extent::new(20, 1)), None);
        assert_eq!(one.overlap(Extent::new(0, 100)), Some(one));
    }
}
