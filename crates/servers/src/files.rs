//! Files and folders of servers: made with their rights, and given to the user who needs them.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use crate::error::ServerError;
use crate::user::User;

/// Bytes of the end of a log that are read for its last words.
const TAIL_MAX: u64 = 8 << 10;
/// Lines of them that are shown, and their characters.
const LINES_SHOWN: usize = 3;
const SHOWN_MAX: usize = 500;

pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> ServerError {
    let path = PathBuf::from(path);
    move |error| ServerError::File { path, error }
}

/// Makes the folder `path` for `user`, unless it is there.
pub(crate) fn folder(path: &Path, mode: u32, user: &User) -> Result<(), ServerError> {
    DirBuilder::new().recursive(true).mode(mode).create(path).map_err(at(path))?;
    give(path, user)
}

/// Writes `text` as the file `path` of `user`, in the place of an older one.
pub(crate) fn write(path: &Path, mode: u32, user: &User, text: &str) -> Result<(), ServerError> {
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(at(&new))?;
    give(&new, user)?;
    fs::rename(&new, path).map_err(at(path))
}

/// Opens `log` for what a program says at its start.
pub(crate) fn log(log: &Path) -> Result<fs::File, ServerError> {
    write(log, 0o644, &User::caller(), "")?;
    OpenOptions::new().append(true).open(log).map_err(at(log))
}

fn give(path: &Path, user: &User) -> Result<(), ServerError> {
    match user.is_caller() {
        true => Ok(()),
        false => chown(path, Some(user.uid), Some(user.gid)).map_err(at(path)),
    }
}

/// The last lines of a log as the end of a sentence; nothing if it has none.
pub(crate) fn last_words(log: &Path) -> String {
    let tail = || {
        let mut file = OpenOptions::new().read(true).open(log).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX))).ok()?;
        let mut bytes = Vec::new();
        file.take(TAIL_MAX).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    last_lines(&tail().unwrap_or_default())
}

/// The last lines of `words` that say something, in one.
pub(crate) fn last_lines(words: &str) -> String {
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("; ");
    let shown: String =
        shown.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let from = shown.chars().count().saturating_sub(SHOWN_MAX);
    shown.chars().skip(from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_words_are_shown() {
        assert_eq!(last_lines("one\ntwo\n\n three\nfour\x1b\n"), "two; three; four ");
        assert_eq!(last_lines(""), "");
        assert_eq!(last_lines(&"x".repeat(9_000)).len(), SHOWN_MAX);
        assert_eq!(last_words(Path::new("/nowhere/at/all")), "");
    }
}
