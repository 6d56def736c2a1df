//! The folders of sites: made and marked by brunt, used by one drill at a time, and emptied
//! afterwards.
//!
//! ```text
//!   /srv/a/                 made if its parent is there; if it is there, it is empty or marked
//!     |-- brunt-site        the mark
//!     |-- brunt.lock        while a drill runs
//!     |-- brunt-run         which drill works in it, where the user's storage replicates
//!     |-- epoch             of the site
//!     `-- files/            databases and logs
//! ```
//!
//! Without the mark nothing in a folder is written or removed. What an earlier drill left is
//! replaced only with consent. The folder of a replica bears the marks that were replicated; those
//! of this run say that it is ours.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use brunt_scenario::{Placed, RealDrill, Refusal};
use brunt_world_real::{FolderLock, LockError, Roots};

use crate::consent::Consent;

/// The name of the mark, and what it says.
const MARK: &str = "brunt-site";
const MARKS: [(&str, bool); 2] = [
    (
        "A site of brunt drill, which made this folder, empties `files` in it, and removes it.\n",
        true,
    ),
    ("A site of brunt drill, which empties `files` in this folder.\n", false),
];
/// The name of the file that says which drill works in a folder.
const RUN: &str = "brunt-run";
/// A file that is made in a replica for a moment: where it is seen at the source as well, both are
/// one.
const PROBE: &str = "brunt-probe";
/// How often a folder is emptied in which files are still made.
const EMPTIED_LOOKS: u32 = 50;
/// The epoch of a site, and the name under which a new one is written.
const EPOCHS: [&str; 2] = ["epoch", "epoch.new"];

/// Why the folders of sites cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SiteFolderError {
    /// A folder is not for a drill.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another drill works in a folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A folder cannot be made, read or emptied.
    #[error("{}: {error}", path.display())]
    System {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A replica is the storage that it was to be a replica of.
    #[error("nothing was replicated: {} is the storage of the source itself", .0.display())]
    IsSource(PathBuf),
    /// There is no folder where a replica was to be.
    #[error("nothing has arrived: {} is not a folder", .0.display())]
    NothingArrived(PathBuf),
    /// A replica is none of this run.
    #[error("nothing of this drill has arrived: {} lacks the file {RUN} of this run", .0.display())]
    OtherRun(PathBuf),
}

/// Looks whether the folders of `drill` may be used. Nothing is written.
///
/// # Errors
/// [`SiteFolderError`] for the first one that may not.
pub fn check(drill: &RealDrill, consent: Consent) -> Result<(), SiteFolderError> {
    check_one(&drill.source, consent)?;
    match drill.remote {
        // It is looked at where it is.
        Some(_) => Ok(()),
        None => check_one(&drill.destination, consent),
    }
}

fn check_one(folder: &Placed<PathBuf>, consent: Consent) -> Result<(), SiteFolderError> {
    let (path, place) = (&folder.value, &folder.place);
    let refuse = |what: &str, hint: &str| Err(place.refuse(what).hint(hint).into());
    let kind = match fs::symlink_metadata(path) {
        Ok(status) => status.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().unwrap_or(Path::new("/"));
            return match parent.is_dir() {
                true => Ok(()),
                false => refuse(
                    &format!("is in a folder that does not exist: {}", parent.display()),
                    "brunt makes the last folder of the path alone; is a volume not mounted?",
                ),
            };
        }
        Err(error) => return Err(system(path)(error)),
    };
    if !kind.is_dir() {
        return refuse("is not a folder", "name one that does not exist yet, or an empty one");
    }
    let entries = names(path)?;
    match mark_of(path).is_some() {
        true if entries.iter().any(|name| name == "files") && !consent.replace => {
            refuse("holds what a drill has left that did not end", "to replace it: --new")
        }
        true => Ok(()),
        false if entries.is_empty() => Ok(()),
        false => refuse(
            "is not empty, and brunt did not make it",
            "name a folder that does not exist yet, or an empty one",
        ),
    }
}

fn names(path: &Path) -> Result<Vec<String>, SiteFolderError> {
    let entries = fs::read_dir(path).map_err(system(path))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let names: Result<Vec<_>, _> = names.collect();
    let names = names.map_err(system(path))?.into_iter();
    Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
}

