//! `cargo xtask man` and `cargo xtask completions`: what `dist` packs, in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use brunt_cli::args::Arguments;
use brunt_package::{Files, manual};
use clap::{Args, CommandFactory};

use crate::{TaskError, root, say};

/// Arguments of `man` and `completions`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ManualArgs {
    /// Folder to write to [default: target/dist]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Writes the man pages.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn man(args: &ManualArgs) -> Result<(), TaskError> {
    write(args, &manual::pages(&Arguments::command()).below("man"))
}

/// Writes the completions.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn completions(args: &ManualArgs) -> Result<(), TaskError> {
    let files = manual::completions(&Arguments::command());
    write(args, &files.below("completions"))
}

fn write(args: &ManualArgs, files: &Files) -> Result<(), TaskError> {
    let out = args.out.clone().unwrap_or_else(usual_folder);
    for (path, file) in files.iter() {
        write_file(&out.join(path), &file.bytes)?;
    }
    Ok(())
}

/// Where everything goes unless another folder is named.
pub(crate) fn usual_folder() -> PathBuf {
    root().join("target/dist")
}

/// Writes a file, and the folder it lies in.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), TaskError> {
    let refused = |error| TaskError::File { path: path.to_owned(), error };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(refused)?;
    }
    fs::write(path, bytes).map_err(refused)?;
    say(&path.display().to_string());
    Ok(())
}
