//! `brunt completions`: what a shell reads to complete a command line.

use std::convert::Infallible;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::manual;
use crate::output::Output;

/// Arguments of `completions`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt completions bash > ~/.local/share/bash-completion/completions/brunt
  brunt completions zsh > ~/.zfunc/_brunt          a folder of $fpath
  brunt completions fish > ~/.config/fish/completions/brunt.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the completions of `command`.
///
/// # Errors
/// None.
pub fn run(args: &CompletionsArgs, command: &Command, output: &Output) -> Result<Exit, Infallible> {
    output.data(manual::completions(command, args.shell).trim_end());
    Ok(Exit::Passed)
}
