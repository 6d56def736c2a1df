//! Names, lengths and space of a virtual world.
//!
//! Each verb takes the volume's `names_latency` and has its whole effect at the end of it, just
//! before it is answered. So verbs on one volume take effect in the order of the requests.
//!
//! A verb that affects what survives a crash returns its [`Action`] with its answer, for the
//! journal.

use std::path::Path;

use brunt_world::{Answer, FileId, OpenMode, Space, Volume, VolumeError, answer};

use crate::Inode;
use crate::events::Event;
use crate::front::{Front, State};
use crate::journal::{Action, NameChange};
use crate::slots::Slots;

/// The effect and the answer of a verb when it is due.
pub(crate) type Effect = Box<dyn FnOnce(&mut State)>;

/// Effects that are not due yet.
pub(crate) type Effects = Slots<Effect>;

/// An answer, with the change.
type Outcome<T> = Result<(T, Option<Action>), VolumeError>;

/// The answer of a verb without a change.
fn unchanged<T>(value: T) -> Outcome<T> {
    Ok((value, None))
}

/// The answer of a verb that changed a name.
fn renamed<T>(value: T, change: NameChange) -> Outcome<T> {
    Ok((value, Some(Action::Name(change))))
}

fn closed() -> VolumeError {
    VolumeError::Other("the file is not open".into())
}

impl State {
    fn volume_of(&self, path: &Path) -> Result<u32, VolumeError> {
        self.mounts.find(path).ok_or(VolumeError::NotFound)
    }

    fn open(&mut self, path: &Path, mode: OpenMode) -> Outcome<FileId> {
        let volume = self.volume_of(path)?;
        let found = self.store.find(path);
        if mode != OpenMode::CreateNew {
            let inode = found.ok_or(VolumeError::NotFound)?;
            return unchanged(self.handles.open(inode, mode == OpenMode::Write));
        }
        if found.is_some() {
            return Err(VolumeError::Exists);
        }
        let file = self.store.new_file();
        self.store.link(path, file);
        self.handles.named(file, volume, self.mounts.below(volume, path));
        let path = path.to_path_buf();
        renamed(self.handles.open(file, true), NameChange::Create { path, file })
    }

    fn close(&mut self, file: FileId) -> Outcome<()> {
        let inode = self.handles.close(file).ok_or_else(closed)?;
        self.release(inode);
        unchanged(())
    }

    fn length_of(&self, file: FileId) -> Result<(Inode, u64, bool), VolumeError> {
        let (inode, writable) = self.handles.get(file).ok_or_else(closed)?;
        let length = self.store.length(inode).expect("an open file is there");
        Ok((inode, length, writable))
    }

    fn allocate(&mut self, file: FileId, bytes: u64) -> Outcome<()> {
        let (file, from, writable) = self.length_of(file)?;
        if !writable {
            return Err(VolumeError::Denied);
        }
        let volume = self.handles.volume(file);
        if bytes < from {
            self.mounts.shrink(volume, from - bytes);
        } else if !self.mounts.grow(volume, bytes - from) {
            return Err(VolumeError::NoSpace);
        }
        self.store.set_length(file, bytes);
        self.resized(file, bytes);
        let to = bytes;
        Ok(((), Some(Action::Length { file, from, to })))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Outcome<()> {
        let file = self.store.find(from).ok_or(VolumeError::NotFound)?;
        let volume = self.volume_of(to)?;
        if volume != self.handles.volume(file) {
            return Err(VolumeError::Other("a file cannot be renamed to another volume".into()));
        }
        if from == to {
            return unchanged(());
        }
        self.store.unlink(from);
        let replaced = self.store.unlink(to);
        self.store.link(to, file);
        self.handles.named(file, volume, self.mounts.below(volume, to));
        if let Some(replaced) = replaced {
            self.unnamed(replaced);
        }
        let (from, to) = (from.to_path_buf(), to.to_path_buf());
        renamed((), NameChange::Rename { from, to, file })
    }

    fn remove(&mut self, path: &Path) -> Outcome<()> {
        let file = self.store.unlink(path).ok_or(VolumeError::NotFound)?;
        self.unnamed(file);
        let path = path.to_path_buf();
        renamed((), NameChange::Remove { path, file })
    }

    fn list(&self, directory: &Path) -> Vec<String> {
        let names = self.store.list(directory);
        names.into_iter().map(|name| name.to_string_lossy().into_owned()).collect()
    }
}

/// Whether a verb may affect what survives a crash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Looks,
    Changes,
}

impl Front {
    /// Schedules `effect` on `volume` after its latency; without a volume, at once.
    fn later<T: 'static>(
        &self,
        kind: Kind,
        volume: Option<u32>,
        effect: impl FnOnce(&mut State) -> Outcome<T> + 'static,
    ) -> Answer<T> {
        let (answering, answer) = answer(&self.tasks);
        let state = &mut *self.state.borrow_mut();
        let latency = volume.map(|volume| state.mounts.names_latency(volume));
        let number = match kind {
            Kind::Looks => None,
            Kind::Changes => state.record(|journal| journal.submitted(None)),
        };
        let effect = move |state: &mut State| {
            let value = effect(state).map(|(value, action)| {
                if let (Some(volume), Some(action)) = (volume, &action) {
                    state.follow(|follower| follower.changed(volume, action));
                }
                if let (Some(number), Some(action)) = (number, action) {
                    state.record(|journal| journal.answered(number, action));
                }
                value
            });
            answering.give(value);
        };
        let effect = state.effects.put(Box::new(effect));
        let at = self.events.now() + latency.unwrap_or_default();
        self.events.set(at, Event::Answer(effect));
        answer
    }

    fn on_path<T: 'static>(
        &self,
        kind: Kind,
        path: &Path,
        effect: impl FnOnce(&mut State, &Path) -> Outcome<T> + 'static,
    ) -> Answer<T> {
        let volume = self.state.borrow().mounts.find(path);
        let path = path.to_path_buf();
        self.later(kind, volume, move |state| effect(state, &path))
    }

    fn on_file<T: 'static>(
        &self,
        kind: Kind,
        file: FileId,
        effect: impl FnOnce(&mut State) -> Outcome<T> + 'static,
    ) -> Answer<T> {
        let state = self.state.borrow();
        let open = state.handles.get(file);
        let volume = open.map(|(inode, _)| state.handles.volume(inode));
        drop(state);
        self.later(kind, volume, effect)
    }
}

impl Volume for Front {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        let kind = match mode {
            OpenMode::CreateNew => Kind::Changes,
            OpenMode::Read | OpenMode::Write => Kind::Looks,
        };
        self.on_path(kind, path, move |state, path| state.open(path, mode))
    }

    fn close(&self, file: FileId) -> Answer<()> {
        self.on_file(Kind::Looks, file, move |state| state.close(file))
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.on_file(Kind::Looks, file, move |state| unchanged(state.length_of(file)?.1))
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        self.on_file(Kind::Changes, file, move |state| state.allocate(file, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        let to = to.to_path_buf();
        self.on_path(Kind::Changes, from, move |state, from| state.rename(from, &to))
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        self.on_path(Kind::Changes, path, State::remove)
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.on_path(Kind::Looks, directory, |state, directory| unchanged(state.list(directory)))
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        self.on_path(Kind::Changes, directory, |_, directory| {
            let path = directory.to_path_buf();
            Ok(((), Some(Action::SyncDirectory { path })))
        })
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        self.on_path(Kind::Looks, path, |state, path| {
            unchanged(state.mounts.space(state.volume_of(path)?))
        })
    }
}
