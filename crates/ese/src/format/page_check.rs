//! Rules within one page, whatever its tree.
//!
//! The checksum proves that the bytes are as written; this proves that they form a page. The rules
//! are those that a genuine engine applies to each page it reads, and two that a tree relies on:
//! nodes ascend, and a branch node's data is a page number.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/cpage.cxx (`CPAGE::ErrCheckPage`).

use std::cmp::Ordering;

use super::node::Node;
use super::page::{Page, PageError, PageFlags, TAG_BYTES, body_bytes};

/// A rule that a page violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageProblem {
    /// A page in use has no tag 0.
    #[error("no tags")]
    NoTags,
    /// The tags alone are larger than the page.
    #[error("{count} tags do not fit")]
    TooManyTags {
        /// Number of tags according to the page.
        count: usize,
    },
    /// More free bytes than the page has, or more uncommitted ones than free ones.
    #[error("{free} free and {uncommitted} uncommitted free bytes")]
    Free {
        /// Free bytes, as stored.
        free: usize,
        /// Uncommitted free bytes, as stored.
        uncommitted: usize,
    },
    /// The first free byte is among the tags.
    #[error("first free byte {first_free} lies among the tags")]
    FirstFree {
        /// Its value, as stored.
        first_free: usize,
    },
    /// Items, tags and free bytes do not add up to the page.
    #[error("{used} used and {free} free bytes do not make {body}")]
    Sum {
        /// Bytes of items and tags.
        used: usize,
        /// Free bytes, as stored.
        free: usize,
        /// What they should add up to.
        body: usize,
    },
    /// An item extends past the first free byte.
    #[error("tag {tag} reaches past the first free byte")]
    PastFirstFree { tag: usize },
    /// Two items share bytes.
    #[error("tag {tag} overlaps another")]
    Overlap {
        /// The later of the two.
        tag: usize,
    },
    /// A node without bytes.
    #[error("tag {tag} is empty")]
    EmptyItem { tag: usize },
    /// A node cannot be read.
    #[error(transparent)]
    Unreadable(#[from] PageError),
    /// An empty key, which only the last node of a branch page may have.
    #[error("tag {tag} has no key")]
    EmptyKey { tag: usize },
    /// A node without data.
    #[error("tag {tag} has no data")]
    NoData { tag: usize },
    /// A branch node whose data is not a page number.
    #[error("tag {tag} does not name a child page")]
    NoChild { tag: usize },
    /// A node that is not above the one before it.
    #[error("tag {tag} is out of order")]
    Order { tag: usize },
    /// Flags that exclude each other, or that no engine accepts.
    #[error("flags {flags:#x}")]
    Flags { flags: u32 },
}

