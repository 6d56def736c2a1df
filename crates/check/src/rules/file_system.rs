//! File systems of this machine.

use brunt_host::configuration::Volume;

use super::{ALL, Group, Item, Measured, Rule, Severity, Wanted};
use crate::subject::{Subject, known};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "file-system",
        title: "file system",
        group: Group::FileSystem,
        versions: ALL,
        severity: Severity::Warning,
        measure: types,
        wanted: Wanted::OneOf(&["xfs", "ext4"]),
        reason: "Databases are rewritten in place. File systems that copy on write, compress, or lie behind a network turn that into more and other I/O.",
        source: "Exchange storage configuration (Microsoft): block storage, no compression, no deduplication",
        remedy: "`mkfs.xfs` on a block device",
        windows: "NTFS, or ReFS without integrity streams; 64 KB allocation unit",
    },
    Rule {
        id: "direct-writes",
        title: "what a direct write does",
        group: Group::FileSystem,
        versions: ALL,
        severity: Severity::Error,
        measure: direct_writes,
        wanted: Wanted::OneOf(&["past the page cache"]),
        reason: "The file system accepts direct I/O and writes through the page cache: what is measured is memory, and the kernel writes when it likes.",
        source: "btrfs of Linux 6.15: direct writes to files with checksums are buffered; ext4(5), data=journal",
        remedy: "XFS, or on btrfs `chattr +C` for the folder before its files are made",
        windows: "",
    },
    Rule {
        id: "barriers",
        title: "barriers of the file system",
        group: Group::FileSystem,
        versions: ALL,
        severity: Severity::Error,
        measure: |subject| options(subject, &["nobarrier", "barrier=0"], "off", "on"),
        wanted: Wanted::OneOf(&["on"]),
        reason: "Without them a durable write may be in a drive's memory only.",
        source: "ext4(5), xfs(5)",
        remedy: "mount without nobarrier",
        windows: "Device Manager: write-cache buffer flushing, not turned off",
    },
    Rule {
        id: "data-journal",
        title: "data in the journal of the file system",
        group: Group::FileSystem,
        versions: ALL,
        severity: Severity::Warning,
        measure: |subject| options(subject, &["data=journal"], "journalled", "in place"),
        wanted: Wanted::OneOf(&["in place"]),
        reason: "Everything is written twice. The engine has its own log.",
        source: "ext4(5)",
        remedy: "mount with data=ordered, the default",
        windows: "",
    },
    Rule {
        id: "discard",
        title: "discard with each deletion",
        group: Group::FileSystem,
        versions: ALL,
        severity: Severity::Advice,
        measure: |subject| options(subject, &["discard"], "at once", "not at once"),
        wanted: Wanted::OneOf(&["not at once"]),
        reason: "Log files are deleted all day, and each discard waits in the queue among reads.",
        source: "ext4(5), fstrim(8)",
        remedy: "mount without discard, and run fstrim in a quiet hour",
        windows: "fsutil behavior: DisableDeleteNotify",
    },
    Rule {
        id: "access-times",
        title: "access times",
        group: Group::FileSystem,
        versions: ALL,
        severity: Severity::Advice,
        measure: |subject| {
            options(subject, &["relatime", "noatime"], "seldom or never", "with each read")
        },
        wanted: Wanted::OneOf(&["seldom or never"]),
        reason: "Otherwise reading a file writes to its volume.",
        source: "mount(8)",
        remedy: "mount with noatime",
        windows: "fsutil behavior: DisableLastAccess",
    },
];

fn types(subject: &Subject<'_>) -> Measured {
    let volumes = subject.volumes()?.iter();
    known(
        volumes.filter_map(|volume| Some(Item::new(&volume.mount, volume.file_system.as_deref()?))),
        "the kernel does not tell the file systems",
    )
}

fn direct_writes(subject: &Subject<'_>) -> Measured {
    let volumes = subject.volumes()?.iter();
    Ok(volumes
        .map(|volume| match volume.cached_writes.as_slice() {
            [] => Item::new(&volume.mount, "past the page cache"),
            folders => Item::new(folders.join(", "), "through the page cache"),
        })
        .collect())
}

/// Whether each volume is mounted with one of `wanted`: `yes`, or else `no`.
fn options(subject: &Subject<'_>, wanted: &[&str], yes: &str, no: &str) -> Measured {
    let has = |volume: &Volume| {
        let options = volume.options.as_deref()?;
        Some(options.split(',').any(|option| wanted.contains(&option)))
    };
    let volumes = subject.volumes()?.iter();
    known(
        volumes.filter_map(|volume| {
            Some(Item::new(&volume.mount, if has(volume)? { yes } else { no }))
        }),
        "the kernel does not tell the mount options",
    )
}
