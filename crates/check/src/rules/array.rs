//! Settings of a modelled array: groups, cache, controllers, rebuild.

use brunt_array::load::Access;
use brunt_array::{
    ArrayDesign, CacheDesign, GroupDesign, Level, POOL_DRIVES_MIN, Priority, SystemDesign,
    preservation_drives,
};

use super::layout;
use super::{ALL, FROM_2013, Gap, Group, Item, Measured, Rule, Severity, Unit, Wanted, float};
use crate::subject::{Subject, What, known};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "stripe",
        title: "strip of RAID groups",
        group: Group::Array,
        versions: FROM_2013,
        severity: Severity::Advice,
        measure: strips,
        wanted: Wanted::AtLeast(256.0 * 1024.0, Unit::Bytes),
        reason: "Reads of 256 KiB by background maintenance then move one arm, not several.",
        source: "Exchange storage configuration (Microsoft): 256 KB or more",
        remedy: "`strip = \"256 KiB\"` in [[array.group]]",
        windows: "",
    },
    Rule {
        id: "parity-width",
        title: "drives of a RAID 5 or RAID 6 group",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Warning,
        measure: parity_widths,
        wanted: Wanted::AtMost(7.0, Unit::Count),
        reason: "The more drives, the longer a rebuild reads all of them, and the likelier another one fails meanwhile.",
        source: "Exchange storage configuration (Microsoft): at most 7",
        remedy: "smaller groups, or a pool",
        windows: "",
    },
    Rule {
        id: "parity-writes",
        title: "random writes on RAID 5",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Advice,
        measure: parity_writes,
        wanted: Wanted::AtMost(30.0, Unit::Percent),
        reason: "Each small write costs four I/Os of drives. Above a third of writes, RAID 10 needs fewer drives for the same load.",
        source: "EMC best practices (h5773.5)",
        remedy: "RAID 10, or count four I/Os for each write, as `brunt size` does",
        windows: "",
    },
    Rule {
        id: "pool-drives",
        title: "drives of a pool",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Error,
        measure: pool_drives,
        wanted: Wanted::AtLeast(11.0, Unit::Count),
        reason: "A stripe needs ten drives, and one more to rebuild on.",
        source: "Dell PowerVault MD3820f, 2015",
        remedy: "more drives",
        windows: "",
    },
    Rule {
        id: "pool-reserve",
        title: "room that a pool keeps for a rebuild",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Warning,
        measure: pool_reserve,
        wanted: Wanted::AtLeast(0.0, Unit::Count),
        reason: "Without it a failed drive is not rebuilt until somebody replaces it.",
        source: "Dell PowerVault MD3820f, 2015; drives by the size of the pool, as widely published",
        remedy: "leave `preserved` out",
        windows: "",
    },
    Rule {
        id: "spares",
        title: "spare drives",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Warning,
        measure: spares,
        wanted: Wanted::AtLeast(1.0, Unit::Count),
        reason: "A rebuild that waits for somebody to come leaves the group without protection.",
        source: "EMC CX3-20, 2007; Dell PowerVault MD3820f, 2015: about 5 % for two years without service",
        remedy: "`spares = 1` in [array], and drives for it",
        windows: "",
    },
    Rule {
        id: "rebuild-priority",
        title: "priority of a rebuild on slow drives",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Warning,
        measure: rebuild_priorities,
        wanted: Wanted::OneOf(&["low", "medium"]),
        reason: "At high priority, a rebuild takes most of what drives of 7,200 rpm can do, for a day.",
        source: "Dell PowerVault MD3820f, 2015",
        remedy: "`rebuild_priority = \"medium\"` in [[array.group]]",
        windows: "",
    },
    Rule {
        id: "controllers",
        title: "controllers",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Error,
        measure: controllers,
        wanted: Wanted::AtLeast(2.0, Unit::Count),
        reason: "With one controller, its failure takes all databases away.",
        source: "all published systems have two",
        remedy: "`count = 2` in [array.controller]",
        windows: "",
    },
    Rule {
        id: "balanced-controllers",
        title: "LUNs in balance over controllers",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Warning,
        measure: balance,
        wanted: Wanted::AtMost(1.0, Unit::Count),
        reason: "A controller with most of the LUNs is busy while the other one waits.",
        source: "EMC CX3-20, 2007: balance LUNs over storage processors",
        remedy: "`controller` in [[array.lun]], or leave it out: then they take turns",
        windows: "",
    },
    Rule {
        id: "write-cache",
        title: "write cache of the array",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Warning,
        measure: write_caches,
        wanted: Wanted::AtLeast(MIB, Unit::Bytes),
        reason: "Every commit waits for a log write. From a cache it takes a fraction of a millisecond, from a disk ten.",
        source: "Exchange storage configuration (Microsoft); EMC CX3-20, 2007",
        remedy: "`write` in [array.cache]",
        windows: "",
    },
    Rule {
        id: "mirrored-cache",
        title: "write cache mirrored",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Error,
        measure: mirrors,
        wanted: Wanted::OneOf(&["mirrored", "one controller"]),
        reason: "What only one controller has is lost with it, although the write was acknowledged.",
        source: "EMC CLARiiON, EqualLogic PS: write caches are mirrored",
        remedy: "`mirrored = true` in [array.cache]",
        windows: "",
    },
    Rule {
        id: "cache-share",
        title: "share of the cache for writes",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Advice,
        measure: cache_shares,
        wanted: Wanted::AtLeast(75.0, Unit::Percent),
        reason: "The engine has a far larger read cache itself. Writes are what the array's cache is for.",
        source: "Exchange storage configuration (Microsoft): 75 % write, 25 % read",
        remedy: "more `write` and less `read` in [array.cache]",
        windows: "",
    },
    Rule {
        id: "cache-page",
        title: "page of the array's cache",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Advice,
        measure: cache_pages,
        wanted: Wanted::AtLeast(8192.0, Unit::Bytes),
        reason: "A database page then is few cache pages, and costs few operations of the controller.",
        source: "EMC CX3-20, 2007: 8 KB; EMC CX4-960, 2010: 16 KB for Exchange alone",
        remedy: "`page = \"8 KiB\"` in [array.cache], or 16 KiB from Exchange 2010 on",
        windows: "",
    },
    Rule {
        id: "watermarks",
        title: "where flushing of the cache begins",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Warning,
        measure: high_marks,
        wanted: Wanted::Between(40.0, 80.0, Unit::Percent),
        reason: "Above it a burst of checkpoint writes fills the cache, and hosts wait for drives. Below it, few writes are gathered.",
        source: "EMC: 80 and 60 %, lower when flushes are forced; EMC CX4-960, 2010: 75 and 70 %; Dell PowerVault MD3820f, 2015: 80 %",
        remedy: "`high = 80` in [array.cache]",
        windows: "",
    },
    Rule {
        id: "watermark-order",
        title: "distance of the watermarks",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Advice,
        measure: mark_distances,
        wanted: Wanted::Between(1.0, 30.0, Unit::Percent),
        reason: "With none between them flushing never rests; with too much, one flush delays reads for long.",
        source: "EMC: the low mark about 20 below the high one; EMC CX4-960, 2010: 5 below",
        remedy: "`low = 60` in [array.cache]",
        windows: "",
    },
    Rule {
        id: "prefetch",
        title: "read-ahead of the array",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Advice,
        measure: prefetches,
        wanted: Wanted::AtLeast(64.0 * 1024.0, Unit::Bytes),
        reason: "Backups, seeding and maintenance read in order, and wait for each read without it.",
        source: "Dell PowerVault MD3820f, 2015: dynamic read-ahead on; EMC CX3-20, 2007",
        remedy: "`prefetch = \"512 KiB\"` in [array.cache]",
        windows: "",
    },
    Rule {
        id: "isolation",
        title: "drives for one server",
        group: Group::Array,
        versions: ALL,
        severity: Severity::Advice,
        measure: servers_on_group,
        wanted: Wanted::AtMost(1.0, Unit::Count),
        reason: "Servers on the same drives slow each other, and one that is restored slows all.",
        source: "EMC CX4-960, 2010: groups of their own for each server",
        remedy: "groups for each server: `each` in [[array.group]]",
        windows: "",
    },
];

