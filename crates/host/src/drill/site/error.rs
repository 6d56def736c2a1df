//! Why a site cannot do what it is asked.

use std::io;
use std::path::PathBuf;

use brunt_copies::CopyError;
use brunt_ese::error::EngineError;
use brunt_ese::verify::VerifyError;
use brunt_mirror::{MirrorError, ReceiverError};
use brunt_qualify::error::RunError;
use brunt_scenario::Refusal;
use brunt_world::NetError;
use brunt_world_real::StartError;

use super::super::folders::SiteFolderError;
use crate::folders::PrepareError;
use crate::handles::TooFew;

/// Why a site could not begin, or carry out a command.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The system refuses what its process needs.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The scenario cannot be read.
    #[error(transparent)]
    Scenario(#[from] Refusal),
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] SiteFolderError),
    /// The system allows too few open files.
    #[error(transparent)]
    Handles(#[from] TooFew),
    /// Folders of databases and logs cannot be made.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// There is no way to do I/O.
    #[error(transparent)]
    Start(#[from] StartError),
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
    /// It was not started by a drill.
    #[error("this command is for brunt drill, which starts it and tells it what to do")]
    NotOfDrill,
    /// Its first command is another one than `begin`.
    #[error("it was not told to begin")]
    NotBegun,
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
