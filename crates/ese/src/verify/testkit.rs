//! Small databases for tests, built page by page, and a world with a single file.

use std::collections::BTreeMap;
use std::path::Path;

use brunt_units::{PageNumber, PageSize};
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

use super::{FileReport, VerifyError, verify};
use crate::format::catalog::schema::{Column, DENSITY, Index, PRIMARY_FLAGS, Table};
use crate::format::catalog::{CatalogRow, system};
use crate::format::checksum::seal;
use crate::format::column::{ColumnId, ColumnType, FixedLayout};
use crate::format::field::{put_u32, u32_at};
use crate::format::header::{DatabaseHeader, DatabaseState};
use crate::format::key::KeyBuilder;
use crate::format::page::{FLAGS_AT, ObjectId, PageFlags};
use crate::format::page_builder::PageBuilder;
use crate::format::record::{Value, encode};
use crate::format::space::{Extent, SpaceHeader, SpaceKind};
use crate::format::stamp::{RunId, Signature, Stamp};

pub(crate) const RUN: RunId = RunId(77);
pub(crate) const USER_ROOT: PageNumber = system::FIRST_USER_PAGE;
/// Pages that the database owns: enough for the tables, and blank ones after them.
pub(crate) const OWNED: u32 = 256;

/// A database under construction.
pub(crate) struct TestDatabase {
    pub(crate) size: PageSize,
    pub(crate) header: DatabaseHeader,
    /// Number of pages it owns.
    owned: u32,
    pages: BTreeMap<u32, Vec<u8>>,
    next: u32,
}

type Nodes = Vec<(Vec<u8>, Vec<u8>)>;

impl TestDatabase {
    /// A database with catalog, shadow, small system tables, and a table `Pads` of `records`
    /// records.
    pub(crate) fn new(size: PageSize, records: i32) -> Self {
        Self::owning(OWNED, size, records)
    }

    /// As [`Self::new`], with `owned` pages.
    pub(crate) fn owning(owned: u32, size: PageSize, records: i32) -> Self {
        let signature = Signature::ours(1, Stamp::from_unix_millis(1), RUN);
        let mut header = DatabaseHeader::new(size, signature);
        header.state = DatabaseState::Clean;
        let mut database =
            Self { size, header, owned, pages: BTreeMap::new(), next: USER_ROOT.0 + 1 };
        database.space();
        let table = pads();
        let mut rows = system::rows();
        rows.extend(table.rows());
        let catalog = |rows: &[CatalogRow]| -> Nodes {
            rows.iter().map(|row| (row.key(), row.encode(size))).collect()
        };
        let plain = PageFlags::default();
        database.tree(system::CATALOG, system::CATALOG_ROOT, plain, &catalog(&rows));
        database.tree(system::SHADOW, system::SHADOW_ROOT, plain, &catalog(&rows));
        let key_of_row = |key: Vec<u8>, row: &CatalogRow| (key, row.key());
        let mut names: Nodes = rows.iter().map(|row| key_of_row(row.name_key(), row)).collect();
        let roots = rows.iter().filter_map(|row| Some(key_of_row(row.root_objects_key()?, row)));
        let mut roots: Nodes = roots.collect();
        names.sort();
        roots.sort();
        let index = PageFlags::INDEX;
        database.tree(system::NAME_INDEX, system::NAME_INDEX_ROOT, index, &names);
        let root = system::ROOT_OBJECTS_INDEX_ROOT;
        database.tree(system::ROOT_OBJECTS_INDEX, root, index, &roots);
        let ids = system::object_id_rows(std::slice::from_ref(&table), size);
        database.tree(system::OBJECT_IDS, system::OBJECT_IDS_ROOT, plain, &ids);
        let locales = system::locale_rows(size);
        database.tree(system::LOCALES, system::LOCALES_ROOT, plain, &locales);
        let records: Nodes = (0..records).map(|id| record(id, size)).collect();
        database.tree(table.object, USER_ROOT, plain, &records);
        assert!(database.next < owned - 4, "some owned pages stay blank");
        database
    }

    /// Page 1 and its two space trees: one extent, nothing available.
    fn space(&mut self) {
        let root = PageFlags::ROOT.with(PageFlags::LEAF);
        let mut builder = self.builder(system::DATABASE, root);
        builder.header = SpaceHeader {
            pages: self.owned,
            parent: PageNumber::NONE,
            non_unique: false,
            second_version: false,
            kind: SpaceKind::Multiple { owned_root: PageNumber(2) },
        }
        .to_bytes()
        .to_vec();
        self.put(PageNumber(1), &builder);
        for number in [2, 3] {
            let mut builder = self.builder(system::DATABASE, root.with(PageFlags::SPACE_TREE));
            builder.header = vec![0; 16];
            if number == 2 {
                let all = Extent::starting_at(PageNumber(1), self.owned);
                builder.push(&all.key(), &all.data());
            }
            self.put(PageNumber(number), &builder);
        }
    }

    fn builder(&self, object: ObjectId, flags: PageFlags) -> PageBuilder {
        let mut builder = PageBuilder::new(self.size, object);
        builder.flags = PageFlags::ALWAYS.with(flags).with_flush_type(1);
        builder
    }

    fn put(&mut self, number: PageNumber, builder: &PageBuilder) {
        self.pages.insert(number.0, builder.seal(number));
    }

