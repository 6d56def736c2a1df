//! The journal of a run and its tables, written while the run goes on.
//!
//! ```text
//!   engine's thread: sample, event --> channel --> recorder's thread: append, then sync all that changed
//!
//!   record --> journal
//!          '-> counters.csv, latency.hlog, events.log, news.jsonl: the same for people and scripts
//! ```
//!
//! The engine never waits for these files: a slow disk under `--out` must not show in what is
//! measured. Whatever was appended is synced before the recorder rests, so that a run whose host
//! dies leaves everything but the last sample. `brunt report` makes a report from its journal.
//!
//! The same thread looks at the machine when a sample ends, because some of its files (a drive's
//! temperature) answer slowly.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use brunt_report::NewsLine;
use brunt_report::result::{HostCounter, PhaseName, Verdict};
use brunt_report::streams::tag;
use brunt_report::{
    Counters, Event, FolderError, JOURNAL, ReadError, RunFolder, Timestamp, journal_in,
};
use brunt_run::{Ended, FORMAT, Head, NEWS_SCHEMA, Record, Recorded, Sample, Standing, Writer};
use brunt_stats::LatencyLog;
use brunt_units::Time;
use serde_json::json;

use crate::interrupted::Interrupted;
use crate::machine::MachineWatch;
use crate::runs;

/// Appends to the tables of one run.
pub struct Recorder {
    pieces: Sender<Piece>,
    outcome: Receiver<Result<(), FolderError>>,
}

/// Something that happened.
enum Piece {
    /// The collection begins.
    Begin,
    /// A sample ended.
    Sample(Recorded),
    Event(Time, Event),
    News(Time, NewsLine),
    /// The test has ended, apart from what its journal has of it.
    Ended(Time, Box<Standing>, Verdict),
    /// A phase without samples begins or goes on, or none runs.
    Phase(Option<PhaseName>, Time),
    /// A request for what was seen of the machine.
    Asked(Sender<Seen>),
}

