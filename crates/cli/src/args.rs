//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::init::InitArgs;
use crate::commands::prove::ProveArgs;
use crate::commands::report::ReportArgs;
use crate::commands::simulate::SimulateArgs;
use crate::commands::verify::VerifyArgs;
use crate::test_args::TestArgs;
use crate::version;

const EXAMPLES: &str = "\
Examples:
  brunt run                                  a small demo, in a minute and a half
  brunt init my-storage.toml                 a scenario to put your own paths in
  brunt run my-storage.toml --duration 2h    the test that counts
  brunt report runs/2026-11-21-181503-demo   its report once more
  brunt verify /srv/mail/*.edb               are these databases intact?";

/// Will this storage bear the brunt?
///
/// Exit codes: 0 passed, 1 failed, 2 could not be carried out, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "brunt", version = version::LONG, arg_required_else_help = true, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Does this real storage hold? Without a scenario, a small demo in ./brunt-demo is run
    Run(TestArgs),
    /// Would that array hold? Load on a modelled array, in virtual time
    Simulate(SimulateArgs),
    /// Make the report of a run again, or add up the runs of several hosts
    Report(ReportArgs),
    /// Are these database and log files intact?
    Verify(VerifyArgs),
    /// Is anything committed ever lost? Thousands of crashes in virtual time, each recovered
    Prove(ProveArgs),
    /// Write a scenario to begin with, every key explained
    Init(InitArgs),
}