impl Page<'_> {
    /// Checks the rules of a page.
    ///
    /// A page marked empty or pre-initialised may have no tags; then nothing else is checked.
    ///
    /// # Errors
    /// The first violated rule.
    pub fn check(self) -> Result<(), PageProblem> {
        let flags = self.flags();
        let both = PageFlags::INDEX.with(PageFlags::LONG_VALUE);
        if flags.has(PageFlags::REPAIRED) || flags.has(both) {
            return Err(PageProblem::Flags { flags: flags.0 });
        }
        let unused = flags.has(PageFlags::EMPTY) || flags.has(PageFlags::PREINITIALISED);
        match self.tag_count() {
            0 if unused => Ok(()),
            0 => Err(PageProblem::NoTags),
            _ => {
                self.check_space()?;
                self.check_items()?;
                self.check_nodes()
            }
        }
    }

    /// Checks that the page's counts agree and its items are within it: the precondition for
    /// editing it. Does not read nodes, so it is cheap enough for every page that is read.
    ///
    /// # Errors
    /// The first violated rule of [`Self::check`] among these.
    pub fn check_frame(self) -> Result<(), PageProblem> {
        let flags = self.flags();
        let unused = flags.has(PageFlags::EMPTY) || flags.has(PageFlags::PREINITIALISED);
        match self.tag_count() {
            0 if unused => return Ok(()),
            0 => return Err(PageProblem::NoTags),
            _ => self.check_space()?,
        }
        let end = self.first_free();
        for index in 0..self.tag_count() {
            let tag = self.tag(index)?;
            if tag.offset + tag.size > end {
                return Err(PageProblem::PastFirstFree { tag: index });
            }
            if tag.size == 0 && index > 0 {
                return Err(PageProblem::EmptyItem { tag: index });
            }
        }
        Ok(())
    }

    /// Checks the counts in the header against each other.
    fn check_space(self) -> Result<(), PageProblem> {
        let count = self.tag_count();
        let body = body_bytes(self.size());
        let room = body.checked_sub(TAG_BYTES * count).ok_or(PageProblem::TooManyTags { count })?;
        let (free, uncommitted) = (self.free(), self.uncommitted_free());
        if free > room || uncommitted > free {
            return Err(PageProblem::Free { free, uncommitted });
        }
        let first_free = self.first_free();
        if first_free > room {
            return Err(PageProblem::FirstFree { first_free });
        }
        let mut used = TAG_BYTES * count;
        for tag in 0..count {
            used += self.tag(tag)?.size;
        }
        if used + free != body {
            return Err(PageProblem::Sum { used, free, body });
        }
        Ok(())
    }

    /// Checks the positions of the items.
    fn check_items(self) -> Result<(), PageProblem> {
        let mut places = Vec::with_capacity(self.tag_count());
        for index in 0..self.tag_count() {
            let tag = self.tag(index)?;
            if tag.size == 0 {
                if index > 0 {
                    return Err(PageProblem::EmptyItem { tag: index });
                }
                continue;
            }
            if tag.offset + tag.size > self.first_free() {
                return Err(PageProblem::PastFirstFree { tag: index });
            }
            places.push((tag.offset, tag.size, index));
        }
        places.sort_unstable();
        for pair in places.windows(2) {
            let ((offset, size, _), (next, _, tag)) = (pair[0], pair[1]);
            if offset + size > next {
                return Err(PageProblem::Overlap { tag });
            }
        }
        Ok(())
    }

    /// Checks each node and their order.
    fn check_nodes(self) -> Result<(), PageProblem> {
        let flags = self.flags();
        let leaf = flags.has(PageFlags::LEAF);
        let mut before: Option<Node<'_>> = None;
        for index in 0..self.node_count() {
            let tag = index + 1;
            let node = self.node(index)?;
            let last = tag == self.node_count();
            if node.key.is_empty() && (leaf || !last) {
                return Err(PageProblem::EmptyKey { tag });
            }
            if node.data.is_empty() {
                return Err(PageProblem::NoData { tag });
            }
            if !leaf && node.child().is_none() {
                return Err(PageProblem::NoChild { tag });
            }
            let by_data = leaf && flags.has(PageFlags::NON_UNIQUE);
            // An empty key on a branch page is above everything.
            if let Some(before) = before.filter(|_| !node.key.is_empty())
                && !ascends(&before, &node, by_data)
            {
                return Err(PageProblem::Order { tag });
            }
            before = Some(node);
        }
        Ok(())
    }
}

