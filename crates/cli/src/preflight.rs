//! Does a scenario fit this machine? Looked at before anything is written.
//!
//! * No two databases are one file, also not through links; no two instances share a log folder.
//! * The way to a folder that the scenario names may lead through links. Below it none is followed, and a database has one name.
//! * A block device is refused with the lines that turn it into a folder: brunt works on file systems, and guessing
//!   that a device may be overwritten is not its business.
//! * Folders are there, or lie in the scratch folder. A folder that is made because of a misspelt mount point puts
//!   a test on the system's own disk.
//! * Every file system has room for what will be put on it: databases with the profile's share for growth, logs, and
//!   for a restore a second copy of each database, because the first stays until the second is whole.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use brunt_scenario::{Placed, Refusal, Scenario};
use brunt_units::ByteSize;
use brunt_world_real::facts::{self, bytes_there};
use rustix::fs::{Access, access, statvfs};

/// Looks whether `scenario` can be run here.
///
/// # Errors
/// [`Refusal`] for the first obstacle. Nothing was written, in any case.
pub fn preflight(scenario: &Scenario) -> Result<(), Refusal> {
    let paths = || {
        let logs = scenario.instances.iter().map(|instance| &instance.log);
        let databases = scenario.databases().map(|database| &database.path);
        logs.chain(databases).chain(&scenario.test.copy_to)
    };
    let scratch = scenario.scratch.iter();
    scratch.chain(paths()).try_for_each(refuse_root)?;
    paths().try_for_each(refuse_block_device)?;
    refuse_twins(
        scenario.instances.iter().map(|i| &i.log),
        "two instances log to one folder",
    )?;
    refuse_twins(
        scenario.databases().map(|d| &d.path),
        "two databases are one file",
    )?;
    let scratch = scenario.scratch.as_ref();
    for path in paths() {
        refuse_link(path, scratch)?;
    }
    for database in scenario.databases() {
        refuse_names(&database.path)?;
    }
    if let Some(scratch) = scratch {
        let parent = scratch.value.parent().unwrap_or(Path::new("/"));
        check_folder(scratch, parent, None)?;
    }
    for instance in &scenario.instances {
        check_folder(&instance.log, &instance.log.value, scratch)?;
        for database in &instance.databases {
            let folder = database.path.value.parent().unwrap_or(Path::new("/"));
            check_folder(&database.path, folder, scratch)?;
            if database.path.value.is_dir() {
                return Err(database.path.place.refuse("is a folder, not a file"));
            }
        }
    }
    if let Some(copy_to) = &scenario.test.copy_to {
        check_folder(copy_to, &copy_to.value, scratch)?;
    }
    check_space(scenario)
}

/// Files of a test in the root of the system are a slip of the pen, and a mess to clean up.
fn refuse_root(path: &Placed<PathBuf>) -> Result<(), Refusal> {
    let real = resolved(&path.value);
    let is_database = real.extension().is_some_and(|extension| extension == "edb");
    let folder = match is_database {
        true => real.parent().unwrap_or(&real),
        false => &real,
    };
    match folder == Path::new("/") {
        true => Err(path
            .place
            .refuse("puts files into the root of the file system")
            .hint("name a folder, such as \"/data/db1\"")),
        false => Ok(()),
    }
}

fn refuse_block_device(path: &Placed<PathBuf>) -> Result<(), Refusal> {
    // What lies below a device is meant as the device, too.
    let device = path.value.ancestors().find(|ancestor| {
        fs::metadata(ancestor).is_ok_and(|status| status.file_type().is_block_device())
    });
    let Some(device) = device else { return Ok(()) };
    let (device, name) = (device.display(), device.file_name().unwrap_or_default());
    let mount = format!("/mnt/{}", name.to_string_lossy());
    let refusal = path.place.refuse(format!(
        "{device} is a block device, and brunt works on file systems"
    ));
    Err(refusal
        .hint(format!(
            "if nothing on {device} is needed any more, make one, mount it, and name a path on it:"
        ))
        .hint(format!("  mkfs.xfs {device}"))
        .hint(format!("  mkdir -p {mount} && mount {device} {mount}")))
}

