//! One database of an instance: its file, its header, its size.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use brunt_units::PageSize;
use brunt_world::{Class, FileId, OpenMode, World};

use crate::content::{Bytes, Content};
use crate::error::EngineError;
use crate::format::header::{DatabaseHeader, HEADERS_BYTES_MAX};
use crate::small_file::{file_error, name_error, read_at, write_through};

/// An open database file.
pub struct Database {
    /// Number in the cache.
    pub number: u8,
    pub path: PathBuf,
    /// The database file.
    pub file: FileId,
    /// The flush map file.
    pub map: FileId,
    /// Header as last written.
    pub header: RefCell<DatabaseHeader>,
    /// Pages, without the two header pages.
    pub pages: Cell<u32>,
    /// Whether the file is growing.
    pub growing: Cell<bool>,
    /// Whether the root has given away pages since growth was last considered.
    pub is_drawn_on: Cell<bool>,
}

/// A database file, opened and examined, but not yet part of an instance.
pub struct Found {
    pub file: FileId,
    /// The header: the better of the two copies.
    pub header: DatabaseHeader,
    /// Pages, without the two header pages.
    pub pages: u32,
}

/// Opens a brunt database for writing.
///
/// # Errors
/// [`EngineError::NotOurs`] when it does not carry our marker; [`EngineError::Damaged`] when
/// neither header can be read.
pub async fn open(world: &World, path: &Path, page_size: PageSize) -> Result<Found, EngineError> {
    let file = world.volume.open(path, OpenMode::Write).await.map_err(name_error(path))?;
    let found = look(world, path, file, page_size).await;
    if found.is_err() {
        world.volume.close(file).await.map_err(name_error(path))?;
    }
    found
}

async fn look(
    world: &World,
    path: &Path,
    file: FileId,
    page_size: PageSize,
) -> Result<Found, EngineError> {
    let length = world.volume.length(file).await.map_err(name_error(path))?;
    let start = length.min(HEADERS_BYTES_MAX as u64);
    let start = start - start.rem_euclid(4096);
    let bytes = read_at(world, Class::Metadata, file, 0, start).await.map_err(file_error(path))?;
    let damaged = |what| EngineError::Damaged { path: path.to_owned(), what };
    let header =
        DatabaseHeader::find(&bytes).map_err(|_| damaged("neither header can be read"))?.header;
    if !header.is_ours() {
        return Err(EngineError::NotOurs(path.to_owned()));
    }
    if header.page_size != page_size {
        return Err(damaged("its page size is not the one asked for"));
    }
    let pages = length.div_euclid(page_size.bytes_u64()).saturating_sub(2);
    let pages = u32::try_from(pages).map_err(|_| damaged("more than 2^32 pages"))?;
    Ok(Found { file, header, pages })
}

impl Database {
    /// Writes both copies of the header, the second once the first is durable.
    ///
    /// # Errors
    /// When a write fails. One copy is still intact.
    pub async fn write_header(&self, world: &World) -> Result<(), EngineError> {
        let header = self.header.borrow().clone();
        write_header(world, &self.path, self.file, &header).await
    }
}

/// Writes both copies of the header of the database at `path`, which is open as `file`.
pub(crate) async fn write_header(
    world: &World,
    path: &Path,
    file: FileId,
    header: &DatabaseHeader,
) -> Result<(), EngineError> {
    let (bytes, size) = (header.to_bytes(), header.page_size);
    for copy in 0..2 {
        let segment = Bytes::outgoing(&world.frames, &bytes);
        let at = copy * size.bytes_u64();
        let written = write_through(world, Class::Metadata, file, at, segment).await;
        written.map_err(file_error(path))?;
    }
    Ok(())
}
