//! Databases, logs and room.

use std::path::Path;

use brunt_array::SystemDesign;
use brunt_scenario::{ModelledScenario, VolumePlan};
use brunt_workload::profile::Version;

use super::{ALL, Gap, Group, Item, Measured, Rule, Severity, Unit, Wanted, float};
use crate::subject::{Subject, What, known};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "log-beside-database",
        title: "logs away from their databases",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Warning,
        measure: log_places,
        wanted: Wanted::OneOf(&["elsewhere", THREE_COPIES]),
        reason: "Losing the drives of a database and of its logs at once loses everything since the last backup, and each slows the other. With three copies or more, another copy takes over.",
        source: "Exchange storage configuration (Microsoft); EMC CX4-960, 2010",
        remedy: "put logs on other drives, or swap the logs of two groups",
        windows: "Exchange Best Practices Analyzer: database and log on one physical disk",
    },
    Rule {
        id: "volumes-on-one-device",
        title: "volumes on drives of their own",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Warning,
        measure: shared_devices,
        wanted: Wanted::AtMost(1.0, Unit::Count),
        reason: "Volumes on one device share its throughput and fail together.",
        source: "Dell EqualLogic PS5000XV, 2008; EMC CX3-20, 2007",
        remedy: "put each volume on a device of its own",
        windows: "",
    },
    Rule {
        id: "database-size",
        title: "size of databases, by version and copies",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Warning,
        measure: database_sizes,
        wanted: Wanted::AtMost(0.0, Unit::Bytes),
        reason: "A large database takes long to restore, to seed and to check. Copies take over meanwhile, so they allow larger ones.",
        source: "Exchange storage configuration (Microsoft): 200 GB alone, 2 TB with copies; EMC CX4-960, 2010: 100 GB without copies",
        remedy: "more databases, or more copies",
        windows: "",
    },
    Rule {
        id: "database-supported",
        title: "size of databases that is supported",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Error,
        measure: supported_sizes,
        wanted: Wanted::AtMost(16.0 * TIB, Unit::Bytes),
        reason: "No version supports larger ones.",
        source: "Exchange storage configuration (Microsoft)",
        remedy: "more databases",
        windows: "",
    },
    Rule {
        id: "databases-on-server",
        title: "databases on a server",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Error,
        measure: databases_on_server,
        wanted: Wanted::AtMost(0.0, Unit::Count),
        reason: "A server mounts no more of them.",
        source: "limits of each version, as Microsoft published them",
        remedy: "more servers, or larger databases",
        windows: "",
    },
    Rule {
        id: "headroom",
        title: "I/O headroom",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Warning,
        measure: headroom,
        wanted: Wanted::AtLeast(20.0, Unit::Percent),
        reason: "The busiest hour of a bad day is busier than the one that was measured.",
        source: "ESRP-Storage: profiles include 20 %",
        remedy: "`headroom_percent = 20`",
        windows: "",
    },
    Rule {
        id: "free-space",
        title: "free space of database volumes",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Warning,
        measure: free_space,
        wanted: Wanted::AtLeast(20.0, Unit::Percent),
        reason: "Databases grow, and file systems that are nearly full are slow.",
        source: "Exchange storage configuration (Microsoft): 120 % of the largest size",
        remedy: "smaller databases, or larger volumes",
        windows: "",
    },
    Rule {
        id: "restore-time",
        title: "restore within its objective",
        group: Group::Layout,
        versions: ALL,
        severity: Severity::Error,
        measure: restore_time,
        wanted: Wanted::AtMost(0.0, Unit::Seconds),
        reason: "A database that takes longer to restore misses the objective that was set.",
        source: "the organisation's own `restore_within`",
        remedy: "more databases, a faster restore, or more backups",
        windows: "",
    },
    Rule {
        id: "log-buffers",
        title: "log buffers",
        group: Group::Layout,
        versions: (Version::Exchange2003, Version::Exchange2003),
        severity: Severity::Warning,
        measure: log_buffers,
        wanted: Wanted::AtLeast(8_960.0 * 512.0, Unit::Bytes),
        reason: "Sessions wait for room in the log buffer. Later versions bound it by their log file of 1 MB.",
        source: "Exchange Best Practices Analyzer (aa995632): 9,000 buffers of 512 bytes; HP Continuous Access EVA, 2005",
        remedy: "`log_buffer = \"4608000 B\"` in [profile]",
        windows: "Exchange Best Practices Analyzer: log buffers",
    },
];

