//! The folders that a user named, and safe access to what lies below them.
//!
//! ```text
//!   /data -> /mnt/disk7        named by the user: links are their choice, and followed once
//!     |-- log1/                below: our own names; a link among them would redirect a write
//!     |   `-- edb.log
//! ```
//!
//! A named folder is held open from the beginning. Every name below it is reached from that handle,
//! one folder at a time, and none of them may be a link, even if one appears there later.
//!
//! `openat2` does this in one call (`RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`), on Linux 5.6 and
//! later and if a container's seccomp filter allows it. Names are one or two folders deep, so
//! walking is just as good and works everywhere.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use brunt_world::VolumeError;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::names::refusal;

/// The named folders of a test. Without any, links are followed everywhere. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<Arc<Root>>);

#[derive(Debug)]
struct Root {
    path: PathBuf,
    folder: OwnedFd,
}

/// The message about a link below a named folder.
pub(crate) const LINK: &str =
    "is a symbolic link, and brunt follows none below the folders that it is given";

impl Roots {
    /// Adds the folder `path`, which must exist.
    ///
    /// # Errors
    /// The system's error.
    pub fn add(&mut self, path: &Path) -> io::Result<()> {
        let folder = fs::open(path, FOLDER, Mode::empty())?;
        let path = path.to_owned();
        self.0.push(Arc::new(Root { path, folder }));
        Ok(())
    }

    /// Creates the folder `path` below a named one, with any missing parents.
    ///
    /// # Errors
    /// The system's error, or that there is a link on the way.
    pub fn make(&self, path: &Path) -> io::Result<()> {
        let made = self.walk(path, |at, name| {
            let made = fs::mkdirat(at, name, Mode::from_raw_mode(0o777));
            made.or_else(|error| match error {
                Errno::EXIST => Ok(()),
                error => Err(error),
            })
        });
        made.map(drop).map_err(io::Error::other)
    }

    /// Whether `path` is a named folder or lies below one.
    pub fn hold(&self, path: &Path) -> bool {
        self.root(path).is_some()
    }

    /// Opens the folder `path`.
    pub(crate) fn folder(&self, path: &Path) -> Result<OwnedFd, VolumeError> {
        self.walk(path, |_, _| Ok(()))
    }

    /// Opens the folder that holds `path`; returns it with the name in it.
    pub(crate) fn holder<'p>(&self, path: &'p Path) -> Result<(OwnedFd, &'p Path), VolumeError> {
        let name = path.file_name().ok_or(refusal(Errno::ISDIR))?;
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        let folder = self.folder(parent.unwrap_or(Path::new(".")))?;
        Ok((folder, Path::new(name)))
    }

    /// The innermost named folder that holds `path`, and the rest of the path.
    fn root<'p>(&self, path: &'p Path) -> Option<(&Root, &'p Path)> {
        let roots = self.0.iter().filter_map(|root| {
            let below = path.strip_prefix(&root.path).ok()?;
            let is_plain = |part| matches!(part, Component::Normal(_));
            below.components().all(is_plain).then_some((&**root, below))
        });
        roots.max_by_key(|(root, _)| root.path.components().count())
    }

    /// Walks to the folder `path`, calling `before` for each folder on the way below the named one.
    fn walk(
        &self,
        path: &Path,
        before: impl Fn(&OwnedFd, &Path) -> Result<(), Errno>,
    ) -> Result<OwnedFd, VolumeError> {
        let Some((root, below)) = self.root(path) else {
            return fs::open(path, FOLDER, Mode::empty()).map_err(refusal);
        };
        let mut at = fs::openat(&root.folder, ".", FOLDER, Mode::empty()).map_err(refusal)?;
        for name in below.iter().map(Path::new) {
            before(&at, name).map_err(refusal)?;
            let next = fs::openat(&at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
            at = next.map_err(|error| match is_link(&at, name) {
                true => VolumeError::Other(LINK.to_owned()),
                false => refusal(error),
            })?;
        }
        Ok(at)
    }
}

/// Flags for opening a folder on the way: it need not be readable.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Whether `name` in `folder` is a link.
pub(crate) fn is_link(folder: &OwnedFd, name: &Path) -> bool {
    let status = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    status.is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_lead_to_a_named_folder_and_not_below_it() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        std::fs::create_dir_all(path("disk/log1")).unwrap();
        symlink(path("disk"), path("data")).unwrap();
        symlink(path("disk/log1"), path("disk/log2")).unwrap();
        let mut roots = Roots::default();
        assert!(roots.folder(&path("data/log2")).is_ok(), "nothing is named");
        roots.add(&path("data")).unwrap();
        assert!(roots.hold(&path("data/log1")) && !roots.hold(&path("disk/log1")));
        assert!(!roots.hold(&path("data/../disk")));
        assert!(roots.folder(&path("data/log1")).is_ok());
        let link = Err(VolumeError::Other(LINK.to_owned()));
        assert_eq!(roots.folder(&path("data/log2")).map(drop), link);
        assert_eq!(roots.holder(&path("data/log2/edb.log")).map(drop), link);
        // A folder that the user names directly may be a link.
        roots.add(&path("data/log2")).unwrap();
        assert!(roots.holder(&path("data/log2/edb.log")).is_ok());
    }

    #[test]
    fn folders_are_made_below_a_named_one() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        let mut roots = Roots::default();
        roots.add(home.path()).unwrap();
        for _ in 0..2 {
            roots.make(&path("a/b")).unwrap();
        }
        assert!(path("a/b").is_dir());
        std::fs::create_dir(path("elsewhere")).unwrap();
        symlink(path("elsewhere"), path("link")).unwrap();
        assert_eq!(roots.make(&path("link/c")).unwrap_err().to_string(), LINK);
        assert!(!path("elsewhere/c").exists());
        std::fs::write(path("file"), "").unwrap();
        let said = roots.make(&path("file/c")).unwrap_err().to_string();
        assert!(said.contains("Not a directory"), "{said}");
    }

    #[test]
    fn a_link_that_takes_the_place_of_a_named_folder_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        for name in ["data", "elsewhere"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        let mut roots = Roots::default();
        roots.add(&path("data")).unwrap();
        std::fs::rename(path("data"), path("moved")).unwrap();
        symlink(path("elsewhere"), path("data")).unwrap();
        roots.make(&path("data/log")).unwrap();
        assert!(path("moved/log").is_dir() && !path("elsewhere/log").exists());
    }
}
