//! What a direct write does: whether it bypasses the page cache, or goes through it in spite of
//! `O_DIRECT`.
//!
//! Some file systems accept `O_DIRECT` and write through the cache all the same: btrfs to files
//! with checksums since Linux 6.15, ext4 with its data in the journal. They may drop the pages
//! afterwards, so that nothing is left to be seen. A mapped page shows it:
//!
//! ```text
//!   write a block, map it, touch it: its page is in the cache
//!   write it again:   direct                       through the cache
//!                     the page is stale, and goes  the page is the one written, and stays because it is mapped
//! ```
//!
//! The file that is written has no name (`O_TMPFILE`): nothing is left of it. Where that is not
//! possible, nothing is known.

#![expect(
    unsafe_code,
    reason = "maps a page and asks the kernel about it; each block says why it is sound"
)]

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, IFlags, Mode, OFlags};
use rustix::io::pwrite;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

const BLOCK: usize = 4096;

#[repr(align(4096))]
struct Block([u8; BLOCK]);

/// Whether direct writes in `folder`, which must exist, go through the page cache: to new files, or
/// to one that is like `file`. `None` where direct I/O is refused, or nothing can be seen.
pub fn direct_writes_are_cached(folder: &Path, file: Option<&Path>) -> Option<bool> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let trial = fs::open(folder, flags, Mode::RUSR | Mode::WUSR).ok()?;
    if let Some(like) = file {
        copy_flag(like, &trial);
    }
    let flags = fs::fcntl_getfl(&trial).ok()?;
    fs::fcntl_setfl(&trial, flags | OFlags::DIRECT).ok()?;
    stays(&trial)
}

/// A file keeps the flag of `chattr +C` that its folder had when it was made.
fn copy_flag(like: &Path, trial: &OwnedFd) {
    let Ok(like) = fs::open(like, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    if let (Ok(like), Ok(own)) = (fs::ioctl_getflags(&like), fs::ioctl_getflags(trial)) {
        let wanted = (own - IFlags::NOCOW) | (like & IFlags::NOCOW);
        if wanted != own {
            // Where it cannot be set, the trial is one of a new file.
            let _ = fs::ioctl_setflags(trial, wanted);
        }
    }
}

/// Whether a page of the empty file `trial` stays in the cache when it is written.
fn stays(trial: &OwnedFd) -> Option<bool> {
    let block = Box::new(Block([0x5a; BLOCK]));
    let write = || (pwrite(trial, &block.0, 0) == Ok(BLOCK)).then_some(());
    write()?;
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing, and nothing
    // refers to its bytes.
    let page =
        unsafe { mmap(std::ptr::null_mut(), BLOCK, ProtFlags::READ, MapFlags::SHARED, trial, 0) }
            .ok()?;
    let is_cached = || {
        let mut resident = 0_u8;
        // SAFETY: the mapping is there, and one page has one byte of answer.
        let asked = unsafe { libc::mincore(page, BLOCK, &raw mut resident) };
        (asked == 0).then_some(resident & 1 == 1)
    };
    // SAFETY: reading a page of the mapping in changes no byte of it. Before Linux 5.14 the call
    // fails.
    let touched = unsafe { madvise(page, BLOCK, Advice::LinuxPopulateRead) }.is_ok();
    let stays =
        (touched && is_cached() == Some(true)).then(write).flatten().and_then(|()| is_cached());
    // SAFETY: it is the mapping made above, and nothing refers to it any more.
    let _ = unsafe { munmap(page, BLOCK) };
    stays
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_through_the_cache_is_told_from_a_direct_one() {
        let file = || OwnedFd::from(tempfile::tempfile_in(".").unwrap());
        assert_eq!(stays(&file()), Some(true), "not opened for direct I/O");
        let direct = file();
        let flags = fs::fcntl_getfl(&direct).unwrap();
        if fs::fcntl_setfl(&direct, flags | OFlags::DIRECT).is_ok() {
            // The sources lie on a file system that writes directly, or nothing can be seen.
            assert_ne!(stays(&direct), Some(true));
        }
        assert_eq!(direct_writes_are_cached(Path::new("/no/such"), None), None);
    }
}
