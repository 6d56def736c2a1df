//! Which pages are the database's: the space that its root tree, page 1, owns.
//!
//! Most databases keep it as a tree of extents; a very small one may have it as one extent in the space header.

use brunt_units::PageNumber;

use super::tree::{TreeTrouble, Trees};
use crate::format::catalog::system::DATABASE_ROOT;
use crate::format::page::Page;
use crate::format::space::{Extent, SpaceKind};

/// The owned extents in ascending order, none overlapping or touching another.
///
/// # Errors
/// In words, when the space cannot be read or makes no sense.
pub(super) async fn owned(trees: &Trees<'_>) -> Result<Vec<Extent>, String> {
    let say = |trouble: TreeTrouble| trouble.to_string();
    let bytes = trees.page(DATABASE_ROOT).await.map_err(say)?;
    let page = Page::new(&bytes, trees.size);
    let header = page.space_header().map_err(|error| error.to_string())?;
    let owned_root = match header.kind {
        SpaceKind::Multiple { owned_root } => owned_root,
        SpaceKind::Single { .. } if header.pages > 0 => {
            return Ok(vec![Extent::starting_at(DATABASE_ROOT, header.pages)]);
        }
        SpaceKind::Single { .. } => return Err("the root owns nothing".into()),
    };
    let mut extents = Vec::new();
    let mut strange = false;
    let read = trees.leaves(owned_root, |node| {
        match Extent::from_node(node.key, node.data) {
            Some(extent) => extents.push(extent),
            None => strange = true,
        }
    });
    read.await.map_err(say)?;
    if strange {
        return Err("an extent makes no sense".into());
    }
    let merged = merge(extents);
    let holds_itself = merged.iter().any(|extent| extent.contains(DATABASE_ROOT));
    if holds_itself {
        Ok(merged)
    } else {
        Err("the root does not own itself".into())
    }
}

/// Sorted, with neighbours and overlaps joined.
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
    Extent {
        last,
        pages: last.0 - first.0 + 1,
    }
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
