//! Commands of the user: no shell, a clean environment, a process group of their own, an end.
//!
//! ```text
//!   run -> stdin, at its own pace; stdout and stderr into one pipe, of which the last part is kept
//!      exit 0         done
//!      other exits    it has failed, with its last lines
//!      too long, or a stop: SIGTERM to the group, a grace to undo what is half done, SIGKILL
//! ```
//!
//! A group is signalled only while its first process has not been waited for: until then the number
//! of the group is its own.
//!
//! Drills run commands inside a world, alarms beside the thread that follows runs: [`Running`] is
//! the command itself, which both look at every now and then.

use std::ffi::OsString;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use brunt_units::Span;
use brunt_world::World;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Where programs are looked for.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Bytes that are kept of what a command says.
const WORDS_MAX: usize = 8 << 10;
/// Lines of them that are shown, and their characters.
const LINES_SHOWN: usize = 4;
const SHOWN_MAX: usize = 600;
/// How often it is looked whether a command has ended.
const LOOK: Span = Span::millis(2);
/// What a command has to undo what is half done, in steps of ten milliseconds.
const GRACE_LOOKS: u32 = 300;

/// A command that can be run.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// All its variables.
    pub environment: Vec<(&'static str, OsString)>,
    /// What it reads from its standard input.
    pub input: Vec<u8>,
    /// How long it may take.
    pub timeout: Span,
}

/// How a command failed, as the end of a sentence that begins with its name.
#[derive(Debug, thiserror::Error)]
pub enum ExecFailure {
    #[error("cannot be run: {program}: {error}")]
    NotRun { program: String, error: io::Error },
    #[error("failed: {status}{words}")]
    Failed { status: ExitStatus, words: String },
    #[error("took longer than {timeout}{words}")]
    TooLong { timeout: Span, words: String },
}

/// The variables that every command has.
pub fn usual_environment() -> Vec<(&'static str, OsString)> {
    vec![("PATH", PATH.into()), ("LC_ALL", "C".into())]
}

/// The file that `program` is, if it may be run.
pub fn found(program: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        let status = path.metadata();
        status.is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
    };
    let places: Vec<PathBuf> = match program.contains('/') {
        true => vec![program.into()],
        false => PATH.split(':').map(|at| Path::new(at).join(program)).collect(),
    };
    places.into_iter().find(|path| is_program(path))
}

/// Runs `command` in `world` to its end, and returns the end of what it said; `heed` is asked
/// meanwhile whether to go on.
///
/// # Errors
/// What `heed` says; inside, how the command failed.
pub async fn run<E>(
    world: &World,
    command: &Command,
    mut heed: impl FnMut() -> Result<(), E>,
) -> Result<Result<String, ExecFailure>, E> {
    let mut running = match Running::begin(command) {
        Ok(running) => running,
        Err(failure) => return Ok(Err(failure)),
    };
    let begun = world.clock.now();
    loop {
        if let Some(end) = running.look(world.clock.now().since(begun)) {
            return Ok(end);
        }
        heed()?;
        world.sleep(LOOK).await;
    }
}

/// Runs `command` to its end while this thread waits, and returns the end of what it said.
///
/// # Errors
/// [`ExecFailure`] when it failed or took too long.
pub fn run_here(command: &Command) -> Result<String, ExecFailure> {
    let mut running = Running::begin(command)?;
    let begun = Instant::now();
    loop {
        let elapsed = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(end) = running.look(Span(elapsed)) {
            return end;
        }
        thread::sleep(Duration::from_nanos(LOOK.0));
    }
}

/// A command that runs. It is ended with its group when this is dropped.
struct Running {
    process: Child,
    timeout: Span,
    /// The group, which has the number of its first process; nothing once that was waited for.
    group: Option<Pid>,
    pipe: PipeReader,
    words: Vec<u8>,
    /// What it has not read yet.
    input: Vec<u8>,
    /// Its standard input, until it has read everything or closed it.
    stdin: Option<PipeWriter>,
}

impl Running {
    fn begin(command: &Command) -> Result<Self, ExecFailure> {
        Self::spawn(command).map_err(|error| {
            let program = command.argv.first().cloned().unwrap_or_default();
            ExecFailure::NotRun { program, error }
        })
    }

