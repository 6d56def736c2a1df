//! A small database for tests: a database root, trees below it, and a driver that satisfies needs.

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use super::{Step, TreeId};
use crate::format::page::{ObjectId, PageFlags};
use crate::format::page_builder::PageBuilder;
use crate::format::space::{Extent, SpaceHeader, SpaceKind};
use crate::page::memory::MemoryPages;
use crate::page::{Change, Need};
use crate::space;
use crate::space::check::DatabaseCheck;
use crate::tree::check::{CheckStop, TreeSummary};

/// An operation on a database.
type Work<T> = dyn FnMut(&mut Change<'_, MemoryPages>) -> Result<Step<T>, Need>;

/// A database in memory.
#[derive(Clone)]
pub(crate) struct Database {
    pub(crate) pages: MemoryPages,
    pub(crate) trees: Vec<TreeId>,
    /// Changes that only made room.
    pub(crate) structural: u64,
    /// Growths of the file, when a tree found no free pages.
    pub(crate) growths: u64,
}

/// A tree's position in the database: below the database root, or below another tree.
pub(crate) struct Plan {
    pub(crate) parent: TreeId,
    pub(crate) flags: PageFlags,
}

impl Database {
    /// A database with the planned trees, each with three pages and nothing available.
    pub(crate) fn new(size: PageSize, plans: &[Plan]) -> Self {
        let mut database =
            Self { pages: MemoryPages::new(size), trees: Vec::new(), structural: 0, growths: 0 };
        let count = u32::try_from(plans.len()).unwrap();
        let all = Extent::starting_at(PageNumber(1), 3 + 3 * count);
        database.build(TreeId::DATABASE, PageNumber::NONE, PageFlags(0), &[all]);
        for (plan, index) in plans.iter().zip(0..) {
            let root = PageNumber(4 + 3 * index);
            let tree = TreeId { root, object: ObjectId(8 + index) };
            // A tree below another owns its pages through its parent.
            let mut owned = vec![Extent::starting_at(root, 3)];
            for (below, index) in plans.iter().zip(0..) {
                if below.parent == tree {
                    owned.push(Extent::starting_at(PageNumber(4 + 3 * index), 3));
                }
            }
            database.build(tree, plan.parent.root, plan.flags, &owned);
            database.trees.push(tree);
        }
        database
    }

    /// A database made of `pages`, with all its trees.
    pub(crate) fn of(mut pages: MemoryPages, time: DatabaseTime, trees: Vec<TreeId>) -> Self {
        pages.set_time(time);
        Self { pages, trees, structural: 0, growths: 0 }
    }

    fn build(&mut self, tree: TreeId, parent: PageNumber, flags: PageFlags, owned: &[Extent]) {
        let root = tree.root;
        let header = SpaceHeader {
            pages: 1,
            parent,
            non_unique: flags.has(PageFlags::NON_UNIQUE),
            second_version: false,
            kind: SpaceKind::Multiple { owned_root: root.after(1) },
        };
        let base = PageFlags::ALWAYS.with(PageFlags::ROOT).with(PageFlags::LEAF);
        let mut page = |number: PageNumber, flags, header: &[u8], extents: &[Extent]| {
            let mut builder = PageBuilder::new(self.pages_size(), tree.object);
            builder.flags = flags;
            builder.header = header.to_vec();
            builder.time = DatabaseTime(1);
            for extent in extents {
                builder.push(&extent.key(), &extent.data());
            }
            let bytes = builder.seal(number);
            self.pages.put(number, bytes);
        };
        page(root, base.with(flags), &header.to_bytes(), &[]);
        let space = base.with(flags.without(PageFlags::NON_UNIQUE)).with(PageFlags::SPACE_TREE);
        page(root.after(1), space, &[0; 16], owned);
        page(root.after(2), space, &[0; 16], &[]);
    }

    fn pages_size(&self) -> PageSize {
        crate::page::Pages::page_size(&self.pages)
    }

    /// Runs `work` until it is done: satisfies needs, grows the database, and repeats after
    /// structural changes.
    pub(crate) fn run<T>(
        &mut self,
        mut work: impl FnMut(&mut Change<'_, MemoryPages>) -> Result<Step<T>, Need>,
    ) -> T {
        self.try_run(&mut work).expect("a sound database")
    }

    /// As [`Self::run`], until it is done or a page turns out to be damaged.
    pub(crate) fn try_run<T>(
        &mut self,
        mut work: impl FnMut(&mut Change<'_, MemoryPages>) -> Result<Step<T>, Need>,
    ) -> Result<T, PageNumber> {
        loop {
            match self.attempt(&mut work) {
                Ok(Step::Done(value)) => return Ok(value),
                Ok(Step::Again) => self.structural += 1,
                Err(Need::Growth(pages)) => {
                    self.growths += 1;
                    self.grow(pages)?;
                }
                Err(Need::Repair(page)) => return Err(page),
                Err(Need::Page(page)) if !self.pages.exists(page) => return Err(page),
                Err(need) => self.pages.fulfil(need),
            }
        }
    }

    /// Runs a lookup until every page it needs is in memory.
    pub(crate) fn look<T>(&mut self, mut work: impl FnMut(&MemoryPages) -> Result<T, Need>) -> T {
        loop {
            match work(&self.pages) {
                Ok(value) => return value,
                Err(need) => self.pages.fulfil(need),
            }
        }
    }

    /// Checks every tree and accounts for every page. Returns the trees' summaries in plan order.
    pub(crate) fn check(&mut self) -> Vec<TreeSummary> {
        let mut check = DatabaseCheck::new(&self.trees);
        loop {
            match check.run(&self.pages) {
                Ok(summaries) => return summaries[1..].iter().map(|of| of.1).collect(),
                Err(CheckStop::Need(need)) => self.pages.fulfil(need),
                Err(fault) => panic!("{fault}"),
            }
        }
    }

    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&mut Change<'_, MemoryPages>) -> Result<Step<T>, Need>,
    ) -> Result<Step<T>, Need> {
        let mut change = Change::new(&mut self.pages);
        let result = work(&mut change);
        match result {
            Ok(Step::Again) => assert!(!change.is_empty(), "a step that did nothing"),
            Err(need) => assert!(change.is_empty(), "{need:?} was noticed after a change"),
            Ok(Step::Done(_)) => {}
        }
        let changed = change.finish();
        self.pages.record(changed);
        result
    }

    fn grow(&mut self, pages: u32) -> Result<(), PageNumber> {
        // Boxed, so that growing has one type and not endlessly nested ones.
        let work: Box<Work<PageNumber>> =
            Box::new(move |change| space::grow(change, TreeId::DATABASE, pages));
        self.try_run(work).map(|_| ())
    }
}
