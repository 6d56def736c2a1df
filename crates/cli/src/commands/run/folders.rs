//! Folders of a test: made where the scenario allows it, and locked.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brunt_world_real::{FolderLock, LockError};

use crate::scenario::Scenario;

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

/// Makes the folders that are missing, all of them in the scratch folder, and locks every folder that is worked in.
///
/// # Errors
/// [`PrepareError`] for the first folder that cannot be made or is in use.
pub(super) fn prepare(scenario: &Scenario) -> Result<Vec<FolderLock>, PrepareError> {
    let mut folders = BTreeMap::new();
    let logs = scenario.instances.iter().map(|i| i.log.value.as_path());
    let databases = scenario.databases().filter_map(|d| d.path.value.parent());
    let copies = scenario
        .test
        .copy_to
        .iter()
        .map(|copy| copy.value.as_path());
    for path in logs.chain(databases).chain(copies) {
        let make = |error| PrepareError::Make {
            path: path.to_owned(),
            error,
        };
        if in_scratch(scenario, path) {
            fs::create_dir_all(path).map_err(make)?;
        }
        // One folder may have several names; it has one lock.
        let real = fs::canonicalize(path).map_err(make)?;
        folders.insert(real, path);
    }
    let locks = folders.keys().map(|folder| FolderLock::take(folder));
    locks.collect::<Result<_, _>>().map_err(PrepareError::from)
}

fn in_scratch(scenario: &Scenario, path: &Path) -> bool {
    let scratch = scenario.scratch.as_ref();
    scratch.is_some_and(|scratch| path.starts_with(&scratch.value))
}
