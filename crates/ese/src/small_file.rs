//! Small files read and written whole: headers, checkpoints, log files during recovery.

use std::path::Path;

use brunt_world::{Class, FileId, Frames, Io, IoError, Op, OpenMode, Segment, Segments, World};

use crate::error::EngineError;

/// Bytes read at a time.
const CHUNK: u64 = 256 << 10;

/// Wraps the I/O error of the file at `path`.
pub fn file_error(path: &Path) -> impl Fn(IoError) -> EngineError {
    move |error| EngineError::File { path: path.to_owned(), error }
}

/// Wraps the volume error for `path`.
pub fn name_error(path: &Path) -> impl Fn(brunt_world::VolumeError) -> EngineError {
    move |error| EngineError::Volume { path: path.to_owned(), error }
}

/// Reads `length` bytes from `offset`; both are multiples of 512.
pub(crate) async fn read_at(
    world: &World,
    class: Class,
    file: FileId,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    let mut done = 0;
    while done < length {
        let piece = CHUNK.min(length - done);
        // Frames come in multiples of 4 KiB; the rest of an odd length is read in a smaller frame
        // of its own.
        let frame = whole_frames(&world.frames, piece);
        let got = frame.len() as u64;
        let read = world.disk.submit(Io::read(class, file, offset + done, frame)).await;
        read.result?;
        bytes.extend_from_slice(&read.into_frame());
        done += got;
    }
    bytes.truncate(usize::try_from(length).expect("small files fit into memory"));
    Ok(bytes)
}

fn whole_frames(frames: &Frames, bytes: u64) -> brunt_world::Frame {
    frames.take(usize::try_from(bytes).expect("a chunk").next_multiple_of(4096))
}

/// Reads a whole file.
///
/// # Errors
/// When it cannot be opened or read.
pub(crate) async fn read_whole(
    world: &World,
    class: Class,
    path: &Path,
) -> Result<Vec<u8>, EngineError> {
    let file = world.volume.open(path, OpenMode::Read).await.map_err(name_error(path))?;
    let length = world.volume.length(file).await.map_err(name_error(path))?;
    let whole = length - length.rem_euclid(4096);
    let bytes = read_at(world, class, file, 0, whole).await.map_err(file_error(path));
    world.volume.close(file).await.map_err(name_error(path))?;
    bytes
}

/// Writes `segment` durably.
pub(crate) async fn write_through(
    world: &World,
    class: Class,
    file: FileId,
    offset: u64,
    segment: Segment,
) -> Result<(), IoError> {
    let segments = Segments::from_buf([segment]);
    world.disk.submit(Io::new(class, Op::WriteThrough, file, offset, segments)).await.result
}
