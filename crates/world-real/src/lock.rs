//! One run per folder.
//!
//! An exclusive `flock` on `brunt.lock`, which the kernel releases however the process ends. The
//! file begins with our marker and the process number, for messages; a file left by a crash locks
//! nothing. A file of that name without the marker is foreign: it is neither written to nor
//! removed. An empty file counts as ours, because a crash between creating and writing it leaves
//! one, and nothing is lost with it.
//!
//! The file is removed while the lock is still held. A process that opened it meanwhile gets the
//! lock on a file without a name, detects that, and tries again.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::fs::{flock, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::roots::Roots;

/// Name of the lock file.
pub const LOCK_FILE: &str = "brunt.lock";
/// Start of the file; the process number follows.
const MARKER: &str = "brunt lock of process ";

/// Number of attempts while the last holder is removing the lock file.
const TRIES: usize = 100;

/// A lock on a folder, held until it is dropped.
#[derive(Debug)]
pub struct FolderLock {
    /// Closing it releases the lock.
    file: fs::File,
    folder: OwnedFd,
}

/// Why a folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process is using it.
    #[error("{} is in use by {}", folder.display(), name(*holder))]
    Held {
        folder: PathBuf,
        /// The process that holds the lock, if known.
        holder: Option<u32>,
    },
    /// A foreign file has the lock file's name.
    #[error("{}: is not a file of brunt, so brunt neither writes to it nor removes it\n  move it away: brunt makes a file of this name where it works", .0.display())]
    Foreign(PathBuf),
    /// A system error.
    #[error("{}: {error}", path.display())]
    System {
        /// The lock file.
        path: PathBuf,
        error: io::Error,
    },
}

fn name(holder: Option<u32>) -> String {
    holder.map_or("another process".into(), |pid| format!("process {pid}"))
}

impl FolderLock {
    /// Locks the folder `path`, which must exist.
    ///
    /// # Errors
    /// [`LockError::Held`] at once when another process, or another lock of this one, holds it;
    /// [`LockError::Foreign`] when a foreign file has the name.
    pub fn take(roots: &Roots, path: &Path) -> Result<Self, LockError> {
        let named = path.join(LOCK_FILE);
        let system = |error: io::Error| LockError::System { path: named.clone(), error };
        let folder = roots.folder(path).map_err(|error| system(io::Error::other(error)))?;
        for _ in 0..TRIES {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = openat(&folder, LOCK_FILE, flags, Mode::from_raw_mode(0o644));
            let mut file = match opened {
                Ok(file) if is_regular(&file) => fs::File::from(file),
                Ok(_) | Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
                    return Err(LockError::Foreign(named));
                }
                Err(error) => return Err(system(error.into())),
            };
            let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
            let text = begin(&mut file).map_err(system)?;
            let Some(holder) = text.strip_prefix(MARKER).or(text.is_empty().then_some("")) else {
                return Err(LockError::Foreign(named));
            };
            match locked {
                Ok(()) if is_named(&file, &folder) => {
                    write_pid(&mut file).map_err(system)?;
                    return Ok(Self { file, folder });
                }
                // Removed between opening and locking it.
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    return Err(LockError::Held {
                        folder: path.to_owned(),
                        holder: holder.trim().parse().ok(),
                    });
                }
                Err(error) => return Err(system(error.into())),
            }
        }
        Err(LockError::Held { folder: path.to_owned(), holder: None })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A lock file that cannot be removed locks nothing.
        if is_named(&self.file, &self.folder) {
            let _ = unlinkat(&self.folder, LOCK_FILE, AtFlags::empty());
        }
    }
}

fn is_regular(file: &OwnedFd) -> bool {
    let kind = fstat(file).map(|status| FileType::from_raw_mode(status.st_mode));
    kind == Ok(FileType::RegularFile)
}

/// Whether `file` is the current lock file in `folder`.
fn is_named(file: &fs::File, folder: &OwnedFd) -> bool {
    match (fstat(file), statat(folder, LOCK_FILE, AtFlags::SYMLINK_NOFOLLOW)) {
        (Ok(open), Ok(named)) => (open.st_dev, open.st_ino) == (named.st_dev, named.st_ino),
        _ => false,
    }
}

fn write_pid(file: &mut fs::File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{MARKER}{}", std::process::id())
}

/// The start of a lock file; ours are shorter.
fn begin(file: &mut fs::File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn take(folder: &Path) -> Result<FolderLock, LockError> {
        FolderLock::take(&Roots::default(), folder)
    }

    #[test]
    fn the_second_is_told_who_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path()).unwrap();
        let second = take(folder.path()).unwrap_err();
        let message =
            format!("{} is in use by process {}", folder.path().display(), std::process::id());
        assert_eq!(second.to_string(), message);
        drop(first);
        assert!(!folder.path().join(LOCK_FILE).exists());
        take(folder.path()).unwrap();
    }

    #[test]
    fn a_file_left_behind_locks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        for left in [format!("{MARKER}123456789\n"), String::new()] {
            fs::write(&path, left).unwrap();
            let _lock = take(folder.path()).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text, format!("{MARKER}{}\n", std::process::id()));
        }
    }

    #[test]
    fn what_is_not_ours_is_refused_and_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let [path, victim] = [LOCK_FILE, "victim"].map(|name| folder.path().join(name));
        let is_foreign = || {
            let error = take(folder.path()).unwrap_err();
            assert!(matches!(&error, LockError::Foreign(at) if *at == path), "{error}");
        };
        for text in ["precious", "4711\n", "\0"] {
            fs::write(&path, text).unwrap();
            is_foreign();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
        // Links are not followed, wherever they lead.
        symlink(&victim, &path).unwrap();
        is_foreign();
        assert!(!victim.exists());
        fs::write(&victim, format!("{MARKER}1\n")).unwrap();
        is_foreign();
        assert_eq!(fs::read_to_string(&victim).unwrap(), format!("{MARKER}1\n"));
        assert!(path.is_symlink());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        is_foreign();
    }

    #[test]
    fn what_takes_the_place_of_the_lock_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        let lock = take(folder.path()).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        drop(lock);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn never_two_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let inside = std::sync::atomic::AtomicU32::new(0);
        let taken = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(_lock) = take(folder.path()) {
                            assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                            taken.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = take(Path::new("/no/such/folder")).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/folder/brunt.lock:"));
    }
}
