//! Reads a run back from its folder.
//!
//! `result.json` exists from the beginning of the run and says that the run has not ended. If the
//! host dies it stays that way, and what the run had measured is in its journal ([`brunt_run`]).
//!
//! A folder may come from anywhere, and the report may be made by root. So a file that is a link,
//! that is not a regular file, or that is endless is an error.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use brunt_stats::{Latencies, read_latency_log};

use crate::parts::Parts;
use crate::recorded::{Recorded, Wanted};
use crate::result::{ResultError, Sample};
use crate::{Event, RunResult, Timestamp, figures, whole_file};

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
    /// The parts of modelled arrays over time; empty for real storage.
    pub parts: Parts,
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
    /// It is the folder of something else.
    #[error("{}: is the folder of a {what}, not of a run; its figures are in report.html and {table}", folder.display())]
    NotOneRun {
        folder: PathBuf,
        /// What it is of.
        what: &'static str,
        /// The file that it has instead of a result.
        table: &'static str,
    },
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
    /// A run of which only the result is known.
    pub fn of_result(result: RunResult) -> Self {
        let (scenario, events, samples) = (String::new(), Vec::new(), Vec::new());
        Self { result, scenario, events, samples, parts: Parts::default() }
    }

    /// Reads the run in `folder`, or the run of the given `result.json`. Only that file is
    /// required; a missing table counts as empty.
    ///
    /// # Errors
    /// [`ReadError`] when there is no run, or one of its files cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let folder = folder_of(folder);
        let open = |name: &str| open_in(folder, name);
        Self::of_files(folder, open).map_err(explained)
    }

    /// Reads the run whose files `open` opens by their names; `None` is a file that is not there.
    /// Messages call it `folder`.
    pub fn of_files<'f>(
        folder: &Path,
        open: impl Fn(&str) -> Opened<'f>,
    ) -> Result<Self, ReadError> {
        let files = Files { folder, open: &open };
        let events = Event::read_all(&files.text("events.log")?.unwrap_or_default());
        let recorded = files.recorded(Wanted::Samples)?;
        Ok(Self {
            result: files.result()?,
            scenario: files.text("scenario.toml")?.unwrap_or_default(),
            events,
            samples: recorded.samples,
            parts: recorded.parts,
        })
    }

    /// What the tables of this run say by themselves, whatever its `result.json` says.
    ///
    /// # Errors
    /// [`ReadError`] when a table cannot be read.
    pub fn tables<'f>(
        &self,
        folder: &Path,
        open: impl Fn(&str) -> Opened<'f>,
    ) -> Result<Tables, ReadError> {
        let files = Files { folder, open: &open };
        let mut means = BTreeMap::<String, Vec<(f64, Option<f64>)>>::new();
        let path = folder.join(COUNTERS);
        let recorded = Recorded::read_where(files.lines(COUNTERS)?, Wanted::Totals, |_, row| {
            let kind = row.stream.rsplit_once('.').map(|(_, kind)| kind);
            if matches!(kind, Some("read" | "log-write")) {
                let of_stream = means.entry(row.stream.clone().into_owned()).or_default();
                of_stream.push((row.begin_s, row.latency_ms_mean));
            }
            true
        });
        let recorded = recorded.map_err(refused(&path))?;
        for (begin_s, _) in means.values_mut().flatten() {
            *begin_s -= recorded.begin_s;
        }
        let latencies = files.latencies()?;
        let mut result = self.result.clone();
        figures::fill(&mut result, &recorded, &latencies);
        let totals = recorded.totals.iter();
        Ok(Tables {
            figures: result,
            length_s: recorded.length_s(),
            counts: totals.map(|(stream, total)| (stream.clone(), total.count)).collect(),
            samples: recorded.samples,
            means,
            latencies,
        })
    }
}

/// What the tables of a run say by themselves.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The result with the numbers of the tables. Nothing is judged.
    pub figures: RunResult,
    /// Length of all samples, in seconds.
    pub length_s: f64,
    /// The load of the server over time.
    pub samples: Vec<Sample>,
    /// I/Os or events of each stream.
    pub counts: BTreeMap<String, u64>,
    /// For the reads of each database and the writes of each log: when each sample began, in
    /// seconds from the beginning of the collection, and its mean latency in milliseconds.
    pub means: BTreeMap<String, Vec<(f64, Option<f64>)>>,
    /// Histograms of each stream.
    pub latencies: BTreeMap<String, Latencies>,
}

/// Opens the file called `name` in the run folder `folder`. A link, and whatever else is not a
/// regular file, is an error.
///
/// # Errors
/// The error of the system.
pub fn open_in(folder: &Path, name: &str) -> Opened<'static> {
    let file = regular_file(folder, name)?;
    Ok(file.map(|file| Box::new(file) as Box<dyn Read>))
}

