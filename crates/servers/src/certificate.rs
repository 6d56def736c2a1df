//! The certificate of throw-away servers: for localhost, signed by itself, made for one test.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ServerError;
use crate::files;
use crate::user::User;

/// Certificate and key as files in PEM.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self { certificate: folder.join("cert.pem"), key: folder.join("key.pem") }
    }

    /// Makes a new one for `user`.
    pub(crate) fn make(&self, user: &User) -> Result<(), ServerError> {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)?;
        files::write(&self.certificate, 0o644, user, &made.cert.pem())?;
        files::write(&self.key, 0o600, user, &made.signing_key.serialize_pem())
    }

    /// Gives `user` the same in other files.
    pub(crate) fn copy(&self, to: &Self, user: &User) -> Result<(), ServerError> {
        for (from, to, mode) in
            [(&self.certificate, &to.certificate, 0o644), (&self.key, &to.key, 0o600)]
        {
            let text = fs::read_to_string(from).map_err(files::at(from))?;
            files::write(to, mode, user, &text)?;
        }
        Ok(())
    }

    /// The certificate in PEM, for clients that trust it.
    pub(crate) fn read(&self) -> Result<String, ServerError> {
        fs::read_to_string(&self.certificate).map_err(files::at(&self.certificate))
    }
}
