//! Descending a tree.

use std::cmp::Ordering;

use brunt_units::PageNumber;
use smallvec::SmallVec;

use super::search::Search;
use super::{TreeId, order};
use crate::format::node::Node;
use crate::format::page::{Page, PageFlags};
use crate::page::{Need, Pages};

/// Limit on the height of a tree: with two children per page, 2^32 pages make 32 levels.
pub(super) const LEVELS_MAX: usize = 32;

/// Where an entry is, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The leaf page.
    pub page: PageNumber,
    /// Index of the first entry not below the key. The number of nodes if that entry begins the
    /// next page or does not exist.
    pub index: usize,
    /// Whether this is the entry with the key.
    pub exact: bool,
    /// Whether it is that entry and is marked deleted.
    pub deleted: bool,
}

/// Seeks the first entry that is not below `key`. In a tree with non-unique keys, `key` is a key,
/// or a key and data concatenated.
///
/// # Errors
/// [`Need::Page`], [`Need::Repair`].
pub fn seek<P: Pages>(pages: &P, tree: TreeId, key: &[u8]) -> Result<Found, Need> {
    let descent = descend(pages, tree, key)?;
    let leaf = descent.leaf();
    Ok(Found { page: leaf.page, index: leaf.index, exact: descent.exact, deleted: descent.deleted })
}

impl Found {
    /// Data of the entry found.
    ///
    /// # Errors
    /// [`Need::Page`], [`Need::Repair`].
    pub fn data<P: Pages>(self, pages: &P) -> Result<&[u8], Need> {
        let page = Page::new(pages.resident(self.page)?, pages.page_size());
        Ok(node_at(page, self.page, self.index)?.data)
    }
}

/// Whether a tree's entries are ordered by key and data, because its keys are not unique.
///
/// # Errors
/// [`Need::Page`], [`Need::Repair`].
pub fn orders_by_data<P: Pages>(pages: &P, tree: TreeId) -> Result<bool, Need> {
    Ok(load(pages, tree, tree.root)?.flags().has(PageFlags::NON_UNIQUE))
}

/// A page on the path down and the node taken there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) page: PageNumber,
    pub(crate) index: usize,
}

/// The path from the root to a leaf.
#[derive(Clone, Debug)]
pub(crate) struct Descent {
    pub(crate) path: SmallVec<[Visit; 6]>,
    pub(crate) exact: bool,
    pub(crate) deleted: bool,
}

impl Descent {
    pub(crate) fn leaf(&self) -> Visit {
        *self.path.last().expect("a path has a leaf")
    }
}

/// Page `number`, checked to belong to `tree`.
pub(crate) fn load<P: Pages>(
    pages: &P,
    tree: TreeId,
    number: PageNumber,
) -> Result<Page<'_>, Need> {
    let page = Page::new(pages.resident(number)?, pages.page_size());
    let stray = page.object() != tree.object || page.flags().has(PageFlags::EMPTY);
    if stray || !number.is_some() {
        return Err(Need::Repair(number));
    }
    Ok(page)
}

/// Checks that the next leaf, if any, links back to this one. Called before links are changed.
pub(super) fn look_behind<P: Pages>(
    pages: &P,
    tree: TreeId,
    number: PageNumber,
) -> Result<(), Need> {
    let next = load(pages, tree, number)?.next();
    if !next.is_some() {
        return Ok(());
    }
    let page = load(pages, tree, next)?;
    let leads_back = page.previous() == number && page.flags().has(PageFlags::LEAF);
    leads_back.then_some(()).ok_or(Need::Repair(next))
}

/// As [`look_behind`], for both neighbours.
pub(super) fn look_beside<P: Pages>(
    pages: &P,
    tree: TreeId,
    number: PageNumber,
) -> Result<(), Need> {
    look_behind(pages, tree, number)?;
    let previous = load(pages, tree, number)?.previous();
    if !previous.is_some() {
        return Ok(());
    }
    let page = load(pages, tree, previous)?;
    let leads_here = page.next() == number && page.flags().has(PageFlags::LEAF);
    leads_here.then_some(()).ok_or(Need::Repair(previous))
}

/// Node `index` of page `number`.
pub(crate) fn node_at<'p>(
    page: Page<'p>,
    number: PageNumber,
    index: usize,
) -> Result<Node<'p>, Need> {
    page.node(index).map_err(|_| Need::Repair(number))
}

/// Descends to the leaf where `target` is or would be.
pub(crate) fn descend<P: Pages>(pages: &P, tree: TreeId, target: &[u8]) -> Result<Descent, Need> {
    let pick = |page: Page<'_>, number| {
        let search = Search::new(page, false, target);
        let child = search.first_above(page.node_count() - 1);
        child.map_err(|_| Need::Repair(number))
    };
    let (mut path, leaf) = walk(pages, tree, pick)?;
    let visit = path.last_mut().expect("a path has a leaf");
    let by_data = order::is_by_data(leaf);
    let index = Search::new(leaf, by_data, target).first_not_below(leaf.node_count());
    visit.index = index.map_err(|_| Need::Repair(visit.page))?;
    let node = match visit.index < leaf.node_count() {
        true => Some(node_at(leaf, visit.page, visit.index)?),
        false => None,
    };
    let found = node.filter(|node| order::compare(*node, by_data, target) == Ordering::Equal);
    Ok(Descent { path, exact: found.is_some(), deleted: found.is_some_and(Node::is_deleted) })
}

/// The tree's last leaf.
pub(super) fn last_leaf<P: Pages>(pages: &P, tree: TreeId) -> Result<PageNumber, Need> {
    let (path, _) = walk(pages, tree, |page, _| Ok(page.node_count() - 1))?;
    Ok(path.last().expect("a path has a leaf").page)
}

/// The number of levels.
pub(crate) fn levels<P: Pages>(pages: &P, tree: TreeId) -> Result<usize, Need> {
    Ok(walk(pages, tree, |_, _| Ok(0))?.0.len())
}

/// Descends to a leaf by the children that `pick` chooses. The leaf's own index stays 0.
fn walk<P: Pages>(
    pages: &P,
    tree: TreeId,
    pick: impl Fn(Page<'_>, PageNumber) -> Result<usize, Need>,
) -> Result<(SmallVec<[Visit; 6]>, Page<'_>), Need> {
    let mut path = SmallVec::new();
    let mut number = tree.root;
    let mut leaf_expected = None;
    let mut kind = None;
    loop {
        let page = load(pages, tree, number)?;
        let flags = page.flags();
        let is_leaf = flags.has(PageFlags::LEAF);
        let misplaced = leaf_expected.is_some_and(|expected| expected != is_leaf)
            || flags.has(PageFlags::ROOT) != path.is_empty()
            || *kind.get_or_insert(flags.kind()) != flags.kind();
        if misplaced || path.len() == LEVELS_MAX || (!is_leaf && page.node_count() == 0) {
            return Err(Need::Repair(number));
        }
        path.push(Visit { page: number, index: 0 });
        if is_leaf {
            return Ok((path, page));
        }
        let index = pick(page, number)?;
        path.last_mut().expect("one was pushed").index = index;
        leaf_expected = Some(flags.has(PageFlags::PARENT_OF_LEAF));
        let child = node_at(page, number, index)?.child();
        number = child.ok_or(Need::Repair(number))?;
    }
}
