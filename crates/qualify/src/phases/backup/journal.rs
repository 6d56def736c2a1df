//! The journal of a restore: it replaces one set of files by another, although names change one at
//! a time.
//!
//! A log stream and its databases belong together: databases of one set are damaged by the log of
//! another. So nothing of the old set is touched before the whole new set is there. From then on a
//! restore only goes forward:
//!
//! ```text
//!   one.edb-restoring, edb00007.log-restoring ...   copies beside their targets, synced and compared
//!   brunt-restore.journal                           lists them; from here on the restore will be completed
//!   logs and flush maps of the old set removed, each copy renamed to its target, folders synced
//!   the journal removed
//! ```
//!
//! A start that finds the journal repeats the last two steps, which is safe at any point. A start
//! that finds copies but no journal removes them: the old set is complete.
//!
//! The journal is in the log folder of its instance. It gets its name when it is durable, so an
//! unreadable journal was damaged later. It holds file names without paths; the folders come from
//! the scenario.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::flush_map::path_beside;
use brunt_world::{VolumeError, World};

use super::copying::{volume_error, write_file};
use crate::plan::InstancePlan;

const TITLE: &str = "brunt restore journal 1";
const NAME: &str = "brunt-restore.journal";
const COPY: &str = "-restoring";

/// The files of one instance that a restore puts in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    /// Names of the databases, in the plan's order.
    databases: Vec<String>,
    /// Names of the logs and the checkpoint.
    logs: BTreeSet<String>,
}

/// The path of an instance's journal.
pub(crate) fn journal_path(instance: &InstancePlan) -> PathBuf {
    instance.log.join(NAME)
}

/// The journal's path until it is durable.
pub(crate) fn unfinished_path(instance: &InstancePlan) -> PathBuf {
    instance.log.join(format!("{NAME}-making"))
}

/// The path of a copy until it replaces `target`.
pub(crate) fn copy_beside(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(COPY);
    name.into()
}

/// The name of the target when `name` is that of a copy; `None` otherwise.
pub(crate) fn target_of(name: &str) -> Option<&str> {
    name.strip_suffix(COPY)
}

/// Whether a file of a log folder belongs to a set: a log or the checkpoint, not a reserve log.
pub(crate) fn is_log_or_checkpoint(name: &str) -> bool {
    name.starts_with("edb") && (name.ends_with(".log") || name.ends_with(".chk"))
}

impl Journal {
    /// The journal for the databases of `instance` and these files of its log folder.
    pub(crate) fn new(instance: &InstancePlan, logs: impl IntoIterator<Item = String>) -> Self {
        Self { databases: names(instance), logs: logs.into_iter().collect() }
    }

    /// Whether it restores the databases of `instance`.
    pub(crate) fn is_of(&self, instance: &InstancePlan) -> bool {
        self.databases == names(instance)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("{TITLE}\n");
        for name in &self.databases {
            text += &format!("database {name}\n");
        }
        for name in &self.logs {
            text += &format!("log {name}\n");
        }
        let sum = crc32fast::hash(text.as_bytes());
        format!("{text}crc32 {sum:08x}\n").into_bytes()
    }

    /// Whether a file that starts with these bytes is a journal, readable or not.
    pub(crate) fn is_begun(start: &[u8]) -> bool {
        start.starts_with(TITLE.as_bytes())
    }

    /// Parses a whole journal file; `None` when it is damaged.
    pub(crate) fn read(file: &[u8]) -> Option<Self> {
        let file = std::str::from_utf8(file).ok()?.trim_end_matches('\0');
        let (text, sum) = file.split_at(file.rfind("crc32 ")?);
        let is_sound = sum == format!("crc32 {:08x}\n", crc32fast::hash(text.as_bytes()));
        let mut lines = text.lines();
        if !is_sound || lines.next() != Some(TITLE) {
            return None;
        }
        let mut journal = Self { databases: Vec::new(), logs: BTreeSet::new() };
        for line in lines {
            match line.split_once(' ')? {
                ("database", name) => journal.databases.push(name.to_owned()),
                ("log", name) if is_log_or_checkpoint(name) => {
                    journal.logs.insert(name.to_owned());
                }
                _ => return None,
            }
        }
        Some(journal)
    }

