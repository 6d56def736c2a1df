//! Page ownership: the space header of a root page, and the extents in its two space trees.
//!
//! ```text
//!    space header, 16 bytes, tag 0 of every table's, index's and long-value tree's root
//!     0  4  pages of the first extent, or of the last one with flag 4
//!     4  4  root page of the tree that space comes from (1 for tables, the table for its indexes; 0 on page 1)
//!     8  4  flags: 1 extents in trees, 2 keys are not unique, 4 second version
//!    12  4  with flag 1: root of the owned-extents tree (the available-extents tree has the page after it)
//!           without: a bit for each of the 32 pages after the root, set when free
//!
//!    extent node                   key u32 big-endian last page, data u32 number of pages
//!    extent node, pooled           key 0x80 | pool, then as above (newer engines, available extents only)
//! ```
//!
//! Newer engines may put the space header into a longer item: a byte of flags (1 = space header
//! present, 2 = auto-increment present), then the 16 bytes, then a u64. We read that form but never
//! write it.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/_space.hxx and
//! dev/ese/src/ese/space.cxx.

use brunt_units::PageNumber;

use super::field::{put_u32, u32_at};
use super::node::Key;

pub const SPACE_HEADER_BYTES: usize = 16;

/// Bytes of tag 0 on the root of a space tree: pages reserved for its splits. All zeros is normal.
pub const SPLIT_BUFFER_BYTES: usize = 16;

/// Maximum pages after the root of a tree without space trees.
pub const SINGLE_EXTENT_PAGES_MAX: u32 = 32;

const MULTIPLE: u32 = 1;
const NON_UNIQUE: u32 = 2;
const SECOND_VERSION: u32 = 4;

/// Where a tree's free pages are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceKind {
    /// One extent, directly after the root: bit `i` of the map is set when page `root + 1 + i` is
    /// free.
    Single {
        /// The map.
        free: u32,
    },
    /// Two trees of extents; the available-extents root is the page after the owned-extents root.
    Multiple {
        /// Root of the owned-extents tree.
        owned_root: PageNumber,
    },
}

/// The space header of a root page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceHeader {
    /// Pages of the first extent, or of the last allocation when [`Self::second_version`] is set.
    pub pages: u32,
    /// Root page of the tree that space comes from; [`PageNumber::NONE`] on page 1.
    pub parent: PageNumber,
    /// Whether the tree's keys are not unique.
    pub non_unique: bool,
    /// Whether `pages` means the last allocation.
    pub second_version: bool,
    /// Where free pages are recorded.
    pub kind: SpaceKind,
}

impl SpaceHeader {
    /// Decodes tag 0 of a root page: 16 bytes, or the longer form of newer engines. `None` for
    /// anything else.
    pub fn from_bytes(item: &[u8]) -> Option<Self> {
        let header = match item {
            [mask, rest @ ..] if item.len() != SPACE_HEADER_BYTES && mask & 1 == 1 => {
                rest.get(..SPACE_HEADER_BYTES)?
            }
            _ if item.len() == SPACE_HEADER_BYTES => item,
            _ => return None,
        };
        let flags = u32_at(header, 8);
        let last = u32_at(header, 12);
        Some(Self {
            pages: u32_at(header, 0),
            parent: PageNumber(u32_at(header, 4)),
            non_unique: flags & NON_UNIQUE != 0,
            second_version: flags & SECOND_VERSION != 0,
            kind: match flags & MULTIPLE {
                0 => SpaceKind::Single { free: last },
                _ => SpaceKind::Multiple { owned_root: PageNumber(last) },
            },
        })
    }

    /// The 16 bytes of tag 0.
    pub fn to_bytes(self) -> [u8; SPACE_HEADER_BYTES] {
        let (multiple, last) = match self.kind {
            SpaceKind::Single { free } => (0, free),
            SpaceKind::Multiple { owned_root } => (MULTIPLE, owned_root.0),
        };
        let flags = multiple
            | if self.non_unique { NON_UNIQUE } else { 0 }
            | if self.second_version { SECOND_VERSION } else { 0 };
        let mut bytes = [0; SPACE_HEADER_BYTES];
        for (at, value) in [(0, self.pages), (4, self.parent.0), (8, flags), (12, last)] {
            put_u32(&mut bytes, at, value);
        }
        bytes
    }

