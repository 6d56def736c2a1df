//! How the engine fails, with ESE's numbers.
//!
//! Callers act differently on four kinds: a *conflict* is tried again with another record; a *missing or duplicate* key is
//! an answer; a *page* that is bad ends the operation and is reported; a *failed* log or volume ends the instance, whose
//! databases stay recoverable.
//!
//! Numbers: microsoft/Extensible-Storage-Engine, dev/ese/published/inc/jethdr.w.

use std::path::PathBuf;

use brunt_units::{LogPosition, PageNumber};
use brunt_world::{IoError, VolumeError};

use crate::format::log_file::LogHeaderError;

/// What an engine call can end with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A page that was read is not the page that was written. The page is not in the cache; nothing was changed.
    #[error("{}: page {page} (offset {offset}): {fault} (ESE {})", database.display(), fault.code())]
    Page {
        /// The database file.
        database: PathBuf,
        /// The page.
        page: PageNumber,
        /// Its first byte in the file.
        offset: u64,
        /// What is wrong with it.
        fault: PageFault,
    },
    /// The log stream failed: what was not durable before may be lost, and nothing more can be committed (ESE -510).
    #[error("{}: the log cannot be written at offset {offset}: {error} (ESE -510)", path.display())]
    LogFailed {
        /// The log file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What the world said.
        error: IoError,
    },
    /// There is no space left for the next log file (ESE -529). Transactions that have changed something can end, nobody else can
    /// begin to; when the reserves are used up, too, this is why the stream has stopped. Make room on the log's volume.
    #[error("{}: no space left for the next log file (ESE -529)", .0.display())]
    LogDiskFull(PathBuf),
    /// Pages cannot be written; what is on the disk in their place is unknown. Without room it is [`EngineError::File`].
    #[error("{}: page {page} (offset {offset}): the write failed: {error} (ESE {})", database.display(), io_code(*error))]
    Write {
        /// The database file.
        database: PathBuf,
        /// The first page of the write.
        page: PageNumber,
        /// Its first byte in the file.
        offset: u64,
        /// What the world said.
        error: IoError,
    },
    /// A file of the instance cannot be read, written or synced.
    #[error("{}: {error} (ESE {})", path.display(), io_code(*error))]
    File {
        /// The file.
        path: PathBuf,
        /// What the world said.
        error: IoError,
    },
    /// A name could not be opened, created, renamed or removed.
    #[error("{}: {error}", path.display())]
    Volume {
        /// The path.
        path: PathBuf,
        /// What the world said.
        error: VolumeError,
    },
    /// Another session's transaction has changed the record (ESE -1102). Choose another one, or try later.
    #[error("the record is being changed by another session (ESE -1102)")]
    WriteConflict,
    /// There is a record with this key (ESE -1605).
    #[error("there is a record with this key (ESE -1605)")]
    KeyDuplicate,
    /// There is no record with this key (ESE -1601).
    #[error("there is no record with this key (ESE -1601)")]
    RecordNotFound,
    /// A page is whole and holds a record or a part of a long value that makes no sense. The record cannot be read; others can.
    #[error("{}: page {page} (offset {offset}): {what} (ESE -1206)", database.display())]
    Record {
        /// The database file.
        database: PathBuf,
        /// The page.
        page: PageNumber,
        /// Its first byte in the file.
        offset: u64,
        /// What makes no sense.
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
    /// A log file of ours whose header cannot be read, or that another release wrote. It was not touched.
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
    /// A log file between others is not there (ESE -528). Nothing was changed.
    #[error("{}: this log file is missing, and later ones are there (ESE -528)", .0.display())]
    LogMissing(PathBuf),
    /// Log files that a database names in its header are not there (ESE -543). Nothing was changed.
    #[error("{}: this log file is missing, and {} was not closed properly and needs it (ESE -543)", path.display(), database.display())]
    LogRequired {
        /// The first that is missing.
        path: PathBuf,
        /// The database.
        database: PathBuf,
    },
    /// The log ends before changes that a database has (ESE -543): its end is lost. Log and headers were not changed.
    #[error("{}: the log ends at {end}, and page {page} of {} is newer: the end of the log is missing (ESE -543)", path.display(), database.display())]
    LogEndMissing {
        /// The newest log file.
        path: PathBuf,
        /// Where it ends.
        end: LogPosition,
        /// The database.
        database: PathBuf,
        /// The page that is newer.
        page: PageNumber,
    },
    /// A database was not closed properly, and the logs are of another stream (ESE -539). Nothing was changed.
    #[error("{}: these are not the logs of {}, which was not closed properly (ESE -539)", directory.display(), database.display())]
    LogOfOthers {
        /// The folder of the logs.
        directory: PathBuf,
        /// The database.
        database: PathBuf,
    },
    /// Whoever took what was read has asked to stop. Nothing is wrong.
    #[error("stopped")]
    Stopped,
    /// The file is somebody else's: it does not carry brunt's marker. It was not touched.
    #[error("{}: not a file of this tool; it will not be written to", .0.display())]
    NotOurs(PathBuf),
    /// The file cannot be what it should be.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

impl EngineError {
    /// Whether a volume had no room.
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            Self::LogDiskFull(_)
                | Self::File {
                    error: IoError::NoSpace,
                    ..
                }
                | Self::Volume {
                    error: VolumeError::NoSpace,
                    ..
                }
        )
    }
}

/// What can be wrong with a page that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFault {
    /// The checksum does not match and cannot be corrected.
    Checksum,
    /// The page is blank where data is expected.
    Uninitialised,
    /// The page belongs to another place.
    WrongNumber,
    /// An earlier write of the page is missing.
    LostFlush,
    /// The device failed the read.
    Device(IoError),
    /// The page is of a later time than the database: the log has lost its end, or the page is another database's.
    TooNew,
    /// The page's own numbers contradict one another although its checksum is right.
    Structure,
}

impl PageFault {
    /// ESE's number.
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
            Self::WrongNumber => "this is another page",
            Self::LostFlush => "an earlier write is missing",
            Self::Device(_) => "the device failed the read",
            Self::TooNew => "newer than the database",
            Self::Structure => "contents contradict one another",
        })
    }
}

/// ESE's number for a failed I/O.
pub fn io_code(error: IoError) -> i32 {
    match error {
        IoError::NoSpace => -1808,
        IoError::Medium => -1021,
        IoError::PastEnd => -4001,
        _ => -1022,
    }
}