const MIB: f64 = 1_048_576.0;

fn strips(subject: &Subject<'_>) -> Measured {
    let groups = subject.groups()?.into_iter();
    known(
        groups
            .filter(|(_, group)| !matches!(group.level, Level::Raid1 | Level::Pool { .. }))
            .map(|(_, group)| Item::new(&group.name, group.strip.get())),
        "no group is striped",
    )
}

fn parity_widths(subject: &Subject<'_>) -> Measured {
    let groups = subject.groups()?.into_iter();
    known(
        groups.filter_map(|(_, group)| {
            let drives = group.drives.len();
            let drives = match group.level {
                Level::Raid5 | Level::Raid6 => drives,
                Level::Raid50(sets) => drives.div_euclid(usize::try_from(sets).ok()?.max(1)),
                _ => return None,
            };
            Some(Item::new(&group.name, drives))
        }),
        "no group has parity",
    )
}

/// Groups under random load, and its share of writes: of each random load, or of the version's
/// databases.
fn written_groups<'a>(subject: &Subject<'a>) -> Result<Vec<(&'a GroupDesign, f64)>, Gap> {
    if let What::Load(load) = subject.what {
        let simulation = &load.simulation;
        let random = simulation.streams.iter().filter_map(|stream| match &stream.access {
            Access::Random { luns, read_percent, .. } => {
                Some((luns, 100.0 - f64::from(*read_percent)))
            }
            _ => None,
        });
        let groups = random.flat_map(|(luns, share)| {
            let luns = luns.iter();
            let groups = luns.flat_map(|lun| groups_of(&simulation.design, *lun));
            groups.map(move |group| (group, share))
        });
        return Ok(groups.collect());
    }
    let test = subject.test()?;
    let Some(modelled) = subject.modelled() else {
        return Ok(Vec::new());
    };
    let reads = brunt_sizing::known(test.profile.version, test.test.copies.into(), "read_percent");
    let volumes =
        test.databases().filter_map(|database| layout::volume_of(modelled, &database.path));
    let groups = volumes.flat_map(|volume| {
        let lun = u32::try_from(volume.lun).expect("few LUNs");
        groups_of(&modelled.arrays[volume.array].design, lun)
    });
    Ok(groups.flat_map(|group| reads.map(|reads| (group, 100.0 - reads))).collect())
}

