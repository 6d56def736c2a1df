//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::verify::VerifyArgs;

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
    /// Are these database and log files intact?
    Verify(VerifyArgs),
}