/// The same, as a file.
///
/// # Errors
/// The error of the system.
pub fn regular_file(
    folder: &Path,
    name: &str,
) -> io::Result<Option<impl Read + Seek + Send + use<>>> {
    whole_file::read(&folder.join(name))
}

const RESULT: &str = "result.json";
pub(crate) const COUNTERS: &str = "counters.csv";
pub(crate) const LATENCIES: &str = "latency.hlog";

/// A file of a run folder; `None` when there is none of that name.
pub type Opened<'f> = io::Result<Option<Box<dyn Read + 'f>>>;

/// The files of a run.
pub(crate) struct Files<'a, 'f> {
    pub(crate) folder: &'a Path,
    pub(crate) open: &'a dyn Fn(&str) -> Opened<'f>,
}

impl<'f> Files<'_, 'f> {
    /// A file line by line; a missing one is empty.
    pub(crate) fn lines(&self, name: &str) -> Result<BufReader<Box<dyn Read + 'f>>, ReadError> {
        let file = (self.open)(name).map_err(refused(&self.folder.join(name)))?;
        let file = file.unwrap_or_else(|| Box::new(io::empty()));
        Ok(BufReader::with_capacity(BUFFER, file))
    }

    fn text(&self, name: &str) -> Result<Option<String>, ReadError> {
        let path = self.folder.join(name);
        let file = (self.open)(name).map_err(refused(&path))?;
        file.map(|file| text_in(file, &path)).transpose()
    }

    fn result(&self) -> Result<RunResult, ReadError> {
        let text = self.text(RESULT)?.ok_or_else(|| ReadError::NoRun(self.folder.to_owned()))?;
        let path = self.folder.join(RESULT);
        RunResult::from_json(&text).map_err(|source| ReadError::Result { path, source })
    }

    fn recorded(&self, wanted: Wanted) -> Result<Recorded, ReadError> {
        let recorded = Recorded::read(self.lines(COUNTERS)?, wanted);
        recorded.map_err(refused(&self.folder.join(COUNTERS)))
    }

    fn latencies(&self) -> Result<BTreeMap<String, Latencies>, ReadError> {
        let latencies = read_latency_log(self.lines(LATENCIES)?);
        latencies.map_err(refused(&self.folder.join(LATENCIES)))
    }
}

/// The result of the run in `folder`, or the given `result.json`. No table is read.
///
/// # Errors
/// Those of [`Run::read`].
pub fn result_in(folder: &Path) -> Result<RunResult, ReadError> {
    let folder = folder_of(folder);
    let open = |name: &str| open_in(folder, name);
    Files { folder, open: &open }.result().map_err(explained)
}

/// Says what `folder` is instead of a run.
fn explained(error: ReadError) -> ReadError {
    match error {
        ReadError::NoRun(folder) => no_run(folder),
        error => error,
    }
}

/// The folder of a run that is named by its folder or its result.
pub fn folder_of(path: &Path) -> &Path {
    match path.file_name() {
        Some(name) if name == RESULT => path.parent().unwrap_or(Path::new("")),
        _ => path,
    }
}

pub(crate) const BUFFER: usize = 1 << 20;

/// Longer than any result, scenario or log of events; the tables are read line by line.
const TEXT_MAX: u64 = 64 << 20;

/// The results of work that is not one run: what they are called, and what it is.
pub const OTHER_RESULTS: [(&str, &str); 3] = [
    ("points.json", "sweep or search"),
    ("simulation.json", "raw load"),
    ("comparison.json", "comparison"),
];

/// Why `folder` has neither a result nor what one is pieced together from.
fn no_run(folder: PathBuf) -> ReadError {
    let mut others = OTHER_RESULTS.into_iter().chain([("signoff.pdf", "page to sign")]);
    match others.find(|(table, _)| folder.join(table).is_file()) {
        Some((table, what)) => ReadError::NotOneRun { folder, what, table },
        None if is_of_a_run(&folder) => ReadError::NotBegun(folder),
        None => ReadError::NoRun(folder),
    }
}

/// Whether `folder` has the name of a run's folder, or holds a scenario.
fn is_of_a_run(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.is_dir() && Timestamp::of_folder(&name).is_some()
        || folder.join("scenario.toml").is_file()
}

fn text_in(file: impl Read, path: &Path) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    let length = file.take(TEXT_MAX + 1).read_to_end(&mut bytes);
    if length.map_err(refused(path))? as u64 > TEXT_MAX {
        return Err(refused(path)(io::ErrorKind::FileTooLarge.into()));
    }
    // A log whose last line was torn may end inside a character.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn refused(path: &Path) -> impl Fn(io::Error) -> ReadError {
    move |source| ReadError::File { path: path.to_owned(), source }
}
