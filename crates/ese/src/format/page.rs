//! A page: header, items growing up, tags growing down.
//!
//! ```text
//!    0   8  checksum                               see `checksum`
//!    8   8  database time of the last change
//!   16   4  previous page of the leaf level, or 0
//!   20   4  next page of the leaf level, or 0
//!   24   4  object id of the tree
//!   28   2  free bytes                             page − header − items − 4 × tags, exactly
//!   30   2  uncommitted free bytes                 we write 0
//!   32   2  first free byte after the last item    relative to the end of the header
//!   34   2  number of tags in bits 0-11; 12-14 reserved tags, we write 0
//!   36   4  flags                                  see `PageFlags`
//!   40  40  large pages only: 3 × 8 checksum, 4 own number, 12 zero
//!   40/80   items, anywhere, in any order
//!   ...     free
//!   end     tags: tag i is u16 size, u16 offset at page end − 4 × (i + 1)
//! ```
//!
//! Tag 0 is the external header: the space header on a root page, the key prefix on every other.
//! Tags from 1 are the nodes in key order. A node's three flags are in the top bits of its tag's
//! offset on small pages, and in the top bits of its own first word on large ones.
//!
//! [`Page`] reads any bytes. [`Page::check`] (`page_check`) verifies the rules of a page. The
//! engine's page editor does the writing, with the offsets and masks defined here.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/cpage.hxx and
//! dev/ese/src/ese/cpage.cxx.

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use super::field::{u16_at, u32_at, u64_at};
use super::node::{Node, NodeFlags};
use super::space::SpaceHeader;

/// Offset of the checksum: 8 bytes.
pub const CHECKSUM_AT: usize = 0;
/// Offset of the database time of the last change: u64.
pub const DATABASE_TIME_AT: usize = 8;
/// Offset of the previous page of the level: u32.
pub const PREVIOUS_AT: usize = 16;
/// Offset of the next page of the level: u32.
pub const NEXT_AT: usize = 20;
/// Offset of the object id of the tree: u32.
pub const OBJECT_AT: usize = 24;
/// Offset of the number of free bytes: u16.
pub const FREE_AT: usize = 28;
/// Offset of the number of uncommitted free bytes: u16.
pub const UNCOMMITTED_FREE_AT: usize = 30;
/// Offset of the first free byte after the last item: u16, relative to the end of the header.
pub const FIRST_FREE_AT: usize = 32;
/// Offset of the number of tags: u16.
pub const TAG_COUNT_AT: usize = 34;
/// Offset of the flags: u32.
pub const FLAGS_AT: usize = 36;
/// Offset of a large page's own number: u32.
pub const NUMBER_AT: usize = 64;
pub const TAG_BYTES: usize = 4;
/// The bits of the tag count field that count tags.
pub const TAG_COUNT_MASK: u16 = 0x0FFF;
/// Position of the node flags within their 16-bit word.
pub const NODE_FLAG_SHIFT: u32 = 13;
/// The bits of a length word without the node flags.
pub const NODE_LENGTH_MASK: u16 = 0x1FFF;

/// Bytes of the page header: 40 on small pages, 80 on large ones.
pub const fn header_bytes(size: PageSize) -> usize {
    if size.is_large() { 80 } else { 40 }
}

/// Bytes for items and tags.
pub const fn body_bytes(size: PageSize) -> usize {
    size.bytes() - header_bytes(size)
}

/// Bytes of the largest node: the body without its tag and the tag of an empty tag 0.
pub const fn node_bytes_max(size: PageSize) -> usize {
    body_bytes(size) - 2 * TAG_BYTES
}

/// Offset of tag `index`.
pub const fn tag_at(size: PageSize, index: usize) -> usize {
    size.bytes() - TAG_BYTES * (index + 1)
}

/// The bits of a tag's two words that are a size or an offset.
pub const fn tag_mask(size: PageSize) -> u16 {
    if size.is_large() { 0x7FFF } else { 0x1FFF }
}

/// Identifies a tree; every page carries the id of its tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// Purpose of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageFlags(pub u32);

