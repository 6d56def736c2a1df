//! Accounting for every page of a database.
//!
//! First all space trees are read. They say which tree owns a page; the innermost owner counts.
//! Then all trees are walked. Every page of the database must occur exactly once: in its owner's
//! tree, in one of its owner's space trees, or available there.

use std::collections::BTreeMap;

use brunt_units::PageNumber;

use super::SplitBuffer;
use crate::format::node::Node;
use crate::format::page::Page;
use crate::format::space::{Extent, SpaceHeader, SpaceKind};
use crate::page::Pages;
use crate::tree::TreeId;
use crate::tree::check::{CheckStop, TreeCheck, TreeProblem, TreeSummary, Visitor};

/// A check of all trees and all space in progress. The catalog says which trees there are.
pub struct DatabaseCheck {
    trees: Vec<TreeId>,
    spaces: BTreeMap<PageNumber, TreeSpace>,
    phase: Phase,
    ledger: Ledger,
    summaries: Vec<(TreeId, TreeSummary)>,
}

enum Phase {
    /// Reading the space of tree `.0`.
    Spaces(usize, Option<Box<SpaceReading>>),
    /// Walking tree `.0`.
    Trees(usize, Box<TreeCheck>),
    Finished,
}

/// The space of one tree as read.
struct TreeSpace {
    tree: TreeId,
    parent: PageNumber,
    owned: Vec<Extent>,
    available: Vec<Extent>,
    /// Pages of the two space trees.
    used: Vec<PageNumber>,
}

/// The two space trees of a tree while being read.
struct SpaceReading {
    checks: [TreeCheck; 2],
    lists: [ExtentList; 2],
    buffers: Vec<Extent>,
    parent: PageNumber,
}

/// Collects the extents of a space tree.
#[derive(Default)]
struct ExtentList {
    extents: Vec<Extent>,
    pages: Vec<PageNumber>,
}

impl Visitor for ExtentList {
    fn page(&mut self, page: PageNumber) -> Result<(), TreeProblem> {
        self.pages.push(page);
        Ok(())
    }

    fn node(&mut self, node: Node<'_>) -> Result<(), TreeProblem> {
        if node.is_deleted() {
            return Ok(());
        }
        let extent = Extent::from_node(node.key, node.data).ok_or(TreeProblem::Extent)?;
        if self.extents.last().is_some_and(|before| before.last >= extent.first()) {
            return Err(TreeProblem::Extent);
        }
        self.extents.push(extent);
        Ok(())
    }
}

/// Limit on pages of a database to check, which takes 128 MiB of memory; a damaged extent may claim
/// more.
const PAGES_MAX: usize = 1 << 24;

/// For each page: the index of its owner among the trees, and whether it has been accounted for.
#[derive(Default)]
struct Ledger {
    pages: Vec<(u32, bool)>,
}

impl Ledger {
    const NOBODY: u32 = u32::MAX;

    /// Transfers a page from one owner to the next.
    fn hand_over(&mut self, page: PageNumber, from: u32, to: u32) -> Result<(), TreeProblem> {
        let index = page.0 as usize;
        if index >= PAGES_MAX {
            return Err(TreeProblem::Extent);
        }
        if index >= self.pages.len() && from == Self::NOBODY {
            self.pages.resize(index + 1, (Self::NOBODY, false));
        }
        match self.pages.get_mut(index) {
            Some((owner, _)) if *owner == from => {
                *owner = to;
                Ok(())
            }
            _ => Err(TreeProblem::NotOwned),
        }
    }

    fn account(&mut self, page: PageNumber, owner: u32) -> Result<(), TreeProblem> {
        match self.pages.get_mut(page.0 as usize) {
            Some((its, used)) if *its == owner => {
                if std::mem::replace(used, true) {
                    return Err(TreeProblem::UsedTwice);
                }
                Ok(())
            }
            _ => Err(TreeProblem::NotOwned),
        }
    }

    /// A page that has an owner but did not occur.
    fn lost(&self) -> Option<PageNumber> {
        let lost = |(owner, used): &(u32, bool)| *owner != Self::NOBODY && !used;
        let index = self.pages.iter().position(lost)?;
        u32::try_from(index).ok().map(PageNumber)
    }
}

