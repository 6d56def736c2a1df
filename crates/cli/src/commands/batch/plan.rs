//! `brunt plan`: the script that computes a plan on a cluster; and how `simulate --plan` makes one.

use std::path::{Path, PathBuf};

use brunt_lab::Crew;
use brunt_lab::batch::{PARTS_MAX, Plan, Sharing, Work};
use brunt_report::counted;
use brunt_run::Stop;
use brunt_scenario::Document;
use clap::{Args, ValueEnum};

use super::attempt::Attempt;
use super::folder::PointFolders;
use super::scripts::{self, Job};
use super::{BatchError, Planned, SimulateError, folder};
use crate::commands::simulate::several::Several;
use crate::exit::Exit;
use crate::output::Output;
use crate::test_args::whole;

/// Arguments of `plan`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt simulate examples/mail-on-array.toml --sweep array.cache.write=64MiB..1GiB --plan sweep
  brunt plan sweep --for slurm | sh                     an array job, and a merge after it
  brunt plan sweep --for kubernetes --image registry.example/brunt:0.1.0 | kubectl apply -f -
  brunt plan sweep --for shell | sh                     on this machine, with GNU parallel")]
pub struct PlanArgs {
    /// Folder that `brunt simulate --plan` made
    #[arg(value_name = "DIR")]
    pub plan: PathBuf,

    /// What computes it
    #[arg(long = "for", value_name = "SCHEDULER", value_enum)]
    pub scheduler: Scheduler,

    /// Container image with brunt (kubernetes)
    #[arg(long, value_name = "IMAGE", default_value = "brunt")]
    pub image: String,

    /// Print nothing unless N points are there and others are missing: for the next round of a
    /// search
    #[arg(long, value_name = "N", value_parser = whole)]
    pub after: Option<u64>,
}

/// What computes parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scheduler {
    /// An array job, and a merge after it
    Slurm,
    /// An Indexed Job, and a Job for the merge
    Kubernetes,
    /// A workflow with a matrix
    Github,
    /// GNU parallel on this machine
    Shell,
}

/// Prints the script for what is missing.
///
/// # Errors
/// [`SimulateError`] when there is no plan, or attempts differ.
pub fn run(args: &PlanArgs, output: &Output) -> Result<Exit, SimulateError> {
    let planned = Planned::open(&args.plan)?;
    let points = planned.points(0, Attempt::own());
    let (_, sharing) = planned.look(&points)?;
    let (asked, lacking) = (sharing.asked(), sharing.lacking());
    let is_next = |after: u64| lacking > 0 && asked - lacking >= after;
    if !args.after.is_none_or(is_next) {
        return Ok(Exit::Passed);
    }
    let folder = std::path::absolute(&args.plan)?;
    let program = std::env::current_exe()?;
    let job = Job {
        name: planned.several()?.name().to_owned(),
        folder,
        program,
        parts: planned.plan.parts,
        is_in_rounds: planned.plan.work.is_in_rounds(),
        lacking: sharing.lacking_parts(planned.plan.parts),
        asked,
        points: lacking,
        plan: planned.plan.to_text(),
        digest: planned.plan.digest(),
        image: args.image.clone(),
    };
    let text = match args.scheduler {
        Scheduler::Slurm => scripts::slurm(&job),
        Scheduler::Kubernetes => scripts::kubernetes(&job),
        Scheduler::Github => scripts::github(&job),
        Scheduler::Shell => scripts::shell(&job),
    };
    output.data(text.trim_end());
    Ok(Exit::Passed)
}

/// Makes `plan` of `several` in `folder`, in `parts` parts.
///
/// # Errors
/// [`BatchError`] when it cannot be made.
pub(in crate::commands) fn make(
    folder: &Path,
    plan: Plan,
    parts: Option<u64>,
    document: &Document,
    several: &Several<'_>,
    output: &Output,
) -> Result<Exit, SimulateError> {
    several.read_files();
    let mut plan = plan.with_files_of(document);
    let points = points_of(folder, &plan, several)?;
    plan.parts = match parts {
        Some(parts) if parts > PARTS_MAX => {
            let what = format!("`--parts {parts}` is more than {PARTS_MAX}");
            return Err(BatchError::Parts(what).into());
        }
        Some(parts) => parts,
        // A round has at most two points.
        None if plan.work == Work::UntilFail => 2,
        None => points.clamp(1, PARTS_MAX),
    };
    let parts = plan.parts;
    folder::make_plan(folder, &plan)?;
    let dir = folder.display();
    let what = match plan.work.is_in_rounds() {
        true => "a search, which goes on in rounds".to_owned(),
        false => counted(points, "point"),
    };
    output.show(&format!(
        "{:14}{dir}: {what}, in {}\n{:14}brunt plan {dir} --for slurm | sh\n{:14}brunt part {dir} 0/{parts}, ... and brunt merge {dir}",
        "plan",
        counted(parts, "part"),
        "to compute it",
        "or by hand",
    ));
    Ok(Exit::Passed)
}

/// Points that are known without any result.
fn points_of(folder: &Path, plan: &Plan, several: &Several<'_>) -> Result<u64, SimulateError> {
    let records = PointFolders::new(folder, plan.digest(), 0, Attempt::own());
    let sharing = Sharing::new(plan, None, &records);
    let crew = Crew { sharing: Some(&sharing), ..Crew::alone() };
    several.come(crew, &Stop::default(), &|_, _| {})?;
    Ok(sharing.asked())
}
