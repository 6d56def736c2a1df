//! Obtaining an extent from the parent, and adding pages to the database.

use brunt_units::PageNumber;

use super::allocate::is_enough;
use super::extents::{Place, add, owned_pages, prepare_gain, take_first};
use super::{Extents, Space, SplitBuffer, extent_pages};
use crate::format::space::Extent;
use crate::page::{Change, Need, Pages};
use crate::tree::{Step, TreeId};

/// Database, table, index: no tree is deeper.
const DEPTH_MAX: u32 = 4;

/// Moves an extent of at least `pages` pages from the parent's available ones to `tree`'s owned and
/// available ones, or makes room for that. Always makes a change; the caller checks whether the
/// extent has arrived.
///
/// # Errors
/// [`Need::Growth`] when the database root has none; [`Need::Page`], [`Need::Fresh`],
/// [`Need::Repair`].
///
/// # Panics
/// When `pages` is 0.
pub fn obtain<P: Pages>(change: &mut Change<'_, P>, tree: TreeId, pages: u32) -> Result<(), Need> {
    assert!(pages > 0, "an extent has pages");
    obtain_below(change, tree, pages, DEPTH_MAX)
}

/// [`obtain`], with at most `depth` parents above.
fn obtain_below<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    pages: u32,
    depth: u32,
) -> Result<(), Need> {
    if depth == 0 {
        return Err(Need::Repair(tree.root));
    }
    let space = Space::of(change.pages(), tree)?;
    let Some(parent) = space.parent else {
        return Err(Need::Growth(pages));
    };
    let source = Space::of(change.pages(), parent)?;
    let Some(place) = fitting(change.pages(), source, pages)? else {
        let owned = owned_pages(change.pages(), source)?;
        // The parent keeps its reserved pages.
        let wanted = extent_pages(owned).max(pages.saturating_add(super::EXTENT_PAGES_MIN));
        return obtain_below(change, parent, wanted, depth - 1);
    };
    let extent = Extent::starting_at(place.extent.first(), pages);
    if prepare_gain(change, space, extent)? == Step::Again {
        return Ok(());
    }
    let extent = take_first(change, place, pages);
    add(change, space.owned_site(), extent, false);
    add(change, space.available_site(), extent, true);
    Ok(())
}

/// The first extent with at least `wanted` pages to take.
fn fitting<P: Pages>(pages: &P, space: Space, wanted: u32) -> Result<Option<Place>, Need> {
    let buffer = SplitBuffer::load(pages, space)?;
    if !is_enough(pages, space, buffer, wanted)? {
        return Ok(None);
    }
    let mut extents = Extents::of(pages, space.available)?;
    while let Some(place) = extents.next()? {
        let most = place.extent.pages - u32::from(place.is_alone);
        if most >= wanted {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Adds `pages` pages, which the file already has, to the owned and available extents of `root`,
/// after the last one owned. Returns the new last page.
///
/// # Errors
/// [`Need::Page`], [`Need::Fresh`], [`Need::Repair`].
///
/// # Panics
/// When `pages` is 0, or page numbers would exceed 32 bits.
pub fn grow<P: Pages>(
    change: &mut Change<'_, P>,
    root: TreeId,
    pages: u32,
) -> Result<Step<PageNumber>, Need> {
    let space = Space::of(change.pages(), root)?;
    let extent = Extent::starting_at(last_owned(change.pages(), space)?.after(1), pages);
    if prepare_gain(change, space, extent)? == Step::Again {
        return Ok(Step::Again);
    }
    add(change, space.owned_site(), extent, true);
    add(change, space.available_site(), extent, true);
    Ok(Step::Done(extent.last))
}

/// The last page of the database.
///
/// # Errors
/// [`Need::Page`], [`Need::Repair`].
pub fn last_page<P: Pages>(pages: &P) -> Result<PageNumber, Need> {
    last_owned(pages, Space::of(pages, TreeId::DATABASE)?)
}

fn last_owned<P: Pages>(pages: &P, space: Space) -> Result<PageNumber, Need> {
    let mut extents = Extents::of(pages, space.owned)?;
    let mut last = PageNumber::NONE;
    while let Some(place) = extents.next()? {
        last = place.extent.last;
    }
    Ok(last)
}
