//! Reads a run back from its folder.
//!
//! ```text
//!   result.json   finished: as it is             unfinished: names only, numbers from counters.csv and latency.hlog
//!   counters.csv  rows of the whole server       all rows
//! ```
//!
//! `result.json` exists from the beginning of the run and says that the run has not ended. If the host dies it stays that way, and
//! the numbers are made from what was recorded until then; see [`crate::unfinished`]. If the file is missing or cut off, the run is
//! pieced together from the tables; see [`crate::rebuilt`].
//!
//! A folder may come from anywhere, and the report may be made by root. So a file that is a link, that is not a regular file, or
//! that is endless is an error.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use brunt_stats::read_latency_log;

use crate::recorded::{Recorded, Wanted};
use crate::result::{ResultError, Sample};
use crate::{Event, RunResult, Timestamp, rebuilt, unfinished, whole_file};

/// Everything known about one run, or about several combined.
#[derive(Clone, Debug)]
pub struct Run {
    /// Verdict and numbers.
    pub result: RunResult,
    /// The resolved scenario, as TOML.
    pub scenario: String,
    /// The test log.
    pub events: Vec<Event>,
    /// The load of all servers over time.
    pub samples: Vec<Sample>,
}

/// Why a folder holds no readable run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no `result.json`.
    #[error("{}: is not the folder of a run: it has no result.json", .0.display())]
    NoRun(PathBuf),
    /// The run was killed before it recorded anything.
    #[error("{}: is the folder of a run that was stopped before its test began; there is nothing to report", .0.display())]
    NotBegun(PathBuf),
    /// The result is unusable.
    #[error("{}: {source}", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ResultError,
    },
}

impl Run {
    /// Reads the run in `folder`, or the run of the given `result.json`. Only that file is required; a missing table counts as
    /// empty.
    ///
    /// # Errors
    /// [`ReadError`] when there is no run, or one of its files cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        const RESULT: &str = "result.json";
        let folder = match folder.file_name() {
            Some(name) if name == RESULT => folder.parent().unwrap_or(Path::new("")),
            _ => folder,
        };
        let path = folder.join(RESULT);
        let events = Event::read_all(&text_of(&folder.join("events.log"))?.unwrap_or_default());
        let found = text_of(&path)?.as_deref().map(RunResult::from_json);
        let wanted = match &found {
            Some(Ok(result)) if result.is_finished() => Wanted::Samples,
            _ => Wanted::Totals,
        };
        let table = folder.join("counters.csv");
        let recorded = Recorded::read(open(&table)?, wanted).map_err(refused(&table))?;
        let is_empty = recorded.samples.is_empty();
        let (mut result, gap) = match found {
            Some(Ok(result)) => {
                let gap = (!result.is_finished()).then_some(unfinished::DID_NOT_END);
                (result, gap)
            }
            None | Some(Err(ResultError::Json(_))) if !is_empty => {
                let outline = rebuilt::outline(folder, &events, &recorded);
                (outline, Some(rebuilt::LOST))
            }
            Some(Err(source)) => return Err(ReadError::Result { path, source }),
            None if is_of_a_run(folder) => return Err(ReadError::NotBegun(folder.to_owned())),
            None => return Err(ReadError::NoRun(folder.to_owned())),
        };
        if let Some(gap) = gap {
            let log = folder.join("latency.hlog");
            let latencies = read_latency_log(open(&log)?).map_err(refused(&log))?;
            unfinished::fill(&mut result, &recorded, &latencies, gap);
        }
        Ok(Self {
            result,
            scenario: text_of(&folder.join("scenario.toml"))?.unwrap_or_default(),
            events,
            samples: recorded.samples,
        })
    }
}

/// Longer than any result, scenario or log of events; the tables are read line by line.
const TEXT_MAX: u64 = 64 << 20;

/// Whether `folder` has the name of a run's folder, or holds a scenario.
fn is_of_a_run(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.is_dir() && Timestamp::of_folder(&name).is_some()
        || folder.join("scenario.toml").is_file()
}

/// Opens a file of a run folder; a missing file is empty.
pub(crate) fn open(path: &Path) -> Result<BufReader<Box<dyn Read>>, ReadError> {
    const BUFFER: usize = 1 << 20;
    let file: Box<dyn Read> = match whole_file::read(path).map_err(refused(path))? {
        Some(file) => Box::new(file),
        None => Box::new(io::empty()),
    };
    Ok(BufReader::with_capacity(BUFFER, file))
}

pub(crate) fn text_of(path: &Path) -> Result<Option<String>, ReadError> {
    let Some(file) = whole_file::read(path).map_err(refused(path))? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let length = file.take(TEXT_MAX + 1).read_to_end(&mut bytes);
    if length.map_err(refused(path))? as u64 > TEXT_MAX {
        return Err(refused(path)(io::ErrorKind::FileTooLarge.into()));
    }
    // A log whose last line was torn may end inside a character.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

pub(crate) fn refused(path: &Path) -> impl Fn(io::Error) -> ReadError {
    move |source| ReadError::File {
        path: path.to_owned(),
        source,
    }
}
