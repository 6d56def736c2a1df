//! The tables of a run folder, written while the run goes on.
//!
//! ```text
//!   engine's thread: sample, event --> channel --> recorder's thread: append, then sync all that changed
//! ```
//!
//! The engine never waits for these files: a slow disk under `--out` must not show in what is
//! measured. Whatever was appended is synced before the recorder rests, so that a run whose host
//! dies leaves everything but the last sample. `brunt report` makes a report from it.
//!
//! The same thread looks at the machine when a sample ends, because some of its files (a drive's
//! temperature) answer slowly.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use brunt_qualify::progress::{NEWS_SCHEMA, NewsLine};
use brunt_qualify::sampling::Recorded;
use brunt_report::result::{HostCounter, PhaseName};
use brunt_report::{Counters, Earlier, Event, FolderError, RunFolder};
use brunt_units::Time;
use serde::Serialize;
use serde_json::json;

use crate::machine::MachineWatch;

/// Appends to the tables of one run.
pub struct Recorder {
    pieces: Sender<Piece>,
    outcome: Receiver<Result<(), FolderError>>,
}

/// Something that happened.
enum Piece {
    /// The collection begins.
    Begin,
    /// A sample ended: rows of `counters.csv`, lines of `latency.hlog`.
    Sample(Recorded),
    /// A line of `events.log`.
    Event(Event),
    /// A line of `news.jsonl`.
    News(NewsLine),
    /// A phase without samples begins or goes on, or none runs.
    Phase(Option<PhaseName>, Time),
    /// Somebody wants to know what was seen of the machine.
    Asked(Sender<Seen>),
}

/// What was seen of the machine.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// During the collection or the backup.
    pub collection: Vec<HostCounter>,
    /// In phases without samples.
    pub phases: Vec<(PhaseName, Vec<HostCounter>)>,
}

/// How long the end of a run waits for the last rows. A disk that takes longer is not going to take
/// them.
const PATIENCE: Duration = Duration::from_secs(30);

impl Recorder {
    /// Makes the four files, with their heads. The machine is looked at for its own numbers and
    /// those of `devices`.
    ///
    /// # Errors
    /// [`FolderError`] for the first that cannot be made.
    pub fn begin(folder: &RunFolder, devices: Vec<String>) -> Result<Self, FolderError> {
        Self::start(Files::create(folder)?, folder, Some(devices))
    }

    /// The same for a run that carries on `earlier`: the files begin with what that run recorded.
    ///
    /// # Errors
    /// [`FolderError`] for the first file that cannot be made.
    pub fn carry_on(
        folder: &RunFolder,
        devices: Vec<String>,
        earlier: &Earlier,
    ) -> Result<Self, FolderError> {
        let mut files = Files::none(folder)?;
        files.counters.append(&earlier.counters)?;
        files.latencies.append(&earlier.latency_log)?;
        for (table, text) in
            [(&mut files.events, &earlier.events), (&mut files.news, &earlier.news)]
        {
            // A last line that was torn stays away.
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            table.append(&text.as_bytes()[..whole])?;
        }
        if earlier.news.is_empty() {
            files.begin_news()?;
        }
        files.sync()?;
        Self::start(files, folder, Some(devices))
    }

    /// The same for a test in virtual time, where this machine does not matter.
    ///
    /// # Errors
    /// [`FolderError`] for the first file that cannot be made.
    pub fn of_model(folder: &RunFolder) -> Result<Self, FolderError> {
        Self::start(Files::create(folder)?, folder, None)
    }

    fn start(
        files: Files,
        folder: &RunFolder,
        devices: Option<Vec<String>>,
    ) -> Result<Self, FolderError> {
        let (pieces, received) = mpsc::channel();
        let (ended, outcome) = mpsc::channel();
        let thread = thread::Builder::new().name("recorder".into());
        let started = thread.spawn(move || {
            let mut keeper =
                Keeper { files, machine: devices.map(MachineWatch::new), outcome: Ok(()) };
            keeper.keep(&received);
            // Nobody listens when the program is ending without the recorder.
            let _ = ended.send(keeper.outcome);
        });
        match started {
            Ok(_) => Ok(Self { pieces, outcome }),
            Err(source) => Err(FolderError { path: folder.path().to_owned(), source }),
        }
    }

    /// From now on the machine's numbers count.
    pub fn collection_begins(&self) {
        self.send(Piece::Begin);
    }