    /// Root of the owned-extents tree, if there is one.
    pub fn owned_root(self) -> Option<PageNumber> {
        match self.kind {
            SpaceKind::Single { .. } => None,
            SpaceKind::Multiple { owned_root } => Some(owned_root),
        }
    }
}

/// A run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    pub last: PageNumber,
    /// Number of pages.
    pub pages: u32,
}

impl Extent {
    /// The run of `pages` pages that starts with `first`.
    ///
    /// # Panics
    /// When `pages` is 0, or the last page number exceeds 32 bits.
    pub fn starting_at(first: PageNumber, pages: u32) -> Self {
        assert!(pages > 0, "an extent has pages");
        Self { last: first.after(pages - 1), pages }
    }

    /// The first page, which exists for any extent read by [`Self::from_node`].
    pub fn first(self) -> PageNumber {
        PageNumber(self.last.0 - self.pages + 1)
    }

    /// Whether the extent contains `page`.
    pub fn contains(self, page: PageNumber) -> bool {
        self.first() <= page && page <= self.last
    }

    /// Decodes a leaf node of a space tree. `None` when it is not one, has no pages or starts
    /// before page 1.
    pub fn from_node(key: Key<'_>, data: &[u8]) -> Option<Self> {
        let key = key.to_vec();
        let last = match key.as_slice() {
            [pool, last @ ..] if key.len() == 5 && pool & 0x80 != 0 => last,
            last => last,
        };
        let last = u32::from_be_bytes(last.try_into().ok()?);
        let pages = u32::from_le_bytes(data.try_into().ok()?);
        let sensible = pages > 0 && pages <= last;
        sensible.then_some(Self { last: PageNumber(last), pages })
    }

    /// The key of the extent's node.
    pub fn key(self) -> [u8; 4] {
        self.last.0.to_be_bytes()
    }

    /// The data of the extent's node.
    pub fn data(self) -> [u8; 4] {
        self.pages.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_headers_come_back() {
        for kind in
            [SpaceKind::Single { free: 0b101 }, SpaceKind::Multiple { owned_root: PageNumber(5) }]
        {
            let header = SpaceHeader {
                pages: 20,
                parent: PageNumber(1),
                non_unique: true,
                second_version: false,
                kind,
            };
            assert_eq!(SpaceHeader::from_bytes(&header.to_bytes()), Some(header));
            let mut long = vec![3];
            long.extend(header.to_bytes());
            long.extend([0; 8]);
            assert_eq!(SpaceHeader::from_bytes(&long), Some(header));
        }
        assert_eq!(SpaceHeader::from_bytes(&[0; 15]), None);
    }

    #[test]
    fn the_first_extension_of_a_database() {
        let extent = Extent::starting_at(PageNumber(1), 254);
        assert_eq!(extent.key(), [0, 0, 0, 0xFE]);
        assert_eq!(extent.data(), [0xFE, 0, 0, 0]);
        let read = Extent::from_node(Key::whole(&extent.key()), &extent.data());
        assert_eq!(read, Some(extent));
        assert_eq!(extent.first(), PageNumber(1));
        assert!(extent.contains(PageNumber(254)) && !extent.contains(PageNumber(255)));
    }

    #[test]
    fn an_extent_that_begins_before_page_one_is_refused() {
        let read = |last: u32, pages: u32| {
            Extent::from_node(Key::whole(&last.to_be_bytes()), &pages.to_le_bytes())
        };
        assert_eq!(read(5, 6), None);
        assert_eq!(read(5, 0), None);
        assert!(read(5, 5).is_some());
        assert_eq!(Extent::from_node(Key::whole(&[0; 3]), &[1, 0, 0, 0]), None);
    }

    #[test]
    fn a_pooled_key_names_the_same_pages() {
        let read = Extent::from_node(Key::whole(&[0x81, 0, 0, 1, 0]), &[16, 0, 0, 0]);
        assert_eq!(read, Some(Extent::starting_at(PageNumber(241), 16)));
    }
}
