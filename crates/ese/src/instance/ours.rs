//! Refuses foreign files, before anything in a log directory is written, replaced or removed.
//!
//! brunt uses genuine ESE file names, so a directory may contain a real ESE log stream under the
//! same names. A file is ours if it carries our marker. A blank file counts as ours too: when a
//! crash interrupts creation, it leaves zeros, log filling, or our first sector.
//!
//! ```text
//!   edb.log, edb00001.log ...   marker in the log signature, first sector
//!   edbtmp.log                  the same, or zeros, or filling
//!   edbres00001.jrs ...         the same
//!   edb.chk                     marker in the log signature of either copy, or zeros
//!   the databases' .jfm         our kind of map, or zeros
//! ```

use std::path::Path;

use brunt_world::{Class, OpenMode, VolumeError, World};

use super::InstanceOptions;
use super::checkpoint::checkpoint_path;
use crate::content::Content;
use crate::error::EngineError;
use crate::format::checkpoint_file::{CHECKPOINT_BYTES, SIGNATURE_AT as CHECKPOINT_SIGNATURE_AT};
use crate::format::flush_map::{has_magic, path_beside};
use crate::format::log_file::{FILL, SIGNATURE_AT as LOG_SIGNATURE_AT};
use crate::format::stamp::Signature;
use crate::log::LogFiles;
use crate::log::reserve::{RESERVES, reserve_path};
use crate::small_file::{file_error, name_error, read_at};

const SECTOR: usize = 512;
/// Bytes to read from the start of a file.
const START: u64 = 2 * CHECKPOINT_BYTES as u64;

/// Fails if a file with one of our names, beside the logs or the databases, is foreign. Writes
/// nothing.
///
/// # Errors
/// [`EngineError::NotOurs`] with the file's path.
pub(crate) async fn check_files<C: Content>(
    world: &World,
    files: &LogFiles<C>,
    options: &InstanceOptions,
) -> Result<(), EngineError> {
    for database in &options.databases {
        check(world, &path_beside(database), |start| is_blank(start) || has_magic(start)).await?;
    }
    for generation in files.archived().await? {
        check(world, &files.archived_path(generation), is_log).await?;
    }
    check(world, &files.current_path(), is_log).await?;
    check(world, &files.next_path(), |start| is_log(start) || is_blank(start)).await?;
    for number in 1..=RESERVES {
        let place = files.place();
        let path = reserve_path(&place.directory, &place.base, number);
        check(world, &path, |start| is_log(start) || is_blank(start)).await?;
    }
    check(world, &checkpoint_path(options), |start| {
        let (first, second) = start.split_at(start.len().min(CHECKPOINT_BYTES));
        is_blank(start)
            || has_marker(first, CHECKPOINT_SIGNATURE_AT)
            || has_marker(second, CHECKPOINT_SIGNATURE_AT)
    })
    .await
}

async fn check(
    world: &World,
    path: &Path,
    is_ours: impl Fn(&[u8]) -> bool,
) -> Result<(), EngineError> {
    let file = match world.volume.open(path, OpenMode::Read).await {
        Ok(file) => file,
        Err(VolumeError::NotFound) => return Ok(()),
        Err(error) => return Err(name_error(path)(error)),
    };
    let length = world.volume.length(file).await.map_err(name_error(path))?;
    let looked = length.min(START);
    let start = read_at(world, Class::Metadata, file, 0, looked - looked.rem_euclid(4096)).await;
    world.volume.close(file).await.map_err(name_error(path))?;
    let start = start.map_err(file_error(path))?;
    if length == 0 && !is_ours(&start) {
        return Err(EngineError::LogEmpty(path.to_owned()));
    }
    // A file shorter than a block cannot be ours, unless it is empty.
    let fits = !start.is_empty() || length == 0;
    (fits && is_ours(&start)).then_some(()).ok_or_else(|| EngineError::NotOurs(path.to_owned()))
}

fn is_log(start: &[u8]) -> bool {
    has_marker(start, LOG_SIGNATURE_AT)
}

fn has_marker(start: &[u8], at: usize) -> bool {
    start.len() >= SECTOR && Signature::read(start, at).is_ours()
}

/// Whether the first sector is zeros, log filling, or absent.
fn is_blank(start: &[u8]) -> bool {
    let sector = &start[..start.len().min(SECTOR)];
    sector.iter().all(|byte| *byte == 0) || sector.iter().all(|byte| *byte == FILL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::stamp::{RunId, Stamp};

    #[test]
    fn blank_and_marked_starts_are_ours_and_others_are_not() {
        let mut start = vec![0; 4096];
        assert!(is_blank(&start) && !is_log(&start));
        start.fill(FILL);
        assert!(is_blank(&start) && !is_log(&start));
        Signature::ours(1, Stamp::from_unix_millis(2), RunId(3))
            .write(&mut start, LOG_SIGNATURE_AT);
        assert!(is_log(&start) && !is_blank(&start));
        let foreign = Signature { random: 7, ..Signature::default() };
        foreign.write(&mut start, LOG_SIGNATURE_AT);
        assert!(!is_log(&start) && !is_blank(&start));
        assert!(is_blank(&[]) && !is_log(&[]));
    }
}
