//! Room: whether every file system holds what will be put on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_scenario::{Placed, Refusal, Scenario};
use brunt_units::ByteSize;
use brunt_world_real::facts::{self, bytes_there};

/// What is to be put on one file system.
struct Demand<'a> {
    bytes: u64,
    free: u64,
    first: &'a Placed<PathBuf>,
}

pub(super) fn check_space(scenario: &Scenario) -> Result<(), Refusal> {
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
    let too_large = demands.values().find(|demand| demand.bytes > demand.free);
    too_large.map_or(Ok(()), |demand| Err(no_room(scenario, demand, percent)))
}

fn no_room(scenario: &Scenario, demand: &Demand<'_>, percent: u64) -> Refusal {
    let mut ancestors = demand.first.value.ancestors();
    let folder = ancestors.find(|at| at.exists()).unwrap_or(Path::new("/"));
    let mount = facts::place(folder)
        .ok()
        .and_then(|place| place.mount_point);
    let mount = mount.as_deref().unwrap_or(folder);
    let what = format!(
        "the file system at {} has {} free, and the scenario puts {} on it",
        mount.display(),
        ByteSize::bytes(demand.free),
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
    let Some(room) = facts::room(&path.value) else {
        return;
    };
    let demand = demands.entry(room.volume).or_insert(Demand {
        bytes: 0,
        free: room.free,
        first: path,
    });
    demand.bytes = demand.bytes.saturating_add(bytes);
}

/// Bytes that logs of an earlier run occupy in `folder`: what recovery does not need of them is given up.
pub(super) fn logs_there(folder: &Path) -> u64 {
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
