//! Are these files intact? Read-only verification of databases, logs, checkpoints and flush maps.
//!
//! ```text
//!    path ── open, first 64 KiB ── what is it?
//!              database (any program's)  header copies → owned space → every owned page, 256 KiB reads, 8 in flight
//!                                        → blank pages that a tree reaches
//!              log, checkpoint, flush map (ours)   every segment, copy, map page
//!              fill, or zeros in a reserve         a log that was never written or is being created, if all of it is blank
//!              anything else             [`VerifyError`], nothing verified
//! ```
//!
//! Pages outside the space owned by the database's root tree are never verified: they are unused,
//! and genuine files contain junk there. If the owned space cannot be read, the whole file is
//! verified and a note says so.
//!
//! | finding | ESE |
//! | --- | --- |
//! | the checksum is wrong | −1018 |
//! | ... and the page is intact under another page's number | −1118 |
//! | blank, and a tree points to it | −1019 |
//! | intact, or blank, but older than the flush map says | −1119 |
//! | intact, but newer than the header of a database that was closed | −567 |
//! | intact, but another page says otherwise (`neighbours`) | −327, −338, −1414, −1526 |
//! | the device fails the read | −1022 |
//! | owned, but past the end of the file | −4001 |
//! | intact, but its description of the owned space is malformed | −1206 |
//! | a log segment | −501 |
//!
//! A blank page that no tree points to was never used, and is fine. To find out, branch pages are
//! walked, but only when the pass over the file saw a pointer to a blank page. In a database that
//! was not closed properly such a page is not judged: recovery may still have to write it, or it is
//! lost. Only the logs can tell, and they are not asked.
//!
//! One flipped bit (per block, on large pages) is *correctable*: an engine repairs it as it reads.
//! Such pages are listed and counted separately from bad ones.
//!
//! An intact but outdated page can agree with everything around it. The files alone do not reveal
//! that; a note says so.
//!
//! Memory: eight reads and two bits for each page of the file, whatever the file claims. File
//! content is untrusted: it gives findings or errors, never a panic.

mod companion;
mod database;
mod flush;
mod log;
mod neighbours;
mod owned;
mod page_set;
mod reach;
mod report;
mod source;
#[cfg(test)]
mod testkit;
#[cfg(test)]
mod tests;
mod tree;

use std::path::Path;

use brunt_world::{IoError, VolumeError, World};

pub use database::CPU_PER_CHUNK;
pub use report::{Contradiction, Fault, FileKind, FileReport, Finding, LISTED_MAX, Note, Place};
pub use source::{CHUNK_BYTES, READS_IN_FLIGHT};

use self::source::Source;
use crate::format::checkpoint_file::CHECKPOINT_FILE_TYPE;
use crate::format::field::u32_in;
use crate::format::flush_map::FLUSH_MAP_FILE_TYPE;
use crate::format::header::{DatabaseHeader, FILE_TYPE_AT, HEADERS_BYTES_MAX, HeaderError};
use crate::format::log_file::{LOG_FILE_TYPE, LogHeaderError};

/// Why a file was not verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] VolumeError),
    /// Its start cannot be read, or not enough of it to identify the file.
    #[error("the beginning of the file cannot be read: {0}")]
    Read(IoError),
    /// It is not a file that ESE or brunt writes.
    #[error("not an ESE database, log, checkpoint or flush map")]
    NotEse,
    /// It is a database, and neither copy of its header is usable.
    #[error(transparent)]
    Header(HeaderError),
    /// It is a log with unknown segments or a damaged header.
    #[error(transparent)]
    Log(LogHeaderError),
}

impl VerifyError {
    /// Whether the file is of a supported kind but too damaged to verify, which is a finding in
    /// itself.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Read(_)
                | Self::Header(HeaderError::Checksum)
                | Self::Log(LogHeaderError::Checksum | LogHeaderError::Contradiction)
        )
    }
}

/// Verifies the file at `path`, read-only.
///
/// # Errors
/// [`VerifyError`] when there is nothing to verify. Damage to pages is in the report.
pub async fn verify(world: &World, path: &Path) -> Result<FileReport, VerifyError> {
    let begun = world.clock.now();
    let source = Source::open(world, path).await?;
    let judged = judge(&source).await;
    // Nothing was written, so a failed close does not matter.
    let _ = world.volume.close(source.file).await;
    let mut report = judged?;
    report.elapsed = world.clock.now() - begun;
    Ok(report)
}

/// Length of the database at `path` according to its own data: the end of the space that its root
/// owns. `None` when that cannot be read.
///
/// # Errors
/// [`VerifyError`] when it is not a database.
pub async fn claimed_length(world: &World, path: &Path) -> Result<Option<u64>, VerifyError> {
    let source = Source::open(world, path).await?;
    let readable = source.readable.min(HEADERS_BYTES_MAX as u64);
    let length = usize::try_from(readable).expect("at most two headers");
    let (start, _) = source.read_start(length).await;
    let claimed = match DatabaseHeader::find(&start) {
        Ok(found) => Ok(database::claimed_length(&source, found.header.page_size).await),
        Err(error) => Err(VerifyError::Header(error)),
    };
    // Nothing was written, so a failed close does not matter.
    let _ = world.volume.close(source.file).await;
    claimed
}

async fn judge(source: &Source) -> Result<FileReport, VerifyError> {
    let readable = source.readable.min(HEADERS_BYTES_MAX as u64);
    let length = usize::try_from(readable).expect("at most two headers");
    let (start, failure) = source.read_start(length).await;
    // A file with an unreadable start may well be one of ours.
    let unknown = failure.map_or(VerifyError::NotEse, VerifyError::Read);
    match DatabaseHeader::find(&start) {
        Ok(found) => return Ok(database::verify(source, found).await),
        Err(HeaderError::NotEse) => {}
        Err(other) => return Err(VerifyError::Header(other)),
    }
    match u32_in(&start, FILE_TYPE_AT) {
        Some(LOG_FILE_TYPE) => log::verify(source, &start).await.map_err(VerifyError::Log),
        Some(CHECKPOINT_FILE_TYPE) => companion::verify_checkpoint(source, &start).ok_or(unknown),
        Some(FLUSH_MAP_FILE_TYPE) => {
            let judged = companion::verify_flush_map(source, &start).await;
            judged.ok_or(unknown)
        }
        _ if log::is_blank(&source.path, &start) => log::verify_blank(source).await.ok_or(unknown),
        _ => Err(unknown),
    }
}
