//! Results that take long to make, in a folder of `target`, so that what was interrupted goes on
//! where it was.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::root;

/// The folder of one kind of results.
pub(crate) struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// `name` in `target`.
    pub(crate) fn in_target(name: &str) -> Self {
        Self { folder: root().join("target").join(name) }
    }

    /// The place of result `name`, which is used again only while `origin` is the same.
    pub(crate) fn place(&self, name: &str, origin: &impl Hash) -> Place {
        Place(self.folder.join(format!("{name}-{:016x}.json", hash(origin))))
    }
}

/// The place of one result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// The result, if it is there and whole.
    pub(crate) fn get<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// Keeps a result, which gets its name when it is whole.
    ///
    /// # Errors
    /// Those of creating the folder and writing the file.
    pub(crate) fn put(&self, result: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(result).expect("a result has no maps with odd keys");
        let begun = self.0.with_extension("part");
        self.0.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&begun, text)?;
        fs::rename(&begun, &self.0)
    }
}

/// Equal for what is equal, with the same compiler.
pub(crate) fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_again_only_for_the_same_origin() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept { folder: folder.path().join("results") };
        kept.place("one", &1).put(&"first").unwrap();
        assert_eq!(kept.place("one", &1).get::<String>().as_deref(), Some("first"));
        assert_eq!(kept.place("one", &2).get::<String>(), None);
        assert_eq!(kept.place("two", &1).get::<String>(), None);
    }
}
