//! This machine: clock, memory, processors, control group.

use brunt_host::preflight::memory_needed;

use super::{ALL, Gap, Group, Item, Measured, Rule, Severity, Unit, Wanted, float};
use crate::subject::{Subject, known};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "clock-source",
        title: "clock source",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Warning,
        measure: clock,
        wanted: Wanted::NoneOf(&["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"]),
        reason: "Reading such a clock takes a microsecond and more, for each I/O twice.",
        source: "kernel documentation, Documentation/virt/kvm and timers",
        remedy: "`tsc`, or the hypervisor's clock",
        windows: "bcdedit: useplatformclock, not set",
    },
    Rule {
        id: "swap-on-tested-device",
        title: "swap away from databases and logs",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Warning,
        measure: swap_place,
        wanted: Wanted::NoneOf(&["on a tested device"]),
        reason: "A machine that swaps then reads and writes where databases do.",
        source: "Exchange storage configuration (Microsoft): page file not with databases or logs",
        remedy: "`swapoff`, or swap on the system's own drives",
        windows: "page file on the system volume",
    },
    Rule {
        id: "swappiness",
        title: "swappiness",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Advice,
        measure: swappiness,
        wanted: Wanted::AtMost(10.0, Unit::Count),
        reason: "The engine's cache is memory that looks idle. Swapped out, each page costs a read to evict.",
        source: "kernel documentation, Documentation/admin-guide/sysctl/vm.rst",
        remedy: "`sysctl vm.swappiness=1`",
        windows: "page file of a fixed size",
    },
    Rule {
        id: "huge-pages",
        title: "transparent huge pages",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Advice,
        measure: huge_pages,
        wanted: Wanted::OneOf(&["madvise", "never"]),
        reason: "With `always` the kernel compacts memory for every program, and stops it meanwhile.",
        source: "kernel documentation, Documentation/admin-guide/mm/transhuge.rst",
        remedy: "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
        windows: "",
    },
    Rule {
        id: "zone-reclaim",
        title: "memory of other NUMA nodes",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Warning,
        measure: zone_reclaim,
        wanted: Wanted::OneOf(&["one node", "used at once"]),
        reason: "A node that frees its own pages first has sessions wait while another node has memory to spare.",
        source: "kernel documentation, Documentation/admin-guide/sysctl/vm.rst: zone_reclaim_mode",
        remedy: "`sysctl vm.zone_reclaim_mode=0`",
        windows: "NUMA group size optimisation: flat",
    },
    Rule {
        id: "processors",
        title: "processors",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Warning,
        measure: processors,
        wanted: Wanted::AtLeast(2.0, Unit::Count),
        reason: "With one, sessions compete with the system, and latencies include the wait.",
        source: "measured: docs/performance.md",
        remedy: "two or more",
        windows: "",
    },
    Rule {
        id: "processor-limit",
        title: "processor limit of the control group",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Warning,
        measure: processor_limit,
        wanted: Wanted::AtLeast(2.0, Unit::Count),
        reason: "A group that has used up its share stands still until the next period, in the middle of an I/O.",
        source: "kernel documentation, Documentation/admin-guide/cgroup-v2.rst: cpu.max",
        remedy: "run outside the group, or raise cpu.max",
        windows: "job objects: CPU rate control",
    },
    Rule {
        id: "memory-limit",
        title: "memory for caches",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Error,
        measure: memory_limit,
        wanted: Wanted::AtLeast(0.0, Unit::Bytes),
        reason: "The engine's caches and 128 MiB for the rest of the program have to fit, or the kernel kills the test once they are full, hours after its start.",
        source: "measured: docs/performance.md; kernel documentation, Documentation/admin-guide/cgroup-v2.rst: memory.max, memory.high",
        remedy: "make `cache_max` smaller, or raise memory.max and memory.high",
        windows: "job objects: memory limit",
    },
    Rule {
        id: "io-limit",
        title: "I/O limit of the control group",
        group: Group::Machine,
        versions: ALL,
        severity: Severity::Warning,
        measure: io_limit,
        wanted: Wanted::OneOf(&["no limit"]),
        reason: "I/O waits for the limit and not for the storage; a test that fails meanwhile is invalid.",
        source: "kernel documentation, Documentation/admin-guide/cgroup-v2.rst: io.max",
        remedy: "run outside the group, or lift io.max (version 1: blkio.throttle.*) of it and of the groups around it",
        windows: "job objects: I/O rate control",
    },
];

