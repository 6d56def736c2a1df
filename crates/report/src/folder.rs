//! The folder of one run.
//!
//! The name is made of the time and the scenario. The folder is created in one step that fails if
//! the name is taken, so two runs that begin in the same second get two folders. A run never
//! overwrites the files of another run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Timestamp, whole_file};

/// A run's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

/// A folder that cannot be created or written to.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FolderError {
    /// The file or folder concerned.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// The files of a run (see the top of the crate) or of a sweep.
const FILES: [&str; 15] = [
    "scenario.toml",
    "result.json",
    "journal",
    "counters.csv",
    "latency.hlog",
    "events.log",
    "news.jsonl",
    "report.html",
    "points.json",
    "fleet.json",
    "points.csv",
    "comparison.json",
    "load.json",
    "ledger.bin",
    "conversations.log",
];

/// How many runs of the same name may begin in one second.
const NAMESAKES: u32 = 1000;

impl RunFolder {
    /// Creates the folder `<parent>/<time>-<name>`, or the same with `-2`, `-3` and so on.
    /// Characters of `name` that do not belong in file names become dashes.
    ///
    /// # Errors
    /// [`FolderError`] when the operating system refuses.
    pub fn create(parent: &Path, started: Timestamp, name: &str) -> Result<Self, FolderError> {
        let refuse = |path: &Path, source| FolderError { path: path.to_owned(), source };
        fs::create_dir_all(parent).map_err(|source| refuse(parent, source))?;
        let base = format!("{}-{}", started.for_folder(), plain(name));
        for turn in 1..=NAMESAKES {
            let path = match turn {
                1 => parent.join(&base),
                turn => parent.join(format!("{base}-{turn}")),
            };
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refuse(&path, error)),
            }
        }
        Err(refuse(&parent.join(base), io::ErrorKind::AlreadyExists.into()))
    }

    /// The same for a run of the scenario `name` that is of this `kind`: `<time>-<name>-<kind>`.
    ///
    /// # Errors
    /// [`FolderError`] when the operating system refuses.
    pub fn of_kind(
        parent: &Path,
        started: Timestamp,
        name: &str,
        kind: &str,
    ) -> Result<Self, FolderError> {
        match name.ends_with(&format!("-{kind}")) {
            true => Self::create(parent, started, name),
            false => Self::create(parent, started, &format!("{name}-{kind}")),
        }
    }

    /// Whether `name` can be that of a folder within this one, for one part of the run.
    pub fn is_name(name: &str) -> bool {
        !name.starts_with('.') && Path::new(name).file_name().is_some_and(|own| own == name)
    }

    /// The folder of a run that is there.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Creates a folder inside this one, for one part of the run.
    ///
    /// # Errors
    /// [`FolderError`] when it exists or cannot be created.
    pub fn within(&self, name: &str) -> Result<Self, FolderError> {
        let path = self.path.join(name);
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self { path }),
            Err(source) => Err(FolderError { path, source }),
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file atomically. A file that this run wrote under the same name is replaced.
    ///
    /// # Errors
    /// [`FolderError`] when the operating system refuses, or `name` is a link. The old file stays.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let path = self.file(name);
        whole_file::write(&path, bytes).map_err(|source| FolderError { path, source })
    }

    /// Removes the folder of a run that never began. Files that are not part of a run stay, and
    /// then so does the folder.
    pub fn discard(self) {
        for name in FILES {
            // Most of them do not exist.
            let _ = fs::remove_file(self.file(name));
        }
        let _ = fs::remove_dir(&self.path);
    }
}

fn plain(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || c == '_' || c == '-' => c.to_ascii_lowercase(),
            _ => '-',
        })
        .collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "run" } else { plain }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_its_kind_once() {
        let parent = tempfile::tempdir().unwrap();
        let made = |name| {
            let folder =
                RunFolder::of_kind(parent.path(), Timestamp::default(), name, "database-backup");
            folder.unwrap().path().file_name().unwrap().to_string_lossy().into_owned()
        };
        assert!(made("mail").ends_with("-mail-database-backup"));
        assert!(made("my-database-backup").ends_with("00-my-database-backup"));
    }

    #[test]
    fn two_runs_of_one_second_do_not_meet() {
        let parent = tempfile::tempdir().unwrap();
        let started = Timestamp { unix_seconds: 1_000_000_000 };
        let names: Vec<_> = (0..3)
            .map(|_| RunFolder::create(parent.path(), started, "My Demo/1").unwrap())
            .map(|folder| folder.path().file_name().unwrap().to_owned())
            .collect();
        assert_eq!(
            names,
            [
                "2001-09-09-014640-my-demo-1",
                "2001-09-09-014640-my-demo-1-2",
                "2001-09-09-014640-my-demo-1-3"
            ]
        );
    }

    #[test]
    fn no_name_leaves_the_parent() {
        assert_eq!(plain("../../etc"), "etc");
        assert_eq!(plain(".."), "run");
        assert_eq!(plain("a b_c-D"), "a-b_c-d");
    }

    #[test]
    fn discarding_leaves_what_is_not_ours() {
        let parent = tempfile::tempdir().unwrap();
        let folder = || RunFolder::create(parent.path(), Timestamp::default(), "x").unwrap();
        let (ours, theirs) = (folder(), folder());
        for name in ["result.json", "news.jsonl"] {
            ours.write(name, b"{}").unwrap();
        }
        theirs.write("notes.txt", b"mine").unwrap();
        let paths = [&ours, &theirs].map(|folder| folder.path().to_owned());
        ours.discard();
        theirs.discard();
        assert_eq!(paths.map(|path| path.exists()), [false, true]);
    }

    #[test]
    fn a_refusal_names_the_place() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        let error = RunFolder::create(&file, Timestamp::default(), "x").unwrap_err();
        assert!(error.to_string().starts_with(file.to_str().unwrap()));
    }
}
