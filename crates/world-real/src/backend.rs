//! Which backend was obtained, which was asked for, and what the system refused on the way.
//!
//! Every refusal has a fallback that gives the same results more slowly, so a run goes on; but its report must say
//! what was measured. [`Backend`] is that record. It grows while the run opens files and takes memory.

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
    /// io_uring without: registering memory locks it, which the limit of an ordinary user may not allow.
    Unregistered,
    /// Threads that block: where io_uring is refused, by seccomp for example, or missing.
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
    /// The best that the system grants.
    #[default]
    Best,
    /// This one, or nothing.
    Only(Kind),
}

/// A text that names no backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no I/O backend (write \"auto\", \"registered\", \"unregistered\" or \"threads\")"
)]
pub struct ChoiceError(pub String);

impl FromStr for Choice {
    type Err = ChoiceError;

    /// Reads `auto`, `registered`, `unregistered`, `threads`.
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
    /// Past the page cache (`O_DIRECT`).
    Direct {
        /// What offsets and lengths must be multiples of, where the kernel says it. More than 512 on devices with larger
        /// sectors: requests that do not keep to it fail with [`brunt_world::IoError::Invalid`].
        alignment: Option<u32>,
    },
    /// Through the page cache, and why.
    Buffered(String),
}

/// What was obtained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backend {
    /// How I/O reaches the kernel.
    pub kind: Kind,
    /// What better backends answered, one sentence each; empty when none was refused.
    pub refused: Vec<String>,
    /// When io_uring works completions off; `None` for threads.
    pub task_run: Option<TaskRun>,
    /// How much of the process's memory lies in huge pages, where the kernel says so: mostly frames, since they ask for
    /// it. It matters: 32 KiB in a huge page are one piece for the device, in pages of 4 KiB they are up to eight. A
    /// virtio disk at depth 8 did 80,000 to 95,000 I/Os per second with huge pages and 57,000 to 61,000 without.
    pub huge_page_bytes: Option<ByteSize>,
    /// Slabs of I/O memory taken.
    pub slabs: usize,
    /// Slabs registered with the ring: all of them, unless the limit of locked memory was reached on the way.
    pub slabs_registered: usize,
    /// Files opened for direct I/O.
    pub direct_files: u64,
    /// The largest alignment that one of them asks for; 512 when none says.
    pub direct_alignment: u32,
    /// Directories with files that went through the page cache: how many, and why the last one did.
    pub buffered_files: BTreeMap<PathBuf, (u64, String)>,
    /// Allocations whose blocks the file system could not reserve: the files are sparse.
    pub allocations_unreserved: u64,
    /// Trims that the file system does not do.
    pub trims_ignored: u64,
}

/// The record while it is being written. Cloning gives another handle.
#[derive(Clone, Default)]
pub(crate) struct Record(Rc<RefCell<Backend>>);

impl Record {
    /// Writes into the record.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Backend)) {
        change(&mut self.0.borrow_mut());
    }

    /// A file in `directory` was opened.
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

    /// What stands in it now.
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
