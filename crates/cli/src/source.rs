//! A scenario's text: from a file, from a pipe, or from stdin for `-`.
//!
//! What is read is bounded: in size, and for a pipe in how long nothing may come. A pipe is opened
//! without waiting for its other end, so one that has no writer is refused like one that is silent.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use brunt_scenario::{Document, Place, Refusal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, read};

/// The text of a scenario.
#[derive(Debug)]
pub struct Source {
    /// What it is called in messages.
    pub name: String,
    pub text: String,
    /// What its relative paths are relative to.
    pub folder: PathBuf,
}

/// The path that means stdin.
const STDIN: &str = "-";
/// Two hundred instances with all their databases take less than a tenth.
const BYTES_MAX: usize = 1 << 20;
/// How long nothing may come.
const SILENCE_MAX: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

impl Source {
    /// What `path` is called in messages.
    pub fn name(path: &Path) -> String {
        match path.as_os_str() == STDIN {
            true => "stdin".to_owned(),
            false => path.display().to_string(),
        }
    }

    /// Reads `path`, which is relative to `working_folder`.
    ///
    /// # Errors
    /// What the system says, or that it is a device, too long, silent for too long, or not UTF-8.
    pub fn read(path: &Path, working_folder: &Path) -> io::Result<Self> {
        let name = Self::name(path);
        if path.as_os_str() == STDIN {
            return Ok(Self {
                name,
                text: bounded(io::stdin().as_fd(), SILENCE_MAX)?,
                folder: working_folder.to_owned(),
            });
        }
        let kind = fs::metadata(path)?.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(io::Error::other("it is a device"));
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let whole = working_folder.join(path);
        let folder = whole.parent().filter(|_| kind.is_file());
        Ok(Self {
            name,
            text: bounded(file.as_fd(), SILENCE_MAX)?,
            folder: folder.unwrap_or(working_folder).to_owned(),
        })
    }

    /// The same, in words for a person who meant a scenario; `hints` are what else to do where there
    /// is none.
    ///
    /// # Errors
    /// [`Refusal`], where [`Self::read`] has an error.
    pub fn of(path: &Path, hints: &[&str]) -> Result<Self, Refusal> {
        let place = Place::file(&Self::name(path));
        let read = std::env::current_dir().and_then(|folder| Self::read(path, &folder));
        let hinted = |refusal: Refusal| hints.iter().fold(refusal, |all, hint| all.hint(*hint));
        read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => hinted(place.refuse("there is no such file")),
            io::ErrorKind::IsADirectory => {
                let inside = path.join("scenario.toml");
                let refusal = place.refuse("is a folder, not a scenario");
                match inside.is_file() {
                    true => refusal.hint(format!("the scenario in it is {}", inside.display())),
                    false => hinted(refusal),
                }
            }
            _ => place.refuse(format!("cannot be read: {error}")),
        })
    }

    /// The document that the text is.
    ///
    /// # Errors
    /// [`Refusal`] when it is not TOML, or its `base` is no file beside it.
    pub fn document(&self) -> Result<Document, Refusal> {
        let read = |path: &Path| Self::read(path, &self.folder).map(|source| source.text);
        Document::open(&self.name, &self.text, &self.folder, &read)
    }
}

fn bounded(file: BorrowedFd<'_>, silence: Timespec) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        let mut awaited = [PollFd::new(&file, PollFlags::IN)];
        match poll(&mut awaited, Some(&silence)) {
            Ok(0) => {
                let said = format!("nothing came for {} s", silence.tv_sec);
                return Err(io::Error::new(io::ErrorKind::TimedOut, said));
            }
            Err(Errno::INTR) => continue,
            other => other?,
        };
        match read(file, &mut piece) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        if bytes.len() > BYTES_MAX {
            let said = "it is longer than 1 MiB, and no scenario is";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, said));
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::io::Write;

    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    fn refusal(path: &Path) -> String {
        let source = Source::read(path, Path::new("/work"));
        source.unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_read_up_to_a_mebibyte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.toml");
        fs::write(&path, vec![b'#'; BYTES_MAX]).unwrap();
        let source = Source::read(&path, Path::new("/work")).unwrap();
        assert_eq!((source.text.len(), &*source.folder), (BYTES_MAX, folder.path()));
        fs::write(&path, vec![b'#'; BYTES_MAX + 1]).unwrap();
        assert!(refusal(&path).contains("longer than 1 MiB"));
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(refusal(&path), "it is not UTF-8");
    }

    #[test]
    fn a_device_is_not_read() {
        for path in ["/dev/zero", "/dev/null"] {
            assert_eq!(refusal(Path::new(path)), "it is a device");
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end_and_refused_when_it_is_silent() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert_eq!(bounded(reader.as_fd(), AT_ONCE).unwrap_err().kind(), io::ErrorKind::TimedOut);
        writer.write_all(b"name = \"x\"").unwrap();
        drop(writer);
        assert_eq!(bounded(reader.as_fd(), AT_ONCE).unwrap(), "name = \"x\"");
    }

    #[test]
    fn a_pipe_without_a_writer_is_silent_and_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = rustix::fs::open(&path, flags, Mode::empty()).unwrap();
        let error = bounded(file.as_fd(), AT_ONCE).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
