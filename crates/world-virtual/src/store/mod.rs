//! Bytes and names of a virtual world, copied on write.
//!
//! ```text
//!    Store -> names: full path -> Inode
//!          -> files: Inode -> FileBytes -> groups of 64 chunks of 4 KiB
//! ```
//!
//! Every arrow is an `Rc`: [`Store::fork`] copies three words, and the first change after it copies
//! only the path from the root to the changed chunk. This allows thousands of crash images per
//! second.
//!
//! Names are flat: a directory exists as soon as a name uses it. A file without a name stays until
//! [`Store::drop_unnamed`].
//!
//! Content-free writers (ghost segments) use the same store: unwritten data take no space, only
//! lengths.

mod chunks;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::Digest;
use chunks::FileBytes;

/// A file, independent of its name. Never reused within one store and its forks' ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inode(pub u32);

/// Files and their names, copied on write: a fork costs three words.
#[derive(Clone, Default)]
pub struct Store {
    files: Rc<BTreeMap<Inode, Rc<FileBytes>>>,
    names: Rc<BTreeMap<PathBuf, Inode>>,
    next: u32,
}

impl Store {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy that shares every byte until one of the two changes it.
    #[must_use]
    pub fn fork(&self) -> Self {
        self.clone()
    }

    /// A copy of the files whose names `keep` accepts.
    #[must_use]
    pub fn part(&self, keep: impl Fn(&Path) -> bool) -> Self {
        let names = self.names().filter(|(path, _)| keep(path));
        let names: BTreeMap<PathBuf, Inode> =
            names.map(|(path, inode)| (path.to_path_buf(), inode)).collect();
        let files = names.values();
        let files = files.map(|inode| (*inode, Rc::clone(&self.files[inode])));
        Self { files: Rc::new(files.collect()), names: Rc::new(names), next: self.next }
    }

    /// Every name with its file, sorted.
    pub fn names(&self) -> impl Iterator<Item = (&Path, Inode)> {
        self.names.iter().map(|(path, inode)| (path.as_path(), *inode))
    }

    /// The file named `path`.
    pub fn find(&self, path: &Path) -> Option<Inode> {
        self.names.get(path).copied()
    }

    /// The files and directories directly in `directory`, sorted.
    pub fn list(&self, directory: &Path) -> Vec<&OsStr> {
        let beyond = self.names.range(directory.to_path_buf()..);
        let mut names: Vec<&OsStr> = beyond
            .map_while(|(path, _)| path.strip_prefix(directory).ok())
            .filter_map(|rest| Some(rest.components().next()?.as_os_str()))
            .collect();
        names.dedup();
        names
    }

    /// An empty file without a name.
    pub fn new_file(&mut self) -> Inode {
        let inode = Inode(self.next);
        self.next += 1;
        Rc::make_mut(&mut self.files).insert(inode, Rc::default());
        inode
    }

    /// Adds an empty file with this number, if it does not exist.
    pub fn insert_file(&mut self, inode: Inode) {
        if !self.files.contains_key(&inode) {
            Rc::make_mut(&mut self.files).insert(inode, Rc::default());
            self.next = self.next.max(inode.0 + 1);
        }
    }

    /// A new file without a name with the content that `inode` has in `other`; they share it until
    /// one of the two changes.
    ///
    /// # Panics
    /// When `other` has no such file.
    pub fn adopt(&mut self, other: &Self, inode: Inode) -> Inode {
        let file = self.new_file();
        Rc::make_mut(&mut self.files).insert(file, Rc::clone(&other.files[&inode]));
        file
    }

