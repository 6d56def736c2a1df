//! The devices under a device, down to the drives: device mapper, software RAID, multipath, loop
//! devices.
//!
//! ```text
//!   dm-3  vg0-mail, LVM
//!     md0  raid10
//!       sda  sdb  sdc  sdd       the leaves
//! ```
//!
//! A logical volume has other devices below it, and the kernel counts an I/O at each level. The I/O
//! that reached the storage is that of the lowest ones. Below a loop device is the device that
//! holds its file. If that is unknown (a file in memory or on a file server), nothing is known
//! about the storage, and there is no leaf.
//!
//! Source: kernel documentation, `Documentation/ABI/testing/sysfs-block`; the `slaves` folder of a
//! device. Paths of NVMe: [`super::nvme`].

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::block_device::disk;
use super::{BlockDevice, Made, nvme, place};

/// A device and all devices under it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Each device once, from the top down.
    pub devices: Vec<BlockDevice>,
    /// Names of the lowest devices, whose `/proc/diskstats` counters are read. Incomplete when
    /// something is not known.
    pub leaves: BTreeSet<String>,
}

/// The stack of the device or partition `name`.
pub fn stack(name: &str) -> Stack {
    below(Path::new("/sys/class/block"), name, &holding)
}

/// The device that holds a file.
pub(super) fn holding(file: &Path) -> Option<String> {
    Some(place(file).ok()?.device?.name)
}

/// Maximum number of levels; more would mean a cycle.
const LEVELS_MAX: usize = 16;

/// The stack described by `tree`; `holding` finds the device that holds a file.
pub(super) fn below(tree: &Path, name: &str, holding: &dyn Fn(&Path) -> Option<String>) -> Stack {
    let mut stack = Stack::default();
    let mut level = BTreeSet::from([name.to_owned()]);
    for _ in 0..LEVELS_MAX {
        let mut next = BTreeSet::new();
        for name in level {
            let device = BlockDevice::at(&tree.join(&name));
            let file = device.as_ref().and_then(backing);
            let under = match file {
                Some(file) => holding(file).into_iter().collect(),
                None => under(tree, &name),
            };
            if under.is_empty() && file.is_none() {
                stack.leaves.insert(name);
            }
            next.extend(under);
            let seen = |device: &BlockDevice| stack.devices.iter().any(|d| d.name == device.name);
            if let Some(device) = device.filter(|device| !seen(device)) {
                stack.devices.push(device);
            }
        }
        level = next;
    }
    stack
}

/// The backing file of a loop device.
fn backing(device: &BlockDevice) -> Option<&Path> {
    match &device.made {
        Made::Loop { file, .. } => Some(file),
        _ => None,
    }
}

/// The devices under the disk of `name`, or its paths. A partition has neither, but its disk may.
fn under(tree: &Path, name: &str) -> Vec<String> {
    let own = fs::canonicalize(tree.join(name)).ok();
    let Some(disk) = own.and_then(|own| disk(&own)) else {
        return Vec::new();
    };
    match slaves(&disk) {
        none if none.is_empty() => {
            let name = disk.file_name().unwrap_or_default();
            nvme::paths(tree, &name.to_string_lossy())
        }
        slaves => slaves,
    }
}

fn slaves(disk: &Path) -> Vec<String> {
    let entries = fs::read_dir(disk.join("slaves")).ok();
    let names = entries.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device tree, each entry a link as in `/sys/class/block`.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn put(&self, path: &str, files: &[(&str, &str)]) {
            let device = self.0.path().join("devices").join(path);
            fs::create_dir_all(device.join("slaves")).unwrap();
            for (file, content) in files {
                let file = device.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, content).unwrap();
            }
            let name = device.file_name().unwrap().to_owned();
            std::os::unix::fs::symlink(&device, self.0.path().join(name)).unwrap();
        }

        fn over(&self, upper: &str, lower: &[&str]) {
            self.put(upper, &[]);
            for name in lower {
                let slaves = self.0.path().join("devices").join(upper).join("slaves");
                fs::create_dir(slaves.join(name)).unwrap();
            }
        }

        fn below(&self, name: &str) -> (Vec<String>, Vec<String>) {
            let holding = |file: &Path| (file == Path::new("/on/sda")).then(|| "sda".to_owned());
            let found = below(self.0.path(), name, &holding);
            let names = found.devices.into_iter().map(|device| device.name);
            (names.collect(), found.leaves.into_iter().collect())
        }
    }

    fn tree() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    #[test]
    fn the_lowest_devices_are_found_once_each() {
        let tree = tree();
        // A logical volume over a RAID of two multipath devices with two paths each.
        tree.over("dm-3", &["md0"]);
        tree.over("md0", &["dm-1", "dm-2"]);
        tree.over("dm-1", &["sda", "sdb"]);
        tree.over("dm-2", &["sdc", "sdb"]);
        for drive in ["sda", "sdb", "sdc"] {
            tree.put(drive, &[]);
        }
        let (devices, leaves) = tree.below("dm-3");
        assert_eq!(leaves, ["sda", "sdb", "sdc"]);
        assert_eq!(devices, ["dm-3", "md0", "dm-1", "dm-2", "sda", "sdb", "sdc"]);
        assert_eq!(tree.below("sda").1, ["sda"]);
        tree.over("a", &["b"]);
        tree.over("b", &["a"]);
        assert!(tree.below("a").1.is_empty(), "a circle has no end");
    }

    #[test]
    fn a_partition_lies_on_what_its_disk_lies_on() {
        let tree = tree();
        tree.put("sda", &[]);
        tree.put("sda/sda1", &[("partition", "1")]);
        assert_eq!(tree.below("sda1").1, ["sda1"], "counted by itself");
        tree.over("md0", &["sda1"]);
        tree.put("md0/md0p1", &[("partition", "1")]);
        assert_eq!(tree.below("md0p1").1, ["sda1"]);
    }

    #[test]
    fn a_loop_device_lies_on_what_holds_its_file() {
        let tree = tree();
        tree.put("sda", &[]);
        tree.put("loop0", &[("loop/backing_file", "/on/sda\n")]);
        tree.put("loop1", &[("loop/backing_file", "/in/memory\n")]);
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(tree.below("loop0"), (names(&["loop0", "sda"]), names(&["sda"])));
        assert_eq!(tree.below("loop1"), (names(&["loop1"]), Vec::new()));
    }
}
