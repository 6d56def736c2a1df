//! Files that a command writes for its user: whole or not at all, and never over another one unless
//! that was asked for.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum NewFileError {
    #[error("{}: is there already, and is left alone\n  name another file, or add --force", .0.display())]
    There(PathBuf),
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Whether `path` means stdout.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes `text` to `path`, which must not be there unless `force` is given. Nothing is written
/// when it means stdout.
///
/// The text is complete in a file beside it before it gets its name, so a full disk leaves nothing
/// half-written.
///
/// # Errors
/// [`NewFileError`]; what was there is still there.
pub fn write(path: &Path, text: &str, force: bool) -> Result<(), NewFileError> {
    if is_stdout(path) {
        return Ok(());
    }
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => NewFileError::There(path.to_owned()),
        _ => NewFileError::Write { path: path.to_owned(), source },
    };
    let is_file = fs::symlink_metadata(path).map(|there| there.file_type().is_file());
    if force && is_file.as_ref().is_ok_and(|is_file| !is_file) {
        let source = io::Error::other("is not a regular file, and is not replaced");
        return Err(refused(source));
    }
    if !force && is_file.is_ok() {
        return Err(NewFileError::There(path.to_owned()));
    }
    let name = format!(".brunt-{}.new", std::process::id());
    let new = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new).map_err(refused)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let named = written.and_then(|()| match force {
        true => fs::rename(&new, path),
        // A link fails where a rename would replace what came meanwhile.
        false => fs::hard_link(&new, path),
    });
    if named.is_err() || !force {
        let _ = fs::remove_file(&new);
    }
    named.map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_when_asked_for_and_nothing_else_is_left() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("design.toml");
        write(&path, "one", false).unwrap();
        let refused = write(&path, "two", false).unwrap_err().to_string();
        assert!(refused.contains("is left alone"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write(&path, "three", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert!(write(&home.path().join("no/such"), "", false).is_err());
    }

    #[test]
    fn links_and_folders_are_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let (target, link) = (home.path().join("target"), home.path().join("link"));
        fs::write(&target, "mine").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for path in [link.as_path(), home.path()] {
            let refused = write(path, "theirs", true).unwrap_err().to_string();
            assert!(refused.contains("is not a regular file"), "{refused}");
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }
}
