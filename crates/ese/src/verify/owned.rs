//! The pages of the database: the space that its root tree, page 1, owns.
//!
//! Most databases store it as a tree of extents; a very small one may have a single extent in the
//! space header.

use brunt_units::PageNumber;

use super::tree::{TreeTrouble, Trees};
use crate::format::catalog::system::DATABASE_ROOT;
use crate::format::page::Page;
use crate::format::space::{Extent, SpaceKind};

/// Why the owned space is unknown.
pub(super) struct Unknown {
    /// The page at which reading the owned space failed.
    pub(super) page: PageNumber,
    pub(super) why: String,
    /// Whether the page is past the end of the file.
    pub(super) is_past_end: bool,
}

impl From<TreeTrouble> for Unknown {
    fn from(trouble: TreeTrouble) -> Self {
        let page = trouble.page();
        Self {
            // The root points to page 0.
            page: page.max(DATABASE_ROOT),
            why: trouble.to_string(),
            is_past_end: page.is_some() && matches!(trouble, TreeTrouble::Outside(_)),
        }
    }
}

impl Unknown {
    fn nonsense(page: PageNumber, why: impl ToString) -> Self {
        Self { page, why: why.to_string(), is_past_end: false }
    }
}

/// The owned extents in ascending order, without overlapping or adjacent ones.
///
/// # Errors
/// When the space cannot be read or is malformed.
pub(super) async fn owned(trees: &Trees<'_>) -> Result<Vec<Extent>, Unknown> {
    let bytes = trees.page(DATABASE_ROOT).await?;
    let page = Page::new(&bytes, trees.size);
    let nonsense = |why: &str| Unknown::nonsense(DATABASE_ROOT, why);
    let header = page.space_header().map_err(|error| Unknown::nonsense(DATABASE_ROOT, error))?;
    let owned_root = match header.kind {
        SpaceKind::Multiple { owned_root } => owned_root,
        SpaceKind::Single { .. } if header.pages > 0 => {
            return Ok(vec![Extent::starting_at(DATABASE_ROOT, header.pages)]);
        }
        SpaceKind::Single { .. } => return Err(nonsense("the root owns nothing")),
    };
    let mut extents = Vec::new();
    let mut strange = false;
    let read = trees.leaves(owned_root, |node| match Extent::from_node(node.key, node.data) {
        Some(extent) => extents.push(extent),
        None => strange = true,
    });
    read.await?;
    if strange {
        return Err(Unknown::nonsense(owned_root, "an extent makes no sense"));
    }
    let merged = merge(extents);
    let holds_itself = merged.iter().any(|extent| extent.contains(DATABASE_ROOT));
    if holds_itself { Ok(merged) } else { Err(nonsense("the root does not own itself")) }
}

/// Sorts, and joins adjacent and overlapping extents.
fn merge(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_by_key(|extent| extent.first());
    let mut merged: Vec<Extent> = Vec::new();
    for extent in extents {
        match merged.last_mut() {
            Some(before) if extent.first().0 <= before.last.0.saturating_add(1) => {
                let last = PageNumber(before.last.0.max(extent.last.0));
                *before = between(before.first(), last);
            }
            _ => merged.push(extent),
        }
    }
    merged
}

fn between(first: PageNumber, last: PageNumber) -> Extent {
    Extent { last, pages: last.0 - first.0 + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_join_when_they_touch_or_overlap() {
        let extent = |first, last| between(PageNumber(first), PageNumber(last));
        let merged = merge(vec![
            extent(50, 60),
            extent(1, 10),
            extent(11, 20),
            extent(15, 18),
            extent(22, 22),
            extent(u32::MAX - 1, u32::MAX),
            extent(u32::MAX, u32::MAX),
        ]);
        let expected = [(1, 20), (22, 22), (50, 60), (u32::MAX - 1, u32::MAX)];
        assert_eq!(merged, expected.map(|(first, last)| extent(first, last)));
    }
}