    /// Makes the journal durable: from now on the restore will be completed.
    pub(super) async fn write(
        &self,
        world: &World,
        instance: &InstancePlan,
    ) -> Result<(), EngineError> {
        let (unfinished, path) = (unfinished_path(instance), journal_path(instance));
        write_file::<Bytes>(world, &unfinished, &self.to_bytes()).await?;
        let renamed = world.volume.rename(&unfinished, &path).await;
        renamed.map_err(volume_error(&path))?;
        sync_directory(world, &instance.log).await
    }

    /// Puts the copies in place and removes the journal. Steps that an earlier start has done are
    /// skipped.
    ///
    /// # Errors
    /// When a rename or removal fails. The journal is still there, and the next start continues.
    pub(crate) async fn carry_out(
        &self,
        world: &World,
        instance: &InstancePlan,
    ) -> Result<(), EngineError> {
        let names = world.volume.list(&instance.log).await;
        for name in names.map_err(volume_error(&instance.log))? {
            if is_log_or_checkpoint(&name) && !self.logs.contains(&name) {
                remove(world, &instance.log.join(name)).await?;
            }
        }
        for database in &instance.databases {
            // It describes the writes of the old database.
            remove(world, &path_beside(&database.path)).await?;
        }
        let databases = instance.databases.iter().map(|database| database.path.clone());
        let logs = self.logs.iter().map(|name| instance.log.join(name));
        for target in databases.chain(logs) {
            match world.volume.rename(&copy_beside(&target), &target).await {
                Ok(()) | Err(VolumeError::NotFound) => {}
                Err(error) => return Err(volume_error(&target)(error)),
            }
        }
        sync_directories(world, instance).await?;
        remove(world, &journal_path(instance)).await?;
        sync_directory(world, &instance.log).await
    }
}

fn names(instance: &InstancePlan) -> Vec<String> {
    let names = instance.databases.iter().map(|database| {
        let name = database.path.file_name().unwrap_or_default();
        name.to_string_lossy().escape_default().to_string()
    });
    names.collect()
}

/// Syncs the folders of an instance, which makes their names durable.
pub(super) async fn sync_directories(
    world: &World,
    instance: &InstancePlan,
) -> Result<(), EngineError> {
    let folders = instance.databases.iter().filter_map(|d| d.path.parent());
    let folders: BTreeSet<&Path> = folders.chain([instance.log.as_path()]).collect();
    for folder in folders {
        sync_directory(world, folder).await?;
    }
    Ok(())
}

async fn sync_directory(world: &World, folder: &Path) -> Result<(), EngineError> {
    let synced = world.volume.sync_directory(folder).await;
    synced.map_err(volume_error(folder))
}

/// Removes a file that may be gone already.
pub(super) async fn remove(world: &World, path: &Path) -> Result<(), EngineError> {
    match world.volume.remove(path).await {
        Ok(()) | Err(VolumeError::NotFound) => Ok(()),
        Err(error) => Err(volume_error(path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    #[test]
    fn a_journal_is_read_as_it_was_written_and_damage_is_noticed() {
        let mut instance = plan().instances.swap_remove(0);
        instance.databases[0].path = "db/odd\nname \u{e4}.edb".into();
        let logs = ["edb00001.log", "edb.chk"].map(str::to_owned);
        let journal = Journal::new(&instance, logs);
        let mut file = journal.to_bytes();
        let length = file.len();
        file.resize(4096, 0);
        assert!(Journal::is_begun(&file));
        let read = Journal::read(&file).unwrap();
        assert_eq!(read, journal);
        assert!(read.is_of(&instance));
        for at in 0..length {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(Journal::read(&damaged), None, "byte {at}");
            assert_eq!(Journal::read(&file[..at]), None, "{at} bytes");
        }
        instance.databases[0].path = "db/other.edb".into();
        assert!(!read.is_of(&instance));
    }
}
