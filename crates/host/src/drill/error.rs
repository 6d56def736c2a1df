//! Why there was no drill.

use std::fmt;
use std::io;
use std::path::PathBuf;

use brunt_drill::sites::CourseError;
use brunt_report::FolderError;
use brunt_scenario::StepTime;
use brunt_world_real::StartError;

use super::folders::SiteFolderError;
use super::link::LinkError;
use crate::handles::TooFew;

/// Why there was no drill.
#[derive(Debug, thiserror::Error)]
pub enum RealDrillError {
    /// The folders of sites cannot be used.
    #[error(transparent)]
    Folder(#[from] SiteFolderError),
    /// There is no way to do I/O.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The system allows too few open files.
    #[error(transparent)]
    Handles(#[from] TooFew),
    /// The sites cannot be connected as the scenario asks.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Another drill works on the pair of this source.
    #[error("another drill works on the pair of {}", .0.display())]
    Busy(PathBuf),
    /// No name can be taken for the pair of this source.
    #[error("the pair of {} cannot be held: {error}", folder.display())]
    NotHeld { folder: PathBuf, error: io::Error },
    /// A process cannot be started.
    #[error("the process of a site cannot be started: {0}")]
    Process(io::Error),
    /// A step around the drill failed.
    #[error("{}: {error}", when.word())]
    Step { when: StepTime, error: CourseError },
    /// The course could not be carried through.
    #[error(transparent)]
    Course(CourseError),
    /// Steps after the drill failed.
    #[error(transparent)]
    CleanUp(#[from] CleanUpError),
    /// So did the drill itself.
    #[error("{error}\n{clean_up}")]
    DrillAndCleanUp { error: Box<Self>, clean_up: CleanUpError },
    /// Its journal cannot be kept.
    #[error(transparent)]
    Journal(#[from] FolderError),
    /// The user stopped it before it had a result.
    #[error("stopped before its end")]
    Stopped,
}

/// All steps after a drill that failed.
#[derive(Debug)]
pub struct CleanUpError(pub(super) Vec<RealDrillError>);

impl fmt::Display for CleanUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CleanUpError {}