fn clock(subject: &Subject<'_>) -> Measured {
    let clock = subject.machine()?.tuning.clock_source.clone();
    Ok(vec![Item::new(
        "the kernel",
        clock.ok_or_else(|| Gap::unknown("the kernel does not tell it"))?,
    )])
}

fn swap_place(subject: &Subject<'_>) -> Measured {
    let machine = subject.machine()?;
    if machine.tuning.swaps.is_empty() {
        return Ok(vec![Item::new("the machine", "no swap")]);
    }
    let leaves = subject.devices()?.into_iter().filter(|device| device.is_leaf);
    let tested: Vec<&str> = leaves.map(|device| device.device.name.as_str()).collect();
    let word = |name: &String| match tested.contains(&name.as_str()) {
        true => "on a tested device",
        false => "elsewhere",
    };
    let items: Vec<Item> =
        machine.swap_devices.iter().map(|name| Item::new(name, word(name))).collect();
    match items.is_empty() {
        true => Err(Gap::unknown("the devices of the swap are not known")),
        false => Ok(items),
    }
}

fn swappiness(subject: &Subject<'_>) -> Measured {
    let tuning = &subject.machine()?.tuning;
    if tuning.swaps.is_empty() {
        return Err("there is no swap".into());
    }
    Ok(vec![Item::new(
        "the kernel",
        tuning.swappiness.ok_or_else(|| Gap::unknown("the kernel does not tell it"))?,
    )])
}

fn huge_pages(subject: &Subject<'_>) -> Measured {
    let word = subject.machine()?.tuning.huge_pages.clone();
    Ok(vec![Item::new(
        "the kernel",
        word.ok_or_else(|| Gap::unknown("the kernel does not tell it"))?,
    )])
}

fn zone_reclaim(subject: &Subject<'_>) -> Measured {
    let tuning = &subject.machine()?.tuning;
    let word = match (tuning.numa_nodes, tuning.zone_reclaim) {
        (Some(0 | 1), _) => "one node",
        (_, Some(false)) => "used at once",
        (_, Some(true)) => "used last",
        (_, None) => return Err(Gap::unknown("the kernel does not tell it")),
    };
    Ok(vec![Item::new("the kernel", word)])
}

fn processors(subject: &Subject<'_>) -> Measured {
    let count = subject.machine()?.processors;
    Ok(vec![Item::new(
        "this process",
        count.ok_or_else(|| Gap::unknown("the kernel does not tell it"))?,
    )])
}

fn processor_limit(subject: &Subject<'_>) -> Measured {
    let limit = subject.machine()?.limits.processors;
    Ok(vec![Item::new("the control group", limit.ok_or("it has no limit")?)])
}

fn memory_limit(subject: &Subject<'_>) -> Measured {
    let machine = subject.machine()?;
    let needed = float(memory_needed(&subject.test()?.plan()).get());
    let limits = [("the machine", machine.memory), ("the control group", machine.limits.memory)];
    let limits = limits.into_iter();
    known(
        limits.filter_map(|(what, limit)| Some(Item::limited(what, float(limit?.get()), needed))),
        "the kernel does not tell it",
    )
}

fn io_limit(subject: &Subject<'_>) -> Measured {
    let limits = &subject.machine()?.io_limits;
    let items = limits.iter().map(|limit| Item::new(&limit.device, limit.limit.as_str()));
    let items: Vec<Item> = items.collect();
    Ok(match items.is_empty() {
        true => vec![Item::new("the control group", "no limit")],
        false => items,
    })
}
