//! Block devices of this machine.

use brunt_world_real::facts::{Made, Redundancy, WriteCache};

use super::{ALL, Group, Item, Measured, Rule, Severity, Unit, Wanted};
use crate::subject::{Subject, known};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "alignment",
        title: "alignment of partitions",
        group: Group::Device,
        versions: ALL,
        severity: Severity::Warning,
        measure: starts,
        wanted: Wanted::MultipleOf(1_048_576.0, Unit::Bytes),
        reason: "A page that crosses the border of a strip, a cache page or a flash page is two I/Os.",
        source: "Exchange storage configuration (Microsoft): 1 MiB; EMC CX3-20, 2007 and Dell EqualLogic PS5000XV, 2008: 64 KB by hand",
        remedy: "`parted -a optimal`, or no partition at all",
        windows: "diskpart: create partition primary align=1024",
    },
    Rule {
        id: "io-scheduler",
        title: "I/O scheduler",
        group: Group::Device,
        versions: ALL,
        severity: Severity::Warning,
        measure: schedulers,
        wanted: Wanted::OneOf(&["none", "mq-deadline", "kyber"]),
        reason: "Fair queueing holds I/O back for processes that may follow. Arrays and flash order requests better themselves.",
        source: "kernel documentation, Documentation/block",
        remedy: "`echo none > /sys/block/DEVICE/queue/scheduler`, and a udev rule",
        windows: "",
    },
    Rule {
        id: "queue-depth",
        title: "requests that a LUN takes at a time",
        group: Group::Device,
        versions: ALL,
        severity: Severity::Warning,
        measure: queue_depths,
        wanted: Wanted::AtLeast(32.0, Unit::Count),
        reason: "A LUN over many drives needs a request for each of them, at least.",
        source: "EMC CX4-960, 2010: 256; Dell PowerVault MD3820f, 2015: 254; 32 is what SATA can do",
        remedy: "`echo 64 > /sys/block/DEVICE/device/queue_depth`, or the driver's option",
        windows: "host bus adapter: QueueDepth, QueueTarget",
    },
    Rule {
        id: "volatile-cache",
        title: "write cache of drives",
        group: Group::Device,
        versions: ALL,
        severity: Severity::Warning,
        measure: volatile_caches,
        wanted: Wanted::OneOf(&["write through", "protected"]),
        reason: "Durable writes then wait for flushes of the whole cache. What a drive has only in memory is gone after a power failure unless it is honest about flushes.",
        source: "Exchange storage configuration (Microsoft): disk write cache off without UPS",
        remedy: "`hdparm -W 0` or `sdparm --clear WCE`; behind protected power say `protected_caches = true` in [site]",
        windows: "Device Manager: write caching on the device, off",
    },
    Rule {
        id: "raid-whole",
        title: "members of a RAID",
        group: Group::Device,
        versions: ALL,
        severity: Severity::Error,
        measure: |subject| raids(subject, |raid| raid.lacks.as_deref(), "whole"),
        wanted: Wanted::OneOf(&["whole"]),
        reason: "What lacks a member is slower or faster than it will be, and is lost with the next one.",
        source: "kernel documentation, Documentation/admin-guide/md.rst and device-mapper/dm-raid.rst; btrfs(5)",
        remedy: "replace what is missing and wait until it is rebuilt: /proc/mdstat, `lvs -a`, `btrfs device usage`",
        windows: "Disk Management: failed redundancy",
    },
    Rule {
        id: "raid-at-rest",
        title: "work of a RAID beside the test",
        group: Group::Device,
        versions: ALL,
        severity: Severity::Warning,
        measure: |subject| raids(subject, |raid| raid.busy.as_deref(), "at rest"),
        wanted: Wanted::OneOf(&["at rest"]),
        reason: "A RAID that checks or reshapes itself reads and writes all its members meanwhile.",
        source: "kernel documentation, Documentation/admin-guide/md.rst: sync_action",
        remedy: "wait until it has ended, or `echo idle > /sys/block/md0/md/sync_action`",
        windows: "",
    },
    Rule {
        id: "loop-device",
        title: "storage that is a file",
        group: Group::Device,
        versions: ALL,
        severity: Severity::Error,
        measure: loops,
        wanted: Wanted::OneOf(&["a device", "a file, past the page cache"]),
        reason: "Reads then come from memory, and writes are durable before they reach a disk.",
        source: "losetup(8)",
        remedy: "a real volume, or `losetup --direct-io=on`",
        windows: "",
    },
];

fn starts(subject: &Subject<'_>) -> Measured {
    let devices = subject.devices()?.into_iter();
    known(
        devices.filter_map(|device| Some(Item::new(&device.device.name, device.settings.start?))),
        "no partition is in use",
    )
}

fn schedulers(subject: &Subject<'_>) -> Measured {
    subject.leaves(|leaf| leaf.device.scheduler.as_deref(), "no device has a scheduler")
}

fn queue_depths(subject: &Subject<'_>) -> Measured {
    subject.leaves(|leaf| leaf.settings.queue_depth, "no device tells how deep its queue is")
}

fn volatile_caches(subject: &Subject<'_>) -> Measured {
    let is_protected = subject.site().has_protected_caches == Some(true);
    subject.leaves(
        |leaf| {
            Some(match leaf.device.write_cache? {
                WriteCache::WriteThrough => "write through",
                WriteCache::WriteBack if is_protected => "protected",
                WriteCache::WriteBack => "write back",
            })
        },
        "no device tells about its write cache",
    )
}

/// What `of` finds on every RAID, or the word for nothing.
fn raids(
    subject: &Subject<'_>,
    of: impl Fn(&Redundancy) -> Option<&str>,
    nothing: &str,
) -> Measured {
    let volumes = subject.volumes()?.iter();
    let mut items: Vec<Item> = Vec::new();
    for raid in volumes.flat_map(|volume| &volume.redundancy) {
        // Several volumes may lie on one.
        if items.iter().all(|item| item.what != raid.name) {
            items.push(Item::new(&raid.name, of(raid).unwrap_or(nothing)));
        }
    }
    known(items.into_iter(), "no RAID of software is below these volumes")
}

fn loops(subject: &Subject<'_>) -> Measured {
    let devices = subject.devices()?.into_iter();
    let word = |made: &Made| match made {
        Made::Loop { direct: Some(true), .. } => "a file, past the page cache",
        Made::Loop { .. } => "a file, through the page cache",
        _ => "a device",
    };
    Ok(devices.map(|device| Item::new(&device.device.name, word(&device.device.made))).collect())
}
