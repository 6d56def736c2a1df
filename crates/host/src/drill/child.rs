//! The processes of sites, here or behind ssh: started in groups of their own, known by file
//! descriptors of their own, and killed by these.
//!
//! A process number may belong to somebody else by the time a signal is sent; a pidfd never does.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child as Process, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{env, io};

use brunt_drill::sites::Site;
use brunt_drill::sites::messages::ANSWER_MAX;
use brunt_scenario::RemoteHost;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::tunnel;
use crate::distance;
use crate::shell::quoted;

/// Bytes that are kept of what a process says on stderr.
const WORDS_MAX: usize = 4 << 10;
/// Bytes of such a line that are shown.
const SHOWN_MAX: usize = 80;
/// Bytes that are read at once, much more than a pipe holds: a process that never stops talking
/// must not keep the drill from its own work.
const HEARD_AT_ONCE: usize = 1 << 20;
/// A process that leaves its network has done so within this time, or hangs.
const LEAVES_WITHIN: Duration = Duration::from_secs(30);
/// How often it is looked whether a killed process is gone: for twenty seconds.
const DIES_LOOK: Duration = Duration::from_millis(2);
const DIES_LOOKS: u32 = 10_000;

/// The stdout of a process, read without waiting: when it has nothing more, all that was said until
/// then has been heard.
struct Speech<P = ChildStdout> {
    pipe: P,
    /// Bytes that make no whole line yet.
    begun: Vec<u8>,
    has_ended: bool,
}

/// Where a site runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum SitePlace<'p> {
    /// On this host, as a process of this program; with an address in a network of its own.
    Here(&'p Path, Option<Ipv4Addr>),
    /// On another one. What is killed is ssh, and the site there ends with its stdin.
    There(&'p RemoteHost),
}

impl SitePlace<'_> {
    fn command(&self) -> Command {
        match self {
            Self::Here(program, address) => {
                let mut command = Command::new(program);
                command.args(["site", "--stdio"]);
                command.args(address.map(|address| format!("--address={address}")));
                command
            }
            Self::There(remote) => {
                let mut command = tunnel::ssh();
                command.args(["-T", "--", &remote.host, &remote_command(remote)]);
                command
            }
        }
    }
}

/// What the shell on `remote` is given.
pub(super) fn remote_command(remote: &RemoteHost) -> String {
    format!("{} site --stdio", quoted(&remote.program))
}

/// A process of ours. It is killed when this is dropped.
pub(super) struct Child {
    name: &'static str,
    process: RefCell<Process>,
    /// The process itself, whatever becomes of its number.
    handle: OwnedFd,
    /// Its stdin is a socket: the file of a network device comes back over it.
    stdin: UnixStream,
    speech: RefCell<Speech>,
    /// The first words on stderr.
    words: Arc<Mutex<Vec<u8>>>,
    hearing: RefCell<Option<JoinHandle<()>>>,
}

impl Child {
    /// Starts a site.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn start(name: &'static str, place: &SitePlace<'_>) -> io::Result<Self> {
        let (stdin, theirs) = UnixStream::pair()?;
        let mut process = place
            .command()
            .env_remove("BRUNT_WITNESS")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
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
        let pipe = process.stdout.take().expect("it is piped");
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let words = Arc::new(Mutex::new(Vec::new()));
        let (stderr, kept) = (process.stderr.take(), Arc::clone(&words));
        let hearing = thread::Builder::new().name(format!("{name} complains"));
        Ok(Self {
            name,
            stdin,
            process: RefCell::new(process),
            handle,
            speech: RefCell::new(Speech { pipe, begun: Vec::new(), has_ended: false }),
            words,
            hearing: RefCell::new(Some(hearing.spawn(move || keep_words(stderr, &kept))?)),
        })
    }

    /// The network device of a site that was started with an address.
    ///
    /// # Errors
    /// Why it has none, in the words of the process.
    pub(super) fn device(&self) -> io::Result<OwnedFd> {
        self.stdin.set_read_timeout(Some(LEAVES_WITHIN))?;
        distance::receive(&self.stdin).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => io::Error::other(self.last_words()),
            _ => error,
        })
    }

    fn signal(&self, signal: Signal) {
        // It may have ended by itself.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    fn is_gone(&self) -> bool {
        !matches!(self.process.borrow_mut().try_wait(), Ok(None))
    }

    fn stop_hearing(&self) {
        if let Some(hearing) = self.hearing.take() {
            let _ = hearing.join();
        }
    }
}

