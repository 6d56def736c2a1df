//! B+trees over the pages of a database.

use brunt_units::PageNumber;

/// Names a tree: its root, which never moves, and the object id its pages carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId {
    /// The root page.
    pub root: PageNumber,
    /// The object id.
    pub object: ObjectId,
}

use crate::format::page::ObjectId;
