//! The coordinator's process: a child for each connection, and the folders that come back.
//!
//! ```text
//!   child's stdout --.                            .--> child's stdin, by a thread of its own
//!   child's end -----+--> events --> Coordinator -+--> OUT/NAME/file, at its offset
//!   time, Ctrl-C ----'                            '--> rows, for the screen
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use brunt_fleet::{Coordinator, Deed, Plan, Report, Row};

use crate::error::{AgentError, file};
use crate::monotonic;
use crate::pipes::Writer;

/// How often time is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes that are read at once.
const READ: usize = 64 << 10;
/// Bytes of a launcher's complaints that are kept.
const WORDS_MAX: usize = 2_000;
/// How long they are waited for.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long a connection may take to end by itself after the last word.
const FAREWELL: Duration = Duration::from_secs(2);

/// How a host is reached: a command whose stdin and stdout are those of a door there.
#[derive(Clone, Debug)]
pub struct HostWay {
    pub command: Vec<OsString>,
}

/// What a conductor tells and asks.
pub trait Conducting {
    /// How often the user has asked to stop.
    fn stops(&self) -> u32;
    /// Where hosts stand; a few times a second.
    fn rows(&mut self, rows: &[Row<'_>]);
    /// A word of advice.
    fn advise(&mut self, text: &str);
}

enum Event {
    Bytes { host: usize, number: u64, bytes: Vec<u8> },
    Ended { host: usize, number: u64, why: String },
}

/// A connection: a child, the thread that writes to it, and the one that reads its complaints.
struct Way {
    number: u64,
    child: Child,
    writer: Option<Writer>,
    words: JoinHandle<Vec<u8>>,
}

/// Conducts `plan` over `ways`, one for each of its hosts; the files of each host's folder come into
/// a folder of its name below `out`.
///
/// # Errors
/// [`AgentError`] when a file cannot be written. Hosts go on then, and can be attached again.
pub fn conduct(
    plan: Plan,
    ways: &[HostWay],
    out: &Path,
    user: &mut dyn Conducting,
) -> Result<Report, AgentError> {
    let names: Vec<String> = plan.hosts.iter().map(|host| host.name.clone()).collect();
    let (events, coming) = channel();
    let mut conductor = Conductor {
        coordinator: Coordinator::new(plan, monotonic()),
        ways: ways.to_vec(),
        folders: names.iter().map(|name| out.join(name)).collect(),
        open: BTreeMap::new(),
        leaving: Vec::new(),
        count: 0,
        events,
    };
    let report = conductor.run(&coming, user);
    for way in std::mem::take(&mut conductor.open).into_values() {
        conductor.take_leave(way);
    }
    while !conductor.leaving.is_empty() {
        conductor.see_off();
        thread::sleep(Duration::from_millis(1));
    }
    report
}

struct Conductor {
    coordinator: Coordinator,
    ways: Vec<HostWay>,
    folders: Vec<PathBuf>,
    open: BTreeMap<usize, Way>,
    /// Connections on which nothing more is said, and until when they may end by themselves.
    leaving: Vec<(Instant, Way)>,
    count: u64,
    events: Sender<Event>,
}

impl Conductor {
    fn run(
        &mut self,
        coming: &Receiver<Event>,
        user: &mut dyn Conducting,
    ) -> Result<Report, AgentError> {
        let mut stops = 0;
        loop {
            match coming.recv_timeout(LOOK) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            while stops < user.stops() {
                stops += 1;
                self.coordinator.stop();
            }
            self.see_off();
            self.coordinator.tick(monotonic());
            for deed in self.coordinator.deeds() {
                self.carry_out(deed, user)?;
            }
            user.rows(&self.coordinator.rows(monotonic()));
            if let Some(report) = self.coordinator.report() {
                return Ok(report);
            }
        }
    }

    fn take(&mut self, event: Event) {
        let now = monotonic();
        match event {
            Event::Bytes { host, number, bytes } if self.is_newest(host, number) => {
                self.coordinator.heard(host, &bytes, now);
            }
            Event::Ended { host, number, why } if self.is_newest(host, number) => {
                let mut why = why;
                if let Some(way) = self.open.remove(&host) {
                    let words = close(way);
                    if !words.is_empty() {
                        why = words;
                    }
                }
                self.coordinator.lost(host, why, now);
            }
            // Of a connection that was closed.
            Event::Bytes { .. } | Event::Ended { .. } => {}
        }
    }

    fn is_newest(&self, host: usize, number: u64) -> bool {
        self.open.get(&host).is_some_and(|way| way.number == number)
    }

    fn carry_out(&mut self, deed: Deed, user: &mut dyn Conducting) -> Result<(), AgentError> {
        match deed {
            Deed::Connect(host) => match self.connect(host) {
                Ok(()) => self.coordinator.connected(host, monotonic()),
                Err(error) => {
                    let program = self.ways[host].command.first().cloned().unwrap_or_default();
                    let why = format!("{}: {error}", program.to_string_lossy());
                    self.coordinator.lost(host, why, monotonic());
                }
            },
            Deed::Close(host) => {
                if let Some(way) = self.open.remove(&host) {
                    self.take_leave(way);
                }
            }
            Deed::Send(host, bytes) => {
                if let Some(writer) = self.open.get(&host).and_then(|way| way.writer.as_ref()) {
                    writer.send(bytes);
                }
            }
            Deed::Keep { host, name, offset, bytes } => {
                let path = self.folders[host].join(name);
                keep(&path, offset, &bytes).map_err(file(&path))?;
            }
            Deed::Advise(text) => user.advise(&text),
        }
        // What was said after a connection is sent on it.
        for deed in self.coordinator.deeds() {
            self.carry_out(deed, user)?;
        }
        Ok(())
    }

    /// Nothing more is said on `way`: the other side has time to hear the last word.
    fn take_leave(&mut self, mut way: Way) {
        way.writer = None;
        self.leaving.push((Instant::now() + FAREWELL, way));
    }

    /// Closes connections that have ended, or do not.
    fn see_off(&mut self) {
        for (until, mut way) in std::mem::take(&mut self.leaving) {
            match Instant::now() < until && matches!(way.child.try_wait(), Ok(None)) {
                true => self.leaving.push((until, way)),
                false => drop(close(way)),
            }
        }
    }

    fn connect(&mut self, host: usize) -> io::Result<()> {
        let command = &self.ways[host].command;
        let program = command.first().cloned().unwrap_or_default();
        let mut child = Command::new(program)
            .args(command.iter().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the coordinator, which tells its hosts.
            .process_group(0)
            .spawn()?;
        self.count += 1;
        let (number, events) = (self.count, self.events.clone());
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(mut stdout), Some(stderr)) = (stdin, stdout, child.stderr.take())
        else {
            return Err(io::Error::other("its streams are not ours"));
        };
        let thread = thread::Builder::new().name(format!("hears the words of {}", host + 1));
        let words = thread.spawn(move || last_words(stderr))?;
        let thread = thread::Builder::new().name(format!("hears host {}", host + 1));
        thread.spawn(move || {
            let mut bytes = vec![0; READ];
            let why = loop {
                match stdout.read(&mut bytes) {
                    Ok(0) => break "the connection ended".to_owned(),
                    Ok(count) => {
                        let bytes = bytes[..count].to_vec();
                        let _ = events.send(Event::Bytes { host, number, bytes });
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break error.to_string(),
                }
            };
            let _ = events.send(Event::Ended { host, number, why });
        })?;
        let way = Way { number, child, writer: Some(Writer::new(stdin)?), words };
        if let Some(before) = self.open.insert(host, way) {
            close(before);
        }
        Ok(())
    }
}

/// Ends a connection; what its launcher complained of, in one line.
fn close(way: Way) -> String {
    let Way { mut child, writer, words, .. } = way;
    drop(writer);
    let _ = child.kill();
    let _ = child.wait();
    // What the launcher started may have its stderr still.
    let patience = Instant::now() + PATIENCE;
    while !words.is_finished() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(1));
    }
    let words = match words.is_finished() {
        true => words.join().unwrap_or_default(),
        false => Vec::new(),
    };
    let words = String::from_utf8_lossy(&words);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    brunt_report::one_line(&lines.join("; ")).into_owned()
}

/// The last words on `stderr`, which is read to its end: a launcher may be chatty.
fn last_words(mut stderr: impl Read) -> Vec<u8> {
    let (mut words, mut bytes) = (Vec::new(), vec![0; READ]);
    while let Ok(count @ 1..) = stderr.read(&mut bytes) {
        words.extend_from_slice(&bytes[..count]);
        words.drain(..words.len().saturating_sub(WORDS_MAX));
    }
    words
}

/// Writes bytes of a file; the first ones begin it.
fn keep(path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(offset == 0)
        .custom_flags(no_link)
        .open(path)?;
    file.write_all_at(bytes, offset)
}
