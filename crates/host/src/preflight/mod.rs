//! Does a scenario fit this machine? Looked at before anything is written.
//!
//! * No two databases are one file, also not through links; no two instances share a log folder.
//! * The way to a folder that the scenario names may lead through links. Below it none is followed,
//!   and a database has one name.
//! * A block device is refused with the lines that turn it into a folder: brunt works on file
//!   systems, and guessing that a device may be overwritten is not its business.
//! * Folders are there, or lie in the scratch folder. A folder that is made because of a misspelt
//!   mount point puts a test on the system's own disk.
//! * Every file system has room for what will be put on it: databases with the profile's share for
//!   growth, logs, and for a restore a second copy of each database, because the first stays until
//!   the second is whole.
//! * This process may have files as large as the largest database, and memory for the caches.

mod memory;
mod paths;
mod room;

use std::path::{Path, PathBuf};

use brunt_scenario::{Place, Placed, Refusal, Scenario};

pub use memory::memory_needed;
use paths::{
    check_folder, refuse_block_device, refuse_link, refuse_names, refuse_root, refuse_twins,
};
pub use room::{Demand, demands};

/// Looks whether `scenario` can be run here.
///
/// # Errors
/// [`Refusal`] for the first obstacle. Nothing was written, in any case.
pub fn preflight(scenario: &Scenario) -> Result<(), Refusal> {
    let first = refusals(scenario, true).into_iter().next();
    first.map_or(Ok(()), Err)
}

/// Looks only where the files of `scenario` are or will be, not for room.
///
/// # Errors
/// [`Refusal`] for the first path that a test must not use.
pub fn check_places(scenario: &Scenario) -> Result<(), Refusal> {
    let first = refused_places(scenario).into_iter().next();
    first.map_or(Ok(()), Err)
}

/// Looks only whether the caches of `scenario` fit into memory.
///
/// # Errors
/// [`Refusal`] of a cache that is too large.
pub fn check_memory(scenario: &Scenario) -> Result<(), Refusal> {
    memory::beyond_memory(scenario).map_or(Ok(()), Err)
}

/// Everything that keeps `scenario` from being run here. Where a scenario has mistakes, only what
/// was written is looked at, and its sizes mean nothing (`is_whole` is false).
pub fn refusals(scenario: &Scenario, is_whole: bool) -> Vec<Refusal> {
    let mut refusals = refused_places(scenario);
    if is_whole && refusals.is_empty() {
        refusals.extend(room::too_large(scenario));
        refusals.extend(room::beyond_limit(scenario));
        refusals.extend(memory::beyond_memory(scenario));
    }
    refusals
}

fn refused_places(scenario: &Scenario) -> Vec<Refusal> {
    let placed = |path: &Path, place: &Place| {
        let path = Placed { value: path.to_owned(), place: place.clone() };
        place.is_written().then_some(path)
    };
    let logs = scenario.files().filter_map(|(own, places)| placed(&own.log, &places.log));
    let logs: Vec<_> = logs.collect();
    let databases = scenario.database_files();
    let databases = databases.filter_map(|(one, places)| placed(&one.path, &places.databases));
    let databases: Vec<_> = databases.collect();
    let copies = || scenario.test.copy_to.iter();
    let scratch = scenario.scratch.as_ref();
    let looks = scratch.into_iter().map(look_at_scratch);
    let looks = looks.chain(logs.iter().chain(copies()).map(|path| {
        look_at_path(path, scratch)?;
        check_folder(path, &path.value, scratch)
    }));
    let looks = looks.chain(databases.iter().map(|path| look_at_database(path, scratch)));
    let mut refusals = Vec::new();
    refusals.extend(refuse_twins(logs.iter(), "two log streams have one folder").err());
    refusals.extend(refuse_twins(databases.iter(), "two databases are one file").err());
    refusals.extend(looks.filter_map(Result::err));
    // Databases of one list may miss the same folder.
    refusals.dedup();
    refusals
}

fn look_at_scratch(scratch: &Placed<PathBuf>) -> Result<(), Refusal> {
    refuse_root(scratch)?;
    let parent = scratch.value.parent().unwrap_or(Path::new("/"));
    check_folder(scratch, parent, None)
}

/// What holds for every path.
fn look_at_path(path: &Placed<PathBuf>, scratch: Option<&Placed<PathBuf>>) -> Result<(), Refusal> {
    refuse_root(path)?;
    refuse_block_device(path)?;
    refuse_link(path, scratch)
}

