//! How this machine is set up for a test: its volumes, the devices beneath them, its kernel. Plain
//! facts, for others to judge.

use std::collections::BTreeSet;
use std::path::Path;

use brunt_scenario::Scenario;
use brunt_units::ByteSize;
use brunt_world_real::facts::{
    self, BlockDevice, DiskSettings, GroupLimits, IoLimit, Redundancy, Tuning,
};

use crate::surroundings::{Used, places};

/// How the machine is set up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The file systems that a test uses.
    pub volumes: Vec<Volume>,
    /// Settings of the kernel.
    pub tuning: Tuning,
    /// Limits of the control group.
    pub limits: GroupLimits,
    /// Its limits on I/O to the devices of the volumes.
    pub io_limits: Vec<IoLimit>,
    /// Memory of the machine.
    pub memory: Option<ByteSize>,
    /// Processors of this process.
    pub processors: Option<usize>,
    /// Devices that hold swap.
    pub swap_devices: Vec<String>,
}

/// A file system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// Where it is mounted.
    pub mount: String,
    /// Its type.
    pub file_system: Option<String>,
    /// Mount options, separated by commas.
    pub options: Option<String>,
    pub bytes: Option<ByteSize>,
    /// What is free once the databases are there.
    pub free: Option<ByteSize>,
    /// Databases on it, by number over all instances.
    pub databases: Vec<usize>,
    /// Instances whose logs are on it, by number.
    pub logs: Vec<usize>,
    /// Folders on it whose files are written through the page cache in spite of `O_DIRECT`.
    pub cached_writes: Vec<String>,
    /// What several devices make together, for it or below it.
    pub redundancy: Vec<Redundancy>,
    /// The device beneath, and all devices below that one.
    pub devices: Vec<Device>,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    pub device: BlockDevice,
    /// How it is reached and set up.
    pub settings: DiskSettings,
    /// Whether nothing is known to lie below it.
    pub is_leaf: bool,
}

/// How this machine is set up for `scenario`.
pub fn configuration(scenario: &Scenario) -> Configuration {
    let plan = scenario.plan();
    let sizes: Vec<(&Path, u64)> = scenario
        .databases()
        .map(|database| (database.path.as_path(), database.size.get()))
        .collect();
    let tuning = facts::tuning();
    let host = facts::host();
    let swap_devices = tuning.swaps.iter().flat_map(|swap| {
        let place = facts::place(Path::new(&swap.path)).ok();
        let device = place.and_then(|place| place.device);
        device
            .map_or_else(Vec::new, |device| facts::stack(&device.name).leaves.into_iter().collect())
    });
    let volumes: Vec<Volume> = places(&plan).iter().map(|used| volume(used, &sizes)).collect();
    let devices = volumes.iter().flat_map(|volume| &volume.devices);
    let disks: BTreeSet<&str> = devices.map(|one| one.device.disk.as_str()).collect();
    Configuration {
        swap_devices: swap_devices.collect(),
        io_limits: facts::io_limits(disks),
        volumes,
        tuning: tuning.clone(),
        limits: facts::group_limits(),
        memory: host.memory,
        processors: host.processors,
    }
}

fn volume(used: &Used, sizes: &[(&Path, u64)]) -> Volume {
    let place = used.place();
    let mount = used.mount();
    let still = used.databases.iter().filter_map(|at| sizes.get(*at));
    let still: u64 = still.map(|(path, size)| size.saturating_sub(facts::bytes_there(path))).sum();
    let free = facts::room(&mount).map(|room| ByteSize::bytes(room.free.saturating_sub(still)));
    Volume {
        mount: mount.display().to_string(),
        file_system: place.file_system.clone(),
        options: place.mount_options.clone(),
        bytes: used.bytes(),
        free,
        databases: used.databases.clone(),
        logs: used.logs.clone(),
        cached_writes: used.cached_writes(),
        redundancy: used.redundancy().to_vec(),
        devices: used
            .stack
            .devices
            .iter()
            .map(|device| Device {
                settings: facts::disk_settings(&device.name),
                is_leaf: used.stack.leaves.contains(&device.name),
                device: device.clone(),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use brunt_scenario::Document;

    use super::*;

    #[test]
    fn the_volume_of_a_test_is_described() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[test]\nduration = \"1s\"\nsessions = 1\n[[instance]]\nlog = \"log\"\n\
                    databases = [\"db/1.edb\"]\ndatabase_size = \"8 MiB\"\n";
        let document = Document::new("t.toml", text, folder.path()).unwrap();
        let found = configuration(&document.test(&[]).unwrap());
        let [volume] = found.volumes.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((volume.databases.as_slice(), volume.logs.as_slice()), (&[0][..], &[0][..]));
        assert!(folder.path().starts_with(&volume.mount));
        assert!(volume.free < volume.bytes && volume.file_system.is_some());
        assert!(found.processors >= Some(1));
    }
}
