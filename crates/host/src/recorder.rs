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
//! * [`files`]: the journal and the tables.
//!
//! The same thread looks at the machine when a sample ends, because some of its files (a drive's
//! temperature) answer slowly.

mod files;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use brunt_report::NewsLine;
use brunt_report::result::{HostCounter, PhaseName, Verdict};
use brunt_report::{Event, FolderError, JOURNAL, ReadError, RunFolder};
use brunt_run::{Ended, Entry, Head, Record, Recorded, Standing};
use brunt_units::Time;

use crate::interrupted::Interrupted;
use crate::machine::MachineWatch;
use files::{Files, Tables};

/// Appends to the tables of one run. One that is dropped waits as [`Recorder::finish`] does.
pub struct Recorder {
    /// `None` once nothing more comes.
    pieces: Option<Sender<Piece>>,
    outcome: Receiver<Result<(), FolderError>>,
}

/// Hears each record after it was appended.
pub type Heard = Box<dyn FnMut(&Entry<&Record>) + Send>;

/// Something that happened.
enum Piece {
    /// The collection begins.
    Begin,
    /// A sample ended.
    Sample(Recorded),
    Event(Time, Event),
    News(Time, NewsLine),
    /// The run has ended, a test with what it knows of itself.
    Ended(Time, Option<Box<Standing>>, Verdict),
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
        heard: Option<Heard>,
    ) -> Result<Self, FolderError> {
        let files = Files::none(Tables::create(folder)?, &head.run_id, heard)?;
        Self::start(files.of(head)?, Some(devices))
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
        heard: Option<Heard>,
    ) -> Result<Self, RecorderError> {
        let mut files = Files::none(Tables::create(folder)?, &head.run_id, heard)?;
        files.append_earlier(earlier)?;
        files.writer.next_part();
        files.append(Time::ZERO, &Record::Head(Box::new(head)))?;
        files.sync()?;
        Ok(Self::start(files, Some(devices))?)
    }

    /// The same for a test in virtual time, where this machine does not matter.
    ///
    /// # Errors
    /// [`FolderError`] for the first file that cannot be made.
    pub fn of_model(
        folder: &RunFolder,
        head: Head,
        heard: Option<Heard>,
    ) -> Result<Self, FolderError> {
        let files = Files::none(Tables::create(folder)?, &head.run_id, heard)?;
        Self::start(files.of(head)?, None)
    }

    /// The same for work that is no test of storage, whose machine is not looked at. Tables that stay
    /// empty are not made.
    ///
    /// # Errors
    /// [`FolderError`] for the first file that cannot be made.
    pub(crate) fn of_work(
        folder: &RunFolder,
        head: Head,
        heard: Option<Heard>,
    ) -> Result<Self, FolderError> {
        let files = Files::none(Tables::of_work(folder)?, &head.run_id, heard)?;
        Self::start(files.of(head)?, None)
    }

    /// The records of work that has no folder: `heard` hears them, and nothing is written.
    ///
    /// # Errors
    /// [`FolderError`] when its thread cannot be started.
    pub(crate) fn of_stream(head: Head, heard: Heard) -> Result<Self, FolderError> {
        let files = Files::none(Tables::nowhere(), &head.run_id, Some(heard))?;
        Self::start(files.of(head)?, None)
    }

    fn start(files: Files, devices: Option<Vec<String>>) -> Result<Self, FolderError> {
        let journal = files.tables.journal.path.clone();
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
            Ok(_) => Ok(Self { pieces: Some(pieces), outcome }),
            Err(source) => Err(FolderError { path: journal, source }),
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
        self.send(Piece::Ended(at, Some(Box::new(standing)), verdict));
    }

    /// The same for work that is no test of storage.
    pub fn work_ended(&self, at: Time, verdict: Verdict) {
        self.send(Piece::Ended(at, None, verdict));
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
        if let Some(pieces) = &self.pieces {
            // A thread that is gone is missed in `finish`.
            let _ = pieces.send(piece);
        }
    }

    /// Waits until everything is on storage.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub fn finish(mut self) -> Result<(), FolderError> {
        self.wait()
    }

    fn wait(&mut self) -> Result<(), FolderError> {
        self.pieces = None;
        match self.outcome.recv_timeout(PATIENCE) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(FolderError {
                path: PathBuf::from(JOURNAL),
                source: io::ErrorKind::TimedOut.into(),
            }),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.pieces.is_some() {
            // The work fails for another reason, which is said.
            let _ = self.wait();
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
                if let Some(standing) = standing {
                    self.append(at, &Record::Standing(standing));
                }
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

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use brunt_report::{Counters, Timestamp};
    use brunt_run::{News, Row, Sample, fold};
    use brunt_stats::{Latencies, Reading};
    use brunt_units::Span;

    use super::files::Place;
    use super::*;
    use brunt_report::journal_in;

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
        let recorder = Recorder::begin(&folder, head(), Vec::new(), None).unwrap();
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
        assert!(Recorder::begin(&folder, head(), Vec::new(), None).is_err());
    }

    #[test]
    fn a_full_disk_is_told_and_the_machine_still_watched() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), Timestamp::default(), "x").unwrap();
        let files = Files::none(Tables::create(&folder).unwrap(), "7", None).unwrap();
        let mut files = files.of(head()).unwrap();
        // Writing to this device fails as on a full disk.
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        files.tables.counters.place = Place::Open(full);
        let machine = Some(MachineWatch::new(Vec::new()));
        let mut keeper = Keeper { files, machine, outcome: Ok(()) };
        (0..2).for_each(|at| keeper.take(Piece::Sample(recorded(at, 1))));
        let error = keeper.outcome.unwrap_err();
        assert!(error.path.ends_with("counters.csv"), "{error}");
        assert!(!keeper.machine.unwrap().counters().is_empty());
        let taken = RunFolder::create(parent.path(), Timestamp::default(), "y").unwrap();
        std::os::unix::fs::symlink("/dev/full", taken.file("latency.hlog")).unwrap();
        assert!(Recorder::begin(&taken, head(), Vec::new(), None).is_err(), "a name that is taken");
    }
}
