//! How a site speaks with the drill: commands in on stdin, whole lines out on stdout.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use brunt_drill::sites::messages::{COMMAND_MAX, Command};
use brunt_drill::sites::site::Voice;

/// How long a site that nobody hears waits for the end of its stdin.
const OUTLIVED: Duration = Duration::from_secs(120);

/// Stdout, which takes whole lines.
#[derive(Clone)]
pub(super) struct Channel {
    stdout: Arc<Mutex<File>>,
    /// Whether the end of stdin has more to do than to end the process.
    is_outlived: Arc<AtomicBool>,
}

impl Channel {
    pub(super) fn new() -> io::Result<Self> {
        let copy = rustix::io::dup(io::stdout().as_fd())?;
        Ok(Self { stdout: Arc::new(Mutex::new(copy.into())), is_outlived: Arc::default() })
    }

    /// From now on the end of stdin ends the process, and nothing else.
    pub(super) fn is_outlived(&self) {
        self.is_outlived.store(true, Ordering::Relaxed);
    }
}

impl Voice for Channel {
    /// With nobody to hear there is nothing to do.
    fn say(&self, line: &str) {
        let mut file = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        if file.write_all(line.as_bytes()).is_err() {
            if self.is_outlived.load(Ordering::Relaxed) {
                thread::sleep(OUTLIVED);
            }
            process::exit(1);
        }
    }
}

/// Reads a command; `None` at the end of stdin, or after something that is none.
pub(super) fn read(input: &mut impl BufRead) -> Option<Command> {
    let mut line = String::new();
    let mut bounded = io::Read::take(input, COMMAND_MAX as u64);
    bounded.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}
