//! Room on pages that open transactions may need again.
//!
//! A transaction that shortens an entry leaves free bytes on its page. Until it ends, no other
//! transaction may use them: undoing the change must not need a split, because a split may need a
//! page that a full volume does not have. So each replacement is recorded with the length that it
//! replaced. The largest such length of an entry is its *claim*.
//!
//! ```text
//!    | entry a | entry k, shorter now |.......... free ..........| tags |
//!              '------- claim of k --------'                      others may use the free bytes minus the claims
//! ```
//!
//! Invariant: the entries of a leaf fit the leaf even if each has the larger of its length and its
//! claim.
//!
//! Claims are not stored on pages. They follow from the undo steps of open transactions, so they
//! are the same after a crash. ESE also has a count on the page (`cbUncommittedFree`), a bound that
//! it makes exact from its version store when the page seems full. Here the exact number is
//! computed at once, and the count on the page stays 0.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/node.hxx (`FNDFreePageSpace`,
//! `CbNDReservedSizeOfNode`), dev/ese/src/ese/ver.cxx (`FVERCheckUncommittedFreedSpace`,
//! `CbVERGetNodeReserve`).

use std::collections::BTreeMap;
use std::ops::Bound;

use brunt_units::PageNumber;
use smallvec::SmallVec;

/// Former lengths of an entry's data, one for each replacement that can still be undone, newest
/// last.
type Lengths = SmallVec<[usize; 2]>;

/// The claims on one database, by the root of the tree and the key of the entry.
#[derive(Debug, Default)]
pub struct Claims {
    trees: BTreeMap<PageNumber, BTreeMap<Vec<u8>, Lengths>>,
}

impl Claims {
    /// Data of `bytes` bytes was replaced and may have to be restored.
    pub fn add(&mut self, root: PageNumber, key: &[u8], bytes: usize) {
        let entries = self.trees.entry(root).or_default();
        entries.entry(key.to_vec()).or_default().push(bytes);
    }

    /// The newest replacement of an entry has been undone.
    pub fn take_back(&mut self, root: PageNumber, key: &[u8]) {
        let entry = self.trees.get_mut(&root).and_then(|tree| tree.get_mut(key));
        if let Some(lengths) = entry {
            lengths.pop();
            if lengths.is_empty() {
                self.release(root, key);
            }
        }
    }

    /// The replacements of an entry can no longer be undone.
    pub fn release(&mut self, root: PageNumber, key: &[u8]) {
        if let Some(entries) = self.trees.get_mut(&root) {
            entries.remove(key);
            if entries.is_empty() {
                self.trees.remove(&root);
            }
        }
    }

    /// Whether a tree has no claims.
    pub fn is_free(&self, root: PageNumber) -> bool {
        !self.trees.contains_key(&root)
    }

    /// The claims on entries from `first` to `last` of a tree, in key order, as key and bytes of
    /// data.
    pub fn between<'c>(
        &'c self,
        root: PageNumber,
        first: &[u8],
        last: &[u8],
    ) -> impl Iterator<Item = (&'c [u8], usize)> + use<'c> {
        let bounds = (Bound::Included(first), Bound::Included(last));
        let entries = self.trees.get(&root).filter(|_| first <= last);
        let range = entries.map(|entries| entries.range::<[u8], _>(bounds));
        range.into_iter().flatten().map(|(key, lengths)| {
            let most = lengths.iter().copied().max();
            (key.as_slice(), most.unwrap_or(0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: PageNumber = PageNumber(4);

    fn on(claims: &Claims, first: &[u8], last: &[u8]) -> Vec<(Vec<u8>, usize)> {
        let claims = claims.between(TREE, first, last);
        claims.map(|(key, bytes)| (key.to_vec(), bytes)).collect()
    }

    #[test]
    fn the_largest_length_that_can_come_back_is_claimed() {
        let mut claims = Claims::default();
        claims.add(TREE, b"k", 10);
        claims.add(TREE, b"k", 300);
        claims.add(TREE, b"k", 20);
        assert_eq!(on(&claims, b"a", b"z"), [(b"k".to_vec(), 300)]);
        claims.take_back(TREE, b"k");
        assert_eq!(on(&claims, b"k", b"k"), [(b"k".to_vec(), 300)]);
        claims.take_back(TREE, b"k");
        assert_eq!(on(&claims, b"k", b"k"), [(b"k".to_vec(), 10)]);
        claims.take_back(TREE, b"k");
        assert!(claims.is_free(TREE));
    }

    #[test]
    fn claims_are_found_by_tree_and_key() {
        let mut claims = Claims::default();
        for (root, key) in [(TREE, b"b"), (TREE, b"d"), (PageNumber(7), b"c")] {
            claims.add(root, key, 5);
        }
        assert_eq!(on(&claims, b"c", b"d"), [(b"d".to_vec(), 5)]);
        assert_eq!(on(&claims, b"d", b"c"), []);
        claims.release(TREE, b"b");
        claims.release(TREE, b"d");
        assert!(claims.is_free(TREE) && !claims.is_free(PageNumber(7)));
    }
}
