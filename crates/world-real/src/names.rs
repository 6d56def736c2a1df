//! System calls for names, lengths and space. Everything here blocks and runs on the helper thread.
//!
//! A file that is written to must have one name: a file with a second name (a hard link) may belong
//! to another test, or to a backup made of links, and is refused.

use std::os::fd::OwnedFd;
use std::path::Path;

use brunt_world::{OpenMode, Space, VolumeError};
use rustix::fs::{self, AtFlags, FallocateFlags, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::backend::Access;
use crate::roots::{LINK, Roots};

/// `f_type` of file systems without a device: tmpfs and ramfs (linux/magic.h).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58F6];

/// The world's error for `error`.
pub(crate) fn refusal(error: Errno) -> VolumeError {
    match error {
        Errno::NOENT => VolumeError::NotFound,
        Errno::EXIST => VolumeError::Exists,
        Errno::NOSPC => VolumeError::NoSpace,
        Errno::DQUOT => VolumeError::Quota,
        Errno::FBIG => VolumeError::FileLimit,
        Errno::ROFS => VolumeError::ReadOnly,
        Errno::MFILE | Errno::NFILE => {
            VolumeError::Other("too many files are open: see `ulimit -n`".to_owned())
        }
        Errno::ACCESS | Errno::PERM => VolumeError::Denied,
        Errno::IO => VolumeError::Device,
        other => VolumeError::Other(other.to_string()),
    }
}

/// Opens `path`, for direct I/O if `direct` is set and the file system supports it.
///
/// Direct I/O is enabled after opening: with `O_DIRECT` in the open call, some file systems create
/// the file and then refuse it.
pub(crate) fn open(
    roots: &Roots,
    path: &Path,
    mode: OpenMode,
    direct: bool,
) -> Result<(OwnedFd, Access), VolumeError> {
    let (folder, name) = roots.holder(path)?;
    // A file that is only read may be anywhere, and may be a link, unless it is in a named folder.
    let (follow, at) = match mode == OpenMode::Read && !roots.hold(path) {
        true => (OFlags::empty(), AtFlags::empty()),
        false => (OFlags::NOFOLLOW, AtFlags::SYMLINK_NOFOLLOW),
    };
    let flags = match mode {
        OpenMode::Read => OFlags::RDONLY,
        OpenMode::Write => OFlags::RDWR,
        OpenMode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
    };
    // Checked before opening: opening a pipe would block until its other end is opened.
    if let Ok(status) = fs::statat(&folder, name, at) {
        check(&status, mode)?;
    }
    let readable = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let flags = flags | follow | OFlags::CLOEXEC;
    let file = fs::openat(&folder, name, flags, readable).map_err(refusal)?;
    check(&fs::fstat(&file).map_err(refusal)?, mode)?;
    let access = if direct {
        make_direct(&file)
    } else {
        Access::Buffered("direct I/O was switched off".into())
    };
    Ok((file, access))
}

/// Checks whether a file with this `status` may be opened in `mode`.
fn check(status: &fs::Stat, mode: OpenMode) -> Result<(), VolumeError> {
    let refuse = |what: String| Err(VolumeError::Other(what));
    match FileType::from_raw_mode(status.st_mode) {
        _ if mode == OpenMode::CreateNew => Ok(()),
        FileType::RegularFile if mode == OpenMode::Write && status.st_nlink > 1 => {
            let names = status.st_nlink;
            refuse(format!(
                "has {names} names (hard links), and brunt writes only to files with one"
            ))
        }
        FileType::RegularFile => Ok(()),
        FileType::Symlink => refuse(LINK.to_owned()),
        _ => refuse("not a regular file".to_owned()),
    }
}

/// Whether files in `folder` bypass the page cache; `None` where that cannot be tried. The file
/// that tries it has no name.
pub fn is_direct(folder: &Path) -> Option<bool> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = fs::open(folder, flags, Mode::RUSR | Mode::WUSR).ok()?;
    Some(matches!(make_direct(&file), Access::Direct { .. }))
}

