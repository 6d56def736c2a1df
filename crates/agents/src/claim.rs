//! A run id begins at most once on a host.
//!
//! ```text
//!   STATE/RUN/claim         linked into place once; locked by the keeper; holds the boot it began in
//!   STATE/RUN/status.json   where the run stood at its end
//!   STATE/RUN/socket        where the keeper is attached to
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brunt_fleet::{Claim, Status, is_plain_name};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{AgentError, file};

/// The longest status that is read.
const STATUS_MAX: u64 = 1 << 20;

/// What was found, and what is needed to go on.
pub(crate) enum Found {
    /// The run id is ours: the file is locked, and whoever holds it has the claim.
    Taken(File),
    /// Somebody has it, or had it.
    Known(Claim),
}

/// The folder of `run` below `state`.
pub(crate) fn folder(state: &Path, run: &str) -> Result<PathBuf, AgentError> {
    match is_plain_name(run) {
        true => Ok(state.join(run)),
        false => Err(AgentError::RunId(run.to_owned())),
    }
}

/// Looks at the claim in `folder`, and takes it if nobody ever has.
pub(crate) fn look(folder: &Path, boot: &str) -> Result<Found, AgentError> {
    let path = folder.join("claim");
    loop {
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(claimed) => return known(folder, claimed, boot).map_err(file(&path)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(file(&path)(error)),
        }
        if let Some(claimed) = take(folder, &path, boot).map_err(file(folder))? {
            return Ok(Found::Taken(claimed));
        }
    }
}

/// Links a locked file into place; `None` when somebody else was first.
fn take(folder: &Path, path: &Path, boot: &str) -> io::Result<Option<File>> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let own = folder.join(format!("claim.{}", std::process::id()));
    let _ = fs::remove_file(&own);
    let mut claimed =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&own)?;
    flock(&claimed, FlockOperation::NonBlockingLockExclusive)?;
    claimed.write_all(boot.as_bytes())?;
    claimed.sync_all()?;
    let linked = fs::hard_link(&own, path);
    fs::remove_file(&own)?;
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    }
    sync_folder(folder)?;
    if let Some(above) = folder.parent() {
        sync_folder(above)?;
    }
    Ok(Some(claimed))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn known(folder: &Path, mut claimed: File, boot: &str) -> io::Result<Found> {
    match flock(&claimed, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(Found::Known(Claim::Held)),
        other => other?,
    }
    let mut began_in = String::new();
    claimed.read_to_string(&mut began_in)?;
    let restarted = began_in != boot;
    if let Some(status) = status(folder) {
        return Ok(Found::Known(Claim::Ended { status: Box::new(status), restarted }));
    }
    Ok(Found::Known(Claim::Orphaned {
        restarted,
        has_folder: result_folder(folder).is_some(),
        why: "its process is gone and has left no word".to_owned(),
    }))
}

/// Where the run stood at its end, if it came to one.
fn status(folder: &Path) -> Option<Status> {
    let file = File::open(folder.join("status.json")).ok()?;
    let mut text = String::new();
    file.take(STATUS_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Keeps where the run stood at its end.
pub(crate) fn keep_status(folder: &Path, status: &Status) -> Result<(), AgentError> {
    let (path, next) = (folder.join("status.json"), folder.join("status.new"));
    let text = serde_json::to_vec(status).expect("it has no maps");
    let write = || {
        let mut file = File::create(&next)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&next, &path)?;
        sync_folder(folder)
    };
    write().map_err(file(&path))
}

/// The folder with the run's files: the only one in `out`.
pub(crate) fn result_folder(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder.join("out")).ok()?;
    let mut folders = entries.filter_map(Result::ok).map(|entry| entry.path());
    folders.find(|path| path.symlink_metadata().is_ok_and(|status| status.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_taken_once() {
        let made = tempfile::tempdir().unwrap();
        let folder = folder(made.path(), "run-1").unwrap();
        let Found::Taken(held) = look(&folder, "boot 1").unwrap() else {
            panic!("nobody has it");
        };
        assert!(matches!(look(&folder, "boot 1").unwrap(), Found::Known(Claim::Held)));
        drop(held);
        let after = |boot| match look(&folder, boot).unwrap() {
            Found::Known(Claim::Orphaned { restarted, has_folder: false, .. }) => restarted,
            _ => panic!("it was taken before"),
        };
        assert!(!after("boot 1"));
        assert!(after("boot 2"));
        keep_status(&folder, &Status::default()).unwrap();
        let ended = look(&folder, "boot 1").unwrap();
        assert!(matches!(ended, Found::Known(Claim::Ended { restarted: false, .. })));
    }

    #[test]
    fn of_many_that_look_at_once_one_takes_it() {
        let made = tempfile::tempdir().unwrap();
        let folder = folder(made.path(), "run-1").unwrap();
        // Threads of one process would share the name of the file before it is linked.
        let takers: Vec<_> = (0..20).map(|_| look(&folder, "boot").unwrap()).collect();
        let taken = takers.iter().filter(|found| matches!(found, Found::Taken(_)));
        assert_eq!(taken.count(), 1);
    }

    #[test]
    fn an_id_names_a_folder_and_nothing_else() {
        let state = Path::new("/state");
        for hostile in ["", "..", "a/b", "/etc", ".ssh"] {
            assert!(folder(state, hostile).is_err(), "{hostile:?}");
        }
    }
}
