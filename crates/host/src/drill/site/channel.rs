//! How a site speaks with the drill: commands in on stdin, whole lines out on stdout.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use brunt_qualify::truth::witness::{Change, Witness};
use brunt_units::Time;

use super::super::messages::Command;
use crate::witness;

/// Bytes of a command.
const LINE_MAX: u64 = 1 << 20;
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

    /// Says `line`. With nobody to hear there is nothing to do.
    pub(super) fn send(&self, line: &str) {
        let mut file = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        if file.write_all(line.as_bytes()).is_err() {
            if self.is_outlived.load(Ordering::Relaxed) {
                thread::sleep(OUTLIVED);
            }
            process::exit(1);
        }
    }
}

impl Witness for Channel {
    fn asked(&self, _: Time, change: &Change) {
        self.send(&witness::line(witness::ASKED, change));
    }

    fn acknowledged(&self, _: Time, change: &Change) {
        self.send(&witness::line(witness::ACKNOWLEDGED, change));
    }
}

/// Commands that have arrived.
#[derive(Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<VecDeque<Command>>>);

impl Inbox {
    pub(super) fn put(&self, command: Command) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back(command);
    }

    pub(super) fn take(&self) -> Option<Command> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.pop_front()
    }
}

/// Reads a command; `None` at the end of stdin, or after something that is none.
pub(super) fn read(input: &mut impl BufRead) -> Option<Command> {
    let mut line = String::new();
    let mut bounded = io::Read::take(input, LINE_MAX);
    bounded.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}
