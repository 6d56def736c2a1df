//! Names and order of the machine's counters in a report: those of Jetstress first, then those of
//! Linux.

use crate::result::{BusyPart, HostCounter};

/// Processor time in use, percent of the machine.
pub const PROCESSOR: &str = "% Processor Time";
/// Memory that programs could still get, in MiB.
pub const AVAILABLE_MEMORY: &str = "Available MBytes";
/// Operations that waited for a free frame of the cache.
pub const PAGE_FAULT_STALLS: &str = "Database Page Fault Stalls/sec";
/// Processor time in programs, percent of the machine; likewise the next two.
pub const USER: &str = "CPU user (%)";
/// Processor time in the kernel.
pub const SYSTEM: &str = "CPU system (%)";
/// Processor time taken by other virtual machines while this one was ready to run.
pub const STEAL: &str = "CPU steal (%)";
/// Processor time of this program, percent of one processor.
pub const OWN_PROCESSOR: &str = "brunt CPU (% of one processor)";
/// Peak memory of this program, in MiB.
pub const OWN_MEMORY: &str = "brunt memory peak (MiB)";
/// How late the engine's thread was woken, in milliseconds.
pub const DELAY: &str = "executor delay (ms)";
/// Time for which the limit of a control group kept this program from running, in percent.
pub const THROTTLED: &str = "cgroup throttled (%)";
/// Processors allowed by the control group; only shown when it sets a limit. Likewise the next.
pub const PROCESSOR_LIMIT: &str = "cgroup CPU limit (processors)";
/// Memory allowed by the control group, in MiB.
pub const MEMORY_LIMIT: &str = "cgroup memory limit (MiB)";
/// Time in which at least one task waited for a processor, in percent; likewise the next two.
pub const PRESSURE_PROCESSOR: &str = "pressure CPU (%)";
/// Time in which a task waited for memory.
pub const PRESSURE_MEMORY: &str = "pressure memory (%)";
/// Time in which a task waited for I/O.
pub const PRESSURE_IO: &str = "pressure I/O (%)";

/// How fast one core checksums a page in its cache, in 10⁹ bytes per second: work that no storage
/// can touch.
pub const CHECKSUM_SPEED: &str = "checksum speed (GB/s)";
/// Mean clock rate of the processors; virtual machines rarely report it.
pub const FREQUENCY: &str = "CPU frequency (MHz)";

/// Counters that Jetstress shows and only Windows has.
pub const WINDOWS_ONLY: [&str; 4] = [
    "Free System Page Table Entries",
    "Transition Pages RePurposed/sec",
    "Pool Nonpaged Bytes",
    "Pool Paged Bytes",
];

/// Counters that are always shown, measured or not.
const ORDER: [&str; 17] = [
    PROCESSOR,
    AVAILABLE_MEMORY,
    WINDOWS_ONLY[0],
    WINDOWS_ONLY[1],
    WINDOWS_ONLY[2],
    WINDOWS_ONLY[3],
    PAGE_FAULT_STALLS,
    USER,
    SYSTEM,
    STEAL,
    OWN_PROCESSOR,
    OWN_MEMORY,
    DELAY,
    THROTTLED,
    PRESSURE_PROCESSOR,
    PRESSURE_MEMORY,
    PRESSURE_IO,
];

const BUSY: &str = " busy (%)";

/// Mean time of a read at a device, from queueing to completion.
pub fn read_await(device: &str) -> String {
    format!("{device} read await (ms)")
}

/// Mean time of a write at a device.
pub fn write_await(device: &str) -> String {
    format!("{device} write await (ms)")
}

/// Time in which a device had a request in flight, in percent.
pub fn busy(device: &str) -> String {
    format!("{device}{BUSY}")
}

/// The device that was busy for the largest share of the time.
pub fn busiest(counters: &[HostCounter]) -> Option<BusyPart> {
    let busy = counters.iter().filter_map(|counter| {
        Some(BusyPart {
            part: counter.counter.strip_suffix(BUSY)?.to_owned(),
            // The kernel rounds to its ticks.
            busy: (counter.avg? / 100.0).min(1.0),
        })
    });
    busy.max_by(|one, other| one.busy.total_cmp(&other.busy))
}

/// The temperature of a chip's warmest sensor.
pub fn temperature(chip: &str) -> String {
    format!("{chip} temperature (\u{b0}C)")
}

/// `found` in the order of a report: first the counters that are always shown, without numbers
/// where nothing was measured.
pub fn in_order(mut found: Vec<HostCounter>) -> Vec<HostCounter> {
    let mut all = Vec::new();
    for name in ORDER {
        let at = found.iter().position(|counter| counter.counter == name);
        all.push(at.map_or_else(|| HostCounter::absent(name), |at| found.remove(at)));
    }
    all.append(&mut found);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_place() {
        let one = |name: &str| HostCounter::over(name, [(1.0, 1.0)]);
        let all = in_order(vec![one("sda read await (ms)"), one(STEAL), one(PROCESSOR)]);
        assert_eq!(all.len(), ORDER.len() + 1);
        assert_eq!(all[0], one(PROCESSOR));
        assert_eq!(all[2], HostCounter::absent(WINDOWS_ONLY[0]));
        assert_eq!(all[9], one(STEAL));
        assert_eq!(all[ORDER.len()].counter, "sda read await (ms)");
    }

    #[test]
    fn the_device_that_worked_most_is_the_busiest() {
        let one = |name: &str, percent| HostCounter::over(name, [(percent, 1.0)]);
        assert_eq!(busiest(&[one(PROCESSOR, 99.0)]), None);
        let all = [one(PROCESSOR, 99.0), one(&busy("sda"), 12.0), one(&busy("sdb"), 64.0)];
        let wanted = BusyPart { part: "sdb".to_owned(), busy: 0.64 };
        assert_eq!(busiest(&all), Some(wanted));
    }
}
