//! The extents of a space tree, in order, and adding one.
//!
//! An extent's key is its last page, so the extent that contains page `n`, or the next one above
//! it, is the first whose key is not below `n`. A new extent is joined with neighbours on the same
//! leaf, but not across leaves. This costs an occasional extra node and avoids moving separators.
//!
//! Space trees decide how far a file must grow and which pages are free, so they are believed only
//! within the file: an extent beyond its end, or one that is not above its predecessor, is damage.

use brunt_units::PageNumber;

use super::Space;
use crate::format::page::{Page, PageFlags, TAG_BYTES};
use crate::format::space::Extent;
use crate::page::{Change, Need, Pages};
use crate::tree::{Site, Step, TreeId, descend, insert_at, load, node_at, split_leaf};

/// Bytes that a node takes on a page.
const EXTENT_COST: usize = 2 + 4 + 4 + TAG_BYTES;

/// An extent and the position of its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) extent: Extent,
    pub(crate) leaf: PageNumber,
    pub(crate) index: usize,
    /// Whether removing the node would leave a page without nodes in the chain.
    pub(crate) is_alone: bool,
}

/// Iterates over the extents of a space tree in page order.
pub(crate) struct Extents<'p, P> {
    pages: &'p P,
    tree: TreeId,
    leaf: PageNumber,
    index: usize,
    /// Last page of the previous extent.
    last: PageNumber,
}

impl<'p, P: Pages> Extents<'p, P> {
    /// The extents of `tree` from its first one on.
    pub(crate) fn of(pages: &'p P, tree: TreeId) -> Result<Self, Need> {
        let leaf = descend(pages, tree, &[])?.leaf().page;
        if !load(pages, tree, leaf)?.flags().has(PageFlags::SPACE_TREE) {
            return Err(Need::Repair(leaf));
        }
        Ok(Self { pages, tree, leaf, index: 0, last: PageNumber::NONE })
    }

    /// The next extent that is not marked deleted.
    pub(crate) fn next(&mut self) -> Result<Option<Place>, Need> {
        while self.leaf.is_some() {
            let (leaf, index) = (self.leaf, self.index);
            let page = load(self.pages, self.tree, leaf)?;
            if index >= page.node_count() {
                if index == 0 && leaf != self.tree.root {
                    return Err(Need::Repair(leaf));
                }
                (self.leaf, self.index) = (page.next(), 0);
                continue;
            }
            self.index += 1;
            let extent = extent_at(self.pages, page, leaf, index)?;
            // Even for a deleted node: otherwise links could lead in circles.
            if extent.first() <= self.last {
                return Err(Need::Repair(leaf));
            }
            self.last = extent.last;
            if node_at(page, leaf, index)?.is_deleted() {
                continue;
            }
            let is_alone = leaf != self.tree.root && page.node_count() == 1;
            return Ok(Some(Place { extent, leaf, index, is_alone }));
        }
        Ok(None)
    }

    /// Total pages of the remaining extents.
    pub(crate) fn sum(mut self) -> Result<u64, Need> {
        let mut sum = 0;
        while let Some(place) = self.next()? {
            sum += u64::from(place.extent.pages);
        }
        Ok(sum)
    }
}

/// The extent of a node, checked to lie within the file.
fn extent_at<P: Pages>(
    pages: &P,
    page: Page<'_>,
    leaf: PageNumber,
    index: usize,
) -> Result<Extent, Need> {
    let node = node_at(page, leaf, index)?;
    Extent::from_node(node.key, node.data)
        .filter(|extent| extent.last <= pages.last())
        .ok_or(Need::Repair(leaf))
}

/// [`prepare`] for an extent to become owned and available.
pub(crate) fn prepare_gain<P: Pages>(
    change: &mut Change<'_, P>,
    space: Space,
    extent: Extent,
) -> Result<Step<()>, Need> {
    for site in [space.owned_site(), space.available_site()] {
        if prepare(change, site, extent, 1)? == Step::Again {
            return Ok(Step::Again);
        }
    }
    let leaf = |tree| Ok(descend(change.pages(), tree, &extent.key())?.leaf().page);
    let (owned, available) = (leaf(space.owned)?, leaf(space.available)?);
    match owned == available {
        true => Err(Need::Repair(owned)),
        false => Ok(Step::Done(())),
    }
}

