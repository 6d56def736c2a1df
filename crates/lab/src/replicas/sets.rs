//! Which databases a set of LUNs holds, whole or torn.
//!
//! A database can be recovered from a replica only with its log of the same instant. So a set has
//! to hold the log and every database of an instance; one that holds a part of them says which.

use std::path::{Path, PathBuf};

use brunt_array::SystemDesign;
use brunt_qualify::plan::Plan;
use brunt_scenario::ModelledScenario;

/// A set of LUNs that are replicated together, and what servers have on them.
pub(super) struct SetPlan {
    /// The array, by number.
    pub(super) array: usize,
    /// The set, by its number there.
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) volumes: Vec<SetVolume>,
    /// Servers with something on it.
    pub(super) servers: Vec<Held>,
}

/// A volume on a LUN of a set.
pub(super) struct SetVolume {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// The LUN of the partner that receives it.
    pub(super) there: u32,
}

/// What a server has on a set.
pub(super) struct Held {
    pub(super) server: usize,
    /// Instances that it has whole.
    pub(super) instances: Vec<usize>,
    /// Instances of which it lacks something, in words.
    pub(super) torn: Vec<String>,
}

/// The volume of `path` among `paths`: the longest that it begins with.
pub(super) fn find<'p>(paths: impl Iterator<Item = &'p Path>, path: &Path) -> Option<usize> {
    let own = paths.enumerate().filter(|(_, root)| path.starts_with(root));
    let longest = own.max_by_key(|(_, root)| root.components().count());
    longest.map(|(number, _)| number)
}

/// The paths of all volumes of `scenario`, as the world has them.
pub(super) fn paths(scenario: &ModelledScenario) -> Vec<PathBuf> {
    let volumes = scenario.volumes.iter();
    volumes.map(|volume| scenario.path_of(volume.server, &volume.path)).collect()
}

/// Every set that holds something of `plans`, which are those of the servers.
pub(super) fn of(scenario: &ModelledScenario, plans: &[&Plan]) -> Vec<SetPlan> {
    let paths = paths(scenario);
    let mut sets = Vec::new();
    for (array, plan) in scenario.arrays.iter().enumerate() {
        let SystemDesign::Sites(design) = &plan.design else {
            continue;
        };
        // The partner's LUNs are those of all sets, one after the other.
        let mut there = 0..;
        for (number, replica) in design.replicas.iter().enumerate() {
            let luns: Vec<(u32, u32)> = replica.luns.iter().copied().zip(&mut there).collect();
            let incoming = |at: usize| {
                let volume = &scenario.volumes[at];
                let is_it =
                    |(lun, _): &&(u32, u32)| volume.array == array && *lun as usize == volume.lun;
                luns.iter().find(is_it).map(|(_, there)| *there)
            };
            let is_here = |path: &Path| {
                let volume = find(paths.iter().map(PathBuf::as_path), path);
                volume.is_some_and(|volume| incoming(volume).is_some())
            };
            let held = plans.iter().enumerate();
            let held = held.map(|(server, plan)| held_of(server, plan, is_here));
            let servers: Vec<Held> =
                held.filter(|held| !held.instances.is_empty() || !held.torn.is_empty()).collect();
            if servers.is_empty() {
                continue;
            }
            let volumes = paths.iter().zip(&scenario.volumes).enumerate();
            let volumes = volumes.filter_map(|(at, (path, volume))| {
                Some(SetVolume {
                    path: path.clone(),
                    bytes: volume.bytes.get(),
                    there: incoming(at)?,
                })
            });
            sets.push(SetPlan {
                array,
                number,
                name: replica.name.clone(),
                volumes: volumes.collect(),
                servers,
            });
        }
    }
    sets
}

fn held_of(server: usize, plan: &Plan, is_here: impl Fn(&Path) -> bool) -> Held {
    let mut held = Held { server, instances: Vec::new(), torn: Vec::new() };
    for (number, instance) in plan.instances.iter().enumerate() {
        let databases = instance.databases.iter();
        let databases = databases.map(|one| (one.path.display().to_string(), is_here(&one.path)));
        let log = format!("the log of {}", instance.name);
        let parts = std::iter::once((log, is_here(&instance.log))).chain(databases);
        let (here, missing): (Vec<_>, Vec<_>) = parts.partition(|(_, is_here)| *is_here);
        match (&here[..], &missing[..]) {
            ([], _) => {}
            (_, []) => held.instances.push(number),
            ([(here, _), ..], [(missing, _), ..]) => {
                held.torn.push(format!("it has {here} without {missing}"));
            }
        }
    }
    held
}
