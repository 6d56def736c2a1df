//! Predictions on a cluster: `simulate --plan`, then `plan`, `part` and `merge`.
//!
//! ```text
//!   brunt simulate S.toml --sweep KEY=VALUES --plan DIR     DIR/plan.json
//!   brunt plan DIR --for slurm | sh                         submits what is missing
//!   brunt part DIR auto                                     on each machine: DIR/points/POINT/ATTEMPT
//!   brunt merge DIR                                         the result, as of one process
//! ```
//!
//! What is decided is in `brunt_lab::batch`; here are the folder, the environment of jobs, exit
//! codes and words.
//!
//! * [`folder`]: the plan's folder; [`attempt`]: which attempt of which job this is.
//! * [`plan`], [`part`], [`merge`]: the commands; `scripts`: what `plan` prints.

mod attempt;
mod folder;
pub mod merge;
pub mod part;
pub mod plan;
mod scripts;

use std::path::{Path, PathBuf};

use brunt_lab::Crew;
use brunt_lab::batch::{Plan, PlanError, Share, Sharing};
use brunt_report::FolderError;
use brunt_run::Stop;
use brunt_scenario::{Document, Refusal};

use super::simulate::SimulateError;
use super::simulate::several::{Came, Several};
use crate::new_file::NewFileError;
use crate::version;
use attempt::Attempt;
use folder::PointFolders;

/// Why a plan cannot be made, or what is in its folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// There is no plan.
    #[error("{}: there is no plan.json\n  to have one written: brunt simulate SCENARIO --sweep KEY=VALUES --plan {}", .0.display(), .0.display())]
    NoPlan(PathBuf),
    /// There is one, for another program or of another form.
    #[error("{}: {why}", path.display())]
    Plan {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        why: PlanError,
    },
    /// There is another plan.
    #[error("{}: has another plan already, and is left alone", .0.display())]
    There(PathBuf),
    /// Its scenario is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The system refuses.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The plan cannot be written.
    #[error(transparent)]
    Write(#[from] NewFileError),
    /// A number of parts that cannot be.
    #[error("{0}")]
    Parts(String),
}

/// A plan in its folder, with its scenario.
struct Planned {
    folder: PathBuf,
    plan: Plan,
    document: Document,
}

impl Planned {
    /// Reads the plan in `folder`.
    fn open(folder: &Path) -> Result<Self, BatchError> {
        let plan = folder::read_plan(folder, &version::program())?;
        let document = plan.document()?;
        Ok(Self { folder: folder.to_owned(), plan, document })
    }

    /// Its points.
    fn several(&self) -> Result<Several<'_>, BatchError> {
        let (plan, overrides) = (&self.plan, self.plan.overrides()?);
        Ok(Several::new(&plan.work, &self.document, overrides, plan.engine)?)
    }

    /// Its records, and those of `attempt` at part `part`.
    fn points(&self, part: u64, attempt: Attempt) -> PointFolders {
        PointFolders::new(&self.folder, self.plan.digest(), part, attempt)
    }

    /// What its records come to, without computing anything, and whether that is all of it.
    fn look<'s>(&self, points: &'s PointFolders) -> Result<(Came, Sharing<'s>), SimulateError> {
        let sharing = Sharing::new(&self.plan, None, points);
        let came = {
            let crew = Crew { sharing: Some(&sharing), ..Crew::alone() };
            self.several()?.come(crew, &Stop::default(), &|_, _| {})?
        };
        Ok((came, sharing))
    }
}

/// Part `part` of `plan`, or the part `i/n`.
fn share(text: &str, plan: &Plan, own: Option<u64>) -> Result<Share, BatchError> {
    let share = match (text, own) {
        ("auto", Some(part)) => Share::new(part, plan.parts),
        ("auto", None) => {
            let what = "`auto` is for array jobs, and neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set\n  otherwise: brunt part DIR 0/4 for the first of four parts";
            return Err(BatchError::Parts(what.to_owned()));
        }
        (text, _) => text.parse(),
    };
    share.map_err(|error| BatchError::Parts(error.to_string()))
}
