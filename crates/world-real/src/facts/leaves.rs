//! The devices at the bottom: under device mapper, software RAID and multipath.
//!
//! A logical volume has devices of its own below it, and the kernel counts an I/O at each level. What reached the storage is
//! what the lowest ones count.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of the devices below the device or partition `name`; `name` itself where there are none.
///
/// Source: kernel documentation, `Documentation/ABI/testing/sysfs-block`; the `slaves` folder of a device.
pub fn leaves(name: &str) -> Vec<String> {
    below(Path::new("/sys/class/block"), name)
}

/// Levels that devices are stacked, at most: more would be a circle.
const LEVELS_MAX: usize = 16;

fn below(tree: &Path, name: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut level = BTreeSet::from([name.to_owned()]);
    for _ in 0..LEVELS_MAX {
        let mut next = BTreeSet::new();
        for name in level {
            let slaves = slaves(tree, &name);
            if slaves.is_empty() {
                found.insert(name);
            }
            next.extend(slaves);
        }
        level = next;
    }
    found.into_iter().collect()
}

fn slaves(tree: &Path, name: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(tree.join(name).join("slaves")) else {
        return Vec::new();
    };
    let names = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_devices_are_found_once_each() {
        let tree = tempfile::tempdir().unwrap();
        let stack = |upper: &str, lower: &[&str]| {
            let slaves = tree.path().join(upper).join("slaves");
            fs::create_dir_all(&slaves).unwrap();
            for name in lower {
                fs::create_dir_all(slaves.join(name)).unwrap();
            }
        };
        // A logical volume over a RAID of two multipath devices with two paths each.
        stack("dm-3", &["md0"]);
        stack("md0", &["dm-1", "dm-2"]);
        stack("dm-1", &["sda", "sdb"]);
        stack("dm-2", &["sdc", "sdb"]);
        stack("sda", &[]);
        assert_eq!(below(tree.path(), "dm-3"), ["sda", "sdb", "sdc"]);
        assert_eq!(below(tree.path(), "sda"), ["sda"]);
        assert_eq!(below(tree.path(), "vda1"), ["vda1"], "a partition has none");
        stack("a", &["b"]);
        stack("b", &["a"]);
        assert!(below(tree.path(), "a").is_empty());
    }
}
