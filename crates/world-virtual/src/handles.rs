//! Open files, and users of files without a name.
//!
//! Handles are numbered upwards and never reused, so that I/O on a closed one is detected.

use std::path::Path;

use brunt_units::SECTOR_BYTES;
use brunt_world::{FileId, Io, IoError, Op, Segment};

use crate::{Digest, Inode, Store};

struct Handle {
    inode: Inode,
    writable: bool,
}

#[derive(Clone, Copy, Default)]
struct Use {
    /// Number of open handles and I/Os in flight.
    holders: u32,
    named: bool,
    volume: u32,
    /// Hash of its latest name. Its number depends on what else happens in the world.
    name: Digest,
}

/// The handles of a world.
#[derive(Default)]
pub(crate) struct Handles {
    open: Vec<Option<Handle>>,
    /// By inode.
    uses: Vec<Use>,
}

impl Handles {
    /// No handles; every file of `store` has its name.
    pub(crate) fn over(store: &Store, place: impl Fn(&Path) -> (u32, &Path)) -> Self {
        let mut handles = Self::default();
        for (path, inode) in store.names() {
            let (volume, name) = place(path);
            handles.named(inode, volume, name);
        }
        handles
    }

    /// Names `inode` as `name` on `volume`.
    pub(crate) fn named(&mut self, inode: Inode, volume: u32, name: &Path) {
        let index = inode.0 as usize;
        if self.uses.len() <= index {
            self.uses.resize(index + 1, Use::default());
        }
        let file = &mut self.uses[index];
        file.named = true;
        file.volume = volume;
        file.name = Digest::default();
        file.name.mix_bytes(name.as_os_str().as_encoded_bytes());
    }

    /// Hash of the file's name.
    pub(crate) fn name(&self, inode: Inode) -> Digest {
        self.uses[inode.0 as usize].name
    }

    /// Takes the name of `inode` away; returns whether the file is now unused.
    pub(crate) fn unnamed(&mut self, inode: Inode) -> bool {
        let file = &mut self.uses[inode.0 as usize];
        file.named = false;
        file.holders == 0
    }

    /// The volume of a file.
    pub(crate) fn volume(&self, inode: Inode) -> u32 {
        self.uses[inode.0 as usize].volume
    }

    /// Adds a user of the file: an I/O or a handle.
    pub(crate) fn hold(&mut self, inode: Inode) {
        self.uses[inode.0 as usize].holders += 1;
    }

    /// Removes a user; returns whether the file is now unused and has no name.
    pub(crate) fn release(&mut self, inode: Inode) -> bool {
        let file = &mut self.uses[inode.0 as usize];
        file.holders -= 1;
        file.holders == 0 && !file.named
    }

    /// Files without a name that are still in use.
    pub(crate) fn nameless(&self) -> Vec<Inode> {
        let uses = (0..).map(Inode).zip(&self.uses);
        let nameless = uses.filter(|(_, file)| file.holders > 0 && !file.named);
        nameless.map(|(inode, _)| inode).collect()
    }

    /// Closes every handle to `inode`, which has no name.
    pub(crate) fn expel(&mut self, inode: Inode) {
        for handle in &mut self.open {
            if handle.as_ref().is_some_and(|handle| handle.inode == inode) {
                *handle = None;
            }
        }
        self.uses[inode.0 as usize].holders = 0;
    }

    pub(crate) fn open(&mut self, inode: Inode, writable: bool) -> FileId {
        self.hold(inode);
        self.open.push(Some(Handle { inode, writable }));
        FileId(u32::try_from(self.open.len() - 1).expect("fewer than 2^32 opens"))
    }

    /// Closes a handle; returns its file, which the caller must release.
    pub(crate) fn close(&mut self, file: FileId) -> Option<Inode> {
        let handle = self.open.get_mut(file.0 as usize)?.take()?;
        Some(handle.inode)
    }

    /// The file of an open handle, and whether it is writable.
    pub(crate) fn get(&self, file: FileId) -> Option<(Inode, bool)> {
        let handle = self.open.get(file.0 as usize)?.as_ref()?;
        Some((handle.inode, handle.writable))
    }

    /// The file of a request, after checking the request.
    pub(crate) fn check(&self, io: &Io) -> Result<Inode, IoError> {
        let (inode, writable) = self.get(io.file).ok_or(IoError::Invalid)?;
        let length = io.length();
        let aligned = io.offset.is_multiple_of(SECTOR_BYTES)
            && io.offset.checked_add(length).is_some()
            && io.segments.iter().all(is_aligned);
        let fits = match io.op {
            Op::Read => length > 0 && io.segments.iter().all(is_filled),
            Op::Write | Op::WriteThrough => {
                writable && length > 0 && !io.segments.iter().any(|s| matches!(s, Segment::Fill(_)))
            }
            Op::Sync => length == 0,
            Op::Trim => {
                writable && length > 0 && io.segments.iter().all(|s| matches!(s, Segment::Ghost(_)))
            }
        };
        if aligned && fits { Ok(inode) } else { Err(IoError::Invalid) }
    }
}

fn is_aligned(segment: &Segment) -> bool {
    let start = match segment {
        Segment::Drain { start, .. } => *start as u64,
        Segment::Fill(_) | Segment::Ghost(_) => 0,
    };
    segment.length().is_multiple_of(SECTOR_BYTES) && start.is_multiple_of(SECTOR_BYTES)
}

/// Ghosts may be read too: time passes, but no data move.
fn is_filled(segment: &Segment) -> bool {
    !matches!(segment, Segment::Drain { .. })
}
