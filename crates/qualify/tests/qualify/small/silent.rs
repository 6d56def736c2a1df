//! A volume that stops answering after a while.

use std::path::Path;
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::{Answer, FileId, OpenMode, Space, Volume, World, answer};

struct Silent {
    world: World,
    from: Time,
}

/// The volume of `world`, which stops answering after `span`.
pub(super) fn after(world: &World, span: Span) -> Rc<dyn Volume> {
    Rc::new(Silent { world: world.clone(), from: world.clock.now() + span })
}

impl Silent {
    fn unless_silent<T: 'static>(&self, ask: impl FnOnce(&dyn Volume) -> Answer<T>) -> Answer<T> {
        if self.world.clock.now() < self.from {
            return ask(&*self.world.volume);
        }
        let (answering, never) = answer(self.world.spawner.tasks());
        std::mem::forget(answering);
        never
    }
}

impl Volume for Silent {
    fn open(&self, path: &Path, mode: OpenMode) -> Answer<FileId> {
        self.unless_silent(|volume| volume.open(path, mode))
    }

    fn close(&self, file: FileId) -> Answer<()> {
        self.unless_silent(|volume| volume.close(file))
    }

    fn length(&self, file: FileId) -> Answer<u64> {
        self.unless_silent(|volume| volume.length(file))
    }

    fn allocate(&self, file: FileId, bytes: u64) -> Answer<()> {
        self.unless_silent(|volume| volume.allocate(file, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> Answer<()> {
        self.unless_silent(|volume| volume.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Answer<()> {
        self.unless_silent(|volume| volume.remove(path))
    }

    fn list(&self, directory: &Path) -> Answer<Vec<String>> {
        self.unless_silent(|volume| volume.list(directory))
    }

    fn sync_directory(&self, directory: &Path) -> Answer<()> {
        self.unless_silent(|volume| volume.sync_directory(directory))
    }

    fn space(&self, path: &Path) -> Answer<Space> {
        self.unless_silent(|volume| volume.space(path))
    }
}
