//! Reasons why a run cannot be carried out.

use std::path::{Path, PathBuf};

use brunt_copies::CopyError;
use brunt_ese::error::EngineError;
use brunt_units::{ByteSize, PageSize};
use brunt_world::{IoError, VolumeError};

/// An error that ends a run without a verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A foreign file has the name of one of ours. Nothing has been written.
    #[error("{}: this is not a file of brunt, so brunt neither writes to it nor replaces it\n  move it away, or name another path in the scenario", .0.display())]
    Foreign(PathBuf),
    /// A database of ours has another page size. Nothing has been written.
    #[error("{}: has pages of {found}, and the scenario asks for {wanted}\n  `--new` makes it anew", path.display())]
    PageSize {
        /// The database.
        path: PathBuf,
        found: PageSize,
        /// The scenario's.
        wanted: PageSize,
    },
    /// A database of ours is smaller than the scenario's. Nothing has been written.
    #[error("{}: is {found} large, and the scenario asks for {wanted}\n  `--new` makes it anew", path.display())]
    TooSmall {
        /// The database.
        path: PathBuf,
        /// Its length.
        found: ByteSize,
        /// The scenario's size.
        wanted: ByteSize,
    },
    /// A database of ours is larger than the scenario's, including its reserve. Nothing has been
    /// written.
    #[error("{}: is {found} large, and the scenario asks for {wanted} with {percent} % to grow\n  `--new` makes it anew", path.display())]
    TooLarge {
        /// The database.
        path: PathBuf,
        /// Its length.
        found: ByteSize,
        /// The scenario's size.
        wanted: ByteSize,
        /// How much it may grow, in percent.
        percent: u32,
    },
    /// An earlier run has left a passive copy here. Nothing has been written.
    #[error("{}: a file of brunt is where a passive copy is to be\n  `--new` makes everything anew; to keep the databases of the instances, move it away", .0.display())]
    CopyThere(PathBuf),
    /// A passive copy cannot be seeded.
    #[error("{copy} cannot be seeded: {error}")]
    Copy {
        copy: String,
        /// Why.
        error: CopyError,
    },
    /// One database of an instance is missing, and another needs the log to recover. Nothing has
    /// been written.
    #[error("{}: is missing, and {} was not closed properly\n  `--new` makes both anew", missing.display(), dirty.display())]
    Incomplete {
        /// The missing database.
        missing: PathBuf,
        /// The database that needs recovery.
        dirty: PathBuf,
    },
    /// A file with a database's name is empty, so its origin is unknown. Nothing has been written.
    #[error("{}: is empty, so nothing says whether it was a database of brunt\n  if nobody needs it, remove it, and `--new` makes the databases anew", .0.display())]
    Empty(PathBuf),
    /// A database of the run that is to be carried on is gone. Nothing has been written.
    #[error("{}: is not there any more, so the run cannot be carried on\n  start a new one from its scenario", .0.display())]
    NothingToCarryOn(PathBuf),
    /// A database of ours is shorter than the space it owns. Nothing has been written.
    #[error("{}: its end is missing: {found} are there of {owned}\n  `--new` makes it anew", path.display())]
    CutShort {
        /// The database.
        path: PathBuf,
        /// Its length.
        found: ByteSize,
        /// The space it owns.
        owned: ByteSize,
    },
    /// A restore was interrupted, and both the database and its copy are missing. Nothing has been
    /// written.
    #[error("{}: is missing, and so is the copy that an interrupted restore was to put in its place\n  put the copy back, or `--new` makes all databases anew", .0.display())]
    RestoreIncomplete(PathBuf),
    /// The journal of an interrupted restore is damaged. Nothing has been written.
    #[error("{}: the journal of an interrupted restore is damaged, so the restore cannot be finished\n  `--new` makes the databases anew; the backup copies are not touched", .0.display())]
    RestoreUnreadable(PathBuf),
    /// An interrupted restore belongs to other databases than the plan's. Nothing has been written.
    #[error("{}: a restore of other databases was interrupted here\n  start the scenario that began it and it is finished, or `--new` makes the databases anew", .0.display())]
    OtherRestore(PathBuf),
    /// A database of ours holds other records than this version of the program writes. Nothing has
    /// been written.
    #[error("{}: its records are not those of this version of brunt\n  `--new` makes it anew", .0.display())]
    Unreadable(PathBuf),
    /// A database of ours holds other bytes than the scenario makes. The engine has only opened and
    /// closed it.
    #[error("{}: {wrong} of {seen} records do not hold what this scenario makes: it was made with other [records], or is damaged\n  `--new` makes it anew, `brunt verify` judges its pages", path.display())]
    OtherRecords {
        /// The database.
        path: PathBuf,
        /// Records with other content.
        wrong: u64,
        /// Records checked.
        seen: u64,
    },
    /// An operation on a path failed.
    #[error("{}: {error}", path.display())]
    Name {
        path: PathBuf,
        /// The error of the world.
        error: VolumeError,
    },
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the world.
        error: IoError,
    },
    /// The twin does not model this; the engine itself can do it.
    #[error(
        "{0} is not modelled without content\n  `--engine bytes` runs the engine itself on the modelled storage"
    )]
    NotModelled(&'static str),
    /// An I/O or a request to the volume hangs before the databases are open. What was begun stays
    /// as it is.
    #[error("{0}: the storage does not answer")]
    Hung(String),
    /// The user stopped the run before the test began.
    #[error("stopped before the test began")]
    Stopped,
    /// The engine cannot continue.
    #[error("{}{}", .0, way_out(.0))]
    Engine(#[from] EngineError),
}

/// What a user can do about an error of the engine, on its own line.
fn way_out(error: &EngineError) -> String {
    match error {
        EngineError::LogEmpty(_)
        | EngineError::LogMissing(_)
        | EngineError::LogRequired { .. }
        | EngineError::LogEndMissing { .. }
        | EngineError::LogShort { .. }
        | EngineError::LogOfOthers { .. }
        | EngineError::LogCorrupt { .. } => {
            "\n  put the right log files back if you have them, or `--new` makes the databases anew"
                .to_owned()
        }
        EngineError::LogDiskFull(..) => {
            "\n  make room on the volume of the logs and start again, or `--new` makes the databases anew, with new logs"
                .to_owned()
        }
        other => match other.environment() {
            Some(limit) => format!("\n  {}", limit.way_out()),
            None => String::new(),
        },
    }
}

impl RunError {
    pub(crate) fn name(path: &Path) -> impl Fn(VolumeError) -> Self {
        move |error| Self::Name { path: path.to_owned(), error }
    }

    pub(crate) fn read(path: &Path) -> impl Fn(IoError) -> Self {
        move |error| Self::Read { path: path.to_owned(), error }
    }
}
