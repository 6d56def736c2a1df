//! A tiny engine in a virtual world: 4 KiB pages, 64 KiB logs, 16 frames.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::cache::{Cache, CacheOptions};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
use brunt_ese::format::stamp::{RunId, Signature, Stamp};
use brunt_ese::instance::recovery::RecoveryReport;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_ese::log::LogShape;
use brunt_ese::meter::MeterBoard;
use brunt_ese::policy::checkpoint::Pacing;
use brunt_units::{ByteSize, PageSize, Span};
use brunt_world::World;
use brunt_world_virtual::Store;

pub(crate) const RUN: RunId = RunId(0xB0B);

/// The page size of tiny databases.
pub(crate) const SIZE: PageSize = PageSize::KIB_4;

pub(crate) fn database_path(index: usize) -> PathBuf {
    PathBuf::from(format!("/data/tiny{index}.edb"))
}

/// An instance with `databases` databases; `segment` is the log's segment size.
pub(crate) fn options(databases: usize, segment: usize) -> InstanceOptions {
    InstanceOptions {
        number: 0,
        log_directory: PathBuf::from("/log"),
        databases: (0..databases).map(database_path).collect(),
        page_size: SIZE,
        log: LogShape::new(segment, 64 << 10),
        log_buffer_bytes: 32 << 10,
        lazy_wait: Span::millis(30),
        checkpoint_depth: ByteSize::kib(96),
        pacing: Pacing::TRICKLE,
        circular: true,
        growth_pages: 16,
        run: RUN,
        epoch_ms: 1_700_000_000_000,
    }
}

/// A database of blank pages, cleanly shut down.
pub(crate) fn blank_database(store: &mut Store, path: &Path, pages: usize) {
    let signature = Signature::ours(7, Stamp::from_unix_millis(1), RUN);
    let mut header = DatabaseHeader::new(SIZE, signature);
    header.state = DatabaseState::Clean;
    let header = header.to_bytes();
    let mut bytes = vec![0; (pages + 2) * SIZE.bytes()];
    bytes[..header.len()].copy_from_slice(&header);
    bytes[SIZE.bytes()..SIZE.bytes() + header.len()].copy_from_slice(&header);
    store.put(path, &bytes);
}

/// Opens the instance over a cache of `frames` frames.
pub(crate) async fn open(
    world: &World,
    frames: u32,
    options: InstanceOptions,
) -> Result<(Instance<Bytes>, RecoveryReport), EngineError> {
    let meters = Rc::new(MeterBoard::new(options.databases.len(), 1));
    let cache = Cache::new(world, CacheOptions::new(options.page_size, frames), meters);
    Instance::open(world, &cache, options).await
}
