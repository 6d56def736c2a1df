//! Files that appear whole, or not at all.
//!
//! ```text
//!   .brunt-PID-0.new   made, written, synced   --rename-->   name
//! ```
//!
//! Until the rename the old file stays, so a full disk, a kill or a lost host costs only the new
//! one. Neither step follows a link: the new file must not exist, and a rename replaces the name. A
//! link, or anything else that is not a regular file, is refused all the same: it was put there for
//! another purpose.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::html::GENERATOR;

/// Every report names its generator within this distance of its beginning.
const REPORT_HEAD_BYTES: u64 = 512;
/// Names to try; unfinished files of killed programs may occupy some.
const TRIES: u32 = 100;

/// Writes `bytes` to `path`, replacing the regular file that may be there.
///
/// # Errors
/// The error of the system, or that something other than a regular file is there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    read(path)?;
    let process = std::process::id();
    for turn in 0..TRIES {
        let new = path.with_file_name(format!(".brunt-{process}-{turn}.new"));
        let made = OpenOptions::new().write(true).create_new(true).open(&new);
        let mut file = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        };
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written?;
        // If the host dies before the folder is durable, the old file is back, whole.
        let folder = OpenOptions::new().read(true).open(folder_of(path));
        let _ = folder.and_then(|folder| folder.sync_all());
        return Ok(());
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Writes the report `html` to `path`, which may hold nothing or an older report of brunt.
///
/// # Errors
/// The error of the system; [`io::ErrorKind::AlreadyExists`] when something else is there, which
/// stays untouched.
pub fn write_report(path: &Path, html: &str) -> io::Result<()> {
    if let Some(there) = read(path)? {
        let mut begin = Vec::new();
        there.take(REPORT_HEAD_BYTES).read_to_end(&mut begin)?;
        let begin = String::from_utf8_lossy(&begin);
        if !begin.contains(GENERATOR) {
            return Err(taken("is not a report of brunt"));
        }
    }
    write(path, html.as_bytes())
}

/// Writes `bytes` to `path`, which may hold nothing, or a file that `is_ours`.
///
/// # Errors
/// The error of the system; [`io::ErrorKind::AlreadyExists`] when something else is there, which
/// stays untouched.
pub fn write_new(path: &Path, bytes: &[u8], is_ours: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    if let Some(mut there) = read(path)? {
        let mut content = Vec::new();
        there.read_to_end(&mut content)?;
        if !is_ours(&content) {
            return Err(taken("is not a paper of brunt"));
        }
    }
    write(path, bytes)
}

/// Opens the regular file at `path`; `None` when there is none.
///
/// # Errors
/// The error of the system, or that something else is there.
pub(crate) fn read(path: &Path) -> io::Result<Option<impl Read + Seek + Send + use<>>> {
    let no_wait = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(no_wait.cast_signed()).open(path);
    let file = match file {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(_) if path.is_symlink() => return Err(taken("is a symbolic link")),
        Err(error) => return Err(error),
    };
    match file.metadata()?.is_file() {
        true => Ok(Some(file)),
        false => Err(taken("is not a regular file")),
    }
}

/// The error for a name that is taken by something else.
fn taken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

/// Whether the file does not exist; its folder may be missing too, or be a file.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{StoragePage, storage_html};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        // Left by a killed program with the same process id.
        let stale = format!(".brunt-{}-0.new", std::process::id());
        fs::write(folder.path().join(&stale), "half").unwrap();
        for text in ["outline", "whole"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), [&stale, "result.json"]);
    }

    #[test]
    fn links_and_devices_are_refused_and_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, link, dangling] =
            ["victim", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &link).unwrap();
        symlink(folder.path().join("nowhere"), &dangling).unwrap();
        for (path, what) in [
            (&*link, "is a symbolic link"),
            (&dangling, "is a symbolic link"),
            (folder.path(), "is not a regular file"),
            (Path::new("/dev/zero"), "is not a regular file"),
        ] {
            assert_eq!(write(path, b"x").unwrap_err().to_string(), what);
            assert_eq!(read(path).err().unwrap().to_string(), what);
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(names(folder.path()), ["dangling", "link", "victim"]);
    }

    #[test]
    fn a_report_replaces_a_report() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        let page = storage_html(&StoragePage::default());
        let again = format!("{page}<!-- again -->");
        write_report(&path, &page).unwrap();
        write_report(&path, &again).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), again);
        for foreign in ["precious", "", "<!DOCTYPE html>\n<html>"] {
            fs::write(&path, foreign).unwrap();
            let error = write_report(&path, &page).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(error.to_string(), "is not a report of brunt");
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
    }
}
