//! Why a server could not be started, or did not do what was asked of it.

use std::io;
use std::path::PathBuf;

use crate::folder::Unfit;

/// Why there is no server. None of these says anything about mail: a test that meets one has no
/// answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The program is not there. Install the package.
    #[error("{program} is not installed (Debian: apt-get install {package})")]
    NotInstalled {
        /// The program that was looked for.
        program: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// The program does not say a version for which a configuration can be written.
    #[error("{program} says version {said:?}, for which brunt cannot write a configuration")]
    Version {
        /// The program.
        program: &'static str,
        /// Its answer.
        said: String,
    },
    /// The server starts as root only, and the caller is not.
    #[error("{0} starts only as root")]
    NeedsRoot(&'static str),
    /// The system has no user under whom the server could run.
    #[error("{0} is not a user in /etc/passwd, which mail servers ask for the name")]
    NoUser(String),
    /// A server cannot live in the folder.
    #[error("{}: {why}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        why: Unfit,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// What is kept about the servers in their folder cannot be understood.
    #[error("{}: {error}", path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// No certificate can be made.
    #[error("no certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A command cannot be run, failed or took too long.
    #[error("{command}: {why}")]
    Command {
        /// The command.
        command: String,
        /// What became of it, with its last words.
        why: String,
    },
    /// There are no free ports.
    #[error("no free port was found on 127.0.0.1")]
    NoPort,
    /// The server ended, said nothing in time, or another program listens at its port.
    #[error("{server} did not start: {why}")]
    NotStarted {
        /// The server.
        server: &'static str,
        /// Why, with the last words of its log.
        why: String,
    },
    /// The server does not run.
    #[error("{0} is not running")]
    NotRunning(&'static str),
    /// A process of the group outlives SIGKILL: it hangs in the kernel.
    #[error("{0} processes of {1} are still there after SIGKILL")]
    Undead(usize, &'static str),
    /// The server has no process that does this.
    #[error("{server} has no process {service}")]
    NoService {
        /// The server.
        server: &'static str,
        /// The process.
        service: &'static str,
    },
    /// A server keeps its mail on the file system of the run.
    #[error("the server has no file system of its own, whose power could be cut")]
    NoVolume,
    /// The store has no limits of mailboxes that could be lowered.
    #[error(
        "mailboxes of {0} have no limits that could be lowered; those of Dovecot can have them"
    )]
    NoLimits(&'static str),
    /// There is no server with a queue.
    #[error("there is no relay, so there is no queue")]
    NoQueue,
}
