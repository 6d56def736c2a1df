//! Writes of hosts on their way to a device, kept by a [`brunt_world_virtual::Follower`] that
//! copies their content elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brunt_units::LogPosition;
use brunt_world::Class;
use brunt_world_virtual::journal::{Action, Content, NameChange};
use brunt_world_virtual::{Inode, Request, Store};

pub(crate) struct HostWrite {
    pub(crate) volume: u32,
    pub(crate) file: Inode,
    pub(crate) offset: u64,
    pub(crate) content: Content,
    pub(crate) class: Class,
    /// What it says of a log; see [`LogState`].
    pub(crate) mark: u64,
}

impl HostWrite {
    /// The write that `request` brings; `None` for everything else.
    pub(crate) fn of(request: &Request, action: Action) -> Option<Self> {
        let Action::Write { file, offset, content, .. } = action else {
            return None;
        };
        Some(Self {
            volume: request.volume,
            file,
            offset,
            content,
            class: request.class,
            mark: request.tag,
        })
    }

    /// Puts all of it into `files`, unless its file was removed meanwhile.
    pub(crate) fn put(&self, files: &mut Store) {
        self.put_part(files, 0, self.content.length());
    }

    /// Puts `length` bytes from its byte `start` on into `files`, unless its file was removed
    /// meanwhile.
    pub(crate) fn put_part(&self, files: &mut Store, start: u64, length: u64) {
        if files.length(self.file).is_none() {
            return;
        }
        let at = self.offset + start;
        match &self.content {
            Content::Zeros(_) => files.write_zeros(self.file, at, length),
            Content::Bytes(bytes) => {
                let index = |at: u64| usize::try_from(at).expect("in memory");
                files.write(self.file, at, &bytes[index(start)..index(start + length)]);
            }
        }
    }
}

/// Writes that were submitted and have not ended, by the slot of their request.
pub(crate) struct Slots<W>(Vec<Option<W>>);

impl<W> Default for Slots<W> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<W> Slots<W> {
    pub(crate) fn put(&mut self, slot: usize, write: W) {
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, || None);
        }
        self.0[slot] = Some(write);
    }

    pub(crate) fn take(&mut self, slot: usize) -> Option<W> {
        self.0.get_mut(slot)?.take()
    }

    /// The write whose request had this tag.
    pub(crate) fn of_tag(&self, tag: u64) -> Option<&W> {
        let slot = usize::try_from(tag).expect("a slot");
        self.0.get(slot)?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &W> {
        self.0.iter().flatten()
    }
}

/// The folder of each file.
#[derive(Default)]
pub(crate) struct Folders(BTreeMap<Inode, PathBuf>);

impl Folders {
    /// Those of all `files`.
    pub(crate) fn of(files: &Store) -> Self {
        let names = files.names();
        Self(names.map(|(path, file)| (file, folder_of(path))).collect())
    }

    pub(crate) fn note(&mut self, action: &Action) {
        if let Action::Name(
            NameChange::Create { path, file } | NameChange::Rename { to: path, file, .. },
        ) = action
        {
            self.0.insert(*file, folder_of(path));
        }
    }
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

/// What the marks of a log's writes say of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogState {
    /// The log ends here.
    pub(crate) durable: LogPosition,
    /// What its checkpoint file says.
    pub(crate) checkpoint: LogPosition,
    /// The file that was written last.
    pub(crate) newest: Option<Inode>,
}

/// Logs by their folder.
#[derive(Clone, Default)]
pub(crate) struct Logs(BTreeMap<PathBuf, LogState>);

impl Logs {
    /// `write` is there.
    pub(crate) fn see(&mut self, write: &HostWrite, folders: &Folders) {
        let Some(folder) = folders.0.get(&write.file) else {
            return;
        };
        let log = self.0.entry(folder.clone()).or_default();
        let position = LogPosition::from_mark(write.mark);
        match write.class {
            Class::Log => {
                log.durable = position.max(log.durable);
                log.newest = Some(write.file);
            }
            Class::Metadata if write.mark > 0 => log.checkpoint = position.max(log.checkpoint),
            _ => {}
        }
    }

    /// The log in `folder`.
    pub(crate) fn get(&self, folder: &Path) -> Option<LogState> {
        self.0.get(folder).copied()
    }
}
