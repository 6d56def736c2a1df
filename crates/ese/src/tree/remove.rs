//! Taking entries out.
//!
//! The last entry of a leaf goes together with the leaf, and with every branch page that has no other child: all in one
//! change, so that no page without nodes stands in the chain.
//!
//! ```text
//!    [.. S:P  K:R ..]  remove R  ->  [.. K:P ..]     the separator of the last child on a page stays
//!    [.. S:P  K:R ..]  remove P  ->  [.. K:R ..]
//! ```
//!
//! When R was a branch page and the last child, P's own last separators, which equal S, become K as well, on every level
//! down to the leaves.

use brunt_units::PageNumber;
use smallvec::SmallVec;

use super::find::{Visit, look_beside};
use super::split::split_branch;
use super::{Site, Step, TreeId, descend, load, node_at};
use crate::format::page::{Page, PageFlags, body_bytes};
use crate::page::{Change, Need, Pages};
use crate::space;

/// A page with less than one such part of it in use is worth merging.
const SPARSE_PART: usize = 4;

/// How a removal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveOutcome {
    /// The entry is gone. `sparse` when so little is left on its page that [`super::shrink`] should be called.
    Removed {
        /// Whether the page is less than a quarter full.
        sparse: bool,
    },
    /// There is no such entry.
    NotFound,
}

/// Removes the entry with this sort key, marked deleted or not.
///
/// # Errors
/// [`Need`], of any kind.
pub fn remove<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
) -> Result<Step<RemoveOutcome>, Need> {
    let descent = descend(change.pages(), tree, key)?;
    if !descent.exact {
        return Ok(Step::Done(RemoveOutcome::NotFound));
    }
    let leaf = descent.leaf();
    let page = load(change.pages(), tree, leaf.page)?;
    if page.node_count() == 1 && descent.path.len() > 1 {
        return Ok(match unlink(change, tree, &descent.path)? {
            Step::Done(()) => Step::Done(RemoveOutcome::Removed { sparse: false }),
            Step::Again => Step::Again,
        });
    }
    let mut editor = change.edit(leaf.page);
    editor.remove(leaf.index);
    let sparse = descent.path.len() > 1 && is_sparse(editor.page());
    Ok(Step::Done(RemoveOutcome::Removed { sparse }))
}

/// Whether a page is so empty that it is worth merging.
pub(super) fn is_sparse(page: Page<'_>) -> bool {
    let body = body_bytes(page.size());
    body - page.free() < body.div_euclid(SPARSE_PART)
}

/// Takes the leaf at the path's end out of the tree, whatever is on it.
fn unlink<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    path: &[Visit],
) -> Result<Step<()>, Need> {
    let mut gone: SmallVec<[PageNumber; 6]> = SmallVec::new();
    let mut stays = path.len() - 1;
    while stays > 0 {
        gone.push(path[stays].page);
        stays -= 1;
        if load(change.pages(), tree, path[stays].page)?.node_count() > 1 {
            break;
        }
    }
    let leaf = load(change.pages(), tree, gone[0])?;
    let (previous, next) = (leaf.previous(), leaf.next());
    look_beside(change.pages(), tree, gone[0])?;
    let stays = path[stays];
    let page = load(change.pages(), tree, stays.page)?;
    let (count, flags) = (page.node_count(), page.flags());
    let before = match stays.index.checked_sub(1) {
        Some(index) => node_at(page, stays.page, index)?.child(),
        None => None,
    };
    let last_key = node_at(page, stays.page, count - 1)?.key.to_vec();
    let mut edge = SmallVec::new();
    if let Some(before) = before
        && stays.index + 1 == count
    {
        let mut way: SmallVec<[Visit; 6]> = path[..path.len() - gone.len()].into();
        way.last_mut().expect("the page that stays").index -= 1;
        edge = right_edge(change.pages(), tree, before, gone.len() - 1)?;
        for &visit in &edge {
            way.push(visit);
            if !takes_key(load(change.pages(), tree, visit.page)?, visit, &last_key)? {
                split_branch(change, Site::ordinary(tree), &way)?;
                return Ok(Step::Again);
            }
        }
    }
    if space::prepare_free(change, tree, &gone)? == Step::Again {
        return Ok(Step::Again);
    }

    link(change, previous, next);
    for Visit { page, index } in edge {
        let child = child_at(change.pages(), tree, Visit { page, index })?;
        change
            .edit(page)
            .replace(index, &last_key, &child.0.to_le_bytes());
    }
    let mut editor = change.edit(stays.page);
    if count == 1 {
        // The root's only child went: the tree is empty.
        editor.truncate(0);
        editor.set_flags(
            flags
                .without(PageFlags::PARENT_OF_LEAF)
                .with(PageFlags::LEAF),
        );
    } else if let Some(before) = before.filter(|_| stays.index + 1 == count) {
        editor.overwrite(stays.index, 0, &before.0.to_le_bytes());
        editor.remove(stays.index - 1);
    } else {
        editor.remove(stays.index);
    }
    for page in gone {
        discard(change, page);
        space::free(change, tree, page);
    }
    Ok(Step::Done(()))
}

/// The last nodes of a branch page and of the branch pages below it, `levels` in all.
fn right_edge<P: Pages>(
    pages: &P,
    tree: TreeId,
    top: PageNumber,
    levels: usize,
) -> Result<SmallVec<[Visit; 6]>, Need> {
    let mut edge = SmallVec::new();
    let mut number = top;
    for _ in 0..levels {
        let page = load(pages, tree, number)?;
        let last = page.node_count().checked_sub(1);
        let visit = Visit {
            page: number,
            index: last.ok_or(Need::Repair(number))?,
        };
        number = child_at(pages, tree, visit)?;
        edge.push(visit);
    }
    Ok(edge)
}

fn child_at<P: Pages>(pages: &P, tree: TreeId, visit: Visit) -> Result<PageNumber, Need> {
    let page = load(pages, tree, visit.page)?;
    let child = node_at(page, visit.page, visit.index)?.child();
    child.ok_or(Need::Repair(visit.page))
}

/// Whether a branch node can have another key.
fn takes_key(page: Page<'_>, visit: Visit, key: &[u8]) -> Result<bool, Need> {
    let node = node_at(page, visit.page, visit.index)?;
    let grows = key.len().saturating_sub(node.key.suffix.len());
    Ok(grows <= page.free())
}

/// Links two leaves, either of which may be none.
pub(super) fn link<P: Pages>(change: &mut Change<'_, P>, left: PageNumber, right: PageNumber) {
    if left.is_some() {
        change.edit(left).set_next(right);
    }
    if right.is_some() {
        change.edit(right).set_previous(left);
    }
}

/// Marks a page that is no part of its tree any more. Its new database time tells cursors that stood there.
pub(super) fn discard<P: Pages>(change: &mut Change<'_, P>, page: PageNumber) {
    let mut editor = change.edit(page);
    let flags = editor.page().flags();
    editor.truncate(0);
    editor.set_flags(flags.with(PageFlags::EMPTY));
    editor.set_previous(PageNumber::NONE);
    editor.set_next(PageNumber::NONE);
}
