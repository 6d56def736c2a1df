//! The pages of a new database that no load streams: the database root, the system tables, space
//! trees.
//!
//! The layout is that of genuine files of revision 20; see [`crate::format::catalog::system`]. All
//! of it is small, so it is built in memory and handed over page by page.

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use crate::format::catalog::schema::Table;
use crate::format::catalog::{CatalogRow, system};
use crate::format::page::{ObjectId, PageFlags};
use crate::format::page_builder::PageBuilder;
use crate::format::space::{Extent, SPLIT_BUFFER_BYTES, SpaceHeader, SpaceKind};
use crate::tree::TreeId;
use crate::tree::bulk::{BulkOptions, BulkTree, FLUSH_TYPE, PAGES_AHEAD, PageRun, PageSink};

pub use crate::format::catalog::system::DATABASE_ROOT;

/// A page's number and its sealed bytes.
pub type NewPage = (PageNumber, Vec<u8>);

/// Key and data, in key order.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A tree's space in a new database.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreePlan {
    pub(super) tree: TreeId,
    /// Flags of its pages, except non-unique, which its space trees are not.
    pub(super) kind: PageFlags,
    pub(super) owned: Extent,
    pub(super) available: Option<Extent>,
}

/// The space header of a tree whose space trees follow its root.
pub(super) fn root_header(
    pages: u32,
    parent: PageNumber,
    non_unique: bool,
    root: PageNumber,
) -> SpaceHeader {
    SpaceHeader {
        pages,
        parent,
        non_unique,
        second_version: false,
        kind: SpaceKind::Multiple { owned_root: root.after(1) },
    }
}

/// The roots of a tree's two space trees.
pub(super) fn space_pages(size: PageSize, time: DatabaseTime, plan: &TreePlan) -> [NewPage; 2] {
    let page = |number: PageNumber, extent: Option<Extent>| {
        let kind = plan.kind.with(PageFlags::SPACE_TREE);
        let mut builder = root_builder(size, time, plan.tree.object, kind);
        builder.header = vec![0; SPLIT_BUFFER_BYTES];
        if let Some(extent) = extent {
            builder.push(&extent.key(), &extent.data());
        }
        (number, builder.seal(number))
    };
    let root = plan.tree.root;
    [page(root.after(1), Some(plan.owned)), page(root.after(2), plan.available)]
}

fn root_builder(
    size: PageSize,
    time: DatabaseTime,
    object: ObjectId,
    kind: PageFlags,
) -> PageBuilder {
    let mut builder = PageBuilder::new(size, object);
    let place = PageFlags::ROOT.with(PageFlags::LEAF);
    let flags = builder.flags.with_flush_type(FLUSH_TYPE);
    builder.flags = flags.with(place).with(kind);
    builder.time = time;
    builder
}

/// The system pages: the database root, whose pages after `used` up to `last` are available, and
/// the system tables with the rows of `tables`.
pub(super) fn system_pages(
    size: PageSize,
    time: DatabaseTime,
    tables: &[Table],
    used: PageNumber,
    last: PageNumber,
) -> Vec<NewPage> {
    let mut rows = system::rows();
    rows.extend(tables.iter().flat_map(Table::rows));
    let maker = Maker { size, time };
    let mut pages = maker.database_root(used, last);
    pages.extend(maker.catalog(&rows));
    pages.extend(maker.shadow(&rows));
    let object_ids = system::object_id_rows(tables, size);
    pages.push(maker.small(system::OBJECT_IDS, system::OBJECT_IDS_ROOT, &object_ids));
    let locales = system::locale_rows(size);
    pages.push(maker.small(system::LOCALES, system::LOCALES_ROOT, &locales));
    pages
}

struct Maker {
    size: PageSize,
    time: DatabaseTime,
}

impl Maker {
    fn database_root(&self, used: PageNumber, last: PageNumber) -> Vec<NewPage> {
        let root = DATABASE_ROOT;
        let tree = TreeId::DATABASE;
        let mut builder = root_builder(self.size, self.time, tree.object, PageFlags::default());
        builder.header = root_header(last.0, PageNumber::NONE, false, root).to_bytes().to_vec();
        let plan = TreePlan {
            tree,
            kind: PageFlags::default(),
            owned: Extent::starting_at(PageNumber(1), last.0),
            available: (used < last).then(|| Extent { last, pages: last.0 - used.0 }),
        };
        let mut pages = vec![(root, builder.seal(root))];
        pages.extend(space_pages(self.size, self.time, &plan));
        pages
    }

