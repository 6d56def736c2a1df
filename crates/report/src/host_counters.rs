//! Names and order of the machine's counters in a report: those of Jetstress first, then what Linux adds.

use crate::result::HostCounter;

/// Processor time in use, percent of the machine.
pub const PROCESSOR: &str = "% Processor Time";
/// Memory that programs could still have, in MiB.
pub const AVAILABLE_MEMORY: &str = "Available MBytes";
/// Operations that waited for room in the cache.
pub const PAGE_FAULT_STALLS: &str = "Database Page Fault Stalls/sec";
/// Processor time in programs, percent of the machine. Likewise the next two.
pub const USER: &str = "CPU user (%)";
/// In the kernel.
pub const SYSTEM: &str = "CPU system (%)";
/// In other virtual machines, while this one wanted to run.
pub const STEAL: &str = "CPU steal (%)";
/// Processor time of this program, percent of one processor.
pub const OWN_PROCESSOR: &str = "brunt CPU (% of one processor)";
/// Memory of this program, the most at once.
pub const OWN_MEMORY: &str = "brunt memory peak (MiB)";
/// How late the engine's thread was woken.
pub const DELAY: &str = "executor delay (ms)";
/// Time in which a control group's limit kept this program from running, percent of the time.
pub const THROTTLED: &str = "cgroup throttled (%)";
/// Processors that a control group allows; only there when it sets a limit. Likewise the next.
pub const PROCESSOR_LIMIT: &str = "cgroup CPU limit (processors)";
/// Memory that a control group allows.
pub const MEMORY_LIMIT: &str = "cgroup memory limit (MiB)";
/// Time in which some task waited for a processor, percent of the time. Likewise the next two.
pub const PRESSURE_PROCESSOR: &str = "pressure CPU (%)";
/// For memory.
pub const PRESSURE_MEMORY: &str = "pressure memory (%)";
/// For I/O.
pub const PRESSURE_IO: &str = "pressure I/O (%)";

/// Counters that Jetstress shows and that Windows alone has.
pub const WINDOWS_ONLY: [&str; 4] = [
    "Free System Page Table Entries",
    "Transition Pages RePurposed/sec",
    "Pool Nonpaged Bytes",
    "Pool Paged Bytes",
];

/// What is always shown, measured or not.
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

/// Mean time of a read at a device, from queueing to completion.
pub fn read_await(device: &str) -> String {
    format!("{device} read await (ms)")
}

/// Mean time of a write at a device.
pub fn write_await(device: &str) -> String {
    format!("{device} write await (ms)")
}

/// The warmest sensor of a chip.
pub fn temperature(chip: &str) -> String {
    format!("{chip} temperature (\u{b0}C)")
}

/// `found` in the order of a report: what is always shown stands first, without numbers where nothing was found.
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
}