impl Site for Child {
    fn name(&self) -> &'static str {
        self.name
    }

    fn send(&self, line: &str) {
        let _ = (&self.stdin).write_all(line.as_bytes());
    }

    fn new_lines(&self) -> Vec<String> {
        self.speech.borrow_mut().new_lines()
    }

    fn has_ended(&self) -> bool {
        self.speech.borrow().has_ended
    }

    /// What it said on stderr, in one line; how it ended if it said nothing. Waits for its end.
    fn last_words(&self) -> String {
        let how = self.process.borrow_mut().wait().ok();
        self.stop_hearing();
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&words);
        let lines: Vec<&str> =
            words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match (lines.is_empty(), how) {
            (false, _) => lines.join("; "),
            (true, Some(status)) => format!("it ended without a word: {status}"),
            (true, None) => "it ended without a word".to_owned(),
        }
    }

    fn dismiss(&self) {
        let _ = self.stdin.shutdown(Shutdown::Write);
    }

    fn kill(&self) {
        self.signal(Signal::KILL);
        // One that hangs in the kernel, on a frozen file system for instance, is left to it:
        // clean-up comes after this.
        for _ in 0..DIES_LOOKS {
            if self.is_gone() {
                return;
            }
            thread::sleep(DIES_LOOK);
        }
    }

    fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    fn thaw(&self) {
        self.signal(Signal::CONT);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        // Its stderr ends with it.
        if self.is_gone() {
            self.stop_hearing();
        }
    }
}

impl<P: Read> Speech<P> {
    /// Whole lines. One that does not end was never said; of one that is longer than any, its
    /// beginning is the last line.
    fn new_lines(&mut self) -> Vec<String> {
        let mut piece = [0; 8 << 10];
        let mut heard = 0;
        while heard < HEARD_AT_ONCE {
            match self.pipe.read(&mut piece) {
                Ok(0) => self.has_ended = true,
                Ok(length) => {
                    self.begun.extend_from_slice(&piece[..length]);
                    heard += length;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => self.has_ended |= error.kind() != ErrorKind::WouldBlock,
            }
            break;
        }
        let whole = self.begun.iter().rposition(|byte| *byte == b'\n');
        let rest = self.begun.split_off(whole.map_or(0, |last| last + 1));
        let lines = std::mem::replace(&mut self.begun, rest);
        let lines = String::from_utf8_lossy(&lines);
        let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        if self.begun.len() > ANSWER_MAX {
            let begin = String::from_utf8_lossy(&self.begun[..SHOWN_MAX]).into_owned();
            self.begun = Vec::new();
            lines.push(format!("{begin}..."));
        }
        lines
    }
}

/// Keeps the first words: what follows a first error is mostly its echo.
fn keep_words(from: Option<impl Read>, words: &Mutex<Vec<u8>>) {
    let mut piece = [0; 1024];
    let mut from = from;
    while let Some(from) = &mut from
        && let Ok(length @ 1..) = from.read(&mut piece)
    {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        let room = WORDS_MAX.saturating_sub(words.len());
        words.extend_from_slice(&piece[..length.min(room)]);
    }
}

/// The program that is running: a site is another process of it.
///
/// # Errors
/// When the system does not say.
pub(super) fn own_program() -> io::Result<std::path::PathBuf> {
    env::current_exe()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut speech = Speech { pipe: io::repeat(b'x'), begun: Vec::new(), has_ended: false };
        let mut said = Vec::new();
        for _ in 0..20 {
            said.extend(speech.new_lines());
            assert!(speech.begun.len() <= ANSWER_MAX + HEARD_AT_ONCE);
        }
        assert!(said.len() > 2 && said[0].len() < 100, "{said:?}");
        assert!(!speech.has_ended);
    }

    #[test]
    fn lines_are_heard_whole() {
        let said = [b"a\nb".as_slice(), b"c\nd"].concat();
        let mut speech = Speech { pipe: said.as_slice(), begun: Vec::new(), has_ended: false };
        assert_eq!(speech.new_lines(), ["a", "bc"]);
        assert!(speech.has_ended);
    }
}
