//! Allocates one page for a tree, as part of the change that uses it.
//!
//! First fit: the lowest available page, so that a tree loaded in order is in order on disk.

use brunt_units::PageNumber;

use super::extents::{Place, take_first};
use super::{Extents, Space, SplitBuffer, extent_pages, extents, obtain};
use crate::page::{Change, Need, Pages};
use crate::tree::{Site, Step, levels, shrink_at};

/// A page found for a tree, with memory for it. It belongs to the tree once [taken](Self::take).
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Grant {
    page: PageNumber,
    from: From,
}

#[derive(Clone, Copy, Debug)]
enum From {
    /// The split buffer after removing the page, and its root.
    Buffer(PageNumber, SplitBuffer),
    Extent(Place),
}

impl Grant {
    pub(crate) fn page(self) -> PageNumber {
        self.page
    }

    /// Removes the page from the available ones. The tree's space must not have been written since
    /// the page was reserved.
    pub(crate) fn take<P: Pages>(self, change: &mut Change<'_, P>) -> PageNumber {
        match self.from {
            From::Buffer(root, left) => change.edit(root).set_external_header(&left.to_bytes()),
            From::Extent(place) => {
                take_first(change, place, 1);
            }
        }
        self.page
    }
}

/// Finds a page for a tree or a space tree. [`Step::Again`] when something had to be moved first:
/// an extent from the parent, or a page into the split buffer.
pub(crate) fn reserve<P: Pages>(
    change: &mut Change<'_, P>,
    site: Site,
) -> Result<Step<Grant>, Need> {
    let space = Space::of(change.pages(), site.owner)?;
    let root = space.available.root;
    let mut buffer = SplitBuffer::load(change.pages(), space)?;
    if !site.is_space() && !is_enough(change.pages(), space, buffer, 1)? {
        let owned = extents::owned_pages(change.pages(), space)?;
        obtain(change, site.owner, extent_pages(owned))?;
        return Ok(Step::Again);
    }
    let in_use = |page| [space.owner.root, space.owned.root, root].contains(&page);
    if let Some(page) = buffer.take() {
        if in_use(page) {
            return Err(Need::Repair(root));
        }
        change.pages().claimed(page)?;
        let from = From::Buffer(root, buffer);
        return Ok(Step::Done(Grant { page, from }));
    }
    let available = space.available_site();
    if let Some(first) = Extents::of(change.pages(), available.tree)?.next()?
        && first.is_alone
        && first.extent.pages == 1
        && shrink_at(change, available, &first.extent.key())? == Step::Again
    {
        return Ok(Step::Again);
    }
    let Some(place) = first_to_take(change.pages(), space)? else {
        // The reserved pages are gone, which cannot happen to a space tree written by us.
        return Err(Need::Repair(root));
    };
    if site.is_space() {
        // A space tree's leaf must not change during its own split, so the page goes through the
        // buffer.
        let extent = take_first(change, place, 1);
        buffer.put(extent.last);
        change.edit(root).set_external_header(&buffer.to_bytes());
        return Ok(Step::Again);
    }
    let page = place.extent.first();
    if in_use(page) || page == place.leaf {
        return Err(Need::Repair(place.leaf));
    }
    change.pages().claimed(page)?;
    let from = From::Extent(place);
    Ok(Step::Done(Grant { page, from }))
}

/// The first extent whose first page can be taken without leaving a page without nodes.
fn first_to_take<P: Pages>(pages: &P, space: Space) -> Result<Option<Place>, Need> {
    let mut extents = Extents::of(pages, space.available)?;
    while let Some(place) = extents.next()? {
        if place.extent.pages > 1 || !place.is_alone {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Number of pages reserved for space trees: the most that one insert into the owned-extents tree
/// can need, a page per level and one for a new root.
fn kept_back<P: Pages>(pages: &P, space: Space) -> Result<u64, Need> {
    Ok(levels(pages, space.owned)? as u64 + 1)
}

/// Whether `wanted` pages are available besides the reserved ones.
pub(super) fn is_enough<P: Pages>(
    pages: &P,
    space: Space,
    buffer: SplitBuffer,
    wanted: u32,
) -> Result<bool, Need> {
    let enough = kept_back(pages, space)? + u64::from(wanted);
    let mut sum: u64 = buffer.runs().map(|run| u64::from(run.pages)).sum();
    let mut extents = Extents::of(pages, space.available)?;
    while sum < enough {
        let Some(place) = extents.next()? else {
            return Ok(false);
        };
        // The last page of a leaf's only node stays; see `first_to_take`.
        sum += u64::from(place.extent.pages) - u64::from(place.is_alone);
    }
    Ok(true)
}