    /// Appends what a sample recorded, and looks at the machine.
    pub fn sample(&self, recorded: &Recorded) {
        self.send(Piece::Sample(recorded.clone()));
    }

    /// Appends a line of `events.log`.
    pub fn event(&self, event: Event) {
        self.send(Piece::Event(event));
    }

    /// Appends a line of `news.jsonl`.
    pub fn news(&self, line: NewsLine) {
        self.send(Piece::News(line));
    }

    /// `phase`, which has no samples, begins or goes on at `at`; `None` when no such phase runs.
    pub fn phase(&self, phase: Option<PhaseName>, at: Time) {
        self.send(Piece::Phase(phase, at));
    }

    /// What was seen of the machine; nothing when the recorder does not answer.
    pub fn machine(&self) -> Seen {
        let (answer, answered) = mpsc::channel();
        self.send(Piece::Asked(answer));
        answered.recv_timeout(PATIENCE).unwrap_or_default()
    }

    fn send(&self, piece: Piece) {
        // A thread that is gone is missed in `finish`.
        let _ = self.pieces.send(piece);
    }

    /// Waits until everything is on storage.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub fn finish(self) -> Result<(), FolderError> {
        drop(self.pieces);
        match self.outcome.recv_timeout(PATIENCE) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(FolderError {
                path: PathBuf::from("counters.csv"),
                source: io::ErrorKind::TimedOut.into(),
            }),
        }
    }
}

/// What the recorder's thread has.
struct Keeper {
    files: Files,
    /// Nothing in virtual time.
    machine: Option<MachineWatch>,
    /// Why nothing more is written, once something could not be.
    outcome: Result<(), FolderError>,
}

impl Keeper {
    fn keep(&mut self, pieces: &Receiver<Piece>) {
        while let Ok(piece) = pieces.recv() {
            self.take(piece);
            // What came meanwhile is synced together.
            while let Ok(piece) = pieces.try_recv() {
                self.take(piece);
            }
            self.write(Files::sync);
        }
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Begin => self.machine.iter_mut().for_each(MachineWatch::begin),
            Piece::Sample(recorded) => {
                let machine = self.machine.as_mut();
                let seen = machine.map_or_else(String::new, |machine| {
                    machine.sample(recorded.begin, recorded.length)
                });
                self.write(|files| files.append_sample(&recorded, &seen));
            }
            Piece::Event(event) => {
                self.write(|files| files.events.append(format!("{event}\n").as_bytes()));
            }
            Piece::Phase(phase, at) => {
                let machine = self.machine.iter_mut();
                machine.for_each(|machine| machine.phase(phase, at));
            }
            Piece::News(line) => self.write(|files| files.news.append_json(&line)),
            Piece::Asked(answer) => {
                // Who asked may have lost patience.
                let machine = self.machine.as_ref();
                let seen = machine.map_or_else(Seen::default, |machine| Seen {
                    collection: machine.counters(),
                    phases: machine.phases(),
                });
                let _ = answer.send(seen);
            }
        }
    }

    /// Writes, unless a write failed before: a table with a hole would be worse than one that ends.
    fn write(&mut self, write: impl FnOnce(&mut Files) -> Result<(), FolderError>) {
        if self.outcome.is_ok() {
            self.outcome = write(&mut self.files);
        }
    }
}

struct Files {
    counters: Table,
    latencies: Table,
    events: Table,
    news: Table,
}

impl Files {
    /// Empty files.
    fn none(folder: &RunFolder) -> Result<Self, FolderError> {
        Ok(Self {
            counters: Table::create(folder, "counters.csv")?,
            latencies: Table::create(folder, "latency.hlog")?,
            events: Table::create(folder, "events.log")?,
            news: Table::create(folder, "news.jsonl")?,
        })
    }

    /// Files with their heads.
    fn create(folder: &RunFolder) -> Result<Self, FolderError> {
        let mut files = Self::none(folder)?;
        files.counters.append(Counters::HEAD.as_bytes())?;
        files.begin_news()?;
        Ok(files)
    }

    fn begin_news(&mut self) -> Result<(), FolderError> {
        self.news.append_json(&json!({ "schema": NEWS_SCHEMA }))
    }

    fn append_sample(&mut self, recorded: &Recorded, seen: &str) -> Result<(), FolderError> {
        self.counters.append(recorded.counters.as_bytes())?;
        self.counters.append(seen.as_bytes())?;
        self.latencies.append(&recorded.latency_log)
    }

