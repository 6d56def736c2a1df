//! Where a path lies: its file system and the underlying device.
//!
//! The mount comes from `/proc/self/mountinfo` (proc(5)), the device from `/sys/dev/block` (kernel
//! documentation, `Documentation/ABI/stable/sysfs-block`). File systems on several devices, such as
//! btrfs, and those without a device have no number there; then the mount's source is tried as a
//! device name. A btrfs on several devices has none: its source is only one of them.
//!
//! Only the topmost device is examined; [`super::stack`] continues from there.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::{BlockDevice, Redundancy, btrfs_redundancy};

/// Where a path lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether the path is itself a block device, which holds no files.
    pub is_block_device: bool,
    /// Where its file system is mounted.
    pub mount_point: Option<PathBuf>,
    /// Type of its file system: `ext4`, `xfs`, `tmpfs`.
    pub file_system: Option<String>,
    /// The mount source, as the file system names it: `/dev/sda1`, `server:/export`, `tmpfs`.
    pub source: Option<String>,
    /// Mount and file system options, as the kernel lists them.
    pub mount_options: Option<String>,
    /// Whether all devices of a btrfs are there.
    pub redundancy: Option<Redundancy>,
    /// The underlying device, if there is exactly one.
    pub device: Option<BlockDevice>,
}

/// The place of `path`, which must exist.
///
/// # Errors
/// The path cannot be examined.
pub fn place(path: &Path) -> io::Result<Place> {
    let path = fs::canonicalize(path)?;
    let status = fs::metadata(&path)?;
    let is_block_device = status.file_type().is_block_device();
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = mount_of(&table, &path);
    let source = mount.as_ref().map(|mount| PathBuf::from(&mount.source));
    let numbers = if is_block_device {
        Some(status.rdev())
    } else {
        let own = Some(status.dev()).filter(|device| major(*device) != 0);
        own.or_else(|| device_at(&source?))
    };
    let device = numbers.and_then(|numbers| BlockDevice::numbered(major(numbers), minor(numbers)));
    let is_btrfs = mount.as_ref().is_some_and(|mount| mount.file_system == "btrfs");
    let redundancy = device
        .as_ref()
        .filter(|_| is_btrfs && !is_block_device)
        .and_then(|device| btrfs_redundancy(&device.name));
    let device = device.filter(|device| {
        is_block_device || !is_btrfs || !has_others(Path::new("/sys/fs/btrfs"), &device.name)
    });
    Ok(Place {
        is_block_device,
        mount_point: mount.as_ref().map(|mount| mount.point.clone()),
        file_system: mount.as_ref().map(|mount| mount.file_system.clone()),
        source: mount.as_ref().map(|mount| mount.source.clone()),
        mount_options: mount.map(|mount| mount.options),
        redundancy,
        device,
    })
}

fn device_at(path: &Path) -> Option<u64> {
    let status = fs::metadata(path).ok()?;
    let device = status.file_type().is_block_device();
    device.then(|| status.rdev())
}

/// Whether the btrfs on `device` has others as well. `tree` has a folder for each file system, with
/// a link for each of its devices.
fn has_others(tree: &Path, device: &str) -> bool {
    let systems = fs::read_dir(tree).into_iter().flatten();
    let devices = systems.filter_map(|system| Some(system.ok()?.path().join("devices")));
    let mut own = devices.filter(|devices| devices.join(device).symlink_metadata().is_ok());
    own.any(|devices| fs::read_dir(devices).is_ok_and(|all| all.count() > 1))
}

struct Mount {
    point: PathBuf,
    file_system: String,
    source: String,
    options: String,
}

/// The mount in `table` that holds `path`: the deepest one, and among several at the same mount
/// point the last, which covers the others.
fn mount_of(table: &str, path: &Path) -> Option<Mount> {
    let mounts = table.lines().filter_map(mount);
    mounts
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// One line of mountinfo: `id parent major:minor root point options [optional ...] - type source
/// super-options`.
fn mount(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let mut head = head.split(' ').skip(4);
    let mut tail = tail.split(' ');
    let point = PathBuf::from(unescaped(head.next()?));
    let own_options = head.next()?;
    Some(Mount {
        point,
        file_system: tail.next()?.to_owned(),
        source: unescaped(tail.next()?),
        options: format!("{own_options},{}", tail.next().unwrap_or_default()),
    })
}

/// Decodes the kernel's octal escapes of blanks and backslashes: `\040` is a space.
fn unescaped(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r"27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 27 0:25 / /mnt rw - tmpfs tmpfs rw,size=1024k
31 27 8:17 / /mnt/mail\040store rw,noatime shared:7 master:2 - xfs /dev/sdb1 rw,attr2
32 27 0:40 / /mnt/mail\040store rw - btrfs /dev/sdc rw
garbage";

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let held = |path: &str| {
            let mount = mount_of(TABLE, Path::new(path)).unwrap();
            (mount.point, mount.file_system, mount.source)
        };
        let expected = |point: &str, kind: &str, source: &str| {
            (PathBuf::from(point), kind.to_owned(), source.to_owned())
        };
        assert_eq!(held("/home/x"), expected("/", "ext4", "/dev/sda1"));
        assert_eq!(held("/mnt/mail"), expected("/mnt", "tmpfs", "tmpfs"));
        assert_eq!(held("/mnt/mail store/db1"), expected("/mnt/mail store", "btrfs", "/dev/sdc"));
        let root = mount_of(TABLE, Path::new("/")).unwrap();
        assert_eq!(root.options, "rw,relatime,rw,errors=remount-ro");
    }

    #[test]
    fn escapes_are_undone_and_other_backslashes_stay() {
        assert_eq!(unescaped(r"a\040b\134c"), r"a b\c");
        assert_eq!(unescaped(r"a\9b\"), r"a\9b\");
    }

    #[test]
    fn a_btrfs_on_several_devices_is_told_from_one_on_one() {
        let tree = tempfile::tempdir().unwrap();
        for (system, devices) in [("a", &["sda", "sdb"][..]), ("b", &["sdc1"])] {
            let folder = tree.path().join(system).join("devices");
            fs::create_dir_all(&folder).unwrap();
            for device in devices {
                std::os::unix::fs::symlink("/nowhere", folder.join(device)).unwrap();
            }
        }
        fs::create_dir(tree.path().join("features")).unwrap();
        let of = |device| has_others(tree.path(), device);
        assert_eq!(["sda", "sdb", "sdc1", "sdd"].map(of), [true, true, false, false]);
        assert!(!has_others(Path::new("/no/such/tree"), "sda"));
    }

    #[test]
    fn this_machine_answers() {
        let here = place(&std::env::temp_dir()).unwrap();
        assert!(!here.is_block_device);
        assert!(here.mount_point.is_some() && here.file_system.is_some());
        assert!(place(Path::new("/no/such/path")).is_err());
    }
}
