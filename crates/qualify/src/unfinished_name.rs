//! The names of files that are not finished: a backup has its own name once it is durable.

use std::path::{Path, PathBuf};

/// Suffix of unfinished files.
const MAKING: &str = "-making";

/// The name of a backup file until it is durable.
pub(crate) fn making(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(MAKING);
    name.into()
}

/// The final name of an unfinished backup file; `None` for a finished one.
pub(crate) fn unmade(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?.strip_suffix(MAKING)?;
    Some(name.into())
}
