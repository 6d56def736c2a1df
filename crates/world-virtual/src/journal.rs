//! A log of all changes to the files, step by step, from which crash images are made.
//!
//! A journal is a list of *actions* (a write with its bytes, a sync, a change of a name, ...) and a
//! list of *moments*: this action was submitted, that one completed, the test set a mark. The
//! position of a moment in its list is a [`Step`]; there is no other time here.
//!
//! ```text
//!    moments   S0  S1  C1  mark("acknowledged", 17)  S2  C0 ...
//!    actions    0: write through  1: sync  2: create "log"
//! ```
//!
//! A failed action never completes: a failed write may have changed anything in its range, like one
//! in flight, and a failed sync has made nothing durable. A refused verb has no action.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_world::{Io, Op};

use crate::{Inode, Store};

/// Number of moments that have passed; 0 before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(pub u32);

/// The data of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Rc<[u8]>),
    /// This number of zeros: ghosts and trims.
    Zeros(u64),
}

impl Content {
    /// Bytes in it.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros(length) => *length,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChange {
    /// A new file gets its name.
    Create {
        /// The name.
        path: PathBuf,
        file: Inode,
    },
    /// A file gets another name; a file that had that name loses it.
    Rename {
        /// The old name.
        from: PathBuf,
        /// The new name.
        to: PathBuf,
        file: Inode,
    },
    /// A file loses its name.
    Remove {
        /// The name.
        path: PathBuf,
        file: Inode,
    },
}

impl NameChange {
    /// The file that gets or loses a name.
    pub fn file(&self) -> Inode {
        match self {
            Self::Create { file, .. } | Self::Rename { file, .. } | Self::Remove { file, .. } => {
                *file
            }
        }
    }

    /// The names that change.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let (one, other) = match self {
            Self::Create { path, .. } | Self::Remove { path, .. } => (path, None),
            Self::Rename { from, to, .. } => (from, Some(to)),
        };
        [Some(one), other].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// An action that affects what survives a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Bytes are written, or trimmed.
    Write {
        file: Inode,
        /// The first byte in the file, a multiple of 512.
        offset: u64,
        /// The data.
        content: Content,
        /// Whether it is durable once complete.
        through: bool,
    },
    /// [`brunt_world::Volume::allocate`] makes a file longer or shorter.
    Length {
        file: Inode,
        /// Its length before, in bytes.
        from: u64,
        /// Its length after, in bytes.
        to: u64,
    },
    /// Makes completed changes of a file durable.
    Sync {
        file: Inode,
    },
    Name(NameChange),
    /// Makes completed changes of the names in a directory durable.
    SyncDirectory {
        /// The directory.
        path: PathBuf,
    },
}

impl Action {
    /// The action of a request; `None` for reads.
    pub(crate) fn of(io: &Io, file: Inode) -> Option<Self> {
        let write = |content, through| Self::Write { file, offset: io.offset, content, through };
        match io.op {
            Op::Read => None,
            Op::Sync => Some(Self::Sync { file }),
            Op::Trim => Some(write(Content::Zeros(io.length()), false)),
            Op::Write | Op::WriteThrough => Some(write(content_of(io), io.op == Op::WriteThrough)),
        }
    }
}

fn content_of(io: &Io) -> Content {
    if io.segments.iter().all(|piece| piece.drained().is_empty()) {
        return Content::Zeros(io.length());
    }
    let mut bytes = Vec::new();
    for piece in &io.segments {
        let end = u64::try_from(bytes.len()).expect("in memory") + piece.length();
        bytes.extend_from_slice(piece.drained());
        bytes.resize(usize::try_from(end).expect("in memory"), 0);
    }
    Content::Bytes(bytes.into())
}

/// An action, and when it was in flight.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The action; `None` for a verb that was refused or is still pending.
    pub action: Option<Action>,
    /// The step at which it was submitted.
    pub submitted: Step,
    /// The step at which it completed, if it did.
    pub completed: Option<Step>,
}

