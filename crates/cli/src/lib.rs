//! The `brunt` program: what it reads, what it says, and one file for each command.
//!
//! * [`args`]: the command line; [`commands`]: what each command does.
//! * [`source`]: the text of a scenario.
//! * [`test_args`]: the flags that testing commands share.
//! * [`output`]: everything it says; [`progress`]: how far it is; [`wrap`]: lines that fit a
//!   terminal; [`clock`]: when it ends; [`opening`] and [`closing`]: the first and the last lines
//!   of a run.
//! * [`mistakes`]: everything that is wrong with a scenario; [`outlook`]: what a run of it would
//!   do; [`setup`]: what is wrong with the machine.
//! * [`new_file`]: files that a command writes for its user.
//! * [`exit`]: how it ends; [`interrupt`]: how it is stopped.
//! * [`manual`]: man pages and completions.
//! * [`version`]: which program this is.

pub mod args;
pub mod clock;
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
mod records;
pub mod set;
pub mod setup;
pub mod source;
mod sweep;
mod teller;
pub mod test_args;
pub mod version;
pub mod wrap;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Arguments, Command};
use exit::Exit;
use output::{Colours, Output};

/// Reads the command line, does what it says, and tells how it ended.
pub fn main() -> ExitCode {
    let read = Arguments::grouped().try_get_matches();
    let arguments = match read.and_then(|read| Arguments::from_arg_matches(&read)) {
        Ok(arguments) => arguments,
        Err(other) => return instead(&other).into(),
    };
    let command = &arguments.command;
    if matches!(command, Command::Simulate(_) | Command::Part(_)) {
        brunt_world_real::huge_pages::ask();
    }
    let output = Output::new(command.is_quiet(), arguments.color);
    let exit = carry_out(command, &output).unwrap_or_else(|problem| {
        output.error(&problem);
        Exit::NoAnswer
    });
    told(exit, output.lost()).into()
}

/// Does what `command` says; an error becomes words.
fn carry_out(command: &Command, output: &Output) -> Result<Exit, String> {
    match command {
        Command::Run(args) => said(commands::run::run(args, output)),
        Command::Ab(args) => said(commands::ab::run(args, output)),
        Command::Simulate(args) => said(commands::simulate::run(args, output)),
        Command::Plan(args) => said(commands::batch::plan::run(args, output)),
        Command::Part(args) => Ok(commands::batch::part::run(args, output)),
        Command::Merge(args) => said(commands::batch::merge::run(args, output)),
        Command::Drill(args) => said(commands::drill::run(args, output)),
        Command::Load(args) => said(commands::load::run(args, output)),
        Command::Fleet(args) => said(commands::fleet::run(args, output)),
        Command::Agent(args) => said(commands::agent::run(args, output)),
        Command::Site(args) => said(commands::site::run(args, output)),
        Command::Report(args) => said(commands::report::run(args, output)),
        Command::Compare(args) => said(commands::compare::run(args, output)),
        #[cfg(feature = "console")]
        Command::Console(args) => said(commands::console::run(args, output)),
        Command::Paper(args) => said(commands::paper::run(args, output)),
        Command::Handover(args) => said(commands::handover::run(args, output)),
        Command::Verify(args) => said(commands::verify::run(args, output)),
        Command::Prove(args) => said(commands::prove::run(args, output)),
        Command::Explain(args) => said(commands::explain::run(args, output)),
        Command::Clean(args) => said(commands::clean::run(args, output)),
        Command::Models(args) => said(commands::models::run(args, output)),
        Command::Check(args) => said(commands::check::run(args, output)),
        Command::Size(args) => said(commands::size::run(args, output)),
        Command::Init(args) => said(commands::init::run(args, output)),
        Command::Import(args) => said(commands::import::run(args, output)),
        Command::Completions(args) => {
            said(commands::completions::run(args, &Arguments::grouped(), output))
        }
        Command::Man(args) => said(commands::man::run(args, &Arguments::command(), output)),
    }
}

fn said<E: std::fmt::Display>(result: Result<Exit, E>) -> Result<Exit, String> {
    result.map_err(|error| error.to_string())
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
    Output::new(false, Colours::Auto).error(reason);
    Exit::NoAnswer
}
