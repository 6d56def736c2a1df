//! Removing entries.
//!
//! The last entry of a leaf is removed together with the leaf, and with every branch page that has
//! no other child, in one change. So the leaf chain never contains a page without nodes.
//!
//! ```text
//!    [.. S:P  K:R ..]  remove R  ->  [.. K:P ..]     the separator of the last child on a page stays
//!    [.. S:P  K:R ..]  remove P  ->  [.. K:R ..]
//! ```
//!
//! If R was a branch page and the last child, P's own last separators, which equal S, also become
//! K, on every level down to the leaves. If K is the longer one, it might not fit there. Then S
//! replaces K instead, on this page and on each page above up to the one where K is not the last;
//! nothing lies between S and K any more. One of the two ways never needs more room than there is.
//! So removing an entry, as an undo does, never splits a page of its tree.

use brunt_units::PageNumber;
use smallvec::SmallVec;

use super::find::{Visit, look_beside};
use super::{Step, TreeId, descend, load, node_at};
use crate::format::page::{NODE_LENGTH_MASK, Page, PageFlags, body_bytes};
use crate::page::{Change, Need, Pages};
use crate::space;

/// A page that is less than one such part full is worth merging.
const SPARSE_PART: usize = 4;

/// Outcome of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveOutcome {
    /// The entry is removed. If `sparse`, the caller should call [`super::shrink`].
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

/// Whether a page is empty enough to be worth merging.
pub(super) fn is_sparse(page: Page<'_>) -> bool {
    let body = body_bytes(page.size());
    body - page.free() < body.div_euclid(SPARSE_PART)
}

/// Removes the leaf at the end of the path from the tree, with anything on it.
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
    let seam = Seam::of(change.pages(), tree, &path[..=stays], gone.len() - 1)?;
    if space::prepare_free(change, tree, &gone)? == Step::Again {
        return Ok(Step::Again);
    }

    link(change, previous, next);
    seam.close(change);
    for page in gone {
        discard(change, page);
        space::free(change, tree, page);
    }
    Ok(Step::Done(()))
}

/// A node of a branch page that gets a new separator and keeps its child.
type Rename = (Visit, PageNumber);

/// Changes of separators when a child is removed; see the head of this file.
struct Seam {
    /// The page that loses the child, and the child's index.
    at: Visit,
    loses: Loses,
}

/// Which child is removed.
enum Loses {
    /// The only one, which happens only in a root.
    Only(PageFlags),
    /// One with another after it.
    Inner,
    /// The last one. The child before it takes over its node.
    Last { before: PageNumber, names: Names },
}

/// Which of the two separators stays.
enum Names {
    /// The removed child's: nodes at the right edge below the child before it are renamed.
    Later(Vec<u8>, SmallVec<[Rename; 6]>),
    /// The one of the child before it: nodes above are renamed.
    Earlier(Vec<u8>, SmallVec<[Rename; 6]>),
}

impl Seam {
    /// Collects the changes for removing the child at the end of the path, which has `levels`
    /// levels of branch pages.
    fn of<P: Pages>(pages: &P, tree: TreeId, path: &[Visit], levels: usize) -> Result<Self, Need> {
        let at = path[path.len() - 1];
        let page = load(pages, tree, at.page)?;
        let loses = match (at.index + 1 == page.node_count(), at.index.checked_sub(1)) {
            (false, _) => Loses::Inner,
            (true, None) => Loses::Only(page.flags()),
            (true, Some(index)) => {
                let before = child_at(pages, tree, Visit { index, ..at })?;
                let names = Names::of(pages, tree, path, levels)?;
                Loses::Last { before, names }
            }
        };
        Ok(Self { at, loses })
    }

