//! The journal of commits for another process: `BRUNT_WITNESS` names a pipe (or a file), which gets a line for each.
//!
//! ```text
//!   ? 0 0 replace 1234 7 hard      asked for: instance, database in it, kind, record, version, commit
//!   ! 0 0 replace 1234 7 hard      acknowledged
//! ```
//!
//! Each line is one write, short enough that a pipe takes it whole or not at all, and what a pipe has taken survives the process
//! that wrote it. For tests that kill the program (`crates/cli/tests/real_crash`); it slows a run down.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::Arc;

use brunt_qualify::truth::witness::{Change, Hearing, Witness};
use brunt_units::Time;
use brunt_workload::mix::{Commit, Kind};

/// The variable that names the pipe.
const VARIABLE: &str = "BRUNT_WITNESS";

struct Pipe(File);

/// The witness that the environment asks for, if it does.
///
/// # Errors
/// When it cannot be opened.
pub fn hearing() -> io::Result<Hearing> {
    let Some(path) = env::var_os(VARIABLE) else {
        return Ok(Hearing::default());
    };
    let pipe = OpenOptions::new().append(true).open(path)?;
    Ok(Hearing::of(Arc::new(Pipe(pipe))))
}

impl Pipe {
    fn write(&self, mark: char, change: &Change) {
        let kind = match change.kind {
            Kind::Insert => "insert",
            Kind::Replace => "replace",
            Kind::Delete => "delete",
            Kind::Read => return,
        };
        let commit = match change.commit {
            Commit::Hard => "hard",
            Commit::Lazy => "lazy",
        };
        let Change {
            instance,
            database,
            number,
            version,
            ..
        } = change;
        let line = format!("{mark} {instance} {database} {kind} {number} {version} {commit}\n");
        // Nobody may be there to hear any more; the run is not about that.
        let _ = (&self.0).write_all(line.as_bytes());
    }
}

impl Witness for Pipe {
    fn asked(&self, _: Time, change: &Change) {
        self.write('?', change);
    }

    fn acknowledged(&self, _: Time, change: &Change) {
        self.write('!', change);
    }
}
