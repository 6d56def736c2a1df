//! `[[array.group]]`, `[[array.lun]]` and `array.spares`, and who gets which drives.

use std::collections::BTreeMap;

use brunt_array::drive::DriveModel;
use brunt_array::{
    DesignError, GroupDesign, Level, LunDesign, MirrorChoice, Priority, RepairDesign, TierDesign,
    preservation_drives,
};
use brunt_units::ByteSize;

use super::super::keys::{At, Maybe, SIZE, TEXT, Whole, Word, keys, list};
use super::super::nearest::nearest;
use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::{DRIVES_MAX, tier};

keys! {
    /// Groups that are alike, while they are read.
    pub(crate) struct Alike; GROUP = "[[array.group]]";
    /// What it is called.
    name: String = String::new(), TEXT, "`\"group 0\"` and so on";
    /// Makes one group for each of these names, which replaces `{}` in the name.
    each: Option<Vec<String>> = None, Maybe(list(read_each, "list of names")), "one group";
    /// How it protects data.
    level: Level = Level::Raid5, Word(&LEVELS), needs "level = \"raid5\"";
    /// Drives of each group, in the order of [[array.drives]].
    drives: usize = 5, Whole(1..=DRIVES_MAX), needs "drives = 5";
    /// RAID 5 sets of a raid50.
    sets: Option<u32> = None, Maybe(Whole(2..=1024)), "has to be there for raid50";
    /// A strip on one drive.
    strip: ByteSize = ByteSize::kib(64), SIZE, "`\"64 KiB\"`, in a pool `\"128 KiB\"`", |own| own.strip = ByteSize::kib(if is_pool(own) { 128 } else { 64 });
    /// How much of each drive is used.
    drive_size: Option<ByteSize> = None, Maybe(SIZE), "the smallest drive";
    /// Which copy is read.
    mirror: Option<MirrorChoice> = None, Maybe(Word(&MIRRORS)), "`\"shortest queue\"`, in raid1 and raid10", |own| own.mirror = is_mirror(own).then_some(MIRRORS[0].1);
    /// What a pool places.
    piece: Option<ByteSize> = None, Maybe(SIZE), "`\"512 MiB\"`", |own| own.piece = is_pool(own).then_some(ByteSize::mib(512));
    /// Drives' worth of room that a pool keeps free.
    preserved: Option<u32> = None, Maybe(Whole(0..=1024)), "by its drives", |own| own.preserved = is_pool(own).then(|| usual_preserved(own.drives));
    /// What a rebuild reads and writes at a time.
    rebuild_unit: ByteSize = RepairDesign::default().unit, SIZE, "`\"1 MiB\"`";
    /// How a rebuild stands beside hosts.
    rebuild_priority: Priority = RepairDesign::default().priority, Word(&Priority::WORDS), "`\"high\"`";
    /// The same once no redundancy is left.
    critical_priority: Option<Priority> = None, Maybe(Word(&Priority::WORDS)), "`\"highest\"`, in raid6, a pool or raid1 of three", |own| own.critical_priority = survives_two(own).then_some(Priority::Highest);
}

keys! {
    /// LUNs that are alike, while they are read.
    pub(crate) struct AlikeLuns; LUN = "[[array.lun]]";
    /// What it is called.
    name: String = String::new(), TEXT, "`\"lun 0\"` and so on";
    /// Makes one LUN for each of these names, which replaces `{}` in its name and its group's.
    each: Option<Vec<String>> = None, Maybe(list(read_each, "list of names")), "one LUN";
    /// The group that it lies on, after the LUNs before it.
    group: Option<Placed<String>> = None, Maybe(At(TEXT)), "the only group";
    /// How large it is; has to be there in pages.
    size: Option<ByteSize> = None, Maybe(SIZE), "all that is left of its group";
    /// The controller that serves it.
    controller: Option<usize> = None, Maybe(Whole(0..=1)), "each in turn";
}

