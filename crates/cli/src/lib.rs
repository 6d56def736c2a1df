//! The `brunt` program: what it reads, what it says, and one file for each command.
//!
//! * [`args`]: the command line; [`commands`]: what each command does.
//! * [`source`]: the text of a scenario.
//! * [`test_args`]: the flags that testing commands share.
//! * [`output`]: everything it says; [`progress`]: how far it is; [`wrap`]: lines that fit a
//!   terminal; [`opening`] and [`closing`]: the first and the last lines of a run.
//! * [`mistakes`]: everything that is wrong with a scenario; [`outlook`]: what a run of it would
//!   do; [`setup`]: what is wrong with the machine.
//! * [`new_file`]: files that a command writes for its user.
//! * [`exit`]: how it ends; [`interrupt`]: how it is stopped.
//! * [`manual`]: man pages and completions.
//! * [`version`]: which program this is.

pub mod args;
pub mod closing;
pub mod commands;
pub mod exit;
pub mod interrupt;
pub mod manual;
pub mod mistakes;
pub mod new_file;
pub mod opening;
pub mod outlook;
pub mod output;
pub mod progress;
pub mod setup;
pub mod source;
pub mod test_args;
pub mod version;
pub mod wrap;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Arguments, Command};
use exit::Exit;
use output::Output;

/// Reads the command line, does what it says, and tells how it ended.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(other) => return instead(&other).into(),
    };
    let (output, result) = match &arguments.command {
        Command::Run(args) => {
            carry_out(args.test.shared.quiet, |output| commands::run::run(args, output))
        }
        Command::Ab(args) => {
            carry_out(args.test.shared.quiet, |output| commands::ab::run(args, output))
        }
        Command::Simulate(args) => {
            brunt_world_real::huge_pages::ask();
            carry_out(args.shared.quiet, |output| commands::simulate::run(args, output))
        }
        Command::Drill(args) => {
            carry_out(args.shared.quiet, |output| commands::drill::run(args, output))
        }
        Command::Site(args) => carry_out(false, |output| commands::site::run(args, output)),
        Command::Report(args) => {
            carry_out(args.quiet, |output| commands::report::run(args, output))
        }
        Command::Compare(args) => {
            carry_out(args.quiet, |output| commands::compare::run(args, output))
        }
        Command::Paper(args) => carry_out(args.quiet, |output| commands::paper::run(args, output)),
        Command::Handover(args) => {
            carry_out(args.quiet, |output| commands::handover::run(args, output))
        }
        Command::Verify(args) => {
            carry_out(args.quiet, |output| commands::verify::run(args, output))
        }
        Command::Prove(args) => carry_out(args.quiet, |output| commands::prove::run(args, output)),
        Command::Explain(args) => carry_out(false, |output| commands::explain::run(args, output)),
        Command::Clean(args) => carry_out(args.quiet, |output| commands::clean::run(args, output)),
        Command::Models(args) => carry_out(false, |output| commands::models::run(args, output)),
        Command::Check(args) => carry_out(false, |output| commands::check::run(args, output)),
        Command::Size(args) => carry_out(args.quiet, |output| commands::size::run(args, output)),
        Command::Init(args) => carry_out(args.quiet, |output| commands::init::run(args, output)),
        Command::Completions(args) => {
            let all = Arguments::command();
            carry_out(false, |output| commands::completions::run(args, &all, output))
        }
        Command::Man(args) => {
            let all = Arguments::command();
            carry_out(false, |output| commands::man::run(args, &all, output))
        }
        Command::Import(args) => {
            carry_out(args.quiet, |output| commands::import::run(args, output))
        }
    };
    let exit = result.unwrap_or_else(|problem| {
        output.error(&problem);
        Exit::NoAnswer
    });
    told(exit, output.lost()).into()
}

/// What is not a command: help, the version, or a mistake.
fn instead(said: &clap::Error) -> Exit {
    let written = said.print().and_then(|()| io::stdout().flush());
    let exit = match said.use_stderr() {
        true => Exit::NoAnswer,
        false => Exit::Passed,
    };
    told(exit, output::lost(written).as_deref())
}

/// The same end, unless what was to be said is `lost`.
fn told(exit: Exit, lost: Option<&str>) -> Exit {
    let Some(reason) = lost else {
        return exit;
    };
    Output::new(false).error(reason);
    Exit::NoAnswer
}

/// Runs a command with a voice of its own; its error becomes words.
fn carry_out<E: std::fmt::Display>(
    quiet: bool,
    command: impl FnOnce(&Output) -> Result<Exit, E>,
) -> (Output, Result<Exit, String>) {
    let output = Output::new(quiet);
    let result = command(&output).map_err(|error| error.to_string());
    (output, result)
}
