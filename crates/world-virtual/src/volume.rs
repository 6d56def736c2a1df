//! Names, lengths and room of a virtual world.
//!
//! Each verb takes the volume's `names_latency` and has its whole effect at the end of it, just before it is answered.
//! Verbs on one volume therefore happen in the order they were asked for.

use std::path::Path;

use brunt_world::{Answer, FileId, OpenMode, Space, Volume, VolumeError, answer};

use crate::Inode;
use crate::events::Event;
use crate::front::{Front, State};

/// What happens, and the answer, when a verb's time has come.
pub(crate) type Effect = Box<dyn FnOnce(&mut State)>;

/// Effects whose time has not come.
#[derive(Default)]
pub(crate) struct Effects {
    slots: Vec<Option<Effect>>,
    free: Vec<u32>,
}

impl Effects {
    fn put(&mut self, effect: Effect) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(effect);
                slot
            }
            None => {
                self.slots.push(Some(effect));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 verbs at once")
            }
        }
    }

    pub(crate) fn take(&mut self, slot: u32) -> Effect {
        self.free.push(slot);
        let effect = self.slots[slot as usize].take();
        effect.expect("a verb happens once")
    }
}

fn closed() -> VolumeError {
    VolumeError::Other("the file is not open".into())
}

impl State {
    fn volume_of(&self, path: &Path) -> Result<u32, VolumeError> {
        self.mounts.find(path).ok_or(VolumeError::NotFound)
    }

    fn open(&mut self, path: &Path, mode: OpenMode) -> Result<FileId, VolumeError> {
        let volume = self.volume_of(path)?;
        let inode = match (mode, self.store.find(path)) {
            (OpenMode::CreateNew, Some(_)) => return Err(VolumeError::Exists),
            (OpenMode::CreateNew, None) => {
                let inode = self.store.new_file();
                self.store.link(path, inode);
                self.handles.named(inode, volume);
                inode
            }
            (OpenMode::Read | OpenMode::Write, found) => found.ok_or(VolumeError::NotFound)?,
        };
        Ok(self.handles.open(inode, mode != OpenMode::Read))
    }

    fn close(&mut self, file: FileId) -> Result<(), VolumeError> {
        let inode = self.handles.close(file).ok_or_else(closed)?;
        self.release(inode);
        Ok(())
    }

    fn length_of(&self, file: FileId) -> Result<(Inode, u64, bool), VolumeError> {
        let (inode, writable) = self.handles.get(file).ok_or_else(closed)?;
        let length = self.store.length(inode).expect("an open file is there");
        Ok((inode, length, writable))
    }

    fn allocate(&mut self, file: FileId, bytes: u64) -> Result<(), VolumeError> {
        let (inode, length, writable) = self.length_of(file)?;
        if !writable {
            return Err(VolumeError::Denied);
        }
        let volume = self.handles.volume(inode);
        if bytes < length {
            self.mounts.shrink(volume, length - bytes);
        } else if !self.mounts.grow(volume, bytes - length) {
            return Err(VolumeError::NoSpace);
        }
        self.store.set_length(inode, bytes);
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), VolumeError> {
        let inode = self.store.find(from).ok_or(VolumeError::NotFound)?;
        if self.volume_of(to)? != self.handles.volume(inode) {
            return Err(VolumeError::Other(
                "a file cannot be renamed to another volume".into(),
            ));
        }
        let replaced = self.store.find(to);
        if replaced == Some(inode) {
            return Ok(());
        }
        self.store.unlink(from);
        self.store.link(to, inode);
        if let Some(replaced) = replaced {
            self.unnamed(replaced);
        }
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> Result<(), VolumeError> {
        let inode = self.store.unlink(path).ok_or(VolumeError::NotFound)?;
        self.unnamed(inode);
        Ok(())
    }

    fn list(&self, directory: &Path) -> Vec<String> {
        let names = self.store.list(directory);
        names
            .into_iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }
}

impl Front {
    /// Lets `effect` happen on `volume` after its latency; on no volume, at once.
    fn later<T: 'static>(
        &self,
        volume: Option<u32>,
        effect: impl FnOnce(&mut State) -> Result<T, VolumeError> + 'static,
    ) -> Answer<T> {
        let (answering, answer) = answer(&self.tasks);
        let state = &mut *self.state.borrow_mut();
        let latency = volume.map(|volume| state.mounts.names_latency(volume));
        let effect = state
            .effects
            .put(Box::new(move |state| answering.give(effect(state))));
        let at = self.events.now() + latency.unwrap_or_default();
        self.events.set(at, Event::Answer(effect));
        answer
    }

    fn on_path<T: 'static>(
        &self,
        path: &Path,
        effect: impl FnOnce(&mut State, &Path) -> Result<T, VolumeError> + 'static,
    ) -> Answer<T> {
        let volume = self.state.borrow().mounts.find(path);
        let path = path.to_path_buf();
        self.later(volume, move |state| effect(state, &path))
    }

    fn on_file<T: 'static>(
        &self,
        file: FileId,
        effect: impl FnOnce(&mut State) -> Result<T, VolumeError> + 'static,
    ) -> Answer<T> {
        let state = self.state.borrow();
        let open = state.handles.get(file);
        let volume = open.map(|(inode, _)| state.handles.volume(inode));
        drop(state);
        self.later(volume, effect)
    }
}

impl Volume for Front {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        self.on_path(path, move |state, path| state.open(path, mode))
    }

    fn close(&self, file: FileId) -> Answer<()> {
        self.on_file(file, move |state| state.close(file))
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.on_file(file, move |state| Ok(state.length_of(file)?.1))
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        self.on_file(file, move |state| state.allocate(file, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        let to = to.to_path_buf();
        self.on_path(from, move |state, from| state.rename(from, &to))
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        self.on_path(path, State::remove)
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.on_path(directory, |state, directory| Ok(state.list(directory)))
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        self.on_path(directory, |_, _| Ok(()))
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        self.on_path(path, |state, path| {
            Ok(state.mounts.space(state.volume_of(path)?))
        })
    }
}
