//! A run's folder on its way here: by pieces, from where it stopped, compared at the end.
//!
//! ```text
//!   List -> Files: name, bytes, checksum of each
//!   Read { file, offset } -> Piece      one after the other; frames have checksums of their own
//!   all bytes of a file: its checksum must be that of the list; if not, it is fetched once more
//! ```
//!
//! The host at the other end may be anything: names are plain, and numbers and bytes are bounded.

use crate::message::{FileEntry, ToAgent};

/// Files in a folder, at most.
pub const FILES_MAX: usize = 256;

/// How often a file is fetched from its beginning.
const TRIES: u32 = 2;

/// Whether `name` is one that a run's folder may have: it names a file in that folder and nothing
/// else, on every system.
pub fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// A folder on its way.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    files: Option<Vec<Arriving>>,
    /// The file that is on its way.
    current: usize,
    /// A piece has been asked for on this connection.
    is_asked: bool,
}

#[derive(Clone, Debug)]
struct Arriving {
    entry: FileEntry,
    have: u64,
    sum: crc32fast::Hasher,
    tries: u32,
}

/// Bytes to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Folder {
    /// A new connection: what was asked for on the old one does not come.
    pub(crate) fn reconnected(&mut self) {
        self.is_asked = false;
    }

    /// Whether everything is here.
    pub(crate) fn is_whole(&self) -> bool {
        self.files.as_ref().is_some_and(|files| self.current == files.len())
    }

    /// What to ask for next, if nothing is on its way.
    pub(crate) fn ask(&mut self) -> Option<ToAgent> {
        if self.is_asked || self.is_whole() {
            return None;
        }
        self.is_asked = true;
        Some(match &self.files {
            None => ToAgent::List,
            Some(files) => {
                let file = u16::try_from(self.current).expect("at most 256 files");
                ToAgent::Read { file, offset: files[self.current].have }
            }
        })
    }

    /// The list has come; a folder has `bytes_max` bytes at most. Files without content are
    /// returned: nothing else comes of them.
    pub(crate) fn list(
        &mut self,
        entries: Vec<FileEntry>,
        bytes_max: u64,
    ) -> Result<Vec<Arrived>, String> {
        self.is_asked = false;
        if self.files.is_some() {
            return Ok(Vec::new());
        }
        if entries.len() > FILES_MAX {
            return Err(format!("it has {} files, and {FILES_MAX} are allowed", entries.len()));
        }
        let total = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.bytes));
        if total > bytes_max {
            return Err(format!("it has {total} bytes, and {bytes_max} are allowed"));
        }
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("it has two files of one name".to_owned());
        }
        if let Some(name) = names.iter().find(|name| !is_plain_name(name)) {
            return Err(format!("no file of a run is named {name:?}"));
        }
        let arriving = |entry| Arriving { entry, have: 0, sum: crc32fast::Hasher::new(), tries: 0 };
        let files: Vec<Arriving> = entries.into_iter().map(arriving).collect();
        let empty = files.iter().filter(|file| file.entry.bytes == 0);
        let empty = empty.map(|file| Arrived {
            name: file.entry.name.clone(),
            offset: 0,
            bytes: Vec::new(),
        });
        let empty = empty.collect();
        self.files = Some(files);
        self.skip_whole()?;
        Ok(empty)
    }

    /// A piece has come.
    pub(crate) fn piece(
        &mut self,
        number: u16,
        offset: u64,
        bytes: Vec<u8>,
    ) -> Result<Option<Arrived>, String> {
        self.is_asked = false;
        let file = self.files.as_mut().and_then(|files| files.get_mut(self.current));
        let Some(file) = file.filter(|_| usize::from(number) == self.current) else {
            return Ok(None);
        };
        if offset != file.have || bytes.is_empty() {
            return Err(format!("{}: a piece is missing", file.entry.name));
        }
        if bytes.len() as u64 > file.entry.bytes - file.have {
            return Err(format!("{} has grown meanwhile", file.entry.name));
        }
        file.have += bytes.len() as u64;
        file.sum.update(&bytes);
        let name = file.entry.name.clone();
        self.skip_whole()?;
        Ok(Some(Arrived { name, offset, bytes }))
    }

    /// Goes on to the next file while all bytes of one are here.
    fn skip_whole(&mut self) -> Result<(), String> {
        let files = self.files.as_mut().expect("it is called after the list");
        while let Some(file) = files.get_mut(self.current) {
            if file.have < file.entry.bytes {
                return Ok(());
            }
            if file.sum.clone().finalize() == file.entry.sum {
                self.current += 1;
                continue;
            }
            file.tries += 1;
            if file.tries == TRIES || file.entry.bytes == 0 {
                return Err(format!("{} is not what the host has", file.entry.name));
            }
            file.have = 0;
            file.sum.reset();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, bytes: &[u8]) -> FileEntry {
        FileEntry { name: name.to_owned(), bytes: bytes.len() as u64, sum: crc32fast::hash(bytes) }
    }

    #[test]
    fn a_folder_comes_by_pieces_and_goes_on_where_it_stopped() {
        let mut folder = Folder::default();
        assert_eq!(folder.ask(), Some(ToAgent::List));
        assert_eq!(folder.ask(), None);
        let list = vec![entry("a", b"12345"), entry("empty", b""), entry("b", b"6")];
        let empty = folder.list(list, 100).unwrap();
        assert_eq!(empty.len(), 1);
        assert_eq!(folder.ask(), Some(ToAgent::Read { file: 0, offset: 0 }));
        folder.piece(0, 0, b"123".to_vec()).unwrap();
        assert_eq!(folder.ask(), Some(ToAgent::Read { file: 0, offset: 3 }));
        folder.reconnected();
        assert_eq!(folder.ask(), Some(ToAgent::Read { file: 0, offset: 3 }));
        folder.piece(0, 3, b"45".to_vec()).unwrap();
        assert_eq!(folder.ask(), Some(ToAgent::Read { file: 2, offset: 0 }));
        assert!(!folder.is_whole());
        folder.piece(2, 0, b"6".to_vec()).unwrap();
        assert!(folder.is_whole());
        assert_eq!(folder.ask(), None);
    }

    #[test]
    fn a_file_that_came_wrong_is_fetched_once_more() {
        let mut folder = Folder::default();
        folder.list(vec![entry("a", b"12")], 100).unwrap();
        folder.piece(0, 0, b"13".to_vec()).unwrap();
        assert_eq!(folder.ask(), Some(ToAgent::Read { file: 0, offset: 0 }));
        let twice = folder.piece(0, 0, b"13".to_vec());
        assert_eq!(twice, Err("a is not what the host has".to_owned()));
        assert!(!folder.is_whole());
    }

    #[test]
    fn a_hostile_folder_is_refused() {
        let name = |name: &str| Folder::default().list(vec![entry(name, b"1")], 100);
        for hostile in
            ["", ".", "..", "../a", "a/b", "/etc/passwd", "a\nb", "\u{1b}[2J", ".bashrc", "ä"]
        {
            assert!(name(hostile).is_err(), "{hostile:?}");
        }
        assert!(name(&"a".repeat(65)).is_err());
        assert!(name("counters.csv").is_ok());
        let list = |list| Folder::default().list(list, 100);
        assert!(list(vec![entry("a", b"1"), entry("a", b"1")]).is_err());
        let large = |bytes| FileEntry { bytes, ..entry("a", b"") };
        assert!(list(vec![large(101)]).is_err());
        let more = FileEntry { name: "b".to_owned(), ..large(u64::MAX) };
        assert!(list(vec![large(u64::MAX), more]).is_err());
        let many = (0..=FILES_MAX).map(|at| entry(&at.to_string(), b"")).collect();
        assert!(list(many).is_err());
        let mut grown = Folder::default();
        grown.list(vec![entry("a", b"12")], 100).unwrap();
        assert!(grown.piece(0, 0, b"123".to_vec()).is_err());
        assert!(grown.piece(0, 0, Vec::new()).is_err(), "it would be asked for ever");
    }
}
