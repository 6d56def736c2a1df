//! Which files exist in the places of a test, and what may be done with them.
//!
//! brunt writes genuine ESE files, possibly next to real mail data. So before anything is written
//! every path of the plan is checked. A file without brunt's marker ends the run with its name,
//! even with `--new`:
//!
//! | path | ours when |
//! | --- | --- |
//! | database | its header is valid and carries the marker |
//! | `.edb-making`, `.edb-restoring` beside it | its first sector carries the marker, or is blank |
//! | flush map beside it | it is our kind of map, or blank |
//! | `edb*.log`, `edb*.jrs`, `edb.chk` in a log folder, and `-restoring` behind it | its log signature carries the marker, or it is blank |
//! | `brunt-restore.journal` in a log folder | it begins with its title |
//!
//! A crash leaves a blank file while it is being created: empty, zeros, or the fill of a log. The
//! engine applies the same rules to the last three rows, but only when it opens an instance.
//!
//! ```text
//!    check everything --> [Decision per instance] --> finish restores --> remove files --> create missing databases
//!         | foreign, wrong size ...
//!         v
//!    RunError, nothing written
//! ```
//!
//! A database whose creation was interrupted says so in its header, and is replaced without asking.
//! The remains of an interrupted restore are finished or removed: see `unfinished`. Logs are
//! removed only with `--new`, because a database outside this scenario may need them. They are
//! removed after the databases, because databases without their logs are worthless.

mod fits;
mod ours;
mod reading;

pub(crate) use ours::{is_begun, is_blank, is_ours};
pub(crate) use reading::{beginning, length};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use brunt_ese::create::making_path;
use brunt_ese::format::flush_map::path_beside;
use brunt_run::{Kept, News};
use brunt_world::{VolumeError, World};

use crate::copies;
use crate::error::RunError;
use crate::phases::backup::copying;
use crate::phases::backup::journal::{Journal, copy_beside};
use crate::phases::unfinished;
use crate::plan::{InstancePlan, Plan};
use fits::{check_kept, check_whole};
use ours::{Found, look_at_database, look_at_map, own_logs};

/// The work for one instance, and its initial state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// A restore to finish first.
    pub(crate) restore: Option<Journal>,
    /// The files of `remove` that an interrupted run has left unfinished.
    pub unfinished: Vec<PathBuf>,
    /// Files of ours to remove.
    pub remove: Vec<PathBuf>,
    /// Logs of ours to remove, after the other files.
    pub remove_logs: Vec<PathBuf>,
    /// Databases to create, by their number in the instance.
    pub create: Vec<usize>,
    /// Existing databases that will be used.
    pub keep: Vec<Kept>,
}

/// Checks everything and decides. Nothing is written.
///
/// # Errors
/// [`RunError`] with the first file that is in the way.
pub async fn decide(world: &World, plan: &Plan) -> Result<Vec<Decision>, RunError> {
    let mut decisions = Vec::new();
    for instance in &plan.instances {
        decisions.push(decide_instance(world, plan, instance).await?);
    }
    Ok(decisions)
}

async fn decide_instance(
    world: &World,
    plan: &Plan,
    instance: &InstancePlan,
) -> Result<Decision, RunError> {
    let logs = own_logs(world, &instance.log).await?;
    let left = unfinished::look(world, instance, plan.renew).await?;
    let mut unfinished = left.remove;
    let mut found = Vec::new();
    for database in &instance.databases {
        let path = &database.path;
        let making = making_path(path);
        if length(world, &making).await?.is_some() {
            match is_begun(world, &making, path).await? {
                true => unfinished.push(making),
                false => return Err(RunError::Foreign(making)),
            }
        }
        let mut one = look_at_database(world, path).await?;
        if left.restore.is_some() {
            // The copy will replace it.
            match look_at_database(world, &copy_beside(path)).await? {
                Found::Nothing if one == Found::Nothing => {
                    return Err(RunError::RestoreIncomplete(path.clone()));
                }
                Found::Nothing => {}
                copy => one = copy,
            }
        }
        if one == Found::Unfinished {
            unfinished.push(path.clone());
        }
        found.push(one);
        look_at_map(world, &path_beside(path)).await?;
    }
    let all = 0..instance.databases.len();
    let replaced = |index: &usize| plan.renew || !matches!(found[*index], Found::Ours { .. });
    let create: Vec<usize> = all.clone().filter(replaced).collect();
    for index in all.filter(|index| !create.contains(index)) {
        if left.restore.is_none() {
            check_whole(world, &instance.databases[index], &found[index]).await?;
        }
        check_kept(plan, instance, index, &found[index], create.first())?;
    }
    let kept = found.iter().enumerate();
    let kept = kept.filter(|(index, _)| !create.contains(index));
    let keep = kept.filter_map(|(_, found)| match *found {
        Found::Ours { length, made, .. } => Some(Kept { size: length, made: made.to_string() }),
        Found::Nothing | Found::Unfinished => None,
    });
    let keep = keep.collect();
    let mut remove = unfinished.clone();
    for index in &create {
        let path = &instance.databases[*index].path;
        if found[*index] != Found::Nothing && !remove.contains(path) {
            remove.push(path.clone());
        }
        let map = path_beside(path);
        if length(world, &map).await?.is_some() {
            remove.push(map);
        }
    }
    let mut remove_logs = if plan.renew { logs } else { Vec::new() };
    remove_logs.extend(left.journal);
    Ok(Decision { restore: left.restore, unfinished, remove, remove_logs, create, keep })
}

