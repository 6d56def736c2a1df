//! Control group limits on this program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_units::ByteSize;

/// Limits of a control group; `None` where it sets none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupLimits {
    /// Processor time, in processors.
    pub processors: Option<f64>,
    pub memory: Option<ByteSize>,
}

/// A control group's limit on I/O to a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IoLimit {
    /// The device: `sda`.
    pub device: String,
    /// What is limited, in the words of version 2: `rbps=1048576 wiops=120`.
    pub limit: String,
    /// The folder of the group that sets it.
    pub group: PathBuf,
}

/// Files of version 1, and what version 2 calls the same. Source: kernel documentation,
/// `admin-guide/cgroup-v1/blkio-controller.rst` and `admin-guide/cgroup-v2.rst`.
const THROTTLES: [(&str, &str); 4] = [
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
];

const ROOT: &str = "/sys/fs/cgroup";
/// In version 1 of control groups, "no limit" is reported as the largest number of whole pages.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

/// The limits of this program's control groups and their parents: the tightest of each.
pub fn group_limits() -> GroupLimits {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut limits = GroupLimits::default();
    for folder in groups.lines().flat_map(folders) {
        limits.tighten(read(&folder));
    }
    limits
}

/// Limits on I/O to these `devices` that this program's control groups and their parents set. A
/// limit is set for a whole disk, so partitions are asked for by their disk.
pub fn io_limits<'d>(devices: impl IntoIterator<Item = &'d str>) -> Vec<IoLimit> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let folders: Vec<PathBuf> = groups.lines().flat_map(folders).collect();
    let number = |name: &str| fs::read_to_string(format!("/sys/class/block/{name}/dev")).ok();
    let devices = devices.into_iter();
    let devices = devices
        .filter_map(|name| Some((number(name)?.trim().to_owned(), name.to_owned())))
        .collect();
    let mut limits: Vec<_> = folders.iter().flat_map(|at| io_of(at, &devices)).collect();
    limits.sort();
    limits.dedup();
    limits
}

/// The limits that the group in `folder` sets on `devices`, which are names by number.
fn io_of(folder: &Path, devices: &BTreeMap<String, String>) -> Vec<IoLimit> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let mut found = Vec::new();
    let mut note = |number: &str, limit: &str| {
        if let Some(device) = devices.get(number) {
            found.push(IoLimit {
                device: device.clone(),
                limit: limit.to_owned(),
                group: folder.to_owned(),
            });
        }
    };
    for line in text("io.max").lines() {
        let (number, limits) = line.split_once(' ').unwrap_or((line, ""));
        let set = limits.split(' ').filter(|limit| !limit.ends_with("=max"));
        let set: Vec<&str> = set.filter(|limit| !limit.is_empty()).collect();
        if !set.is_empty() {
            note(number, &set.join(" "));
        }
    }
    for (file, what) in THROTTLES {
        for line in text(file).lines() {
            if let Some((number, limit)) = line.split_once(' ') {
                note(number, &format!("{what}={limit}"));
            }
        }
    }
    found
}

impl GroupLimits {
    fn tighten(&mut self, other: Self) {
        let processors = self.processors.into_iter().chain(other.processors);
        self.processors = processors.reduce(f64::min);
        self.memory = self.memory.into_iter().chain(other.memory).min();
    }
}

/// The folders of the group in a line `hierarchy:controllers:path`, and of its parents.
fn folders(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let root = Path::new(ROOT).join(controllers);
    let path = Path::new(path.trim_start_matches('/'));
    path.ancestors().map(|group| root.join(group)).collect()
}

fn read(folder: &Path) -> GroupLimits {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let second = text("cpu.max").and_then(|text| quota(&text));
    let first = || {
        let quota = text("cpu.cfs_quota_us")?;
        share(quota.trim(), text("cpu.cfs_period_us")?.trim())
    };
    // Above `memory.high` a group is not killed but held up, and its memory taken away: no room.
    let memory = ["memory.max", "memory.high", "memory.limit_in_bytes"];
    let memory = memory.iter().filter_map(|name| bytes(&text(name)?)).min();
    GroupLimits { processors: second.or_else(first), memory }
}

/// `cpu.max`: microseconds of processor time, or `max`, and the period in microseconds.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    share(quota, period)
}

fn share(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (i64, i64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

fn bytes(text: &str) -> Option<ByteSize> {
    let bytes: u64 = text.trim().parse().ok()?;
    (bytes < NO_MEMORY_LIMIT).then(|| ByteSize::bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_understood() {
        assert_eq!(quota("150000 100000\n"), Some(1.5));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(share("-1", "100000"), None);
        assert_eq!(bytes("1073741824\n"), Some(ByteSize::gib(1)));
        assert_eq!(bytes("max\n"), None);
        assert_eq!(bytes("9223372036854771712\n"), None);
    }

    #[test]
    fn groups_around_the_own_count_as_well() {
        let second = folders("0::/a/b");
        let paths = ["/a/b", "/a", ""].map(|path| PathBuf::from(format!("{ROOT}{path}")));
        assert_eq!(second, paths.map(|path| path.components().collect::<PathBuf>()));
        let first = folders("4:memory:/x");
        assert_eq!(first[0], Path::new("/sys/fs/cgroup/memory/x"));
        assert!(folders("rubbish").is_empty());
    }

    #[test]
    fn limits_on_io_are_those_of_the_tested_devices() {
        let folder = tempfile::tempdir().unwrap();
        let devices = [("8:0", "sda"), ("7:1", "loop1")];
        let devices = devices.map(|(number, name)| (number.to_owned(), name.to_owned()));
        let devices = devices.into();
        assert_eq!(io_of(folder.path(), &devices), []);
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "io.max",
            "8:16 rbps=1 wbps=max riops=max wiops=max\n8:0 rbps=2097152 wbps=max riops=max wiops=120\n\
             7:1 rbps=max wbps=max riops=max wiops=max\n",
        );
        write("blkio.throttle.read_bps_device", "7:1 1048576\n");
        write("blkio.throttle.write_bps_device", "");
        let limits = io_of(folder.path(), &devices);
        let limits: Vec<_> = limits.iter().map(|one| (&*one.device, &*one.limit)).collect();
        let wanted = [("sda", "rbps=2097152 wiops=120"), ("loop1", "rbps=1048576")];
        assert_eq!(limits, wanted);
        assert!(io_limits([]).is_empty());
    }

    #[test]
    fn the_tightest_limit_counts() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cpu.max"), "50000 100000").unwrap();
        fs::write(folder.path().join("memory.max"), "max").unwrap();
        let mut limits = read(folder.path());
        assert_eq!((limits.processors, limits.memory), (Some(0.5), None));
        fs::write(folder.path().join("memory.high"), "7340032\n").unwrap();
        assert_eq!(read(folder.path()).memory, Some(ByteSize::mib(7)));
        fs::write(folder.path().join("memory.max"), "8388608\n").unwrap();
        assert_eq!(
            read(folder.path()).memory,
            Some(ByteSize::mib(7)),
            "it is taken back from there"
        );
        limits.tighten(GroupLimits { processors: Some(2.0), memory: Some(ByteSize::mib(5)) });
        let tight = (Some(0.5), Some(ByteSize::mib(5)));
        assert_eq!((limits.processors, limits.memory), tight);
    }
}
