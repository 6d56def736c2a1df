//! Checking a whole tree.
//!
//! The check visits page by page, parents before children and children from left to right, and
//! compares each page with what the path to it requires: object id, kind, level, key range, links
//! between leaves. [`TreeCheck`] keeps its position: after a missing page has been read, it
//! continues without revisiting others. Its memory is the separators on the path down.

use std::cmp::Ordering;

use brunt_units::PageNumber;

use super::find::LEVELS_MAX;
use super::{TreeId, order};
use crate::format::node::Node;
use crate::format::page::{Page, PageFlags};
use crate::format::page_check::PageProblem;
use crate::page::{Need, Pages};

/// Flags that all pages of a tree share.
const KIND: PageFlags = PageFlags(
    PageFlags::SPACE_TREE.0
        | PageFlags::INDEX.0
        | PageFlags::LONG_VALUE.0
        | PageFlags::NON_UNIQUE.0,
);

/// A rule that a page breaks in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeProblem {
    /// The page violates a rule of its own.
    #[error(transparent)]
    Page(#[from] PageProblem),
    /// The page carries another tree's id, or is marked empty.
    #[error("the page is not this tree's")]
    NotOurs,
    /// Root, leaf or kind flags that do not match the position.
    #[error("flags {0:#x} do not fit the page's place")]
    Flags(u32),
    /// A leaf at a different level than the others, or a page at an impossible level.
    #[error("a page at level {0}, where it cannot be")]
    Level(usize),
    /// A page without nodes.
    #[error("no nodes")]
    NoNodes,
    /// A node outside the key range given by the parent's separators.
    #[error("node {0} is outside the range of its page")]
    OutsideRange(usize),
    /// The last node of a level's last page has a separator, or another last node has none.
    #[error("the last separator does not fit the page's place")]
    LastSeparator,
    /// A link that does not lead to the neighbour.
    #[error("links {previous} and {next} do not lead to the neighbours")]
    Links {
        /// The link to the previous leaf.
        previous: PageNumber,
        /// The link to the next leaf.
        next: PageNumber,
    },
    /// The page occurs twice.
    #[error("the page is used twice")]
    UsedTwice,
    /// The tree does not own the page.
    #[error("the page is not in the tree's own extents")]
    NotOwned,
    /// A space tree node that is not an extent, or overlaps the previous one.
    #[error("an extent that cannot be")]
    Extent,
}

/// Why a check stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckStop {
    /// A page must be read first; then continue.
    #[error("page needed: {0:?}")]
    Need(Need),
    /// A rule is broken. The pages below were not checked; continuing checks the rest.
    #[error("page {page}: {problem}")]
    Fault {
        page: PageNumber,
        /// The rule.
        problem: TreeProblem,
    },
}

impl From<Need> for CheckStop {
    fn from(need: Need) -> Self {
        Self::Need(need)
    }
}

/// Receives what a check visits.
pub trait Visitor {
    /// A page of the tree.
    ///
    /// # Errors
    /// A rule that the page violates by being there.
    fn page(&mut self, page: PageNumber) -> Result<(), TreeProblem>;

    /// A node of a leaf, marked deleted or not.
    ///
    /// # Errors
    /// A rule that the node violates.
    fn node(&mut self, _node: Node<'_>) -> Result<(), TreeProblem> {
        Ok(())
    }
}

/// Contents of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSummary {
    /// Levels; 1 if the root is a leaf.
    pub levels: usize,
    /// Pages, including the root.
    pub pages: u64,
    pub leaves: u64,
    /// Entries not marked deleted.
    pub entries: u64,
    /// Entries marked deleted.
    pub deleted: u64,
}

/// A check in progress.
#[derive(Clone, Debug)]
pub struct TreeCheck {
    tree: TreeId,
    /// Pages still to visit, the next one last.
    stack: Vec<Pending>,
    kind: Option<PageFlags>,
    last_leaf: Option<(PageNumber, PageNumber)>,
    summary: TreeSummary,
}

#[derive(Clone, Debug)]
struct Pending {
    page: PageNumber,
    level: usize,
    /// Whether the page must be a leaf; unknown for the root.
    leaf: Option<bool>,
    /// Inclusive lower bound of every entry ...
    lower: Vec<u8>,
    /// ... and exclusive upper bound; `None` for the last page of a level.
    upper: Option<Vec<u8>>,
}

impl TreeCheck {
    /// A check of `tree`.
    pub fn new(tree: TreeId) -> Self {
        let root =
            Pending { page: tree.root, level: 1, leaf: None, lower: Vec::new(), upper: None };
        Self {
            tree,
            stack: vec![root],
            kind: None,
            last_leaf: None,
            summary: TreeSummary::default(),
        }
    }

