//! A block device, as described below `/sys`.
//!
//! A signed report names the underlying drives: model, serial number, firmware, and the settings of
//! the kernel's queue in front of them. Where to find each field depends on the kind of drive:
//!
//! | | NVMe | SCSI, SATA, SAS | virtio | eMMC |
//! | --- | --- | --- | --- | --- |
//! | model | `device/model` | `device/vendor`, `device/model` | | `device/name` |
//! | serial number | `device/serial` | `device/vpd_pg80` | `serial` | `device/serial` |
//! | firmware | `device/firmware_rev` | `device/rev` | | `device/fwrev` |
//!
//! Source: kernel documentation, `Documentation/ABI/stable/sysfs-block` and
//! `Documentation/admin-guide/device-mapper`; page 80h is the unit serial number of SPC (SCSI
//! primary commands), as the drive reported it to the kernel.

use std::fs;
use std::path::{Path, PathBuf};

use brunt_units::ByteSize;

use super::{number, nvme, switch, text};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its name: `sda1`, `nvme0n1`, `dm-3`.
    pub name: String,
    /// The disk it is part of; its own name if it is not a partition. `/proc/diskstats` counts
    /// both.
    pub disk: String,
    pub made: Made,
    /// When the disk reports a write as complete.
    pub write_cache: Option<WriteCache>,
    /// Whether a single write can ask to be durable (forced unit access).
    pub fua: Option<bool>,
    /// Whether it has rotating platters.
    pub rotational: Option<bool>,
    /// Smallest addressable unit in bytes.
    pub logical_sector: Option<u32>,
    /// Smallest unit in bytes that it writes without reading.
    pub physical_sector: Option<u32>,
    pub capacity: Option<ByteSize>,
    /// Its vendor and model, where reported.
    pub model: Option<String>,
    /// Its serial number, where reported.
    pub serial: Option<String>,
    /// Its firmware revision, where reported.
    pub firmware: Option<String>,
    /// The kernel's I/O scheduler for it.
    pub scheduler: Option<String>,
    /// Capacity in requests of each hardware queue of the kernel.
    pub requests: Option<u32>,
}

/// What a block device is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Made {
    /// A drive, as far as the kernel can see.
    #[default]
    Drive,
    /// A mapping onto other devices by the device mapper.
    Mapped {
        /// Its device mapper name: `vg0-mail`.
        name: String,
        /// The subsystem that created it, according to its identifier: `LVM`, `CRYPT`, `mpath`.
        by: Option<String>,
    },
    /// An NVMe namespace with all the paths to it.
    Multipath {
        /// The subsystem that they belong to: `nvme-subsys2`.
        name: String,
    },
    /// Software RAID.
    Raid {
        /// Its level: `raid10`.
        level: String,
    },
    /// A file, through the loop driver.
    Loop {
        file: PathBuf,
        /// Whether its I/O bypasses the page cache.
        direct: Option<bool>,
    },
}

/// When a disk reports a write as complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCache {
    /// In a volatile cache: only a flush makes it durable.
    WriteBack,
    /// When it is durable, or claimed to be.
    WriteThrough,
}

impl BlockDevice {
    /// The device with these major and minor numbers.
    pub(super) fn numbered(major: u32, minor: u32) -> Option<Self> {
        Self::at(&Path::new("/sys/dev/block").join(format!("{major}:{minor}")))
    }

    /// The device described by `entry` below `/sys`.
    pub(super) fn at(entry: &Path) -> Option<Self> {
        let own = fs::canonicalize(entry).ok()?;
        let disk = disk(&own)?;
        let queue = disk.join("queue");
        // Always in units of 512 bytes, whatever the device's sector size.
        let sectors: Option<u64> = number(&own.join("size"));
        Some(Self {
            name: file_name(&own)?,
            disk: file_name(&disk)?,
            made: made(&disk),
            write_cache: match text(&queue.join("write_cache")).as_deref() {
                Some("write back") => Some(WriteCache::WriteBack),
                Some("write through") => Some(WriteCache::WriteThrough),
                _ => None,
            },
            fua: switch(&queue.join("fua")),
            rotational: switch(&queue.join("rotational")),
            logical_sector: number(&queue.join("logical_block_size")),
            physical_sector: number(&queue.join("physical_block_size")),
            capacity: sectors.map(|sectors| ByteSize::bytes(sectors.saturating_mul(512))),
            model: model(&disk),
            serial: serial(&disk),
            firmware: first(&disk, &["device/firmware_rev", "device/rev", "device/fwrev"]),
            scheduler: text(&queue.join("scheduler")).and_then(|list| chosen(&list)),
            requests: number(&queue.join("nr_requests")),
        })
    }
}

/// The folder of the disk that a device is part of; its own if it is not a partition.
pub(super) fn disk(device: &Path) -> Option<PathBuf> {
    match device.join("partition").exists() {
        true => device.parent().map(Path::to_owned),
        false => Some(device.to_owned()),
    }
}

fn made(disk: &Path) -> Made {
    if let Some(file) = text(&disk.join("loop/backing_file")) {
        let direct = switch(&disk.join("loop/dio"));
        let file = PathBuf::from(file);
        return Made::Loop { file, direct };
    }
    if let Some(level) = text(&disk.join("md/level")) {
        return Made::Raid { level };
    }
    match text(&disk.join("dm/name")) {
        Some(name) => {
            let by = text(&disk.join("dm/uuid"));
            let by = by.and_then(|id| Some(id.split_once('-')?.0.to_owned()));
            Made::Mapped { name, by }
        }
        None => nvme::subsystem(disk).map_or(Made::Drive, |(name, _)| Made::Multipath { name }),
    }
}

