//! Builds a whole database from ordered messages, without a log.
//!
//! ```text
//!    page 1 .. 30   31 32 33   34 ..    n n+1 n+2   n+3 ..        m m+1 m+2   m+3 ..            rest
//!    system         records    leaves   bodies      leaves        index       leaves            free, the root's
//!    written last   last       1st      last        2nd           last        3rd
//! ```
//!
//! Three passes over the same messages, one per tree, because each tree is contiguous and its
//! length is known only at its end: [`RecordsLoad`] by id, [`BodiesLoad`] by body id, [`IndexLoad`]
//! by folder, time and id. Memory is one page per level of one tree. Roots, space trees and system
//! pages come at the end, from [`IndexLoad::finish`].

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use super::Messages;
use super::create::{self, NewPage, TreePlan, root_header, space_pages};
use super::message::{Message, primary_key, received_key};
use crate::format::catalog::system;
use crate::format::long_value::{LongValueId, LongValueRoot, chunk_bytes};
use crate::format::page::PageFlags;
use crate::format::space::Extent;
use crate::tree::bulk::{BulkOptions, BulkTree, PageSink};

/// Root, owned and available extents.
const ROOT_PAGES: u32 = 3;

/// Options for loading a database.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    pub size: PageSize,
    /// Fill of pages, in percent; at most 100.
    pub fill_percent: u32,
    /// Database time of the pages.
    pub time: DatabaseTime,
}

/// First pass: records.
#[derive(Debug)]
pub struct RecordsLoad {
    options: LoadOptions,
    tree: BulkTree,
    record: Vec<u8>,
}

/// Second pass: bodies stored outside their record.
#[derive(Debug)]
pub struct BodiesLoad {
    options: LoadOptions,
    built: Vec<Built>,
    tree: BulkTree,
}

/// Third pass: the index by folder and time.
#[derive(Debug)]
pub struct IndexLoad {
    options: LoadOptions,
    built: Vec<Built>,
    tree: BulkTree,
}

/// A finished tree.
#[derive(Debug)]
struct Built {
    root: PageNumber,
    image: Vec<u8>,
    next: PageNumber,
    entries: u64,
}

/// A loaded database, without its header.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The pages that were not streamed, in order of their numbers.
    pub pages: Vec<NewPage>,
    /// The last page of the database.
    pub last: PageNumber,
    /// The table's trees.
    pub trees: Messages,
    pub messages: u64,
    /// Pages in use.
    pub used: u32,
}

/// Roots of the three trees; the object ids do not depend on them.
fn trees(records: PageNumber, bodies: PageNumber, index: PageNumber) -> Messages {
    Messages::rooted_at(records, bodies, index)
}

impl LoadOptions {
    fn bulk(&self, kind: PageFlags) -> BulkOptions {
        BulkOptions { size: self.size, kind, fill_percent: self.fill_percent, time: self.time }
    }
}

impl RecordsLoad {
    /// Starts a database. Pages are streamed from [`Self::settled`] on.
    pub fn new(options: LoadOptions) -> Self {
        let root = system::FIRST_USER_PAGE;
        let tree = trees(root, root, root).records;
        Self {
            options,
            tree: BulkTree::new(tree, root.after(ROOT_PAGES), options.bulk(PageFlags::default())),
            record: Vec::new(),
        }
    }

    /// The first unfinished page.
    pub fn settled(&self) -> PageNumber {
        self.tree.settled()
    }

    /// Adds a message, ids ascending.
    ///
    /// # Panics
    /// When the id does not ascend. This holds for the other passes too.
    pub fn push(&mut self, sink: &mut impl PageSink, message: &Message<'_>) {
        message.encode(self.options.size, &mut self.record);
        self.tree.push(sink, &message.primary_key(), &self.record);
    }

    /// Ends the pass.
    pub fn finish(self, sink: &mut impl PageSink) -> BodiesLoad {
        let root = system::FIRST_USER_PAGE;
        let built = Built::finish(self.tree, root, create::DATABASE_ROOT, false, sink);
        let root = built.next;
        let tree = trees(root, root, root).bodies;
        Self::next(self.options, built, tree, root)
    }

