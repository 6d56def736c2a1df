//! Folders of a test: made where the scenario allows it, and locked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brunt_world_real::{FolderLock, LockError, Roots};

use brunt_scenario::Scenario;

/// Why folders cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A folder cannot be made.
    #[error("{}: {error}", path.display())]
    Make {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Another run works in a folder.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// What a test holds while it runs.
pub struct Prepared {
    /// The folders that the scenario names. No link is followed below them.
    pub roots: Roots,
    /// One for each folder that is worked in, for as long as this lives.
    _locks: Vec<FolderLock>,
}

/// Makes the folders that are missing, all of them in the scratch folder, and locks every folder
/// that is worked in.
///
/// # Errors
/// [`PrepareError`] for the first folder that cannot be made or is in use.
pub fn prepare(scenario: &Scenario) -> Result<Prepared, PrepareError> {
    let mut roots = Roots::default();
    if let Some(scratch) = &scenario.scratch {
        let path = &scratch.value;
        fs::create_dir_all(path).and_then(|()| roots.add(path)).map_err(make(path))?;
    }
    let mut folders = BTreeMap::new();
    for path in worked_in(scenario) {
        match roots.hold(path) {
            true => roots.make(path),
            false => roots.add(path),
        }
        .map_err(make(path))?;
        let status = fs::metadata(path).map_err(make(path))?;
        // One folder may have several names; it has one lock.
        folders.insert((status.dev(), status.ino()), path);
    }
    let locks = folders.into_values().map(|folder| FolderLock::take(&roots, folder));
    let locks = locks.collect::<Result<_, _>>()?;
    Ok(Prepared { roots, _locks: locks })
}

/// Removes the folders that [`prepare`] makes, where they are empty. They must not be locked any
/// more. A folder that cannot go stays: something is in it, or it is a link, or a volume is mounted
/// there.
pub fn remove_empty(scenario: &Scenario) {
    let Some(scratch) = &scenario.scratch else {
        return;
    };
    let all = worked_in(scenario).flat_map(Path::ancestors);
    let made: BTreeSet<&Path> = all.filter(|at| at.starts_with(&scratch.value)).collect();
    // A folder sorts before those in it.
    for folder in made.into_iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

/// The folders of `scenario` that are there, for a look that makes and locks none.
///
/// # Errors
/// What the system says of a folder that cannot be opened.
pub fn there(scenario: &Scenario) -> io::Result<Roots> {
    let scratch = scenario.scratch.iter();
    let scratch = scratch.map(|scratch| scratch.value.as_path());
    let mut roots = Roots::default();
    for path in scratch.chain(worked_in(scenario)) {
        if path.is_dir() && !roots.hold(path) {
            roots.add(path)?;
        }
    }
    Ok(roots)
}

/// Every folder that a test works in; one may come more than once.
pub fn worked_in(scenario: &Scenario) -> impl Iterator<Item = &Path> {
    let logs = scenario.files().map(|(own, _)| own.log.as_path());
    let databases = scenario.database_files().filter_map(|(one, _)| one.path.parent());
    let copies = scenario.test.copy_to.iter();
    logs.chain(databases).chain(copies.map(|copy| copy.value.as_path()))
}

fn make(path: &Path) -> impl Fn(io::Error) -> PrepareError {
    move |error| PrepareError::Make { path: path.to_owned(), error }
}
