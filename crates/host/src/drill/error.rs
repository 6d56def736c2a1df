//! Why there was no drill, or why its course did not come to its end.

use std::fmt;
use std::io;
use std::path::PathBuf;

use brunt_scenario::StepTime;
use brunt_units::Span;
use brunt_world_real::StartError;

use super::exec::ExecError;
use super::folders::SiteFolderError;
use super::link::LinkError;
use super::site;
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

/// Why a course did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The user stopped it.
    #[error("stopped before its end")]
    Stopped,
    /// A site could not do what it was asked.
    #[error("the {site}: {why}")]
    Failed { site: &'static str, why: String },
    /// A site hangs.
    #[error("the {site} has not answered for {patience}")]
    Silent { site: &'static str, patience: Span },
    /// A site answers something else than was asked.
    #[error("the {0} gave an unexpected answer")]
    Unexpected(&'static str),
    /// A site writes a line without a meaning.
    #[error("the {site} says \"{line}\"")]
    Nonsense { site: &'static str, line: String },
    /// The process of a site ended too early.
    #[error("the {site} ended: {last_words}")]
    Ended { site: &'static str, last_words: String },
    /// The destination runs another brunt.
    #[error("the destination is brunt {0}, and this is {own}: install the same there", own = site::VERSION)]
    OtherVersion(String),
    /// The mirror broke without a failover.
    #[error("the mirror is broken: {0}")]
    MirrorBroken(String),
    /// The source went on before it was missed.
    #[error(
        "another program resumed the frozen source: the witness hears it again, and nothing fails over"
    )]
    Resumed,
    /// The cut steps left the storage of the source in place.
    #[error("the storage of the source can still be read after the cut steps")]
    NotCut,
    /// A command of the user failed.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The folder of a site cannot be used.
    #[error(transparent)]
    Folder(#[from] SiteFolderError),
    /// The sites cannot be connected.
    #[error(transparent)]
    Link(#[from] LinkError),
}

impl CourseError {
    /// What is in the way, in words; a stop stays one.
    pub(super) fn words(self) -> Result<String, Self> {
        match self {
            Self::Stopped => Err(self),
            other => Ok(other.to_string()),
        }
    }

    /// Whether a site could not do what it was asked.
    pub(super) fn is_of_site(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Silent { .. })
    }
}