/// Whether brunt made the folder `path`, if it bears a mark.
fn mark_of(path: &Path) -> Option<bool> {
    let mark = path.join(MARK);
    let status = fs::symlink_metadata(&mark).ok()?;
    let text = fs::read(&mark).ok().filter(|_| status.is_file())?;
    let found = MARKS.iter().find(|(own, _)| own.as_bytes() == text);
    found.map(|(_, was_made)| *was_made)
}

/// The folder of a site, locked. Dropping it empties the folder, and removes it if brunt made it.
pub(super) struct SiteFolder {
    path: PathBuf,
    was_made: bool,
    lock: RefCell<Option<FolderLock>>,
    /// The run whose mark it bears, where the user's storage replicates.
    run: Option<String>,
    /// Where that mark lies.
    place: Option<FilePlace>,
}

/// Where a file lies: equal for two paths to one file, also when its volume was mounted again in
/// between.
type FilePlace = (u64, u64);

impl SiteFolder {
    /// Makes, marks and locks the folder, and empties it.
    pub(super) fn take(
        folder: &Placed<PathBuf>,
        consent: Consent,
    ) -> Result<Self, SiteFolderError> {
        check_one(folder, consent)?;
        let path = folder.value.clone();
        let is_new = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(system(&path)(error)),
        };
        let lock = locked(&path)?;
        let was_made = mark_of(&path);
        if was_made.is_none() {
            let (text, _) = MARKS[usize::from(!is_new)];
            let mark = OpenOptions::new().write(true).create_new(true).open(path.join(MARK));
            let written = mark.and_then(|mut mark| mark.write_all(text.as_bytes()));
            written.map_err(system(&path))?;
        }
        let was_made = was_made.unwrap_or(is_new);
        let taken = Self { path, was_made, lock: Some(lock).into(), run: None, place: None };
        taken.empty()?;
        Ok(taken)
    }

    /// Marks it durably with `run`, so that a replica of it can be told.
    pub(super) fn mark(&mut self, run: &str) -> Result<(), SiteFolderError> {
        let written = || -> io::Result<()> {
            // A link of that name is removed, not followed.
            gone(fs::remove_file(self.path.join(RUN)))?;
            let mark = OpenOptions::new().write(true).create_new(true).open(self.path.join(RUN));
            let mut mark = mark?;
            mark.write_all(run.as_bytes())?;
            mark.sync_all()?;
            File::open(&self.path)?.sync_all()
        };
        written().map_err(system(&self.path))?;
        self.run = Some(run.to_owned());
        let place = place_of(&self.path.join(RUN)).map_err(system(&self.path))?;
        self.place = Some(place);
        Ok(())
    }

    /// Refuses a replica that is `source` itself: the same file, or one into which what is written
    /// here comes.
    ///
    /// # Errors
    /// [`SiteFolderError::IsSource`] when it is.
    pub(super) fn is_not(&self, source: &Self) -> Result<(), SiteFolderError> {
        let is_same_file = self.place.is_some() && self.place == source.place;
        let is_seen = || -> io::Result<bool> {
            let probe = OpenOptions::new().write(true).create_new(true).open(self.path.join(PROBE));
            probe?.sync_all()?;
            let is_seen = fs::symlink_metadata(source.path.join(PROBE)).is_ok();
            fs::remove_file(self.path.join(PROBE))?;
            Ok(is_seen)
        };
        let is_seen = is_seen().map_err(system(&self.path))?;
        match is_same_file || is_seen {
            true => Err(SiteFolderError::IsSource(self.path.clone())),
            false => Ok(()),
        }
    }

    /// Whether its storage can be read: it still bears the mark of its run.
    pub(super) fn is_there(&self) -> bool {
        self.run.as_ref().is_some_and(|run| bears(&self.path, run))
    }

    /// The folder `path`, to which a folder was replicated that is marked with `run`.
    ///
    /// # Errors
    /// [`SiteFolderError`] when nothing of that run is there.
    pub(super) fn arrived(path: &Path, run: &str) -> Result<Self, SiteFolderError> {
        if !fs::symlink_metadata(path).is_ok_and(|status| status.is_dir()) {
            return Err(SiteFolderError::NothingArrived(path.to_owned()));
        }
        if mark_of(path).is_none() || !bears(path, run) {
            return Err(SiteFolderError::OtherRun(path.to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            was_made: false,
            lock: Some(locked(path)?).into(),
            run: Some(run.to_owned()),
            place: place_of(&path.join(RUN)).ok(),
        })
    }

    /// Holds nothing of it open any more, so that its volume can be unmounted.
    pub(super) fn release(&self) {
        self.lock.take();
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Empties and leaves the folder while files may still be made in it, by what is about to end.
    pub(super) fn empty_at_last(self) {
        for _ in 0..EMPTIED_LOOKS {
            if self.empty().is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Removes everything that sites have made in it.
    pub(super) fn empty(&self) -> Result<(), SiteFolderError> {
        // Links in it are removed, not followed.
        gone(fs::remove_dir_all(RealDrill::files(&self.path))).map_err(system(&self.path))?;
        for name in EPOCHS {
            gone(fs::remove_file(self.path.join(name))).map_err(system(&self.path))?;
        }
        Ok(())
    }
}

/// Success also for what was not there.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

impl Drop for SiteFolder {
    fn drop(&mut self) {
        // Where the user's commands were at work, the path may lead to something else by now.
        if let Some(run) = &self.run {
            if !bears(&self.path, run) {
                return;
            }
            if self.lock.borrow().is_none() {
                let Ok(lock) = locked(&self.path) else {
                    return;
                };
                self.lock = Some(lock).into();
            }
        }
        // What cannot be removed now is named by the next drill.
        if self.empty().is_err() {
            return;
        }
        self.release();
        let _ = fs::remove_file(self.path.join(RUN));
        let _ = fs::remove_file(self.path.join(MARK));
        if self.was_made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn locked(path: &Path) -> Result<FolderLock, SiteFolderError> {
    let mut roots = Roots::default();
    roots.add(path).map_err(system(path))?;
    Ok(FolderLock::take(&roots, path)?)
}

/// Where the file `path` lies.
///
/// File systems without a device of their own get another number each time they are mounted (btrfs,
/// ZFS); their own identity stays, and differs for snapshots and clones.
fn place_of(path: &Path) -> io::Result<FilePlace> {
    let status = fs::symlink_metadata(path)?;
    let own = rustix::fs::statvfs(path)?.f_fsid;
    let is_anonymous = rustix::fs::major(status.dev()) == 0;
    Ok(match is_anonymous && own != 0 {
        true => (own, status.ino()),
        false => (status.dev(), status.ino()),
    })
}

/// Whether the folder `path` bears the mark of `run`. A link is none.
fn bears(path: &Path, run: &str) -> bool {
    let mark = path.join(RUN);
    let is_file = fs::symlink_metadata(&mark).is_ok_and(|status| status.is_file());
    is_file && fs::read(&mark).is_ok_and(|text| text == run.as_bytes())
}

fn system(path: &Path) -> impl Fn(io::Error) -> SiteFolderError {
    move |error| SiteFolderError::System { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use brunt_scenario::Place;
    use brunt_world_real::LOCK_FILE;

    use super::*;

    fn placed(path: PathBuf) -> Placed<PathBuf> {
        let place = Place::flag("--set site.source.folder=x");
        Placed { value: path, place }
    }

    fn taken(path: &Path, replace: bool) -> Result<SiteFolder, String> {
        let taken = SiteFolder::take(&placed(path.to_owned()), Consent { replace });
        taken.map_err(|error| error.to_string())
    }

    #[test]
    fn a_folder_is_made_marked_and_removed_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        let site = taken(&path, false).unwrap();
        assert!(mark_of(&path) == Some(true) && path.join(LOCK_FILE).exists());
        let held = taken(&path, false).err().unwrap();
        assert!(held.contains("is in use by"), "{held}");
        fs::create_dir_all(path.join("files/log1")).unwrap();
        fs::write(path.join("files/log1/edb.log"), "x").unwrap();
        drop(site);
        assert!(!path.exists());
        // One that was there stays.
        fs::create_dir(&path).unwrap();
        drop(taken(&path, false).unwrap());
        assert_eq!(names(&path).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn foreign_files_are_left_alone_and_remains_need_consent() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("thesis.doc"), "x").unwrap();
        for replace in [false, true] {
            let refused = taken(&path, replace).err().unwrap();
            assert!(refused.contains("brunt did not make it"), "{refused}");
        }
        // A mark that says something else is none.
        fs::write(path.join(MARK), "x").unwrap();
        assert!(taken(&path, true).is_err());
        fs::remove_file(path.join("thesis.doc")).unwrap();
        fs::write(path.join(MARK), MARKS[1].0).unwrap();
        fs::create_dir(path.join("files")).unwrap();
        let refused = taken(&path, false).err().unwrap();
        assert!(refused.ends_with("to replace it: --new"), "{refused}");
        drop(taken(&path, true).unwrap());
        assert_eq!(names(&path).unwrap(), Vec::<String>::new());
        // One that brunt made goes with what was left in it.
        fs::write(path.join(MARK), MARKS[0].0).unwrap();
        drop(taken(&path, false).unwrap());
        assert!(!path.exists());
        let deep = taken(&home.path().join("no/such"), false).err().unwrap();
        assert!(deep.contains("does not exist"), "{deep}");
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(taken(&file, true).err().unwrap().contains("is not a folder"));
    }

    #[test]
    fn a_replica_is_known_by_the_mark_of_its_run() {
        let home = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| home.path().join(name));
        let mut source = taken(&a, false).unwrap();
        source.mark("run 1").unwrap();
        let replica = |run: &str| SiteFolder::arrived(&b, run).map_err(|why| why.to_string());
        let why = replica("run 1").err().unwrap();
        assert!(why.contains("is not a folder"), "{why}");
        fs::create_dir(&b).unwrap();
        fs::write(b.join("kept"), "x").unwrap();
        for name in [MARK, RUN] {
            let why = replica("run 1").err().unwrap();
            assert!(why.contains("of this run"), "{why}");
            fs::copy(a.join(name), b.join(name)).unwrap();
        }
        assert!(replica("run 2").is_err());
        let arrived = replica("run 1").unwrap();
        arrived.is_not(&source).unwrap();
        fs::create_dir_all(b.join("files/log1")).unwrap();
        drop(arrived);
        assert_eq!(names(&b).unwrap(), ["kept"]);
        // A path that leads to something else by now is left alone, whether or not it is locked.
        source.release();
        fs::remove_file(a.join(RUN)).unwrap();
        fs::create_dir(a.join("files")).unwrap();
        drop(source);
        assert!(a.join("files").exists() && a.join(MARK).exists());
    }

    #[test]
    fn a_replica_that_is_the_source_itself_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| home.path().join(name));
        let mut source = taken(&a, false).unwrap();
        source.mark("run 1").unwrap();
        assert!(source.is_there());
        source.release();
        // As after a bind mount, or when the volume of the source is mounted at the other place.
        fs::rename(&a, &b).unwrap();
        let arrived = SiteFolder::arrived(&b, "run 1").unwrap();
        let why = arrived.is_not(&source).unwrap_err();
        assert!(matches!(why, SiteFolderError::IsSource(_)), "{why}");
        assert!(!source.is_there() && !b.join(PROBE).exists());
        // By another path to the same folder, whatever the file system says of its files.
        let other = SiteFolder {
            path: b.clone(),
            place: None,
            run: None,
            lock: None.into(),
            was_made: false,
        };
        assert!(arrived.is_not(&other).is_err());
        std::mem::forget(other);
    }

    #[test]
    fn links_are_not_followed_when_a_folder_is_emptied() {
        let home = tempfile::tempdir().unwrap();
        let (path, other) = (home.path().join("a"), home.path().join("other"));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("kept"), "x").unwrap();
        let site = taken(&path, false).unwrap();
        fs::create_dir(path.join("files")).unwrap();
        std::os::unix::fs::symlink(&other, path.join("files/link")).unwrap();
        drop(site);
        assert!(other.join("kept").exists() && !path.exists());
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(taken(&path, true).err().unwrap().contains("is not a folder"));
    }
}
