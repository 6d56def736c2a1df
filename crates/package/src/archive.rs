//! Archives with nothing of the machine in them: sorted entries of root, one time for all, no time
//! in the compressed stream.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub is_program: bool,
}

/// Files by their paths, which are relative and have `/` between their parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, File>);

impl Files {
    /// Adds a text, or replaces it.
    pub fn text(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        let is_program = false;
        self.0.insert(path.into(), File { bytes, is_program });
    }

    /// Adds a program, or replaces it.
    pub fn program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        let is_program = true;
        self.0.insert(path.into(), File { bytes, is_program });
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: &Self) {
        let others = others.0.iter();
        self.0.extend(others.map(|(path, file)| (path.clone(), file.clone())));
    }

    /// The files in order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The same files, each below `folder`.
    pub fn below(&self, folder: &str) -> Self {
        let moved = self.0.iter().map(|(path, file)| (format!("{folder}/{path}"), file.clone()));
        Self(moved.collect())
    }

    /// All folders that the files lie in, outer ones before inner ones.
    fn folders(&self) -> BTreeSet<&str> {
        let all = self.0.keys().flat_map(|path| {
            let ends = path.match_indices('/').map(|(at, _)| at);
            ends.map(|end| &path[..end])
        });
        all.collect()
    }

    /// A tar archive of them and their folders; every entry was changed at `time`, in seconds since
    /// 1970.
    ///
    /// # Errors
    /// A path that tar cannot hold.
    pub fn tar(&self, time: u64) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        let mut add = |path: &str, kind, mode, bytes: &[u8]| {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_mtime(time);
            header.set_uid(0);
            header.set_gid(0);
            header.set_username("root")?;
            header.set_groupname("root")?;
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, path, bytes)
        };
        for folder in self.folders() {
            add(&format!("{folder}/"), EntryType::Directory, 0o755, &[])?;
        }
        for (path, file) in self.iter() {
            let mode = if file.is_program { 0o755 } else { 0o644 };
            add(path, EntryType::Regular, mode, &file.bytes)?;
        }
        archive.into_inner()
    }
}

/// `bytes`, compressed; neither a name nor a time goes with them.
///
/// # Errors
/// None that memory does not have.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::default());
    writer.write_all(bytes)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn files() -> Files {
        let mut files = Files::default();
        files.text("share/doc/b.md", "b");
        files.program("bin/brunt", vec![1, 2, 3]);
        files.text("README.md", "read me");
        files
    }

    #[test]
    fn an_archive_has_folders_first_and_nothing_of_this_machine() {
        let bytes = files().tar(1_700_000_000).unwrap();
        assert_eq!(bytes, files().tar(1_700_000_000).unwrap());
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut listed = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header().clone();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            assert_eq!(header.mtime().unwrap(), 1_700_000_000);
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            listed.push((path, header.mode().unwrap(), content.len()));
        }
        let wanted = [
            ("bin/", 0o755, 0),
            ("share/", 0o755, 0),
            ("share/doc/", 0o755, 0),
            ("README.md", 0o644, 7),
            ("bin/brunt", 0o755, 3),
            ("share/doc/b.md", 0o644, 1),
        ];
        assert_eq!(listed, wanted.map(|(path, mode, size)| (path.to_owned(), mode, size)));
    }

    #[test]
    fn compressed_bytes_carry_no_time() {
        let packed = gzip(b"brunt").unwrap();
        assert_eq!(packed[3..8], [0; 5], "no flags, and the time is zero");
        let mut read = String::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut read).unwrap();
        assert_eq!(read, "brunt");
    }
}
