//! The runs of the folders that a console was given.
//!
//! ```text
//!   runs/A   ended, and seen no change since     its result.json, read once
//!   runs/B   no result yet                       followed (see `follow`)
//!   runs/C   unreadable                          named, with the reason
//! ```
//!
//! One thread looks again and again, and publishes a [`Shelf`]; pages are made of the newest one. What
//! has not changed is not read again. Folders come from anywhere: links are not followed, and at most
//! [`RUNS_MAX`] runs are shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use brunt_report::{RunResult, result_in};

use crate::follow::{Followed, Seen, has_result, is_run};

/// Runs that are shown; the newest, by their names.
const RUNS_MAX: usize = 2_000;

/// All runs at one moment, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    pub(crate) runs: BTreeMap<String, Book>,
    /// Runs that were left out, because there are too many.
    pub(crate) left_out: usize,
    /// Grows with every change.
    pub(crate) version: u64,
}

/// A run on the shelf.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    pub(crate) folder: PathBuf,
    pub(crate) known: Known,
}

#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// It ended, as its `result.json` says; `None` for work that is not one run.
    Ended(Option<Arc<RunResult>>),
    /// It is followed.
    Seen(Arc<Seen>),
    /// It is not read yet.
    New,
    /// Why it cannot be read.
    Unreadable(String),
}

/// Keeps the shelf.
pub(crate) struct Library {
    folders: Vec<PathBuf>,
    known: BTreeMap<String, Kept>,
    shelf: Shelf,
}

struct Kept {
    folder: PathBuf,
    /// Its result when it was seen to have ended.
    ended: Option<Written>,
    followed: Option<Followed>,
    /// Why it could not be read the last time.
    why: Option<String>,
}

/// When a result was written, and its length; `None` for work that has another one.
type Written = Option<(SystemTime, u64)>;

impl Library {
    /// Of the runs below `folders`; a folder of a run stands for itself.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, known: BTreeMap::new(), shelf: Shelf::default() }
    }

    /// What is known now.
    pub(crate) fn shelf(&self) -> Shelf {
        self.shelf.clone()
    }

    pub(crate) fn version(&self) -> u64 {
        self.shelf.version
    }

    /// Looks which runs there are; returns those that are gone. What is new is not read yet.
    pub(crate) fn find(&mut self) -> Vec<String> {
        let (found, left_out) = found(&self.folders);
        let is_gone = |name: &String, kept: &mut Kept| found.get(name) != Some(&kept.folder);
        let gone: Vec<String> = self.known.extract_if(.., is_gone).map(|(name, _)| name).collect();
        let mut changed = !gone.is_empty() || left_out != self.shelf.left_out;
        self.shelf.runs.retain(|name, _| self.known.contains_key(name));
        self.shelf.left_out = left_out;
        for (name, folder) in found {
            if self.known.contains_key(&name) {
                continue;
            }
            changed = true;
            let book = Book { folder: folder.clone(), known: Known::New };
            self.shelf.runs.insert(name.clone(), book);
            self.known.insert(name, Kept { folder, ended: None, followed: None, why: None });
        }
        self.shelf.version += u64::from(changed);
        gone
    }

    /// Looks at every run; returns those that are followed and have changed.
    pub(crate) fn look(&mut self, now: Instant) -> Vec<Arc<Seen>> {
        let mut changed = Vec::new();
        for (name, kept) in &mut self.known {
            let Some(known) = kept.look(name, now) else { continue };
            if let Known::Seen(seen) = &known {
                changed.push(Arc::clone(seen));
            }
            let book = Book { folder: kept.folder.clone(), known };
            self.shelf.runs.insert(name.clone(), book);
            self.shelf.version += 1;
        }
        changed
    }
}

impl Kept {
    /// What is known of it, if that has changed.
    fn look(&mut self, name: &str, now: Instant) -> Option<Known> {
        if self.followed.is_none() {
            let written = written(&self.folder);
            if self.ended == Some(written) {
                return None;
            }
            if has_result(&self.folder) {
                self.ended = Some(written);
                let result = result_in(&self.folder).ok().filter(RunResult::is_finished);
                return Some(Known::Ended(result.map(Arc::new)));
            }
        }
        let new = || Followed::new(name.to_owned(), self.folder.clone(), now);
        let looked = self.followed.get_or_insert_with(new).look(now);
        match looked {
            Ok(None) => None,
            Ok(Some(seen)) => {
                self.why = None;
                Some(Known::Seen(Arc::new(seen.clone())))
            }
            Err(error) => {
                let why = error.to_string();
                let is_new = self.why.replace(why.clone()).is_none_or(|before| before != why);
                is_new.then_some(Known::Unreadable(why))
            }
        }
    }
}

/// When the result of the run in `folder` was written, and its length.
fn written(folder: &Path) -> Written {
    let found = fs::symlink_metadata(folder.join("result.json")).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// The folders of runs by their names, and how many were left out. Of two with the same name the
/// second gets a number.
fn found(folders: &[PathBuf]) -> (BTreeMap<String, PathBuf>, usize) {
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if is_run(folder) {
            all.push(folder.clone());
            continue;
        }
        let inside = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> =
            inside.map(|entry| entry.path()).filter(|path| is_run(path)).collect();
        runs.sort();
        all.append(&mut runs);
    }
    all.sort_by(|one, other| other.file_name().cmp(&one.file_name()));
    let left_out = all.len().saturating_sub(RUNS_MAX);
    all.truncate(RUNS_MAX);
    let mut named = BTreeMap::new();
    for folder in all {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = (2..).map(|number| format!("{name}~{number}"));
        let free =
            std::iter::once(name.clone()).chain(names).find(|name| !named.contains_key(name));
        named.insert(free.expect("numbers do not end"), folder);
    }
    (named, left_out)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::made;

    #[test]
    fn what_has_not_changed_is_no_news() {
        let home = tempfile::tempdir().unwrap();
        let kept = include_str!("../../report/tests/report/result_v2.json");
        let ended = made::folder(home.path(), "ended", &made::journal(&made::records(1)));
        fs::write(ended.join("result.json"), kept).unwrap();
        // A sweep has no `result.json`.
        let sweep = made::folder(home.path(), "sweep", &made::journal(&made::records(1)));
        fs::remove_file(sweep.join("result.json")).unwrap();
        fs::write(sweep.join("points.json"), "{}").unwrap();
        made::folder(home.path(), "foreign", b"not a journal\n");
        let mut library = Library::new(vec![home.path().to_owned()]);
        let now = Instant::now();
        library.find();
        library.look(now);
        let version = library.version();
        let is_known = |known: &Known| !matches!(known, Known::New);
        assert!(library.shelf().runs.values().all(|book| is_known(&book.known)));
        for seconds in 1..4 {
            library.find();
            assert!(library.look(now + Duration::from_secs(60 * seconds)).is_empty());
        }
        assert_eq!(library.version(), version);
    }
}
