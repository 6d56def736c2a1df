//! A node: flags, key, data.
//!
//! ```text
//!    plain        u16 L | L key bytes | data
//!    compressed   u16 P | u16 L | L key bytes | data      key = first P bytes of tag 0 + L bytes
//! ```
//!
//! Lengths use the low 13 bits of their word; on large pages the top three bits of the first word
//! are the flags. A key is therefore two pieces, and [`Key`] compares them without joining them.
//! The data depends on the page:
//!
//! | page | key | data |
//! | --- | --- | --- |
//! | branch | separator; empty (above everything) on the last node of a level | u32 child page |
//! | table leaf | normalised primary key | record |
//! | index leaf | normalised index key | primary key of the record |
//! | long-value leaf | id, or id and offset, big-endian | u32 references and u32 size, or a chunk |
//! | space-tree leaf | u32 big-endian last page | u32 number of pages |
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/node.hxx and
//! dev/ese/src/ese/node.cxx.

use std::cmp::Ordering;

use brunt_units::PageNumber;

use super::field::u16_in;
use super::page::{NODE_FLAG_SHIFT, NODE_LENGTH_MASK, PageError};

/// Flags of a node: three bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeFlags(u8);

impl NodeFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// A transaction may still have an older version; meaningless on disk.
    pub const VERSIONED: Self = Self(1);
    /// Deleted but not removed yet.
    pub const DELETED: Self = Self(2);
    /// The key starts with bytes of the page's prefix.
    pub const COMPRESSED: Self = Self(4);

    /// Whether all of `flags` are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// These flags and `flags`.
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// These flags without `flags`.
    #[must_use]
    pub const fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }

    /// The flags from the top bits of `word`.
    pub const fn of_word(word: u16) -> Self {
        Self((word >> NODE_FLAG_SHIFT) as u8)
    }

    /// The flags as the top bits of a word.
    pub const fn to_word(self) -> u16 {
        (self.0 as u16) << NODE_FLAG_SHIFT
    }

    /// The flags in the first word of a large page's item; none when it is too short.
    pub fn of_item(item: &[u8]) -> Self {
        u16_in(item, 0).map_or(Self::NONE, Self::of_word)
    }
}

/// A key in two pieces: the part from the page's prefix, and the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Key<'a> {
    /// The first part.
    pub prefix: &'a [u8],
    /// The rest.
    pub suffix: &'a [u8],
}

impl<'a> Key<'a> {
    /// A key in one piece.
    pub const fn whole(suffix: &'a [u8]) -> Self {
        Self { prefix: &[], suffix }
    }

    /// Bytes in the key.
    pub const fn len(self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    /// Whether the key is empty.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes in one piece.
    pub fn to_vec(self) -> Vec<u8> {
        [self.prefix, self.suffix].concat()
    }

    /// Compares the key with `other`: byte by byte, a prefix first.
    pub fn compare(self, other: &[u8]) -> Ordering {
        let (start, rest) = other.split_at(self.prefix.len().min(other.len()));
        self.prefix.cmp(start).then_with(|| self.suffix.cmp(rest))
    }

    /// Compares two keys in pieces like [`Self::compare`].
    pub fn compare_key(self, other: Key<'_>) -> Ordering {
        let mine = self.prefix.iter().chain(self.suffix);
        mine.cmp(other.prefix.iter().chain(other.suffix))
    }
}

/// A decoded node.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    pub flags: NodeFlags,
    pub key: Key<'a>,
    pub data: &'a [u8],
}

impl<'a> Node<'a> {
    /// Decodes `item`. `prefix` is the page's, and `tag` the item's number for errors.
    ///
    /// # Errors
    /// [`PageError::KeyOutside`], [`PageError::PrefixOutside`].
    #[inline]
    pub fn decode(
        item: &'a [u8],
        flags: NodeFlags,
        prefix: &'a [u8],
        tag: usize,
    ) -> Result<Self, PageError> {
        let outside = PageError::KeyOutside { tag };
        let length = |at| {
            let word = u16_in(item, at).ok_or(outside)?;
            Ok(usize::from(word & NODE_LENGTH_MASK))
        };
        let (shared, start) = match flags.has(NodeFlags::COMPRESSED) {
            true => (length(0)?, 4),
            false => (0, 2),
        };
        let own = length(start - 2)?;
        let suffix = item.get(start..start + own).ok_or(outside)?;
        let prefix = prefix.get(..shared).ok_or(PageError::PrefixOutside { tag })?;
        Ok(Self { flags, key: Key { prefix, suffix }, data: &item[start + own..] })
    }

    /// Whether the node is deleted.
    pub fn is_deleted(self) -> bool {
        self.flags.has(NodeFlags::DELETED)
    }

    /// The child that a branch node points to; `None` when the data is not a page number.
    pub fn child(self) -> Option<PageNumber> {
        let bytes = self.data.try_into().ok()?;
        Some(PageNumber(u32::from_le_bytes(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0_u8..3, 0..6)
    }

    proptest! {
        #[test]
        fn keys_in_pieces_order_like_whole_ones(a in bytes(), b in bytes(), c in bytes(), d in bytes()) {
            let key = Key { prefix: &a, suffix: &b };
            let other = Key { prefix: &c, suffix: &d };
            let expected = key.to_vec().cmp(&other.to_vec());
            prop_assert_eq!(key.compare(&other.to_vec()), expected);
            prop_assert_eq!(key.compare_key(other), expected);
            prop_assert_eq!(key.len(), key.to_vec().len());
        }

        #[test]
        fn any_item_decodes_or_is_refused(
            item in proptest::collection::vec(any::<u8>(), 0..40),
            prefix in bytes(),
            flags in 0_u8..8,
        ) {
            if let Ok(node) = Node::decode(&item, NodeFlags(flags), &prefix, 1) {
                prop_assert!(node.key.suffix.len() + node.data.len() < item.len());
            }
        }
    }
}