/// SCSI lists the vendor beside the model; PCI and virtio have only an ID there, which is no use to
/// a reader.
fn model(disk: &Path) -> Option<String> {
    let model = first(disk, &["device/model", "device/name"])?;
    let vendor = text(&disk.join("device/vendor")).filter(|vendor| !vendor.starts_with("0x"));
    Some(match vendor {
        Some(vendor) => format!("{vendor} {model}"),
        None => model,
    })
}

fn serial(disk: &Path) -> Option<String> {
    let told = first(disk, &["device/serial", "serial"]);
    told.or_else(|| unit_serial(&fs::read(disk.join("device/vpd_pg80")).ok()?))
}

/// The serial number in page 80h: a header of four bytes, the last two of which are the length of
/// the ASCII text that follows.
fn unit_serial(page: &[u8]) -> Option<String> {
    let length = u16::from_be_bytes([*page.get(2)?, *page.get(3)?]);
    let number = page.get(4..)?.get(..length.into())?;
    let number = String::from_utf8_lossy(number).trim().to_owned();
    (!number.is_empty()).then_some(number)
}

/// The text of the first of these small files that exists.
fn first(disk: &Path, files: &[&str]) -> Option<String> {
    files.iter().find_map(|file| text(&disk.join(file)))
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// The name in brackets: `none [mq-deadline] kyber`. A single name has no brackets.
fn chosen(list: &str) -> Option<String> {
    let bracketed = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let name = bracketed.map_or(list, |(name, _)| name);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(disk: &Path, files: &[(&str, &[u8])]) {
        for (path, content) in files {
            let path = disk.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    #[test]
    fn a_partition_has_its_disks_queue_and_identity() {
        let tree = tempfile::tempdir().unwrap();
        let disk = tree.path().join("devices/sda");
        put(
            &disk,
            &[
                ("sda2/partition", b"2\n"),
                ("sda2/size", b"2048\n"),
                ("queue/write_cache", b"write back\n"),
                ("queue/fua", b"1\n"),
                ("queue/rotational", b"1\n"),
                ("queue/logical_block_size", b"512\n"),
                ("queue/scheduler", b"none [mq-deadline] kyber\n"),
                ("queue/nr_requests", b"64\n"),
                ("device/vendor", b"SEAGATE \n"),
                ("device/model", b"ST3450857SS     \n"),
                ("device/rev", b"0008\n"),
                ("device/vpd_pg80", b"\x00\x80\x00\x083SK1X5CV"),
            ],
        );
        std::os::unix::fs::symlink(disk.join("sda2"), tree.path().join("8:2")).unwrap();
        let device = BlockDevice::at(&tree.path().join("8:2")).unwrap();
        let expected = BlockDevice {
            name: "sda2".into(),
            disk: "sda".into(),
            write_cache: Some(WriteCache::WriteBack),
            fua: Some(true),
            rotational: Some(true),
            logical_sector: Some(512),
            capacity: Some(ByteSize::mib(1)),
            model: Some("SEAGATE ST3450857SS".into()),
            serial: Some("3SK1X5CV".into()),
            firmware: Some("0008".into()),
            scheduler: Some("mq-deadline".into()),
            requests: Some(64),
            ..BlockDevice::default()
        };
        assert_eq!(device, expected);
        assert_eq!(BlockDevice::at(&tree.path().join("8:3")), None);
    }

    #[test]
    fn each_kind_of_drive_says_who_it_is_in_its_own_place() {
        let tree = tempfile::tempdir().unwrap();
        let who = |name: &str, files: &[(&str, &[u8])]| {
            let disk = tree.path().join(name);
            put(&disk, files);
            let device = BlockDevice::at(&disk).unwrap();
            [device.model, device.serial, device.firmware].map(|field| field.unwrap_or_default())
        };
        let nvme: [(&str, &[u8]); 3] = [
            ("device/model", b"A fast drive   "),
            ("device/serial", b" S5 \n"),
            ("device/firmware_rev", b"1B2QEXM7"),
        ];
        assert_eq!(who("nvme0n1", &nvme), ["A fast drive", "S5", "1B2QEXM7"]);
        let virtio: [(&str, &[u8]); 2] = [("device/vendor", b"0x1af4"), ("serial", b"vol-7\n")];
        assert_eq!(who("vda", &virtio), ["", "vol-7", ""]);
        let silent: [(&str, &[u8]); 2] = [("size", b"8"), ("device/vpd_pg80", b"\0\x80\0")];
        assert_eq!(who("sdb", &silent), ["", "", ""]);
        assert_eq!(unit_serial(b"\0\x80\0\x09short"), None, "cut off");
    }

    #[test]
    fn what_a_device_is_made_of_is_told() {
        let tree = tempfile::tempdir().unwrap();
        let made = |name: &str, files: &[(&str, &[u8])]| {
            let disk = tree.path().join(name);
            put(&disk, files);
            BlockDevice::at(&disk).unwrap().made
        };
        let lvm: [(&str, &[u8]); 2] = [("dm/name", b"vg0-mail\n"), ("dm/uuid", b"LVM-x1-y\n")];
        let name = "vg0-mail".to_owned();
        let by = Some("LVM".to_owned());
        assert_eq!(made("dm-0", &lvm), Made::Mapped { name, by });
        let level = "raid10".to_owned();
        assert_eq!(made("md0", &[("md/level", b"raid10\n")]), Made::Raid { level });
        let file: [(&str, &[u8]); 2] = [("loop/backing_file", b"/x.img\n"), ("loop/dio", b"0\n")];
        let expected = Made::Loop { file: "/x.img".into(), direct: Some(false) };
        assert_eq!(made("loop0", &file), expected);
        assert_eq!(made("sda", &[("size", b"8")]), Made::Drive);
    }
}
