//! The epoch of a site, durable in a file of its own.
//!
//! The file is one block of text, replaced as a whole: written and synced under another name,
//! renamed, and its directory synced. So a site is in the old epoch or in the new one, never in
//! none.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_world::{Class, Io, IoError, OpenMode, VolumeError, World};

use crate::receiver::ReceiverError;

/// Bytes of the file.
const BLOCK: usize = 4096;
/// What it begins with.
const MARK: &str = "brunt mirror, epoch ";

/// The epoch in the file at `path`; 0 when there is none.
pub(crate) async fn read(world: &World, path: &Path) -> Result<u64, ReceiverError> {
    let volume = &world.volume;
    let file = match volume.open(path, OpenMode::Read).await {
        Err(VolumeError::NotFound) => return Ok(0),
        opened => opened.map_err(|error| of_name(path, error))?,
    };
    let frame = world.frames.take(BLOCK);
    let done = world.disk.submit(Io::read(Class::Metadata, file, 0, frame)).await;
    let closed = volume.close(file).await;
    let parsed = match done.result {
        // A file that is too short is none of ours.
        Err(IoError::PastEnd) => None,
        Err(error) => return Err(of_file(path, error)),
        Ok(()) => parse(&done.into_frame()),
    };
    closed.map_err(|error| of_name(path, error))?;
    parsed.ok_or_else(|| ReceiverError::Foreign(path.to_owned()))
}

/// Makes `epoch` durable in the file at `path`.
pub(crate) async fn write(world: &World, path: &Path, epoch: u64) -> Result<(), ReceiverError> {
    let volume = &world.volume;
    let fresh = fresh_name(path);
    match volume.remove(&fresh).await {
        Ok(()) | Err(VolumeError::NotFound) => {}
        Err(error) => return Err(of_name(&fresh, error)),
    }
    let file = volume.open(&fresh, OpenMode::CreateNew).await;
    let file = file.map_err(|error| of_name(&fresh, error))?;
    let mut frame = world.frames.zeroed(BLOCK);
    let text = format!("{MARK}{epoch}\n");
    frame[..text.len()].copy_from_slice(text.as_bytes());
    let frame = Rc::new(frame);
    for io in [Io::write(Class::Metadata, file, 0, &frame), Io::sync(Class::Metadata, file)] {
        let done = world.disk.submit(io).await;
        done.result.map_err(|error| of_file(&fresh, error))?;
    }
    let closed = volume.close(file).await;
    closed.map_err(|error| of_name(&fresh, error))?;
    let renamed = volume.rename(&fresh, path).await;
    renamed.map_err(|error| of_name(path, error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let synced = volume.sync_directory(folder).await;
    synced.map_err(|error| of_name(folder, error))
}

fn fresh_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn parse(bytes: &[u8]) -> Option<u64> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let text = std::str::from_utf8(line).ok()?;
    text.strip_prefix(MARK)?.parse().ok()
}

fn of_name(path: &Path, error: VolumeError) -> ReceiverError {
    let path = path.to_owned();
    ReceiverError::Name { path, error }
}

fn of_file(path: &Path, error: IoError) -> ReceiverError {
    let path = path.to_owned();
    ReceiverError::File { path, error }
}

#[cfg(test)]
mod tests {
    use brunt_world_virtual::{VirtualOptions, VirtualWorld};

    use super::*;

    #[test]
    fn an_epoch_is_read_as_written_and_a_foreign_file_is_refused() {
        let mut made = VirtualWorld::new(VirtualOptions::default());
        let world = made.world.clone();
        made.executor.block_on(async move {
            let path = Path::new("/b/epoch");
            assert_eq!(read(&world, path).await, Ok(0));
            for epoch in [1, 2, u64::MAX] {
                write(&world, path, epoch).await.unwrap();
                assert_eq!(read(&world, path).await, Ok(epoch));
            }
            let other = Path::new("/b/other");
            let file = world.volume.open(other, OpenMode::CreateNew).await.unwrap();
            for bytes in [0, 512, 8192] {
                world.volume.allocate(file, bytes).await.unwrap();
                let foreign = ReceiverError::Foreign(other.to_owned());
                assert_eq!(read(&world, other).await, Err(foreign));
            }
        });
    }
}
