//! Copies, failures, and the other site.

use brunt_array::{ArrayDesign, Level};

use super::{ALL, Gap, Group, Item, Measured, Rule, Severity, Unit, Wanted, float};
use crate::subject::{Subject, What};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "copies-left",
        title: "a copy left after failures",
        group: Group::Copies,
        versions: ALL,
        severity: Severity::Error,
        measure: copies_left,
        wanted: Wanted::AtLeast(1.0, Unit::Count),
        reason: "In the worst case all failed servers had a copy of the same database.",
        source: "arithmetic",
        remedy: "more `copies` than `failures`",
        windows: "",
    },
    Rule {
        id: "unprotected-drives",
        title: "drives protected, or three copies",
        group: Group::Copies,
        versions: ALL,
        severity: Severity::Error,
        measure: protection,
        wanted: Wanted::OneOf(&["protected", THREE_COPIES]),
        reason: "Without RAID each failure of a drive costs a copy. Two copies leave one, and it has to last until the other is seeded again.",
        source: "Exchange storage configuration (Microsoft): JBOD needs three copies",
        remedy: "RAID, or three copies",
        windows: "",
    },
    Rule {
        id: "copies-apart",
        title: "copies share nothing",
        group: Group::Copies,
        versions: ALL,
        severity: Severity::Warning,
        measure: servers_on_array,
        wanted: Wanted::AtMost(1.0, Unit::Count),
        reason: "Copies on one array are lost with it, and slow each other.",
        source: "Exchange storage configuration (Microsoft); EMC CX4-960, 2010: an array for each copy",
        remedy: "an array for each server, or for each copy",
        windows: "",
    },
    Rule {
        id: "copies-alike",
        title: "copies on storage of one kind",
        group: Group::Copies,
        versions: ALL,
        severity: Severity::Warning,
        measure: arrays_alike,
        wanted: Wanted::OneOf(&["like the first"]),
        reason: "After a failure the other copy has to do the same work. Different sector sizes or drives also keep copies from being replaced by each other.",
        source: "Exchange storage configuration (Microsoft): all copies on one type of disk",
        remedy: "the same drives and groups for each copy",
        windows: "",
    },
    Rule {
        id: "standby-like-primary",
        title: "the standby is like its primary",
        group: Group::Copies,
        versions: ALL,
        severity: Severity::Warning,
        measure: standby,
        wanted: Wanted::OneOf(&["like its source"]),
        reason: "After a failover it carries the whole load, and in synchronous groups each write waits for it from the first day.",
        source: "HP Continuous Access EVA, 2005",
        remedy: "the same drives, groups and cache in [replica]",
        windows: "",
    },
    Rule {
        id: "link-paths",
        title: "paths of the link between sites",
        group: Group::Copies,
        versions: ALL,
        severity: Severity::Warning,
        measure: link_paths,
        wanted: Wanted::AtLeast(2.0, Unit::Count),
        reason: "With one path, losing it stops replication, and failsafe groups with it.",
        source: "HP Continuous Access EVA, 2005",
        remedy: "`paths = 2` in [link], over different ways",
        windows: "",
    },
    Rule {
        id: "link-carries-all",
        title: "the surviving path carries all",
        group: Group::Copies,
        versions: ALL,
        severity: Severity::Warning,
        measure: link_load,
        wanted: Wanted::AtMost(100.0, Unit::Percent),
        reason: "When a path is lost, the others have to carry its load, too. Otherwise hosts wait, or the history log grows until it is full.",
        source: "HP Continuous Access EVA, 2005: each path must carry both loads",
        remedy: "a faster link, or more paths",
        windows: "",
    },
];

/// Drives may be unprotected when two more copies are.
const THREE_COPIES: &str = "unprotected with three copies";

fn copies_left(subject: &Subject<'_>) -> Measured {
    let sizing = subject.sizing()?;
    match sizing.org.copies.value {
        1 => Err("there is one copy, and servers that take over reach its storage".into()),
        _ => Ok(vec![Item::new("each database", sizing.sheet.get("copies_left"))]),
    }
}

fn protection(subject: &Subject<'_>) -> Measured {
    let copies = match subject.what {
        What::Organisation(sizing) => {
            // An organisation has no level without protection.
            let block = sizing.block.as_ref().ok_or("[storage] names no drives")?;
            return Ok(vec![Item::new(block.group.level.word(), "protected")]);
        }
        What::Load(_) => 1,
        _ => subject.test()?.test.copies,
    };
    let groups = subject.groups()?.into_iter();
    let items = groups.map(|(_, group)| {
        let word = match (group.level, copies) {
            (Level::Raid0, 3..) => THREE_COPIES.to_owned(),
            (Level::Raid0, _) => "unprotected".to_owned(),
            _ => "protected".to_owned(),
        };
        Item::new(&group.name, word)
    });
    Ok(items.collect())
}

