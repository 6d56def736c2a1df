//! The remains of an interrupted restore in an instance's folders, and how they are handled.
//!
//! | found | then |
//! | --- | --- |
//! | a journal, and copies | the restore is finished |
//! | copies alone | they are removed: their targets have not been touched |
//! | either, with `--new` | they are removed with everything else, the journal last |
//!
//! Nothing is changed here; [`places`] decides.

use std::path::{Path, PathBuf};

use brunt_world::World;

use crate::error::RunError;
use crate::phases::backup::journal::{self, Journal, copy_beside};
use crate::phases::places;
use crate::plan::InstancePlan;

/// Maximum bytes of a journal: tens of thousands of names.
const JOURNAL_BYTES_MAX: u64 = 1 << 20;

/// The remains of a restore.
pub(crate) struct Left {
    /// A restore to finish.
    pub(crate) restore: Option<Journal>,
    /// Files to remove.
    pub(crate) remove: Vec<PathBuf>,
    /// A journal to remove after everything else.
    pub(crate) journal: Option<PathBuf>,
}

/// Looks for remains. All of them are removed when the databases are replaced.
pub(crate) async fn look(
    world: &World,
    instance: &InstancePlan,
    renew: bool,
) -> Result<Left, RunError> {
    let path = journal::journal_path(instance);
    let file = places::beginning(world, &path, JOURNAL_BYTES_MAX).await?;
    let restore = match &file {
        Some((bytes, _)) if !Journal::is_begun(bytes) => return Err(RunError::Foreign(path)),
        Some((bytes, _)) if !renew => Some(check(&path, bytes, instance)?),
        _ => None,
    };
    let mut remove = Vec::new();
    let begun = journal::unfinished_path(instance);
    if let Some((start, _)) = places::beginning(world, &begun, JOURNAL_BYTES_MAX).await? {
        if !places::is_blank(&start) && !Journal::is_begun(&start) {
            return Err(RunError::Foreign(begun));
        }
        remove.push(begun);
    }
    for copy in copies(world, instance).await? {
        let target = copy.to_string_lossy();
        let target = journal::target_of(&target).map(Path::new);
        let target = target.expect("the name of a copy");
        if !places::is_begun(world, &copy, target).await? {
            return Err(RunError::Foreign(copy));
        }
        if restore.is_none() {
            remove.push(copy);
        }
    }
    Ok(Left { restore, remove, journal: file.is_some_and(|_| renew).then_some(path) })
}

fn check(path: &Path, bytes: &[u8], instance: &InstancePlan) -> Result<Journal, RunError> {
    let journal = Journal::read(bytes);
    let journal = journal.ok_or_else(|| RunError::RestoreUnreadable(path.to_owned()))?;
    match journal.is_of(instance) {
        true => Ok(journal),
        false => Err(RunError::OtherRestore(path.to_owned())),
    }
}

/// The copies beside the files of an instance.
async fn copies(world: &World, instance: &InstancePlan) -> Result<Vec<PathBuf>, RunError> {
    let mut copies = Vec::new();
    for database in &instance.databases {
        let copy = copy_beside(&database.path);
        if places::length(world, &copy).await?.is_some() {
            copies.push(copy);
        }
    }
    let names = world.volume.list(&instance.log).await;
    for name in names.map_err(RunError::name(&instance.log))? {
        if journal::target_of(&name).is_some_and(journal::is_log_or_checkpoint) {
            copies.push(instance.log.join(name));
        }
    }
    Ok(copies)
}