/// A mark of the test, such as "commit 17 acknowledged".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The kind of mark.
    pub what: &'static str,
    pub number: u64,
}

/// What happened at a step. Actions are given by their index in [`Journal::actions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// An action was submitted.
    Submitted(u32),
    /// An action completed.
    Completed(u32),
    /// The test set a mark.
    Marked(Mark),
}

/// The changes of the files since recording began; see the [module](self).
#[derive(Clone)]
pub struct Journal {
    base: Store,
    actions: Vec<Recorded>,
    moments: Vec<Moment>,
}

impl Journal {
    /// An empty journal over the files of `base`, all of which are durable.
    pub(crate) fn new(base: Store) -> Self {
        Self { base, actions: Vec::new(), moments: Vec::new() }
    }

    /// The files when recording began.
    pub fn base(&self) -> &Store {
        &self.base
    }

    /// All actions, in the order of submission.
    pub fn actions(&self) -> &[Recorded] {
        &self.actions
    }

    /// All moments, in order.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// The marks of the first `step` moments.
    pub fn marks(&self, step: Step) -> impl DoubleEndedIterator<Item = Mark> {
        let passed = &self.moments[..step.0 as usize];
        passed.iter().filter_map(|moment| match moment {
            Moment::Marked(mark) => Some(*mark),
            Moment::Submitted(_) | Moment::Completed(_) => None,
        })
    }

    fn now(&self) -> Step {
        Step(u32::try_from(self.moments.len()).expect("fewer than 2^32 moments"))
    }

    /// Records a submission; the action of a verb is not known yet.
    pub(crate) fn submitted(&mut self, action: Option<Action>) -> u32 {
        let number = u32::try_from(self.actions.len()).expect("fewer than 2^32 actions");
        self.actions.push(Recorded { action, submitted: self.now(), completed: None });
        self.moments.push(Moment::Submitted(number));
        number
    }

    /// Records the completion of a request without error.
    pub(crate) fn completed(&mut self, number: u32) {
        self.actions[number as usize].completed = Some(self.now());
        self.moments.push(Moment::Completed(number));
    }

    /// Records the action of a verb.
    pub(crate) fn answered(&mut self, number: u32, action: Action) {
        self.actions[number as usize].action = Some(action);
        self.completed(number);
    }

    pub(crate) fn mark(&mut self, mark: Mark) {
        self.moments.push(Moment::Marked(mark));
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::{Class, FileId, Frames, Segment, Segments};

    use super::*;

    #[test]
    fn a_write_is_recorded_with_its_bytes_and_its_ghosts() {
        let frames = Frames::in_memory();
        let mut frame = frames.zeroed(4096);
        frame.fill(3);
        let piece = Segment::Drain { frame: Rc::new(frame), start: 512, length: 1024 };
        let segments: Segments = [piece, Segment::Ghost(512)].into_iter().collect();
        let io = Io::new(Class::Log, Op::WriteThrough, FileId(0), 512, segments);
        let Some(Action::Write {
            content: Content::Bytes(bytes), through: true, offset: 512, ..
        }) = Action::of(&io, Inode(0))
        else {
            panic!("a write through at 512");
        };
        assert!(bytes[..1024].iter().all(|byte| *byte == 3));
        assert_eq!(bytes[1024..], [0; 512]);
    }

    #[test]
    fn marks_are_found_by_step() {
        let mut journal = Journal::new(Store::new());
        let sync = journal.submitted(Some(Action::Sync { file: Inode(0) }));
        let mark = |number| Mark { what: "m", number };
        journal.mark(mark(1));
        journal.completed(sync);
        journal.mark(mark(2));
        assert_eq!(journal.marks(Step(1)).count(), 0);
        assert_eq!(journal.marks(Step(3)).collect::<Vec<_>>(), [mark(1)]);
        assert_eq!(journal.marks(Step(4)).next_back(), Some(mark(2)));
        assert_eq!(journal.actions()[0].completed, Some(Step(2)));
    }
}
