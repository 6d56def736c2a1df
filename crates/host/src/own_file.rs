//! Files of the user that nobody else may read or write: passwords, tokens, commands to run.
//!
//! What is opened is what is judged, and a pipe without a writer is not waited for.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// Which files are taken.
#[derive(Clone, Copy, Debug)]
pub struct OwnFile {
    /// Bits of the mode that must not be set: 0o077 for secrets, 0o022 for what is run.
    pub refused: u32,
    pub follows_links: bool,
    /// Bytes at most.
    pub most: u64,
}

/// Why a file is not taken.
#[derive(Debug)]
pub enum OwnFileError {
    Io(io::Error),
    /// It is a folder, a pipe, or a device.
    NotAFile,
    /// Its mode lets others in.
    Open,
    /// It belongs neither to this user nor to root.
    Foreign,
    TooLong,
}

impl OwnFile {
    /// The text of the file at `path`.
    ///
    /// # Errors
    /// [`OwnFileError`] says why it is not taken.
    pub fn read(self, path: &Path) -> Result<String, OwnFileError> {
        let no_link = if self.follows_links { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = (OFlags::NONBLOCK | no_link).bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = file.map_err(OwnFileError::Io)?;
        let status = file.metadata().map_err(OwnFileError::Io)?;
        if !status.is_file() {
            return Err(OwnFileError::NotAFile);
        }
        if status.mode() & self.refused != 0 {
            return Err(OwnFileError::Open);
        }
        if ![0, geteuid().as_raw()].contains(&status.uid()) {
            return Err(OwnFileError::Foreign);
        }
        let mut text = String::new();
        let length = file.take(self.most + 1).read_to_string(&mut text);
        match length.map_err(OwnFileError::Io)? as u64 > self.most {
            true => Err(OwnFileError::TooLong),
            false => Ok(text),
        }
    }
}
