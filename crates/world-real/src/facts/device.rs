//! Where a path lies: its file system and the device beneath.
//!
//! The mount comes from `/proc/self/mountinfo` (proc(5)), the device from `/sys/dev/block` (kernel
//! documentation, `Documentation/ABI/stable/sysfs-block`). File systems on several devices, such as btrfs, and those on
//! none have no number there; then the mount's source is tried as the name of a device.
//!
//! Only the topmost device is looked at: of a logical volume, this says what the volume claims.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use brunt_units::ByteSize;
use rustix::fs::{major, minor};

use super::{number, switch, text};

/// Where a path lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path is itself a block device, which holds no files.
    pub is_block_device: bool,
    /// Where its file system is mounted.
    pub mount_point: Option<PathBuf>,
    /// Type of its file system: `ext4`, `xfs`, `tmpfs`.
    pub file_system: Option<String>,
    /// What is mounted there, as the file system calls it: `/dev/sda1`, `server:/export`, `tmpfs`.
    pub source: Option<String>,
    /// Options of the mount and of the file system, as the kernel lists them.
    pub mount_options: Option<String>,
    /// The device beneath, if there is exactly one.
    pub device: Option<BlockDevice>,
}

/// A block device, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its name: `sda1`, `nvme0n1`, `dm-3`.
    pub name: String,
    /// The disk it is a part of; its own name if it is no partition. `/proc/diskstats` counts both.
    pub disk: String,
    /// What the disk does with a write before it says that it is done.
    pub write_cache: Option<WriteCache>,
    /// Whether a single write can ask to be durable (forced unit access).
    pub fua: Option<bool>,
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// Bytes in the smallest unit it addresses.
    pub logical_sector: Option<u32>,
    /// Bytes in the smallest unit it writes without reading.
    pub physical_sector: Option<u32>,
    /// Its capacity.
    pub capacity: Option<ByteSize>,
    /// Its model, where it says so.
    pub model: Option<String>,
    /// The kernel's scheduler for it.
    pub scheduler: Option<String>,
}

/// What a disk does with a write before it says that it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCache {
    /// Keeps it in a volatile cache: only a flush makes it durable.
    WriteBack,
    /// Makes it durable, or claims so.
    WriteThrough,
}

/// Where `path`, which exists, lies.
///
/// # Errors
/// The path cannot be looked at.
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
    let device = numbers.and_then(|numbers| {
        block_device(Path::new("/sys/dev/block"), major(numbers), minor(numbers))
    });
    Ok(Place {
        is_block_device,
        mount_point: mount.as_ref().map(|mount| mount.point.clone()),
        file_system: mount.as_ref().map(|mount| mount.file_system.clone()),
        source: mount.as_ref().map(|mount| mount.source.clone()),
        mount_options: mount.map(|mount| mount.options),
        device,
    })
}

fn device_at(path: &Path) -> Option<u64> {
    let status = fs::metadata(path).ok()?;
    let device = status.file_type().is_block_device();
    device.then(|| status.rdev())
}

struct Mount {
    point: PathBuf,
    file_system: String,
    source: String,
    options: String,
}

/// The mount of `table` that holds `path`: the deepest one, and of several at the same point the last, which covers the
/// others.
fn mount_of(table: &str, path: &Path) -> Option<Mount> {
    let mounts = table.lines().filter_map(mount);
    mounts
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// One line of mountinfo: `id parent major:minor root point options [optional ...] - type source super-options`.
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

/// Undoes the kernel's octal escapes of blanks and backslashes: `\040` is a space.
fn unescaped(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
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

/// The device numbered `major:minor`, as described below `tree`.
fn block_device(tree: &Path, major: u32, minor: u32) -> Option<BlockDevice> {
    let own = fs::canonicalize(tree.join(format!("{major}:{minor}"))).ok()?;
    let disk = if own.join("partition").exists() {
        own.parent()?.to_owned()
    } else {
        own.clone()
    };
    let queue = disk.join("queue");
    let write_cache = match text(&queue.join("write_cache")).as_deref() {
        Some("write back") => Some(WriteCache::WriteBack),
        Some("write through") => Some(WriteCache::WriteThrough),
        _ => None,
    };
    // Always in units of 512 bytes, whatever the sectors of the device.
    let sectors: Option<u64> = number(&own.join("size"));
    Some(BlockDevice {
        name: file_name(&own)?,
        disk: file_name(&disk)?,
        write_cache,
        fua: switch(&queue.join("fua")),
        rotational: switch(&queue.join("rotational")),
        logical_sector: number(&queue.join("logical_block_size")),
        physical_sector: number(&queue.join("physical_block_size")),
        capacity: sectors.map(|sectors| ByteSize::bytes(sectors.saturating_mul(512))),
        model: text(&disk.join("device/model")),
        scheduler: text(&queue.join("scheduler")).and_then(|list| chosen(&list)),
    })
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// The name in brackets: `none [mq-deadline] kyber`. A single name stands without.
fn chosen(list: &str) -> Option<String> {
    let bracketed = list
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let name = bracketed.map_or(list, |(name, _)| name);
    (!name.is_empty()).then(|| name.to_owned())
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
        assert_eq!(
            held("/mnt/mail store/db1"),
            expected("/mnt/mail store", "btrfs", "/dev/sdc")
        );
        let root = mount_of(TABLE, Path::new("/")).unwrap();
        assert_eq!(root.options, "rw,relatime,rw,errors=remount-ro");
    }

    #[test]
    fn escapes_are_undone_and_other_backslashes_stay() {
        assert_eq!(unescaped(r"a\040b\134c"), r"a b\c");
        assert_eq!(unescaped(r"a\9b\"), r"a\9b\");
    }

    #[test]
    fn a_partition_has_its_disks_queue() {
        let tree = tempfile::tempdir().unwrap();
        let disk = tree.path().join("devices/sda");
        let put = |path: &str, text: &str| {
            let path = disk.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("sda2/partition", "2\n");
        put("sda2/size", "2048\n");
        put("queue/write_cache", "write back\n");
        put("queue/fua", "1\n");
        put("queue/rotational", "1\n");
        put("queue/logical_block_size", "512\n");
        put("queue/scheduler", "none [mq-deadline] kyber\n");
        std::os::unix::fs::symlink(disk.join("sda2"), tree.path().join("8:2")).unwrap();
        let device = block_device(tree.path(), 8, 2).unwrap();
        let expected = BlockDevice {
            name: "sda2".into(),
            disk: "sda".into(),
            write_cache: Some(WriteCache::WriteBack),
            fua: Some(true),
            rotational: Some(true),
            logical_sector: Some(512),
            capacity: Some(ByteSize::mib(1)),
            scheduler: Some("mq-deadline".into()),
            ..BlockDevice::default()
        };
        assert_eq!(device, expected);
        assert_eq!(block_device(tree.path(), 8, 3), None);
    }

    #[test]
    fn this_machine_answers() {
        let here = place(&std::env::temp_dir()).unwrap();
        assert!(!here.is_block_device);
        assert!(here.mount_point.is_some() && here.file_system.is_some());
        assert!(place(Path::new("/no/such/path")).is_err());
    }
}
