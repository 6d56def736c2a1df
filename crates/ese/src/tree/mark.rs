//! Marking entries deleted, and clearing the mark.
//!
//! A delete only marks: the bytes stay, so that undoing it needs no room. The entry is removed when
//! it can no longer be undone.

use super::{TreeId, descend};
use crate::format::node::NodeFlags;
use crate::page::{Change, Need, Pages};

/// Outcome of setting or clearing a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkOutcome {
    /// The mark was set or cleared.
    Changed,
    /// It already was; nothing was changed.
    Unchanged,
    /// There is no such entry.
    NotFound,
}

/// Marks the entry with this sort key deleted.
///
/// # Errors
/// [`Need::Page`], [`Need::Repair`].
pub fn mark_deleted<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
) -> Result<MarkOutcome, Need> {
    set_mark(change, tree, key, true)
}

/// Clears the deletion mark of the entry with this sort key.
///
/// # Errors
/// [`Need::Page`], [`Need::Repair`].
pub fn clear_deleted<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
) -> Result<MarkOutcome, Need> {
    set_mark(change, tree, key, false)
}

fn set_mark<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
    deleted: bool,
) -> Result<MarkOutcome, Need> {
    let descent = descend(change.pages(), tree, key)?;
    if !descent.exact {
        return Ok(MarkOutcome::NotFound);
    }
    if descent.deleted == deleted {
        return Ok(MarkOutcome::Unchanged);
    }
    let leaf = descent.leaf();
    let flags = change.page(leaf.page)?.node(leaf.index);
    let flags = flags.map_err(|_| Need::Repair(leaf.page))?.flags;
    let flags = match deleted {
        true => flags.with(NodeFlags::DELETED),
        false => flags.without(NodeFlags::DELETED),
    };
    change.edit(leaf.page).set_node_flags(leaf.index, flags);
    Ok(MarkOutcome::Changed)
}
