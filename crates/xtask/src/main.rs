//! Project tasks, run as `cargo xtask COMMAND`.
//!
//! * [`published`]: figures of published tests, read from the repository.
//! * [`figures`]: what is compared; [`prediction`] and [`predictions`]: the same figures,
//!   simulated.
//! * [`papers`]: `docs/papers.md`, every published figure beside its prediction.
//! * [`calibrate`]: fits the few parameters that no paper prints, and reports how reliable the
//!   result is.
//! * [`told`]: predictions as lines of JSON, while they are made.
//! * [`mail_results`]: `docs/mail-results.md`, mail servers under faults.
//! * [`tidy`]: what bends in the house.
//! * [`history`]: how `./test` went over time.
//! * [`dist`]: builds and packs a release; [`licences`]: those of the crates in it.

mod calibrate;
mod dist;
mod figures;
mod history;
#[cfg(test)]
mod inputs;
mod kept;
mod licences;
mod mail_results;
mod papers;
mod prediction;
mod predictions;
mod published;
mod tidy;
mod told;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Project tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate every published test and write docs/papers.md
    Papers(papers::PapersArgs),
    /// Fit what no paper prints, on calibration rows only, and report each system's error when it
    /// is left out
    // A search makes many predictions, so it measures less than the page does.
    #[command(mut_arg("minutes", |minutes| minutes.default_value("30")))]
    #[command(mut_arg("group_minutes", |minutes| minutes.default_value("10")))]
    Calibrate(calibrate::CalibrateArgs),
    /// Build a release and pack it: tarball, Debian package, container file
    Dist(dist::DistArgs),
    /// Put mail servers under every fault and write docs/mail-results.md
    MailResults(mail_results::MailResultsArgs),
    /// Find long functions, files nobody names, circles of files, wide pages, unexplained crates
    Tidy,
    /// Print how ./test went over time
    History(history::HistoryArgs),
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// A published test cannot be read.
    #[error(transparent)]
    Published(#[from] published::PublishedError),
    /// A scenario cannot be simulated.
    #[error("{scenario}: {why}")]
    Simulate {
        /// The scenario.
        scenario: String,
        /// The reason.
        why: String,
    },
    /// A row that must not be used in a fit.
    #[error(
        "`{0}` is not a calibration row: parameters are fitted on scenarios/papers/published only, never on what is to be predicted"
    )]
    NotForCalibration(String),
    /// A release cannot be packed.
    #[error("{}: {error}", program.display())]
    Release {
        /// The program.
        program: PathBuf,
        /// The reason.
        error: brunt_package::ReleaseError,
    },
    /// Predictions that are not what their scenarios say.
    #[error("these scenarios do not keep their promise:\n  {0}")]
    Promises(String),
    /// Something is out of order.
    #[error("{0} things are not tidy")]
    Tidy(usize),
    /// A release cannot be made.
    #[error("{0}")]
    Dist(String),
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl TaskError {
    /// A copy, for a prediction that was requested twice.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Simulate { scenario, why } => {
                Self::Simulate { scenario: scenario.clone(), why: why.clone() }
            }
            other => Self::Simulate { scenario: String::new(), why: other.to_string() },
        }
    }
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("two folders above this crate")
}

/// Prints `text` on stdout.
pub(crate) fn say(text: &str) {
    // A closed pipe is not a failure.
    let _ = writeln!(io::stdout().lock(), "{text}");
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    brunt_world_real::huge_pages::ask();
    let done = match command {
        Command::Papers(args) => papers::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::MailResults(args) => mail_results::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Tidy => tidy::run(),
        Command::History(args) => history::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr().lock(), "error: {error}");
            // As everywhere in brunt, 1 is an answer that is not the wanted one.
            ExitCode::from(if matches!(error, TaskError::Promises(_)) { 1 } else { 2 })
        }
    }
}
