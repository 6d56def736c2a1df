//! Making room: splits of leaves and branches, and roots that grow a level.
//!
//! ```text
//!    leaf or branch      parent  [.. K:P ..]  ->  [.. S:P  K:R ..]        P | R   the right part is a new page
//!    root                [ nodes ]            ->  [ -:C ]                 C       all nodes go to a new child
//! ```
//!
//! A split needs room in the parent for one separator. If there is none, the parent is split first,
//! in a change of its own. A leaf is split together with the edit that needed the room, so the leaf
//! chain never contains a page without nodes, and an ordered load leaves full pages behind. Only if
//! the edit needs three pages (a large entry between two others) is the leaf split alone.
//!
//! Every function first looks at everything, which may end in a need; then takes the page; then
//! writes.

use brunt_units::PageNumber;

use super::claimed::Claimed;
use super::find::{Visit, look_behind};
use super::split_point::Crowd;
use super::{Site, Step, load, node_at, order};
use crate::format::node::{Key, NodeFlags};
use crate::format::page::{
    NODE_LENGTH_MASK, Page, PageFlags, TAG_BYTES, TAG_COUNT_MASK, body_bytes,
};
use crate::page::{Change, Need, Nodes, Pages, node_cost};
use crate::space;

/// Bytes of a branch node's data.
const CHILD_BYTES: usize = 4;

/// The edit that a leaf has no room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    /// Index of the node.
    pub(crate) index: usize,
    /// Whether it replaces the node at that index.
    pub(crate) replaces: bool,
    pub(crate) key: &'a [u8],
    pub(crate) data: &'a [u8],
}

/// Whether a node fits on a page as it is, besides `claimed` bytes.
pub(super) fn room_for(page: Page<'_>, claimed: usize, key: &[u8], data: &[u8]) -> bool {
    node_cost(key, data) + claimed <= page.free() && page.tag_count() < TAG_COUNT_MASK.into()
}

/// Splits the leaf at the end of the path and makes the edit, or only makes room for the next call.
pub(crate) fn make_room<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    path: &[Visit],
    edit: Edit<'_>,
) -> Result<Step<()>, Need> {
    let leaf = path[path.len() - 1].page;
    if path.len() == 1 {
        return grow_level(change, site, Some(edit));
    }
    let page = load(change.pages(), site.tree, leaf)?;
    let claimed = Claimed::on(change, site.tree, page, leaf)?;
    let crowd = LeafCrowd::new(page, leaf, &claimed, edit)?;
    let Some(left) = crowd.split(page) else {
        return part_for(change, site, path, edit);
    };
    let separator = crowd.separator(left)?;
    let right = crowd.nodes(left)?;
    let (kept, edit) = crowd.kept(left);
    let cut = Cut { kept, separator, right };
    let Step::Done(()) = split_at(change, site, path, &cut)? else {
        return Ok(Step::Again);
    };
    if let Some(edit) = edit {
        let mut editor = change.edit(leaf);
        if edit.replaces {
            editor.replace(edit.index, edit.key, edit.data);
        } else {
            editor.insert(edit.index, edit.key, edit.data);
        }
    }
    Ok(Step::Done(()))
}

/// The nodes of a leaf as they will be after an edit; "place" is an index among these. Each node's
/// cost includes its claim, so both pages keep room for their claims.
struct LeafCrowd<'p, 'e> {
    page: Page<'p>,
    number: PageNumber,
    by_data: bool,
    edit: Edit<'e>,
    costs: Vec<usize>,
}

impl<'p, 'e> LeafCrowd<'p, 'e> {
    fn new(
        page: Page<'p>,
        number: PageNumber,
        claimed: &Claimed,
        edit: Edit<'e>,
    ) -> Result<Self, Need> {
        let mut costs = Vec::with_capacity(page.node_count() + 1);
        for index in 0..page.node_count() {
            let node = node_at(page, number, index)?;
            let cost = 2 + node.key.len() + node.data.len() + TAG_BYTES;
            costs.push(cost + claimed.by(index));
        }
        let cost = node_cost(edit.key, edit.data);
        if edit.replaces {
            costs[edit.index] = cost.max(costs[edit.index]);
        } else {
            costs.insert(edit.index, cost);
        }
        Ok(Self { page, number, by_data: order::is_by_data(page), edit, costs })
    }

    /// How many nodes stay on the left.
    fn split(&self, page: Page<'_>) -> Option<usize> {
        let body = body_bytes(page.size()) - TAG_BYTES;
        let prefix = page.prefix().map_or(0, <[u8]>::len);
        let crowd = Crowd { costs: &self.costs, left_room: body - prefix, right_room: body };
        let last = !self.edit.replaces && self.edit.index + 1 == self.costs.len();
        if last
            && !page.next().is_some()
            && let Some(left) = crowd.append()
        {
            return Some(left);
        }
        crowd.halves()
    }

