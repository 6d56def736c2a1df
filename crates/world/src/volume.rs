//! Files and their names: logs roll, databases grow, and crash images are journalled through this
//! interface.
//!
//! Every verb is asynchronous: a directory sync can take as long as a disk write, and in the
//! virtual world it takes virtual time.

use std::path::Path;

use crate::Answer;

/// An open file, as numbered by the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The mode in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A new file, for reading and writing; [`VolumeError::Exists`] when there is one.
    CreateNew,
}

/// The space of a path's file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes an ordinary user can still fill.
    pub free_bytes: u64,
    /// Total bytes.
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
    /// Makes the file exactly `bytes` long and reserves its blocks. New bytes read as zero, and may
    /// be unwritten extents; write them once before timing writes into them.
    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()>;
    /// Renames within a directory or across directories; a file named `to` is replaced.
    fn rename(&self, from: &Path, to: &Path) -> Answer<()>;
    /// Removes a name; the file lives on while it is open.
    fn remove(&self, path: &Path) -> Answer<()>;
    /// The names in a directory, sorted.
    fn list(&self, directory: &Path) -> Answer<Vec<String>>;
    /// Makes completed opens (of new files), renames and removes in `directory` durable.
    fn sync_directory(&self, directory: &Path) -> Answer<()>;
    /// Space on the file system that holds `path`.
    fn space(&self, path: &Path) -> Answer<Space>;
}

/// Why a volume refused a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// No such file or directory.
    #[error("no such file or directory")]
    NotFound,
    /// The file exists already.
    #[error("the file exists already")]
    Exists,
    /// The volume is full.
    #[error("no space left on the volume")]
    NoSpace,
    /// A quota is used up (EDQUOT).
    #[error("disk quota exceeded")]
    Quota,
    /// The file may not become larger (EFBIG).
    #[error("the limit of a file's size is reached")]
    FileLimit,
    /// The file system takes no writes (EROFS).
    #[error("the file system is read-only")]
    ReadOnly,
    /// The user lacks the permission.
    #[error("permission denied")]
    Denied,
    /// The device failed (EIO).
    #[error("input/output error")]
    Device,
    /// Any other error, in the operating system's words.
    #[error("{0}")]
    Other(String),
}
