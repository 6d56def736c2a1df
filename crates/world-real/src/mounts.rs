//! File systems of our own, which can lose what was not synced as if the power had failed.
//!
//! ```text
//!   program --> mount namespace of its own --> ext4 --> loop device --> a file
//! ```
//!
//! The namespace lives as long as a process in it. Whatever ends this program, also SIGKILL, the
//! kernel unmounts the file systems and frees their devices with its last process: nothing is left to
//! clean up, and other processes do not see them.

#![expect(
    unsafe_code,
    reason = "a namespace and a shutdown have no safe wrappers; each block says why it is sound"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::mount::{MountPropagationFlags, mount_change};

/// `EXT4_IOC_SHUTDOWN` of the kernel's `fs/ext4/ext4.h`: `_IOR('X', 125, __u32)`.
const SHUTDOWN: u32 = 0x8004_587D;
/// Without writing the journal out first.
static NO_LOG_FLUSH: u32 = 2;

/// Gives this thread, and the threads and processes that it starts from now on, mounts of their
/// own. Nothing that they mount is seen elsewhere.
///
/// # Errors
/// What the system says: it needs root with the right to mount.
pub fn make_private() -> io::Result<()> {
    // SAFETY: no memory is passed, and file descriptors stay shared as before.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let flags = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    Ok(mount_change("/", flags)?)
}

/// Cuts the power of the ext4 file system mounted at `at`: from now on it takes no writes, and what
/// was neither synced nor written to its device by itself is lost. It has to be mounted anew.
///
/// # Errors
/// What the system says: another file system may not know how.
pub fn cut_power(at: &Path) -> io::Result<()> {
    let folder = File::open(at)?;
    // SAFETY: the kernel reads four bytes at the pointer, which outlives the call.
    match unsafe {
        libc::ioctl(folder.as_raw_fd(), SHUTDOWN as libc::Ioctl, &raw const NO_LOG_FLUSH)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
