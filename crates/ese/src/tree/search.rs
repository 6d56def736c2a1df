//! Searching one page for a key.
//!
//! Every operation searches about ten pages, whose keys are rarely in the processor's caches.
//! Therefore
//!
//! * each step compares three nodes: independent accesses are fetched in parallel, and half the
//!   steps take half the time, although more keys are compared;
//! * the target is compared with the page's prefix once, not for each node that shares it.

use std::cmp::Ordering;

use super::order::{compare_bytes, compare_pieces};
use crate::format::KeyView;
use crate::format::page::{Page, PageError};

/// A search for one target on one page.
pub(super) struct Search<'p, 't> {
    page: Page<'p>,
    view: KeyView<'p>,
    /// Prefix that nodes may share.
    prefix: &'p [u8],
    /// Number of bytes that prefix and target have in common.
    common: usize,
    /// Whether nodes are ordered by key and data.
    by_data: bool,
    target: &'t [u8],
}

impl<'p, 't> Search<'p, 't> {
    pub(super) fn new(page: Page<'p>, by_data: bool, target: &'t [u8]) -> Self {
        // Without a prefix, nodes that need it are refused.
        let prefix = page.prefix().unwrap_or_default();
        let pairs = prefix.iter().zip(target);
        Self {
            page,
            view: page.keys(),
            prefix,
            common: pairs.take_while(|(own, sought)| own == sought).count(),
            by_data,
            target,
        }
    }

    /// The first of `count` nodes that is above the target; `count` when none is.
    ///
    /// # Errors
    /// When one of the compared nodes is damaged.
    pub(super) fn first_above(&self, count: usize) -> Result<usize, PageError> {
        partition(count, |index| Ok(self.order(index)? != Ordering::Greater))
    }

    /// The first of `count` nodes that is not below the target; `count` when all are.
    pub(super) fn first_not_below(&self, count: usize) -> Result<usize, PageError> {
        partition(count, |index| Ok(self.order(index)? == Ordering::Less))
    }

    /// Compares a node with the target.
    #[inline]
    fn order(&self, index: usize) -> Result<Ordering, PageError> {
        match self.view.suffix(index) {
            Some((shared, suffix)) if !self.by_data && shared <= self.common => {
                Ok(compare_bytes(suffix, &self.target[shared..]))
            }
            _ => self.order_of_any(index),
        }
    }

    /// As [`Self::order`], for any node, even a damaged one.
    #[cold]
    fn order_of_any(&self, index: usize) -> Result<Ordering, PageError> {
        let node = self.page.node_with(index, self.prefix)?;
        let shared = node.key.prefix.len();
        if shared > self.common {
            // They differ within the prefix; a target that ends there is smaller.
            let sought = self.target.get(self.common);
            return Ok(Some(&self.prefix[self.common]).cmp(&sought));
        }
        let data = if self.by_data { node.data } else { &[] };
        let pieces = [node.key.suffix, data];
        Ok(compare_pieces(pieces, &self.target[shared..]))
    }
}

/// The first of `count` places for which `is_before` is false. It must be true before that place
/// and false after it.
fn partition<E>(count: usize, is_before: impl Fn(usize) -> Result<bool, E>) -> Result<usize, E> {
    let (mut low, mut high) = (0, count);
    while high - low > 3 {
        let quarter = (high - low).div_euclid(4);
        let places = [1, 2, 3].map(|step| low + step * quarter);
        let [first, second, third] = places;
        let (first, second, third) = (is_before(first)?, is_before(second)?, is_before(third)?);
        match usize::from(first) + usize::from(second) + usize::from(third) {
            0 => high = places[0],
            passed => {
                low = places[passed - 1] + 1;
                high = places.get(passed).copied().unwrap_or(high);
            }
        }
    }
    while low < high && is_before(low)? {
        low += 1;
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_among_every_count_is_found() {
        for count in 0..200 {
            for place in 0..=count {
                let found = partition(count, |index| Ok::<_, ()>(index < place));
                assert_eq!(found, Ok(place), "of {count}");
            }
        }
    }

    #[test]
    fn an_order_without_sense_ends_within_the_count() {
        for count in 0..200_usize {
            for pattern in 0..64_u64 {
                let is_before = |index| Ok::<_, ()>(pattern >> (index % 6) & 1 == 1);
                assert!(partition(count, is_before).is_ok_and(|found| found <= count));
            }
        }
    }
}
