//! `cargo xtask mail-results`: which mail servers keep their word under which fault, in
//! `docs/mail-results.md`.
//!
//! Each cell is a scenario that is given to `brunt load`, as often as it says: every cell once, then
//! every cell a second time. Results are kept in `target/mail-results`; a run without one is made
//! the next time.

mod cells;
mod page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use brunt_report::RunResult;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::kept::{self, Place};
use crate::{TaskError, root, say};
use cells::Cell;

/// How long a run may take.
const ENDS_WITHIN: Duration = Duration::from_secs(400);
const LOOK: Duration = Duration::from_millis(100);

/// Arguments of `mail-results`.
#[derive(Args, Clone, Debug)]
pub(crate) struct MailResultsArgs {
    /// The program [default: brunt beside this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// Run only cells whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,

    /// Run nothing: write the page from what is kept
    #[arg(long)]
    page: bool,
}

/// What became of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Kept {
    /// Its result.
    Result(Box<RunResult>),
    /// Why there is none.
    Refused(String),
}

/// Runs what has no result yet, and writes the page.
///
/// # Errors
/// [`TaskError`] when a file cannot be read or written.
pub(crate) fn run(args: &MailResultsArgs) -> Result<(), TaskError> {
    let cells = cells::all();
    let wanted = |cell: &&Cell| {
        args.only.is_empty() || args.only.iter().any(|text| cell.name().contains(text.as_str()))
    };
    let beside = std::env::current_exe().map_err(|error| at(Path::new("/proc/self/exe"), error))?;
    let program = args.program.clone().unwrap_or_else(|| beside.with_file_name("brunt"));
    let most = cells.iter().map(|cell| cell.fault.times).max().unwrap_or_default();
    for number in (0..most).filter(|_| !args.page) {
        for cell in cells.iter().filter(wanted).filter(|cell| number < cell.fault.times) {
            let place = place(cell, number);
            if !matches!(place.get(), Some(Kept::Result(_))) {
                let result = measure(&program, cell)?;
                say(&format!("{} {number}: {}", cell.name(), page::in_a_word(&result)));
                place.put(&result).map_err(|error| at(Path::new(&cell.name()), error))?;
            }
        }
    }
    let text = page::page(&cells, |cell| {
        (0..cell.fault.times).filter_map(|number| place(cell, number).get()).collect()
    });
    let path = root().join("docs/mail-results.md");
    fs::write(&path, text).map_err(|error| at(&path, error))
}

/// Runs a cell once.
fn measure(program: &Path, cell: &Cell) -> Result<Kept, TaskError> {
    let home = PathBuf::from("/var/tmp").join(format!("brunt-results-{}", std::process::id()));
    fs::create_dir_all(&home).map_err(|error| at(&home, error))?;
    let scenario = home.join("cell.toml");
    fs::write(&scenario, cell.scenario()).map_err(|error| at(&scenario, error))?;
    let [answer, complaints] = ["answer", "complaints"].map(|name| home.join(name));
    let file = |path: &Path| fs::File::create(path).map_err(|error| at(path, error));
    let mut command = Command::new(program);
    command.args(["load", "cell.toml", "--json", "--quiet"]).current_dir(&home);
    command.stdin(Stdio::null()).stdout(file(&answer)?).stderr(file(&complaints)?);
    let mut child = command.spawn().map_err(|error| at(program, error))?;
    let until = Instant::now() + ENDS_WITHIN;
    while child.try_wait().map_err(|error| at(program, error))?.is_none() {
        if Instant::now() >= until {
            // Its servers and mounts go with it.
            let _ = child.kill();
            let _ = child.wait();
            let _ = fs::remove_dir_all(&home);
            let seconds = ENDS_WITHIN.as_secs();
            return Ok(Kept::Refused(format!("no end within {seconds} s")));
        }
        thread::sleep(LOOK);
    }
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| at(path, error));
    let kept = match serde_json::from_str(&read(&answer)?) {
        Ok(result) => Kept::Result(Box::new(result)),
        Err(_) => Kept::Refused(read(&complaints)?.lines().next().unwrap_or_default().to_owned()),
    };
    let _ = fs::remove_dir_all(&home);
    Ok(kept)
}

fn place(cell: &Cell, number: u32) -> Place {
    let name = format!("{}-{number}", cell.name());
    kept::Kept::in_target("mail-results").place(&name, &cell.scenario())
}

fn at(path: &Path, error: std::io::Error) -> TaskError {
    TaskError::File { path: path.to_owned(), error }
}
