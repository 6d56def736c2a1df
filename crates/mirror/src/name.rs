//! Names on the wire: relative, plain, of bounded length.
//!
//! A name that leads out of the receiver's folder cannot be made. Links below it are not followed,
//! which is up to the receiver's world: its folders are opened name by name.

use std::path::{Component, Path, PathBuf};

/// Bytes of a whole name.
const NAME_MAX: usize = 1024;
/// Bytes of one part: `NAME_MAX` of Linux.
const PART_MAX: usize = 255;

/// A name below a folder; empty for the folder itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(String);

impl Name {
    /// The name that `path` has below `folder`; `None` when it lies elsewhere.
    pub(crate) fn below(folder: &Path, path: &Path) -> Option<Self> {
        let name = path.strip_prefix(folder).ok()?;
        Self::parse(name.to_str()?)
    }

    /// The name `text`; `None` when it is not plain.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_plain = |part: &str| {
            let path = Path::new(part);
            let mut components = path.components();
            let is_normal = matches!(components.next(), Some(Component::Normal(_)));
            is_normal && components.next().is_none() && part.len() <= PART_MAX
        };
        let fits = text.len() <= NAME_MAX && !text.contains('\0');
        let plain = text.is_empty() || text.split('/').all(is_plain);
        (fits && plain).then(|| Self(text.to_owned()))
    }

    /// As text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the folder itself.
    pub(crate) fn is_folder(&self) -> bool {
        self.0.is_empty()
    }

    /// Its path in `folder`.
    pub(crate) fn in_folder(&self, folder: &Path) -> PathBuf {
        match self.is_folder() {
            true => folder.to_owned(),
            false => folder.join(&self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_below_the_folder_pass() {
        for good in ["", "edb.log", "log1/edb00001.log", "db/..edb", "a/b/c"] {
            let name = Name::parse(good).unwrap();
            assert_eq!(name.as_str(), good);
            assert!(name.in_folder(Path::new("/b")).starts_with("/b"));
        }
        let long = "x".repeat(256);
        let deep = "x/".repeat(600) + "x";
        for bad in [
            "/",
            "/etc/passwd",
            "..",
            "a/..",
            "../a",
            ".",
            "a/./b",
            "a//b",
            "a/",
            "a\0b",
            &long,
            &deep,
        ] {
            assert_eq!(Name::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_path_elsewhere_has_no_name() {
        let below = |path: &str| Name::below(Path::new("/a"), Path::new(path));
        assert_eq!(below("/a/log/edb.log"), Name::parse("log/edb.log"));
        assert_eq!(below("/a"), Name::parse(""));
        assert_eq!(below("/ab/edb.log"), None);
        assert_eq!(below("/a/../etc"), None);
    }
}
