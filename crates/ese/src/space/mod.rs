//! Which tree owns which pages, and which of them are free.
//!
//! ```text
//!    database root (page 1)        owns every page; grows at the end of the file
//!      └ table                     owns extents from the root's free ones
//!          ├ secondary index       owns extents from the table's
//!          └ long values           owns extents from the table's
//! ```
//!
//! Each tree has two space trees: *owned extents* and, as a subset, *available extents*. A page in
//! a tree's owned extents is used by the tree, or available, or in an owned extent of a child.
//! Extents move from parent to child and stay there.
//!
//! * `reserve` and `Grant::take` give a tree one page, as part of the change that uses it.
//! * `prepare_free` and `free` take pages back, as part of the change that empties them.
//! * [`obtain`] moves an extent from the parent; [`grow`] adds one to the database.
//! * [`check`] accounts for every page.
//!
//! **Space trees split too.** Their pages come from the *split buffer*, 16 bytes in tag 0 of the
//! available-extents root that name two runs of pages. An empty buffer is first filled from the
//! available extents, as a change of its own. So a space tree never changes during its own split.
//! The last few available pages (`kept_back`) are reserved, so that the owned-extents tree has
//! pages when a new extent is to be written into it.
//!
//! Trees with a single extent and a bitmap of free pages are read, but never grown. Our files have
//! them only in two system tables that are never inserted into.

mod allocate;
mod buffer;
pub mod check;
#[cfg(test)]
mod damage_tests;
mod extents;
mod free;
mod obtain;
#[cfg(test)]
mod tests;

pub(crate) use allocate::reserve;
pub(crate) use buffer::{SplitBuffer, put_into_buffer};
pub(crate) use extents::Extents;
pub(crate) use free::{free, prepare_free};
pub use obtain::{grow, last_page, obtain};

use brunt_units::PageNumber;

use crate::format::page::{Page, PageFlags};
use crate::page::{Need, Pages};
use crate::tree::{Site, TreeId, load};

/// The smallest extent a tree obtains.
///
/// ESE's default for a secondary extent (microsoft/Extensible-Storage-Engine,
/// dev/ese/src/inc/space.hxx, `cpageSEDefault`).
pub const EXTENT_PAGES_MIN: u32 = 16;

/// The largest extent a tree obtains, so that no single growth of a file takes long.
pub const EXTENT_PAGES_MAX: u32 = 4096;

/// The extent that a tree of `owned` pages obtains: a sixty-fourth more, to keep extents few.
pub fn extent_pages(owned: u64) -> u32 {
    let wanted = owned.div_euclid(64);
    u32::try_from(wanted).unwrap_or(u32::MAX).clamp(EXTENT_PAGES_MIN, EXTENT_PAGES_MAX)
}

/// A tree's space: its two space trees and the parent that extents come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) owner: TreeId,
    pub(crate) owned: TreeId,
    pub(crate) available: TreeId,
    /// `None` for the database root.
    pub(crate) parent: Option<TreeId>,
}

impl Space {
    /// The space of `owner`.
    ///
    /// # Errors
    /// [`Need::Page`]; [`Need::Repair`] when its root has no space header with two space trees.
    pub(crate) fn of<P: Pages>(pages: &P, owner: TreeId) -> Result<Self, Need> {
        let root = load(pages, owner, owner.root)?;
        let broken = Need::Repair(owner.root);
        if root.flags().has(PageFlags::SPACE_TREE) {
            return Err(broken);
        }
        let header = root.space_header().map_err(|_| broken)?;
        // The other space tree is on the next page.
        let owned_root = header.owned_root().filter(|root| *root < pages.last());
        let owned_root = owned_root.ok_or(broken)?;
        let space_tree = |root| TreeId { root, object: owner.object };
        // A tree posing as the database root would grow the file without end, because the new pages
        // go to another tree.
        if header.parent.is_some() == (owner == TreeId::DATABASE) {
            return Err(broken);
        }
        let parent = match header.parent {
            PageNumber::NONE => None,
            root => {
                let page = Page::new(pages.resident(root)?, pages.page_size());
                let object = page.object();
                Some(TreeId { root, object })
            }
        };
        Ok(Self {
            owner,
            owned: space_tree(owned_root),
            available: space_tree(owned_root.after(1)),
            parent,
        })
    }

    pub(crate) fn owned_site(self) -> Site {
        Site { tree: self.owned, owner: self.owner }
    }

    pub(crate) fn available_site(self) -> Site {
        Site { tree: self.available, owner: self.owner }
    }
}
