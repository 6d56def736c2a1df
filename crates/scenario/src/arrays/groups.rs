//! `[[array.group]]`, `[[array.lun]]` and `array.spares`, and who gets which drives.

use std::collections::BTreeMap;

use brunt_array::drive::DriveModel;
use brunt_array::{
    DesignError, GroupDesign, Level, LunDesign, MirrorChoice, Priority, RepairDesign, TierDesign,
    preservation_drives,
};
use brunt_units::ByteSize;

use super::super::format::bare_word;
use super::super::nearest::nearest;
use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::tier;

pub(crate) const GROUP_KEYS: [&str; 13] = [
    "name",
    "each",
    "level",
    "drives",
    "sets",
    "strip",
    "drive_size",
    "mirror",
    "piece",
    "preserved",
    "rebuild_unit",
    "rebuild_priority",
    "critical_priority",
];
pub(super) const LUN_KEYS: [&str; 5] = ["name", "each", "group", "size", "controller"];
/// Stands for each name where several LUNs are alike.
pub(super) const EACH: &str = "{}";
const LEVELS: [&str; 7] = ["raid0", "raid1", "raid10", "raid5", "raid50", "raid6", "pool"];
const MIRRORS: [(&str, MirrorChoice); 2] =
    [("shortest queue", MirrorChoice::ShortestQueue), ("random", MirrorChoice::Random)];

/// Groups, spares and LUNs.
pub(super) struct Parts {
    pub(super) groups: Vec<GroupDesign>,
    pub(super) spares: Vec<u16>,
    pub(super) luns: Vec<LunDesign>,
    pub(super) group_places: BTreeMap<String, Place>,
    pub(super) lun_places: BTreeMap<String, Place>,
    pub(super) tier: Option<TierDesign>,
    pub(super) tier_place: Option<Place>,
}

/// Those of an array with `controllers` controllers.
pub(super) fn read(
    array: &mut Section,
    models: &[DriveModel],
    controllers: u32,
) -> Result<Parts, Refusal> {
    let (mut next, drives) = (0, models.len());
    let mut groups: Vec<GroupDesign> = Vec::new();
    let mut group_places = BTreeMap::new();
    if !array.written("group") {
        return Err(array.lacks("group", "[[array.group]] with level = \"raid5\" and drives = 5"));
    }
    for node in array.tables("group") {
        let place = node.place.clone();
        let alike = read_groups(node, groups.len(), &mut next, models);
        let alike = array.sink().catch(alike).unwrap_or_default();
        group_places.extend(alike.iter().map(|one| (one.name.clone(), place.clone())));
        groups.extend(alike);
    }
    let tier = tier::read(array, &mut next, drives);
    let (tier, tier_place) = array.sink().catch(tier).flatten().unzip();
    let spares = array.read_or("spares", 0, |node| section::integer(node, 0..=4096));
    let left = drives - next;
    let wanted = usize::try_from(spares.value).expect("in range");
    if wanted > left {
        let what = format!("but only {left} of {drives} drives are in no group");
        array.refuse(spares.place.refuse(what));
    }
    let spares = (next..next + wanted.min(left)).map(number).collect();
    let (mut luns, mut lun_places) = (Vec::new(), BTreeMap::new());
    for node in array.tables("lun") {
        let read = read_luns(node, luns.len(), &groups, controllers);
        let Some((read, place)) = array.sink().catch(read) else { continue };
        for lun in read {
            if lun_places.insert(lun.name.clone(), place.clone()).is_some() {
                let what = format!("there are two LUNs called \"{}\"", lun.name);
                array.refuse(place.refuse(what));
                continue;
            }
            luns.push(lun);
        }
    }
    if groups.is_empty() {
        return Err(Refusal::echo());
    }
    if luns.is_empty() {
        luns = groups.iter().zip(0..).map(|(group, number)| whole(group, number)).collect();
    }
    Ok(Parts { groups, spares, luns, group_places, lun_places, tier, tier_place })
}

fn number(drive: usize) -> u16 {
    u16::try_from(drive).expect("few drives")
}

/// A LUN over all of a group.
fn whole(group: &GroupDesign, number: usize) -> LunDesign {
    LunDesign { name: group.name.clone(), group: number, size: ByteSize::bytes(0), owner: None }
}