fn make_direct(file: &OwnedFd) -> Access {
    let in_memory = fs::fstatfs(file)
        .is_ok_and(|status| IN_MEMORY.contains(&u64::try_from(status.f_type).unwrap_or(0)));
    if in_memory {
        return Access::Buffered("the file system keeps files in memory".into());
    }
    let refused =
        |error: Errno| Access::Buffered(format!("the file system refuses direct I/O: {error}"));
    match fs::fcntl_getfl(file).and_then(|flags| fs::fcntl_setfl(file, flags | OFlags::DIRECT)) {
        Err(error) => refused(error),
        Ok(()) => match direct_alignment(file) {
            // According to statx(2) this means that the file does not support it, although the flag
            // was accepted: the page cache would be used.
            Some(0) => refused(Errno::OPNOTSUPP),
            alignment => Access::Direct { alignment },
        },
    }
}

/// Required alignment of direct I/O on `file`, where the kernel reports it (Linux 6.1).
fn direct_alignment(file: &OwnedFd) -> Option<u32> {
    let status = fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let said = StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::DIOALIGN);
    said.then_some(status.stx_dio_offset_align)
}

/// The length of `file` in bytes.
pub(crate) fn length(file: &OwnedFd) -> Result<u64, VolumeError> {
    let status = fs::fstat(file).map_err(refusal)?;
    Ok(status.st_size.unsigned_abs())
}

/// Makes `file` exactly `bytes` long. True if its blocks are reserved, false if the file system
/// cannot reserve them.
///
/// A refusal gives back what was reserved before it: ext4 keeps that, beyond the end of the file.
pub(crate) fn allocate(file: &OwnedFd, bytes: u64) -> Result<bool, VolumeError> {
    let mut reserved = true;
    if bytes > 0 {
        let before = length(file)?;
        match retried(|| fs::fallocate(file, FallocateFlags::empty(), 0, bytes)) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => reserved = false,
            Err(error) => {
                // Truncating to the length that it has frees the blocks behind its end. The refusal
                // counts, not this.
                let _ = retried(|| fs::ftruncate(file, before));
                return Err(refusal(error));
            }
            Ok(()) => {}
        }
    }
    if length(file)? != bytes {
        retried(|| fs::ftruncate(file, bytes)).map_err(refusal)?;
    }
    Ok(reserved)
}

fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Renames `from` to `to`, replacing it.
pub(crate) fn rename(roots: &Roots, from: &Path, to: &Path) -> Result<(), VolumeError> {
    let ((old, from), (new, to)) = (roots.holder(from)?, roots.holder(to)?);
    fs::renameat(&old, from, &new, to).map_err(refusal)
}

/// Removes a file's name.
pub(crate) fn remove(roots: &Roots, path: &Path) -> Result<(), VolumeError> {
    let (folder, name) = roots.holder(path)?;
    fs::unlinkat(&folder, name, AtFlags::empty()).map_err(refusal)
}