    /// Names `inode` as `path`; a file with that name loses it.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn link(&mut self, path: &Path, inode: Inode) {
        assert!(self.files.contains_key(&inode), "{inode:?} does not exist");
        Rc::make_mut(&mut self.names).insert(path.to_path_buf(), inode);
    }

    /// Removes a name; returns its file.
    pub fn unlink(&mut self, path: &Path) -> Option<Inode> {
        self.find(path)?;
        Rc::make_mut(&mut self.names).remove(path)
    }

    /// Drops a file. It must have no name.
    pub fn drop_file(&mut self, inode: Inode) {
        debug_assert!(self.names.values().all(|named| *named != inode));
        Rc::make_mut(&mut self.files).remove(&inode);
    }

    /// Drops every file that has no name and is not in `keep`.
    pub fn drop_unnamed(&mut self, keep: &[Inode]) {
        let mut named: Vec<Inode> = self.names.values().chain(keep).copied().collect();
        named.sort_unstable();
        let is_named = |inode: &Inode| named.binary_search(inode).is_ok();
        if !self.files.keys().all(is_named) {
            Rc::make_mut(&mut self.files).retain(|inode, _| is_named(inode));
        }
    }

    /// A file's length in bytes; `None` when there is no such file.
    pub fn length(&self, inode: Inode) -> Option<u64> {
        self.files.get(&inode).map(|file| file.length())
    }

    /// Reads; unwritten data and data past the end are zero.
    ///
    /// # Panics
    /// When there is no such file; likewise in the methods below.
    pub fn read(&self, inode: Inode, offset: u64, into: &mut [u8]) {
        self.files[&inode].read(offset, into);
    }

    /// Writes; extends the file when the range reaches past its end.
    pub fn write(&mut self, inode: Inode, offset: u64, bytes: &[u8]) {
        self.file(inode).write(offset, bytes);
    }

    /// Zeroes a range; extends the file when the range reaches past its end. Takes no memory.
    pub fn write_zeros(&mut self, inode: Inode, offset: u64, length: u64) {
        self.file(inode).write_zeros(offset, length);
    }

    /// Makes the file exactly `length` bytes long; new bytes are zero.
    pub fn set_length(&mut self, inode: Inode, length: u64) {
        self.file(inode).set_length(length);
    }

    fn file(&mut self, inode: Inode) -> &mut FileBytes {
        let file = Rc::make_mut(&mut self.files).get_mut(&inode);
        Rc::make_mut(file.expect("the file exists"))
    }

    /// Makes `path` a file with this content, for tests and fixtures.
    pub fn put(&mut self, path: &Path, content: &[u8]) -> Inode {
        let inode = self.new_file();
        self.write(inode, 0, content);
        self.link(path, inode);
        inode
    }

    /// The whole content of `path`, for tests and fixtures.
    pub fn get(&self, path: &Path) -> Option<Vec<u8>> {
        let inode = self.find(path)?;
        let length = usize::try_from(self.length(inode)?).ok()?;
        let mut content = vec![0; length];
        self.read(inode, 0, &mut content);
        Some(content)
    }

    /// A hash of names, lengths and contents; reads everything. The representation of holes does
    /// not matter.
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        for (path, inode) in self.names() {
            digest.mix_bytes(path.as_os_str().as_encoded_bytes());
            self.files[&inode].digest(&mut digest);
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_keeps_its_names_and_bytes() {
        let mut store = Store::new();
        let path = Path::new("dir/file");
        let inode = store.put(path, b"before");
        let fork = store.fork();
        store.write(inode, 0, b"after!");
        store.link(Path::new("dir/other"), inode);
        store.unlink(path);
        assert_eq!(fork.get(path).unwrap(), b"before");
        assert_eq!(store.get(Path::new("dir/other")).unwrap(), b"after!");
        assert_eq!(store.get(path), None);
        assert_ne!(store.digest(), fork.digest());
    }

    #[test]
    fn lists_are_sorted_and_stop_at_the_directory() {
        let mut store = Store::new();
        for path in ["a/b", "a/c/x", "a/c/y", "a-b", "a.b", "b", "a/a"] {
            store.put(Path::new(path), b"");
        }
        assert_eq!(store.list(Path::new("a")), ["a", "b", "c"]);
        assert_eq!(store.list(Path::new("a/c")), ["x", "y"]);
        assert_eq!(store.list(Path::new("")), ["a", "a-b", "a.b", "b"]);
        assert!(store.list(Path::new("nowhere")).is_empty());
    }

    #[test]
    fn unnamed_files_go_when_asked() {
        let mut store = Store::new();
        let named = store.put(Path::new("named"), b"x");
        let (kept, lost) = (store.new_file(), store.new_file());
        store.drop_unnamed(&[kept]);
        assert_eq!(store.length(named), Some(1));
        assert_eq!(store.length(kept), Some(0));
        assert_eq!(store.length(lost), None);
    }

    #[test]
    fn equal_content_has_equal_digest_however_it_came() {
        let mut one = Store::new();
        let mut other = Store::new();
        one.put(Path::new("f"), &[0; 10_000]);
        let inode = other.put(Path::new("f"), b"x");
        other.set_length(inode, 10_000);
        assert_ne!(one.digest(), other.digest());
        other.write_zeros(inode, 0, 512);
        assert_eq!(one.digest(), other.digest());
    }
}