/// Stands for each name where several LUNs are alike.
pub(super) const EACH: &str = "{}";
static LEVELS: [(&str, Level); 7] = [
    ("raid0", Level::Raid0),
    ("raid1", Level::Raid1),
    ("raid10", Level::Raid10),
    ("raid5", Level::Raid5),
    ("raid50", Level::Raid50(0)),
    ("raid6", Level::Raid6),
    ("pool", Level::POOL),
];
static MIRRORS: [(&str, MirrorChoice); 2] =
    [("shortest queue", MirrorChoice::ShortestQueue), ("random", MirrorChoice::Random)];

fn usual_preserved(drives: usize) -> u32 {
    u32::try_from(preservation_drives(drives)).expect("few drives")
}

fn is_pool(own: &Alike) -> bool {
    matches!(own.level, Level::Pool { .. })
}

fn is_mirror(own: &Alike) -> bool {
    matches!(own.level, Level::Raid1 | Level::Raid10)
}

/// Whether there is something to rebuild after a second drive.
fn survives_two(own: &Alike) -> bool {
    match own.level {
        Level::Raid6 | Level::Pool { .. } => true,
        Level::Raid1 => own.drives > 2,
        Level::Raid0 | Level::Raid10 | Level::Raid5 | Level::Raid50(_) => false,
    }
}

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
    spares: usize,
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
    let left = drives - next;
    if spares > left {
        let what = format!("but only {left} of {drives} drives are in no group");
        array.refuse(array.place_of("spares").refuse(what));
    }
    let spares = (next..next + spares.min(left)).map(number).collect();
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
    let mut own = Alike { name: format!("group {index}"), ..Alike::default() };
    let section = GROUP.read(node, &mut own);
    let each = names_of(&section, &own.name, own.each.as_ref())?;
    let (wanted, drives) = (own.drives * each.len(), models.len());
    if wanted > drives - *next {
        let left = drives - *next;
        let what = format!("but only {left} of {drives} drives are left for \"{}\"", own.name);
        return Err(section.place_of("drives").refuse(what));
    }
    check_level(&section, &own)?;
    check_drive_size(&section, own.drive_size, &models[*next..*next + wanted])?;
    let group = GroupDesign {
        name: own.name,
        level: match (own.level, own.sets, own.piece) {
            (Level::Raid50(_), Some(sets), _) => Level::Raid50(sets),
            (_, _, Some(piece)) => Level::Pool { piece, preserved: own.preserved },
            (level, ..) => level,
        },
        drives: (*next..*next + own.drives).map(number).collect(),
        drive_size: own.drive_size,
        strip: own.strip,
        mirror_choice: own.mirror.unwrap_or(MIRRORS[0].1),
        repair: RepairDesign {
            unit: own.rebuild_unit,
            priority: own.rebuild_priority,
            critical: own.critical_priority.unwrap_or(Priority::Highest),
        },
    };
    // A number of drives that cannot make such a group is reported at the number.
    group.check().map_err(|error| {
        let blamed = match &error {
            DesignError::Strip(_) => "strip",
            _ => "drives",
        };
        section.place_of(blamed).refuse(error.to_string())
    })?;
    let alike = each.iter().map(|each| {
        let drives = (*next..*next + own.drives).map(number).collect();
        *next += own.drives;
        GroupDesign { name: group.name.replace(EACH, each), drives, ..group.clone() }
    });
    Ok(alike.collect())
}

/// Whether what is said goes with the level.
fn check_level(section: &Section, own: &Alike) -> Result<(), Refusal> {
    let is_raid50 = matches!(own.level, Level::Raid50(_));
    let critical = "is for groups that survive two lost drives: raid6, a pool, or raid1 of three";
    for (key, fits, what) in [
        ("sets", is_raid50, "is for level = \"raid50\" only"),
        ("piece", is_pool(own), "is for level = \"pool\" only"),
        ("preserved", is_pool(own), "is for level = \"pool\" only"),
        ("mirror", is_mirror(own), "is for level = \"raid1\" and \"raid10\" only"),
        ("critical_priority", survives_two(own), critical),
    ] {
        if section.written(key) && !fits {
            return Err(section.place_of(key).refuse(what));
        }
    }
    match is_raid50 && !section.written("sets") {
        true => Err(section.lacks("sets", "sets = 2")),
        false => Ok(()),
    }
}

