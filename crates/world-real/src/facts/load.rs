//! The machine's load, and what keeps this program from running.
//!
//! All values are cumulative; the difference of two readings gives the share of the time between
//! them.

#![expect(
    unsafe_code,
    reason = "one system call without a safe form; the block says why it is sound"
)]

use std::fs;
use std::path::{Path, PathBuf};

use brunt_units::{ByteSize, Span};

use super::{kib, value};

/// Processor time of the whole machine, over all processors. The kernel counts hundredths of a
/// second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// In programs.
    pub user: Span,
    /// In the kernel, including interrupts.
    pub system: Span,
    /// Taken by other virtual machines on the same host while this one was ready to run.
    pub steal: Span,
    /// Total, including idle time.
    pub total: Span,
}

/// Time since system start during which some task was stalled for lack of a resource.
///
/// Source: kernel documentation, `Documentation/accounting/psi.rst`, the `some` lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Stalled on the processor.
    pub cpu: Span,
    /// Stalled on memory.
    pub memory: Span,
    /// Stalled on I/O.
    pub io: Span,
}

/// The machine's processor time so far; `None` when the system does not report it.
pub fn processor_times() -> Option<ProcessorTimes> {
    processors(&fs::read_to_string("/proc/stat").ok()?)
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`; see `proc_stat(5)`.
/// `user` already includes guests.
fn processors(table: &str) -> Option<ProcessorTimes> {
    let line = table.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> =
        line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let ticks = |numbers: &[usize]| {
        let sum = numbers.iter().filter_map(|at| fields.get(*at)).sum::<u64>();
        Span::millis(10) * sum
    };
    (fields.len() >= 4).then(|| ProcessorTimes {
        user: ticks(&[0, 1]),
        system: ticks(&[2, 5, 6]),
        steal: ticks(&[7]),
        total: ticks(&[0, 1, 2, 3, 4, 5, 6, 7]),
    })
}

/// Processor time used by the calling thread, in user and kernel mode; `None` when the system does
/// not report it.
pub fn thread_use() -> Option<Span> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer refers to memory of the type that the call fills.
    let answer = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid value of this type of plain numbers, even if the call filled in
    // nothing.
    let usage = unsafe { usage.assume_init() };
    let span = |time: libc::timeval| {
        Span::seconds(time.tv_sec.unsigned_abs()) + Span::micros(time.tv_usec.unsigned_abs())
    };
    (answer == 0).then(|| span(usage.ru_utime) + span(usage.ru_stime))
}

/// Time so far during which a control group limit kept this program from running: the longest among
/// its own group and the parents. `None` without such a group.
pub fn throttled() -> Option<Span> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let stats = groups.lines().filter_map(group);
    stats.filter_map(|(root, group)| longest(&root, &group)).max()
}

/// The mount and path of a line `hierarchy:controllers:path`, if that hierarchy can limit processor
/// time.
fn group(line: &str) -> Option<(PathBuf, PathBuf)> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let path = PathBuf::from(path.trim_start_matches('/'));
    match controllers {
        "" => Some((PathBuf::from("/sys/fs/cgroup"), path)),
        list if list.split(',').any(|word| word == "cpu") => {
            Some((Path::new("/sys/fs/cgroup").join(list), path))
        }
        _ => None,
    }
}

fn longest(root: &Path, group: &Path) -> Option<Span> {
    let times = group.ancestors().filter_map(|group| {
        let stat = fs::read_to_string(root.join(group).join("cpu.stat")).ok()?;
        throttled_time(&stat)
    });
    times.max()
}

/// `throttled_usec` in version 2 of control groups, `throttled_time` in nanoseconds in version 1.
fn throttled_time(stat: &str) -> Option<Span> {
    stat.lines().find_map(|line| {
        let (key, number) = line.split_once(' ')?;
        let number = number.trim().parse().ok()?;
        match key {
            "throttled_usec" => Some(Span::micros(number)),
            "throttled_time" => Some(Span::nanos(number)),
            _ => None,
        }
    })
}

/// Memory still available to programs.
pub fn memory_available() -> Option<ByteSize> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    value(&table, "MemAvailable").and_then(kib)
}

/// Stall times so far; `None` where the kernel does not count them.
pub fn pressure() -> Option<Pressure> {
    let of = |what: &str| {
        let table = fs::read_to_string(format!("/proc/pressure/{what}")).ok()?;
        stalled(&table)
    };
    Some(Pressure { cpu: of("cpu")?, memory: of("memory")?, io: of("io")? })
}

fn stalled(table: &str) -> Option<Span> {
    let line = table.lines().find(|line| line.starts_with("some "))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Span::micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let times = processors("cpu  100 20 30 400 5 6 7 8 0 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!(times.user, Span::millis(1_200));
        assert_eq!(times.system, Span::millis(430));
        assert_eq!(times.steal, Span::millis(80));
        assert_eq!(times.total, Span::millis(5_760));
        assert_eq!(processors("cpu 1 2"), None);
        let stat = "nr_throttled 3\nthrottled_usec 1500\n";
        assert_eq!(throttled_time(stat), Some(Span::micros(1_500)));
        assert_eq!(throttled_time("throttled_time 700"), Some(Span::nanos(700)));
        assert_eq!(throttled_time("usage_usec 7"), None);
        let psi = "some avg10=0.00 avg60=0.00 avg300=0.00 total=4242\nfull avg10=0 total=1\n";
        assert_eq!(stalled(psi), Some(Span::micros(4_242)));
    }

    #[test]
    fn groups_are_found_in_both_versions() {
        let parts = |line| group(line).map(|(root, path)| (root.display().to_string(), path));
        let expected = |root: &str, path: &str| Some((root.to_owned(), PathBuf::from(path)));
        assert_eq!(parts("0::/a/b"), expected("/sys/fs/cgroup", "a/b"));
        let first = parts("4:cpu,cpuacct:/x");
        assert_eq!(first, expected("/sys/fs/cgroup/cpu,cpuacct", "x"));
        assert_eq!(parts("5:memory:/x"), None);
    }

    #[test]
    fn this_machine_answers() {
        assert!(processor_times().unwrap().total > Span::ZERO);
        assert!(thread_use().is_some());
        assert!(memory_available().unwrap() > ByteSize::bytes(0));
    }
}
