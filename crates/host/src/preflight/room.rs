//! Room: what will be put on every file system, whether it holds that, and whether files may become
//! as large.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_qualify::phases::backup::is_copy_name;
use brunt_scenario::{Place, Refusal, Scenario};
use brunt_units::ByteSize;
use brunt_world_real::facts::{self, bytes_there};
use rustix::process::{Resource, getrlimit};

/// What a test puts on one file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Where the file system is mounted.
    pub mount: PathBuf,
    /// Room for databases and what they may grow by, their copies, and logs, less what is there
    /// already.
    pub needed: ByteSize,
    /// Room that this user has.
    pub free: ByteSize,
    /// The first thing that the scenario puts there.
    first: Place,
}

/// What `scenario` puts on each file system.
pub fn demands(scenario: &Scenario) -> Vec<Demand> {
    let mut demands = BTreeMap::<u64, Demand>::new();
    let mut add = |path: &Path, place: &Place, bytes| {
        let Some(room) = facts::room(path) else {
            return;
        };
        let demand = demands.entry(room.volume).or_insert_with(|| Demand {
            mount: mount(path),
            needed: ByteSize::bytes(0),
            free: ByteSize::bytes(room.free),
            first: place.clone(),
        });
        demand.needed = ByteSize::bytes(demand.needed.get().saturating_add(bytes));
    };
    let restores = scenario.test.restore == Some(true);
    for (number, (own, places)) in scenario.files().enumerate() {
        let logs = scenario.log_bytes().saturating_sub(logs_there(&own.log));
        add(&own.log, &places.log, logs);
        for database in &own.databases {
            let wanted = grown(scenario, database.size);
            let there = bytes_there(&database.path);
            add(&database.path, &places.databases, wanted.saturating_sub(there));
            if restores && number < scenario.instances.len() {
                add(&database.path, &places.databases, database.size.get().max(there));
            }
        }
    }
    if let Some(folder) = &scenario.test.copy_to {
        // Databases as they have grown; the backup of an earlier test goes first.
        let databases = scenario.databases().map(|database| {
            let there = bytes_there(&database.path);
            database.size.get().max(there)
        });
        let bytes = databases.fold(0, u64::saturating_add);
        let earlier = there(&folder.value, is_copy_name);
        add(&folder.value, &folder.place, bytes.saturating_sub(earlier));
    }
    demands.into_values().collect()
}

/// The bytes of a database of `size` that has used its room for growth.
fn grown(scenario: &Scenario, size: ByteSize) -> u64 {
    let percent = u64::from(scenario.limits.reserve_percent);
    let growth = size.get().div_euclid(100).saturating_mul(percent);
    size.get().saturating_add(growth)
}

/// Refuses what does not fit, once for each file system.
pub(super) fn too_large(scenario: &Scenario) -> Vec<Refusal> {
    let demands = demands(scenario).into_iter();
    let too_large = demands.filter(|demand| demand.needed > demand.free);
    too_large.map(|demand| no_room(scenario, &demand)).collect()
}

/// Refuses the largest database if this process may not have files as large as it may grow.
pub(super) fn beyond_limit(scenario: &Scenario) -> Option<Refusal> {
    beyond(scenario, getrlimit(Resource::Fsize).current?)
}

fn beyond(scenario: &Scenario, limit: u64) -> Option<Refusal> {
    let (database, places) = scenario.database_files().max_by_key(|(one, _)| one.size)?;
    let largest = grown(scenario, database.size);
    (largest > limit).then(|| {
        let [limit, largest] = [limit, largest].map(ByteSize::bytes);
        let what = format!(
            "this process may have files of {limit}, and the database may grow to {largest}"
        );
        let hint = "raise the limit first: ulimit -f unlimited";
        places.databases.refuse(what).hint(hint)
    })
}

fn mount(path: &Path) -> PathBuf {
    let mut ancestors = path.ancestors();
    let folder = ancestors.find(|at| at.exists()).unwrap_or(Path::new("/"));
    let place = facts::place(folder).ok();
    let mount = place.and_then(|place| place.mount_point);
    mount.unwrap_or_else(|| folder.to_owned())
}

fn no_room(scenario: &Scenario, demand: &Demand) -> Refusal {
    let what = format!(
        "the file system at {} has {} free, and the scenario puts {} on it",
        demand.mount.display(),
        demand.free,
        demand.needed,
    );
    let key = scenario.sized_by();
    let percent = scenario.limits.reserve_percent;
    let copies = match scenario.test.copy_to.is_some() || !scenario.copies.is_empty() {
        true => ", their copies",
        false => "",
    };
    let hint = format!(
        "that is all its databases with {percent} % for growth{copies}, and logs; make {key} smaller, or use another volume"
    );
    demand.first.refuse(what).hint(hint)
}

/// Bytes that logs of an earlier run occupy in `folder`: what recovery does not need of them is
/// given up.
pub(super) fn logs_there(folder: &Path) -> u64 {
    there(folder, |name| name.starts_with("edb") && name.ends_with(".log"))
}

/// Bytes that the files of `folder` occupy whose names are `wanted`.
fn there(folder: &Path, wanted: impl Fn(&str) -> bool) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let files = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        wanted(path.file_name()?.to_str()?).then(|| bytes_there(&path))
    });
    files.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_scenario::Document;

    #[test]
    fn a_database_may_not_grow_beyond_the_limit_of_files() {
        let text = "[test]\nduration = \"1s\"\nsessions = 1\n[[instance]]\nlog = \"/log\"\n\
                    databases = [\"/db/1.edb\"]\ndatabase_size = \"100 MiB\"\n";
        let document = Document::new("t.toml", text, Path::new("/")).unwrap();
        let scenario = document.test(&[]).unwrap();
        let at = |mib: u64| {
            let refusal = beyond(&scenario, mib << 20);
            refusal.map_or_else(String::new, |refusal| refusal.to_string())
        };
        assert_eq!(at(125), "");
        assert_eq!(
            at(120),
            "t.toml:6: `databases = [\"/db/1.edb\"]`: this process may have files of 120 MiB, and the database may grow to \
             125 MiB\n  raise the limit first: ulimit -f unlimited"
        );
    }
}
