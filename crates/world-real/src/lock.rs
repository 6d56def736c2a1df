//! One run for each folder.
//!
//! An exclusive `flock` on `brunt.lock`, which the kernel drops with the process however it ends. The file holds the number
//! of the process, only so that the message can name it; a file left behind by a crash locks nothing.
//!
//! The file is removed while the lock is still held. Whoever opened it meanwhile then holds the lock of a file without a
//! name, notices, and tries again.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock, fstat, stat};
use rustix::io::Errno;

/// Name of the lock file.
pub const LOCK_FILE: &str = "brunt.lock";

/// How often a lock file that is being removed by its last holder is tried again.
const TRIES: usize = 100;

/// Held for as long as it lives.
#[derive(Debug)]
pub struct FolderLock {
    /// Its lock is released when it is closed.
    _file: fs::File,
    path: PathBuf,
}

/// Why a folder is not ours.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else works in it.
    #[error("{} is in use by {}", folder.display(), name(*holder))]
    Held {
        /// The folder.
        folder: PathBuf,
        /// The process that holds the lock, if it could be read.
        holder: Option<u32>,
    },
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    System {
        /// The lock file.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
}

fn name(holder: Option<u32>) -> String {
    holder.map_or("another process".into(), |pid| format!("process {pid}"))
}

impl FolderLock {
    /// Locks `folder`, which exists.
    ///
    /// # Errors
    /// [`LockError::Held`] at once when another process, or another lock of this one, holds it.
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join(LOCK_FILE);
        let system = |error: io::Error| LockError::System {
            path: path.clone(),
            error,
        };
        for _ in 0..TRIES {
            let mut file = fs::File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(system)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if same_file(&file, &path) => {
                    write_pid(&mut file).map_err(system)?;
                    return Ok(Self { _file: file, path });
                }
                // Removed between our opening and our locking it.
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    return Err(LockError::Held {
                        folder: folder.to_owned(),
                        holder: read_pid(&mut file),
                    });
                }
                Err(error) => return Err(system(error.into())),
            }
        }
        Err(LockError::Held {
            folder: folder.to_owned(),
            holder: None,
        })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Who cannot remove it leaves a file behind that locks nothing.
        let _ = fs::remove_file(&self.path);
    }
}

fn same_file(file: &fs::File, path: &Path) -> bool {
    match (fstat(file), stat(path)) {
        (Ok(open), Ok(named)) => (open.st_dev, open.st_ino) == (named.st_dev, named.st_ino),
        _ => false,
    }
}

fn write_pid(file: &mut fs::File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_pid(file: &mut fs::File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let second = FolderLock::take(folder.path()).unwrap_err();
        let message = format!(
            "{} is in use by process {}",
            folder.path().display(),
            std::process::id()
        );
        assert_eq!(second.to_string(), message);
        drop(first);
        assert!(!folder.path().join(LOCK_FILE).exists());
        FolderLock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_file_left_behind_locks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LOCK_FILE), "123456789\n").unwrap();
        let _lock = FolderLock::take(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(LOCK_FILE)).unwrap();
        assert_eq!(text.trim(), std::process::id().to_string());
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
                        if let Ok(_lock) = FolderLock::take(folder.path()) {
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
        let error = FolderLock::take(Path::new("/no/such/folder")).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/folder/brunt.lock:"));
    }
}