fn look_at_database(
    path: &Placed<PathBuf>,
    scratch: Option<&Placed<PathBuf>>,
) -> Result<(), Refusal> {
    look_at_path(path, scratch)?;
    refuse_names(path)?;
    let folder = path.value.parent().unwrap_or(Path::new("/"));
    check_folder(path, folder, scratch)?;
    match path.value.is_dir() {
        true => Err(path.place.refuse("is a folder, not a file")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use brunt_scenario::Document;
    use brunt_units::ByteSize;
    use brunt_world_real::facts;

    use super::room::logs_there;

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
            let scenario =
                Document::new("t.toml", &text, self.folder.path()).unwrap().test(&[]).unwrap();
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
        assert_eq!(Bench::new().said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB"), "");
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
        symlink(bench.folder.path().join("db"), bench.folder.path().join("alias")).unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "alias/1.edb"], "8 MiB");
        assert!(said.ends_with("DIR/alias/1.edb and DIR/db/1.edb are the same"), "{said}");
        fs::write(bench.folder.path().join("db/1.edb"), "").unwrap();
        fs::hard_link(bench.folder.path().join("db/1.edb"), bench.folder.path().join("db/2.edb"))
            .unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB");
        assert!(said.ends_with("DIR/db/2.edb and DIR/db/1.edb are the same"), "{said}");
        symlink(bench.folder.path().join(LOGS[0]), bench.folder.path().join("alias-log")).unwrap();
        let said = bench.said([LOGS[0], "alias-log"], ["db/1.edb", "db/3.edb"], "8 MiB");
        assert!(said.contains("two log streams have one folder"), "{said}");
    }

    #[test]
    fn a_database_is_no_link_and_has_one_name() {
        let bench = Bench::new();
        let path = |name: &str| bench.folder.path().join(name);
        fs::write(path("db/real.edb"), "").unwrap();
        symlink(path("db/real.edb"), path("db/1.edb")).unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB");
        assert!(said.contains("DIR/db/1.edb is a symbolic link\n  name"), "{said}");
        fs::remove_file(path("db/1.edb")).unwrap();
        fs::hard_link(path("db/real.edb"), path("db/1.edb")).unwrap();
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], "8 MiB");
        assert!(said.contains("DIR/db/1.edb has 2 names (hard links)"), "{said}");
    }

    #[test]
    fn links_lead_to_the_scratch_folder_and_not_below_it() {
        let bench = Bench::new();
        let path = |name: &str| bench.folder.path().join(name);
        let said = || {
            let text = "scratch = \"scratch\"\n[test]\nduration = \"1s\"\nsessions = 1\n[[instance]]\n\
                        log = \"log\"\ndatabases = [\"deep/db/1.edb\"]\ndatabase_size = \"8 MiB\"\n";
            let scenario =
                Document::new("t.toml", text, bench.folder.path()).unwrap().test(&[]).unwrap();
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
        let free = facts::room(bench.folder.path()).unwrap().free;
        // Each fits, both do not.
        let size = format!("{} MiB", (free * 3).div_euclid(5 << 20));
        let said = bench.said(LOGS, ["db/1.edb", "db/2.edb"], &size);
        assert!(said.starts_with("t.toml:5: `log = \"log1\"`: the file system at /"), "{said}");
        assert!(said.contains("and the scenario puts"), "{said}");
    }

    /// A test of 24 MiB took 111 MiB of logs on a file system in memory, and was let through with
    /// 64.
    #[test]
    fn logs_have_room_until_the_checkpoint_frees_them() {
        let text = "[test]\nduration = \"4s\"\nsessions = 4\n[profile]\nversion = \"exchange-2013\"\n\
                    cache_min = \"8 MiB\"\ncache_max = \"8 MiB\"\n\
                    [[instance]]\nlog = \"log1\"\ndatabases = [\"db/1.edb\"]\ndatabase_size = \"24 MiB\"\n";
        let scenario = Document::new("t.toml", text, Path::new("/")).unwrap().test(&[]).unwrap();
        let room = ByteSize::bytes(scenario.log_bytes());
        assert!(room >= ByteSize::mib(111), "{room}");
    }

    #[test]
    fn a_restore_needs_room_for_a_second_copy_of_each_database() {
        let bench = Bench::new();
        let free = facts::room(bench.folder.path()).unwrap().free;
        // With a copy it is 2.2 times the size, and with another one beside the database 3.2 times.
        let said = |kind: &str| {
            let text = format!(
                "[test]\n{kind}\nsessions = 1\n[[instance]]\nlog = \"log1\"\ndatabases = [\"db/1.edb\"]\n\
                 database_size = \"{} B\"\n",
                (free * 2).div_euclid(5)
            );
            let scenario =
                Document::new("t.toml", &text, bench.folder.path()).unwrap().test(&[]).unwrap();
            preflight(&scenario).map_or_else(|refusal| refusal.to_string(), |()| String::new())
        };
        assert_eq!(said("kind = \"database-backup\""), "");
        let said = said("kind = \"database-backup\"\ncopy_to = \"log2\"");
        assert!(said.contains("% for growth, their copies, and logs"), "{said}");
    }

    #[test]
    fn databases_sized_by_their_volume_fit_it() {
        let bench = Bench::new();
        let text = "[test]\nduration = \"1s\"\nsessions = 1\n[throughput]\ncapacity_percent = 10\n\
                    [[instance]]\nlog = \"log1\"\ndatabases = [\"db/1.edb\"]\n";
        let mut scenario =
            Document::new("t.toml", text, bench.folder.path()).unwrap().test(&[]).unwrap();
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
            entry.file_type().unwrap().is_block_device().then(|| entry.path())
        });
        let Some(device) = device else {
            note_skipped("a_block_device_gets_the_lines_that_help: no block device in /dev");
            return;
        };
        let device = device.to_str().unwrap();
        let said = Bench::new().said(LOGS, ["db/1.edb", device], "8 MiB");
        assert!(said.contains(&format!("{device} is a block device")), "{said}");
        assert!(said.contains(&format!("\n    mkfs.xfs {device}\n")), "{said}");
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