    /// The page's own node at `place`; `None` for the edited one.
    fn index_at(&self, place: usize) -> Option<usize> {
        match place {
            place if place == self.edit.index => None,
            place if place > self.edit.index && !self.edit.replaces => Some(place - 1),
            place => Some(place),
        }
    }

    fn sort_key(&self, place: usize) -> Vec<u8> {
        match self.index_at(place) {
            None => order::sort_key(self.edit.key, self.edit.data, self.by_data).into_owned(),
            Some(index) => {
                let node = self.page.node(index).expect("it was read before");
                order::sort_key_of(node, self.by_data)
            }
        }
    }

    fn separator(&self, left: usize) -> Result<Vec<u8>, Need> {
        let right_key = self.sort_key(left);
        let separator = order::separator(&self.sort_key(left - 1), &right_key);
        Ok(separator.ok_or(Need::Repair(self.number))?.to_vec())
    }

    /// The nodes from place `left` on.
    fn nodes(&self, left: usize) -> Result<Nodes, Need> {
        let mut nodes = Nodes::default();
        for place in left..self.costs.len() {
            match self.index_at(place) {
                None => nodes.push(Key::whole(self.edit.key), self.edit.data, NodeFlags::NONE),
                Some(index) => {
                    let node = node_at(self.page, self.number, index)?;
                    let flags = node.flags.without(NodeFlags::COMPRESSED);
                    nodes.push(node.key, node.data, flags);
                }
            }
        }
        Ok(nodes)
    }

    /// How many of the page's nodes stay, and the edit if it belongs there.
    fn kept(&self, left: usize) -> (usize, Option<Edit<'e>>) {
        if self.edit.index >= left {
            (left, None)
        } else {
            let kept = if self.edit.replaces { left } else { left - 1 };
            (kept, Some(self.edit))
        }
    }
}

/// Where to split a page.
struct Cut {
    /// Number of nodes that stay.
    kept: usize,
    /// The separator between the parts.
    separator: Vec<u8>,
    /// The nodes of the new right page.
    right: Nodes,
}

/// Splits a leaf between two of its nodes when the edit fits with neither part.
fn part_for<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    path: &[Visit],
    edit: Edit<'_>,
) -> Result<Step<()>, Need> {
    let leaf = path[path.len() - 1].page;
    let page = load(change.pages(), site.tree, leaf)?;
    let count = page.node_count();
    if count > 1 {
        part(change, site, path, edit.index.clamp(1, count - 1))?;
        return Ok(Step::Again);
    }
    // Only a prefix takes up the room: the new data fits a page without one.
    let node = node_at(page, leaf, 0)?;
    let mut nodes = Nodes::default();
    nodes.push(node.key, edit.data, NodeFlags::NONE);
    let mut editor = change.edit(leaf);
    editor.truncate(0);
    editor.set_external_header(&[]);
    editor.append(&nodes);
    Ok(Step::Done(()))
}

/// Splits the leaf at the end of the path to make room for later entries. At the end of the tree,
/// the left page stays full.
pub(crate) fn split_leaf<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    path: &[Visit],
) -> Result<(), Need> {
    if path.len() == 1 {
        let _ = grow_level(change, site, None)?;
        return Ok(());
    }
    let Visit { page: leaf, index } = path[path.len() - 1];
    let page = load(change.pages(), site.tree, leaf)?;
    let count = page.node_count();
    if count < 2 {
        // A full leaf of small nodes has several.
        return Err(Need::Repair(leaf));
    }
    let at_end = index == count && !page.next().is_some();
    let kept = if at_end { count - 1 } else { count.div_ceil(2) };
    part(change, site, path, kept)
}

/// Splits the leaf at the end of the path so that the first `kept` nodes stay. Keeps more if the
/// others would exceed a page without the prefix that they share now.
fn part<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    path: &[Visit],
    mut kept: usize,
) -> Result<(), Need> {
    let leaf = path[path.len() - 1].page;
    let page = load(change.pages(), site.tree, leaf)?;
    let count = page.node_count();
    let broken = |_| Need::Repair(leaf);
    let claimed = Claimed::on(change, site.tree, page, leaf)?;
    let mut right = Nodes::of(page, kept..count).map_err(broken)?;
    while right.cost() + claimed.from(kept) > body_bytes(page.size()) - TAG_BYTES {
        kept += 1;
        right = Nodes::of(page, kept..count).map_err(broken)?;
    }
    let by_data = order::is_by_data(page);
    let sort_key = |index| node_at(page, leaf, index).map(|node| order::sort_key_of(node, by_data));
    let (below, above) = (sort_key(kept - 1)?, sort_key(kept)?);
    let separator = order::separator(&below, &above).ok_or(Need::Repair(leaf))?;
    let cut = Cut { kept, separator: separator.to_vec(), right };
    let _ = split_at(change, site, path, &cut)?;
    Ok(())
}

