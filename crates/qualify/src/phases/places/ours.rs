//! Whether a file is ours: it has our marker, or is still blank.

use std::path::{Path, PathBuf};

use brunt_ese::format::checkpoint_file::{self, CHECKPOINT_BYTES};
use brunt_ese::format::flush_map::{MAP_PAGE_BYTES, has_magic};
use brunt_ese::format::header::{self, DatabaseHeader, DatabaseState, HEADERS_BYTES_MAX};
use brunt_ese::format::log_file::{self, FILL};
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_units::{ByteSize, PageSize};
use brunt_world::World;

use super::reading::{UNIT, beginning};
use crate::error::RunError;

/// Prefix of an engine's files in a log folder.
const LOG_BASE: &str = "edb";

/// The file at a database's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// Ours, but its creation was never finished.
    Unfinished,
    Ours {
        state: DatabaseState,
        page: PageSize,
        length: ByteSize,
        made: Stamp,
    },
}

/// Whether the unfinished file of `target` is ours, or still blank.
pub(crate) async fn is_begun(world: &World, path: &Path, target: &Path) -> Result<bool, RunError> {
    let signature_at = match target.extension().and_then(|extension| extension.to_str()) {
        Some("log") => return log_is_ours(world, path).await,
        Some("chk") => return checkpoint_is_ours(world, path).await,
        _ => header::SIGNATURE_AT,
    };
    let start = beginning(world, path, UNIT).await?;
    // The rest of its header may be missing.
    let marked = |start: &[u8]| has_marker(start, signature_at);
    Ok(start.is_none_or(|(start, _)| is_blank(&start) || marked(&start)))
}

pub(super) async fn look_at_database(world: &World, path: &Path) -> Result<Found, RunError> {
    let Some((start, length)) = beginning(world, path, HEADERS_BYTES_MAX as u64).await? else {
        return Ok(Found::Nothing);
    };
    match DatabaseHeader::find(&start).map(|found| found.header) {
        Ok(header) if !header.is_ours() => Err(RunError::Foreign(path.to_owned())),
        Ok(header) if header.state == DatabaseState::JustCreated => Ok(Found::Unfinished),
        Ok(header) => Ok(Found::Ours {
            state: header.state,
            page: header.page_size,
            length: ByteSize::bytes(length),
            made: header.signature.created,
        }),
        Err(_) if length == 0 => Err(RunError::Empty(path.to_owned())),
        Err(_) => Err(RunError::Foreign(path.to_owned())),
    }
}

/// Whether a backup file (by its name a database, a log or a checkpoint) carries our marker or is
/// blank.
pub(crate) async fn is_ours(world: &World, path: &Path) -> Result<bool, RunError> {
    let name = path.to_string_lossy();
    if name.ends_with(".log") {
        return log_is_ours(world, path).await;
    }
    if name.ends_with(".chk") {
        return checkpoint_is_ours(world, path).await;
    }
    match look_at_database(world, path).await {
        Ok(_) => Ok(true),
        Err(RunError::Foreign(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) async fn look_at_map(world: &World, path: &Path) -> Result<(), RunError> {
    let start = beginning(world, path, MAP_PAGE_BYTES as u64).await?;
    let ours = start.is_none_or(|(start, _)| is_blank(&start) || has_magic(&start));
    match ours {
        true => Ok(()),
        false => Err(RunError::Foreign(path.to_owned())),
    }
}

/// The files of our log stream in `folder`.
pub(super) async fn own_logs(world: &World, folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let names = world.volume.list(folder).await;
    let names = names.map_err(RunError::name(folder))?;
    let mut logs = Vec::new();
    for name in names {
        let Some(rest) = name.strip_prefix(LOG_BASE) else {
            continue;
        };
        let path = folder.join(&name);
        let ours = match rest {
            ".chk" => checkpoint_is_ours(world, &path).await?,
            _ if rest.ends_with(".log") || rest.ends_with(".jrs") => {
                log_is_ours(world, &path).await?
            }
            _ => continue,
        };
        if !ours {
            return Err(RunError::Foreign(path));
        }
        logs.push(path);
    }
    Ok(logs)
}

async fn log_is_ours(world: &World, path: &Path) -> Result<bool, RunError> {
    let start = beginning(world, path, UNIT).await?;
    let marked = |start: &[u8]| has_marker(start, log_file::SIGNATURE_AT);
    Ok(start.is_none_or(|(start, _)| is_blank(&start) || marked(&start)))
}

async fn checkpoint_is_ours(world: &World, path: &Path) -> Result<bool, RunError> {
    let start = beginning(world, path, 2 * CHECKPOINT_BYTES as u64).await?;
    let marked = |start: &[u8]| {
        let mut copies = start.chunks(CHECKPOINT_BYTES);
        copies.any(|copy| has_marker(copy, checkpoint_file::SIGNATURE_AT))
    };
    Ok(start.is_none_or(|(start, _)| is_blank(&start) || marked(&start)))
}

/// The unit in which writes are torn.
const SECTOR: usize = 512;

fn has_marker(start: &[u8], at: usize) -> bool {
    start.len() >= SECTOR && Signature::read(start, at).is_ours()
}

/// Whether the first sector is that of a new file, or of one that is being formatted.
pub(crate) fn is_blank(start: &[u8]) -> bool {
    let sector = &start[..start.len().min(SECTOR)];
    sector.iter().all(|byte| *byte == 0) || sector.iter().all(|byte| *byte == FILL)
}
