//! Why an agent's process cannot do its work.

use std::io;
use std::path::{Path, PathBuf};

/// What is wrong on this host.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A file or folder of the agent cannot be had.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// What the owner of the host allows is not understood, so nothing is allowed.
    #[error("{}: {why}", path.display())]
    Permit { path: PathBuf, why: String },
    /// The other side said nothing that brunt does, or left.
    #[error("{0}")]
    Stream(String),
    /// A run with this id cannot be.
    #[error("{0:?} is no id of a run")]
    RunId(String),
    /// An agent was begun, and does not answer.
    #[error("the agent of this run did not begin: {0}")]
    NotBegun(String),
}

/// What went wrong with `path`.
pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> AgentError {
    move |error| AgentError::File { path: path.to_owned(), error }
}
