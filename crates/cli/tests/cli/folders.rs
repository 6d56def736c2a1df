//! Folders that runs leave in tests.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn only_folder(folder: &Path) -> PathBuf {
    let mut runs = fs::read_dir(folder).unwrap();
    let only = runs.next().unwrap().unwrap().path();
    assert!(runs.next().is_none());
    only
}

/// The lines in which the pages of two sweeps or searches differ; all else is equal.
pub(crate) fn differences(one: &Path, other: &Path) -> Vec<(String, String)> {
    for name in ["scenario.toml", "points.json", "points.csv"] {
        let text = |folder: &Path| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(text(one), text(other), "{name}");
    }
    let page = |folder: &Path| fs::read_to_string(folder.join("report.html")).unwrap();
    let (one, other) = (page(one), page(other));
    assert_eq!(one.lines().count(), other.lines().count());
    let pairs = one.lines().zip(other.lines()).filter(|(one, other)| one != other);
    pairs.map(|(one, other)| (one.to_owned(), other.to_owned())).collect()
}