/// Accounts for the pages of one tree.
struct Bookkeeper<'l> {
    ledger: &'l mut Ledger,
    owner: u32,
}

impl Visitor for Bookkeeper<'_> {
    fn page(&mut self, page: PageNumber) -> Result<(), TreeProblem> {
        self.ledger.account(page, self.owner)
    }
}

fn extent_pages(extent: Extent) -> impl Iterator<Item = PageNumber> {
    (extent.first().0..=extent.last.0).map(PageNumber)
}

impl DatabaseCheck {
    /// A check of the database that holds `trees`, not counting the database root. More than
    /// 16,777,215 pages are a fault.
    pub fn new(trees: &[TreeId]) -> Self {
        let mut all = vec![TreeId::DATABASE];
        all.extend_from_slice(trees);
        Self {
            trees: all,
            spaces: BTreeMap::new(),
            phase: Phase::Spaces(0, None),
            ledger: Ledger::default(),
            summaries: Vec::new(),
        }
    }

    /// Runs to the end. Returns each tree's summary, the database root's first.
    ///
    /// # Errors
    /// [`CheckStop`]. After a need, satisfy it and call again. After a fault, the check is over.
    pub fn run<P: Pages>(&mut self, pages: &P) -> Result<Vec<(TreeId, TreeSummary)>, CheckStop> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Finished) {
                Phase::Spaces(index, reading) if index < self.trees.len() => {
                    self.read_space(pages, index, reading)?;
                }
                Phase::Spaces(..) => {
                    self.hand_out()?;
                    self.phase = self.walk(0);
                }
                Phase::Trees(index, mut check) => {
                    let owner = u32::try_from(index).unwrap_or(Ledger::NOBODY);
                    let ledger = &mut self.ledger;
                    match check.run(pages, &mut Bookkeeper { ledger, owner }) {
                        Ok(summary) => self.summaries.push((self.trees[index], summary)),
                        Err(stop) => {
                            self.phase = Phase::Trees(index, check);
                            return Err(stop);
                        }
                    }
                    self.phase = self.walk(index + 1);
                }
                Phase::Finished => {
                    let lost = self.ledger.lost();
                    let problem = TreeProblem::NotOwned;
                    return match lost {
                        Some(page) => Err(CheckStop::Fault { page, problem }),
                        None => Ok(self.summaries.clone()),
                    };
                }
            }
        }
    }

    fn walk(&self, index: usize) -> Phase {
        match self.trees.get(index) {
            Some(tree) => Phase::Trees(index, Box::new(TreeCheck::new(*tree))),
            None => Phase::Finished,
        }
    }

    /// Reads the space of tree `index`, or a part of it.
    fn read_space<P: Pages>(
        &mut self,
        pages: &P,
        index: usize,
        reading: Option<Box<SpaceReading>>,
    ) -> Result<(), CheckStop> {
        let tree = self.trees[index];
        let mut reading = match reading {
            Some(reading) => reading,
            None => {
                self.phase = Phase::Spaces(index, None);
                let header = space_header(pages, tree)?;
                match header.kind {
                    SpaceKind::Single { free } => {
                        self.spaces.insert(tree.root, single(tree, header, free));
                        self.phase = Phase::Spaces(index + 1, None);
                        return Ok(());
                    }
                    SpaceKind::Multiple { owned_root } => {
                        Box::new(SpaceReading::new(pages, tree, header, owned_root)?)
                    }
                }
            }
        };
        for (check, list) in reading.checks.iter_mut().zip(&mut reading.lists) {
            if let Err(stop) = check.run(pages, list) {
                self.phase = Phase::Spaces(index, Some(reading));
                return Err(stop);
            }
        }
        let SpaceReading { lists: [owned, available], buffers, parent, .. } = *reading;
        let space = TreeSpace {
            tree,
            parent,
            owned: owned.extents,
            available: [available.extents, buffers].concat(),
            used: [owned.pages, available.pages].concat(),
        };
        self.spaces.insert(tree.root, space);
        self.phase = Phase::Spaces(index + 1, None);
        Ok(())
    }

    /// Assigns every page to its innermost owner, and accounts for available pages and those of
    /// space trees.
    fn hand_out(&mut self) -> Result<(), CheckStop> {
        let place = |root: PageNumber| {
            let place = self.trees.iter().position(|tree| tree.root == root);
            place.and_then(|place| u32::try_from(place).ok())
        };
        let mut depths = Vec::new();
        for space in self.spaces.values() {
            let mut depth = 0;
            let mut above = space.parent;
            while let Some(parent) = self.spaces.get(&above) {
                (above, depth) = (parent.parent, depth + 1);
                if depth > self.spaces.len() {
                    let (page, problem) = (space.tree.root, TreeProblem::NotOwned);
                    return Err(CheckStop::Fault { page, problem });
                }
            }
            depths.push((depth, space.tree.root));
        }
        depths.sort_unstable();
        let ledger = &mut self.ledger;
        for (_, root) in &depths {
            let space = &self.spaces[root];
            let to = place(*root).unwrap_or(Ledger::NOBODY);
            let from = place(space.parent).unwrap_or(Ledger::NOBODY);
            for page in space.owned.iter().copied().flat_map(extent_pages) {
                let booked = ledger.hand_over(page, from, to);
                booked.map_err(|problem| CheckStop::Fault { page, problem })?;
            }
        }
        for (_, root) in &depths {
            let space = &self.spaces[root];
            let owner = place(*root).unwrap_or(Ledger::NOBODY);
            let available = space.available.iter().copied().flat_map(extent_pages);
            for page in available.chain(space.used.iter().copied()) {
                let booked = ledger.account(page, owner);
                booked.map_err(|problem| CheckStop::Fault { page, problem })?;
            }
        }
        Ok(())
    }
}

