//! Why a test of mail servers has no result.

use std::io;
use std::path::{Path, PathBuf};

use brunt_load::{AccountsError, CourseError, TrustError};
use brunt_mail::MailingError;
use brunt_report::FolderError;
use brunt_scenario::Refusal;
use brunt_servers::ServerError;
use brunt_units::ByteSize;
use brunt_world_real::StartError;

use super::target::AccountsFileError;
use crate::handles::TooFew;

/// Why there is no result. None of these says that mail was lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A server is missing, or did not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The course was not begun, or its ledger could not be kept.
    #[error(transparent)]
    Course(#[from] CourseError),
    /// Something is not allowed, or not there.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The accounts of the user's own servers cannot be read.
    #[error(transparent)]
    AccountsFile(#[from] AccountsFileError),
    /// The sessions need more open files.
    #[error(transparent)]
    Handles(#[from] TooFew),
    /// The messages cannot be made.
    #[error(transparent)]
    Mailing(#[from] MailingError),
    /// The accounts cannot be used.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    /// The servers' certificate cannot be used.
    #[error("the certificate of the servers: {0}")]
    Trust(#[from] TrustError),
    /// There is no world to run in.
    #[error(transparent)]
    World(#[from] StartError),
    /// A file of the run folder cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be read or made.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The folder holds no run of mail servers.
    #[error("{}: is not a run of brunt load", .0.display())]
    NoRun(PathBuf),
    /// A run was killed early.
    #[error(
        "the run ended before it sent anything: there is nothing to look for\n  brunt clean RUN removes its servers"
    )]
    NothingSent,
    /// A file of the run cannot be understood.
    #[error("{}: {why}", path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The numbers do not fit together.
    #[error("{0}")]
    Numbers(String),
    /// What fills the mailboxes has no room.
    #[error("{}: mailboxes need {needed}, and there is room for {free}\n  fewer users, or leave --fill out", folder.display())]
    Room {
        /// Where the mailboxes lie.
        folder: PathBuf,
        /// What fills them.
        needed: ByteSize,
        /// What is free.
        free: ByteSize,
    },
    /// The system gives no thread.
    #[error("no thread for the servers: {0}")]
    Thread(io::Error),
}

impl LoadError {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}
