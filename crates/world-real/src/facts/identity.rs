//! What names the devices under a folder on every host, to tell whether two hosts write to one.
//!
//! | what | name | where |
//! | --- | --- | --- |
//! | a drive, a LUN, a mapping, a RAID | its WWID or UUID | `wwid`, `device/wwid`, `dm/uuid`, `md/uuid` of the disk |
//! | a btrfs | its UUID, and each of its devices | `/sys/fs/btrfs` |
//! | another file system | its UUID | `/dev/disk/by-uuid`, or the superblock of ext4 and XFS |
//!
//! Names of devices such as `sda` differ from host to host and say nothing. A device that has no name of
//! its own, such as a loop device, is known by what is below it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::stack::{below, holding};
use super::{Place, place, text};

/// What names the devices under `path`, which must exist, and its file system; empty where nothing does.
pub fn identities(path: &Path) -> BTreeSet<String> {
    let Some(name) = place(path).ok().and_then(|place| top(&place)) else {
        return BTreeSet::new();
    };
    let mut all = BTreeSet::new();
    let (system, devices) = match btrfs(Path::new("/sys"), &name) {
        Some((system, devices)) => (Some(system), devices),
        None => (uuid(&name), vec![name]),
    };
    all.extend(system.map(|system| format!("file system {system}")));
    all.extend(wwids(Path::new("/sys"), &devices));
    all
}

/// The device of a file system, or one of its devices.
fn top(place: &Place) -> Option<String> {
    let source = || {
        let source = Path::new(place.source.as_ref()?);
        let source = source.starts_with("/dev").then(|| fs::canonicalize(source).ok())??;
        Some(source.file_name()?.to_string_lossy().into_owned())
    };
    place.device.as_ref().map(|device| device.name.clone()).or_else(source)
}

/// The UUID of the btrfs on `device`, and all of its devices.
fn btrfs(sys: &Path, device: &str) -> Option<(String, Vec<String>)> {
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let folders = |of: PathBuf| {
        let entries = fs::read_dir(of).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let mut systems = folders(sys.join("fs/btrfs"));
    let is_own = |system: &PathBuf| system.join("devices").join(device).symlink_metadata().is_ok();
    let own = systems.find(is_own)?;
    let devices = folders(own.join("devices")).filter_map(|path| name(&path));
    Some((name(&own)?, devices.collect()))
}

/// WWIDs of `devices` and of those that they are made of.
fn wwids(sys: &Path, devices: &[String]) -> BTreeSet<String> {
    let tree = sys.join("class/block");
    let all = devices.iter().flat_map(|name| below(&tree, name, &holding).devices);
    let wwid = |disk: &str| {
        let disk = tree.join(disk);
        let places = ["wwid", "device/wwid", "dm/uuid", "md/uuid"].iter();
        places.filter_map(|place| text(&disk.join(place))).next()
    };
    all.filter_map(|device| wwid(&device.disk)).collect()
}

/// The UUID of the file system on `device`: as udev has found it, or as its first block says.
fn uuid(device: &str) -> Option<String> {
    let names = fs::read_dir("/dev/disk/by-uuid").into_iter().flatten().filter_map(Result::ok);
    let is_own = |link: &Path| {
        fs::canonicalize(link).is_ok_and(|to| to.file_name().is_some_and(|name| name == device))
    };
    let mut known = names.filter(|name| is_own(&name.path()));
    let known = known.next().map(|name| name.file_name().to_string_lossy().into_owned());
    known.or_else(|| superblock(&Path::new("/dev").join(device.replace('!', "/"))))
}

/// The UUID that ext4 or XFS keep in their superblock; only root may read it.
fn superblock(device: &Path) -> Option<String> {
    let mut head = [0; 2048];
    fs::File::open(device).ok()?.read_exact(&mut head).ok()?;
    let is_xfs = head.starts_with(b"XFSB");
    let is_ext = head[0x438..0x43A] == [0x53, 0xEF];
    let at = match (is_xfs, is_ext) {
        (true, _) => 32,
        (_, true) => 0x468,
        _ => return None,
    };
    let hex: String = head[at..at + 16].iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::super::captured::Captured;
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// A partition on a LUN, a btrfs on two others, one of them through the device mapper.
    fn sys() -> Captured {
        Captured::new(
            "F block/sda/device/wwid naa.1\nF block/sda/sda1/partition 1\nF block/sdb/device/wwid naa.2\n\
             F block/sdc/device/wwid naa.3\nF block/dm-0/dm/uuid CRYPT-x\nL block/dm-0/slaves/sdc ../../sdc\n\
             L class/block/sda ../../block/sda\nL class/block/sda1 ../../block/sda/sda1\n\
             L class/block/sdb ../../block/sdb\nL class/block/sdc ../../block/sdc\n\
             L class/block/dm-0 ../../block/dm-0\nL fs/btrfs/0b2e/devices/sdb ../../../../block/sdb\n\
             L fs/btrfs/0b2e/devices/dm-0 ../../../../block/dm-0\nF fs/btrfs/features/raid56 0\n",
        )
    }

    #[test]
    fn a_partition_is_named_by_its_disk_and_a_mapping_by_both() {
        let sys = sys();
        let of =
            |name: &str| wwids(&sys.path(""), &strings(&[name])).into_iter().collect::<Vec<_>>();
        assert_eq!(of("sda1"), ["naa.1"]);
        assert_eq!(of("dm-0"), ["CRYPT-x", "naa.3"]);
        assert_eq!(of("sdd"), strings(&[]));
    }

    /// Its mount names one of its devices only; another host may mount it by the other.
    #[test]
    fn a_btrfs_has_all_of_its_devices() {
        let sys = sys();
        for device in ["sdb", "dm-0"] {
            let (uuid, mut devices) = btrfs(&sys.path(""), device).unwrap();
            devices.sort();
            assert_eq!(
                (uuid.as_str(), devices.as_slice()),
                ("0b2e", &strings(&["dm-0", "sdb"])[..])
            );
            let all = strings(&["CRYPT-x", "naa.2", "naa.3"]);
            assert_eq!(wwids(&sys.path(""), &devices).into_iter().collect::<Vec<_>>(), all);
        }
        assert_eq!(btrfs(&sys.path(""), "sda1"), None);
    }
}
