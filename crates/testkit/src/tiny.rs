//! A tiny engine in a virtual world: 4 KiB pages, 64 KiB logs, few frames.
//!
//! Small enough that a run has thousands of I/O boundaries and recovery takes a millisecond, and
//! large enough that pages are evicted, logs roll, trees split and the checkpoint moves.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::content::Bytes;
use brunt_ese::create::{CreateOptions, MessageSource, create_database};
use brunt_ese::error::EngineError;
use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::format::page::{ObjectId, PageFlags};
use brunt_ese::format::page_builder::PageBuilder;
use brunt_ese::format::space::{Extent, SpaceHeader, SpaceKind};
use brunt_ese::format::stamp::{RunId, Signature, Stamp};
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::instance::{Circular, Instance, InstanceOptions};
use brunt_ese::log::{Durability, LogShape};
use brunt_ese::meter::MeterBoard;
use brunt_ese::patch::Copies;
use brunt_ese::policy::checkpoint::Pacing;
use brunt_ese::tree::TreeId;
use brunt_units::{ByteSize, DatabaseTime, PageNumber, PageSize, Span};
use brunt_world::World;
use brunt_world_virtual::Store;

/// The run identifier of tiny files.
pub const RUN: RunId = RunId(0xB0B);

/// The default page size of tiny databases.
pub const SIZE: PageSize = PageSize::KIB_4;

/// The path of the `index`-th database.
pub fn database_path(index: usize) -> PathBuf {
    PathBuf::from(format!("/data/tiny{index}.edb"))
}

/// An instance with `databases` databases; `segment` is the log's segment size in bytes.
pub fn options(databases: usize, segment: usize) -> InstanceOptions {
    InstanceOptions {
        number: 0,
        log_directory: PathBuf::from("/log"),
        databases: (0..databases).map(database_path).collect(),
        page_size: SIZE,
        log: LogShape::new(segment, 64 << 10),
        log_buffer_units: 64,
        lazy_wait: Span::millis(30),
        durability: Durability::WriteThrough,
        checkpoint_depth: ByteSize::kib(96),
        pacing: Pacing::TRICKLE,
        format_chunk: None,
        circular: Circular::Reuse,
        growth_pages: 16,
        run: RUN,
        epoch_ms: 1_700_000_000_000,
    }
}

/// A database of blank 4 KiB pages, cleanly shut down.
pub fn blank_database(store: &mut Store, path: &Path, pages: usize) {
    blank_database_of(SIZE, store, path, pages);
}

/// A database of blank pages of `size`, cleanly shut down.
pub fn blank_database_of(size: PageSize, store: &mut Store, path: &Path, pages: usize) {
    let name = path.as_os_str().as_encoded_bytes();
    let random = name.iter().map(|byte| u32::from(*byte)).sum();
    let signature = Signature::ours(random, Stamp::from_unix_millis(1), RUN);
    let mut header = DatabaseHeader::new(size, signature);
    header.state = DatabaseState::Clean;
    let header = header.to_bytes();
    let mut bytes = vec![0; (pages + 2) * size.bytes()];
    bytes[..header.len()].copy_from_slice(&header);
    bytes[size.bytes()..size.bytes() + header.len()].copy_from_slice(&header);
    store.put(path, &bytes);
}

/// Creates the `index`-th database with pages of `size`, the messages of `source`, and `free_pages`
/// pages to grow into.
///
/// # Errors
/// [`EngineError`] when it cannot be written.
pub async fn message_database(
    world: &World,
    size: PageSize,
    index: u8,
    free_pages: u32,
    source: &dyn MessageSource,
) -> Result<(), EngineError> {
    let options = CreateOptions {
        page_size: size,
        fill_percent: 90,
        free_pages,
        expected_bytes: 0,
        signature: Signature::ours(7 + u32::from(index), Stamp::from_unix_millis(1), RUN),
    };
    let path = database_path(index.into());
    create_database(world, &path, &options, source, &|_| {}).await.map(drop)
}

/// Opens the instance over a cache of `frames` frames.
pub async fn open(
    world: &World,
    frames: u32,
    options: InstanceOptions,
) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
    let cache = CacheOptions::new(options.page_size, frames);
    open_with(world, cache, options, None).await
}

/// As [`open`], with cache options; bad pages are requested from `copies`.
pub async fn open_with(
    world: &World,
    cache: CacheOptions,
    options: InstanceOptions,
    copies: Option<Rc<dyn Copies>>,
) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
    let meters = Rc::new(MeterBoard::new(options.databases.len(), 1));
    let cache = Cache::new(world, cache, meters);
    if let Some(copies) = copies {
        cache.patch_from(copies);
    }
    Instance::open(world, &cache, options).await
}

/// The table of [`tree_database`].
pub const TABLE: TreeId = TreeId { root: PageNumber(4), object: ObjectId(8) };
/// Its secondary index, whose keys are not unique.
pub const INDEX: TreeId = TreeId { root: PageNumber(7), object: ObjectId(10) };

/// A database of a table and an index with 4 KiB pages, both empty, cleanly shut down.
pub fn tree_database(store: &mut Store, path: &Path) {
    tree_database_of(SIZE, store, path);
}

/// The files of an instance whose first database is that one.
pub fn tree_files() -> Store {
    let mut store = Store::new();
    tree_database(&mut store, &database_path(0));
    store
}

/// As [`tree_database`], with pages of `size`. Every tree has its root and its two space trees.
pub fn tree_database_of(size: PageSize, store: &mut Store, path: &Path) {
    blank_database_of(size, store, path, 24);
    let file = store.find(path).expect("just made");
    let mut build =
        |tree: TreeId, parent: PageNumber, flags: PageFlags, owned: &[Extent], free: &[Extent]| {
            let header = SpaceHeader {
                pages: 1,
                parent,
                non_unique: flags.has(PageFlags::NON_UNIQUE),
                second_version: false,
                kind: SpaceKind::Multiple { owned_root: tree.root.after(1) },
            };
            let base = PageFlags::ALWAYS.with(PageFlags::ROOT).with(PageFlags::LEAF);
            let space = base.with(flags.without(PageFlags::NON_UNIQUE)).with(PageFlags::SPACE_TREE);
            let pages: [(PageFlags, &[u8], &[Extent]); 3] = [
                (base.with(flags), &header.to_bytes(), &[]),
                (space, &[0; 16], owned),
                (space, &[0; 16], free),
            ];
            for (distance, (flags, header, extents)) in (0..).zip(pages) {
                let mut builder = PageBuilder::new(size, tree.object);
                builder.flags = flags;
                builder.header = header.to_vec();
                builder.time = DatabaseTime(1);
                extents.iter().for_each(|extent| builder.push(&extent.key(), &extent.data()));
                let number = tree.root.after(distance);
                store.write(file, number.offset(size), &builder.seal(number));
            }
        };
    let extent = |first, pages| Extent::starting_at(PageNumber(first), pages);
    build(TreeId::DATABASE, PageNumber::NONE, PageFlags(0), &[extent(1, 24)], &[extent(10, 15)]);
    build(TABLE, PageNumber(1), PageFlags(0), &[extent(4, 6)], &[]);
    let index = PageFlags::INDEX.with(PageFlags::NON_UNIQUE);
    build(INDEX, TABLE.root, index, &[extent(7, 3)], &[]);
}