/// The first database that would be created.
pub(crate) fn missing<'p>(plan: &'p Plan, decisions: &[Decision]) -> Option<&'p Path> {
    let mut instances = plan.instances.iter().zip(decisions);
    instances.find_map(|(instance, decision)| {
        let index = decision.create.first()?;
        Some(instance.databases[*index].path.as_path())
    })
}

/// The decisions on the plan's databases, as news.
pub(crate) fn news(plan: &Plan, decisions: &[Decision]) -> News {
    let instances = plan.instances.iter().zip(decisions);
    let create = instances.flat_map(|(instance, decision)| {
        let databases = decision.create.iter();
        databases.map(|index| instance.databases[*index].size)
    });
    let keep = decisions.iter().flat_map(|decision| &decision.keep);
    News::Databases { open: keep.cloned().collect(), create: create.collect() }
}

/// Removes the files that were decided on, and makes that durable.
///
/// # Errors
/// [`RunError::Name`] for the first file that cannot be removed.
pub async fn remove(world: &World, decisions: &[Decision]) -> Result<(), RunError> {
    for decision in decisions {
        remove_all(world, &decision.remove).await?;
        remove_all(world, &decision.remove_logs).await?;
    }
    Ok(())
}

/// The files of ours in the places of `plan`, in the order in which they may be removed. Nothing is
/// removed.
///
/// # Errors
/// [`RunError`] with the first file that is in the way.
pub async fn leftovers(world: &World, plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
    let mut files = of_instances(world, plan).await?;
    files.extend(copies::all(world, plan).await?);
    if let Some(folder) = &plan.copy_to {
        files.extend(copying::earlier(world, folder).await?);
    }
    Ok(files)
}

/// The same for the instances of `plan` alone.
pub(crate) async fn of_instances(world: &World, plan: &Plan) -> Result<Vec<PathBuf>, RunError> {
    let renewed = Plan { renew: true, ..plan.clone() };
    let mut files = Vec::new();
    for decision in decide(world, &renewed).await? {
        files.extend(decision.remove);
        files.extend(decision.remove_logs);
    }
    Ok(files)
}

