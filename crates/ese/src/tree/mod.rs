//! B+trees over the pages of a database.
//!
//! ```text
//!                     root (never moves; tag 0 holds the space header)
//!              [ k | q | - ]              separators; the last of a level is empty: above everything
//!             /     |      \
//!        [c | k] [o | q]  [t | -]         branch pages, no links; a last separator equals the parent's
//!         |   \   ...        |
//!        leaf=leaf=leaf=leaf=leaf         leaves, linked both ways, never without nodes
//! ```
//!
//! A separator stands above everything in its child and not above anything in the next child. In a unique tree entries are
//! ordered by key; in one that is not, by key and data put together. Normalised keys of one index never begin with one
//! another, so that is the same as by key and then by data.
//!
//! Everything here is synchronous and works on pages that are in memory. What is missing ends the call with a
//! [`Need`](crate::page::Need), before anything was changed; the caller brings it about and calls again. Each call makes
//! at most one change. When room has to be made first, that is the change this call makes, it returns [`Step::Again`], and
//! the tree is sound in between.
//!
//! * Looking: [`seek`], [`Cursor`].
//! * Changing: [`insert`], [`replace`], [`revive`], [`mark_deleted`], [`clear_deleted`], [`remove`], [`shrink`].
//! * Pure: [`split_point`], where pages are split.
//! * All at once: [`bulk`] builds trees from entries in order, [`check`] judges whole trees.

pub mod bulk;
pub mod check;
mod claimed;
mod cursor;
#[cfg(test)]
mod damage_tests;
mod find;
mod insert;
mod mark;
mod merge;
mod order;
mod remove;
mod search;
mod split;
pub mod split_point;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use cursor::{Cursor, Entry};
pub use find::{Found, orders_by_data, seek};
pub use insert::{InsertOutcome, ReplaceOutcome, insert, replace, revive};
pub use mark::{MarkOutcome, clear_deleted, mark_deleted};
pub use merge::shrink;
pub use remove::{RemoveOutcome, remove};

pub(crate) use find::{descend, levels, load, node_at};
pub(crate) use insert::insert_at;
pub(crate) use merge::shrink_at;
pub(crate) use split::split_leaf;

use brunt_units::{PageNumber, PageSize};

use crate::format::page::ObjectId;

/// Names a tree: its root, which never moves, and the object id its pages carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId {
    /// The root page.
    pub root: PageNumber,
    /// The object id.
    pub object: ObjectId,
}

impl TreeId {
    /// The tree that owns a whole database; it has no nodes, only space.
    pub const DATABASE: Self = Self {
        root: PageNumber(1),
        object: ObjectId(1),
    };
}

/// How a call that may have to make room ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step<T> {
    /// What was asked for is done, in this change.
    Done(T),
    /// This change only made room: a split, or an extent from the parent. Finish it and call again.
    Again,
}

/// A tree, and the tree whose free pages it takes: itself, unless it is one of that tree's two space trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) tree: TreeId,
    pub(crate) owner: TreeId,
}

impl Site {
    pub(crate) fn ordinary(tree: TreeId) -> Self {
        Self { tree, owner: tree }
    }

    /// Whether the tree holds another's extents.
    pub(crate) fn is_space(self) -> bool {
        self.tree.root != self.owner.root
    }
}

/// The longest key, or key and data together in a tree whose keys are not unique.
///
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/jethdr.w (`JET_cbKeyMost` of each page size).
pub fn key_bytes_max(size: PageSize) -> usize {
    if size == PageSize::KIB_4 { 1000 } else { 2000 }
}
