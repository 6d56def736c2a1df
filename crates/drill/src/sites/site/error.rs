//! Why a site cannot do what it is asked.

use std::io;
use std::path::PathBuf;

use brunt_copies::CopyError;
use brunt_ese::error::EngineError;
use brunt_ese::verify::VerifyError;
use brunt_mirror::{MirrorError, ReceiverError};
use brunt_qualify::error::RunError;
use brunt_world::NetError;

/// Why a site could not carry out a command.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// There is no secret to be had.
    #[error(transparent)]
    Secret(#[from] io::Error),
    /// The load did not begin or end.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The engine refuses.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A passive copy cannot go on.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The mirror cannot begin.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The receiver of a mirror cannot go on.
    #[error(transparent)]
    Receiver(#[from] ReceiverError),
    /// The other site cannot be reached.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A database cannot be read.
    #[error("{}: {error}", path.display())]
    Verify { path: PathBuf, error: VerifyError },
    /// It begins only once.
    #[error("it has begun already")]
    Begun,
    /// Its databases are closed.
    #[error("no database is open")]
    NotOpen,
    /// It does not receive a mirror.
    #[error("it does not receive")]
    NotReceiving,
    /// Records of another scenario are asked for.
    #[error("it has no such database")]
    NoSuchDatabase,
}
