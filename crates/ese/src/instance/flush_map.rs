//! The flush map on disk: written before the checkpoint moves, read when a database is opened.
//!
//! After a crash the map may know of a write that the disk has lost, or lack one that the disk has.
//! Redo visits all such pages, because the map is written after the checkpoint's position is chosen
//! and before the checkpoint is durable. Redo treats the flush type of every page it visits as
//! unknown.

use std::path::Path;

use brunt_world::{Class, FileId, Io, OpenMode, VolumeError, World};

use super::database::Found;
use super::{Base, Instance, database::Database};
use crate::cache::FlushMemory;
use crate::content::{Bytes, Content, Ghost};
use crate::error::EngineError;
use crate::format::flush_map::{
    FlushMapHeader, MAP_PAGE_BYTES, has_magic, map_page_offset, path_beside,
};
use crate::format::stamp::Signature;
use crate::small_file::{file_error, name_error, read_at, write_through};

/// Opens or creates a database's flush map and ties it to the header, which the caller writes
/// afterwards.
pub(crate) async fn open<C: Content>(
    world: &World,
    database: &Path,
    found: &mut Found,
) -> Result<(FileId, FlushMemory), EngineError> {
    let path = path_beside(database);
    match world.volume.open(&path, OpenMode::Write).await {
        Ok(file) => match read::<C>(world, &path, file, found).await? {
            Some(memory) => Ok((file, memory)),
            None => start::<C>(world, &path, file, found).await,
        },
        Err(VolumeError::NotFound) => {
            let file =
                world.volume.open(&path, OpenMode::CreateNew).await.map_err(name_error(&path))?;
            start::<C>(world, &path, file, found).await
        }
        Err(error) => Err(name_error(&path)(error)),
    }
}

/// The map's content; `None` when the map does not belong to the database. An error when it is not
/// a brunt map.
async fn read<C: Content>(
    world: &World,
    path: &Path,
    file: FileId,
    found: &Found,
) -> Result<Option<FlushMemory>, EngineError> {
    let length = world.volume.length(file).await.map_err(name_error(path))?;
    let page = MAP_PAGE_BYTES as u64;
    if length < page {
        // A crash interrupted its creation.
        return Ok(None);
    }
    let bytes = read_at(world, Class::Metadata, file, 0, length - length.rem_euclid(page));
    let bytes = bytes.await.map_err(file_error(path))?;
    let mut pages = bytes.chunks_exact(MAP_PAGE_BYTES);
    let header = pages.next().and_then(FlushMapHeader::read);
    match header {
        Some(header) if header.belongs_to(&found.header.signature, &found.header.flush_map) => {
            let mut memory = FlushMemory::new::<C>();
            (0..).zip(pages).for_each(|(index, bytes)| memory.learn(index, bytes));
            Ok(Some(memory))
        }
        Some(header) if header.database.is_ours() => Ok(None),
        // Creation was torn: the first sector is either zero or as written.
        None if bytes[..512].iter().all(|byte| *byte == 0) || has_magic(&bytes) => Ok(None),
        _ => Err(EngineError::NotOurs(path.to_owned())),
    }
}

/// Creates an empty map.
async fn start<C: Content>(
    world: &World,
    path: &Path,
    file: FileId,
    found: &mut Found,
) -> Result<(FileId, FlushMemory), EngineError> {
    let mut draw =
        world.random.named(&format!("flush map/{}/{}", path.display(), found.header.time.0));
    let random = u32::try_from(1 + draw.below(u64::from(u32::MAX))).expect("below 2^32");
    let flush = Signature { random, ..found.header.signature };
    let header = FlushMapHeader { database: found.header.signature, flush, pages: found.pages };
    // First shorten it durably: map pages of an older tie must not follow the new header.
    world.volume.allocate(file, MAP_PAGE_BYTES as u64).await.map_err(name_error(path))?;
    let shortened = world.disk.submit(Io::sync(Class::Metadata, file)).await;
    shortened.result.map_err(file_error(path))?;
    let segment = Bytes::outgoing(&world.frames, &header.to_bytes());
    write_through(world, Class::Metadata, file, 0, segment).await.map_err(file_error(path))?;
    found.header.flush_map = flush;
    Ok((file, FlushMemory::new::<C>()))
}

impl Instance<Ghost> {
    /// Stops writing flush maps from now on, as an engine without persisted maps (the public source
    /// has an option for it: `JET_paramPersistedLostFlushDetection`).
    ///
    /// Instances whose pages have no content lose nothing: they cannot tell a page from its
    /// predecessor anyway.
    pub fn leave_flush_maps(&self) {
        self.0.keeps_flush_maps.set(false);
    }
}

impl<C: Content> Base<C> {
    /// Makes the flush maps durable.
    pub(crate) async fn write_flush_maps(&self) -> Result<(), EngineError> {
        if !self.keeps_flush_maps.get() {
            return Ok(());
        }
        for entry in &self.databases {
            self.write_flush_map(entry).await.map_err(file_error(&path_beside(&entry.path)))?;
        }
        Ok(())
    }

    async fn write_flush_map(&self, entry: &Database) -> Result<(), brunt_world::IoError> {
        let runs = self.cache.take_flush_map(entry.number);
        if runs.is_empty() {
            return Ok(());
        }
        let mut writes = Vec::with_capacity(runs.len());
        for (first, bytes) in runs {
            let segment = C::outgoing(&self.world.frames, &bytes);
            let segments = brunt_world::Segments::from_buf([segment]);
            let offset = map_page_offset(first);
            let io = Io::new(Class::Metadata, brunt_world::Op::Write, entry.map, offset, segments);
            writes.push(self.world.disk.submit(io));
        }
        for write in writes {
            write.await.result?;
        }
        self.world.disk.submit(Io::sync(Class::Metadata, entry.map)).await.result
    }
}