/// Links are followed to a folder that the scenario names, and not below it.
fn refuse_link(path: &Placed<PathBuf>, scratch: Option<&Placed<PathBuf>>) -> Result<(), Refusal> {
    let scratch = scratch.map(|scratch| scratch.value.as_path());
    let scratch = scratch.filter(|scratch| path.value.starts_with(scratch));
    let mut below = path
        .value
        .ancestors()
        .take_while(|at| scratch.is_some_and(|scratch| *at != scratch));
    match below.find(|at| at.is_symlink()) {
        Some(link) => {
            let refusal = path
                .place
                .refuse(format!("{} is a symbolic link", link.display()));
            Err(refusal.hint("the scratch folder itself may be one, and nothing in it"))
        }
        None => Ok(()),
    }
}

/// A database is a file with one name.
fn refuse_names(path: &Placed<PathBuf>) -> Result<(), Refusal> {
    let Ok(status) = fs::symlink_metadata(&path.value) else {
        return Ok(());
    };
    let shown = path.value.display();
    if status.is_symlink() {
        let refusal = path.place.refuse(format!("{shown} is a symbolic link"));
        return Err(refusal.hint("name the file that it leads to"));
    }
    if status.is_file() && status.nlink() > 1 {
        let names = status.nlink();
        let refusal = path
            .place
            .refuse(format!("{shown} has {names} names (hard links)"));
        return Err(refusal
            .hint("another test or a backup may own it: make a copy, or remove the other names"));
    }
    Ok(())
}

/// What two paths have in common when they are one file: device and inode, or the place where it would be made.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    File(u64, u64),
    Name(PathBuf),
}

fn identity(path: &Path) -> Identity {
    if let Ok(status) = fs::metadata(path) {
        return Identity::File(status.dev(), status.ino());
    }
    Identity::Name(resolved(path))
}

/// Where the absolute `path` leads once its folders are made: through links as far as there are any, and `..` goes back from
/// where they lead to.
fn resolved(path: &Path) -> PathBuf {
    let mut real = PathBuf::from("/");
    for step in path.components() {
        match step {
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                real.push(name);
                real = fs::canonicalize(&real).unwrap_or(real);
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    real
}

fn refuse_twins<'a>(
    paths: impl Iterator<Item = &'a Placed<PathBuf>>,
    what: &str,
) -> Result<(), Refusal> {
    let mut seen = BTreeMap::new();
    for path in paths {
        if let Some(twin) = seen.insert(identity(&path.value), path) {
            let refusal = path.place.refuse(what);
            let shown = path.value.display();
            return Err(if twin.value == path.value {
                refusal.hint(format!("{shown} is named twice"))
            } else {
                refusal.hint(format!("{shown} and {} are the same", twin.value.display()))
            });
        }
    }
    Ok(())
}

/// Whether files can be made in `folder`, or the folder itself in the scratch folder.
fn check_folder(
    path: &Placed<PathBuf>,
    folder: &Path,
    scratch: Option<&Placed<PathBuf>>,
) -> Result<(), Refusal> {
    let shown = folder.display();
    let in_scratch = scratch.is_some_and(|scratch| folder.starts_with(&scratch.value));
    match fs::metadata(folder) {
        Ok(status) if !status.is_dir() => Err(path
            .place
            .refuse(format!("{shown} is a file, not a folder"))),
        Ok(_) if access(folder, Access::WRITE_OK | Access::EXEC_OK).is_err() => Err(path
            .place
            .refuse(format!("this user may not write to {shown}"))),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && in_scratch => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let refusal = path.place.refuse(format!("there is no folder {shown}"));
            Err(refusal.hint(format!("if it is the right one: mkdir -p {shown}")))
        }
        Err(error) => Err(path.place.refuse(format!("{shown}: {error}"))),
    }
}

/// What is to be put on one file system.
struct Demand<'a> {
    bytes: u64,
    first: &'a Placed<PathBuf>,
    /// A folder on it that exists.
    folder: PathBuf,
}

