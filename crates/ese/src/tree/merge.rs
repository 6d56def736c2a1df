//! Returning space: merging sparse pages and lowering the root.
//!
//! ```text
//!    [.. S:L  K:R ..]  ->  [.. K:L ..]     the nodes of R are appended to L; R is freed
//!    root [ -:C ]      ->  root [ nodes ]  the nodes of an only child move up if they fit; C is freed
//! ```
//!
//! Only children of one parent merge, and only if the merged page keeps a quarter free, so that the
//! next insert does not split it again.

use brunt_units::PageNumber;

use super::claimed::Claimed;
use super::find::{Visit, look_beside};
use super::remove::{discard, is_sparse, link};
use super::{Site, Step, TreeId, descend, load, node_at};
use crate::format::page::{Page, PageFlags, TAG_BYTES, TAG_COUNT_MASK, body_bytes};
use crate::page::{Change, Need, Nodes, Pages};
use crate::space;

/// Frees space around `key`: merges a page with a neighbour or lowers the root, and returns
/// [`Step::Again`]; or finds nothing to do. Call it until it is done when [`super::remove`] has
/// left a page sparse.
///
/// # Errors
/// [`Need`], of any kind.
pub fn shrink<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    key: &[u8],
) -> Result<Step<()>, Need> {
    shrink_at(change, Site::ordinary(tree), key)
}

/// [`shrink`] for any tree. A space tree's page goes into the split buffer, which must have a free
/// run.
pub(crate) fn shrink_at<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    key: &[u8],
) -> Result<Step<()>, Need> {
    let path = descend(change.pages(), site.tree, key)?.path;
    for level in (1..path.len()).rev() {
        let page = load(change.pages(), site.tree, path[level].page)?;
        if !is_sparse(page) {
            continue;
        }
        if let Some(pair) = partner(change, site.tree, path[level - 1])? {
            merge(change, site, pair)?;
            return Ok(Step::Again);
        }
    }
    lower_root(change, site)
}

/// Two neighbours that fit on one page, and the left one's place in their parent.
struct Pair {
    parent: Visit,
    left: PageNumber,
    right: PageNumber,
}

/// The neighbour to merge a child with: the right one if possible, otherwise the left one.
fn partner<P: Pages>(
    change: &Change<'_, P>,
    tree: TreeId,
    parent: Visit,
) -> Result<Option<Pair>, Need> {
    let page = load(change.pages(), tree, parent.page)?;
    let child = |index: usize| -> Result<PageNumber, Need> {
        let child = node_at(page, parent.page, index)?.child();
        child.ok_or(Need::Repair(parent.page))
    };
    let with_right = (parent.index + 1 < page.node_count()).then_some(parent.index);
    for index in with_right.into_iter().chain(parent.index.checked_sub(1)) {
        let (left, right) = (child(index)?, child(index + 1)?);
        if fit(change, tree, left, right)? {
            let parent = Visit { page: parent.page, index };
            return Ok(Some(Pair { parent, left, right }));
        }
    }
    Ok(None)
}

/// Whether the nodes of `right` fit after those of `left`, including all claims, and leave a
/// quarter of the page free.
fn fit<P: Pages>(
    change: &Change<'_, P>,
    tree: TreeId,
    left: PageNumber,
    right: PageNumber,
) -> Result<bool, Need> {
    let mut claimed = 0;
    let mut read = |number| -> Result<Page<'_>, Need> {
        let page = load(change.pages(), tree, number)?;
        claimed += Claimed::on(change, tree, page, number)?.all();
        Ok(page)
    };
    let (left, right) = (read(left)?, read(right)?);
    let Ok(nodes) = Nodes::of(right, 0..right.node_count()) else {
        return Ok(false);
    };
    let spare = body_bytes(left.size()).div_euclid(4);
    Ok(nodes.cost() + claimed + spare <= left.free()
        && left.tag_count() + right.node_count() < TAG_COUNT_MASK.into())
}

fn merge<P: Pages>(change: &mut Change<'_, P>, site: Site, pair: Pair) -> Result<(), Need> {
    let Pair { parent, left, right } = pair;
    let page = load(change.pages(), site.tree, right)?;
    let (is_leaf, next) = (page.flags().has(PageFlags::LEAF), page.next());
    let beside = load(change.pages(), site.tree, left)?.flags();
    let alike = beside.has(PageFlags::LEAF) == is_leaf && beside.kind() == page.flags().kind();
    if left == right || !alike {
        return Err(Need::Repair(parent.page));
    }
    if is_leaf {
        look_beside(change.pages(), site.tree, right)?;
        if page.previous() != left {
            return Err(Need::Repair(right));
        }
    }
    let nodes = Nodes::of(page, 0..page.node_count()).map_err(|_| Need::Repair(right))?;
    let Step::Done(release) = Release::prepare(change, site, right)? else {
        return Ok(());
    };

    change.edit(left).append(&nodes);
    if is_leaf {
        link(change, left, next);
    }
    let mut editor = change.edit(parent.page);
    editor.overwrite(parent.index + 1, 0, &left.0.to_le_bytes());
    editor.remove(parent.index);
    release.carry_out(change);
    Ok(())
}

/// Moves the nodes of the root's only child into the root, if it has just one child and they fit.
fn lower_root<P: Pages>(change: &mut Change<'_, P>, site: Site) -> Result<Step<()>, Need> {
    let root = site.tree.root;
    let page = load(change.pages(), site.tree, root)?;
    if page.flags().has(PageFlags::LEAF) || page.node_count() != 1 {
        return Ok(Step::Done(()));
    }
    let broken = Need::Repair(root);
    let only = node_at(page, root, 0)?;
    let item = page.item(1).map_err(|_| broken)?;
    let room = page.free() + item.len() + TAG_BYTES;
    let child = only.child().ok_or(broken)?;
    let child_page = load(change.pages(), site.tree, child)?;
    let nodes = Nodes::of(child_page, 0..child_page.node_count());
    let nodes = nodes.map_err(|_| Need::Repair(child))?;
    let claimed = Claimed::on(change, site.tree, child_page, child)?;
    if nodes.cost() + claimed.all() > room {
        return Ok(Step::Done(()));
    }
    let flags = child_page.flags().with(PageFlags::ROOT);
    let Step::Done(release) = Release::prepare(change, site, child)? else {
        return Ok(Step::Again);
    };

    let mut editor = change.edit(root);
    editor.truncate(0);
    editor.set_flags(flags);
    editor.append(&nodes);
    release.carry_out(change);
    Ok(Step::Again)
}

/// A page to free once its nodes have moved.
struct Release {
    site: Site,
    page: PageNumber,
}

impl Release {
    fn prepare<P: Pages>(
        change: &mut Change<'_, P>,
        site: Site,
        page: PageNumber,
    ) -> Result<Step<Self>, Need> {
        if !site.is_space() && space::prepare_free(change, site.owner, &[page])? == Step::Again {
            return Ok(Step::Again);
        }
        Ok(Step::Done(Self { site, page }))
    }

    fn carry_out<P: Pages>(self, change: &mut Change<'_, P>) {
        discard(change, self.page);
        if self.site.is_space() {
            space::put_into_buffer(change, self.site, self.page);
        } else {
            space::free(change, self.site.owner, self.page);
        }
    }
}
