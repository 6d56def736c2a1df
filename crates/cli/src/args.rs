//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::verify::VerifyArgs;
use crate::test_args::TestArgs;

/// Will this storage bear the brunt?
///
/// Exit codes: 0 passed, 1 failed, 2 could not be carried out, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "brunt", version, arg_required_else_help = true)]
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
    /// Are these database and log files intact?
    Verify(VerifyArgs),
}
