//! Files and their names: what logs roll through, databases grow through, crash images journal.
//!
//! Every verb is asynchronous: a directory sync can take as long as a disk write, and in the virtual world it costs
//! virtual time.

use std::path::Path;

use crate::Answer;

/// An open file, as the world below numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A new file, for reading and writing; [`VolumeError::Exists`] when there is one.
    CreateNew,
}

/// How much room a path's file system has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes an ordinary user can still fill.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Equal for paths on the same file system.
    pub volume: u64,
}

/// Files and their names.
///
/// Paths are plain paths of the world; directories in them exist. Durability: see [`crate::Disk`].
pub trait Volume {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId>;
    /// Closes a file; I/O in flight on it still completes.
    fn close(&self, file: FileId) -> Answer<()>;
    /// The file's length in bytes.
    fn length(&self, file: FileId) -> Answer<u64>;
    /// Makes the file exactly `bytes` long and reserves its blocks. New bytes read as zero, and may be unwritten
    /// extents: whoever will time writes into them writes them once before.
    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()>;
    /// Renames within one directory or across, replacing what `to` named.
    fn rename(&self, from: &Path, to: &Path) -> Answer<()>;
    /// Removes a name; the file lives on while it is open.
    fn remove(&self, path: &Path) -> Answer<()>;
    /// The names in a directory, sorted.
    fn list(&self, directory: &Path) -> Answer<Vec<String>>;
    /// Makes completed opens (of new files), renames and removes in `directory` durable.
    fn sync_directory(&self, directory: &Path) -> Answer<()>;
    /// Room on the file system that holds `path`.
    fn space(&self, path: &Path) -> Answer<Space>;
}

/// How a volume refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// No such file or directory.
    #[error("no such file or directory")]
    NotFound,
    /// The file is there already.
    #[error("the file exists already")]
    Exists,
    /// The volume is full.
    #[error("no space left on the volume")]
    NoSpace,
    /// The user may not.
    #[error("permission denied")]
    Denied,
    /// Anything else, in the operating system's words.
    #[error("{0}")]
    Other(String),
}
