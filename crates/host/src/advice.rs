//! What could be better about where a test puts its files. None of it keeps a result from
//! qualifying.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brunt_qualify::plan::Plan;
use brunt_units::ByteSize;
use brunt_world_real::facts;

use crate::surroundings::Used;

/// Advice on a test of `plan` on `places`, one sentence each: what there is, what it means, what to
/// do.
pub fn advice(plan: &Plan, places: &[Used]) -> Vec<String> {
    let host = facts::host();
    let data = plan.databases().map(|database| database.size.get()).sum();
    let mut advice = logs_beside_databases(plan, places);
    advice.extend(shared_devices(places));
    advice.extend(not_mounted(plan, places));
    advice.extend(little_larger(ByteSize::bytes(data), host.memory));
    if host.processors == Some(1) {
        advice.push(
            "this machine has one processor: sessions compete with the system for it, and latencies include the wait; use two or more"
                .to_owned(),
        );
    }
    advice
}

/// Instances that log to the volume of their own databases, by volume.
fn logs_beside_databases(plan: &Plan, places: &[Used]) -> Vec<String> {
    let mut beside = BTreeMap::<PathBuf, Vec<&str>>::new();
    let mut first = 0;
    for (at, instance) in plan.instances.iter().enumerate() {
        let own = first..first + instance.databases.len();
        first = own.end;
        let has_both = |used: &&Used| {
            used.logs.contains(&at) && used.databases.iter().any(|database| own.contains(database))
        };
        if let Some(used) = places.iter().find(has_both) {
            beside.entry(used.mount()).or_default().push(&instance.name);
        }
    }
    let sentence = |(mount, names): (PathBuf, Vec<&str>)| {
        format!(
            "databases and their logs share {} ({}): losing that volume loses both, and each slows the other; put logs on another volume",
            mount.display(),
            names.join(", ")
        )
    };
    beside.into_iter().map(sentence).collect()
}

/// Volumes that share a device.
fn shared_devices(places: &[Used]) -> Vec<String> {
    let mut on = BTreeMap::<&str, Vec<String>>::new();
    for used in places {
        for leaf in &used.stack.leaves {
            let mounts = on.entry(leaf).or_default();
            mounts.push(used.mount().display().to_string());
        }
    }
    let shared = on.into_iter().filter(|(_, mounts)| mounts.len() > 1);
    let sentence = |(device, mounts): (&str, Vec<String>)| {
        format!(
            "{} are on one device, {device}: they share its throughput and fail together; use separate devices",
            mounts.join(" and ")
        )
    };
    shared.map(sentence).collect()
}

/// Where volumes are mounted, by custom.
const MOUNTED: [&str; 3] = ["/mnt", "/media", "/srv"];

/// Folders where a volume is expected, and which are folders of the root file system.
fn not_mounted(plan: &Plan, places: &[Used]) -> Vec<String> {
    let databases: Vec<_> = plan.databases().collect();
    let of_root = places.iter().filter(|used| used.mount() == Path::new("/"));
    let mut folders: Vec<&Path> = of_root
        .flat_map(|used| {
            let databases = used.databases.iter().filter_map(|at| databases[*at].path.parent());
            let logs = used.logs.iter().map(|at| &*plan.instances[*at].log);
            databases.chain(logs)
        })
        .filter(|folder| MOUNTED.iter().any(|mounts| folder.starts_with(mounts)))
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let sentence = |folder: &Path| {
        let folder = folder.display();
        format!(
            "{folder} is on the root file system, the system's own disk: mount the volume that belongs there, if one does"
        )
    };
    folders.into_iter().map(sentence).collect()
}

/// Databases that are larger than memory, but not by much.
fn little_larger(data: ByteSize, memory: Option<ByteSize>) -> Option<String> {
    let memory = memory?;
    let is_near = data >= memory && data.get() < memory.get().saturating_mul(2);
    is_near.then(|| {
        format!(
            "{data} of databases are less than twice the machine's memory ({memory}); twice leaves no doubt about caches"
        )
    })
}

#[cfg(test)]
mod tests {
    use brunt_scenario::Document;

    use super::*;
    use crate::surroundings::places;

    #[test]
    fn a_log_beside_its_database_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[test]\nduration = \"1s\"\nsessions = 1\n[[instance]]\nlog = \"log\"\n\
                    databases = [\"db/1.edb\"]\ndatabase_size = \"8 MiB\"\n";
        let scenario = Document::new("t.toml", text, folder.path()).unwrap().test(&[]).unwrap();
        let plan = scenario.plan();
        let places = places(&plan);
        let said = logs_beside_databases(&plan, &places);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(" (Instance 1): losing"), "{said:?}");
        // A log on a volume of its own.
        let apart: Vec<Used> = places.iter().map(|used| used.without_logs()).collect();
        assert_eq!(logs_beside_databases(&plan, &apart), [""; 0]);
    }

    #[test]
    fn volumes_on_one_device_are_named() {
        let used = |mount: &str, leaf: &str| Used::mounted(Path::new(mount), leaf);
        assert_eq!(shared_devices(&[used("/a", "sda"), used("/b", "sdb")]), [""; 0]);
        let said = shared_devices(&[used("/a", "sda"), used("/b", "sda")]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("/a and /b are on one device, sda: "), "{said:?}");
    }

    #[test]
    fn memory_is_near_up_to_twice_its_size() {
        let gib = ByteSize::gib;
        assert_eq!(little_larger(gib(7), Some(gib(8))), None, "an obstacle, not advice");
        assert!(little_larger(gib(8), Some(gib(8))).is_some());
        assert_eq!(little_larger(gib(16), Some(gib(8))), None);
        assert_eq!(little_larger(gib(16), None), None);
    }
}