/// The names in `directory`, sorted. Bytes that are not UTF-8 are shown as U+FFFD: none of our
/// files has such a name.
pub(crate) fn list(roots: &Roots, directory: &Path) -> Result<Vec<String>, VolumeError> {
    let handle = open_directory(roots, directory)?;
    let mut names = Vec::new();
    for entry in fs::Dir::read_from(handle).map_err(refusal)? {
        let entry = entry.map_err(refusal)?;
        let name = entry.file_name().to_string_lossy();
        if name != "." && name != ".." {
            names.push(name.into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Makes changes to the names in `directory` durable.
pub(crate) fn sync_directory(roots: &Roots, directory: &Path) -> Result<(), VolumeError> {
    let handle = open_directory(roots, directory)?;
    retried(|| fs::fsync(&handle)).map_err(refusal)
}

fn open_directory(roots: &Roots, path: &Path) -> Result<OwnedFd, VolumeError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::openat(roots.folder(path)?, ".", flags, Mode::empty()).map_err(refusal)
}

/// Space on the file system that holds `path`, or would hold it: a missing file counts for its
/// directory.
pub(crate) fn space(path: &Path) -> Result<Space, VolumeError> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let directory = parent.unwrap_or(Path::new("."));
    let (status, holder) = match fs::stat(path) {
        Err(Errno::NOENT) => (fs::stat(directory), directory),
        other => (other, path),
    };
    let status = status.map_err(refusal)?;
    let room = fs::statvfs(holder).map_err(refusal)?;
    Ok(Space {
        free_bytes: room.f_bavail.saturating_mul(room.f_frsize),
        total_bytes: room.f_blocks.saturating_mul(room.f_frsize),
        volume: status.st_dev,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_grows_shrinks_and_reads_as_zero() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (file, _) = open(&Roots::default(), &path, OpenMode::CreateNew, true).unwrap();
        for bytes in [0, 1 << 20, 4096, 0, 8192] {
            allocate(&file, bytes).unwrap();
            assert_eq!(length(&file), Ok(bytes));
        }
        assert_eq!(std::fs::read(path).unwrap(), vec![0; 8192]);
    }

    #[test]
    fn only_regular_files_open() {
        let folder = tempfile::tempdir().unwrap();
        let opened = |path: &Path, mode| open(&Roots::default(), path, mode, true).map(drop);
        let path = folder.path().join("a");
        assert_eq!(opened(&path, OpenMode::Write), Err(VolumeError::NotFound));
        assert_eq!(opened(&path, OpenMode::CreateNew), Ok(()));
        assert_eq!(opened(&path, OpenMode::CreateNew), Err(VolumeError::Exists));
        // Opening a pipe without a writer would block forever.
        let pipe = folder.path().join("pipe");
        fs::mknodat(fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for other in [folder.path(), Path::new("/dev/null"), &pipe] {
            assert!(matches!(opened(other, OpenMode::Read), Err(VolumeError::Other(_))));
        }
    }

    #[test]
    fn a_file_with_two_names_is_read_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::default();
        let [one, two, link] = ["one", "two", "link"].map(|name| folder.path().join(name));
        std::fs::write(&one, "").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let opened = |roots: &Roots, path: &Path, mode| {
            let opened = open(roots, path, mode, true).map(drop);
            opened.map_or_else(|error| error.to_string(), |()| "opened".to_owned())
        };
        for path in [&one, &two] {
            assert!(opened(&roots, path, OpenMode::Write).starts_with("has 2 names"));
        }
        for path in [&one, &two, &link] {
            assert_eq!(opened(&roots, path, OpenMode::Read), "opened");
        }
        remove(&roots, &two).unwrap();
        assert_eq!(opened(&roots, &one, OpenMode::Write), "opened");
        assert_eq!(opened(&roots, &link, OpenMode::Write), LINK);
        assert_eq!(opened(&roots, &link, OpenMode::CreateNew), VolumeError::Exists.to_string());
        let mut named = Roots::default();
        named.add(folder.path()).unwrap();
        assert_eq!(opened(&named, &link, OpenMode::Read), LINK);
        assert_eq!(opened(&named, &one, OpenMode::Read), "opened");
    }

    #[test]
    fn a_file_that_is_not_there_yet_has_its_directorys_space() {
        let folder = tempfile::tempdir().unwrap();
        let of_folder = space(folder.path()).unwrap();
        let of_file = space(&folder.path().join("later.edb")).unwrap();
        assert_eq!(of_folder.volume, of_file.volume);
        assert!(of_folder.total_bytes >= of_folder.free_bytes && of_folder.total_bytes > 0);
        let nowhere = folder.path().join("no/such/folder");
        assert_eq!(space(&nowhere), Err(VolumeError::NotFound));
    }
}