/// Whether a group can take `size` of each of `drives`.
fn check_drive_size(
    section: &Section,
    size: Option<ByteSize>,
    drives: &[DriveModel],
) -> Result<(), Refusal> {
    let refuse = |what: String| Err(section.place_of("drive_size").refuse(what));
    let smallest = drives.iter().map(DriveModel::sectors).min().unwrap_or(0);
    let smallest = ByteSize::bytes(smallest * 512);
    match size {
        Some(size) if size.get() == 0 => refuse("is nothing".to_owned()),
        Some(size) if size > smallest => {
            refuse(format!("is more than the {smallest} of its smallest drive"))
        }
        _ => Ok(()),
    }
}

/// The names of a list, at least one.
pub(super) fn read_each(node: &Node) -> Result<Vec<String>, Refusal> {
    match &node.value {
        Value::List(nodes) if !nodes.is_empty() => nodes.iter().map(section::text).collect(),
        other => Err(node.place.refuse(format!("is {}, not a list of names", other.kind()))),
    }
}

/// The names of `each`, an empty one without; `name` has to tell them apart.
pub(super) fn names_of(
    section: &Section,
    name: &str,
    each: Option<&Vec<String>>,
) -> Result<Vec<String>, Refusal> {
    if each.is_some() && !name.contains(EACH) {
        let what = "makes several, which need different names";
        let refusal = section.place_of("each").refuse(what);
        return Err(refusal.hint(format!("for example: name = \"log of {EACH}\"")));
    }
    Ok(each.cloned().unwrap_or_else(|| vec![String::new()]))
}

/// One LUN, or one for each name of `each`, which takes the place of `{}` in its own name and in
/// its group's.
fn read_luns(
    node: Node,
    index: usize,
    groups: &[GroupDesign],
    controllers: u32,
) -> Result<(Vec<LunDesign>, Place), Refusal> {
    let mut own = AlikeLuns { name: format!("lun {index}"), ..AlikeLuns::default() };
    let section = LUN.read(node, &mut own);
    let each = names_of(&section, &own.name, own.each.as_ref())?;
    if own.size.is_some_and(|size| size.get() == 0) {
        let refusal = section.place_of("size").refuse("is nothing");
        return Err(refusal.hint("without a `size`, a LUN takes all that is left of its group"));
    }
    if own.controller.is_some_and(|number| number >= controllers as usize) {
        let refusal = section.place_of("controller").refuse("there is only controller 0");
        return Err(refusal.hint("[array.controller] with count = 2, or without this key"));
    }
    let lun = |each: &String| {
        Ok(LunDesign {
            name: own.name.replace(EACH, each),
            group: group_of(own.group.as_ref(), each, groups, &section)?,
            size: own.size.unwrap_or_default(),
            owner: own.controller,
        })
    };
    let luns = each.iter().map(lun).collect::<Result<_, _>>()?;
    Ok((luns, section.place_of("size").clone()))
}

/// The group of a LUN: the named one, or the only one.
fn group_of(
    name: Option<&Placed<String>>,
    each: &str,
    groups: &[GroupDesign],
    section: &Section,
) -> Result<usize, Refusal> {
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    match (name, groups.len()) {
        (Some(Placed { value, place }), _) => {
            find_name(&value.replace(EACH, each), place, &names, "group")
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
    find_name(&section::text(node)?, &node.place, names, what)
}

pub(super) fn find_name(
    written: &str,
    place: &Place,
    names: &[&str],
    what: &str,
) -> Result<usize, Refusal> {
    names.iter().position(|name| *name == written).ok_or_else(|| {
        let refusal = place.refuse(format!("there is no {what} called \"{written}\""));
        refusal.hint(match nearest(written, names) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("there is {}", names.join(", ")),
        })
    })
}
