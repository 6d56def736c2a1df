//! The files that a scenario reads besides its own: its bases, drive models, traces.
//!
//! Each is read once. Their texts are all that a scenario takes from the machine, so with them it
//! says the same anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Texts by the paths they are read at.
pub type Texts = BTreeMap<PathBuf, String>;

/// The folder that relative paths are relative to, and the texts of files. A clone shares them.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) folder: PathBuf,
    texts: Arc<Mutex<Texts>>,
    /// Whether no other file is read.
    are_all: bool,
}

impl Files {
    /// Those of this machine.
    pub(super) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), texts: Arc::default(), are_all: false }
    }

    /// These and no others.
    pub(super) fn known(folder: &Path, texts: Texts) -> Self {
        Self { folder: folder.to_owned(), texts: Arc::new(Mutex::new(texts)), are_all: true }
    }

    /// Where `path` leads.
    pub(super) fn at(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// The text of the file at `path`.
    pub(super) fn read(&self, path: &Path) -> io::Result<String> {
        if let Some(text) = self.own().get(path) {
            return Ok(text.clone());
        }
        if self.are_all {
            let what = "it is not among the files that were handed over";
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        let text = fs::read_to_string(path)?;
        self.keep(path, &text);
        Ok(text)
    }

    /// Remembers a text that was read elsewhere.
    pub(super) fn keep(&self, path: &Path, text: &str) {
        self.own().insert(path.to_owned(), text.to_owned());
    }

    /// All texts so far.
    pub(super) fn texts(&self) -> Texts {
        self.own().clone()
    }

    fn own(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().expect("nobody panicked")
    }
}