    fn sync(&mut self) -> Result<(), FolderError> {
        let Self { counters, latencies, events, news } = self;
        let mut tables = [counters, latencies, events, news];
        tables.iter_mut().try_for_each(|table| table.sync())
    }
}

/// A file that only grows.
struct Table {
    path: PathBuf,
    file: File,
    changed: bool,
}

impl Table {
    fn create(folder: &RunFolder, name: &str) -> Result<Self, FolderError> {
        let path = folder.file(name);
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => Ok(Self { path, file, changed: false }),
            Err(source) => Err(FolderError { path, source }),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        self.changed |= !bytes.is_empty();
        let written = self.file.write_all(bytes);
        written.map_err(|source| self.refused(source))
    }

    fn append_json(&mut self, line: &impl Serialize) -> Result<(), FolderError> {
        let line =
            serde_json::to_string(line).expect("names are strings, numbers are finite or null");
        self.append(format!("{line}\n").as_bytes())
    }

    fn sync(&mut self) -> Result<(), FolderError> {
        if !std::mem::take(&mut self.changed) {
            return Ok(());
        }
        let synced = self.file.sync_data();
        synced.map_err(|source| self.refused(source))
    }

    fn refused(&self, source: io::Error) -> FolderError {
        FolderError { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use brunt_qualify::progress::News;
    use brunt_report::Timestamp;
    use brunt_units::Span;

    use super::*;

    #[test]
    fn everything_is_there_in_its_order() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), Timestamp::default(), "x").unwrap();
        let recorder = Recorder::begin(&folder, Vec::new()).unwrap();
        recorder.collection_begins();
        for at in 0..100 {
            recorder.sample(&Recorded {
                begin: Time::ZERO + Span::seconds(at),
                length: Span::seconds(1),
                counters: format!("row {at}\n"),
                latency_log: vec![b'a'],
                ..Recorded::default()
            });
        }
        recorder.event(Event { at: Timestamp::default(), text: "two\nlines".to_owned() });
        recorder.news(NewsLine { at: Timestamp::default(), news: News::CollectionStarted });
        let machine = recorder.machine();
        recorder.finish().unwrap();
        assert!(machine.collection.iter().any(|counter| counter.counter == "Available MBytes"));
        let read = |name| std::fs::read_to_string(folder.file(name)).unwrap();
        let rows = read("counters.csv");
        assert!(rows.starts_with(Counters::HEAD));
        let own: Vec<_> = rows.lines().filter(|row| row.starts_with("row")).collect();
        assert_eq!((own.len(), own[99]), (100, "row 99"));
        assert_eq!(rows.matches(",host: Available MBytes,").count(), 100);
        assert_eq!(read("latency.hlog").len(), 100);
        assert_eq!(read("events.log"), "1970-01-01T00:00:00Z two lines\n");
        assert_eq!(
            read("news.jsonl"),
            "{\"schema\":\"brunt.news/1\"}\n{\"at\":\"1970-01-01T00:00:00Z\",\"news\":\"collection_started\"}\n"
        );
        // The files of one run are not those of another.
        assert!(Recorder::begin(&folder, Vec::new()).is_err());
    }

    #[test]
    fn a_full_disk_is_told_and_the_machine_still_watched() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), Timestamp::default(), "x").unwrap();
        // Writing to this device fails as on a full disk.
        std::os::unix::fs::symlink("/dev/full", folder.file("latency.hlog")).unwrap();
        assert!(Recorder::begin(&folder, Vec::new()).is_err(), "a name that is taken");
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let table = |name: &str| Table {
            path: folder.file(name),
            file: full.try_clone().unwrap(),
            changed: false,
        };
        let mut keeper = Keeper {
            files: Files {
                counters: table("counters.csv"),
                latencies: table("latency.hlog"),
                events: table("events.log"),
                news: table("news.jsonl"),
            },
            machine: Some(MachineWatch::new(Vec::new())),
            outcome: Ok(()),
        };
        for at in 0..2 {
            keeper.take(Piece::Sample(Recorded {
                begin: Time::ZERO + Span::seconds(at),
                length: Span::seconds(1),
                counters: "row\n".to_owned(),
                ..Recorded::default()
            }));
        }
        let error = keeper.outcome.unwrap_err();
        assert!(error.path.ends_with("counters.csv"), "{error}");
        assert!(!keeper.machine.unwrap().counters().is_empty());
    }
}