/// Whether `node` is above `before`, by key, and by data if keys are not unique.
fn ascends(before: &Node<'_>, node: &Node<'_>, by_data: bool) -> bool {
    match before.key.compare_key(node.key) {
        Ordering::Less => true,
        Ordering::Equal => by_data && before.data < node.data,
        Ordering::Greater => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::{put_u16, u16_at};
    use super::super::page::{FIRST_FREE_AT, FREE_AT, ObjectId, TAG_COUNT_AT, tag_at};
    use super::super::page_builder::PageBuilder;
    use super::*;
    use brunt_units::{PageNumber, PageSize};

    fn leaf() -> PageBuilder {
        let mut builder = PageBuilder::new(PageSize::KIB_4, ObjectId(8));
        builder.flags = PageFlags::ALWAYS.with(PageFlags::LEAF);
        builder.push(b"a", b"1");
        builder.push(b"b", b"2");
        builder
    }

    fn damaged(damage: impl FnOnce(&mut Vec<u8>)) -> Result<(), PageProblem> {
        let mut bytes = leaf().seal(PageNumber(4));
        damage(&mut bytes);
        Page::new(&bytes, PageSize::KIB_4).check()
    }

    #[test]
    fn each_rule_is_found_broken() {
        let tag = |index| tag_at(PageSize::KIB_4, index);
        assert_eq!(damaged(|_| ()), Ok(()));
        assert_eq!(damaged(|page| put_u16(page, TAG_COUNT_AT, 0)), Err(PageProblem::NoTags));
        assert_eq!(
            damaged(|page| put_u16(page, TAG_COUNT_AT, 0xFFF)),
            Err(PageProblem::TooManyTags { count: 0xFFF })
        );
        assert!(matches!(
            damaged(|page| put_u16(page, FREE_AT, 4090)),
            Err(PageProblem::Free { .. })
        ));
        assert!(matches!(
            damaged(|page| put_u16(page, FREE_AT, 17)),
            Err(PageProblem::Sum { free: 17, .. })
        ));
        assert!(matches!(
            damaged(|page| put_u16(page, FIRST_FREE_AT, 4056)),
            Err(PageProblem::FirstFree { first_free: 4056 })
        ));
        assert_eq!(
            damaged(|page| put_u16(page, FIRST_FREE_AT, 5)),
            Err(PageProblem::PastFirstFree { tag: 2 })
        );
        assert_eq!(
            damaged(|page| put_u16(page, tag(2) + 2, 2)),
            Err(PageProblem::Overlap { tag: 2 })
        );
        assert_eq!(
            damaged(|page| page[40] = 9),
            Err(PageProblem::Unreadable(PageError::KeyOutside { tag: 1 }))
        );
        assert_eq!(damaged(|page| page[40] = 0), Err(PageProblem::EmptyKey { tag: 1 }));
        assert_eq!(damaged(|page| page[40] = 2), Err(PageProblem::NoData { tag: 1 }));
        assert_eq!(damaged(|page| page[42] = b'b'), Err(PageProblem::Order { tag: 2 }));
        assert_eq!(damaged(|page| page[36] = 0xC2), Err(PageProblem::Flags { flags: 0x28C2 }));
        assert_eq!(damaged(|page| page[36] = 0), Err(PageProblem::NoChild { tag: 1 }));
    }

    #[test]
    fn an_item_without_bytes_is_found() {
        let result = damaged(|page| {
            let size = u16_at(page, tag_at(PageSize::KIB_4, 1));
            let free = u16_at(page, FREE_AT);
            put_u16(page, tag_at(PageSize::KIB_4, 1), 0);
            put_u16(page, FREE_AT, free + size);
        });
        assert_eq!(result, Err(PageProblem::EmptyItem { tag: 1 }));
    }

    #[test]
    fn keys_may_repeat_where_data_ascends() {
        let mut builder = leaf();
        builder.push(b"b", b"3");
        let unique = builder.seal(PageNumber(4));
        let page = Page::new(&unique, PageSize::KIB_4);
        assert_eq!(page.check(), Err(PageProblem::Order { tag: 3 }));
        builder.flags = builder.flags.with(PageFlags::NON_UNIQUE);
        let repeated = builder.seal(PageNumber(4));
        assert_eq!(Page::new(&repeated, PageSize::KIB_4).check(), Ok(()));
    }

    #[test]
    fn the_last_branch_node_may_have_no_key() {
        let mut builder = PageBuilder::new(PageSize::KIB_32, ObjectId(8));
        builder.push(b"m", &5_u32.to_le_bytes());
        builder.push(b"", &6_u32.to_le_bytes());
        let bytes = builder.seal(PageNumber(4));
        assert_eq!(Page::new(&bytes, PageSize::KIB_32).check(), Ok(()));
        let mut builder = PageBuilder::new(PageSize::KIB_32, ObjectId(8));
        builder.push(b"", &5_u32.to_le_bytes());
        builder.push(b"m", &6_u32.to_le_bytes());
        let bytes = builder.seal(PageNumber(4));
        assert_eq!(
            Page::new(&bytes, PageSize::KIB_32).check(),
            Err(PageProblem::EmptyKey { tag: 1 })
        );
    }
}
