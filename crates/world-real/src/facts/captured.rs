//! Parts of `/sys`, captured on real kernels, for tests: `F path content` is a file, `L path
//! target` a link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A captured tree, unpacked.
pub(super) struct Captured(tempfile::TempDir);

impl Captured {
    pub(super) fn new(text: &str) -> Self {
        let tree = tempfile::tempdir().unwrap();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(kind @ ("F" | "L")), Some(path)) = (words.next(), words.next()) else {
                continue;
            };
            let path = tree.path().join(path);
            let content = words.next().unwrap_or_default();
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match kind {
                "F" => fs::write(path, format!("{content}\n")).unwrap(),
                _ => symlink(content, path).unwrap(),
            }
        }
        Self(tree)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(Path::new(path))
    }
}
