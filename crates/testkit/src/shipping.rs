//! Shipping closed log files to a passive copy.

use std::path::{Path, PathBuf};

use brunt_ese::content::{Bytes, Content};
use brunt_ese::error::EngineError;
use brunt_ese::format::log_file::log_file_name;
use brunt_world::{Class, Io, Op, OpenMode, Segments, VolumeError, World};

/// Bytes written at a time.
const CHUNK: usize = 64 << 10;

/// The path of a closed log file of a tiny engine.
pub fn log_path(directory: &Path, generation: u32) -> PathBuf {
    directory.join(log_file_name("edb", generation))
}

/// Puts a closed log file into a copy's log directory: written and synced under another name, then
/// durably renamed.
///
/// # Errors
/// [`EngineError`] when it cannot be written.
pub async fn ship(
    world: &World,
    directory: &Path,
    generation: u32,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let path = directory.join("shipped.tmp");
    let name_error = |error: VolumeError| EngineError::Volume { path: path.clone(), error };
    let volume = &world.volume;
    match volume.remove(&path).await {
        Ok(()) | Err(VolumeError::NotFound) => {}
        Err(error) => return Err(name_error(error)),
    }
    let file = volume.open(&path, OpenMode::CreateNew).await;
    let file = file.map_err(name_error)?;
    let length = volume.allocate(file, bytes.len() as u64).await;
    length.map_err(name_error)?;
    let chunks = (0_u64..).zip(bytes.chunks(CHUNK));
    let writes = chunks.map(|(number, chunk)| {
        let segments = Segments::from_buf([Bytes::outgoing(&world.frames, chunk)]);
        let offset = number * CHUNK as u64;
        Io::new(Class::Log, Op::Write, file, offset, segments)
    });
    for io in writes.chain([Io::sync(Class::Log, file)]) {
        let done = world.disk.submit(io).await;
        done.result.map_err(|error| EngineError::File { path: path.clone(), error })?;
    }
    volume.close(file).await.map_err(name_error)?;
    let to = log_path(directory, generation);
    volume.rename(&path, &to).await.map_err(name_error)?;
    volume.sync_directory(directory).await.map_err(name_error)
}