    /// Changes the separators and removes the child's node.
    fn close<P: Pages>(self, change: &mut Change<'_, P>) {
        let Visit { page, index } = self.at;
        match self.loses {
            Loses::Only(flags) => {
                // The tree is empty.
                let mut editor = change.edit(page);
                editor.truncate(0);
                let leaf = flags.without(PageFlags::PARENT_OF_LEAF);
                editor.set_flags(leaf.with(PageFlags::LEAF));
            }
            Loses::Inner => change.edit(page).remove(index),
            Loses::Last { before, names } => {
                let (key, renames) = match names {
                    Names::Later(key, renames) => {
                        let mut editor = change.edit(page);
                        editor.overwrite(index, 0, &before.0.to_le_bytes());
                        editor.remove(index - 1);
                        (key, renames)
                    }
                    Names::Earlier(key, renames) => {
                        change.edit(page).remove(index);
                        (key, renames)
                    }
                };
                for (Visit { page, index }, child) in renames {
                    let mut editor = change.edit(page);
                    editor.replace(index, &key, &child.0.to_le_bytes());
                }
            }
        }
    }
}

impl Names {
    fn of<P: Pages>(pages: &P, tree: TreeId, path: &[Visit], levels: usize) -> Result<Self, Need> {
        let at = path[path.len() - 1];
        let page = load(pages, tree, at.page)?;
        let later = node_at(page, at.page, at.index)?.key.to_vec();
        let before = Visit { index: at.index - 1, ..at };
        let earlier = node_at(page, at.page, before.index)?.key.to_vec();
        if levels == 0 || later.len() <= earlier.len() {
            let edge = right_edge(pages, tree, before, levels)?;
            return Ok(Self::Later(later.clone(), renames(pages, tree, &edge, &later)?));
        }
        let mut above = SmallVec::<[Visit; 6]>::new();
        for &visit in path[..path.len() - 1].iter().rev() {
            above.push(visit);
            if visit.index + 1 < load(pages, tree, visit.page)?.node_count() {
                break;
            }
        }
        Ok(Self::Earlier(earlier.clone(), renames(pages, tree, &above, &earlier)?))
    }
}

/// Nodes to be renamed; the new key must fit.
fn renames<P: Pages>(
    pages: &P,
    tree: TreeId,
    visits: &[Visit],
    key: &[u8],
) -> Result<SmallVec<[Rename; 6]>, Need> {
    let rename = |&visit: &Visit| {
        let page = load(pages, tree, visit.page)?;
        let node = node_at(page, visit.page, visit.index)?;
        let grows = key.len().saturating_sub(node.key.suffix.len());
        if grows > page.free() || key.len() > NODE_LENGTH_MASK.into() {
            // In a valid tree it is as long as the right key.
            return Err(Need::Repair(visit.page));
        }
        Ok((visit, child_at(pages, tree, visit)?))
    };
    visits.iter().map(rename).collect()
}

/// The last nodes of the branch pages at the right edge below a node, `levels` in all.
fn right_edge<P: Pages>(
    pages: &P,
    tree: TreeId,
    top: Visit,
    levels: usize,
) -> Result<SmallVec<[Visit; 6]>, Need> {
    let mut edge = SmallVec::new();
    let mut number = child_at(pages, tree, top)?;
    for _ in 0..levels {
        let page = load(pages, tree, number)?;
        let last = page.node_count().checked_sub(1);
        let visit = Visit { page: number, index: last.ok_or(Need::Repair(number))? };
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

/// Links two leaves; either may be missing.
pub(super) fn link<P: Pages>(change: &mut Change<'_, P>, left: PageNumber, right: PageNumber) {
    if left.is_some() {
        change.edit(left).set_next(right);
    }
    if right.is_some() {
        change.edit(right).set_previous(left);
    }
}

/// Marks a page removed from its tree. The new database time informs cursors on it.
pub(super) fn discard<P: Pages>(change: &mut Change<'_, P>, page: PageNumber) {
    let mut editor = change.edit(page);
    let flags = editor.page().flags();
    editor.truncate(0);
    editor.set_flags(flags.with(PageFlags::EMPTY));
    editor.set_previous(PageNumber::NONE);
    editor.set_next(PageNumber::NONE);
}
