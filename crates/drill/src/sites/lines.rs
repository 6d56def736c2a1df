//! A commit as a line: before it is asked for, and after it was acknowledged.
//!
//! ```text
//!   ? 0 0 replace 1234 7 hard      asked for: instance, database in it, kind, record, version, commit
//!   ! 0 0 replace 1234 7 hard      acknowledged
//! ```
//!
//! Short enough that a pipe takes it whole or not at all, and what a pipe has taken survives the
//! process that wrote it.

use brunt_qualify::truth::witness::Change;
use brunt_workload::mix::{Commit, Kind};

/// The marks of a commit that is asked for, and of one that is acknowledged.
pub const ASKED: char = '?';
pub const ACKNOWLEDGED: char = '!';

const KINDS: [(&str, Kind); 3] =
    [("insert", Kind::Insert), ("replace", Kind::Replace), ("delete", Kind::Delete)];
const COMMITS: [(&str, Commit); 2] = [("hard", Commit::Hard), ("lazy", Commit::Lazy)];

/// The line of `change`, with its end; empty for one that changes nothing.
pub fn line(mark: char, change: &Change) -> String {
    let kind = KINDS.iter().find(|(_, kind)| *kind == change.kind);
    let commit = COMMITS.iter().find(|(_, commit)| *commit == change.commit);
    let (Some((kind, _)), Some((commit, _))) = (kind, commit) else {
        return String::new();
    };
    let Change { instance, database, number, version, .. } = change;
    format!("{mark} {instance} {database} {kind} {number} {version} {commit}\n")
}

/// The mark and the change of a line, without its end; `None` when it is none.
pub fn parse(line: &str) -> Option<(char, Change)> {
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
