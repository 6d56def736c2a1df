//! Inserting and replacing entries in leaves.

use super::claimed::Claimed;
use super::split::{Edit, make_room, room_for};
use super::{Site, Step, TreeId, descend, key_bytes_max, load, order};
use crate::format::page::{PageFlags, TAG_BYTES, node_bytes_max};
use crate::page::{Change, Need, Pages, node_cost};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOutcome {
    /// The entry is in the tree.
    Inserted,
    /// The key exists (key and data, in a tree with non-unique keys). Nothing was changed.
    Duplicate,
    /// The key exists, marked deleted; [`revive`] or [`super::clear_deleted`] may use the entry.
    /// Nothing was changed.
    Deleted,
}

/// Outcome of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceOutcome {
    /// The entry has its new data and is not marked.
    Replaced,
    /// The entry is marked deleted, or for [`revive`] is not. Nothing was changed.
    Marked(bool),
    /// There is no such entry.
    NotFound,
}

/// Inserts an entry.
///
/// # Errors
/// [`Need`], of any kind.
///
/// # Panics
/// When the key is empty or longer than [`key_bytes_max`], the data is empty, or both exceed a
/// page. In a tree with non-unique keys, a key that is too long only together with its data is
/// [`Need::Repair`].
pub fn insert<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
    data: &[u8],
) -> Result<Step<InsertOutcome>, Need> {
    insert_at(change, Site::ordinary(tree), key, data)
}

pub(crate) fn insert_at<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    key: &[u8],
    data: &[u8],
) -> Result<Step<InsertOutcome>, Need> {
    let root = load(change.pages(), site.tree, site.tree.root)?;
    let by_data = root.flags().has(PageFlags::NON_UNIQUE);
    let target = order::sort_key(key, data, by_data);
    let longest = key_bytes_max(root.size());
    assert!(!key.is_empty() && key.len() <= longest, "a key of {} bytes", key.len());
    if target.len() > longest {
        // The data is not part of the key, whatever the root says.
        return Err(Need::Repair(site.tree.root));
    }
    assert_size(change, key, data);
    let descent = descend(change.pages(), site.tree, &target)?;
    if descent.exact {
        return Ok(Step::Done(match descent.deleted {
            true => InsertOutcome::Deleted,
            false => InsertOutcome::Duplicate,
        }));
    }
    let leaf = descent.leaf();
    let page = load(change.pages(), site.tree, leaf.page)?;
    let claimed = Claimed::on(change, site.tree, page, leaf.page)?;
    if room_for(page, claimed.all(), key, data) {
        change.edit(leaf.page).insert(leaf.index, key, data);
        return Ok(Step::Done(InsertOutcome::Inserted));
    }
    let edit = Edit { index: leaf.index, replaces: false, key, data };
    Ok(match make_room(change, site, &descent.path, edit)? {
        Step::Done(()) => Step::Done(InsertOutcome::Inserted),
        Step::Again => Step::Again,
    })
}

/// Replaces the data of the entry with this key.
///
/// # Errors
/// [`Need`], of any kind.
///
/// # Panics
/// Like [`insert`] for the data. In a tree with non-unique keys the data is part of the order:
/// [`Need::Repair`].
pub fn replace<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
    data: &[u8],
) -> Result<Step<ReplaceOutcome>, Need> {
    replace_where(change, tree, key, data, false)
}

/// Replaces the data of the entry with this key, which is marked deleted, and clears the mark.
///
/// # Errors
/// [`Need`], of any kind.
///
/// # Panics
/// Like [`replace`].
pub fn revive<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
    data: &[u8],
) -> Result<Step<ReplaceOutcome>, Need> {
    replace_where(change, tree, key, data, true)
}

fn replace_where<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
    data: &[u8],
    deleted: bool,
) -> Result<Step<ReplaceOutcome>, Need> {
    assert_size(change, key, data);
    let descent = descend(change.pages(), tree, key)?;
    let leaf = descent.leaf();
    let page = load(change.pages(), tree, leaf.page)?;
    if page.flags().has(PageFlags::NON_UNIQUE) {
        // Data that orders entries is never replaced, so the flag is wrong.
        return Err(Need::Repair(leaf.page));
    }
    if !descent.exact {
        return Ok(Step::Done(ReplaceOutcome::NotFound));
    }
    if descent.deleted != deleted {
        return Ok(Step::Done(ReplaceOutcome::Marked(descent.deleted)));
    }
    let old = page.item(leaf.index + 1);
    let old = old.map_err(|_| Need::Repair(leaf.page))?.len() + TAG_BYTES;
    let claimed = Claimed::on(change, tree, page, leaf.page)?;
    let of_others = claimed.all() - claimed.by(leaf.index);
    if node_cost(key, data) + of_others <= page.free() + old {
        change.edit(leaf.page).replace(leaf.index, key, data);
        return Ok(Step::Done(ReplaceOutcome::Replaced));
    }
    let edit = Edit { index: leaf.index, replaces: true, key, data };
    Ok(match make_room(change, Site::ordinary(tree), &descent.path, edit)? {
        Step::Done(()) => Step::Done(ReplaceOutcome::Replaced),
        Step::Again => Step::Again,
    })
}

fn assert_size<P: Pages>(change: &Change<'_, P>, key: &[u8], data: &[u8]) {
    let most = node_bytes_max(change.pages().page_size()) + TAG_BYTES;
    assert!(
        !data.is_empty() && node_cost(key, data) <= most,
        "an entry of {} + {} bytes",
        key.len(),
        data.len()
    );
}
