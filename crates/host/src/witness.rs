//! The journal of commits for another process: `BRUNT_WITNESS` names a pipe (or a file), which gets
//! a line for each.
//!
//! ```text
//!   ? 0 0 replace 1234 7 hard      asked for: instance, database in it, kind, record, version, commit
//!   ! 0 0 replace 1234 7 hard      acknowledged
//! ```
//!
//! Each line is one write, short enough that a pipe takes it whole or not at all, and what a pipe
//! has taken survives the process that wrote it. For tests that kill the program
//! (`crates/cli/tests/real/crash`); it slows a run down.

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
        // Nobody may be there to hear any more; the run is not about that.
        let _ = (&self.0).write_all(line(mark, change).as_bytes());
    }
}

/// The marks of a commit that is asked for, and of one that is acknowledged.
pub(crate) const ASKED: char = '?';
pub(crate) const ACKNOWLEDGED: char = '!';

const KINDS: [(&str, Kind); 3] =
    [("insert", Kind::Insert), ("replace", Kind::Replace), ("delete", Kind::Delete)];
const COMMITS: [(&str, Commit); 2] = [("hard", Commit::Hard), ("lazy", Commit::Lazy)];

/// The line of `change`, with its end; empty for one that changes nothing.
pub(crate) fn line(mark: char, change: &Change) -> String {
    let kind = KINDS.iter().find(|(_, kind)| *kind == change.kind);
    let commit = COMMITS.iter().find(|(_, commit)| *commit == change.commit);
    let (Some((kind, _)), Some((commit, _))) = (kind, commit) else {
        return String::new();
    };
    let Change { instance, database, number, version, .. } = change;
    format!("{mark} {instance} {database} {kind} {number} {version} {commit}\n")
}

/// The mark and the change of a line, without its end; `None` when it is none.
pub(crate) fn parse(line: &str) -> Option<(char, Change)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [mark, instance, database, kind, number, version, commit] = words.as_slice() else {
        return None;
    };
    let mark = mark.parse().ok().filter(|mark| [ASKED, ACKNOWLEDGED].contains(mark))?;
    let kind = KINDS.iter().find(|(word, _)| word == kind)?.1;
    let commit = COMMITS.iter().find(|(word, _)| word == commit)?.1;
    let change = Change {
        instance: instance.parse().ok()?,
        database: database.parse().ok()?,
        kind,
        number: number.parse().ok()?,
        version: version.parse().ok()?,
        commit,
        end: None,
    };
    Some((mark, change))
}

impl Witness for Pipe {
    fn asked(&self, _: Time, change: &Change) {
        self.write(ASKED, change);
    }

    fn acknowledged(&self, _: Time, change: &Change) {
        self.write(ACKNOWLEDGED, change);
    }
}
