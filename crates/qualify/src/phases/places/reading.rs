//! The first bytes of a file.

use std::path::Path;

use brunt_world::{Class, FileId, Io, OpenMode, VolumeError, World};

use crate::error::RunError;

/// The unit of reads from the start of a file.
pub(super) const UNIT: u64 = 4096;

pub(crate) async fn length(world: &World, path: &Path) -> Result<Option<u64>, RunError> {
    Ok(beginning(world, path, 0).await?.map(|(_, length)| length))
}

/// The first bytes of a file, at most `most` (a multiple of 4,096), and its length; `None` when
/// there is no file.
pub(crate) async fn beginning(
    world: &World,
    path: &Path,
    most: u64,
) -> Result<Option<(Vec<u8>, u64)>, RunError> {
    let file = match world.volume.open(path, OpenMode::Read).await {
        Ok(file) => file,
        Err(VolumeError::NotFound) => return Ok(None),
        Err(error) => return Err(RunError::name(path)(error)),
    };
    let read = read_beginning(world, path, file, most).await;
    // It was only read, so a failed close does not matter.
    let _ = world.volume.close(file).await;
    read.map(Some)
}

async fn read_beginning(
    world: &World,
    path: &Path,
    file: FileId,
    most: u64,
) -> Result<(Vec<u8>, u64), RunError> {
    let length = world.volume.length(file).await;
    let length = length.map_err(RunError::name(path))?;
    // A file shorter than a unit is not ours, and cannot be read around the page cache.
    let wanted = most.min(length - length.rem_euclid(UNIT));
    if wanted == 0 {
        // Neither zeros nor fill: a short file must not look blank.
        let odd = u8::from(length > 0 && most > 0);
        return Ok((vec![odd; usize::from(odd)], length));
    }
    let bytes = usize::try_from(wanted).expect("at most two headers");
    let frame = world.frames.take(bytes);
    let done = world.disk.submit(Io::read(Class::Metadata, file, 0, frame)).await;
    done.result.map_err(RunError::read(path))?;
    Ok((done.into_frame().to_vec(), length))
}
