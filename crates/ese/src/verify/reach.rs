//! Blank pages that should have data according to the trees: never written, or their first write
//! was lost.
//!
//! The pass over the file has collected two sets: blank pages, and pages that some valid branch
//! page points to. A branch page may be a remnant of a removed tree, so a page in both sets is only
//! a suspicion, and the trees in the catalog are walked to settle it. Branch pages do not point to
//! roots; those are looked up in the catalog's rows.

use brunt_units::PageNumber;

use super::page_set::PageSet;
use super::tree::Trees;
use crate::format::catalog::system::{CATALOG_ROOT, DATABASE_ROOT};
use crate::format::catalog::{CatalogRow, RowKind};
use crate::format::page::Page;

/// What the pass over the file has seen.
pub(super) struct Seen {
    /// Blank pages in the owned space.
    pub(super) blank: PageSet,
    /// Children of valid branch pages.
    pub(super) children: PageSet,
}

/// The blank pages that a tree reaches, ascending; and why some trees could not be followed.
pub(super) async fn blank_and_reached(
    trees: &Trees<'_>,
    seen: &Seen,
) -> (Vec<PageNumber>, Option<String>) {
    if seen.blank.is_empty() {
        return (Vec::new(), None);
    }
    let (roots, mut trouble) = roots(trees).await;
    let mut found = PageSet::new(trees.pages);
    let mut reached = Vec::new();
    let mut reach = |page| {
        if seen.blank.contains(page) && found.insert(page) {
            reached.push(page);
        }
    };
    let suspicious = seen.blank.meets(&seen.children);
    for root in roots {
        reach(root);
        if seen.blank.contains(root) || !suspicious {
            continue;
        }
        let walked = trees.children(root, &mut reach).await;
        if let Err(why) = walked {
            trouble.get_or_insert(why.to_string());
        }
    }
    reached.sort_unstable();
    (reached, trouble)
}

/// The roots of all trees, space trees included; and why some may be missing.
async fn roots(trees: &Trees<'_>) -> (Vec<PageNumber>, Option<String>) {
    let mut trouble = None;
    let mut objects = vec![DATABASE_ROOT, CATALOG_ROOT];
    let read = trees.leaves(CATALOG_ROOT, |node| match CatalogRow::decode(node.data, trees.size) {
        Ok(row) => match row.kind {
            RowKind::Table | RowKind::Index | RowKind::LongValues => {
                objects.push(PageNumber(row.type_or_root));
            }
            RowKind::Column | RowKind::Callback => {}
        },
        Err(why) => {
            trouble.get_or_insert(why.to_string());
        }
    });
    if let Err(why) = read.await {
        trouble.get_or_insert(why.to_string());
    }
    objects.sort_unstable();
    objects.dedup();
    let mut roots = Vec::new();
    for object in objects {
        roots.push(object);
        let Ok(bytes) = trees.page(object).await else {
            continue; // Blank or bad: found for itself.
        };
        let header = Page::new(&bytes, trees.size).space_header();
        if let Some(owned) = header.ok().and_then(|header| header.owned_root()) {
            roots.extend([owned, PageNumber(owned.0.saturating_add(1))]);
        }
    }
    (roots, trouble)
}