    fn spawn(command: &Command) -> io::Result<Self> {
        let (pipe, stdout) = io::pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let stderr = stdout.try_clone()?;
        let (program, arguments) = command.argv.split_first().ok_or(ErrorKind::NotFound)?;
        let program = found(program).ok_or(ErrorKind::NotFound)?;
        let (read, stdin) = match command.input.is_empty() {
            true => (Stdio::null(), None),
            false => {
                let (read, write) = io::pipe()?;
                rustix::io::ioctl_fionbio(&write, true)?;
                (Stdio::from(read), Some(write))
            }
        };
        // The process description is dropped here, and with it our copies of the command's ends.
        let process = Process::new(program)
            .args(arguments)
            .env_clear()
            .envs(command.environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(read)
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        Ok(Self {
            group: Some(Pid::from_child(&process)),
            process,
            timeout: command.timeout,
            pipe,
            words: Vec::new(),
            input: command.input.clone(),
            stdin,
        })
    }

    /// How it ended, once it has; one that runs after its time-out is ended here.
    fn look(&mut self, elapsed: Span) -> Option<Result<String, ExecFailure>> {
        self.write_input();
        self.read_output();
        if let Some(status) = self.ended() {
            return Some(match status.success() {
                true => Ok(String::from_utf8_lossy(&self.words).into_owned()),
                false => Err(ExecFailure::Failed { status, words: self.last_words() }),
            });
        }
        (elapsed >= self.timeout).then(|| {
            self.end();
            Err(ExecFailure::TooLong { timeout: self.timeout, words: self.last_words() })
        })
    }

    /// Gives it what it is ready to read. That it closes its standard input is its own affair.
    fn write_input(&mut self) {
        while let Some(stdin) = &mut self.stdin {
            match stdin.write(&self.input) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(length) if length < self.input.len() => drop(self.input.drain(..length)),
                Ok(_) | Err(_) => self.stdin = None,
            }
        }
    }

    /// Hears what it has said since the last time. What it left running may say more, which nobody
    /// waits for.
    fn read_output(&mut self) {
        let mut piece = [0; 4 << 10];
        for _ in 0..64 {
            match self.pipe.read(&mut piece) {
                Ok(length @ 1..) => self.words.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        let extra = self.words.len().saturating_sub(WORDS_MAX);
        self.words.drain(..extra);
    }

    /// How it ended, if it has.
    fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.process.try_wait().ok().flatten()?;
        self.group = None;
        self.read_output();
        Some(status)
    }

    /// Ends the group: what knows how to undo something gets the time for it.
    fn end(&mut self) {
        let Some(group) = self.group else {
            return;
        };
        let has_ended = || {
            let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            !matches!(waitid(WaitId::Pid(group), how), Ok(None))
        };
        let wait = || {
            for _ in 0..GRACE_LOOKS {
                if has_ended() {
                    break;
                }
                thread::sleep(Duration::from_millis(10));
            }
        };
        let _ = kill_process_group(group, Signal::TERM);
        wait();
        let _ = kill_process_group(group, Signal::KILL);
        // One that hangs in the kernel is left to it.
        wait();
        self.read_output();
        if has_ended() {
            let _ = self.process.wait();
        }
        self.group = None;
    }

    /// Its last lines, as the end of a sentence.
    fn last_words(&self) -> String {
        let words = String::from_utf8_lossy(&self.words);
        let lines: Vec<&str> = words.lines().map(str::trim).collect();
        let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
        let shown = brunt_report::one_line(&last.join("; ")).into_owned();
        let from = shown.chars().count().saturating_sub(SHOWN_MAX);
        let shown: String = shown.chars().skip(from).collect();
        match shown.is_empty() {
            true => String::new(),
            false => format!(": {shown}"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: &[u8]) -> Command {
        Command {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            environment: usual_environment(),
            input: input.to_vec(),
            timeout: Span::seconds(60),
        }
    }

    #[test]
    fn a_command_reads_what_it_is_given_however_long() {
        let input = vec![b'x'; 1 << 20];
        let said = run_here(&shell("wc -c", &input)).unwrap();
        assert_eq!(said.trim(), (1 << 20).to_string());
        let said = run_here(&shell("wc -c", b"")).unwrap();
        assert_eq!(said.trim(), "0");
    }

    #[test]
    fn one_that_closes_its_input_or_floods_its_output_has_done_its_work() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(run_here(&shell("exec <&-; echo done", &input)).unwrap(), "done\n");
        let said = run_here(&shell("yes | head -c 4000000; echo end", &input)).unwrap();
        assert!(said.len() <= WORDS_MAX && said.ends_with("end\n"), "{}", said.len());
    }

    #[test]
    fn it_has_no_other_variables_and_fails_with_its_last_words() {
        assert_eq!(run_here(&shell("echo $HOME", b"")).unwrap(), "\n");
        let failed = run_here(&shell("echo one >&2; exit 3", b"")).unwrap_err();
        assert_eq!(failed.to_string(), "failed: exit status: 3: one");
        let command = Command { argv: vec!["/no/such".to_owned()], ..shell("", b"") };
        let failed = run_here(&command).unwrap_err().to_string();
        assert!(failed.starts_with("cannot be run: /no/such"), "{failed}");
    }

    #[test]
    fn one_that_hangs_is_ended_with_its_group() {
        let mut running = Running::begin(&shell("sleep 600 & sleep 600", b"")).unwrap();
        assert!(running.look(Span::seconds(59)).is_none());
        let end = running.look(Span::seconds(60)).unwrap();
        assert!(matches!(end, Err(ExecFailure::TooLong { .. })), "{end:?}");
        assert!(running.group.is_none());
        // Nobody holds the other end any more.
        rustix::io::ioctl_fionbio(&running.pipe, false).unwrap();
        assert_eq!(running.pipe.read(&mut [0; 8]).unwrap(), 0);
    }
}
