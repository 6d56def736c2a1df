//! Creating a database: a bulk load at the speed of the device.
//!
//! Nothing is logged. The file starts under a temporary name ([`making_path`]) and gets the
//! database's name when its header is durable, so that no file without our marker ever has that
//! name. The header says *just created* until the end, to identify an interrupted creation. Pages
//! stream out in order; when all of them are durable, the header says *clean*. Three passes over
//! the messages fill three trees (see [`crate::table::load`]).

mod writer;

use std::path::{Path, PathBuf};

use brunt_units::{DatabaseTime, PageNumber, PageSize, Span};
use brunt_world::{Class, FileId, Io, OpenMode, VolumeError, World};

use crate::content::{Bytes, Content};
use crate::error::EngineError;
use crate::format::catalog::system;
use crate::format::header::{DatabaseHeader, DatabaseState};
use crate::format::long_value::{LongValueId, chunk_bytes};
use crate::format::stamp::Signature;
use crate::small_file::{file_error, name_error, write_through};
use crate::table::load::{LoadOptions, RecordsLoad};
use crate::table::message::{Body, Message, stays_inside};
use writer::SequentialWriter;

/// Messages between two checks for completed writes, and the CPU time they cost on a modelled core.
const BATCH: (u32, Span) = (16, Span::micros(40));

/// Options for creating a database.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    pub page_size: PageSize,
    /// Fill of pages, in percent; at most 100. The catalog says 80.
    pub fill_percent: u32,
    /// Free pages after the last tree that belong to the database.
    pub free_pages: u32,
    /// Approximate file length, to reserve it in one piece.
    pub expected_bytes: u64,
    /// Signature of the database, with our marker. Given rather than drawn here, because the
    /// messages' content may depend on it.
    pub signature: Signature,
}

/// The messages of a new database, by number.
pub trait MessageSource {
    /// All numbers, in the order of their ids.
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_>;

    /// All numbers, in the order of folder, then received, then id.
    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_>;

    /// Id, folder and received of a message.
    fn keys(&self, number: u64) -> (i64, i32, i64);

    /// Bytes in a message's body.
    fn body_bytes(&self, number: u64) -> usize;

    /// Writes a message's subject, replacing the content of the buffer.
    fn subject(&self, number: u64, subject: &mut Vec<u8>);

    /// Writes a message's body, likewise. Called once: with the record if the body stays inside, or
    /// later.
    fn body(&self, number: u64, body: &mut Vec<u8>);

    /// Fills free space of a page with what a used database has there: bytes of records that were
    /// deleted or moved. Storage that compresses or finds zeros sees it like any other content.
    fn old_content(&self, page: PageNumber, free: &mut [u8]) {
        let _ = page;
        free.fill(0);
    }
}

/// A database that was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    pub messages: u64,
    /// Pages, without headers.
    pub pages: u32,
    /// Pages in use.
    pub used: u32,
    /// Bytes of the file.
    pub bytes: u64,
}

/// File name of the database `path` until its header is durable. After a crash, a file of this name
/// is blank or carries our marker.
pub fn making_path(path: &Path) -> PathBuf {
    path.with_extension("edb-making")
}

/// Creates a file at `path` with only its headers.
async fn begin(world: &World, path: &Path, header: &DatabaseHeader) -> Result<FileId, EngineError> {
    match world.volume.open(path, OpenMode::Read).await {
        Err(VolumeError::NotFound) => {}
        Err(error) => return Err(name_error(path)(error)),
        Ok(file) => {
            // It was only opened to see whether it exists.
            let _ = world.volume.close(file).await;
            return Err(name_error(path)(VolumeError::Exists));
        }
    }
    let making = making_path(path);
    let opened = world.volume.open(&making, OpenMode::CreateNew).await;
    let file = opened.map_err(name_error(&making))?;
    write_headers(world, &making, file, header).await?;
    let renamed = world.volume.rename(&making, path).await;
    renamed.map_err(name_error(path))?;
    Ok(file)
}

/// Creates the database `path`, which must not exist.
///
/// Calls `progress` now and then with the bytes of pages submitted for writing.
///
/// # Errors
/// When the file exists, or cannot be created, written or synced. A file left behind carries our
/// marker and says *just created*.
///
/// # Panics
/// When the signature does not carry our marker.
pub async fn create_database(
    world: &World,
    path: &Path,
    options: &CreateOptions,
    source: &dyn MessageSource,
    progress: &dyn Fn(u64),
) -> Result<Created, EngineError> {
    assert!(options.signature.is_ours(), "a database without our marker");
    let mut header = DatabaseHeader::new(options.page_size, options.signature);
    let file = begin(world, path, &header).await?;
    let allocated =
        world.volume.allocate(file, options.expected_bytes.max(2 * options.page_size.bytes_u64()));
    allocated.await.map_err(name_error(path))?;
    let writer = SequentialWriter::new(world, source, file, options.page_size, FIRST_STREAMED);
    let mut load = Load { world, path, options, source, progress, writer };
    let created = load.run(file).await?;
    let synced = world.disk.submit(Io::sync(Class::Create, file)).await;
    synced.result.map_err(file_error(path))?;
    header.state = DatabaseState::Clean;
    header.object_max = system::FIRST_USER_OBJECT;
    write_headers(world, path, file, &header).await?;
    if let Some(directory) = path.parent() {
        world.volume.sync_directory(directory).await.map_err(name_error(directory))?;
    }
    world.volume.close(file).await.map_err(name_error(path))?;
    Ok(created)
}