/// Prepares to [add](add) `count` extents like `extent` to a space tree; splits the leaf if
/// necessary. Pages already in the tree mean damage, and so do neighbours that are not extents.
pub(crate) fn prepare<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    extent: Extent,
    count: usize,
) -> Result<Step<()>, Need> {
    let descent = descend(change.pages(), site.tree, &extent.key())?;
    let at = descent.leaf();
    let leaf = load(change.pages(), site.tree, at.page)?;
    let read = |index| extent_at(change.pages(), leaf, at.page, index);
    let overlaps_above = at.index < leaf.node_count() && read(at.index)?.first() <= extent.last;
    let overlaps_below = at.index > 0 && read(at.index - 1)?.last >= extent.first();
    if overlaps_above || overlaps_below {
        return Err(Need::Repair(at.page));
    }
    if leaf.free() >= EXTENT_COST * count {
        return Ok(Step::Done(()));
    }
    split_leaf(change, site, &descent.path)?;
    Ok(Step::Again)
}

/// Adds an extent, joined with its neighbours if `join`. [`prepare`] must have made room before the
/// change began to write.
pub(crate) fn add<P: Pages>(change: &mut Change<'_, P>, site: Site, extent: Extent, join: bool) {
    let outcome =
        if join { add_joined(change, site, extent) } else { insert_new(change, site, extent) };
    outcome.expect("the pages were resident when the change began");
}

fn insert_new<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    extent: Extent,
) -> Result<(), Need> {
    match insert_at(change, site, &extent.key(), &extent.data())? {
        Step::Done(outcome) => assert_eq!(
            outcome,
            crate::tree::InsertOutcome::Inserted,
            "pages {extent:?} were owned before"
        ),
        Step::Again => unreachable!("room was prepared"),
    }
    Ok(())
}

fn add_joined<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
    extent: Extent,
) -> Result<(), Need> {
    let at = descend(change.pages(), site.tree, &extent.key())?.leaf();
    let page = load(change.pages(), site.tree, at.page)?;
    let read = |index: usize| -> Result<Option<Extent>, Need> {
        match index < page.node_count() {
            true => extent_at(change.pages(), page, at.page, index).map(Some),
            false => Ok(None),
        }
    };
    let below = match at.index.checked_sub(1) {
        Some(index) => read(index)?.filter(|below| below.last.after(1) == extent.first()),
        None => None,
    };
    let above = read(at.index)?.filter(|above| extent.last.after(1) == above.first());
    let below_pages = below.map_or(0, |below| below.pages);
    let joined = Extent {
        last: above.unwrap_or(extent).last,
        pages: below_pages + extent.pages + above.map_or(0, |above| above.pages),
    };
    let mut editor = change.edit(at.page);
    match (below, above) {
        (None, None) => return insert_new(change, site, extent),
        (_, Some(_)) => editor.overwrite(at.index, 0, &joined.data()),
        (Some(_), None) => editor.replace(at.index - 1, &joined.key(), &joined.data()),
    }
    if below.is_some() && above.is_some() {
        editor.remove(at.index - 1);
    }
    Ok(())
}

/// Takes the first `pages` pages from an extent.
pub(crate) fn take_first<P: Pages>(change: &mut Change<'_, P>, place: Place, pages: u32) -> Extent {
    let Place { extent, leaf, index, .. } = place;
    let taken = Extent::starting_at(extent.first(), pages);
    let mut editor = change.edit(leaf);
    match extent.pages - pages {
        0 => editor.remove(index),
        left => editor.overwrite(index, 0, &left.to_le_bytes()),
    }
    taken
}

/// Number of pages that a tree owns.
pub(crate) fn owned_pages<P: Pages>(pages: &P, space: Space) -> Result<u64, Need> {
    Extents::of(pages, space.owned)?.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::node_cost;

    #[test]
    fn the_cost_of_an_extent_is_that_of_its_node() {
        let extent = Extent::starting_at(PageNumber(9), 4);
        assert_eq!(node_cost(&extent.key(), &extent.data()), EXTENT_COST);
    }
}
