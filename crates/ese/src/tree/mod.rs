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
//! A separator is above everything in its child and not above anything in the next child. Entries
//! of a unique tree are ordered by key; entries of a non-unique tree by key and data concatenated.
//! No normalised key of an index is a prefix of another, so that is the same as ordering by key and
//! then by data.
//!
//! Everything here is synchronous and works on pages in memory. If something is missing, the call
//! ends with a [`Need`](crate::page::Need) before anything was changed; the caller provides it and
//! calls again. Each call makes at most one change. If it has to make room first, that is its
//! change, and it returns [`Step::Again`]; the tree is valid in between.
//!
//! * Looking: [`seek`], [`Cursor`].
//! * Changing: [`insert`], [`replace`], [`revive`], [`mark_deleted`], [`clear_deleted`],
//!   [`remove`], [`shrink`].
//! * Pure: [`split_point`], where pages are split.
//! * All at once: [`bulk`] builds trees from ordered entries, [`check`] verifies whole trees.

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

/// Identifies a tree: its root, which never moves, and the object id of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId {
    pub root: PageNumber,
    pub object: ObjectId,
}

impl TreeId {
    /// The tree that owns a whole database; it has no nodes, only space.
    pub const DATABASE: Self = Self { root: PageNumber(1), object: ObjectId(1) };
}

/// Outcome of a call that may have to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step<T> {
    /// The requested change is done.
    Done(T),
    /// This change only made room: a split, or an extent from the parent. Finish it and call again.
    Again,
}

/// A tree, and the tree whose free pages it uses: itself, or for a space tree the tree it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) tree: TreeId,
    pub(crate) owner: TreeId,
}

impl Site {
    pub(crate) fn ordinary(tree: TreeId) -> Self {
        Self { tree, owner: tree }
    }

    /// Whether this is a space tree.
    pub(crate) fn is_space(self) -> bool {
        self.tree.root != self.owner.root
    }
}

/// Maximum length of a key, or of key and data together in a tree with non-unique keys.
///
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/jethdr.w (`JET_cbKeyMost` of
/// each page size).
pub fn key_bytes_max(size: PageSize) -> usize {
    if size == PageSize::KIB_4 { 1000 } else { 2000 }
}
