//! `brunt part`: computes the points of one part of a plan.
//!
//! | exit | is | and a scheduler |
//! | --- | --- | --- |
//! | 0 | the points are computed, whatever their verdicts | is done with it |
//! | 64 | never: no plan, another version, no such part, attempts that differ | does not try again |
//! | 75 | again: a full disk, an I/O error, no memory | tries again |
//! | 130 | stopped | tries again |

use std::path::PathBuf;

use brunt_lab::batch::Sharing;
use brunt_lab::{Crew, LabError};
use brunt_report::counted;
use brunt_run::Stop;
use clap::Args;

use super::attempt::{Attempt, array_index, cores};
use super::{BatchError, Planned, SimulateError, share};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::test_args::one_or_more;

/// Arguments of `part`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Exit codes: 0 computed, whatever the verdicts; 64 never, such as a plan of another version; 75 again later, such as a full disk;
130 interrupted.

Examples:
  brunt part sweep 0/4       the first of four parts
  brunt part sweep auto      in an array job of Slurm, or an Indexed Job of Kubernetes")]
pub struct PartArgs {
    /// Folder that `brunt simulate --plan` made
    #[arg(value_name = "DIR")]
    pub plan: PathBuf,

    /// Which part: i/n, from 0/n on, or auto
    #[arg(value_name = "PART")]
    pub part: String,

    /// Threads [default: SLURM_CPUS_PER_TASK, or what affinity and control group leave]
    #[arg(long, value_name = "N", value_parser = one_or_more)]
    pub threads: Option<u64>,

    /// Print errors only
    #[arg(long)]
    pub quiet: bool,
}

/// Computes the part, and says how it ended.
pub fn run(args: &PartArgs, output: &Output) -> Exit {
    let error = match computed(args, output) {
        Ok(exit) => return exit,
        Err(error) => error,
    };
    output.error(&error.to_string());
    match is_for_now(&error) {
        true => Exit::Again,
        false => Exit::Never,
    }
}

fn computed(args: &PartArgs, output: &Output) -> Result<Exit, SimulateError> {
    let planned = Planned::open(&args.plan)?;
    let share = share(&args.part, &planned.plan, array_index())?;
    let stop = Stop::from(Interrupt::listen()?.flag());
    let points = planned.points(share.part(), Attempt::own());
    let sharing = Sharing::new(&planned.plan, Some(share), &points);
    let cores = match args.threads {
        Some(threads) => usize::try_from(threads).unwrap_or(usize::MAX),
        None => cores(),
    };
    let crew = Crew { cores, sharing: Some(&sharing) };
    planned.several()?.part(crew, &stop, output)?;
    for note in points.left_out() {
        output.talk(&note);
    }
    output.talk(&format!("part {share}: {} computed", counted(points.kept(), "point")));
    Ok(match stop.is_asked() {
        true => Exit::Interrupted,
        false => Exit::Passed,
    })
}

/// Whether another attempt, later or elsewhere, may do better.
fn is_for_now(error: &SimulateError) -> bool {
    use SimulateError as Error;
    match error {
        Error::System(_) | Error::Folder(_) => true,
        Error::Lab(error) => matches!(error, LabError::Shelf(_) | LabError::TooLarge { .. }),
        Error::Batch(error) => matches!(error, BatchError::Folder(_)),
        _ => false,
    }
}