/// A log may lie beside its database when another copy can take over, and there is one more.
const THREE_COPIES: &str = "beside its databases with three copies";
const TIB: f64 = 1_099_511_627_776.0;

/// The volume of `path` on the first server; all of them are alike.
pub(super) fn volume_of<'m>(modelled: &'m ModelledScenario, path: &Path) -> Option<&'m VolumePlan> {
    let own = modelled.volumes.iter().filter(|volume| volume.server == 0);
    own.filter(|volume| path.starts_with(&volume.path))
        .max_by_key(|volume| volume.path.components().count())
}

/// The drives below a volume: its array and group. In a storage pool every LUN lies on all drives.
fn group_of(modelled: &ModelledScenario, volume: &VolumePlan) -> (usize, usize) {
    let group = match &modelled.arrays[volume.array].design {
        SystemDesign::Paged(_) => 0,
        design => design.arrays()[0].luns.get(volume.lun).map_or(0, |lun| lun.group),
    };
    (volume.array, group)
}

fn log_places(subject: &Subject<'_>) -> Measured {
    if let What::Organisation(sizing) = subject.what {
        let block = sizing.block.as_ref().ok_or("[storage] names no drives")?;
        let is_beside = block.logs == brunt_scenario::LogPlace::Beside;
        return Ok(vec![Item::new("all databases", beside(is_beside, sizing.org.copies.value))]);
    }
    let test = subject.test()?;
    let copies = u64::from(test.test.copies);
    let mut first = 0;
    let mut items = Vec::new();
    for (at, instance) in test.instances.iter().enumerate() {
        let own = first..first + instance.databases.len();
        first = own.end;
        let is_beside = match subject.modelled() {
            Some(modelled) => {
                let place = |path: &Path| {
                    volume_of(modelled, path).map(|volume| group_of(modelled, volume))
                };
                let log = place(&instance.log);
                instance.databases.iter().any(|database| place(&database.path) == log)
            }
            None => subject.volumes()?.iter().any(|volume| {
                volume.logs.contains(&at) && volume.databases.iter().any(|at| own.contains(at))
            }),
        };
        items.push(Item::new(&instance.name, beside(is_beside, copies)));
    }
    Ok(items)
}

fn beside(is_beside: bool, copies: u64) -> String {
    match (is_beside, copies) {
        (false, _) => "elsewhere".to_owned(),
        (true, 3..) => THREE_COPIES.to_owned(),
        (true, _) => "beside its databases".to_owned(),
    }
}

fn shared_devices(subject: &Subject<'_>) -> Measured {
    let volumes = subject.volumes()?;
    subject.leaves(
        |leaf| {
            let is_on = |volume: &&brunt_host::configuration::Volume| {
                volume.devices.iter().any(|device| device.device.name == leaf.device.name)
            };
            Some(volumes.iter().filter(is_on).count())
        },
        "the kernel names no device below these volumes",
    )
}

/// Databases by their names, with their sizes.
fn sizes(subject: &Subject<'_>) -> Result<(Vec<(String, f64)>, u64), Gap> {
    if let What::Organisation(sizing) = subject.what {
        let size = sizing.sheet.get("database_bytes");
        return Ok((vec![("each database".to_owned(), size)], sizing.org.copies.value));
    }
    let test = subject.test()?;
    let sizes =
        test.databases().map(|database| (database.name.clone(), float(database.size.get())));
    Ok((sizes.collect(), test.test.copies.into()))
}

