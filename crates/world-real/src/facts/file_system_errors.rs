//! Errors that a file system has counted: what made it read-only, where the kernel's log cannot be
//! read.
//!
//! | file system | its counters |
//! | --- | --- |
//! | ext4 | `/sys/fs/ext4/DEVICE/errors_count` |
//! | btrfs | `/sys/fs/btrfs/*/devinfo/*/error_stats`, of all devices of the file system |
//!
//! SCSI devices count as well (`ioerr_cnt`), but also commands that they do not know. Source:
//! kernel documentation, `Documentation/ABI/testing/sysfs-fs-ext4`, `sysfs-fs-btrfs`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{number, text};

/// Errors that the file system on the device or partition `name` has counted so far.
pub fn file_system_errors(name: &str) -> u64 {
    of(Path::new("/sys/fs"), name)
}

fn of(tree: &Path, name: &str) -> u64 {
    let ext4: Option<u64> = number(&tree.join("ext4").join(name).join("errors_count"));
    let systems = entries(&tree.join("btrfs")).into_iter();
    let own = systems.filter(|system| system.join("devices").join(name).exists());
    let devices = own.flat_map(|system| entries(&system.join("devinfo")));
    let counted = devices.filter_map(|device| {
        let stats = text(&device.join("error_stats"))?;
        let counts =
            stats.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        Some(counts.sum::<u64>())
    });
    ext4.unwrap_or(0) + counted.sum::<u64>()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_count_their_errors() {
        let tree = tempfile::tempdir().unwrap();
        let put = |path: &str, content: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        assert_eq!(of(tree.path(), "sda1"), 0);
        put("ext4/sda1/errors_count", "3\n");
        put("btrfs/4a5b/devices/sdb", "");
        put("btrfs/4a5b/devinfo/1/error_stats", "write_errs 2\nread_errs 0\nflush_errs 5\n");
        assert_eq!(["sda1", "sdb", "sdc"].map(|name| of(tree.path(), name)), [3, 7, 0]);
    }
}
