//! Which servers a test starts: what the user asks for, or what this machine can start.
//!
//! | asked for | root | Postfix | servers |
//! | --- | --- | --- | --- |
//! | nothing | yes | installed | Postfix before Dovecot |
//! | nothing | otherwise | | Exim before Dovecot where Exim is installed |
//! | nothing | otherwise | | Dovecot, mail is sent to it by LMTP |
//! | `dovecot` | | | the same |
//! | `exim`, `cyrus` | | | Exim before Dovecot; Cyrus instead of Dovecot |
//! | `postfix` | needed | needed | Postfix before Dovecot |

use std::fs;
use std::path::{Path, PathBuf};

use brunt_servers::{Format, Installed, MailFsync, Plan, Relay, ServerError, Store, User, unfit};
use rustix::process::geteuid;

use super::LoadError;

/// Where servers live that cannot live in the run folder.
const ELSEWHERE: &str = "/var/tmp";
/// How their names begin there.
const PREFIX: &str = "brunt-";
/// Characters of a run's name in the name of such a folder.
const NAME_MAX: usize = 24;
/// The folder of the servers in the run folder.
const SERVERS: &str = "servers";

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// What can be started.
    Whatever,
    /// Dovecot alone.
    Dovecot,
    /// Postfix before Dovecot.
    Postfix,
    /// Exim before Dovecot.
    Exim,
    /// Cyrus alone.
    Cyrus,
}

/// The plan of the servers that `asked` means on this machine, and what is left out of it and why.
///
/// # Errors
/// [`ServerError`] when a server is missing or needs root.
pub fn choose(
    asked: Asked,
    format: Format,
    fsync: MailFsync,
    users: u32,
) -> Result<(Plan, Option<String>), ServerError> {
    if asked == Asked::Cyrus {
        Installed::cyrus()?;
        return Ok((Plan { store: Store::Cyrus, relay: None, users }, None));
    }
    Installed::dovecot()?;
    let postfix = || {
        Installed::postfix()?;
        match geteuid().is_root() {
            true => Ok(Relay::Postfix),
            false => Err(ServerError::NeedsRoot("Postfix")),
        }
    };
    let (relay, left_out) = match asked {
        Asked::Dovecot | Asked::Cyrus => (None, None),
        Asked::Exim => {
            Installed::exim()?;
            (Some(Relay::Exim), None)
        }
        Asked::Postfix => (Some(postfix()?), None),
        Asked::Whatever => match (postfix(), Installed::exim()) {
            (Ok(relay), _) => (Some(relay), None),
            (Err(_), Ok(_)) => (Some(Relay::Exim), None),
            (Err(why), Err(also)) => (None, Some(format!("a relay: {why}; {also}"))),
        },
    };
    Ok((Plan { store: Store::Dovecot { format, fsync }, relay, users }, left_out))
}

/// A folder for the servers of the run in `run`: in it, or elsewhere with the reason.
///
/// # Errors
/// [`LoadError`] when they cannot live elsewhere either.
pub(super) fn home(run: &Path, plan: &Plan) -> Result<(PathBuf, Option<String>), LoadError> {
    let run = fs::canonicalize(run).map_err(LoadError::at(run))?;
    let mut users = vec![User::of_servers()?];
    if plan.relay == Some(Relay::Postfix) {
        users.push(User::named("postfix")?);
    }
    let why = |home: &Path| users.iter().find_map(|user| unfit(home, user));
    let within = run.join(SERVERS);
    let Some(because) = why(&within) else {
        return Ok((within, None));
    };
    // Sockets of servers have short paths; the number of the process makes it the run's own.
    let name: String =
        run.file_name().unwrap_or_default().to_string_lossy().chars().take(NAME_MAX).collect();
    let elsewhere = Path::new(ELSEWHERE).join(format!("{PREFIX}{name}-{}", std::process::id()));
    match why(&elsewhere) {
        None => Ok((elsewhere, Some(because.to_string()))),
        Some(why) => Err(ServerError::Folder { folder: elsewhere, why }.into()),
    }
}

/// Folders that may be those of servers which could not live in the folder of their run.
pub(super) fn elsewhere() -> Vec<PathBuf> {
    let entries = fs::read_dir(ELSEWHERE).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    named.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_live_elsewhere_where_the_run_folder_is_closed_to_them() {
        let plan = Plan {
            store: Store::Dovecot { format: Format::Sdbox, fsync: MailFsync::Never },
            relay: None,
            users: 2,
        };
        let open = tempfile::tempdir_in("/tmp").unwrap();
        let long = open.path().join("x".repeat(70));
        fs::create_dir(&long).unwrap();
        let (home, why) = home(&long, &plan).unwrap();
        assert!(home.starts_with(ELSEWHERE) && why.unwrap().contains("room for 64"));
    }
}