fn check_space(scenario: &Scenario) -> Result<(), Refusal> {
    let mut demands = BTreeMap::<u64, Demand<'_>>::new();
    let mut add = |path, bytes| add_demand(&mut demands, path, bytes);
    let percent = u64::from(scenario.limits.reserve_percent);
    for instance in &scenario.instances {
        let logs = scenario.log_bytes();
        add(
            &instance.log,
            logs.saturating_sub(logs_there(&instance.log.value)),
        );
        for database in &instance.databases {
            let wanted = database.size.value.get();
            let wanted = wanted.saturating_add(wanted.div_euclid(100) * percent);
            let there = bytes_there(&database.path.value);
            add(&database.path, wanted.saturating_sub(there));
            if scenario.test.copy_to.is_some() {
                add(&database.path, database.size.value.get().max(there));
            }
        }
    }
    if let Some(folder) = &scenario.test.copy_to {
        let databases = scenario
            .databases()
            .map(|database| database.size.value.get());
        add(folder, databases.fold(0, u64::saturating_add));
    }
    for demand in demands.values() {
        let Ok(space) = statvfs(&demand.folder) else {
            continue;
        };
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        if demand.bytes > free {
            return Err(no_room(scenario, demand, free, percent));
        }
    }
    Ok(())
}

fn no_room(scenario: &Scenario, demand: &Demand<'_>, free: u64, percent: u64) -> Refusal {
    let volume = facts::place(&demand.folder).ok();
    let mount = volume.as_ref().and_then(|place| place.mount_point.clone());
    let mount = mount.unwrap_or_else(|| demand.folder.clone());
    let what = format!(
        "the file system at {} has {} free, and the scenario puts {} on it",
        mount.display(),
        ByteSize::bytes(free),
        ByteSize::bytes(demand.bytes),
    );
    let key = scenario.sized_by();
    let copies = match scenario.test.copy_to {
        Some(_) => ", their copies",
        None => "",
    };
    let hint = format!(
        "that is all its databases with {percent} % for growth{copies}, and logs; make {key} smaller, or use another volume"
    );
    demand.first.place.refuse(what).hint(hint)
}

fn add_demand<'a>(demands: &mut BTreeMap<u64, Demand<'a>>, path: &'a Placed<PathBuf>, bytes: u64) {
    let mut there = path.value.ancestors();
    let Some((folder, status)) = there.find_map(|at| Some((at, fs::metadata(at).ok()?))) else {
        return;
    };
    let demand = demands.entry(status.dev()).or_insert_with(|| Demand {
        bytes: 0,
        first: path,
        folder: folder.to_owned(),
    });
    demand.bytes = demand.bytes.saturating_add(bytes);
}

