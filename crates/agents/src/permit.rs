//! What the owner of a host lets fleets do there: `/etc/brunt/agent.toml`.
//!
//! ```toml
//! folders = ["/mnt/db1", "/mnt/log1"]   # tests may write below these and nowhere else
//! bytes = "2 TiB"                       # files of a test, at most
//! longest = "26h"                       # from its beginning to its end
//! ```
//!
//! What is not said is not restricted, and nothing is ever widened: a test still needs the user's
//! own consent to replace databases. A file that cannot be read or understood allows nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use brunt_units::{ByteSize, Span};
use serde::Deserialize;

use crate::error::AgentError;

/// What is allowed; see the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permit {
    folders: Option<Vec<PathBuf>>,
    bytes: Option<ByteSize>,
    longest: Option<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    folders: Option<Vec<PathBuf>>,
    bytes: Option<String>,
    longest: Option<String>,
}

impl Permit {
    /// What the file at `path` says; everything is allowed without one.
    ///
    /// # Errors
    /// [`AgentError::Permit`] when it is there and cannot be understood.
    pub fn read(path: &Path) -> Result<Self, AgentError> {
        let refused = |why: String| AgentError::Permit { path: path.to_owned(), why };
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(refused),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    /// What `text` says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let bytes = file.bytes.map(|text| text.parse().map_err(|why| format!("bytes: {why}")));
        let longest =
            file.longest.map(|text| text.parse().map_err(|why| format!("longest: {why}")));
        if let Some(folder) = file.folders.iter().flatten().find(|folder| !folder.is_absolute()) {
            return Err(format!("folders: {} does not begin with /", folder.display()));
        }
        Ok(Self { folders: file.folders, bytes: bytes.transpose()?, longest: longest.transpose()? })
    }

    /// How long a test may take.
    pub fn longest(&self) -> Option<Span> {
        self.longest
    }

    /// Why a test may not write `bytes` below `folders` and take so long as it says; `None` if it
    /// may.
    pub fn refusal(&self, folders: &[PathBuf], bytes: ByteSize, lasts: Span) -> Option<String> {
        if let Some(most) = self.bytes.filter(|most| bytes > *most) {
            return Some(format!("it would write {bytes}, and {most} are allowed"));
        }
        if let Some(most) = self.longest.filter(|most| lasts > *most) {
            return Some(format!("it would take {lasts}, and {most} are allowed"));
        }
        let allowed = self.folders.as_ref()?;
        let is_within = |folder: &&PathBuf| {
            let folder = resolved(folder);
            let mut tops = allowed.iter().filter_map(|top| resolved(top));
            folder.is_some_and(|folder| tops.any(|top| folder.starts_with(top)))
        };
        let outside = folders.iter().find(|folder| !is_within(folder))?;
        Some(format!("agent.toml allows no writing to {}", outside.display()))
    }
}

/// Where `path` leads: links are followed as far as there is something, and what is not there yet
/// is plain.
fn resolved(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|at| at.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    let is_plain = |part| matches!(part, Component::Normal(_));
    let real = there.canonicalize().ok()?;
    rest.components().all(is_plain).then(|| real.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_not_restricted() {
        let all = Permit::parse("").unwrap();
        assert_eq!(all, Permit::default());
        let day = Span::seconds(86_400);
        assert_eq!(all.refusal(&["/anywhere".into()], ByteSize::gib(9_999), day), None);
    }

    #[test]
    fn bytes_and_hours_are_bounded() {
        let permit = Permit::parse("bytes = \"1 GiB\"\nlongest = \"2h\"").unwrap();
        let hour = Span::seconds(3_600);
        let refusal = |bytes, lasts| permit.refusal(&["/a".into()], bytes, lasts);
        assert_eq!(refusal(ByteSize::gib(1), hour), None);
        let large = refusal(ByteSize::gib(2), hour).unwrap();
        assert_eq!(large, "it would write 2 GiB, and 1 GiB are allowed");
        assert!(refusal(ByteSize::gib(1), hour * 3).unwrap().contains("take"));
    }

    #[test]
    fn no_link_leads_out_of_a_folder() {
        let made = tempfile::tempdir().unwrap();
        let top = made.path().join("top");
        fs::create_dir_all(top.join("in")).unwrap();
        std::os::unix::fs::symlink("/etc", top.join("out")).unwrap();
        let permit = Permit::parse(&format!("folders = [{:?}]", top.display())).unwrap();
        let may = |folder: &Path| {
            permit.refusal(&[folder.to_owned()], ByteSize::gib(1), Span::ZERO).is_none()
        };
        assert!(may(&top) && may(&top.join("in/new/one")));
        for outside in ["out", "out/new", "../top2", "in/../../x", "new/../../x"] {
            assert!(!may(&top.join(outside)), "{outside}");
        }
        assert!(!may(Path::new("relative")) && !may(Path::new("/")));
        let nowhere = Permit::parse("folders = []").unwrap();
        assert!(nowhere.refusal(&[top], ByteSize::gib(1), Span::ZERO).is_some());
    }

    #[test]
    fn what_is_not_understood_allows_nothing() {
        for wrong in [
            "folder = []",
            "bytes = 3",
            "bytes = \"much\"",
            "longest = \"-1h\"",
            "folders = [\"a\"]",
            "[",
        ] {
            assert!(Permit::parse(wrong).is_err(), "{wrong}");
        }
        let made = tempfile::tempdir().unwrap();
        let path = made.path().join("agent.toml");
        assert_eq!(Permit::read(&path).unwrap(), Permit::default());
        fs::write(&path, "what").unwrap();
        assert!(Permit::read(&path).is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(Permit::read(&path).is_err());
    }
}
