//! Engine errors, with ESE's numbers.
//!
//! Callers distinguish four kinds: after a *conflict* they retry with another record; a *missing or
//! duplicate* key is an answer; a bad *page* ends the operation and is reported; a *failed* log or
//! volume ends the instance, whose databases stay recoverable.
//!
//! Numbers: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/jethdr.w.

use std::path::PathBuf;

use brunt_units::{LogPosition, PageNumber};
use brunt_world::{Environment, IoError, VolumeError};

pub use crate::small_file::{file_error, name_error};

use crate::format::log_file::LogHeaderError;

/// Errors of engine calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A page that was read differs from the page that was written. It is not in the cache; nothing
    /// was changed.
    #[error("{}: page {page} (offset {offset}): {fault} (ESE {})", database.display(), fault.code())]
    Page {
        /// The database file.
        database: PathBuf,
        page: PageNumber,
        /// Offset of the page in the file.
        offset: u64,
        /// What is wrong with it.
        fault: PageFault,
    },
    /// The log stream failed. Anything not yet durable may be lost, and no more commits are
    /// possible (ESE -510).
    #[error("{}: the log cannot be written at offset {offset}: {error} (ESE -510)", path.display())]
    LogFailed {
        /// The log file.
        path: PathBuf,
        /// Offset in the file.
        offset: u64,
        /// The I/O error.
        error: IoError,
    },
    /// No space is left for the next log file (ESE -529). Transactions that have changed something
    /// can end; others cannot start to change. When the reserves are used up too, the stream stops
    /// with this error. Make room on the log's volume.
    #[error("{}: no room for the next log file: {} (ESE -529)", .0.display(), .1)]
    LogDiskFull(PathBuf, Environment),
    /// Pages cannot be written, and their content on disk is unknown. If the environment refused
    /// it, the error is [`EngineError::File`].
    #[error("{}: page {page} (offset {offset}): the write failed: {error} (ESE {})", database.display(), io_code(*error))]
    Write {
        /// The database file.
        database: PathBuf,
        /// The first page of the write.
        page: PageNumber,
        /// Offset of the page in the file.
        offset: u64,
        /// The I/O error.
        error: IoError,
    },
    /// A file of the instance cannot be read, written or synced.
    #[error("{}: {error} (ESE {})", path.display(), io_code(*error))]
    File {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        error: IoError,
    },
    /// A file could not be opened, created, renamed or removed.
    #[error("{}: {error}", path.display())]
    Volume {
        path: PathBuf,
        /// The volume's error.
        error: VolumeError,
    },
    /// Another session's transaction has changed the record (ESE -1102). Choose another record, or
    /// retry later.
    #[error("the record is being changed by another session (ESE -1102)")]
    WriteConflict,
    /// There is a record with this key (ESE -1605).
    #[error("there is a record with this key (ESE -1605)")]
    KeyDuplicate,
    /// There is no record with this key (ESE -1601).
    #[error("there is no record with this key (ESE -1601)")]
    RecordNotFound,
    /// A page is valid but contains a malformed record or part of a long value. That record cannot
    /// be read; others can.
    #[error("{}: page {page} (offset {offset}): {what} (ESE -1206)", database.display())]
    Record {
        /// The database file.
        database: PathBuf,
        page: PageNumber,
        /// Offset of the page in the file.
        offset: u64,
        /// The malformed part.
        what: &'static str,
    },
    /// The log cannot be replayed (ESE -501); databases are untouched since the checkpoint.
    #[error("{}: log damaged at {at}: {what} (ESE -501)", path.display())]
    LogCorrupt {
        /// The log file.
        path: PathBuf,
        /// Where reading stopped.
        at: LogPosition,
        /// What was found there.
        what: &'static str,
    },
    /// A log file of ours has an unreadable header, or was written by another release. It was not
    /// touched.
    #[error("{}: {error}", path.display())]
    LogHeader {
        /// The log file.
        path: PathBuf,
        /// What is wrong with the header.
        error: LogHeaderError,
    },
    /// A log file has no content (ESE -543). Nothing was changed.
    #[error("{}: this log file is empty: what it held is lost (ESE -543)", .0.display())]
    LogEmpty(PathBuf),
    /// A log file between others is missing (ESE -528). Nothing was changed.
    #[error("{}: this log file is missing, and later ones are there (ESE -528)", .0.display())]
    LogMissing(PathBuf),
    /// Log files that a database names in its header are missing (ESE -543). Nothing was changed.
    #[error("{}: this log file is missing, and {} was not closed properly and needs it (ESE -543)", path.display(), database.display())]
    LogRequired {
        /// The first missing file.
        path: PathBuf,
        database: PathBuf,
    },
    /// The log ends before changes that a database has (ESE -543): its end is lost. Log and headers
    /// were not changed.
    #[error("{}: the log ends at {end}, and page {page} of {} is newer: the end of the log is missing (ESE -543)", path.display(), database.display())]
    LogEndMissing {
        /// The newest log file.
        path: PathBuf,
        /// Where it ends.
        end: LogPosition,
        database: PathBuf,
        /// The page that is newer than the log.
        page: PageNumber,
    },
    /// The log ends before the end that it had when the checkpoint was written (ESE -543). Log and
    /// headers were not changed.
    #[error("{}: the log ends at {end}, and reached {durable} when the checkpoint was written: the end of the log is missing (ESE -543)", path.display())]
    LogShort {
        /// The log file.
        path: PathBuf,
        /// Where it ends.
        end: LogPosition,
        /// Where it ended when the checkpoint was written.
        durable: LogPosition,
    },
    /// A database was not closed properly, and the logs belong to another stream (ESE -539).
    /// Nothing was changed.
    #[error("{}: these are not the logs of {}, which was not closed properly (ESE -539)", directory.display(), database.display())]
    LogOfOthers {
        /// The folder of the logs.
        directory: PathBuf,
        database: PathBuf,
    },
    /// The consumer of the data asked to stop. Not a fault.
    #[error("stopped")]
    Stopped,
    /// The file is foreign: it does not carry brunt's marker. It was not touched.
    #[error("{}: not a file of this tool; it will not be written to", .0.display())]
    NotOurs(PathBuf),
    /// The file is damaged.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

