//! I/O of one phase, by file, counted as it completes.
//!
//! The engine counts what sessions cause. A backup's writes, a restore, a replay and a checksum
//! have no counters there, so they are counted where every I/O passes: in front of the disk. Log
//! files are counted together, folder by folder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_report::result::{PhaseName, PhaseOp};
use brunt_stats::Meter;
use brunt_units::{Span, Time};
use brunt_world::{Op, Watcher};

use crate::unfinished_name::unmade;

/// The I/O of one phase.
#[derive(Clone, Debug)]
pub struct PhaseMeters {
    pub phase: PhaseName,
    /// When it began.
    pub began: Time,
    /// When it ended.
    pub ended: Time,
    /// Each file, and the logs of each folder.
    pub streams: BTreeMap<(PathBuf, PhaseOp), Meter>,
}

impl PhaseMeters {
    pub(crate) fn begin(phase: PhaseName, now: Time) -> Self {
        Self { phase, began: now, ended: now, streams: BTreeMap::new() }
    }

    /// The phase ends.
    pub(crate) fn end(mut self, now: Time) -> Self {
        self.ended = now;
        for meter in self.streams.values_mut() {
            meter.close_interval();
        }
        self
    }

    /// How long it took.
    pub(crate) fn length(&self) -> Span {
        self.ended - self.began
    }

    /// Adds the same phase of another shard.
    fn absorb(&mut self, other: Self) {
        self.began = self.began.min(other.began);
        self.ended = self.ended.max(other.ended);
        for (stream, meter) in other.streams {
            self.streams.entry(stream).or_default().absorb(&meter);
        }
    }
}

/// The running phase; nothing once it has ended.
pub(crate) type Running = Rc<RefCell<Option<PhaseMeters>>>;

/// An I/O in flight that counts for a phase, if that has not ended when it completes.
pub(crate) struct Counted {
    pub(crate) phase: Running,
    pub(crate) stream: (PathBuf, PhaseOp),
    pub(crate) submitted_at: Time,
    pub(crate) bytes: u64,
    /// Who else wants to hear of it.
    pub(crate) next: Option<Rc<dyn Watcher>>,
}

impl Watcher for Counted {
    fn completed(&self, done_at: Time) {
        if let Some(next) = &self.next {
            next.completed(done_at);
        }
        if let Some(phase) = &mut *self.phase.borrow_mut() {
            let meter = phase.streams.entry(self.stream.clone()).or_default();
            meter.record(done_at - self.submitted_at, self.bytes);
        }
    }
}

/// Adds the phases of another shard.
pub(crate) fn absorb(all: &mut Vec<PhaseMeters>, others: Vec<PhaseMeters>) {
    for other in others {
        match all.iter_mut().find(|own| own.phase == other.phase) {
            Some(own) => own.absorb(other),
            None => all.push(other),
        }
    }
}

/// The stream that an I/O counts for; `None` for what moves nothing.
pub(crate) fn stream(path: &Path, op: Op) -> Option<(PathBuf, PhaseOp)> {
    let op = match op {
        Op::Read => PhaseOp::Read,
        Op::Write | Op::WriteThrough => PhaseOp::Write,
        Op::Sync => PhaseOp::Sync,
        Op::Trim => return None,
    };
    Some((subject(path), op))
}

/// `path`, without the mark of an unfinished backup; log files are one: `/log/edb*.log`.
fn subject(path: &Path) -> PathBuf {
    let whole = unmade(path).unwrap_or_else(|| path.to_owned());
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    let of_logs = name.split_once("edb").and_then(|(before, rest)| {
        let (_, after) = rest.split_once(".log")?;
        Some(format!("{before}edb*.log{after}"))
    });
    match of_logs {
        Some(all) => whole.with_file_name(all),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_files_of_a_folder_are_one_stream() {
        let one = |path: &str| subject(Path::new(path)).display().to_string();
        assert_eq!(one("/log/edb0000001F.log"), "/log/edb*.log");
        assert_eq!(one("/log/edbtmp.log"), "/log/edb*.log");
        assert_eq!(one("/b/brunt-backup-2-edb00007.log-making"), "/b/brunt-backup-2-edb*.log");
        assert_eq!(one("/b/brunt-backup-1-DB1.edb-making"), "/b/brunt-backup-1-DB1.edb");
        assert_eq!(one("/log/edb.chk"), "/log/edb.chk");
        assert_eq!(one("/db/mail.edb"), "/db/mail.edb");
        assert_eq!(stream(Path::new("a"), Op::Trim), None);
    }
}
