//! The tables of a run folder, written while the run goes on.
//!
//! ```text
//!   engine's thread: sample, event --> channel --> recorder's thread: append, then sync all that changed
//! ```
//!
//! The engine never waits for these files: a slow disk under `--out` must not show in what is measured. Whatever was
//! appended is synced before the recorder rests, so that a run whose host dies leaves everything but the last sample.
//! `brunt report` makes a report from it.
//!
//! The same thread looks at the machine when a sample ends, because some of its files (a drive's temperature) answer slowly.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use brunt_qualify::sampling::Recorded;
use brunt_report::result::HostCounter;
use brunt_report::{Counters, Event, FolderError, RunFolder};

use super::machine::MachineWatch;

/// Appends to the tables of one run.
pub(super) struct Recorder {
    pieces: Sender<Piece>,
    outcome: Receiver<Outcome>,
}

/// What was seen of the machine, or why not everything was written.
type Outcome = Result<Vec<HostCounter>, FolderError>;

/// Something that happened.
enum Piece {
    /// The collection begins.
    Begin,
    /// A sample ended: rows of `counters.csv`, lines of `latency.hlog`.
    Sample(Recorded),
    /// A line of `events.log`.
    Event(Event),
}

/// How long the end of a run waits for the last rows. A disk that takes longer is not going to take them.
const PATIENCE: Duration = Duration::from_secs(30);

impl Recorder {
    /// Makes the three files, with their heads. The machine is looked at for its own numbers and those of `devices`.
    ///
    /// # Errors
    /// [`FolderError`] for the first that cannot be made.
    pub(super) fn begin(folder: &RunFolder, devices: Vec<String>) -> Result<Self, FolderError> {
        let mut files = Files {
            counters: Table::create(folder, "counters.csv")?,
            latencies: Table::create(folder, "latency.hlog")?,
            events: Table::create(folder, "events.log")?,
        };
        files.counters.append(Counters::HEAD.as_bytes())?;
        let (pieces, received) = mpsc::channel();
        let (ended, outcome) = mpsc::channel();
        thread::spawn(move || {
            // Nobody listens when the program is ending without the recorder.
            let mut machine = MachineWatch::new(devices);
            let kept = files.keep(&received, &mut machine);
            let _ = ended.send(kept.map(|()| machine.counters()));
        });
        Ok(Self { pieces, outcome })
    }

    /// From now on the machine's numbers count.
    pub(super) fn collection_begins(&self) {
        self.send(Piece::Begin);
    }

    /// Appends what a sample recorded, and looks at the machine.
    pub(super) fn sample(&self, recorded: &Recorded) {
        self.send(Piece::Sample(recorded.clone()));
    }

    /// Appends a line of `events.log`.
    pub(super) fn event(&self, event: Event) {
        self.send(Piece::Event(event));
    }

    fn send(&self, piece: Piece) {
        // A recorder that met an error has ended; `finish` says so.
        let _ = self.pieces.send(piece);
    }

    /// Waits until everything is on storage; what was seen of the machine.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub(super) fn finish(self) -> Outcome {
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

struct Files {
    counters: Table,
    latencies: Table,
    events: Table,
}

impl Files {
    fn keep(
        &mut self,
        pieces: &Receiver<Piece>,
        machine: &mut MachineWatch,
    ) -> Result<(), FolderError> {
        while let Ok(piece) = pieces.recv() {
            self.append(&piece, machine)?;
            // What came meanwhile is synced together.
            while let Ok(piece) = pieces.try_recv() {
                self.append(&piece, machine)?;
            }
            for table in [&mut self.counters, &mut self.latencies, &mut self.events] {
                table.sync()?;
            }
        }
        Ok(())
    }

    fn append(&mut self, piece: &Piece, machine: &mut MachineWatch) -> Result<(), FolderError> {
        match piece {
            Piece::Begin => machine.begin(),
            Piece::Sample(recorded) => {
                let seen = machine.sample(recorded.begin, recorded.length);
                self.counters.append(recorded.counters.as_bytes())?;
                self.counters.append(seen.as_bytes())?;
                self.latencies.append(&recorded.latency_log)?;
            }
            Piece::Event(event) => self.events.append(format!("{event}\n").as_bytes())?,
        }
        Ok(())
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
            Ok(file) => Ok(Self {
                path,
                file,
                changed: false,
            }),
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
        FolderError {
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_report::Timestamp;
    use brunt_units::{Span, Time};

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
            });
        }
        recorder.event(Event {
            at: Timestamp::default(),
            text: "two\nlines".to_owned(),
        });
        let machine = recorder.finish().unwrap();
        assert!(
            machine
                .iter()
                .any(|counter| counter.counter == "Available MBytes")
        );
        let read = |name| std::fs::read_to_string(folder.file(name)).unwrap();
        let rows = read("counters.csv");
        assert!(rows.starts_with(Counters::HEAD));
        let own: Vec<_> = rows.lines().filter(|row| row.starts_with("row")).collect();
        assert_eq!((own.len(), own[99]), (100, "row 99"));
        assert_eq!(rows.matches(",host: Available MBytes,").count(), 100);
        assert_eq!(read("latency.hlog").len(), 100);
        assert_eq!(read("events.log"), "1970-01-01T00:00:00Z two lines\n");
        // The files of one run are not those of another.
        assert!(Recorder::begin(&folder, Vec::new()).is_err());
    }
}