/// Bytes that logs of an earlier run occupy in `folder`: what recovery does not need of them is given up.
fn logs_there(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let logs = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_str()?;
        let is_log = name.starts_with("edb") && name.ends_with(".log");
        is_log.then(|| bytes_there(&path))
    });
    logs.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_scenario::Document;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    struct Bench {
        folder: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["log1", "log2", "db"] {
                fs::create_dir(folder.path().join(name)).unwrap();
            }
            Self { folder }
        }

        /// What is said about two instances with these logs and databases; empty when nothing is.
        fn said(&self, logs: [&str; 2], databases: [&str; 2], size: &str) -> String {
            let text = format!(
                "[test]\nduration = \"1s\"\nsessions = 1\n\
                 [[instance]]\nlog = \"{}\"\ndatabases = [\"{}\"]\ndatabase_size = \"{size}\"\n\
                 [[instance]]\nlog = \"{}\"\ndatabases = [\"{}\"]\ndatabase_size = \"{size}\"\n",
                logs[0], databases[0], logs[1], databases[1]
            );
            let scenario = Document::new("t.toml", &text, self.folder.path())
                .unwrap()
                .test(&[])
                .unwrap();
            let before = self.listing();
            let said =
                preflight(&scenario).map_or_else(|refusal| refusal.to_string(), |()| String::new());
            assert_eq!(self.listing(), before, "preflight wrote something");
            said.replace(self.folder.path().to_str().unwrap(), "DIR")
        }

        fn listing(&self) -> Vec<PathBuf> {
            let entries = fs::read_dir(self.folder.path()).unwrap();
            let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            paths
        }
    }

    const LOGS: [&str; 2] = ["log1", "log2"];

    #[test]
    fn a_scenario_that_fits_is_let_through() {
        assert_eq!(
            Bench::new().said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB"),
            ""
        );
    }

    #[test]
    fn folders_that_are_not_made_yet_lead_somewhere_too() {
        let bench = Bench::new();
        let said = bench.said(LOGS, ["db/new/1.edb", "db/new/../new/1.edb"], "8 MiB");
        assert!(said.contains("two databases are one file"), "{said}");
    }

    #[test]
    fn the_root_is_no_place_for_a_test() {
        let bench = Bench::new();
        for (logs, databases) in [
            (["/", "log2"], ["db/1.edb", "db/2.edb"]),
            (LOGS, ["/1.edb", "db/2.edb"]),
            (LOGS, ["db/1.edb", "/tmp/../2.edb"]),
        ] {
            let said = bench.said(logs, databases, "8 MiB");
            assert!(said.contains("puts files into the root"), "{said}");
        }
    }

    #[test]
    fn one_file_is_not_two_databases() {
        let bench = Bench::new();
        let said = bench.said(LOGS, ["db/1.edb", "db/./1.edb"], "8 MiB");
        assert!(
            said.starts_with(
                "t.toml:10: `databases = [\"db/./1.edb\"]`: two databases are one file"
            )
        );
        symlink(
            bench.folder.path().join("db"),
            bench.folder.path().join("alias"),
        )
        .unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "alias/1.edb"], "8 MiB");
        assert!(
            said.ends_with("DIR/alias/1.edb and DIR/db/1.edb are the same"),
            "{said}"
        );
        fs::write(bench.folder.path().join("db/1.edb"), "").unwrap();
        fs::hard_link(
            bench.folder.path().join("db/1.edb"),
            bench.folder.path().join("db/2.edb"),
        )
        .unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB");
        assert!(
            said.ends_with("DIR/db/2.edb and DIR/db/1.edb are the same"),
            "{said}"
        );
        let said = bench.said(["log1", "log1"], ["db/1.edb", "db/3.edb"], "8 MiB");
        assert!(said.contains("two instances log to one folder"), "{said}");
    }

    #[test]
    fn a_database_is_no_link_and_has_one_name() {
        let bench = Bench::new();
        let path = |name: &str| bench.folder.path().join(name);
        fs::write(path("db/real.edb"), "").unwrap();
        symlink(path("db/real.edb"), path("db/1.edb")).unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB");
        assert!(
            said.contains("DIR/db/1.edb is a symbolic link\n  name"),
            "{said}"
        );
        fs::remove_file(path("db/1.edb")).unwrap();
        fs::hard_link(path("db/real.edb"), path("db/1.edb")).unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB");
        assert!(
            said.contains("DIR/db/1.edb has 2 names (hard links)"),
            "{said}"
        );
    }

    #[test]
    fn links_lead_to_the_scratch_folder_and_not_below_it() {
        let bench = Bench::new();
        let path = |name: &str| bench.folder.path().join(name);
        let said = || {
            let text = "scratch = \"scratch\"\n[test]\nduration = \"1s\"\nsessions = 1\n[[instance]]\n\
                        log = \"log\"\ndatabases = [\"deep/db/1.edb\"]\ndatabase_size = \"8 MiB\"\n";
            let scenario = Document::new("t.toml", text, bench.folder.path())
                .unwrap()
                .test(&[])
                .unwrap();
            let said = preflight(&scenario).map_err(|refusal| refusal.to_string());
            let home = bench.folder.path().to_str().unwrap();
            said.err().unwrap_or_default().replace(home, "DIR")
        };
        symlink(path("db"), path("scratch")).unwrap();
        assert_eq!(said(), "");
        symlink(path("log1"), path("scratch/deep")).unwrap();
        assert_eq!(
            said(),
            "t.toml:7: `databases = [\"deep/db/1.edb\"]`: DIR/scratch/deep is a symbolic link\n  the scratch folder itself may be one, and nothing in it"
        );
    }

    #[test]
    fn a_missing_folder_is_named_and_not_made() {
        let bench = Bench::new();
        let said = bench.said(LOGS, ["db/1.edb", "bd/2.edb"], "8 MiB");
        assert_eq!(
            said,
            "t.toml:10: `databases = [\"bd/2.edb\"]`: there is no folder DIR/bd\n  if it is the right one: mkdir -p DIR/bd"
        );
        fs::write(bench.folder.path().join("file"), "").unwrap();
        let said = bench.said(["log1", "file"], ["db/1.edb", "db/2.edb"], "8 MiB");
        assert!(said.contains("DIR/file is a file, not a folder"), "{said}");
    }

    #[test]
    fn a_volume_has_to_hold_the_sum() {
        let bench = Bench::new();
        let free = statvfs(bench.folder.path()).unwrap();
        let free = free.f_bavail * free.f_frsize;
        // Each fits, both do not.
        let size = format!("{} MiB", (free * 3).div_euclid(5 << 20));
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], &size);
        assert!(
            said.starts_with("t.toml:5: `log = \"log1\"`: the file system at /"),
            "{said}"
        );
        assert!(said.contains("and the scenario puts"), "{said}");
    }

    /// A test of 24 MiB took 111 MiB of logs on a file system in memory, and was let through with 64.
    #[test]
    fn logs_have_room_until_the_checkpoint_frees_them() {
        let text = "[test]\nduration = \"4s\"\nsessions = 4\n[profile]\nversion = \"exchange-2013\"\n\
                    cache_min = \"8 MiB\"\ncache_max = \"8 MiB\"\n\
                    [[instance]]\nlog = \"log1\"\ndatabases = [\"db/1.edb\"]\ndatabase_size = \"24 MiB\"\n";
        let scenario = Document::new("t.toml", text, Path::new("/"))
            .unwrap()
            .test(&[])
            .unwrap();
        let room = ByteSize::bytes(scenario.log_bytes());
        assert!(room >= ByteSize::mib(111), "{room}");
    }

    #[test]
    fn a_restore_needs_room_for_a_second_copy_of_each_database() {
        let bench = Bench::new();
        let free = statvfs(bench.folder.path()).unwrap();
        let free = free.f_bavail * free.f_frsize;
        // With a copy it is 2.2 times the size, and with another one beside the database 3.2 times.
        let said = |kind: &str| {
            let text = format!(
                "[test]\n{kind}\nsessions = 1\n[[instance]]\nlog = \"log1\"\ndatabases = [\"db/1.edb\"]\n\
                 database_size = \"{} B\"\n",
                (free * 2).div_euclid(5)
            );
            let scenario = Document::new("t.toml", &text, bench.folder.path())
                .unwrap()
                .test(&[])
                .unwrap();
            preflight(&scenario).map_or_else(|refusal| refusal.to_string(), |()| String::new())
        };
        assert_eq!(said("kind = \"database-backup\""), "");
        let said = said("kind = \"database-backup\"\ncopy_to = \"log2\"");
        assert!(
            said.contains("% for growth, their copies, and logs"),
            "{said}"
        );
    }

    #[test]
    fn databases_sized_by_their_volume_fit_it() {
        let bench = Bench::new();
        let text = "[test]\nduration = \"1s\"\nsessions = 1\n[throughput]\ncapacity_percent = 10\n\
                    [[instance]]\nlog = \"log1\"\ndatabases = [\"db/1.edb\"]\n";
        let mut scenario = Document::new("t.toml", text, bench.folder.path())
            .unwrap()
            .test(&[])
            .unwrap();
        scenario.fit_capacity().unwrap();
        preflight(&scenario).unwrap();
    }

    #[test]
    fn logs_that_are_there_need_no_room_again() {
        let bench = Bench::new();
        let log = bench.folder.path().join("log1");
        assert_eq!(logs_there(&log), 0);
        let file = |name| fs::write(log.join(name), [1; 64 << 10]).unwrap();
        file("edb00001.log");
        file("edb.log");
        let there = logs_there(&log);
        assert!((128 << 10..=256 << 10).contains(&there), "{there}");
        file("somebody.log");
        assert_eq!(logs_there(&log), there, "not ours by its name");
    }

    #[test]
    fn a_block_device_gets_the_lines_that_help() {
        let device = fs::read_dir("/dev").unwrap().find_map(|entry| {
            let entry = entry.unwrap();
            entry
                .file_type()
                .unwrap()
                .is_block_device()
                .then(|| entry.path())
        });
        let Some(device) = device else {
            note_skipped("a_block_device_gets_the_lines_that_help: no block device in /dev");
            return;
        };
        let device = device.to_str().unwrap();
        let said = Bench::new().said(LOGS, ["db/1.edb", device], "8 MiB");
        assert!(
            said.contains(&format!("{device} is a block device")),
            "{said}"
        );
        assert!(
            said.contains(&format!("\n    mkfs.xfs {device}\n")),
            "{said}"
        );
        assert!(said.contains(&format!("&& mount {device} /mnt/")), "{said}");
    }

    /// Tells `./test` that a test had nothing to work on.
    fn note_skipped(text: &str) {
        if let Some(path) = std::env::var_os("BRUNT_SKIPPED") {
            let mut file = fs::File::options().append(true).open(path).unwrap();
            writeln!(file, "{text}").unwrap();
        }
    }
}
