//! Why the process of a site could not begin.

use std::io;

use brunt_drill::sites::messages::Speaker;
use brunt_scenario::Refusal;
use brunt_world_real::StartError;

use super::super::folders::SiteFolderError;
use crate::folders::PrepareError;
use crate::handles::TooFew;

/// Why the process of a site could not begin.
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
    /// The drill is of another program.
    #[error("the drill is brunt {0}")]
    OtherProgram(Speaker),
    /// It was not started by a drill.
    #[error("this command is for brunt drill, which starts it and tells it what to do")]
    NotOfDrill,
    /// Its first command is another one than `begin`.
    #[error("it was not told to begin")]
    NotBegun,
}
