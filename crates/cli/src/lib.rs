//! The `brunt` program: what it reads, what it says, and one file for each command.
//!
//! * [`args`]: the command line; [`commands`]: what each command does.
//! * [`scenario`]: the TOML file that describes a test, and whether it fits this machine.
//! * [`test_args`]: the scenario and the flags that every testing command takes.
//! * [`output`]: everything it says; [`opening`] and [`closing`]: the first and the last lines of a run; [`columns`]:
//!   tables.
//! * [`exit`]: how it ends; [`interrupt`]: how it is stopped.

pub mod args;
pub mod closing;
pub mod columns;
pub mod commands;
pub mod exit;
pub mod interrupt;
pub mod opening;
pub mod output;
pub mod scenario;
pub mod test_args;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use exit::Exit;
use output::Output;

/// Reads the command line, does what it says, and tells how it ended.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (output, result) = match &arguments.command {
        Command::Run(args) => {
            let output = Output::new(args.quiet);
            let result = commands::run::run(args, &output).map_err(|error| error.to_string());
            (output, result)
        }
        Command::Verify(args) => {
            let output = Output::new(args.quiet);
            let result = commands::verify::run(args, &output).map_err(|error| error.to_string());
            (output, result)
        }
    };
    let exit = result.unwrap_or_else(|problem| {
        output.error(&problem);
        Exit::CouldNot
    });
    exit.into()
}
