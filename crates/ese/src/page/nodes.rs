//! Nodes being moved from one page to another.
//!
//! Keys are whole here: their prefix belongs to the page they come from.

use std::ops::Range;

use brunt_units::PageSize;

use crate::format::node::{Key, NodeFlags};
use crate::format::page::{NODE_LENGTH_MASK, Page, PageError, TAG_BYTES};

/// A run of nodes in key order, independent of a page.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// Items one after another, without flags.
    bytes: Vec<u8>,
    /// The end and the flags of each.
    ends: Vec<(usize, NodeFlags)>,
}

/// Position of an item within its run.
pub(super) struct Item {
    pub(super) offset: usize,
    pub(super) length: usize,
    /// Flags for the last byte of the tag; none on large pages, which keep them in the item.
    pub(super) tag_flags: u8,
}

impl Nodes {
    /// The nodes `range` of a page.
    ///
    /// # Errors
    /// Those of [`Page::node`]; [`PageError::KeyOutside`] when prefix and rest form a key that is
    /// too long.
    pub fn of(page: Page<'_>, range: Range<usize>) -> Result<Self, PageError> {
        let mut nodes = Self::default();
        for index in range {
            let node = page.node(index)?;
            if node.key.len() > NODE_LENGTH_MASK.into() {
                return Err(PageError::KeyOutside { tag: index + 1 });
            }
            nodes.push(node.key, node.data, node.flags.without(NodeFlags::COMPRESSED));
        }
        Ok(nodes)
    }

    /// Appends a node.
    ///
    /// # Panics
    /// When the key has 8 KiB or more.
    pub fn push(&mut self, key: Key<'_>, data: &[u8], flags: NodeFlags) {
        let length = u16::try_from(key.len()).expect("keys are at most 2,000 bytes");
        assert!(length < 1 << 13, "keys are at most 2,000 bytes");
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(key.prefix);
        self.bytes.extend_from_slice(key.suffix);
        self.bytes.extend_from_slice(data);
        self.ends.push((self.bytes.len(), flags));
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes they take on a page, their tags included.
    pub fn cost(&self) -> usize {
        self.bytes.len() + TAG_BYTES * self.ends.len()
    }

    /// The bytes as laid out on a page of `size`, and each item's position in them.
    pub(super) fn to_items(&self, size: PageSize) -> (Vec<u8>, Vec<Item>) {
        let mut bytes = self.bytes.clone();
        let mut offset = 0;
        let mut items = Vec::with_capacity(self.ends.len());
        for &(end, flags) in &self.ends {
            let high = flags.to_word().to_le_bytes()[1];
            if size.is_large() {
                bytes[offset + 1] |= high;
            }
            items.push(Item {
                offset,
                length: end - offset,
                tag_flags: if size.is_large() { 0 } else { high },
            });
            offset = end;
        }
        (bytes, items)
    }
}
