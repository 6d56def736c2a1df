//! Replaces the files of a site by a copy that was kept elsewhere, at one instant.
//!
//! When another site takes over, its storage holds what was replicated, and its hosts find that.
//! Nothing is read or written for it.

use std::path::{Path, PathBuf};

use crate::front::State;
use crate::{Inode, Store};

impl State {
    /// Replaces all files below `path` by those that `content` has below `from`.
    pub(crate) fn replace(&mut self, path: &Path, content: &Store, from: &Path) {
        self.clear(path);
        let names = content.names();
        let below = names.filter_map(|(name, inode)| {
            let rest = name.strip_prefix(from).ok()?;
            Some((inode, path.join(rest)))
        });
        let mut files: Vec<(Inode, PathBuf)> = below.collect();
        // In the order in which they were made, so that they lie as the former ones did.
        files.sort_unstable();
        for (inode, name) in files {
            let file = self.store.adopt(content, inode);
            let bytes = self.store.length(file).expect("it was just made");
            let volume = self.mounts.find(&name);
            let volume = volume.expect("every file lies on a volume");
            assert!(self.mounts.grow(volume, bytes), "{} fits", name.display());
            self.store.link(&name, file);
            let below = self.mounts.below(volume, &name).to_path_buf();
            self.handles.named(file, volume, &below);
            self.resized(file, bytes);
        }
    }

    /// Removes every file below `path`, open or not.
    fn clear(&mut self, path: &Path) {
        let names = self.store.names();
        let below = names.filter(|(name, _)| name.starts_with(path));
        let below: Vec<PathBuf> = below.map(|(name, _)| name.to_path_buf()).collect();
        for name in below {
            let file = self.store.unlink(&name).expect("it is listed");
            self.handles.unnamed(file);
            self.expel(file);
        }
        for file in self.handles.nameless() {
            let volume = self.handles.volume(file);
            if self.mounts.path(volume).starts_with(path) {
                self.expel(file);
            }
        }
    }

    fn expel(&mut self, file: Inode) {
        assert!(!self.is_in_flight(file), "an I/O on {file:?} is in flight");
        self.handles.expel(file);
        self.forget(file);
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::{Class, Io, IoError, OpenMode};
    use std::rc::Rc;

    use crate::{Machine, Store, VirtualOptions, VirtualVolume, VirtualWorld};

    use super::*;

    fn world() -> VirtualWorld {
        let volume = |path: &str, bytes| VirtualVolume {
            path: path.into(),
            bytes,
            ..VirtualVolume::everything()
        };
        VirtualWorld::new(VirtualOptions {
            volumes: vec![volume("/a", 8192), volume("/b", 8192)],
            ..VirtualOptions::new(1)
        })
    }

    fn used(machine: &Machine) -> [u64; 2] {
        let state = machine.front.state.borrow();
        [0, 1].map(|volume| 8192 - state.mounts.space(volume).free_bytes)
    }

    #[test]
    fn the_files_of_one_site_become_those_of_a_copy() {
        let mut made = world();
        let (world, machine) = (made.world.clone(), made.machine.clone());
        made.executor.block_on(async move {
            let open = |path| world.volume.open(Path::new(path), OpenMode::CreateNew);
            let (kept, old, open_and_removed) = (
                open("/a/kept").await.unwrap(),
                open("/b/old").await.unwrap(),
                open("/b/removed").await.unwrap(),
            );
            let mut frame = world.frames.zeroed(4096);
            frame.fill(7);
            let frame = Rc::new(frame);
            for file in [kept, old, open_and_removed] {
                let write = Io::write(Class::Database, file, 0, &frame);
                world.disk.submit(write).await.result.unwrap();
            }
            world.volume.remove(Path::new("/b/removed")).await.unwrap();
            assert_eq!(used(&machine), [4096, 8192]);

            let mut copy = Store::new();
            copy.put(Path::new("/a/x/new"), &[9; 512]);
            copy.put(Path::new("/elsewhere"), &[1; 512]);
            machine.replace_files(Path::new("/b"), &copy, Path::new("/a"));
            assert_eq!(used(&machine), [4096, 512]);
            let store = machine.store();
            assert_eq!(store.get(Path::new("/b/x/new")).unwrap(), [9; 512]);
            assert_eq!(store.get(Path::new("/b/old")), None);
            assert_eq!(store.get(Path::new("/a/kept")).unwrap(), [7; 4096]);
            let write = Io::write(Class::Database, old, 0, &frame);
            let refused = world.disk.submit(write).await.result;
            assert_eq!(refused, Err(IoError::Invalid), "its handle is gone");
            copy.put(Path::new("/a/x/new"), &[1; 512]);
            assert_eq!(machine.store().get(Path::new("/b/x/new")).unwrap(), [9; 512]);
        });
    }
}