/// The groups of drives below a LUN and its replica. In a storage pool every LUN lies on all of
/// them.
fn groups_of(system: &SystemDesign, lun: u32) -> Vec<&GroupDesign> {
    match system {
        SystemDesign::One(array) => {
            let own = array.luns.get(lun as usize);
            own.map(|lun| &array.groups[lun.group]).into_iter().collect()
        }
        SystemDesign::Pair(pair) => {
            let pairs = pair.groups.iter().flat_map(|group| &group.luns);
            let replicas = pairs.filter(|(own, _)| *own == lun);
            let replicas = replicas.flat_map(|(_, other)| groups_of(&pair.destination, *other));
            groups_of(&pair.source, lun).into_iter().chain(replicas).collect()
        }
        SystemDesign::Paged(_) | SystemDesign::Sites(_) => {
            let arrays = system.arrays().into_iter();
            arrays.flat_map(|array| &array.groups).collect()
        }
    }
}

fn parity_writes(subject: &Subject<'_>) -> Measured {
    let written = written_groups(subject)?;
    let groups = subject.groups()?.into_iter();
    let parity = groups.filter(|(_, group)| matches!(group.level, Level::Raid5 | Level::Raid50(_)));
    known(
        parity.flat_map(|(_, group)| {
            let own = written.iter().filter(|(own, _)| std::ptr::eq(*own, group));
            let mut shares: Vec<f64> = own.map(|(_, share)| *share).collect();
            // Many databases lie on one group.
            shares.sort_by(f64::total_cmp);
            shares.dedup();
            let item = |share| Item::new(&group.name, share);
            shares.into_iter().map(item).collect::<Vec<_>>()
        }),
        "no random load is on RAID 5",
    )
}

fn pool_drives(subject: &Subject<'_>) -> Measured {
    let groups = subject.groups()?.into_iter();
    known(
        groups.filter(|(_, group)| matches!(group.level, Level::Pool { .. })).map(|(_, group)| {
            Item::limited(
                &group.name,
                float(group.drives.len() as u64),
                float(POOL_DRIVES_MIN as u64),
            )
        }),
        "no group is a pool",
    )
}

fn pool_reserve(subject: &Subject<'_>) -> Measured {
    let groups = subject.groups()?.into_iter();
    known(
        groups.filter_map(|(_, group)| {
            let usual = preservation_drives(group.drives.len()) as u64;
            let kept = match group.level {
                Level::Pool { preserved, .. } => preserved.map_or(usual, u64::from),
                _ => return None,
            };
            Some(Item::limited(&group.name, float(kept), float(usual)))
        }),
        "no group is a pool",
    )
}

fn spares(subject: &Subject<'_>) -> Measured {
    let arrays = subject.arrays()?.into_iter();
    known(
        arrays
            .filter(|(_, array)| {
                array
                    .groups
                    .iter()
                    .any(|group| !matches!(group.level, Level::Pool { .. } | Level::Raid0))
            })
            .map(|(name, array)| Item::new(name, array.spares.len())),
        "no group is rebuilt on a spare",
    )
}