    fn next(
        options: LoadOptions,
        built: Built,
        tree: crate::tree::TreeId,
        root: PageNumber,
    ) -> BodiesLoad {
        BodiesLoad {
            options,
            built: vec![built],
            tree: BulkTree::new(tree, root.after(ROOT_PAGES), options.bulk(PageFlags::LONG_VALUE)),
        }
    }
}

impl BodiesLoad {
    /// The first unfinished page.
    pub fn settled(&self) -> PageNumber {
        self.tree.settled()
    }

    /// Starts a body of `bytes` bytes, ids ascending. Its [chunks](Self::chunk) follow.
    pub fn begin(&mut self, sink: &mut impl PageSink, id: LongValueId, bytes: u32) {
        let root = LongValueRoot { references: 1, bytes };
        self.tree.push(sink, &id.root_key(), &root.to_bytes());
    }

    /// Adds the bytes of body `id` from byte `offset` on: [`chunk_bytes`] of them, or the rest. One
    /// chunk per call, so that pages can be written out in between.
    pub fn chunk(&mut self, sink: &mut impl PageSink, id: LongValueId, offset: u32, bytes: &[u8]) {
        assert!(bytes.len() <= chunk_bytes(self.options.size), "a chunk of {} bytes", bytes.len());
        self.tree.push(sink, &id.chunk_key(offset), bytes);
    }

    /// Ends the pass.
    pub fn finish(self, sink: &mut impl PageSink) -> IndexLoad {
        let Self { options, mut built, tree } = self;
        let root = built[0].next;
        let table = system::FIRST_USER_PAGE;
        built.push(Built::finish(tree, root, table, false, sink));
        let root = built[1].next;
        let tree = trees(root, root, root).by_received;
        let kind = PageFlags::INDEX.with(PageFlags::NON_UNIQUE);
        IndexLoad {
            options,
            built,
            tree: BulkTree::new(tree, root.after(ROOT_PAGES), options.bulk(kind)),
        }
    }
}

impl IndexLoad {
    /// The first unfinished page.
    pub fn settled(&self) -> PageNumber {
        self.tree.settled()
    }

    /// Adds a message's entry; entries ascend by folder, time and id.
    pub fn push(&mut self, sink: &mut impl PageSink, folder: i32, received: i64, id: i64) {
        let key = received_key(folder, received);
        self.tree.push(sink, &key, &primary_key(id));
    }

    /// Ends the last pass. `free` pages after the trees also belong to the database; the caller
    /// makes sure that the file has them.
    pub fn finish(self, sink: &mut impl PageSink, free: u32) -> Loaded {
        let Self { options, mut built, tree } = self;
        let table = system::FIRST_USER_PAGE;
        let root = built[1].next;
        built.push(Built::finish(tree, root, table, true, sink));
        let trees = trees(table, built[0].next, root);
        let end = PageNumber(built[2].next.0 - 1);
        let last = end.after(free);
        let table_extent = extent(table, end);
        let plans = [
            (trees.records, PageFlags::default(), table_extent),
            (trees.bodies, PageFlags::LONG_VALUE, extent(built[1].root, PageNumber(root.0 - 1))),
            (trees.by_received, PageFlags::INDEX, extent(root, end)),
        ];
        let messages = built[0].entries;
        let mut pages =
            create::system_pages(options.size, options.time, &[trees.table()], end, last);
        for (built, (tree, kind, owned)) in built.into_iter().zip(plans) {
            let plan = TreePlan { tree, kind, owned, available: None };
            pages.push((built.root, built.image));
            pages.extend(space_pages(options.size, options.time, &plan));
        }
        pages.sort_by_key(|page| page.0);
        Loaded { pages, last, trees, messages, used: end.0 }
    }
}

fn extent(first: PageNumber, last: PageNumber) -> Extent {
    Extent::starting_at(first, last.0 - first.0 + 1)
}

impl Built {
    fn finish(
        tree: BulkTree,
        root: PageNumber,
        parent: PageNumber,
        non_unique: bool,
        sink: &mut impl PageSink,
    ) -> Self {
        let done = tree
            .finish(sink, |next| root_header(next.0 - root.0, parent, non_unique, root).to_bytes());
        Self { root, image: done.root, next: done.next, entries: done.entries }
    }
}
