//! Why a run could not be carried out.

use std::path::{Path, PathBuf};

use brunt_ese::error::EngineError;
use brunt_units::{ByteSize, PageSize};
use brunt_world::{IoError, VolumeError};

/// What ends a run without a verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A file stands where one of ours belongs. Nothing has been written.
    #[error("{}: this is not a file of brunt, so brunt neither writes to it nor replaces it\n  move it away, or name another path in the scenario", .0.display())]
    Foreign(PathBuf),
    /// A database of ours has another page size. Nothing has been written.
    #[error("{}: has pages of {found}, and the scenario asks for {wanted}\n  `--new` makes it anew", path.display())]
    PageSize {
        /// The database.
        path: PathBuf,
        /// Its page size.
        found: PageSize,
        /// The scenario's.
        wanted: PageSize,
    },
    /// A database of ours is smaller than the scenario wants it. Nothing has been written.
    #[error("{}: is {found} large, and the scenario asks for {wanted}\n  `--new` makes it anew", path.display())]
    TooSmall {
        /// The database.
        path: PathBuf,
        /// Its length.
        found: ByteSize,
        /// The scenario's size.
        wanted: ByteSize,
    },
    /// A database of ours is larger than the scenario wants it, with all its room to grow. Nothing has been written.
    #[error("{}: is {found} large, and the scenario asks for {wanted} with {percent} % to grow\n  `--new` makes it anew", path.display())]
    TooLarge {
        /// The database.
        path: PathBuf,
        /// Its length.
        found: ByteSize,
        /// The scenario's size.
        wanted: ByteSize,
        /// How much it may grow by.
        percent: u32,
    },
    /// One database of an instance is missing, and another needs the log to recover. Nothing has been written.
    #[error("{}: is missing, and {} was not closed properly\n  `--new` makes both anew", missing.display(), dirty.display())]
    Incomplete {
        /// The missing one.
        missing: PathBuf,
        /// The one that needs recovery.
        dirty: PathBuf,
    },
    /// A file of a database's name has no content, so nothing says whose it was. Nothing has been written.
    #[error("{}: is empty, so nothing says whether it was a database of brunt\n  if nobody needs it, remove it, and `--new` makes the databases anew", .0.display())]
    Empty(PathBuf),
    /// A database of ours is shorter than the space it owns. Nothing has been written.
    #[error("{}: its end is missing: {found} are there of {owned}\n  `--new` makes it anew", path.display())]
    CutShort {
        /// The database.
        path: PathBuf,
        /// Its length.
        found: ByteSize,
        /// What it owns.
        owned: ByteSize,
    },
    /// A restore was cut off, and neither the database nor its copy is there. Nothing has been written.
    #[error("{}: is missing, and so is the copy that an interrupted restore was to put in its place\n  put the copy back, or `--new` makes all databases anew", .0.display())]
    RestoreIncomplete(PathBuf),
    /// The journal of an interrupted restore is damaged. Nothing has been written.
    #[error("{}: the journal of an interrupted restore is damaged, so the restore cannot be finished\n  `--new` makes the databases anew; the backup copies are not touched", .0.display())]
    RestoreUnreadable(PathBuf),
    /// An interrupted restore was of other databases than the plan's. Nothing has been written.
    #[error("{}: a restore of other databases was interrupted here\n  start the scenario that began it and it is finished, or `--new` makes the databases anew", .0.display())]
    OtherRestore(PathBuf),
    /// A database of ours holds other records than this program writes: it was made by another version. Nothing has
    /// been written.
    #[error("{}: its records are not those of this version of brunt\n  `--new` makes it anew", .0.display())]
    Unreadable(PathBuf),
    /// A database of ours holds other bytes than the scenario makes. The engine has opened and closed it, and nothing more.
    #[error("{}: {wrong} of {seen} records do not hold what this scenario makes: it was made with other [records], or is damaged\n  `--new` makes it anew, `brunt verify` judges its pages", path.display())]
    OtherRecords {
        /// The database.
        path: PathBuf,
        /// Records that hold something else.
        wrong: u64,
        /// Records looked at.
        seen: u64,
    },
    /// A name cannot be looked at, made or removed.
    #[error("{}: {error}", path.display())]
    Name {
        /// The path.
        path: PathBuf,
        /// What the world said.
        error: VolumeError,
    },
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the world said.
        error: IoError,
    },
    /// The twin cannot do this; the engine itself can.
    #[error(
        "{0} is not modelled without content\n  `--engine bytes` runs the engine itself on the modelled storage"
    )]
    NotModelled(&'static str),
    /// An I/O or a name does not come back, and databases are not open yet. What was begun stays as it is.
    #[error("{0}: the storage does not answer")]
    Hung(String),
    /// Somebody stopped it before there was a test.
    #[error("stopped before the test began")]
    Stopped,
    /// The engine cannot go on.
    #[error("{}{}", .0, way_out(.0))]
    Engine(#[from] EngineError),
}

/// What can be done about an error of the engine, as a line of its own.
fn way_out(error: &EngineError) -> &'static str {
    match error {
        EngineError::LogEmpty(_)
        | EngineError::LogMissing(_)
        | EngineError::LogRequired { .. }
        | EngineError::LogEndMissing { .. }
        | EngineError::LogOfOthers { .. }
        | EngineError::LogCorrupt { .. } => {
            "\n  put the right log files back if you have them, or `--new` makes the databases anew"
        }
        EngineError::LogDiskFull(_) => {
            "\n  make room on the volume of the logs and start again, or `--new` makes the databases anew, with new logs"
        }
        _ => "",
    }
}

impl RunError {
    pub(crate) fn name(path: &Path) -> impl Fn(VolumeError) -> Self {
        move |error| Self::Name {
            path: path.to_owned(),
            error,
        }
    }

    pub(crate) fn read(path: &Path) -> impl Fn(IoError) -> Self {
        move |error| Self::Read {
            path: path.to_owned(),
            error,
        }
    }
}