impl PageFlags {
    /// Root of a tree, also of the two space trees.
    pub const ROOT: Self = Self(0x0001);
    pub const LEAF: Self = Self(0x0002);
    /// Branch page whose children are leaves.
    pub const PARENT_OF_LEAF: Self = Self(0x0004);
    /// Emptied; readers skip it.
    pub const EMPTY: Self = Self(0x0008);
    /// Modified by a repair tool; engines refuse it.
    pub const REPAIRED: Self = Self(0x0010);
    /// Belongs to a space tree.
    pub const SPACE_TREE: Self = Self(0x0020);
    /// Belongs to a secondary index.
    pub const INDEX: Self = Self(0x0040);
    /// Belongs to a long-value tree.
    pub const LONG_VALUE: Self = Self(0x0080);
    /// Ordered by key and then data: a non-unique secondary index.
    pub const NON_UNIQUE: Self = Self(0x0400);
    /// Record format since 2000; set on every page.
    pub const NEW_RECORD_FORMAT: Self = Self(0x0800);
    /// Sealed with XE; set on every page.
    pub const NEW_CHECKSUM: Self = Self(0x2000);
    /// Overwritten after its records were deleted.
    pub const SCRUBBED: Self = Self(0x4000);
    /// The two bits of the flush type.
    pub const FLUSH_TYPE: Self = Self(0x1_8000);
    /// Allocated, without content yet.
    pub const PREINITIALISED: Self = Self(0x2_0000);
    /// The tree may only be deleted.
    pub const DELETE_ONLY: Self = Self(0x4_0000);
    /// Flags of every page we write.
    pub const ALWAYS: Self = Self(0x2800);

    const FLUSH_TYPE_SHIFT: u32 = 15;

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

    /// The flags that identify a tree's kind. All pages of a tree have the same.
    #[must_use]
    pub const fn kind(self) -> Self {
        let kinds = Self::SPACE_TREE.with(Self::INDEX);
        let kinds = kinds.with(Self::LONG_VALUE).with(Self::NON_UNIQUE);
        Self(self.0 & kinds.0)
    }

    /// The flush type: 1, 2, 3 in turn, advanced by each write of the page; 0 is unknown.
    pub const fn flush_type(self) -> u8 {
        (self.0 >> Self::FLUSH_TYPE_SHIFT & 3) as u8
    }

    /// These flags with another flush type.
    ///
    /// # Panics
    /// When `flush_type` is above 3.
    #[must_use]
    pub const fn with_flush_type(self, flush_type: u8) -> Self {
        assert!(flush_type <= 3, "a flush type has two bits");
        Self(self.without(Self::FLUSH_TYPE).0 | (flush_type as u32) << Self::FLUSH_TYPE_SHIFT)
    }
}

/// Part of a page that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// There is no such tag.
    #[error("tag {tag} of {count}")]
    NoTag {
        /// The requested tag.
        tag: usize,
        /// Number of tags.
        count: usize,
    },
    /// The tag points outside the page's body.
    #[error("tag {tag} points outside the page")]
    ItemOutside { tag: usize },
    /// The item is too short for its lengths.
    #[error("the key of tag {tag} is longer than its item")]
    KeyOutside { tag: usize },
    /// The node takes more from the prefix than it has.
    #[error("tag {tag} takes more of the page's prefix than there is")]
    PrefixOutside { tag: usize },
    /// The item is not a space header.
    #[error("a space header of {bytes} bytes")]
    SpaceHeader {
        /// Its length.
        bytes: usize,
    },
}

/// A tag, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Start of the item, from the end of the header.
    pub offset: usize,
    /// Length of the item.
    pub size: usize,
    /// The node flags; small pages only, none on large ones.
    pub flags: NodeFlags,
}

/// A page's bytes, read as a page. Copying copies the reference.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    bytes: &'a [u8],
    size: PageSize,
}

impl<'a> Page<'a> {
    /// Reads `bytes` as a page.
    ///
    /// # Panics
    /// When their number is not `size`.
    pub fn new(bytes: &'a [u8], size: PageSize) -> Self {
        assert_eq!(bytes.len(), size.bytes(), "a page of {size}");
        Self { bytes, size }
    }

