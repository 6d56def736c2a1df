//! The keys of a page's nodes, and only the keys, as fast as possible.
//!
//! A search reads some thirty keys on each page, and what [`Page::node`] checks besides the key
//! costs as much as the key itself. This view locates a page's tags and body once and returns a key
//! in a few steps. It does not return anything suspicious; the caller then asks `node` for the
//! error.

use super::field::u16_in;
use super::node::NodeFlags;
use super::page::{NODE_LENGTH_MASK, Page, TAG_BYTES, header_bytes, tag_mask};

/// See the [module](self).
#[derive(Clone, Copy)]
pub(crate) struct KeyView<'p> {
    /// Items, followed by the tags.
    body: &'p [u8],
    tags: usize,
    mask: u16,
    is_large: bool,
}

impl<'p> Page<'p> {
    /// The keys of the page's nodes.
    pub(crate) fn keys(self) -> KeyView<'p> {
        let size = self.size();
        KeyView {
            body: &self.bytes()[header_bytes(size)..],
            tags: self.tag_count(),
            mask: tag_mask(size),
            is_large: size.is_large(),
        }
    }
}

impl<'p> KeyView<'p> {
    /// How many bytes node `index` takes from the page's prefix, and the rest of its key. `None`
    /// when there is no such node or it is damaged.
    #[inline]
    pub(crate) fn suffix(self, index: usize) -> Option<(usize, &'p [u8])> {
        let tag = index + 1;
        if tag >= self.tags {
            return None;
        }
        let at = self.body.len().checked_sub(TAG_BYTES * (tag + 1))?;
        let [size, offset] = [u16_in(self.body, at)?, u16_in(self.body, at + 2)?];
        let item = self.body.get((offset & self.mask).into()..)?;
        let item = item.get(..(size & self.mask).into())?;
        let first = u16_in(item, 0)?;
        let flags = NodeFlags::of_word(if self.is_large { first } else { offset });
        let length = |word: u16| usize::from(word & NODE_LENGTH_MASK);
        let (shared, own, start) = match flags.has(NodeFlags::COMPRESSED) {
            true => (length(first), length(u16_in(item, 2)?), 4),
            false => (0, length(first), 2),
        };
        Some((shared, item.get(start..start + own)?))
    }
}

#[cfg(test)]
mod tests {
    use brunt_units::PageSize;
    use brunt_world::random::Streams;

    use super::*;

    /// For any bytes: the view returns what `node` returns, and returns every valid key.
    #[test]
    fn keys_are_those_of_the_nodes_on_pages_of_any_bytes() {
        let mut random = Streams::new(1).named("pages");
        let mut sound = 0;
        for round in 0..2_000 {
            let size = PageSize::ALL[round % 4];
            let mut bytes = vec![0; size.bytes()];
            random.fill(&mut bytes);
            // Few tags and small sizes and offsets; otherwise hardly anything would be valid.
            bytes[34..36].copy_from_slice(&40_u16.to_le_bytes());
            let tags = bytes.len() - 160;
            for word in bytes[tags..].chunks_exact_mut(2) {
                word[1] &= 0xE1;
            }
            let page = Page::new(&bytes, size);
            let prefix = vec![0; 1 << 13];
            for index in 0..42 {
                let node = page.node_with(index, &prefix).ok();
                let expected = node.map(|node| (node.key.prefix.len(), node.key.suffix));
                assert_eq!(page.keys().suffix(index), expected, "{size}, node {index}");
                sound += u32::from(expected.is_some());
            }
        }
        assert!(sound > 1_000, "{sound} sound nodes");
    }
}
