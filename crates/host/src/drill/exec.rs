//! The user's own commands: no shell, a clean environment, a process group of their own, an end.
//!
//! ```text
//!   run -> stdin null, stdout and stderr into one pipe, of which the last part is kept
//!      exit 0         done
//!      other exits    the step has failed, with its last lines
//!      too long, or a stop: SIGTERM to the group, a grace to undo what is half done, SIGKILL
//! ```
//!
//! A group is signalled only while its first process has not been waited for: until then the number
//! of the group is its own.

use std::ffi::OsString;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use brunt_drill::sites::CourseError;
use brunt_scenario::{Exec, RealDrill};
use brunt_units::Span;
use brunt_world::World;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Where programs are looked for.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Bytes that are kept of what a command says.
const WORDS_MAX: usize = 8 << 10;
/// Lines of them that are shown, and their characters.
const LINES_SHOWN: usize = 4;
const SHOWN_MAX: usize = 600;
/// How often it is looked whether a command has ended.
const LOOK: Span = Span::millis(2);
/// What a command has to undo what is half done, in steps of ten milliseconds.
const GRACE_LOOKS: u32 = 300;

/// Why a command of the user did not do what it is for.
#[derive(Debug, thiserror::Error)]
#[error("\"{name}\" {why}")]
pub(super) struct ExecError {
    name: String,
    why: ExecFailure,
}

/// How it failed; `words` are the end of the sentence.
#[derive(Debug, thiserror::Error)]
enum ExecFailure {
    #[error("cannot be run: {program}: {error}")]
    NotRun { program: String, error: io::Error },
    #[error("failed: {status}{words}")]
    Failed { status: ExitStatus, words: String },
    #[error("took longer than {timeout}{words}")]
    TooLong { timeout: Span, words: String },
}

/// The variables of every command of `drill`.
pub(super) fn environment(drill: &RealDrill) -> Vec<(&'static str, OsString)> {
    let device = |side: usize| {
        let device: Option<_> = drill.devices[side].as_ref();
        device.map_or_else(OsString::new, |device| device.value.clone().into())
    };
    vec![
        ("PATH", PATH.into()),
        ("LC_ALL", "C".into()),
        ("BRUNT_SOURCE", drill.source.value.clone().into()),
        ("BRUNT_DESTINATION", drill.destination.value.clone().into()),
        ("BRUNT_SOURCE_DEVICE", device(0)),
        ("BRUNT_DESTINATION_DEVICE", device(1)),
    ]
}

/// The file that `program` is, if it may be run.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
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

/// Runs `exec` to its end, and returns the end of what it said; `heed` is asked meanwhile whether to
/// go on.
///
/// # Errors
/// [`CourseError`] when it failed, took too long or was stopped.
pub(crate) async fn run(
    world: &World,
    exec: &Exec,
    environment: &[(&'static str, OsString)],
    mut heed: impl FnMut() -> Result<(), CourseError>,
) -> Result<String, CourseError> {
    let failed = |why| CourseError::of(ExecError { name: exec.name.clone(), why });
    let begun = Running::begin(exec, environment);
    let mut running = begun.map_err(|error| {
        let program = exec.run.value.first().cloned().unwrap_or_default();
        failed(ExecFailure::NotRun { program, error })
    })?;
    let until = world.clock.now() + exec.timeout;
    loop {
        running.read_output();
        if let Some(status) = running.ended() {
            return match status.success() {
                true => Ok(String::from_utf8_lossy(&running.words).into_owned()),
                false => Err(failed(ExecFailure::Failed { status, words: running.last_words() })),
            };
        }
        if world.clock.now() >= until {
            running.end();
            let words = running.last_words();
            return Err(failed(ExecFailure::TooLong { timeout: exec.timeout, words }));
        }
        heed()?;
        world.sleep(LOOK).await;
    }
}

/// A command that runs. It is ended with its group when this is dropped.
struct Running {
    process: Child,
    /// The group, which has the number of its first process; nothing once that was waited for.
    group: Option<Pid>,
    pipe: PipeReader,
    words: Vec<u8>,
}

impl Running {
    fn begin(exec: &Exec, environment: &[(&'static str, OsString)]) -> io::Result<Self> {
        let (pipe, stdout) = io::pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let stderr = stdout.try_clone()?;
        let (program, arguments) = exec.run.value.split_first().ok_or(ErrorKind::NotFound)?;
        let program = found(program).ok_or(ErrorKind::NotFound)?;
        // The command is dropped here, and with it our ends of the pipe.
        let process = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        Ok(Self { group: Some(Pid::from_child(&process)), process, pipe, words: Vec::new() })
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