    /// The catalog on pages 4 to 23, with its two indexes on 7 to 12.
    fn catalog(&self, rows: &[CatalogRow]) -> Vec<NewPage> {
        let root = system::CATALOG_ROOT;
        let extent = Extent::starting_at(root, system::CATALOG_PAGES);
        let first = system::ROOT_OBJECTS_INDEX_ROOT.after(system::CATALOG_INDEX_PAGES);
        let entries = self.records(rows);
        let table = TreeId { root, object: system::CATALOG };
        let mut pages =
            self.tree(table, PageFlags::default(), DATABASE_ROOT, extent, first, &entries);
        let by_name = index_entries(rows, |row| Some(row.name_key()));
        let by_root = index_entries(rows, CatalogRow::root_objects_key);
        for (object, root, entries) in [
            (system::NAME_INDEX, system::NAME_INDEX_ROOT, by_name),
            (system::ROOT_OBJECTS_INDEX, system::ROOT_OBJECTS_INDEX_ROOT, by_root),
        ] {
            let extent = Extent::starting_at(root, system::CATALOG_INDEX_PAGES);
            let tree = TreeId { root, object };
            let first = root.after(3);
            pages.extend(self.tree(tree, PageFlags::INDEX, table.root, extent, first, &entries));
        }
        pages
    }

    /// The catalog's second copy on pages 24 to 28.
    fn shadow(&self, rows: &[CatalogRow]) -> Vec<NewPage> {
        let root = system::SHADOW_ROOT;
        let extent = Extent::starting_at(root, system::SHADOW_PAGES);
        let tree = TreeId { root, object: system::SHADOW };
        let entries = self.records(rows);
        self.tree(tree, PageFlags::default(), DATABASE_ROOT, extent, root.after(3), &entries)
    }

    fn records(&self, rows: &[CatalogRow]) -> Entries {
        let rows = rows.iter();
        rows.map(|row| (row.key(), row.encode(self.size))).collect()
    }

    /// A tree with space trees in its own extent; pages below its root are numbered from `first`.
    ///
    /// # Panics
    /// When the entries exceed the extent, which the system's rows do not.
    fn tree(
        &self,
        tree: TreeId,
        kind: PageFlags,
        parent: PageNumber,
        owned: Extent,
        first: PageNumber,
        entries: &Entries,
    ) -> Vec<NewPage> {
        let options = BulkOptions { size: self.size, kind, fill_percent: 100, time: self.time };
        let mut memory = vec![0; (owned.pages + PAGES_AHEAD) as usize * self.size.bytes()];
        let mut run = PageRun { first, size: self.size, bytes: &mut memory };
        let mut bulk = BulkTree::new(tree, first, options);
        for (key, data) in entries {
            bulk.push(&mut run, key, data);
        }
        let header = root_header(owned.pages, parent, false, tree.root);
        let done = bulk.finish(&mut run, |_| header.to_bytes());
        let after = owned.last.after(1);
        assert!(done.next <= after, "a system tree outgrows its extent");
        let mut pages = vec![(tree.root, done.root)];
        for number in (first.0..done.next.0).map(PageNumber) {
            pages.push((number, run.page(number).to_vec()));
        }
        let available =
            (done.next < after).then(|| Extent { last: owned.last, pages: after.0 - done.next.0 });
        let plan = TreePlan { tree, kind, owned, available };
        pages.extend(space_pages(self.size, self.time, &plan));
        pages
    }

    /// A tree of one page without space trees.
    fn small(&self, object: ObjectId, root: PageNumber, entries: &Entries) -> NewPage {
        let mut builder = root_builder(self.size, self.time, object, PageFlags::default());
        let header = SpaceHeader {
            pages: 1,
            parent: DATABASE_ROOT,
            non_unique: false,
            second_version: false,
            kind: SpaceKind::Single { free: 0 },
        };
        builder.header = header.to_bytes().to_vec();
        for (key, data) in entries {
            builder.push(key, data);
        }
        (root, builder.seal(root))
    }
}

/// The entries of an index over the catalog's rows.
fn index_entries(rows: &[CatalogRow], key: impl Fn(&CatalogRow) -> Option<Vec<u8>>) -> Entries {
    let rows = rows.iter();
    let mut entries: Entries = rows.filter_map(|row| Some((key(row)?, row.key()))).collect();
    entries.sort();
    entries
}