/// The first page that the first pass may stream: the pages before it are written at the end.
const FIRST_STREAMED: PageNumber = PageNumber(1);

async fn write_headers(
    world: &World,
    path: &Path,
    file: FileId,
    header: &DatabaseHeader,
) -> Result<(), EngineError> {
    let bytes = header.to_bytes();
    for copy in 0..2 {
        let segment = Bytes::outgoing(&world.frames, &bytes);
        let offset = copy * header.page_size.bytes_u64();
        write_through(world, Class::Create, file, offset, segment)
            .await
            .map_err(file_error(path))?;
    }
    Ok(())
}

/// A load in progress.
struct Load<'a> {
    world: &'a World,
    path: &'a Path,
    options: &'a CreateOptions,
    source: &'a dyn MessageSource,
    progress: &'a dyn Fn(u64),
    writer: SequentialWriter<'a>,
}

impl Load<'_> {
    async fn run(&mut self, file: FileId) -> Result<Created, EngineError> {
        let size = self.options.page_size;
        let time = DatabaseTime(1);
        let load = LoadOptions { size, fill_percent: self.options.fill_percent, time };
        let (mut subject, mut body) = (Vec::new(), Vec::new());

        let mut records = RecordsLoad::new(load);
        let mut next_body = 0;
        for (count, number) in (1_u32..).zip(self.source.in_id_order()) {
            let (id, folder, received) = self.source.keys(number);
            self.source.subject(number, &mut subject);
            let place = match stays_inside(self.options.page_size, self.source.body_bytes(number)) {
                true => {
                    self.source.body(number, &mut body);
                    Body::Inside(&body)
                }
                false => {
                    next_body += 1;
                    Body::Apart(LongValueId(next_body))
                }
            };
            let message =
                Message { id, folder, received, version: 0, subject: &subject, body: place };
            records.push(&mut self.writer, &message);
            self.rest(count, records.settled()).await?;
        }

        let mut bodies = records.finish(&mut self.writer);
        let mut next_body = 0;
        for (count, number) in (1_u32..).zip(self.source.in_id_order()) {
            if stays_inside(self.options.page_size, self.source.body_bytes(number)) {
                continue;
            }
            self.source.body(number, &mut body);
            next_body += 1;
            let id = LongValueId(next_body);
            let bytes = u32::try_from(body.len()).expect("a body is below 2 GiB");
            bodies.begin(&mut self.writer, id, bytes);
            for (offset, chunk) in
                (0_u32..).step_by(chunk_bytes(size)).zip(body.chunks(chunk_bytes(size)))
            {
                bodies.chunk(&mut self.writer, id, offset, chunk);
                self.writer.send(bodies.settled()).await.map_err(file_error(self.path))?;
            }
            self.rest(count, bodies.settled()).await?;
        }

        let mut index = bodies.finish(&mut self.writer);
        for (count, number) in (1_u32..).zip(self.source.in_folder_order()) {
            let (id, folder, received) = self.source.keys(number);
            index.push(&mut self.writer, folder, received, id);
            self.rest(count, index.settled()).await?;
        }
        let loaded = index.finish(&mut self.writer, self.options.free_pages);
        let failed = file_error(self.path);
        self.writer.finish(PageNumber(loaded.used), loaded.last).await.map_err(&failed)?;
        for (number, bytes) in &loaded.pages {
            self.writer.patch(*number, bytes).await.map_err(&failed)?;
        }
        let bytes = loaded.last.after(1).offset(size);
        self.world.volume.allocate(file, bytes).await.map_err(name_error(self.path))?;
        (self.progress)(bytes);
        Ok(Created { messages: loaded.messages, pages: loaded.last.0, used: loaded.used, bytes })
    }

    /// Submits finished pages, and now and then yields.
    async fn rest(&mut self, count: u32, settled: PageNumber) -> Result<(), EngineError> {
        if count.is_multiple_of(BATCH.0) {
            self.writer.send(settled).await.map_err(file_error(self.path))?;
            (self.progress)(settled.offset(self.options.page_size));
            self.world.clock.spend(BATCH.1).await;
        }
        Ok(())
    }
}
