//! How a block device is reached and set up, as described below `/sys`: besides
//! [`super::BlockDevice`], for a review of settings.
//!
//! Source: kernel documentation, `Documentation/ABI/stable/sysfs-block`,
//! `Documentation/scsi/scsi_fc_transport.rst`.

use std::fs;
use std::path::{Path, PathBuf};

use super::block_device::disk;
use super::{number, nvme, text};

/// How a device is reached and set up, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskSettings {
    /// Where a partition begins, in bytes; `None` for a whole device.
    pub start: Option<u64>,
    /// Requests that the device takes at a time.
    pub queue_depth: Option<u32>,
    /// What the kernel says of a SCSI device: `running`, `offline`, `blocked`; of an NVMe
    /// controller: `live`, `connecting`; of one that is live, where its path is not `optimized`,
    /// what the array says of it: `non-optimized`, `inaccessible`.
    pub state: Option<String>,
    /// How it is attached.
    pub transport: Option<Transport>,
    /// The adapter that it is reached through: `host3`; of NVMe over fabrics the address or
    /// interface in this machine.
    pub adapter: Option<String>,
}

/// How a device is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Iscsi,
    FibreChannel,
    /// NVMe over TCP, RDMA or Fibre Channel.
    NvmeFabrics,
}

/// The settings of the device or partition `name`.
pub fn disk_settings(name: &str) -> DiskSettings {
    at(&Path::new("/sys/class/block").join(name))
}

pub(super) fn at(entry: &Path) -> DiskSettings {
    let Ok(own) = fs::canonicalize(entry) else {
        return DiskSettings::default();
    };
    let disk = disk(&own).unwrap_or_else(|| own.clone());
    let sectors: Option<u64> = match own.join("partition").exists() {
        // Always in units of 512 bytes.
        true => number(&own.join("start")),
        false => None,
    };
    let controller = disk.join("device");
    let transport = transport(&disk);
    DiskSettings {
        start: sectors.map(|sectors| sectors.saturating_mul(512)),
        queue_depth: number(&disk.join("device/queue_depth")),
        state: text(&controller.join("state")).map(|state| nvme::access(&disk, state)),
        transport,
        adapter: match transport {
            Some(Transport::NvmeFabrics) => nvme::own_end(&controller),
            _ => part(&disk, |name| is_numbered(name, "host")),
        },
    }
}

fn transport(disk: &Path) -> Option<Transport> {
    if nvme::is_on_fabric(&disk.join("device")) {
        return Some(Transport::NvmeFabrics);
    }
    if part(disk, |name| is_numbered(name, "session")).is_some() {
        return Some(Transport::Iscsi);
    }
    part(disk, |name| name.starts_with("rport-")).map(|_| Transport::FibreChannel)
}

/// The first part of a path that `is_it`.
fn part(path: &Path, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let path: PathBuf = path.to_owned();
    let names = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.into_iter().find(|name| is_it(name))
}

fn is_numbered(name: &str, word: &str) -> bool {
    let digits = name.strip_prefix(word);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_of_an_iscsi_disk_is_read() {
        let tree = tempfile::tempdir().unwrap();
        let disk = tree.path().join("platform/host3/session1/target3:0:0/3:0:0:1/block/sdb");
        let part = disk.join("sdb1");
        fs::create_dir_all(disk.join("device")).unwrap();
        fs::create_dir_all(&part).unwrap();
        fs::write(disk.join("device/queue_depth"), "64\n").unwrap();
        fs::write(disk.join("device/state"), "running\n").unwrap();
        fs::write(part.join("partition"), "1\n").unwrap();
        fs::write(part.join("start"), "2048\n").unwrap();
        let found = at(&part);
        let expected = DiskSettings {
            start: Some(1 << 20),
            queue_depth: Some(64),
            state: Some("running".to_owned()),
            transport: Some(Transport::Iscsi),
            adapter: Some("host3".to_owned()),
        };
        assert_eq!(found, expected);
        assert_eq!(at(&disk).start, None);
        assert_eq!(at(Path::new("/no/such")), DiskSettings::default());
    }

    #[test]
    fn fibre_channel_is_known_by_its_remote_port() {
        let path =
            Path::new("/sys/devices/pci0000:00/host7/rport-7:0-1/target7:0:1/7:0:1:0/block/sdc");
        assert_eq!(transport(path), Some(Transport::FibreChannel));
        assert_eq!(transport(Path::new("/sys/devices/virtual/block/dm-0")), None);
    }
}