/// Why a run cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The journal of the run that is carried on.
    #[error(transparent)]
    Read(#[from] ReadError),
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
    /// Makes the files of the run of `head`. The machine is looked at for its own numbers and those
    /// of `devices`.
    ///
    /// # Errors
    /// [`FolderError`] for the first that cannot be made.
    pub fn begin(
        folder: &RunFolder,
        head: Head,
        devices: Vec<String>,
    ) -> Result<Self, FolderError> {
        Self::start(Files::of(folder, head)?, folder, Some(devices))
    }

    /// The same for a run that carries on another: the files begin with what that run recorded.
    ///
    /// # Errors
    /// [`RecorderError`] when a file cannot be made, or the journal of the other run not be read.
    pub fn carry_on(
        folder: &RunFolder,
        head: Head,
        devices: Vec<String>,
        earlier: &Interrupted,
    ) -> Result<Self, RecorderError> {
        let mut files = Files::none(folder, &head.run_id)?;
        files.append_earlier(earlier)?;
        files.writer.next_part();
        files.append(Time::ZERO, &Record::Head(Box::new(head)))?;
        files.sync()?;
        Ok(Self::start(files, folder, Some(devices))?)
    }

    /// The same for a test in virtual time, where this machine does not matter.
    ///
    /// # Errors
    /// [`FolderError`] for the first file that cannot be made.
    pub fn of_model(folder: &RunFolder, head: Head) -> Result<Self, FolderError> {
        Self::start(Files::of(folder, head)?, folder, None)
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

    /// Appends a line of the test log, of `at` on the run's clock.
    pub fn event(&self, at: Time, event: Event) {
        self.send(Piece::Event(at, event));
    }

    /// Appends news, of `at` on the run's clock.
    pub fn news(&self, at: Time, line: NewsLine) {
        self.send(Piece::News(at, line));
    }

    /// The test has ended at `at`, with what it knows of itself and this verdict.
    pub fn ended(&self, at: Time, standing: Standing, verdict: Verdict) {
        self.send(Piece::Ended(at, Box::new(standing), verdict));
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
            Piece::Sample(recorded) => self.sample(recorded),
            Piece::Event(at, Event { at: when, text }) => {
                let event = brunt_run::Event { unix_s: when.unix_seconds, text };
                self.append(at, &Record::Event(event));
            }
            Piece::Phase(phase, at) => {
                let machine = self.machine.iter_mut();
                machine.for_each(|machine| machine.phase(phase, at));
            }
            Piece::News(at, line) => {
                self.append(at, &Record::News(line.to_json()));
            }
            Piece::Ended(at, standing, verdict) => {
                self.append(at, &Record::Standing(standing));
                self.append(at, &Record::Ended(Ended { verdict: verdict.word().to_owned() }));
            }
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

    /// The faults before the samples: a journal that is cut between them has both.
    fn sample(&mut self, Recorded { sample, standing, .. }: Recorded) {
        let mut sample = Arc::unwrap_or_clone(sample);
        if let Some(machine) = &mut self.machine {
            sample.rows.extend(machine.sample(sample.length));
        }
        let at = sample.begin + sample.length;
        if sample.has_load() {
            self.append(at, &Record::Standing(Box::new(Arc::unwrap_or_clone(standing))));
        }
        self.append(at, &Record::Sample(sample));
    }

    fn append(&mut self, at: Time, record: &Record) {
        self.write(|files| files.append(at, record));
    }

    /// Writes, unless a write failed before: a table with a hole would be worse than one that ends.
    fn write(&mut self, write: impl FnOnce(&mut Files) -> Result<(), FolderError>) {
        if self.outcome.is_ok() {
            self.outcome = write(&mut self.files);
        }
    }
}

/// The journal, and what is made of it.
struct Files {
    writer: Writer,
    journal: Table,
    counters: Table,
    latencies: Table,
    events: Table,
    news: Table,
    /// Lines of the latency log; `None` before there is a head.
    latency_log: Option<LatencyLog>,
}

impl Files {
    /// Files with their heads.
    fn none(folder: &RunFolder, run_id: &str) -> Result<Self, FolderError> {
        let mut files = Self {
            writer: Writer::new(run_id),
            journal: Table::create(folder, JOURNAL)?,
            counters: Table::create(folder, "counters.csv")?,
            latencies: Table::create(folder, "latency.hlog")?,
            events: Table::create(folder, "events.log")?,
            news: Table::create(folder, "news.jsonl")?,
            latency_log: None,
        };
        files.journal.append(FORMAT.as_bytes())?;
        files.counters.append(Counters::HEAD.as_bytes())?;
        files.news.append(format!("{}\n", json!({ "schema": NEWS_SCHEMA })).as_bytes())?;
        Ok(files)
    }

    /// The files of the run of `head`.
    fn of(folder: &RunFolder, head: Head) -> Result<Self, FolderError> {
        let mut files = Self::none(folder, &head.run_id)?;
        files.append(Time::ZERO, &Record::Head(Box::new(head)))?;
        Ok(files)
    }

    /// Appends what an interrupted run has recorded: samples up to the last that counts, and
    /// everything else.
    fn append_earlier(&mut self, earlier: &Interrupted) -> Result<(), RecorderError> {
        let folder = earlier.folder();
        let Some(mut journal) = journal_in(folder)? else {
            return Ok(());
        };
        let mut part = 0;
        while let Some(entry) = journal.next_entry().map_err(runs::refused(folder))? {
            if entry.part > part {
                part = entry.part;
                self.writer.next_part();
            }
            match &entry.record {
                Record::Sample(_) if entry.seq >= earlier.records() => {}
                Record::Ended(_) => {}
                record => self.append(entry.at, record)?,
            }
        }
        Ok(())
    }

    /// Appends a record to the journal, and to the table of its kind.
    fn append(&mut self, at: Time, record: &Record) -> Result<(), FolderError> {
        self.journal.append(&self.writer.bytes(at, record))?;
        match record {
            Record::Head(head) => {
                self.latency_log.get_or_insert_with(|| LatencyLog::new(head.began_unix_s));
                Ok(())
            }
            Record::Sample(sample) => self.append_sample(sample),
            Record::Event(brunt_run::Event { unix_s, text }) => {
                let at = Timestamp { unix_seconds: *unix_s };
                let event = Event { at, text: text.clone() };
                self.events.append(format!("{event}\n").as_bytes())
            }
            Record::News(json) => self.news.append(format!("{json}\n").as_bytes()),
            Record::Standing(_) | Record::Ended(_) => Ok(()),
        }
    }

    fn append_sample(&mut self, sample: &Sample) -> Result<(), FolderError> {
        let mut rows = Counters::new();
        rows.add_sample(sample);
        self.counters.append(rows.take().as_bytes())?;
        let log = self.latency_log.get_or_insert_with(|| LatencyLog::new(0));
        for one in &sample.histograms {
            // A journal that is carried on may come from anywhere.
            let stream = tag(&one.stream);
            log.add(&stream, one.begin, one.length, &one.latencies);
        }
        let lines = match sample.has_load() {
            true => log.take(),
            false => Vec::new(),
        };
        self.latencies.append(&lines)
    }

    fn sync(&mut self) -> Result<(), FolderError> {
        let Self { journal, counters, latencies, events, news, .. } = self;
        let mut tables = [journal, counters, latencies, events, news];
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
    use brunt_run::{News, Row, fold};
    use brunt_stats::{Latencies, Reading};
    use brunt_units::Span;

    use super::*;

    fn head() -> Head {
        Head { run_id: "7".to_owned(), ..Head::default() }
    }

    /// The sample of one second with `reads` reads.
    fn recorded(at: u64, reads: u64) -> Recorded {
        let (begin, length) = (Time::ZERO + Span::seconds(at), Span::seconds(1));
        let mut latencies = Latencies::new();
        (0..reads).for_each(|_| latencies.record(Span::millis(1)));
        let rows = vec![Row::io("database-read", Reading::of(&latencies, 4096 * reads))];
        let stream = "database-read".to_owned();
        let histograms = vec![brunt_run::Histogram { stream, begin, length, latencies }];
        let sample = Sample { begin, length, rows, histograms, is_whole: true };
        Recorded { sample: Arc::new(sample), ..Recorded::default() }
    }

    #[test]
    fn everything_is_there_in_its_order() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), Timestamp::default(), "x").unwrap();
        let recorder = Recorder::begin(&folder, head(), Vec::new()).unwrap();
        recorder.collection_begins();
        (0..100).for_each(|at| recorder.sample(&recorded(at, 2)));
        let event = Event { at: Timestamp::default(), text: "two\nlines".to_owned() };
        recorder.event(Time::ZERO, event);
        let news = News::CollectionStarted;
        recorder.news(Time::ZERO, NewsLine { at: Timestamp::default(), news });
        let machine = recorder.machine();
        recorder.ended(Time::ZERO, Standing::default(), Verdict::Pass);
        recorder.finish().unwrap();
        assert!(machine.collection.iter().any(|counter| counter.counter == "Available MBytes"));
        let read = |name| std::fs::read_to_string(folder.file(name)).unwrap();
        let rows = read("counters.csv");
        assert!(rows.starts_with(Counters::HEAD));
        let own: Vec<_> = rows.lines().filter(|row| row.contains(",database-read,")).collect();
        assert_eq!((own.len(), own[99].starts_with("99.000,1.000,")), (100, true));
        assert_eq!(rows.matches(",host: Available MBytes,").count(), 100);
        assert_eq!(read("latency.hlog").matches("Tag=database-read,").count(), 100);
        assert_eq!(read("events.log"), "1970-01-01T00:00:00Z two lines\n");
        assert_eq!(
            read("news.jsonl"),
            "{\"schema\":\"brunt.news/1\"}\n{\"at\":\"1970-01-01T00:00:00Z\",\"news\":\"collection_started\"}\n"
        );
        let folded = fold(&mut journal_in(folder.path()).unwrap().unwrap()).unwrap();
        assert_eq!(folded.streams["database-read"].count, 200);
        assert_eq!(folded.streams["database-read"].latencies.count(), 200);
        assert_eq!(folded.streams["host: Available MBytes"].values.len(), 100);
        assert_eq!((folded.samples.len(), folded.length), (100, Span::seconds(100)));
        assert_eq!(folded.ended, Some(Ended { verdict: "pass".to_owned() }));
        // The files of one run are not those of another.
        assert!(Recorder::begin(&folder, head(), Vec::new()).is_err());
    }

    #[test]
    fn a_full_disk_is_told_and_the_machine_still_watched() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), Timestamp::default(), "x").unwrap();
        let mut files = Files::of(&folder, head()).unwrap();
        // Writing to this device fails as on a full disk.
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        files.counters.file = full;
        let machine = Some(MachineWatch::new(Vec::new()));
        let mut keeper = Keeper { files, machine, outcome: Ok(()) };
        (0..2).for_each(|at| keeper.take(Piece::Sample(recorded(at, 1))));
        let error = keeper.outcome.unwrap_err();
        assert!(error.path.ends_with("counters.csv"), "{error}");
        assert!(!keeper.machine.unwrap().counters().is_empty());
        let taken = RunFolder::create(parent.path(), Timestamp::default(), "y").unwrap();
        std::os::unix::fs::symlink("/dev/full", taken.file("latency.hlog")).unwrap();
        assert!(Recorder::begin(&taken, head(), Vec::new()).is_err(), "a name that is taken");
    }
}
