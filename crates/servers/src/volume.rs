//! A file system of our own below a server: its power can be cut, and it can be full.
//!
//! ```text
//!   home/ store.img --loop device, ext4--> home/dovecot/mail
//!         queue.img ---------------------> home/postfix/queue
//! ```
//!
//! The drive is the kernel's page cache of the image: what ext4 has sent there survives a cut, as on
//! a drive whose write cache has a battery. What ext4 still holds is lost. Every cut proves that on
//! a file that was not synced.
//!
//! Mounts are those of this program and its children alone ([`mounts`]), so nothing stays mounted
//! however it ends.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use brunt_world_real::mounts;
use rustix::fs::{FallocateFlags, fallocate, fstatvfs, syncfs};

use crate::error::ServerError;
use crate::files;
use crate::programs::{command, run};
use crate::user::is_root;

/// How long the system may take to make, mount or unmount a file system.
const MOUNTS_WITHIN: Duration = Duration::from_secs(60);
/// How long a file system may stay busy after its servers were killed.
const IDLE_WITHIN: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// The file that no cut may spare.
const UNSYNCED: &str = ".brunt-unsynced";
/// The file that leaves no room for another byte.
const BALLAST: &str = ".brunt-ballast";
const WORDS: &[u8] = b"written, and never synced\n";

/// A mounted file system. It is unmounted when this is dropped; its servers go first.
pub(crate) struct Volume {
    at: PathBuf,
    image: PathBuf,
}

impl Volume {
    /// Makes a file system of `bytes` in the new file `image`, and mounts it at the folder `at`.
    pub(crate) fn make(image: &Path, at: &Path, bytes: u64) -> Result<Self, ServerError> {
        if !is_root() {
            return Err(ServerError::NeedsRoot("a file system of its own"));
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(image);
        file.and_then(|file| file.set_len(bytes)).map_err(files::at(image))?;
        let mut make = tool("mkfs.ext4", "e2fsprogs")?;
        make.args(["-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1"]);
        run(make.arg(image), MOUNTS_WITHIN)?;
        fs::create_dir_all(at).map_err(files::at(at))?;
        let volume = Self::mounted(image, at)?;
        let _ = fs::remove_dir(at.join("lost+found"));
        Ok(volume)
    }

    /// Mounts the file system in `image`, which was made before.
    pub(crate) fn open(image: &Path, at: &Path) -> Result<Self, ServerError> {
        match is_root() {
            true => Self::mounted(image, at),
            false => Err(ServerError::NeedsRoot("a file system of its own")),
        }
    }

    fn mounted(image: &Path, at: &Path) -> Result<Self, ServerError> {
        mount(image, at)?;
        Ok(Self { at: at.to_owned(), image: image.to_owned() })
    }

    /// Makes everything durable that was written until now.
    pub(crate) fn sync(&self) -> Result<(), ServerError> {
        let synced = File::open(&self.at).and_then(|folder| Ok(syncfs(folder)?));
        synced.map_err(files::at(&self.at))
    }

    /// Writes a file that a cut must lose.
    pub(crate) fn write_unsynced(&self) -> Result<(), ServerError> {
        let path = self.at.join(UNSYNCED);
        fs::write(&path, WORDS).map_err(files::at(&path))
    }

    /// Cuts the power. Servers meet errors from now on.
    pub(crate) fn cut(&self) -> Result<(), ServerError> {
        mounts::cut_power(&self.at).map_err(files::at(&self.at))
    }

    /// Mounts it again after a cut, when no server has it open. Returns whether the file that was not
    /// synced is lost.
    pub(crate) fn power_on(&self) -> Result<bool, ServerError> {
        unmount(&self.at)?;
        mount(&self.image, &self.at)?;
        let path = self.at.join(UNSYNCED);
        let is_lost = fs::read(&path).unwrap_or_default() != WORDS;
        let _ = fs::remove_file(path);
        Ok(is_lost)
    }

    /// Leaves no room.
    pub(crate) fn fill(&self) -> Result<(), ServerError> {
        let path = self.at.join(BALLAST);
        let filled = || {
            let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
            let room = fstatvfs(&file)?;
            let mut piece = room.f_bavail.saturating_mul(room.f_frsize);
            let mut length = file.metadata()?.len();
            // What is free is not all in one piece, and some of it is for the file's own map.
            while piece >= room.f_frsize {
                match fallocate(&file, FallocateFlags::empty(), length, piece) {
                    Ok(()) => length += piece,
                    Err(rustix::io::Errno::NOSPC) => piece = piece.div_euclid(2),
                    Err(error) => return Err(error.into()),
                }
            }
            match file.write_all(&[0; 4096]) {
                Err(error) if error.kind() != ErrorKind::StorageFull => Err(error),
                _ => Ok(()),
            }
        };
        filled().map_err(files::at(&path))
    }

    /// Gives the room back.
    pub(crate) fn free(&self) -> Result<(), ServerError> {
        let path = self.at.join(BALLAST);
        fs::remove_file(&path).map_err(files::at(&path))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // Otherwise it goes with this program.
        let _ = unmount(&self.at);
    }
}

fn mount(image: &Path, at: &Path) -> Result<(), ServerError> {
    let mut mount = tool("mount", "mount")?;
    run(mount.args(["-n", "-t", "ext4", "-o", "loop"]).arg(image).arg(at), MOUNTS_WITHIN).map(drop)
}

/// Processes that were killed a moment ago may still be on their way out.
fn unmount(at: &Path) -> Result<(), ServerError> {
    let until = Instant::now() + IDLE_WITHIN;
    loop {
        let mut unmount = tool("umount", "mount")?;
        match run(unmount.arg("-n").arg(at), MOUNTS_WITHIN) {
            Err(_) if Instant::now() < until => thread::sleep(LOOK),
            ended => return ended.map(drop),
        }
    }
}

fn tool(
    program: &'static str,
    package: &'static str,
) -> Result<std::process::Command, ServerError> {
    let found = crate::programs::found(program);
    let found = found.ok_or(ServerError::NotInstalled { program, package })?;
    Ok(command(&found))
}
