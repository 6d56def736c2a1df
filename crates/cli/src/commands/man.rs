//! `brunt man`: the man pages, in a folder.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};

use crate::exit::Exit;
use crate::manual;
use crate::new_file::{self, NewFileError};
use crate::output::Output;

/// Arguments of `man`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt man ~/.local/share/man/man1 && man brunt-run")]
pub struct ManArgs {
    /// Folder to write to; it is created if need be
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,

    /// Replace the pages that are there
    #[arg(long)]
    pub force: bool,
}

/// Writes the pages of `command`.
///
/// # Errors
/// A file that is there already, or cannot be written.
pub fn run(args: &ManArgs, command: &Command, output: &Output) -> Result<Exit, NewFileError> {
    fs::create_dir_all(&args.folder)
        .map_err(|source| NewFileError::Write { path: args.folder.clone(), source })?;
    for (name, page) in manual::pages(command) {
        let path = args.folder.join(name);
        new_file::write(&path, &page, args.force)?;
        output.data(&path.display().to_string());
    }
    Ok(Exit::Passed)
}