/// One group, or one for each name of `each`.
fn read_groups(
    node: Node,
    index: usize,
    next: &mut usize,
    models: &[DriveModel],
) -> Result<Vec<GroupDesign>, Refusal> {
    let mut section = Section::new(node, "[[array.group]]", &GROUP_KEYS);
    let name = section.read_or("name", format!("group {index}"), section::text).value;
    let word = section.need("level", "level = \"raid5\"", |node| section::word(node, &LEVELS));
    let count = section.need("drives", "drives = 5", |node| section::integer(node, 1..=4096));
    let each = read_each(&mut section, &name)?.unwrap_or_else(|| vec![String::new()]);
    let own = usize::try_from(count.value).expect("in range");
    let (wanted, drives) = (own * each.len(), models.len());
    if wanted > drives - *next {
        let left = drives - *next;
        let what = format!("but only {left} of {drives} drives are left for \"{name}\"");
        return Err(count.place.refuse(what));
    }
    let level = read_level(&mut section, word.value, own)?;
    let is_pool = matches!(level, Level::Pool { .. });
    let strip = if is_pool { ByteSize::kib(128) } else { ByteSize::kib(64) };
    let strip = section.read_or("strip", strip, section::size);
    let mirror_choice = match level {
        Level::Raid1 | Level::Raid10 => section.choice_or("mirror", MIRRORS[0].1, &MIRRORS).value,
        _ => {
            if let Some(mirror) = section.read("mirror", |node| section::choice(node, &MIRRORS)) {
                let what = "is for level = \"raid1\" and \"raid10\" only";
                return Err(mirror.place.refuse(what));
            }
            MIRRORS[0].1
        }
    };
    let survives_two = match level {
        Level::Raid6 | Level::Pool { .. } => true,
        Level::Raid1 => own > 2,
        Level::Raid0 | Level::Raid10 | Level::Raid5 | Level::Raid50(_) => false,
    };
    let taken = &models[*next..*next + wanted];
    let group = GroupDesign {
        name,
        level,
        drives: (*next..*next + own).map(number).collect(),
        drive_size: read_drive_size(&mut section, taken)?,
        strip: strip.value,
        mirror_choice,
        repair: read_repair(&mut section, survives_two)?,
    };
    // A number of drives that cannot make such a group is reported at the number.
    group.check().map_err(|error| {
        let blamed = match &error {
            DesignError::Strip(_) => &strip.place,
            _ => &count.place,
        };
        blamed.refuse(error.to_string())
    })?;
    let alike = each.iter().map(|each| {
        let drives = (*next..*next + own).map(number).collect();
        *next += own;
        GroupDesign { name: group.name.replace(EACH, each), drives, ..group.clone() }
    });
    Ok(alike.collect())
}

/// How much of each of `drives` a group takes, if not all.
fn read_drive_size(
    section: &mut Section,
    drives: &[DriveModel],
) -> Result<Option<ByteSize>, Refusal> {
    let Some(size) = section.read("drive_size", section::size) else {
        return Ok(None);
    };
    let smallest = drives.iter().map(DriveModel::sectors).min().unwrap_or(0);
    let smallest = ByteSize::bytes(smallest * 512);
    match size.value.get() {
        0 => Err(size.place.refuse("is nothing")),
        more if more > smallest.get() => {
            Err(size.place.refuse(format!("is more than the {smallest} of its smallest drive")))
        }
        _ => Ok(Some(size.value)),
    }
}

/// The names of `each`, if it is there; `name` has to tell them apart.
pub(super) fn read_each(section: &mut Section, name: &str) -> Result<Option<Vec<String>>, Refusal> {
    let each = section.read("each", |node| match &node.value {
        Value::List(nodes) if !nodes.is_empty() => {
            nodes.iter().map(section::text).collect::<Result<Vec<_>, _>>()
        }
        other => Err(node.place.refuse(format!("is {}, not a list of names", other.kind()))),
    });
    if let Some(each) = &each
        && !name.contains(EACH)
    {
        let refusal = each.place.refuse("makes several, which need different names");
        return Err(refusal.hint(format!("for example: name = \"log of {EACH}\"")));
    }
    Ok(each.map(|each| each.value))
}

/// That of a group of `drives` drives.
fn read_level(section: &mut Section, word: usize, drives: usize) -> Result<Level, Refusal> {
    let sets = section.read("sets", |node| section::integer(node, 2..=1024));
    let piece = section.read("piece", section::size);
    let preserved = section.read("preserved", |node| section::integer(node, 0..=1024));
    let small = |number: Placed<u64>| u32::try_from(number.value).expect("in range");
    let level = LEVELS[word];
    if level != "raid50"
        && let Some(sets) = sets
    {
        return Err(sets.place.refuse("is for level = \"raid50\" only"));
    }
    if level != "pool"
        && let Some(place) = piece
            .as_ref()
            .map(|piece| &piece.place)
            .or(preserved.as_ref().map(|preserved| &preserved.place))
    {
        return Err(place.refuse("is for level = \"pool\" only"));
    }
    Ok(match level {
        "raid0" => Level::Raid0,
        "raid1" => Level::Raid1,
        "raid10" => Level::Raid10,
        "raid5" => Level::Raid5,
        "raid50" => {
            let sets = sets.ok_or_else(|| section.lacks("sets", "sets = 2"))?;
            Level::Raid50(small(sets))
        }
        "raid6" => Level::Raid6,
        _ => {
            let piece = piece.map_or(ByteSize::mib(512), |piece| piece.value);
            section.keep("piece", &piece);
            let usual = || u32::try_from(preservation_drives(drives)).expect("few drives");
            let preserved = preserved.map_or_else(usual, small);
            section.keep("preserved", &preserved);
            Level::Pool { piece, preserved: Some(preserved) }
        }
    })
}