    /// Builds a tree bottom up: leaves, then branches until one page holds a whole level, which
    /// becomes the root.
    fn tree(&mut self, object: ObjectId, root: PageNumber, flags: PageFlags, nodes: &Nodes) {
        let mut level = nodes.clone();
        let mut kind = PageFlags::LEAF;
        while !self.root(object, root, flags.with(kind), &level) {
            level = self.level(object, flags.with(kind), &level);
            kind = match kind {
                PageFlags::LEAF => PageFlags::PARENT_OF_LEAF,
                _ => PageFlags::default(),
            };
        }
    }

    /// Writes the root if the level fits.
    fn root(
        &mut self,
        object: ObjectId,
        root: PageNumber,
        flags: PageFlags,
        level: &Nodes,
    ) -> bool {
        let mut builder = self.builder(object, flags.with(PageFlags::ROOT));
        builder.header = SpaceHeader {
            pages: 1,
            parent: PageNumber(1),
            non_unique: false,
            second_version: false,
            kind: SpaceKind::Single { free: 0 },
        }
        .to_bytes()
        .to_vec();
        for (key, data) in level {
            if !builder.fits(key, data) {
                return false;
            }
            builder.push(key, data);
        }
        self.put(root, &builder);
        true
    }

    /// Writes one level; returns the nodes of the level above it.
    fn level(&mut self, object: ObjectId, flags: PageFlags, nodes: &Nodes) -> Nodes {
        let first = self.next;
        let mut above = Nodes::new();
        let mut builder = self.builder(object, flags);
        let mut full = Vec::new();
        for (key, data) in nodes {
            if builder.node_count() == 0 {
                builder.header.clone_from(key);
            }
            if !builder.fits(key, data) {
                full.push(std::mem::replace(&mut builder, self.builder(object, flags)));
                builder.header.clone_from(key);
                above.push((
                    key.clone(),
                    (page_after(first, full.len()) - 1).to_le_bytes().to_vec(),
                ));
            }
            builder.push(key, data);
        }
        full.push(builder);
        let last = page_after(first, full.len()) - 1;
        above.push((Vec::new(), last.to_le_bytes().to_vec()));
        for (mut page, number) in full.into_iter().zip(first..) {
            if flags.has(PageFlags::LEAF) {
                page.previous = PageNumber(if number > first { number - 1 } else { 0 });
                page.next = PageNumber(if number < last { number + 1 } else { 0 });
            }
            self.put(PageNumber(number), &page);
        }
        self.next = last + 1;
        above
    }

    /// The first page that no tree uses.
    pub(crate) fn first_blank(&self) -> PageNumber {
        PageNumber(self.next)
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut file = self.header.to_bytes().repeat(2);
        file.resize((self.owned as usize + 2) * self.size.bytes(), 0);
        for (number, page) in &self.pages {
            let at = usize::try_from(PageNumber(*number).offset(self.size)).unwrap();
            file[at..at + page.len()].copy_from_slice(page);
        }
        file
    }
}

/// The page `count` pages after `first`.
fn page_after(first: u32, count: usize) -> u32 {
    first + u32::try_from(count).expect("a small file")
}

/// A table with a key and a pad.
fn pads() -> Table {
    let column = |id, name: &str, column_type, bytes_max| Column {
        id: ColumnId(id),
        name: name.into(),
        column_type,
        bytes_max,
        flags: 0,
        code_page: 0,
        default_value: None,
    };
    Table {
        name: "Pads".into(),
        object: system::FIRST_USER_OBJECT,
        root: USER_ROOT,
        density: DENSITY,
        flags: 0,
        pages: 1,
        columns: vec![
            column(1, "Id", ColumnType::Long, 4),
            column(128, "Pad", ColumnType::Binary, 255),
        ],
        indexes: vec![Index {
            name: "Primary".into(),
            object: system::FIRST_USER_OBJECT,
            root: USER_ROOT,
            density: DENSITY,
            flags: PRIMARY_FLAGS,
            key_max: None,
            columns: vec![ColumnId(1)],
        }],
        long_values: None,
    }
}

fn record(id: i32, size: PageSize) -> (Vec<u8>, Vec<u8>) {
    let (id_bytes, pad) = (id.to_le_bytes(), [0xAB; 200]);
    let columns = [(ColumnId(1), Value::Bytes(&id_bytes)), (ColumnId(128), Value::Bytes(&pad))];
    let record = encode(&FixedLayout::new([4]), size, &columns);
    (KeyBuilder::new().signed_32(id).build(255), record)
}

/// Options of a world with the given files.
pub(crate) fn options(files: &[(&str, &[u8])]) -> VirtualOptions {
    let mut options = VirtualOptions::new(1);
    for (name, bytes) in files {
        options.store.put(Path::new(name), bytes);
    }
    options
}

/// Verifies `name` in a world with `options`.
pub(crate) fn verify_in(options: VirtualOptions, name: &str) -> Result<FileReport, VerifyError> {
    let mut virtual_world = VirtualWorld::new(options);
    let (world, path) = (virtual_world.world.clone(), Path::new(name).to_owned());
    let verified = async move { verify(&world, &path).await };
    virtual_world.executor.block_on(verified)
}

/// Verifies a file with the given bytes.
pub(crate) fn verify_bytes(bytes: &[u8]) -> Result<FileReport, VerifyError> {
    verify_in(options(&[("test.edb", bytes)]), "test.edb")
}

/// Sets a page's flush type and reseals it.
pub(crate) fn set_flush_type(file: &mut [u8], size: PageSize, number: PageNumber, flush_type: u8) {
    let at = usize::try_from(number.offset(size)).unwrap();
    let page = &mut file[at..at + size.bytes()];
    let flags = PageFlags(u32_at(page, FLAGS_AT));
    put_u32(page, FLAGS_AT, flags.with_flush_type(flush_type).0);
    seal(page, size, number);
}