fn database_sizes(subject: &Subject<'_>) -> Measured {
    let (sizes, copies) = sizes(subject)?;
    let version = subject.version().ok_or("no version")?;
    let limit = match subject.what {
        What::Organisation(sizing) => sizing.sheet.find("database_bytes_max"),
        _ => brunt_sizing::known(version, copies, "database_bytes_max"),
    };
    let limit = limit.ok_or_else(|| Gap::unknown("no limit is known"))?;
    Ok(sizes.into_iter().map(|(name, size)| Item::limited(name, size, limit)).collect())
}

fn supported_sizes(subject: &Subject<'_>) -> Measured {
    let (sizes, _) = sizes(subject)?;
    Ok(sizes.into_iter().map(|(name, size)| Item::new(name, size)).collect())
}

fn databases_on_server(subject: &Subject<'_>) -> Measured {
    let (count, copies) = match subject.what {
        What::Organisation(sizing) => {
            (sizing.sheet.get("copies_per_server"), sizing.org.copies.value)
        }
        _ => {
            let test = subject.test()?;
            let count = u32::try_from(test.databases().count()).unwrap_or(u32::MAX);
            (f64::from(count), test.test.copies.into())
        }
    };
    let version = subject.version().ok_or("no version")?;
    let limit = match subject.what {
        What::Organisation(sizing) => sizing.sheet.find("databases_max"),
        _ => brunt_sizing::known(version, copies, "databases_max"),
    };
    Ok(vec![Item::limited(
        "each server",
        count,
        limit.ok_or_else(|| Gap::unknown("no limit is known"))?,
    )])
}

fn headroom(subject: &Subject<'_>) -> Measured {
    if let What::Organisation(sizing) = subject.what {
        return Ok(vec![Item::new("the size", sizing.sheet.get("headroom_percent"))]);
    }
    let test = subject.test()?;
    match test.test.target_io_per_s {
        Some(_) => Ok(vec![Item::new("the target", test.test.headroom_percent)]),
        None => Err("without a target there is none to have headroom over".into()),
    }
}

fn free_space(subject: &Subject<'_>) -> Measured {
    if let What::Organisation(sizing) = subject.what {
        return Ok(vec![Item::new("each volume", sizing.sheet.get("free_percent"))]);
    }
    let Some(modelled) = subject.modelled() else {
        let volumes = subject.volumes()?.iter().filter(|volume| !volume.databases.is_empty());
        return known(
            volumes.filter_map(|volume| {
                let share = share(volume.free?.get(), volume.bytes?.get())?;
                Some(Item::new(&volume.mount, share))
            }),
            "the system does not tell how large these volumes are",
        );
    };
    let volumes = modelled.volumes.iter().filter(|volume| volume.server == 0);
    known(
        volumes.filter_map(|volume| {
            let on = modelled.scenario.databases().filter(|database| {
                volume_of(modelled, &database.path).is_some_and(|own| own == volume)
            });
            let used: u64 = on.map(|database| database.size.get()).sum();
            let share = share(volume.bytes.get().saturating_sub(used), volume.bytes.get())?;
            (used > 0).then(|| Item::new(volume.path.display().to_string(), share))
        }),
        "no volume has databases",
    )
}

/// A share in percent.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| float(part) / float(all) * 100.0)
}

fn restore_time(subject: &Subject<'_>) -> Measured {
    let sheet = &subject.sizing()?.sheet;
    let limit = sheet.find("restore_within_s").ok_or("no `restore_within` in [org]")?;
    Ok(vec![Item::limited("each database", sheet.get("restore_s"), limit)])
}

fn log_buffers(subject: &Subject<'_>) -> Measured {
    let test = subject.test()?;
    Ok(vec![Item::new("each instance", test.profile.engine.log_buffer.get())])
}
