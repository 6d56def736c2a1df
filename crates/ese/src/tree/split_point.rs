//! Where to split a page: pure arithmetic on node sizes, shared by real trees and the twin's trees.
//!
//! A split leaves a left page, which keeps its number, and creates a new right one. The sizes are
//! those of the nodes after the edit, including the new one.

/// The nodes of a page after an insert or replacement that it has no room for.
#[derive(Clone, Copy, Debug)]
pub struct Crowd<'a> {
    /// Cost of each node, its tag included ([`crate::page::node_cost`]).
    pub costs: &'a [usize],
    /// Room for nodes and their tags on the left page.
    pub left_room: usize,
    /// Room on the right page.
    pub right_room: usize,
}

impl Crowd<'_> {
    /// Number of nodes that stay left so that the new entry, the last of the tree, starts its own
    /// page.
    ///
    /// An ordered load fills pages completely this way. `None` when the others do not fit the left
    /// page.
    pub fn append(self) -> Option<usize> {
        let left = self.costs.len() - 1;
        self.fits(left).then_some(left)
    }

    /// Number of nodes that stay left so that both pages are as equal as possible.
    ///
    /// `None` when three pages would be needed: the new entry is large and in the middle.
    pub fn halves(self) -> Option<usize> {
        let total: usize = self.costs.iter().sum();
        let mut best: Option<(usize, usize)> = None;
        let mut left_bytes = 0;
        for left in 1..self.costs.len() {
            left_bytes += self.costs[left - 1];
            let right_bytes = total - left_bytes;
            let uneven = left_bytes.abs_diff(right_bytes);
            let fits = left_bytes <= self.left_room && right_bytes <= self.right_room;
            if fits && best.is_none_or(|(least, _)| uneven < least) {
                best = Some((uneven, left));
            }
        }
        best.map(|(_, left)| left)
    }

    fn fits(self, left: usize) -> bool {
        let sum = |costs: &[usize]| costs.iter().sum::<usize>();
        left > 0
            && sum(&self.costs[..left]) <= self.left_room
            && sum(&self.costs[left..]) <= self.right_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(costs: &[usize], room: usize) -> Crowd<'_> {
        Crowd { costs, left_room: room, right_room: room }
    }

    #[test]
    fn appending_leaves_the_left_page_full() {
        assert_eq!(crowd(&[30, 30, 30, 30], 100).append(), Some(3));
        assert_eq!(crowd(&[101, 30], 100).append(), None);
    }

    #[test]
    fn halves_are_even() {
        assert_eq!(crowd(&[10; 11], 100).halves(), Some(5));
        assert_eq!(crowd(&[90, 10, 10], 100).halves(), Some(1));
        assert_eq!(crowd(&[10, 10, 90], 100).halves(), Some(2));
    }

    #[test]
    fn a_large_entry_in_the_middle_needs_three_pages() {
        assert_eq!(crowd(&[50, 90, 50], 100).halves(), None);
        assert_eq!(crowd(&[5, 90, 50], 100).halves(), Some(2));
    }
}