    /// Runs to the end of the tree.
    ///
    /// # Errors
    /// [`CheckStop`]; call again to continue.
    pub fn run<P: Pages>(
        &mut self,
        pages: &P,
        visitor: &mut impl Visitor,
    ) -> Result<TreeSummary, CheckStop> {
        while let Some(pending) = self.stack.last() {
            let number = pending.page;
            if !number.is_some() {
                self.stack.pop();
                let problem = TreeProblem::NotOurs;
                return Err(CheckStop::Fault { page: number, problem });
            }
            let page = Page::new(pages.resident(number)?, pages.page_size());
            let pending = self.stack.pop().expect("there is one");
            let judged = visitor.page(number).and_then(|()| self.judge(page, &pending, visitor));
            if let Err(problem) = judged {
                return Err(CheckStop::Fault { page: number, problem });
            }
        }
        if let Some((page, next)) = self.last_leaf.take()
            && next.is_some()
        {
            let problem = TreeProblem::Links { previous: PageNumber::NONE, next };
            return Err(CheckStop::Fault { page, problem });
        }
        Ok(self.summary)
    }

    fn judge(
        &mut self,
        page: Page<'_>,
        place: &Pending,
        visitor: &mut impl Visitor,
    ) -> Result<(), TreeProblem> {
        let flags = page.flags();
        if page.object() != self.tree.object || flags.has(PageFlags::EMPTY) {
            return Err(TreeProblem::NotOurs);
        }
        page.check()?;
        if place.level > LEVELS_MAX {
            return Err(TreeProblem::Level(place.level));
        }
        let is_root = place.level == 1;
        let is_leaf = flags.has(PageFlags::LEAF);
        let kind = PageFlags(flags.0 & KIND.0);
        let misplaced = flags.has(PageFlags::ROOT) != is_root
            || place.leaf.is_some_and(|leaf| leaf != is_leaf)
            || (is_leaf && flags.has(PageFlags::PARENT_OF_LEAF))
            || *self.kind.get_or_insert(kind) != kind;
        if misplaced {
            return Err(TreeProblem::Flags(flags.0));
        }
        if page.node_count() == 0 && !(is_root && is_leaf) {
            return Err(TreeProblem::NoNodes);
        }
        self.summary.pages += 1;
        if is_leaf { self.leaf(page, place, visitor) } else { self.branch(page, place) }
    }

    fn leaf(
        &mut self,
        page: Page<'_>,
        place: &Pending,
        visitor: &mut impl Visitor,
    ) -> Result<(), TreeProblem> {
        self.summary.leaves += 1;
        if self.summary.levels == 0 {
            self.summary.levels = place.level;
        }
        if self.summary.levels != place.level {
            return Err(TreeProblem::Level(place.level));
        }
        let by_data = order::is_by_data(page);
        for (index, node) in page.nodes().enumerate() {
            let node = node.map_err(PageProblem::from)?;
            let below = order::compare(node, by_data, &place.lower) == Ordering::Less;
            if below || !is_below(node, by_data, place.upper.as_deref()) {
                return Err(TreeProblem::OutsideRange(index));
            }
            visitor.node(node)?;
            match node.is_deleted() {
                true => self.summary.deleted += 1,
                false => self.summary.entries += 1,
            }
        }
        let links = TreeProblem::Links { previous: page.previous(), next: page.next() };
        let before = self.last_leaf.replace((place.page, page.next()));
        let expected = before.map_or((PageNumber::NONE, place.page), |before| before);
        if (page.previous(), place.page) == expected { Ok(()) } else { Err(links) }
    }

    fn branch(&mut self, page: Page<'_>, place: &Pending) -> Result<(), TreeProblem> {
        if page.previous().is_some() || page.next().is_some() {
            return Err(TreeProblem::Links { previous: page.previous(), next: page.next() });
        }
        let leaf = page.flags().has(PageFlags::PARENT_OF_LEAF);
        let last = page.node_count() - 1;
        let mut children = Vec::with_capacity(page.node_count());
        let mut lower = place.lower.clone();
        for (index, node) in page.nodes().enumerate() {
            let node = node.map_err(PageProblem::from)?;
            let separator = node.key.to_vec();
            let upper = match &place.upper {
                None if index == last && separator.is_empty() => None,
                None if index == last => return Err(TreeProblem::LastSeparator),
                Some(_) if separator.is_empty() => return Err(TreeProblem::LastSeparator),
                Some(upper) if separator > *upper => return Err(TreeProblem::OutsideRange(index)),
                _ => Some(separator),
            };
            if upper.as_ref().is_some_and(|upper| *upper <= lower) {
                return Err(TreeProblem::OutsideRange(index));
            }
            children.push(Pending {
                page: node.child().unwrap_or(PageNumber::NONE),
                level: place.level + 1,
                leaf: Some(leaf),
                lower: std::mem::take(&mut lower),
                upper: upper.clone(),
            });
            lower = upper.unwrap_or_default();
        }
        self.stack.extend(children.into_iter().rev());
        Ok(())
    }
}

fn is_below(node: Node<'_>, by_data: bool, upper: Option<&[u8]>) -> bool {
    upper.is_none_or(|upper| order::compare(node, by_data, upper) == Ordering::Less)
}
