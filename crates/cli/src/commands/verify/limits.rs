//! Papers come from anywhere, and are read in a process of their own within limits of memory and
//! processor time.
//!
//! ```text
//!   brunt verify a.pdf --> brunt verify --within-limits a.pdf     sets its own limits, judges, and says so
//!                <-------- exit code, or the signal that ended it
//! ```
//!
//! The reader of PDFs may need many times the bytes of a file: for plain arrays, for streams that
//! lie over each other. No look at the file beforehand tells; the system does, and ends whatever
//! goes beyond.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use brunt_units::{ByteSize, Span};
use brunt_world_real::tell_shortage_by;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use super::VerifyArgs;
use crate::exit::Exit;

/// Memory of the process that reads a paper. Our choice: four times what its streams may unpack to.
const MEMORY_MAX: ByteSize = ByteSize::gib(1);
/// Its processor time. Our choice: a paper of hundreds of pages takes a second.
const SECONDS_MAX: u64 = 120;

/// The exit code of a process that ran out of memory.
const OUT_OF_MEMORY: i32 = 3;

/// Why a process ended that had read a paper.
#[derive(Debug, thiserror::Error)]
pub(super) enum LimitError {
    #[error("a process for it cannot be started: {0}")]
    Start(#[from] io::Error),
    #[error("needs more than {0} of memory, which no paper does")]
    Memory(ByteSize),
    #[error("needs more than {0} of processor time, which no paper does")]
    Processor(Span),
    #[error("cannot be read: its reader ended with {0}")]
    Ended(ExitStatus),
}

/// Judges the paper at `path` in another process, which says what came of it.
pub(super) fn judge(path: &Path, args: &VerifyArgs) -> Result<Exit, LimitError> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["verify", "--within-limits"]);
    command.args(args.json.then_some("--json"));
    command.args(args.quiet.then_some("--quiet"));
    for (flag, value) in [("--extract", &args.extract), ("--paper", &args.paper)] {
        if let Some(value) = value {
            command.arg(flag).arg(value);
        }
    }
    let status = command.arg("--").arg(path).status()?;
    match (status.code(), status.signal().and_then(Signal::from_named_raw)) {
        (Some(0), _) => Ok(Exit::Passed),
        (Some(1), _) => Ok(Exit::Failed),
        (Some(2), _) => Ok(Exit::NoAnswer),
        (Some(OUT_OF_MEMORY), _) => {
            Err(LimitError::Memory(ByteSize::bytes(within(Resource::Data, MEMORY_MAX.get()))))
        }
        (_, Some(Signal::XCPU)) => {
            Err(LimitError::Processor(Span::seconds(within(Resource::Cpu, SECONDS_MAX))))
        }
        _ => Err(LimitError::Ended(status)),
    }
}

/// `most`, or the limit of this process where that is lower.
fn within(resource: Resource, most: u64) -> u64 {
    getrlimit(resource).current.map_or(most, |own| own.min(most))
}

/// Sets the limits of this process.
pub(super) fn set() -> io::Result<()> {
    tell_shortage_by(OUT_OF_MEMORY);
    for (resource, most) in
        [(Resource::Data, MEMORY_MAX.get()), (Resource::Cpu, SECONDS_MAX), (Resource::Core, 0)]
    {
        let current = Some(within(resource, most));
        let Rlimit { maximum, .. } = getrlimit(resource);
        setrlimit(resource, Rlimit { current, maximum })?;
    }
    Ok(())
}
