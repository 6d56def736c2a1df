//! `brunt init`: writes a scenario to begin with, every key explained.
//!
//! What it writes runs as it is, in a scratch folder; the paths of real storage stand beside it in comments.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::output::Output;
use brunt_scenario::TEMPLATE;

/// Arguments of `init`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  brunt init                    write scenario.toml
  brunt init my-storage.toml    write it under another name
  brunt init - | less           look at it first

Then fill in your own paths and sizes, and:
  brunt run my-storage.toml")]
pub struct InitArgs {
    /// File to write, or - for stdout; never overwrites
    #[arg(default_value = "scenario.toml")]
    pub file: PathBuf,

    /// Print only errors
    #[arg(long)]
    pub quiet: bool,
}

/// A scenario that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// There is one.
    #[error("{}: is there already, and is left alone\n  name another file, such as `brunt init other.toml`", .0.display())]
    There(PathBuf),
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes the scenario.
///
/// # Errors
/// [`InitError`] when there is a file of that name, or it cannot be written.
pub fn run(args: &InitArgs, output: &Output) -> Result<Exit, InitError> {
    let path = &args.file;
    if path.as_os_str() == "-" {
        output.data(TEMPLATE.trim_end());
        return Ok(Exit::Passed);
    }
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => InitError::There(path.clone()),
        _ => InitError::Write {
            path: path.clone(),
            source,
        },
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(refused)?;
    file.write_all(TEMPLATE.as_bytes()).map_err(refused)?;
    let path = path.display();
    output.talk(&format!(
        "wrote {path}: put in your own paths and sizes\n\nthen          brunt run {path}"
    ));
    Ok(Exit::Passed)
}
