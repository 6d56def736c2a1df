//! Freeing pages that a tree no longer needs.

use brunt_units::PageNumber;

use super::Space;
use super::extents::{add, prepare};
use crate::format::space::Extent;
use crate::page::{Change, Need, Pages};
use crate::tree::{Step, TreeId};

/// Prepares to [free](free) `pages` in this change: reads what that needs and splits if necessary.
///
/// # Errors
/// [`Need`], of any kind.
pub(crate) fn prepare_free<P: Pages>(
    change: &mut Change<'_, P>,
    tree: TreeId,
    pages: &[PageNumber],
) -> Result<Step<()>, Need> {
    let space = Space::of(change.pages(), tree)?;
    for &page in pages {
        let extent = Extent::starting_at(page, 1);
        if prepare(change, space.available_site(), extent, pages.len())? == Step::Again {
            return Ok(Step::Again);
        }
    }
    Ok(Step::Done(()))
}

/// Makes a page of `tree` available to it.
///
/// # Panics
/// When [`prepare_free`] was not called for it before the change began to write.
pub(crate) fn free<P: Pages>(change: &mut Change<'_, P>, tree: TreeId, page: PageNumber) {
    let space =
        Space::of(change.pages(), tree).expect("the root was resident when it was prepared");
    add(change, space.available_site(), Extent::starting_at(page, 1), true);
}
