//! Why a step of a drill, or of a recovery after one, cannot be done.

use std::path::PathBuf;

use brunt_array::{Misplaced, Site, SystemError};
use brunt_drill::{Broken, CourseError};
use brunt_ese::error::EngineError;
use brunt_ese::verify::VerifyError;
use brunt_qualify::error::RunError;
use brunt_units::{Span, Time};

/// What is in the way.
#[derive(Debug, thiserror::Error)]
pub enum Unable {
    /// The load did not begin or end.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The engine refuses.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An array cannot be built.
    #[error(transparent)]
    Array(#[from] SystemError),
    /// An incident has no place in the array.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
    /// What survived is not a prefix of the log.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// A database cannot be read.
    #[error("{}: {error}", path.display())]
    Verify {
        /// Its file.
        path: PathBuf,
        /// The reason.
        error: VerifyError,
    },
    /// The killed server is still referred to.
    #[error("the server is still in use")]
    InUse,
    /// There is nothing to serve.
    #[error("the first database has no record")]
    NoRecord,
    /// A server fails over that never served.
    #[error("a server was never open")]
    NeverOpen,
    /// A site holds no files that belong together.
    #[error("the {} is in the middle of a full copy", .0.word())]
    Copying(Site),
    /// The side that does not serve holds none.
    #[error("the other side is in the middle of a full copy")]
    OtherCopying,
    /// The pair does not change sides.
    #[error("the {} does not serve", .0.word())]
    NotServing(Site),
    /// A server cannot do something.
    #[error("{name} cannot {what}: {why}")]
    Server { name: String, what: &'static str, why: Box<Self> },
    /// The two sides cannot come into step.
    #[error("{0}")]
    Apart(String),
    /// Time was up.
    #[error("{0} did not end")]
    Endless(&'static str),
    /// Pages of a replica are not as written.
    #[error("{bad} of {pages} pages are bad")]
    BadPages { bad: u64, pages: u64 },
    /// A replica lacks what was acknowledged before its instant.
    #[error(
        "{commits} acknowledged hard commits of the last {age} before its instant are not there"
    )]
    Lacks { commits: u64, age: Span },
    /// A replica has what came after its instant.
    #[error(
        "record {number} of database {database} of log {stream} has a change that came after its instant"
    )]
    Later { stream: usize, database: u8, number: u64 },
    /// Writes reached the other side in another order.
    #[error("at {at:?}: {what}")]
    Order { at: Time, what: String },
    /// What a site would find after a cut.
    #[error("at {at:?} at the {site}: {error}")]
    At { at: Time, site: Site, error: Box<Self> },
    /// The side that serves has lost something.
    #[error("at {at:?} the source lacks {commits} acknowledged commits")]
    SourceLacks { at: Time, commits: u64 },
    /// The other side has lost more than was said to be at risk.
    #[error(
        "at {at:?} the destination lacks {commits} acknowledged commits, the first of {first:?}, and {writes} writes since {since:?} were said to be at risk"
    )]
    DestinationLacks {
        at: Time,
        commits: u64,
        first: Option<Time>,
        /// What was said.
        writes: u64,
        since: Option<Time>,
    },
}

impl From<Unable> for CourseError {
    fn from(why: Unable) -> Self {
        Self::Unable(Box::new(why))
    }
}