fn servers_on_array(subject: &Subject<'_>) -> Measured {
    const ALONE: &str = "there is one copy";
    match subject.what {
        What::Organisation(sizing) if sizing.org.copies.value > 1 => {
            Ok(vec![Item::new("each array", sizing.org.storage.servers.value)])
        }
        What::Organisation(_) => Err(ALONE.into()),
        What::Modelled(modelled) if modelled.scenario.test.copies > 1 => {
            let on = |array: usize| {
                let volumes = modelled.volumes.iter().filter(|volume| volume.array == array);
                let mut servers: Vec<usize> = volumes.map(|volume| volume.server).collect();
                servers.sort_unstable();
                servers.dedup();
                servers.len()
            };
            let arrays = modelled.arrays.iter().enumerate();
            Ok(arrays.map(|(at, array)| Item::new(&array.name, on(at))).collect())
        }
        What::Test(_) => Err(Gap::unknown("the storage of other servers is not seen from here")),
        _ => {
            subject.test()?;
            Err(ALONE.into())
        }
    }
}

/// What two arrays have to have in common.
fn differs(one: &ArrayDesign, other: &ArrayDesign) -> Option<&'static str> {
    let drives = |array: &ArrayDesign| {
        let mut titles: Vec<String> =
            array.drives.iter().map(|drive| drive.title().to_owned()).collect();
        titles.sort_unstable();
        titles
    };
    let groups = |array: &ArrayDesign| -> Vec<_> {
        array.groups.iter().map(|group| (group.level, group.drives.len())).collect()
    };
    let cache = |array: &ArrayDesign| array.cache.map(|cache| (cache.write, cache.read));
    match () {
        () if drives(one) != drives(other) => Some("other drives"),
        () if groups(one) != groups(other) => Some("other groups"),
        () if cache(one) != cache(other) => Some("another cache"),
        () if one.controller.count != other.controller.count => Some("other controllers"),
        () => None,
    }
}

fn arrays_alike(subject: &Subject<'_>) -> Measured {
    let test = subject.test()?;
    if test.test.copies < 2 {
        return Err("there is one copy".into());
    }
    let modelled = subject
        .modelled()
        .ok_or_else(|| Gap::unknown("the storage of other servers is not seen from here"))?;
    let [first, others @ ..] = modelled.arrays.as_slice() else {
        unreachable!("a modelled test has an array")
    };
    if others.is_empty() {
        return Err("there is one array".into());
    }
    let others = others.iter().map(|array| {
        let word = differs(first.design.arrays()[0], array.design.arrays()[0]);
        Item::new(&array.name, word.unwrap_or("like the first"))
    });
    Ok(others.collect())
}

fn standby(subject: &Subject<'_>) -> Measured {
    let pairs = subject.pairs()?.into_iter();
    let items = pairs.map(|(name, pair)| {
        let (source, destination) = (pair.source.arrays(), pair.destination.arrays());
        let word = match source.len() == destination.len() {
            false => Some("other arrays"),
            true => source.iter().zip(&destination).find_map(|(one, other)| differs(one, other)),
        };
        Item::new(name, word.unwrap_or("like its source"))
    });
    Ok(items.collect())
}

fn link_paths(subject: &Subject<'_>) -> Measured {
    let pairs = subject.pairs()?.into_iter();
    Ok(pairs.map(|(name, pair)| Item::new(name, pair.link.paths)).collect())
}

/// Bytes that the servers of a modelled test ask for in a second, read and written. What a page
/// changes by is in the log before it, so logs are counted as large as the pages that are written:
/// an upper bound.
pub(super) fn load(subject: &Subject<'_>) -> Result<(f64, f64), Gap> {
    let test = subject.test()?;
    let modelled =
        subject.modelled().ok_or("only of modelled storage is it known what lies between")?;
    let target =
        test.plan().target.ok_or_else(|| Gap::unknown("without a target the load is not known"))?;
    let reads = brunt_sizing::known(test.profile.version, test.test.copies.into(), "read_percent");
    let reads = reads.unwrap_or(0.0) / 100.0;
    let bytes = target.offered()
        * float(modelled.servers.len() as u64)
        * float(test.profile.engine.page.bytes_u64());
    Ok((bytes * reads, 2.0 * bytes * (1.0 - reads)))
}

fn link_load(subject: &Subject<'_>) -> Measured {
    let pairs = subject.pairs()?;
    let (_, written) = load(subject)?;
    let items = pairs.into_iter().filter_map(|(name, pair)| {
        let left = float(pair.link.bytes_per_second) * float(pair.link.paths as u64 - 1);
        let is_limited = left > 0.0;
        is_limited.then(|| Item::new(name, written / left * 100.0))
    });
    let items: Vec<Item> = items.collect();
    match items.is_empty() {
        true => Err(Gap::unknown("the link has one path, or no limit of rate")),
        false => Ok(items),
    }
}
