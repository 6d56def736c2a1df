//! `[[incident]]`: scheduled failures, repairs and changes of an array.

use brunt_array::{ArrayDesign, Incident, Level, PagedDesign, Priority, Scheduled, SystemDesign};
use brunt_units::{ByteSize, Time};

use super::super::place::{Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::course::Course;
use super::{groups, tables};

const KEYS: [&str; 12] = [
    "at",
    "what",
    "member",
    "lun",
    "name",
    "size",
    "drive",
    "times",
    "group",
    "priority",
    "controller",
    "path",
];
const WORDS: [&str; 15] = [
    "lun grows",
    "drive fails",
    "drive slows",
    "drive returns",
    "rebuild priority",
    "pool grows",
    "controller fails",
    "controller returns",
    "battery lost",
    "battery returns",
    "path down",
    "path up",
    "snapshot",
    "remove lun",
    "member joins",
];
/// A drive so much slower does nothing in the time of a simulation.
const TIMES_MAX: f64 = 1e6;
/// From here on, incidents of storage pools.
const PAGED_FROM: usize = 12;

pub(super) fn read(top: &mut Section, design: &SystemDesign) -> Result<Vec<Scheduled>, Refusal> {
    // In the order of time, so that a snapshot can be named by what comes after it.
    let mut entries = Vec::new();
    for node in tables(top, "incident")? {
        entries.push(read_head(node)?);
    }
    entries.sort_by_key(|entry| entry.at);
    let names = design.lun_names().into_iter().map(str::to_owned);
    let mut luns = Luns(names.map(Some).collect());
    let mut course = Course::default();
    let all = entries.into_iter().map(|entry| {
        let place = entry.what.place.clone();
        let incident = read_one(entry, design, &mut luns)?;
        let can_be = course.follow(&incident);
        can_be.map_err(|why| place.refuse(why))?;
        Ok(incident)
    });
    all.collect()
}

/// The names of LUNs by their numbers; nothing for those that were removed.
struct Luns(Vec<Option<String>>);

/// An incident of which time and kind are known.
struct Entry {
    section: Section,
    at: Time,
    what: Placed<usize>,
}

fn read_head(node: Node) -> Result<Entry, Refusal> {
    let mut section = Section::new(node, "[[incident]]", &KEYS)?;
    let at = section.read("at", section::span)?;
    let at = at.ok_or_else(|| section.lacks("at", "at = \"20s\""))?;
    let what = section.read("what", |node| section::word(node, &WORDS))?;
    let what = what.ok_or_else(|| section.lacks("what", "what = \"drive fails\""))?;
    Ok(Entry {
        section,
        at: Time::ZERO + at.value,
        what,
    })
}

fn read_one(entry: Entry, design: &SystemDesign, luns: &mut Luns) -> Result<Scheduled, Refusal> {
    let Entry {
        mut section,
        at,
        what,
    } = entry;
    let mut array = 0;
    let incident = match design {
        _ if WORDS[what.value] == "lun grows" => {
            let lun = read_lun(&mut section, luns)?;
            Incident::LunGrows(lun, read_size(&mut section, design, lun)?)
        }
        SystemDesign::One(_) if what.value >= PAGED_FROM => {
            return Err(what
                .place
                .refuse("is for LUNs in pages: there is no [array.pages]"));
        }
        SystemDesign::One(array) => of_array(&mut section, &what, array)?,
        SystemDesign::Paged(paged) if what.value >= PAGED_FROM => {
            of_pages(&mut section, what.value, paged, luns)?
        }
        SystemDesign::Paged(paged) => {
            if paged.members.len() > 1 {
                array = which(&mut section, "member", paged.members.len())?;
            }
            of_array(&mut section, &what, &paged.members[array])?
        }
    };
    match KEYS
        .into_iter()
        .find_map(|key| Some((key, section.take(key)?)))
    {
        Some((key, node)) => {
            let what = WORDS[what.value];
            Err(node
                .place
                .refuse(format!("`{key}` is not for what = \"{what}\"")))
        }
        None => Ok(Scheduled {
            at,
            array,
            incident,
        }),
    }
}

fn of_pages(
    section: &mut Section,
    what: usize,
    design: &PagedDesign,
    luns: &mut Luns,
) -> Result<Incident, Refusal> {
    if WORDS[what] == "member joins" {
        let member = section.read("member", |node| {
            section::integer(node, 0..=u64::from(u16::MAX))
        })?;
        let member = member.ok_or_else(|| section.lacks("member", "member = 1"))?;
        let number = usize::try_from(member.value).expect("in range");
        return if design.later.contains(&number) {
            Ok(Incident::MemberJoins(number))
        } else {
            Err(member.place.refuse("is no member that comes later"))
        };
    }
    let lun = read_lun(section, luns)?;
    let Luns(luns) = luns;
    if WORDS[what] == "remove lun" {
        luns[lun as usize] = None;
        return Ok(Incident::LunRemoved(lun));
    }
    let of = luns[lun as usize].clone().expect("it was found");
    let name = section.read("name", section::text)?;
    let usual = format!("{of}@{}", luns.len());
    let is_taken = |name: &&Placed<String>| luns.iter().flatten().any(|one| *one == name.value);
    if let Some(name) = name.as_ref().filter(is_taken) {
        return Err(name.place.refuse("is the name of another LUN"));
    }
    let name = name.map_or(usual, |name| name.value);
    luns.push(Some(name.clone()));
    Ok(Incident::Snapshot(lun, name))
}

/// The LUN that is named, of those that are there then; the first without a name.
fn read_lun(section: &mut Section, Luns(luns): &Luns) -> Result<u32, Refusal> {
    let there = luns.iter().zip(0..);
    let there = there.filter_map(|(name, number)| Some((name.as_deref()?, number)));
    let (names, numbers): (Vec<&str>, Vec<u32>) = there.unzip();
    let lun = section.read("lun", |node| groups::find(node, &names, "LUN then"))?;
    match (lun, names.first()) {
        (Some(lun), _) => Ok(numbers[lun.value]),
        (None, Some(first)) if numbers[0] > 0 => {
            Err(section.lacks("lun", &format!("lun = \"{first}\"")))
        }
        (None, Some(_)) => Ok(0),
        (None, None) => Err(section.place().refuse("no LUN is left then")),
    }
}

/// What a LUN is to grow to: in pages it must be said, and otherwise it is all that is free without it.
fn read_size(section: &mut Section, design: &SystemDesign, lun: u32) -> Result<ByteSize, Refusal> {
    let size = section.read("size", section::size)?;
    let before = match design {
        SystemDesign::One(array) => array.luns.get(lun as usize).map(|lun| lun.size),
        SystemDesign::Paged(paged) => paged.luns.get(lun as usize).map(|lun| lun.size),
    };
    match (size, before, design) {
        (Some(size), Some(before), _) if size.value <= before => {
            let what = format!("is not more than the {before} that the LUN has");
            Err(size.place.refuse(what))
        }
        (Some(size), ..) => Ok(size.value),
        (None, _, SystemDesign::One(_)) => Ok(ByteSize::bytes(0)),
        (None, _, SystemDesign::Paged(_)) => Err(section.lacks("size", "size = \"2 TB\"")),
    }
}

fn of_array(
    section: &mut Section,
    what: &Placed<usize>,
    design: &ArrayDesign,
) -> Result<Incident, Refusal> {
    let (place, what) = (&what.place, what.value);
    let drives = design.drives.len();
    let controllers = design.controller.count as usize;
    let ports = controllers * design.front.ports as usize;
    let drive = |section: &mut Section| {
        let number = which(section, "drive", drives)?;
        Ok::<u16, Refusal>(u16::try_from(number).expect("few drives"))
    };
    Ok(match WORDS[what] {
        "drive fails" => Incident::DriveFails(drive(section)?),
        "drive slows" => {
            let times = section.read("times", section::positive)?;
            let times = times.ok_or_else(|| section.lacks("times", "times = 3"))?;
            Incident::DriveSlows(drive(section)?, at_least_one(&times)?)
        }
        "drive returns" => Incident::DriveReturns(drive(section)?),
        "rebuild priority" => read_priority(section, design)?,
        "pool grows" => {
            let group = read_group(section, design)?;
            if !matches!(design.groups[group].level, Level::Pool { .. }) {
                let name = &design.groups[group].name;
                return Err(place.refuse(format!(
                    "is for pools: \"{name}\" is a RAID group, which keeps its drives"
                )));
            }
            Incident::PoolGrows(group, drive(section)?)
        }
        "controller fails" => Incident::ControllerFails(which(section, "controller", controllers)?),
        "controller returns" => {
            Incident::ControllerReturns(which(section, "controller", controllers)?)
        }
        "battery lost" | "battery returns" if design.cache.is_none() => {
            return Err(place.refuse("is for a cache: there is no [array.cache]"));
        }
        "battery lost" => Incident::BatteryLost,
        "battery returns" => Incident::BatteryReturns,
        "path down" => Incident::PathDown(which(section, "path", ports)?),
        _ => Incident::PathUp(which(section, "path", ports)?),
    })
}

fn at_least_one(times: &Placed<f64>) -> Result<f64, Refusal> {
    match times.value {
        less if less < 1.0 => Err(times
            .place
            .refuse("is less than 1: a slow drive is not faster")),
        more if more > TIMES_MAX => Err(times
            .place
            .refuse(format!("is more than {TIMES_MAX}: let the drive fail"))),
        times => Ok(times),
    }
}

/// The number that `key` gives, below `count`.
fn which(section: &mut Section, key: &str, count: usize) -> Result<usize, Refusal> {
    let number = section.read(key, |node| section::integer(node, 0..=u64::from(u16::MAX)))?;
    let number = number.ok_or_else(|| section.lacks(key, &format!("{key} = 0")))?;
    let index = usize::try_from(number.value).expect("in range");
    if index < count {
        Ok(index)
    } else {
        let what = format!(
            "there is no such {key}: they are numbered from 0 to {}",
            count - 1
        );
        Err(number.place.refuse(what))
    }
}

/// The group that is named; the first without a name.
fn read_group(section: &mut Section, design: &ArrayDesign) -> Result<usize, Refusal> {
    let names: Vec<&str> = design
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    let group = section.read("group", |node| groups::find(node, &names, "group"))?;
    Ok(group.map_or(0, |group| group.value))
}

fn read_priority(section: &mut Section, design: &ArrayDesign) -> Result<Incident, Refusal> {
    let group = read_group(section, design)?;
    let priority = section.read("priority", |node| section::choice(node, &Priority::WORDS))?;
    let priority = priority.ok_or_else(|| section.lacks("priority", "priority = \"low\""))?;
    Ok(Incident::RepairPriority(group, priority.value))
}