/// Splits a branch page that has no room for one more separator.
fn split_branch<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    path: &[Visit],
) -> Result<(), Need> {
    let Visit { page: number, index } = path[path.len() - 1];
    if path.len() == 1 {
        let _ = grow_level(change, site, None)?;
        return Ok(());
    }
    let page = load(change.pages(), site.tree, number)?;
    let count = page.node_count();
    if count < 2 {
        // Separators are short enough for several on a page.
        return Err(Need::Repair(number));
    }
    let last = node_at(page, number, count - 1)?;
    let kept = if index + 1 == count && last.key.is_empty() {
        count - 1
    } else {
        let mut costs = Vec::with_capacity(count);
        for index in 0..count {
            costs.push(node_cost(&node_at(page, number, index)?.key.to_vec(), &[0; CHILD_BYTES]));
        }
        let room = body_bytes(page.size()) - TAG_BYTES;
        let crowd = Crowd { costs: &costs, left_room: room, right_room: room };
        crowd.halves().ok_or(Need::Repair(number))?
    };
    let cut = Cut {
        kept,
        separator: node_at(page, number, kept - 1)?.key.to_vec(),
        right: Nodes::of(page, kept..count).map_err(|_| Need::Repair(number))?,
    };
    let _ = split_at(change, site, path, &cut)?;
    Ok(())
}

/// Splits the page at the end of the path. [`Step::Again`] when something else had to be done
/// first.
fn split_at<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    path: &[Visit],
    cut: &Cut,
) -> Result<Step<()>, Need> {
    let (left, parent) = (path[path.len() - 1].page, path[path.len() - 2]);
    if cut.separator.len() > NODE_LENGTH_MASK.into() {
        return Err(Need::Repair(left));
    }
    let parent_page = load(change.pages(), site.tree, parent.page)?;
    if !room_for(parent_page, 0, &cut.separator, &[0; CHILD_BYTES]) {
        split_branch(change, site, &path[..path.len() - 1])?;
        return Ok(Step::Again);
    }
    let page = load(change.pages(), site.tree, left)?;
    let (flags, next) = (page.flags(), page.next());
    if flags.has(PageFlags::LEAF) {
        look_behind(change.pages(), site.tree, left)?;
    }
    let Step::Done(grant) = space::reserve(change, site)? else {
        return Ok(Step::Again);
    };
    if next == grant.page() || path.iter().any(|visit| visit.page == grant.page()) {
        // The page is in use but listed as available.
        return Err(Need::Repair(grant.page()));
    }
    let right = grant.take(change);

    let mut editor = change.fresh(right);
    editor.format(site.tree.object, flags);
    editor.append(&cut.right);
    if flags.has(PageFlags::LEAF) {
        editor.set_previous(left);
        editor.set_next(next);
    }
    let mut editor = change.edit(left);
    editor.truncate(cut.kept);
    if flags.has(PageFlags::LEAF) {
        editor.set_next(right);
        if next.is_some() {
            change.edit(next).set_previous(right);
        }
    }
    let mut editor = change.edit(parent.page);
    editor.overwrite(parent.index, 0, &right.0.to_le_bytes());
    editor.insert(parent.index, &cut.separator, &left.0.to_le_bytes());
    Ok(Step::Done(()))
}

/// Moves the root's nodes into a new page, its only child. An edit that an empty root has no room
/// for goes there directly.
fn grow_level<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    edit: Option<Edit<'_>>,
) -> Result<Step<()>, Need> {
    let root = site.tree.root;
    let page = load(change.pages(), site.tree, root)?;
    let flags = page.flags();
    let mut nodes = Nodes::of(page, 0..page.node_count()).map_err(|_| Need::Repair(root))?;
    let edit = edit.filter(|_| nodes.is_empty());
    if let Some(edit) = edit {
        nodes.push(Key::whole(edit.key), edit.data, NodeFlags::NONE);
    }
    let Step::Done(grant) = space::reserve(change, site)? else {
        return Ok(Step::Again);
    };
    let child = grant.take(change);

    let mut editor = change.fresh(child);
    editor.format(site.tree.object, flags.without(PageFlags::ROOT));
    editor.append(&nodes);
    let mut editor = change.edit(root);
    editor.truncate(0);
    let mut branch = flags.without(PageFlags::LEAF).without(PageFlags::PARENT_OF_LEAF);
    if flags.has(PageFlags::LEAF) {
        branch = branch.with(PageFlags::PARENT_OF_LEAF);
    }
    editor.set_flags(branch);
    editor.insert(0, &[], &child.0.to_le_bytes());
    Ok(match edit {
        Some(_) => Step::Done(()),
        None => Step::Again,
    })
}
