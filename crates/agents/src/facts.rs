//! What an agent says of its host before anything is written.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_fleet::{Device, Facts};
use rustix::fs::{major, minor};

/// Which boot of which machine this is; empty where the kernel does not say.
pub(crate) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

/// The facts for a test that writes below `folders`.
pub(crate) fn facts(scenario: &str, folders: &[PathBuf], boot: &str) -> Facts {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Facts {
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot: boot.to_owned(),
        scenario: crc32fast::hash(scenario.as_bytes()),
        devices: devices(folders),
        unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        warnings: warnings(),
    }
}

/// What names the devices under `folders` on every host: WWIDs and UUIDs of file systems. A folder
/// that is not there yet lies on the device of the one above it.
pub fn devices(folders: &[PathBuf]) -> Vec<Device> {
    let mut devices = BTreeSet::new();
    for folder in folders {
        let there = folder.ancestors().find_map(|above| fs::metadata(above).ok());
        let Some(device) = there.map(|status| status.dev()) else { continue };
        let folder = folder.display().to_string();
        let ids = wwids(&block(device)).into_iter().chain(uuid(device));
        devices.extend(ids.map(|id| Device { id, folder: folder.clone() }));
    }
    devices.into_iter().collect()
}

fn block(device: u64) -> PathBuf {
    format!("/sys/dev/block/{}:{}", major(device), minor(device)).into()
}

/// WWIDs of a block device, or of those that it is made of.
fn wwids(block: &Path) -> Vec<String> {
    let Ok(block) = block.canonicalize() else {
        return Vec::new();
    };
    // A partition has the WWID of its disk.
    let disk = match block.join("partition").exists() {
        true => block.parent().map_or(block.clone(), Path::to_owned),
        false => block,
    };
    let said = ["wwid", "device/wwid", "dm/uuid", "md/uuid"].iter().find_map(|name| {
        let text = fs::read_to_string(disk.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    });
    let parts = fs::read_dir(disk.join("slaves")).into_iter().flatten().filter_map(Result::ok);
    let parts = parts.flat_map(|part| wwids(&part.path()));
    said.into_iter().chain(parts).collect()
}

/// The UUID of the file system on a device: as udev has found it, or as its first block says.
fn uuid(device: u64) -> Option<String> {
    let names = fs::read_dir("/dev/disk/by-uuid").into_iter().flatten().filter_map(Result::ok);
    let mut named =
        names.filter(|name| fs::metadata(name.path()).is_ok_and(|status| status.rdev() == device));
    let known = named.next().map(|name| name.file_name().to_string_lossy().into_owned());
    Some(format!("file system {}", known.or_else(|| superblock(&block(device)))?))
}

/// The UUID that ext4 or XFS keep in their superblock; only root may read it.
fn superblock(block: &Path) -> Option<String> {
    let event = fs::read_to_string(block.join("uevent")).ok()?;
    let name = event.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    let mut head = [0; 2048];
    fs::File::open(Path::new("/dev").join(name)).ok()?.read_exact(&mut head).ok()?;
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

/// Whether the end of this login would end the run.
fn warnings() -> Vec<String> {
    let is_login = fs::read_to_string("/proc/self/cgroup")
        .is_ok_and(|groups| groups.lines().any(|group| group.contains("/session-")));
    let drop_ins = fs::read_dir("/etc/systemd/logind.conf.d").into_iter().flatten();
    let files = drop_ins.filter_map(|entry| Some(entry.ok()?.path()));
    let files = files.chain([PathBuf::from("/etc/systemd/logind.conf")]);
    let kills = files.filter_map(|path| fs::read_to_string(path).ok()).any(|text| {
        text.lines().any(|line| line.replace(' ', "").eq_ignore_ascii_case("KillUserProcesses=yes"))
    });
    match is_login && kills {
        true => vec![
            "logins take their processes with them (KillUserProcesses): a lost connection would end \
             the run; enable lingering: loginctl enable-linger"
                .to_owned(),
        ],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_not_there_yet_are_on_the_device_above() {
        let made = tempfile::tempdir().unwrap();
        let there = devices(&[made.path().to_owned()]);
        let not_yet = devices(&[made.path().join("a/b")]);
        let ids = |devices: &[Device]| devices.iter().map(|d| d.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&there), ids(&not_yet));
    }
}
