//! Control group limits on this program.

use std::fs;
use std::path::{Path, PathBuf};

use brunt_units::ByteSize;

/// Limits of a control group; `None` where it sets none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupLimits {
    /// Processor time, in processors.
    pub processors: Option<f64>,
    /// Memory.
    pub memory: Option<ByteSize>,
}

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
    let memory = text("memory.max").or_else(|| text("memory.limit_in_bytes"));
    GroupLimits {
        processors: second.or_else(first),
        memory: memory.and_then(|text| bytes(&text)),
    }
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
        assert_eq!(
            second,
            paths.map(|path| path.components().collect::<PathBuf>())
        );
        let first = folders("4:memory:/x");
        assert_eq!(first[0], Path::new("/sys/fs/cgroup/memory/x"));
        assert!(folders("rubbish").is_empty());
    }

    #[test]
    fn the_tightest_limit_counts() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cpu.max"), "50000 100000").unwrap();
        fs::write(folder.path().join("memory.max"), "max").unwrap();
        let mut limits = read(folder.path());
        assert_eq!((limits.processors, limits.memory), (Some(0.5), None));
        limits.tighten(GroupLimits {
            processors: Some(2.0),
            memory: Some(ByteSize::mib(5)),
        });
        let tight = (Some(0.5), Some(ByteSize::mib(5)));
        assert_eq!((limits.processors, limits.memory), tight);
    }
}
