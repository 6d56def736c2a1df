//! A record of the I/O backend in use and of what the system refused.
//!
//! Every refusal has a slower fallback with the same results, so a run continues; but its report
//! must state what was measured. [`Backend`] is that record. It grows while the run opens files and
//! allocates memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;

use brunt_units::ByteSize;

pub use crate::ring::uring::TaskRun;

/// How I/O reaches the kernel, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// io_uring with registered memory and files.
    #[default]
    Registered,
    /// io_uring without registration: registering memory locks it, which an ordinary user's limit
    /// may not allow.
    Unregistered,
    /// Blocking threads: where io_uring is missing or refused, for example by seccomp.
    Threads,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Registered => "io_uring, registered",
            Self::Unregistered => "io_uring, unregistered",
            Self::Threads => "thread pool",
        })
    }
}

/// Which [`Kind`] to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best that the system allows.
    #[default]
    Best,
    /// This one, without fallback.
    Only(Kind),
}

/// Text that names no backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no I/O backend (write \"auto\", \"registered\", \"unregistered\" or \"threads\")"
)]
pub struct ChoiceError(pub String);

impl FromStr for Choice {
    type Err = ChoiceError;

    /// Parses `auto`, `registered`, `unregistered`, `threads`.
    ///
    /// # Errors
    /// [`ChoiceError`] for anything else.
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        match text {
            "auto" => Ok(Self::Best),
            "registered" => Ok(Self::Only(Kind::Registered)),
            "unregistered" => Ok(Self::Only(Kind::Unregistered)),
            "threads" => Ok(Self::Only(Kind::Threads)),
            _ => Err(ChoiceError(text.into())),
        }
    }
}

/// How a file is accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Bypassing the page cache (`O_DIRECT`).
    Direct {
        /// Required alignment of offsets and lengths, where the kernel reports it. More than 512 on
        /// devices with larger sectors: unaligned requests fail with
        /// [`brunt_world::IoError::Invalid`].
        alignment: Option<u32>,
    },
    /// Through the page cache; the text gives the reason.
    Buffered(String),
}

/// The backend in use, and what it obtained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backend {
    /// How I/O reaches the kernel.
    pub kind: Kind,
    /// Why better backends were refused, one sentence each; empty if none was.
    pub refused: Vec<String>,
    /// When io_uring processes completions; `None` for threads.
    pub task_run: Option<TaskRun>,
    /// How much of the process's memory is in huge pages, where the kernel reports it: mostly
    /// frames, since they request it. It matters: 32 KiB in a huge page is one segment for the
    /// device; in 4 KiB pages it is up to eight. A virtio disk at queue depth 8 did 80,000 to
    /// 95,000 I/Os per second with huge pages and 57,000 to 61,000 without.
    pub huge_page_bytes: Option<ByteSize>,
    /// Slabs of I/O memory allocated.
    pub slabs: usize,
    /// Slabs registered with the ring: all of them, unless the locked memory limit was reached.
    pub slabs_registered: usize,
    /// Files opened for direct I/O.
    pub direct_files: u64,
    /// The largest alignment that any of them requires; 512 if none is reported.
    pub direct_alignment: u32,
    /// Directories with files opened through the page cache: the number of files, and the reason
    /// for the last one.
    pub buffered_files: BTreeMap<PathBuf, (u64, String)>,
    /// Allocations for which the file system could not reserve blocks: these files are sparse.
    pub allocations_unreserved: u64,
    /// Trims that the file system does not support.
    pub trims_ignored: u64,
}

impl Backend {
    /// What two worlds of one process have together: the lesser of the ways to the kernel, and the
    /// sums.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if rank(other.kind) > rank(self.kind) {
            (self.kind, self.task_run) = (other.kind, other.task_run);
        }
        for reason in other.refused {
            if !self.refused.contains(&reason) {
                self.refused.push(reason);
            }
        }
        for (folder, (files, why)) in other.buffered_files {
            let entry = self.buffered_files.entry(folder).or_default();
            *entry = (entry.0 + files, why);
        }
        Self {
            huge_page_bytes: self.huge_page_bytes.max(other.huge_page_bytes),
            slabs: self.slabs + other.slabs,
            slabs_registered: self.slabs_registered + other.slabs_registered,
            direct_files: self.direct_files + other.direct_files,
            direct_alignment: self.direct_alignment.max(other.direct_alignment),
            allocations_unreserved: self.allocations_unreserved + other.allocations_unreserved,
            trims_ignored: self.trims_ignored + other.trims_ignored,
            ..self
        }
    }
}

/// The best way to the kernel comes first.
fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Registered => 0,
        Kind::Unregistered => 1,
        Kind::Threads => 2,
    }
}

/// The record while it grows. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Record(Rc<RefCell<Backend>>);

impl Record {
    /// Updates the record.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Backend)) {
        change(&mut self.0.borrow_mut());
    }

    /// Records that a file in `directory` was opened.
    pub(crate) fn opened(&self, directory: PathBuf, access: &Access) {
        self.change(|backend| match access {
            Access::Direct { alignment } => {
                backend.direct_files += 1;
                let asked = alignment.unwrap_or(512).max(512);
                backend.direct_alignment = backend.direct_alignment.max(asked);
            }
            Access::Buffered(why) => {
                let entry = backend.buffered_files.entry(directory).or_default();
                *entry = (entry.0 + 1, why.clone());
            }
        });
    }

    /// The current record.
    pub(crate) fn read(&self) -> Backend {
        self.0.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        assert_eq!("auto".parse(), Ok(Choice::Best));
        assert_eq!("threads".parse(), Ok(Choice::Only(Kind::Threads)));
        assert!("uring".parse::<Choice>().is_err());
    }

    #[test]
    fn worlds_of_one_process_are_as_good_as_the_worst_of_them() {
        let of = |kind, files| Backend {
            kind,
            refused: vec!["locked memory".to_owned()],
            direct_files: files,
            buffered_files: BTreeMap::from([(PathBuf::from("/b"), (1, "tmpfs".to_owned()))]),
            ..Backend::default()
        };
        let both = of(Kind::Registered, 2).and(of(Kind::Unregistered, 3));
        assert_eq!((both.kind, both.direct_files), (Kind::Unregistered, 5));
        assert_eq!(both.refused, ["locked memory"]);
        assert_eq!(both.buffered_files[&PathBuf::from("/b")].0, 2);
    }

    #[test]
    fn the_record_counts_files() {
        let record = Record::default();
        let direct = |alignment| Access::Direct { alignment };
        record.opened("/a".into(), &direct(None));
        record.opened("/a".into(), &direct(Some(4096)));
        record.opened("/b".into(), &Access::Buffered("first".into()));
        record.opened("/b".into(), &Access::Buffered("second".into()));
        let backend = record.read();
        assert_eq!((backend.direct_files, backend.direct_alignment), (2, 4096));
        let buffered = BTreeMap::from([(PathBuf::from("/b"), (2, "second".to_owned()))]);
        assert_eq!(backend.buffered_files, buffered);
    }
}