/// Removes files, and makes that durable.
///
/// # Errors
/// [`RunError::Name`] for the first file that cannot be removed.
pub async fn remove_all(world: &World, paths: &[PathBuf]) -> Result<(), RunError> {
    for path in paths {
        match world.volume.remove(path).await {
            Ok(()) | Err(VolumeError::NotFound) => {}
            Err(error) => return Err(RunError::name(path)(error)),
        }
    }
    let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    for folder in folders {
        let synced = world.volume.sync_directory(folder).await;
        synced.map_err(RunError::name(folder))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use brunt_ese::format::header::{DatabaseHeader, DatabaseState};
    use brunt_ese::format::log_file::FILL;
    use brunt_ese::format::stamp::{RunId, Signature, Stamp};
    use brunt_run::{Silence, Stop};
    use brunt_units::{ByteSize, PageSize};
    use brunt_world::{Class, Io, OpenMode};
    use brunt_world_virtual::{VirtualOptions, VirtualWorld};

    use super::*;
    use crate::phases::{creation, growth};
    use crate::plan::tests::plan;

    async fn put(world: &World, path: &str, bytes: &[u8]) {
        let file = world.volume.open(Path::new(path), OpenMode::CreateNew).await.unwrap();
        // In every test the rest of the file is zero.
        let start = &bytes[..bytes.len().min(64 << 10)];
        if !start.is_empty() {
            let mut frame = world.frames.zeroed(start.len().next_multiple_of(4096));
            frame[..start.len()].copy_from_slice(start);
            let io = Io::write(Class::Create, file, 0, &Rc::new(frame));
            world.disk.submit(io).await.result.unwrap();
        }
        let length = bytes.len() as u64;
        world.volume.allocate(file, length).await.unwrap();
        world.volume.close(file).await.unwrap();
    }

    fn header(ours: bool, state: DatabaseState) -> Vec<u8> {
        let signature = match ours {
            true => Signature::ours(5, Stamp::from_unix_millis(1), RunId(3)),
            false => Signature { random: 5, ..Signature::default() },
        };
        let mut header = DatabaseHeader::new(PageSize::KIB_4, signature);
        header.state = state;
        let mut file = header.to_bytes();
        file.resize(4 << 20, 0);
        file
    }

    /// The decision for the first instance, with `files` in place.
    fn decided(renew: bool, files: Vec<(&'static str, Vec<u8>)>) -> Result<Decision, RunError> {
        let mut machine = VirtualWorld::new(VirtualOptions::new(1));
        let world = machine.world.clone();
        machine.executor.block_on(async move {
            for (path, bytes) in files {
                put(&world, path, &bytes).await;
            }
            let plan = Plan { renew, ..plan() };
            let mut decisions = decide(&world, &plan).await?;
            assert_eq!(decisions.len(), 2);
            Ok(decisions.swap_remove(0))
        })
    }

    #[test]
    fn a_file_that_appears_before_it_is_created_stays() {
        let mut machine = VirtualWorld::new(VirtualOptions::new(1));
        let world = machine.world.clone();
        machine.executor.block_on(async move {
            let plan = plan();
            let decisions = decide(&world, &plan).await.unwrap();
            put(&world, "db/1.edb", &header(false, CLEAN)).await;
            let stop = Stop::default();
            let created = creation::create(&world, &plan, &decisions, &Silence, &stop).await;
            created.unwrap_err();
            assert_eq!(world.volume.list(Path::new("db")).await.unwrap(), ["1.edb"]);
        });
    }

    const CLEAN: DatabaseState = DatabaseState::Clean;

    fn paths(decision: &Decision) -> Vec<&str> {
        let paths = decision.remove.iter();
        paths.map(|path| path.to_str().unwrap()).collect()
    }

    #[test]
    fn what_is_missing_is_created_and_what_is_ours_is_kept() {
        let nothing = decided(false, vec![]).unwrap();
        assert_eq!((nothing.create, nothing.remove), (vec![0], vec![]));
        let kept = decided(false, vec![("db/1.edb", header(true, CLEAN))]).unwrap();
        let open = Kept { size: ByteSize::mib(4), made: "1970-01-01 00:00:00".to_owned() };
        assert_eq!((kept.create, kept.remove), (vec![], vec![]));
        assert_eq!(kept.keep, [open]);
        let begun = decided(false, vec![("db/1.edb-making", Vec::new())]).unwrap();
        assert_eq!(paths(&begun), ["db/1.edb-making"]);
        assert_eq!(begun.create, [0]);
        let unfinished = header(true, DatabaseState::JustCreated);
        let again = decided(false, vec![("db/1.edb", unfinished)]).unwrap();
        assert_eq!(paths(&again), ["db/1.edb"]);
        assert_eq!(again.create, [0]);
    }

    #[test]
    fn new_replaces_only_what_is_ours() {
        let files = || vec![("db/1.edb", header(true, CLEAN)), ("log1/edb.log", vec![FILL; 4096])];
        let renewed = decided(true, files()).unwrap();
        assert_eq!(paths(&renewed), ["db/1.edb"]);
        assert_eq!(renewed.remove_logs, [Path::new("log1/edb.log")]);
        for (path, bytes) in [
            ("db/1.edb", header(false, CLEAN)),
            ("db/1.edb", b"a letter".to_vec()),
            ("db/1.edb-making", b"a letter".to_vec()),
            ("db/1.edb-making", vec![7; 8192]),
            ("db/1.edb-restoring", vec![7; 8192]),
            ("log1/edb.log-restoring", vec![7; 8192]),
            ("log1/edb.chk-restoring", b"a letter".to_vec()),
            ("log1/brunt-restore.journal", b"a letter".to_vec()),
            ("log1/brunt-restore.journal-making", vec![7; 8192]),
            ("db/1.jfm", vec![7; 8192]),
            ("db/1.jfm", b"short".to_vec()),
            ("log1/edb.log", vec![7; 65_536]),
            ("log1/edb00001.log", b"short".to_vec()),
            ("log1/edbtmp.log", vec![7; 8192]),
            ("log1/edb.chk", vec![7; 8192]),
        ] {
            for renew in [false, true] {
                let refused = decided(renew, vec![(path, bytes.clone())]);
                assert_eq!(refused, Err(RunError::Foreign(path.into())), "{path}");
            }
        }
        for renew in [false, true] {
            let empty = decided(renew, vec![("db/1.edb", Vec::new())]);
            assert_eq!(empty, Err(RunError::Empty("db/1.edb".into())));
        }
        let other = decided(true, vec![("log1/readme.txt", b"hands off".to_vec())]);
        assert_eq!(paths(&other.unwrap()), Vec::<&str>::new());
    }

    /// A header of which only the first sector was written.
    fn torn() -> Vec<u8> {
        let mut file = header(true, DatabaseState::JustCreated);
        file[512..].fill(0);
        file
    }

    #[test]
    fn what_an_interrupted_run_has_left_is_removed_and_told() {
        let left = decided(
            false,
            vec![
                ("db/1.edb", header(true, CLEAN)),
                ("db/1.edb-making", torn()),
                ("db/1.edb-restoring", torn()),
                ("log1/edb00001.log-restoring", vec![0; 65_536]),
            ],
        );
        let left = left.unwrap();
        let all = ["db/1.edb-restoring", "log1/edb00001.log-restoring", "db/1.edb-making"];
        assert_eq!(paths(&left), all);
        assert_eq!(left.unfinished, left.remove);
        assert_eq!((left.create, left.restore), (vec![], None));
    }

    #[test]
    fn an_interrupted_restore_is_finished_where_it_can_be() {
        let journal = |names: &[&str]| {
            let mut instance = plan().instances.swap_remove(0);
            instance.databases[0].path = names[0].into();
            Journal::new(&instance, []).to_bytes()
        };
        let with = |renew, name: &str, mut files: Vec<(&'static str, Vec<u8>)>| {
            let mut bytes = journal(&[name]);
            bytes.resize(4096, 0);
            files.push(("log1/brunt-restore.journal", bytes));
            decided(renew, files)
        };
        let old = || ("db/1.edb", header(true, CLEAN));
        let copy = || ("db/1.edb-restoring", header(true, DatabaseState::Dirty));
        for files in [vec![old(), copy()], vec![copy()], vec![old()]] {
            let decision = with(false, "1.edb", files).unwrap();
            assert!(decision.restore.is_some() && decision.create.is_empty());
            assert_eq!(paths(&decision), Vec::<&str>::new());
        }
        let renewed = with(true, "1.edb", vec![old(), copy()]).unwrap();
        assert_eq!(paths(&renewed), ["db/1.edb-restoring", "db/1.edb"]);
        let journal_path = Path::new("log1/brunt-restore.journal");
        assert_eq!(renewed.remove_logs, [journal_path]);
        assert_eq!(
            with(false, "1.edb", vec![]),
            Err(RunError::RestoreIncomplete("db/1.edb".into()))
        );
        assert_eq!(
            with(false, "2.edb", vec![old()]),
            Err(RunError::OtherRestore(journal_path.into()))
        );
        let mut damaged = journal(&["1.edb"]);
        damaged.resize(4096, b'x');
        assert_eq!(
            decided(false, vec![("log1/brunt-restore.journal", damaged)]),
            Err(RunError::RestoreUnreadable(journal_path.into()))
        );
    }

    #[test]
    fn what_does_not_fit_the_scenario_is_named() {
        let small = header(true, CLEAN)[..1 << 20].to_vec();
        assert!(matches!(
            decided(false, vec![("db/1.edb", small)]),
            Err(RunError::TooSmall { .. })
        ));
        // 4 MiB are wanted, a quarter is reserve, and the file grows in steps.
        let most = growth::size_max(&plan(), ByteSize::mib(4)).get();
        for (length, fits) in [(most, true), (most + 4096, false)] {
            let mut file = header(true, CLEAN);
            file.resize(usize::try_from(length).unwrap(), 0);
            let decided = decided(false, vec![("db/1.edb", file)]);
            match decided {
                Ok(_) => assert!(fits),
                Err(RunError::TooLarge { percent: 25, .. }) => assert!(!fits),
                Err(other) => panic!("{other}"),
            }
        }
        let signature = Signature::ours(5, Stamp::from_unix_millis(1), RunId(3));
        let mut larger = DatabaseHeader::new(PageSize::KIB_8, signature);
        larger.state = CLEAN;
        let mut bytes = larger.to_bytes();
        bytes.resize(4 << 20, 0);
        assert!(matches!(
            decided(false, vec![("db/1.edb", bytes)]),
            Err(RunError::PageSize { .. })
        ));
    }
}
