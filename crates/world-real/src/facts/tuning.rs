//! Settings of the kernel that matter to latency: clock, memory, swap, NUMA.
//!
//! Source: kernel documentation, `Documentation/admin-guide/mm`,
//! `Documentation/admin-guide/sysctl/{vm,kernel}.rst`,
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`; proc(5) for `/proc/swaps`.

use std::fs;
use std::path::Path;

use brunt_units::ByteSize;

use super::{number, switch, text};

/// Settings of the kernel, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Where the kernel reads the time: `tsc`, `kvm-clock`, `hpet`.
    pub clock_source: Option<String>,
    /// When memory gets huge pages without asking: `always`, `madvise`, `never`.
    pub huge_pages: Option<String>,
    /// How readily pages are swapped out, from 0 to 200.
    pub swappiness: Option<u32>,
    /// Swap files and devices.
    pub swaps: Vec<Swap>,
    /// Nodes of memory.
    pub numa_nodes: Option<usize>,
    /// Whether a node frees its own pages before it takes memory of another one.
    pub zone_reclaim: Option<bool>,
}

/// A swap file or device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swap {
    pub path: String,
    pub bytes: ByteSize,
}

/// The settings of this machine.
pub fn tuning() -> Tuning {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    Tuning {
        clock_source: text(Path::new(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )),
        huge_pages: text(Path::new("/sys/kernel/mm/transparent_hugepage/enabled"))
            .and_then(|words| chosen(&words)),
        swappiness: number(Path::new("/proc/sys/vm/swappiness")),
        swaps: swaps.lines().skip(1).filter_map(swap).collect(),
        numa_nodes: nodes(Path::new("/sys/devices/system/node")),
        zone_reclaim: switch(Path::new("/proc/sys/vm/zone_reclaim_mode")),
    }
}

/// One line of `/proc/swaps`: path, type, size in KiB, used, priority.
fn swap(line: &str) -> Option<Swap> {
    let mut words = line.split_whitespace();
    let path = words.next()?.to_owned();
    let kib = words.nth(1)?.parse().ok()?;
    Some(Swap { path, bytes: ByteSize::kib(kib) })
}

/// The word in brackets: `always [madvise] never`.
fn chosen(words: &str) -> Option<String> {
    let (_, rest) = words.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

fn nodes(folder: &Path) -> Option<usize> {
    let names = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let is_node = |name: String| {
        let digits = name.strip_prefix("node");
        digits.is_some_and(|digits| digits.parse::<u32>().is_ok())
    };
    let count =
        names.filter(|entry| is_node(entry.file_name().to_string_lossy().into_owned())).count();
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_read() {
        let line = "/dev/sda2                               partition\t2097148\t\t0\t\t-2";
        let found = swap(line).unwrap();
        assert_eq!((found.path.as_str(), found.bytes), ("/dev/sda2", ByteSize::kib(2_097_148)));
        assert_eq!(swap("garbage"), None);
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always"), None);
        let folder = tempfile::tempdir().unwrap();
        for name in ["node0", "node1", "has_cpu", "nodes"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(nodes(folder.path()), Some(2));
    }
}
