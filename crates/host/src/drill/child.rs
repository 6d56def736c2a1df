//! The processes of sites: started in groups of their own, known by file descriptors of their own, and killed by these.
//!
//! A process number may belong to somebody else by the time a signal is sent; a pidfd never does.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{env, io};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Bytes that are kept of what a process says on stderr.
const WORDS_MAX: usize = 4 << 10;

/// What has been heard of a process.
#[derive(Default)]
struct Heard {
    lines: VecDeque<String>,
    words: Vec<u8>,
    /// Whether its stdout has ended.
    has_ended: bool,
}

/// A process of ours. It is killed when this is dropped.
pub(super) struct Child {
    name: &'static str,
    process: Process,
    /// The process itself, whatever becomes of its number.
    handle: OwnedFd,
    stdin: Option<ChildStdin>,
    heard: Arc<Mutex<Heard>>,
    hearing: Vec<JoinHandle<()>>,
}

impl Child {
    /// Starts `program` as a site.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn start(name: &'static str, program: &Path) -> io::Result<Self> {
        let mut process = Command::new(program)
            .args(["site", "--stdio"])
            .env_remove("BRUNT_WITNESS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the drill, which ends its sites.
            .process_group(0)
            .spawn()?;
        let number = Pid::from_child(&process);
        let handle = pidfd_open(number, PidfdFlags::empty()).inspect_err(|_| {
            // It was started a moment ago, and nobody has waited for it: the number is its own.
            let _ = process.kill();
        })?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        let (lines, words) = (Arc::clone(&heard), Arc::clone(&heard));
        let hearing = [
            thread::Builder::new()
                .name(format!("{name} says"))
                .spawn(move || hear_lines(stdout, &lines))?,
            thread::Builder::new()
                .name(format!("{name} complains"))
                .spawn(move || hear_words(stderr, &words))?,
        ];
        Ok(Self {
            name,
            stdin: process.stdin.take(),
            process,
            handle,
            heard,
            hearing: hearing.into(),
        })
    }

    /// What it is called.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Tells it `line`. A process that is gone hears nothing, which its end will show.
    pub(super) fn tell(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(line.as_bytes());
        }
    }

    /// The next line that it said.
    pub(super) fn next_line(&self) -> Option<String> {
        self.heard().lines.pop_front()
    }

    /// Whether it has ended and everything it said was taken.
    pub(super) fn has_ended(&self) -> bool {
        let heard = self.heard();
        heard.has_ended && heard.lines.is_empty()
    }

    /// What it said on stderr, in one line; how it ended if it said nothing. Waits for its end.
    pub(super) fn last_words(&mut self) -> String {
        let how = self.process.wait().ok();
        for one in self.hearing.drain(..) {
            let _ = one.join();
        }
        let heard = self.heard();
        let words = String::from_utf8_lossy(&heard.words);
        let lines: Vec<&str> = words
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        match (lines.is_empty(), how) {
            (false, _) => lines.join("; "),
            (true, Some(status)) => format!("it ended without a word: {status}"),
            (true, None) => "it ended without a word".to_owned(),
        }
    }

    /// Kills it, and waits for its end.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.process.wait();
    }

    /// Stops it where it is.
    pub(super) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub(super) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        // It may have ended by itself.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        for one in self.hearing.drain(..) {
            let _ = one.join();
        }
    }
}

/// Keeps whole lines. One that does not end was never said.
fn hear_lines(from: Option<impl Read>, heard: &Mutex<Heard>) {
    let mut from = from.map(BufReader::new);
    let mut line = String::new();
    while let Some(from) = &mut from
        && matches!(from.read_line(&mut line), Ok(1..))
    {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(whole) = line.strip_suffix('\n') {
            heard.lines.push_back(whole.to_owned());
        }
        line.clear();
    }
    heard
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .has_ended = true;
}

/// Keeps the first words: what follows a first error is mostly its echo.
fn hear_words(from: Option<impl Read>, heard: &Mutex<Heard>) {
    let mut piece = [0; 1024];
    let mut from = from;
    while let Some(from) = &mut from
        && let Ok(length @ 1..) = from.read(&mut piece)
    {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let room = WORDS_MAX.saturating_sub(heard.words.len());
        heard.words.extend_from_slice(&piece[..length.min(room)]);
    }
}

/// The program that is running: a site is another process of it.
///
/// # Errors
/// When the system does not say.
pub(super) fn own_program() -> io::Result<std::path::PathBuf> {
    env::current_exe()
}