impl EngineError {
    /// Whether a file could not grow: the volume is full, or a quota or the limit of a file's size
    /// is reached.
    pub fn is_full(&self) -> bool {
        match self {
            Self::LogFailed { .. } => false,
            other => other.environment().is_some_and(Environment::is_full),
        }
    }

    /// The limit of the environment that caused it, if one did: no fault of the storage.
    pub fn environment(&self) -> Option<Environment> {
        match self {
            Self::LogDiskFull(_, why) => Some(*why),
            Self::LogFailed { error, .. }
            | Self::Write { error, .. }
            | Self::File { error, .. } => error.environment(),
            Self::Volume { error, .. } => error.environment(),
            _ => None,
        }
    }
}

/// Faults of a page that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFault {
    /// The checksum does not match and cannot be corrected.
    Checksum,
    /// The page is blank where data is expected.
    Uninitialised,
    /// The page belongs at another place.
    WrongNumber,
    /// An earlier write of the page is missing.
    LostFlush,
    /// The device failed the read.
    Device(IoError),
    /// The page is newer than the database: the log has lost its end, or the page belongs to
    /// another database.
    TooNew,
    /// The page's own numbers contradict each other although its checksum is right.
    Structure,
}

impl PageFault {
    /// ESE's error number.
    pub fn code(self) -> i32 {
        match self {
            Self::Checksum => -1018,
            Self::Uninitialised => -1019,
            Self::WrongNumber => -1118,
            Self::LostFlush => -1119,
            Self::Device(error) => io_code(error),
            Self::TooNew => -567,
            Self::Structure => -1206,
        }
    }
}

impl std::fmt::Display for PageFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Checksum => "checksum mismatch",
            Self::Uninitialised => "blank where data is expected",
            Self::WrongNumber => "wrong page number",
            Self::LostFlush => "an earlier write is missing",
            Self::Device(_) => "the read failed",
            Self::TooNew => "newer than the database",
            Self::Structure => "contents contradict one another",
        })
    }
}

/// ESE's error number for a failed I/O.
pub fn io_code(error: IoError) -> i32 {
    match error {
        IoError::NoSpace | IoError::Quota | IoError::FileLimit => -1808,
        IoError::Medium => -1021,
        IoError::PastEnd => -4001,
        _ => -1022,
    }
}