fn rebuild_priorities(subject: &Subject<'_>) -> Measured {
    let groups = subject.groups()?.into_iter();
    let is_slow = |array: &ArrayDesign, drives: &[u16]| {
        let model = drives.first().and_then(|drive| array.drives.get(usize::from(*drive)));
        model.and_then(|model| model.rpm()).is_some_and(|rpm| rpm <= 7_200)
    };
    known(
        groups.filter(|(array, group)| is_slow(array, &group.drives)).map(|(_, group)| {
            let word = match group.repair.priority {
                Priority::Low => "low",
                Priority::Medium => "medium",
                Priority::High => "high",
                Priority::Highest => "highest",
            };
            Item::new(&group.name, word)
        }),
        "no group is on drives of 7,200 rpm",
    )
}

fn controllers(subject: &Subject<'_>) -> Measured {
    let arrays = subject.arrays()?.into_iter();
    Ok(arrays.map(|(name, array)| Item::new(name, array.controller.count)).collect())
}

fn balance(subject: &Subject<'_>) -> Measured {
    let arrays = subject.arrays()?.into_iter();
    known(
        arrays.filter(|(_, array)| array.controller.count > 1).map(|(name, array)| {
            let mut owned = [0_u64; 2];
            for (at, lun) in array.luns.iter().enumerate() {
                owned[lun.owner.unwrap_or(at).rem_euclid(2)] += 1;
            }
            Item::new(name, owned[0].abs_diff(owned[1]))
        }),
        "there is one controller",
    )
}

/// What `value` tells of each cache.
fn caches<V: Into<super::Value>>(
    subject: &Subject<'_>,
    value: impl Fn(&ArrayDesign, &CacheDesign) -> V,
) -> Measured {
    let arrays = subject.arrays()?.into_iter();
    known(
        arrays
            .filter_map(|(name, array)| Some(Item::new(name, value(array, array.cache.as_ref()?)))),
        "there is no cache",
    )
}

fn write_caches(subject: &Subject<'_>) -> Measured {
    let arrays = subject.arrays()?.into_iter();
    let size = |array: &ArrayDesign| array.cache.as_ref().map_or(0, |cache| cache.write.get());
    Ok(arrays.map(|(name, array)| Item::new(name, size(array))).collect())
}

fn mirrors(subject: &Subject<'_>) -> Measured {
    caches(subject, |array, cache| match (array.controller.count, cache.mirrored) {
        (1, _) => "one controller",
        (_, true) => "mirrored",
        (_, false) => "not mirrored",
    })
}

fn cache_shares(subject: &Subject<'_>) -> Measured {
    caches(subject, |_, cache| {
        let (write, read) = (float(cache.write.get()), float(cache.read.get()));
        write / (write + read).max(1.0) * 100.0
    })
}

fn cache_pages(subject: &Subject<'_>) -> Measured {
    caches(subject, |_, cache| cache.page.get())
}

fn high_marks(subject: &Subject<'_>) -> Measured {
    caches(subject, |_, cache| cache.marks.high)
}

fn mark_distances(subject: &Subject<'_>) -> Measured {
    caches(subject, |_, cache| cache.marks.high.saturating_sub(cache.marks.low))
}

fn prefetches(subject: &Subject<'_>) -> Measured {
    caches(subject, |_, cache| cache.prefetch.get())
}

fn servers_on_group(subject: &Subject<'_>) -> Measured {
    subject.test()?;
    let modelled = subject
        .modelled()
        .ok_or_else(|| Gap::unknown("drives below a LUN are not seen from here"))?;
    if modelled.servers.len() < 2 {
        return Err("there is one server".into());
    }
    let mut items = Vec::new();
    for (at, plan) in modelled.arrays.iter().enumerate() {
        let array = plan.design.arrays()[0];
        for (number, group) in array.groups.iter().enumerate() {
            let is_on = |volume: &&brunt_scenario::VolumePlan| {
                let lun = array.luns.get(volume.lun);
                volume.array == at && lun.is_some_and(|lun| lun.group == number)
            };
            let mut servers: Vec<usize> =
                modelled.volumes.iter().filter(is_on).map(|volume| volume.server).collect();
            servers.sort_unstable();
            servers.dedup();
            if !servers.is_empty() {
                items.push(Item::new(&group.name, servers.len()));
            }
        }
    }
    known(items.into_iter(), "every LUN lies on all drives of a pool")
}
