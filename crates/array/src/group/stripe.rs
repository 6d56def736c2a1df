//! The shape of a stripe: its protection, and which member holds which part.
//!
//! ```text
//!    row 0   D0 D1 D2 D3 P      parity: k = width - parities data strips, and the parities shift by one member
//!    row 1   D1 D2 D3 P  D0     to the left with every row, so that every member holds its share of them
//!    row 2   D2 D3 P  D0 D1
//!
//!    row 0   D0 D0              mirror: one data strip, on every member
//! ```
//!
//! A strip is the part of a stripe on one member; the members of a stripe lie on different drives.

use crate::Extent;

/// What happens when a member is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Its data is lost.
    None,
    /// Every member holds the same.
    Mirror,
    /// This many members (1 or 2) can be computed from the others.
    Parity(u8),
}

/// Maximum number of members of a stripe: sets of them are 32 bits.
pub const WIDTH_MAX: u32 = 32;

/// A set of members.
pub(crate) type Members = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeShape {
    /// Members, 1 to [`WIDTH_MAX`].
    pub width: u32,
    /// What protects them.
    pub protection: Protection,
    pub strip_sectors: u64,
}

impl StripeShape {
    pub fn data_strips(&self) -> u32 {
        match self.protection {
            Protection::None => self.width,
            Protection::Mirror => 1,
            Protection::Parity(parities) => self.width - u32::from(parities),
        }
    }

    /// Number of member losses survived.
    pub fn tolerates(&self) -> u32 {
        match self.protection {
            Protection::None => 0,
            Protection::Mirror => self.width - 1,
            Protection::Parity(parities) => u32::from(parities),
        }
    }

    /// Parity strips.
    pub(crate) fn parities(&self) -> u32 {
        match self.protection {
            Protection::Parity(parities) => u32::from(parities),
            Protection::None | Protection::Mirror => 0,
        }
    }

    pub fn data_sectors(&self) -> u64 {
        self.strip_sectors * u64::from(self.data_strips())
    }

    pub(crate) fn all(&self) -> Members {
        Members::MAX >> (WIDTH_MAX - self.width)
    }

    /// Whether the data can be read or computed from `readable`.
    pub(crate) fn survives(&self, readable: Members) -> bool {
        (self.all() & !readable).count_ones() <= self.tolerates()
    }

    /// The member that holds the first parity of `row`.
    fn first_parity(&self, row: u64) -> u32 {
        let turned = row % u64::from(self.width);
        let turned = u32::try_from(turned).expect("below the width");
        (2 * self.width - self.parities() - turned) % self.width
    }

    /// The member that holds parity `number` of `row`.
    pub(crate) fn parity_member(&self, row: u64, number: u32) -> u32 {
        (self.first_parity(row) + number) % self.width
    }

    /// The member that holds data strip `index` of `row`; of a mirror, the first.
    pub(crate) fn data_member(&self, row: u64, index: u32) -> u32 {
        match self.protection {
            Protection::None => index,
            Protection::Mirror => 0,
            Protection::Parity(_) => {
                (self.first_parity(row) + self.parities() + index) % self.width
            }
        }
    }

    /// Splits `extent` of the stripe's data by data strip: index, and the part within the strip.
    pub(crate) fn strips(&self, extent: Extent) -> impl Iterator<Item = (u32, Extent)> {
        extent
            .split(self.strip_sectors)
            .map(|(index, part)| (u32::try_from(index).expect("few strips"), part))
    }
}

/// The members of a set, ascending.
pub(crate) fn members(set: Members) -> impl Iterator<Item = u32> {
    let mut left = set;
    std::iter::from_fn(move || {
        let member = (left != 0).then(|| left.trailing_zeros());
        left &= left.wrapping_sub(1);
        member
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_uses_every_member_once_and_parity_wanders() {
        for (width, parities) in [(3, 1), (5, 1), (6, 2), (10, 2)] {
            let shape =
                StripeShape { width, protection: Protection::Parity(parities), strip_sectors: 8 };
            let mut holds_parity = BTreeSet::new();
            for row in 0..u64::from(width) {
                let data = (0..shape.data_strips()).map(|index| shape.data_member(row, index));
                let parity = (0..shape.parities()).map(|number| shape.parity_member(row, number));
                let all: BTreeSet<_> = data.chain(parity).collect();
                assert_eq!(all.len(), width as usize, "row {row}");
                holds_parity.insert(shape.parity_member(row, 0));
            }
            assert_eq!(holds_parity.len(), width as usize);
        }
    }

    #[test]
    fn the_picture_above_is_true() {
        let shape = StripeShape { width: 5, protection: Protection::Parity(1), strip_sectors: 8 };
        assert_eq!(shape.parity_member(0, 0), 4);
        assert_eq!(shape.parity_member(1, 0), 3);
        assert_eq!(shape.data_member(0, 0), 0);
        assert_eq!(shape.data_member(1, 0), 4);
        assert_eq!(shape.data_member(2, 0), 3);
        assert!(shape.survives(0b11011) && !shape.survives(0b11001));
    }
}
