//! The order of entries, and separators between them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::format::node::Node;
use crate::format::page::{Page, PageFlags};

/// Whether a page's nodes are ordered by key and data rather than by key alone.
pub(super) fn is_by_data(page: Page<'_>) -> bool {
    page.flags().has(PageFlags::LEAF) && page.flags().has(PageFlags::NON_UNIQUE)
}

/// Compares a node with a sort key: its key, followed by its data when `by_data`.
pub(super) fn compare(node: Node<'_>, by_data: bool, target: &[u8]) -> Ordering {
    let data = if by_data { node.data } else { &[] };
    compare_pieces([node.key.prefix, node.key.suffix, data], target)
}

/// Compares concatenated pieces with other bytes.
#[inline]
pub(super) fn compare_pieces<const N: usize>(pieces: [&[u8]; N], target: &[u8]) -> Ordering {
    let mut rest = target;
    for piece in pieces {
        // Most keys are in one piece.
        if piece.is_empty() {
            continue;
        }
        let (start, after) = rest.split_at(piece.len().min(rest.len()));
        match compare_bytes(piece, start) {
            Ordering::Equal => rest = after,
            unequal => return unequal,
        }
    }
    if rest.is_empty() { Ordering::Equal } else { Ordering::Less }
}

/// Byte by byte, a prefix first; the first eight bytes at once. A search compares some thirty keys,
/// and most of them differ there; a function call for each comparison cost a quarter of the
/// engine's time.
#[inline]
pub(super) fn compare_bytes(one: &[u8], other: &[u8]) -> Ordering {
    head(one).cmp(&head(other)).then_with(|| {
        match (one.get(8..), other.get(8..)) {
            (Some(rest), Some(other_rest)) => rest.cmp(other_rest),
            // One is shorter than eight bytes, and its padding matched zeros of the other.
            _ => one.len().cmp(&other.len()),
        }
    })
}

/// The first eight bytes as a number with the same order, padded with zeros.
#[inline]
fn head(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let from_top = |byte: u8, place: usize| u64::from(byte) << (56 - 8 * place);
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The two chunks overlap in equal bytes.
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            u64::from(first) << 32 | u64::from(last) << (64 - 8 * bytes.len())
        }
        _ => bytes.iter().enumerate().fold(0, |head, (place, byte)| head | from_top(*byte, place)),
    }
}

/// A node's sort key.
pub(super) fn sort_key_of(node: Node<'_>, by_data: bool) -> Vec<u8> {
    let mut key = node.key.to_vec();
    if by_data {
        key.extend_from_slice(node.data);
    }
    key
}

/// Sort key of an entry that is not on a page.
pub(super) fn sort_key<'a>(key: &'a [u8], data: &[u8], by_data: bool) -> Cow<'a, [u8]> {
    if by_data { Cow::Owned([key, data].concat()) } else { Cow::Borrowed(key) }
}

/// The shortest prefix of `right` that is above `left`; `None` when `right` itself is not.
pub(super) fn separator<'a>(left: &[u8], right: &'a [u8]) -> Option<&'a [u8]> {
    let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    (left < right).then(|| &right[..=common])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::node::{Key, NodeFlags};

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0_u8..3, 0..6)
    }

    /// Long equal runs, prefixes of each other, and bytes that a signed comparison gets wrong.
    fn long_bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![9 => Just(0x7F_u8), 1 => Just(0x80)], 0..12)
    }

    /// Mostly zeros, which look like the padding of a short key.
    fn zeros() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![9 => Just(0_u8), 1 => any::<u8>()], 0..12)
    }

    proptest! {
        #[test]
        fn eight_bytes_at_once_order_like_one_by_one(a in long_bytes(), b in long_bytes()) {
            prop_assert_eq!(compare_bytes(&a, &b), a.iter().cmp(&b));
        }

        #[test]
        fn zeros_at_the_end_count(a in zeros(), b in zeros()) {
            prop_assert_eq!(compare_bytes(&a, &b), a.iter().cmp(&b));
        }

        #[test]
        fn nodes_order_like_their_sort_keys(a in bytes(), b in bytes(), data in bytes(), target in bytes()) {
            let key = Key { prefix: &a, suffix: &b };
            let node = Node { flags: NodeFlags::NONE, key, data: &data };
            for by_data in [false, true] {
                let whole = sort_key_of(node, by_data);
                prop_assert_eq!(compare(node, by_data, &target), whole.cmp(&target));
            }
        }

        #[test]
        fn a_separator_is_above_the_left_and_not_above_the_right(a in bytes(), b in bytes()) {
            prop_assume!(a != b);
            let (left, right) = (a.clone().min(b.clone()), a.max(b));
            let between = separator(&left, &right).unwrap();
            prop_assert_eq!(separator(&right, &left), None);
            prop_assert!(left.as_slice() < between && between <= right.as_slice());
            let shorter = &between[..between.len() - 1];
            prop_assert!(shorter <= left.as_slice());
        }
    }
}