impl SpaceReading {
    fn new<P: Pages>(
        pages: &P,
        tree: TreeId,
        header: SpaceHeader,
        owned_root: PageNumber,
    ) -> Result<Self, CheckStop> {
        let roots = [owned_root, owned_root.after(1)];
        let mut buffers = Vec::new();
        for root in roots {
            let page = Page::new(pages.resident(root)?, pages.page_size());
            let problem = TreeProblem::Extent;
            let buffer = SplitBuffer::of(page).ok_or(CheckStop::Fault { page: root, problem })?;
            buffers.extend(buffer.runs());
        }
        let object = tree.object;
        Ok(Self {
            checks: roots.map(|root| TreeCheck::new(TreeId { root, object })),
            lists: Default::default(),
            buffers,
            parent: header.parent,
        })
    }
}

fn space_header<P: Pages>(pages: &P, tree: TreeId) -> Result<SpaceHeader, CheckStop> {
    let page = Page::new(pages.resident(tree.root)?, pages.page_size());
    let (page, problem) = (page.space_header(), TreeProblem::Extent);
    page.map_err(|_| CheckStop::Fault { page: tree.root, problem })
}

/// The space of a tree with one extent and a bitmap.
fn single(tree: TreeId, header: SpaceHeader, free: u32) -> TreeSpace {
    // A damaged header may claim more pages than exist, or than it has bits for.
    let pages = header.pages.clamp(1, u32::MAX - tree.root.0);
    let bits = 0..(pages - 1).min(u32::BITS);
    let available = bits.filter(|bit| free >> bit & 1 == 1);
    TreeSpace {
        tree,
        parent: header.parent,
        owned: vec![Extent::starting_at(tree.root, pages)],
        available: available.map(|bit| Extent::starting_at(tree.root.after(1 + bit), 1)).collect(),
        used: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_without_end_takes_no_memory_without_end() {
        let mut ledger = Ledger::default();
        let last = PageNumber(u32::MAX);
        let booked = ledger.hand_over(last, Ledger::NOBODY, 0);
        assert_eq!(booked, Err(TreeProblem::Extent));
        assert!(ledger.pages.is_empty());
    }

    #[test]
    fn a_header_that_says_more_pages_than_it_has_bits_frees_none_of_them() {
        let free = 0x8000_0001;
        for pages in [33, 34, 1 << 20, u32::MAX] {
            let header = SpaceHeader {
                pages,
                parent: PageNumber(1),
                non_unique: false,
                second_version: false,
                kind: SpaceKind::Single { free },
            };
            let tree = TreeId { root: PageNumber(7), ..TreeId::DATABASE };
            assert_eq!(single(tree, header, free).available.len(), 2, "{pages}");
        }
    }
}
