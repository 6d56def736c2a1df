//! A run, read back from its folder.
//!
//! ```text
//!   result.json   finished: as it is             unfinished: names only, numbers from counters.csv and latency.hlog
//!   counters.csv  rows of the whole server       all rows
//! ```
//!
//! `result.json` lies in the folder from the run's beginning and says that the run has not ended. When the host dies it
//! stays so, and the numbers are made from what was recorded until then; see [`crate::unfinished`].

use std::fs::{self, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use brunt_stats::read_latency_log;

use crate::recorded::{Recorded, Wanted};
use crate::result::{ResultError, Sample};
use crate::{Event, RunResult, unfinished};

/// Everything one run, or several together, have to say.
#[derive(Clone, Debug)]
pub struct Run {
    /// Verdict and numbers.
    pub result: RunResult,
    /// The resolved scenario, as TOML.
    pub scenario: String,
    /// The test log.
    pub events: Vec<Event>,
    /// All servers over time.
    pub samples: Vec<Sample>,
}

/// A folder that has no run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no `result.json`.
    #[error("{}: is not the folder of a run: it has no result.json", .0.display())]
    NoRun(PathBuf),
    /// The result is of no use.
    #[error("{}: {source}", path.display())]
    Result {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: ResultError,
    },
}

impl Run {
    /// Reads the run in `folder`, or the one whose `result.json` is named. Only that file must be there; a table that is
    /// missing is empty.
    ///
    /// # Errors
    /// [`ReadError`] when there is no run, or a file of it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        const RESULT: &str = "result.json";
        let folder = match folder.file_name() {
            Some(name) if name == RESULT => folder.parent().unwrap_or(Path::new("")),
            _ => folder,
        };
        let path = folder.join(RESULT);
        let text = match fs::read_to_string(&path) {
            Err(error) if is_absent(&error) => {
                return Err(ReadError::NoRun(folder.to_owned()));
            }
            text => text.map_err(refused(&path))?,
        };
        let result = RunResult::from_json(&text);
        let mut result = result.map_err(|source| ReadError::Result { path, source })?;
        let wanted = match result.is_finished() {
            true => Wanted::Samples,
            false => Wanted::Totals,
        };
        let table = folder.join("counters.csv");
        let recorded = Recorded::read(open(&table)?, wanted).map_err(refused(&table))?;
        if !result.is_finished() {
            let log = folder.join("latency.hlog");
            let latencies = read_latency_log(open(&log)?).map_err(refused(&log))?;
            unfinished::fill(&mut result, &recorded, &latencies);
        }
        Ok(Self {
            result,
            scenario: text_of(&folder.join("scenario.toml"))?,
            events: Event::read_all(&text_of(&folder.join("events.log"))?),
            samples: recorded.samples,
        })
    }
}

/// Whether there is no such file: its folder may be missing, or no folder.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// A file of a run folder for reading; nothing when it is not there.
fn open(path: &Path) -> Result<BufReader<Box<dyn Read>>, ReadError> {
    const BUFFER: usize = 1 << 20;
    let file: Box<dyn Read> = match OpenOptions::new().read(true).open(path) {
        Ok(file) => Box::new(file),
        Err(error) if is_absent(&error) => Box::new(io::empty()),
        Err(source) => return Err(refused(path)(source)),
    };
    Ok(BufReader::with_capacity(BUFFER, file))
}

fn text_of(path: &Path) -> Result<String, ReadError> {
    match fs::read(path) {
        // A log whose last line was torn may end within a letter.
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if is_absent(&error) => Ok(String::new()),
        Err(source) => Err(refused(path)(source)),
    }
}

fn refused(path: &Path) -> impl Fn(io::Error) -> ReadError {
    move |source| ReadError::File {
        path: path.to_owned(),
        source,
    }
}