    /// The page's bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    pub fn size(self) -> PageSize {
        self.size
    }

    /// Database time of the last change.
    pub fn database_time(self) -> DatabaseTime {
        DatabaseTime(u64_at(self.bytes, DATABASE_TIME_AT))
    }

    /// The page before this one at the leaf level.
    pub fn previous(self) -> PageNumber {
        PageNumber(u32_at(self.bytes, PREVIOUS_AT))
    }

    /// The page after this one at the leaf level.
    pub fn next(self) -> PageNumber {
        PageNumber(u32_at(self.bytes, NEXT_AT))
    }

    /// The tree of the page.
    pub fn object(self) -> ObjectId {
        ObjectId(u32_at(self.bytes, OBJECT_AT))
    }

    /// Free bytes.
    pub fn free(self) -> usize {
        u16_at(self.bytes, FREE_AT).into()
    }

    /// Free bytes that an open transaction may need again.
    pub fn uncommitted_free(self) -> usize {
        u16_at(self.bytes, UNCOMMITTED_FREE_AT).into()
    }

    /// The first free byte after the last item, from the end of the header.
    pub fn first_free(self) -> usize {
        u16_at(self.bytes, FIRST_FREE_AT).into()
    }

    /// The number of tags, tag 0 included.
    pub fn tag_count(self) -> usize {
        (u16_at(self.bytes, TAG_COUNT_AT) & TAG_COUNT_MASK).into()
    }

    pub fn flags(self) -> PageFlags {
        PageFlags(u32_at(self.bytes, FLAGS_AT))
    }

    /// The page's own number, which only large pages store.
    pub fn number(self) -> Option<PageNumber> {
        let large = self.size.is_large();
        large.then(|| PageNumber(u32_at(self.bytes, NUMBER_AT)))
    }

    /// Tag `index`.
    ///
    /// # Errors
    /// [`PageError::NoTag`] when the index is out of range, or the page has no room for this many
    /// tags.
    #[inline]
    pub fn tag(self, index: usize) -> Result<Tag, PageError> {
        let count = self.tag_count();
        if index >= count || TAG_BYTES * (index + 1) > body_bytes(self.size) {
            return Err(PageError::NoTag { tag: index, count });
        }
        let at = tag_at(self.size, index);
        let (size, offset) = (u16_at(self.bytes, at), u16_at(self.bytes, at + 2));
        let flags = match self.size.is_large() {
            true => NodeFlags::NONE,
            false => NodeFlags::of_word(offset),
        };
        let mask = tag_mask(self.size);
        Ok(Tag { offset: (offset & mask).into(), size: (size & mask).into(), flags })
    }

    /// The bytes of tag `index`'s item; on large pages they include the flags.
    ///
    /// # Errors
    /// [`PageError::NoTag`], [`PageError::ItemOutside`].
    #[inline]
    pub fn item(self, index: usize) -> Result<&'a [u8], PageError> {
        let tag = self.tag(index)?;
        if tag.size == 0 {
            return Ok(&[]);
        }
        let body = &self.bytes[header_bytes(self.size)..];
        body.get(tag.offset..tag.offset + tag.size).ok_or(PageError::ItemOutside { tag: index })
    }

    /// The prefix that keys of the page's nodes may share; empty on a root page.
    ///
    /// # Errors
    /// Those of [`Self::item`] for tag 0.
    #[inline]
    pub fn prefix(self) -> Result<&'a [u8], PageError> {
        if self.flags().has(PageFlags::ROOT) { Ok(&[]) } else { self.item(0) }
    }

    /// The space header of a table's, index's or long-value tree's root page.
    ///
    /// # Errors
    /// Those of [`Self::item`] for tag 0; [`PageError::SpaceHeader`] when it is not one.
    pub fn space_header(self) -> Result<SpaceHeader, PageError> {
        let item = self.item(0)?;
        SpaceHeader::from_bytes(item).ok_or(PageError::SpaceHeader { bytes: item.len() })
    }

    /// The number of nodes.
    pub fn node_count(self) -> usize {
        self.tag_count().saturating_sub(1)
    }

    /// Node `index`, counted from 0: the item of tag `index + 1`.
    ///
    /// # Errors
    /// Those of [`Self::item`]; [`PageError::KeyOutside`], [`PageError::PrefixOutside`].
    #[inline]
    pub fn node(self, index: usize) -> Result<Node<'a>, PageError> {
        self.node_with(index, self.prefix()?)
    }

    /// As [`Self::node`], with the page's `prefix` known.
    ///
    /// # Errors
    /// Those of [`Self::node`].
    #[inline]
    pub(crate) fn node_with(self, index: usize, prefix: &'a [u8]) -> Result<Node<'a>, PageError> {
        let tag = index + 1;
        let item = self.item(tag)?;
        let flags = match self.size.is_large() {
            true => NodeFlags::of_item(item),
            false => self.tag(tag)?.flags,
        };
        Node::decode(item, flags, prefix, tag)
    }

    /// The nodes in key order.
    pub fn nodes(self) -> impl Iterator<Item = Result<Node<'a>, PageError>> {
        (0..self.node_count()).map(move |index| self.node(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::page_builder::PageBuilder;

    #[test]
    fn the_sizes_are_the_published_ones() {
        let sizes = PageSize::ALL.map(|size| (body_bytes(size) - TAG_BYTES, node_bytes_max(size)));
        assert_eq!(sizes, [(4052, 4048), (8148, 8144), (16300, 16296), (32684, 32680)]);
    }

    #[test]
    fn flush_types_take_two_bits_and_leave_the_rest() {
        let flags = PageFlags(0x2803);
        for flush_type in 0..4 {
            let with = flags.with_flush_type(flush_type);
            assert_eq!(with.flush_type(), flush_type);
            assert_eq!(with.without(PageFlags::FLUSH_TYPE), flags);
        }
        assert_eq!(flags.with_flush_type(1).0, 0xA803);
    }

    #[test]
    fn header_fields_and_nodes_are_read_back() {
        for size in PageSize::ALL {
            let mut builder = PageBuilder::new(size, ObjectId(8));
            builder.flags = PageFlags::ALWAYS.with(PageFlags::LEAF);
            builder.header = b"prefix".to_vec();
            builder.previous = PageNumber(3);
            builder.next = PageNumber(5);
            builder.push(b"pr", b"first");
            builder.push(b"prefixed", b"second");
            builder.push(b"z", b"third");
            let bytes = builder.seal(PageNumber(4));
            let page = Page::new(&bytes, size);
            assert_eq!((page.previous().0, page.next().0), (3, 5));
            assert_eq!((page.object(), page.tag_count()), (ObjectId(8), 4));
            assert_eq!(page.number(), size.is_large().then_some(PageNumber(4)));
            let nodes = page.nodes().collect::<Result<Vec<_>, _>>().unwrap();
            let pairs: Vec<_> = nodes.iter().map(|node| (node.key.to_vec(), node.data)).collect();
            assert_eq!(pairs[0], (b"pr".to_vec(), &b"first"[..]));
            assert_eq!(pairs[1], (b"prefixed".to_vec(), &b"second"[..]));
            assert_eq!(pairs[2], (b"z".to_vec(), &b"third"[..]));
            assert!(nodes[1].flags.has(NodeFlags::COMPRESSED));
            assert!(!nodes[0].flags.has(NodeFlags::COMPRESSED), "two bytes save nothing");
            assert_eq!(page.check(), Ok(()));
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let mut random = brunt_world::random::Streams::new(4).named("pages");
        for size in PageSize::ALL {
            let mut bytes = vec![0; size.bytes()];
            for _ in 0..200 {
                random.fill(&mut bytes);
                let page = Page::new(&bytes, size);
                let _ = page.space_header();
                let _ = page.check();
                let readable = page.nodes().filter(Result::is_ok).count();
                assert!(readable <= page.node_count());
            }
        }
    }
}
