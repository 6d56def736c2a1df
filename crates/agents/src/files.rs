//! The files of a run's folder, for the coordinator.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brunt_fleet::{FILES_MAX, FileEntry, FromAgent, Order, is_plain_name};

use crate::claim::result_folder;

/// Bytes in a piece.
const PIECE: usize = 256 << 10;

/// The files of a folder as they were listed.
#[derive(Default)]
pub(crate) struct Files {
    listed: Vec<PathBuf>,
}

impl Files {
    /// What the run in `folder` answers to `order`, if that is about its files.
    pub(crate) fn answer(&mut self, folder: &Path, order: &Order) -> Option<FromAgent> {
        match order {
            Order::List => Some(self.list_of(folder)),
            Order::Read { file, offset } => {
                // Another process may have listed them for the coordinator.
                if self.listed.is_empty() {
                    self.list_of(folder);
                }
                Some(self.read(*file, *offset))
            }
            _ => None,
        }
    }

    fn list_of(&mut self, folder: &Path) -> FromAgent {
        match result_folder(folder) {
            Some(result) => self.list(&result),
            None => FromAgent::Unread { file: 0, why: "there is no folder".to_owned() },
        }
    }

    /// Lists the regular files in `folder`, with the checksums of their bytes.
    fn list(&mut self, folder: &Path) -> FromAgent {
        match entries(folder) {
            Ok(entries) => {
                self.listed = entries.iter().map(|entry| folder.join(&entry.name)).collect();
                FromAgent::Files(entries)
            }
            Err(error) => FromAgent::Unread { file: 0, why: error.to_string() },
        }
    }

    /// A piece of a file.
    fn read(&self, number: u16, offset: u64) -> FromAgent {
        let read = || {
            let path = self.listed.get(usize::from(number));
            let path = path.ok_or_else(|| io::Error::other("there is no such file"))?;
            let mut bytes = vec![0; PIECE];
            let count = open(path)?.read_at(&mut bytes, offset)?;
            bytes.truncate(count);
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => FromAgent::Piece { file: number, offset, bytes },
            Err(error @ io::Error { .. }) => {
                FromAgent::Unread { file: number, why: error.to_string() }
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(no_link).open(path)
}

fn entries(folder: &Path) -> io::Result<Vec<FileEntry>> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_file = entry.file_type()?.is_file();
        let name = entry.file_name().into_string().unwrap_or_default();
        if is_file && is_plain_name(&name) {
            names.push(name);
        }
    }
    names.sort();
    names.truncate(FILES_MAX);
    let entry = |name: String| {
        let mut file = open(&folder.join(&name))?;
        let (mut sum, mut length) = (crc32fast::Hasher::new(), 0);
        let mut bytes = vec![0; PIECE];
        loop {
            let count = file.read(&mut bytes)?;
            if count == 0 {
                return Ok(FileEntry { name, bytes: length, sum: sum.finalize() });
            }
            sum.update(&bytes[..count]);
            length += count as u64;
        }
    };
    names.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_folders_are_left_out() {
        let made = tempfile::tempdir().unwrap();
        let at = made.path();
        fs::write(at.join("result.json"), b"123").unwrap();
        fs::write(at.join(".hidden"), b"1").unwrap();
        fs::create_dir(at.join("databases")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at.join("events.log")).unwrap();
        let mut files = Files::default();
        let FromAgent::Files(entries) = files.list(at) else { panic!("it can be read") };
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["result.json"]);
        let piece = FromAgent::Piece { file: 0, offset: 1, bytes: b"23".to_vec() };
        assert_eq!(files.read(0, 1), piece);
        assert!(matches!(files.read(7, 0), FromAgent::Unread { .. }));
        // What is replaced by a link afterwards is not followed either.
        fs::remove_file(at.join("result.json")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at.join("result.json")).unwrap();
        assert!(matches!(files.read(0, 0), FromAgent::Unread { .. }));
    }
}