/// `survives_two` says whether there is something to rebuild after a second drive.
fn read_repair(section: &mut Section, survives_two: bool) -> Result<RepairDesign, Refusal> {
    let usual = RepairDesign::default();
    let mut priority =
        |key: &str| section.read(key, |node| section::choice(node, &Priority::WORDS));
    let degraded = priority("rebuild_priority");
    let critical = priority("critical_priority");
    if let Some(critical) = critical.as_ref().filter(|_| !survives_two) {
        let what = "is for groups that survive two lost drives: raid6, a pool, or raid1 of three";
        return Err(critical.place.refuse(what));
    }
    let repair = RepairDesign {
        unit: section.read_or("rebuild_unit", usual.unit, section::size).value,
        priority: degraded.map_or(usual.priority, |written| written.value),
        critical: critical.map_or(usual.critical, |written| written.value),
    };
    let word = |priority| bare_word(&Priority::WORDS, priority).to_owned();
    section.keep("rebuild_priority", &word(repair.priority));
    if survives_two {
        section.keep("critical_priority", &word(repair.critical));
    }
    Ok(repair)
}

/// One LUN, or one for each name of `each`, which takes the place of `{}` in its own name and in
/// its group's.
fn read_luns(
    node: Node,
    index: usize,
    groups: &[GroupDesign],
    controllers: u32,
) -> Result<(Vec<LunDesign>, Place), Refusal> {
    let mut section = Section::new(node, "[[array.lun]]", &LUN_KEYS);
    let own = section.place().clone();
    let name = section.read_or("name", format!("lun {index}"), section::text).value;
    let each = read_each(&mut section, &name)?.unwrap_or_else(|| vec![String::new()]);
    let group = section.take("group");
    let size = section.read("size", section::size);
    if let Some(size) = size.as_ref().filter(|size| size.value.get() == 0) {
        let refusal = size.place.refuse("is nothing");
        return Err(refusal.hint("without a `size`, a LUN takes all that is left of its group"));
    }
    let controller = section.read("controller", |node| section::integer(node, 0..=1));
    let missing = |number: &&Placed<u64>| number.value >= u64::from(controllers);
    if let Some(controller) = controller.as_ref().filter(missing) {
        let refusal = controller.place.refuse("there is only controller 0");
        return Err(refusal.hint("[array.controller] with count = 2, or without this key"));
    }
    let place = size.as_ref().map_or(own, |size| size.place.clone());
    let mut luns = Vec::new();
    for each in &each {
        luns.push(LunDesign {
            name: name.replace(EACH, each),
            group: group_of(group.as_ref(), each, groups, &section)?,
            size: size.as_ref().map_or(ByteSize::bytes(0), |size| size.value),
            owner: controller
                .as_ref()
                .map(|number| usize::try_from(number.value).expect("in range")),
        });
    }
    Ok((luns, place))
}

/// The group of a LUN: the named one, or the only one.
fn group_of(
    node: Option<&Node>,
    each: &str,
    groups: &[GroupDesign],
    section: &Section,
) -> Result<usize, Refusal> {
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    match (node, groups.len()) {
        (Some(node), _) => {
            let written = section::text(node)?.replace(EACH, each);
            find_name(&written, node, &names, "group")
        }
        (None, 1) => {
            section.keep("group", &names[0].to_owned());
            Ok(0)
        }
        (None, 0) => Err(Refusal::echo()),
        (None, _) => Err(section.lacks("group", &format!("group = \"{}\"", names[0]))),
    }
}

/// The index of the name that is written.
pub(crate) fn find(node: &Node, names: &[&str], what: &str) -> Result<usize, Refusal> {
    find_name(&section::text(node)?, node, names, what)
}

fn find_name(written: &str, node: &Node, names: &[&str], what: &str) -> Result<usize, Refusal> {
    names.iter().position(|name| *name == written).ok_or_else(|| {
        let refusal = node.place.refuse(format!("there is no {what} called \"{written}\""));
        refusal.hint(match nearest(written, names) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("there is {}", names.join(", ")),
        })
    })
}
