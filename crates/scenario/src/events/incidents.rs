//! Events of modelled arrays: scheduled failures, repairs and changes.

use brunt_array::{
    ArrayDesign, Failover, Incident, Level, PagedDesign, PairDesign, PairIncident, PairLinkDesign,
    Priority, Scheduled, Site, SystemDesign,
};
use brunt_units::{ByteSize, Span, Time};

use super::super::arrays::find;
use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::Node;
use super::course::Course;
use super::volumes::Names;
use super::{Entry, Event};

/// A link that is lost more often than this is a lost link.
const FLAPS_MAX: u64 = 1_000;
/// A drive so much slower does nothing in the time of a simulation.
const TIMES_MAX: f64 = 1e6;

/// The events of one array, in the order of time, up to `end` if that is known.
pub(crate) fn read(
    entries: Vec<Entry>,
    design: &mut SystemDesign,
    end: Option<Span>,
) -> Vec<Scheduled> {
    let mut timed = Vec::new();
    for mut entry in entries {
        let at = entry.at(end);
        timed.extend(entry.section.sink().catch(at).map(|at| (at, entry)));
    }
    // So that a snapshot can be named by what comes after it.
    timed.sort_by_key(|(at, _)| *at);
    let mut names = Names::of(design);
    let mut course = Course::of(design);
    let source = match &*design {
        SystemDesign::Sites(sites) => Some(SystemDesign::Paged(sites.source.clone())),
        _ => None,
    };
    let mut all = Vec::new();
    for (at, entry) in timed {
        let (place, sink) = (entry.what.clone(), entry.section.sink().clone());
        let read = read_one(at, entry, (design, source.as_ref()), &mut names);
        let scheduled = read.and_then(|scheduled| {
            let can_be = course.follow(&scheduled);
            can_be.map(|()| scheduled).map_err(|why| match why.split_once('\n') {
                Some((why, hint)) => place.refuse(why).hint(hint),
                None => place.refuse(why),
            })
        });
        all.extend(sink.catch(scheduled));
    }
    match design {
        SystemDesign::Paged(pool) => pool.clones = names.clones.0,
        SystemDesign::Sites(sites) => {
            (sites.source.clones, sites.partner.clones) = names.clones;
        }
        SystemDesign::One(_) | SystemDesign::Pair(_) => {}
    }
    all
}

fn read_one(
    at: Time,
    entry: Entry,
    (design, source): (&SystemDesign, Option<&SystemDesign>),
    names: &mut Names,
) -> Result<Scheduled, Refusal> {
    let word = entry.word;
    let first_clone = u32::try_from(design.lun_names().len()).expect("few LUNs");
    let link = match design {
        SystemDesign::Pair(pair) => Some(&pair.link),
        SystemDesign::Sites(sites) => Some(&sites.link),
        _ => None,
    };
    let mut section = entry.section;
    let (design, pair, first) = match design {
        SystemDesign::Pair(pair) => match section.read("site", site).map(|site| site.value) {
            Some(Site::Destination) => (&*pair.destination, Some(pair), pair.source.arrays().len()),
            _ => (&*pair.source, Some(pair), 0),
        },
        design => (source.unwrap_or(design), None, 0),
    };
    let mut one =
        One { section, what: entry.what, design, pair, link, member: 0, names, first_clone };
    let read = match (word.event, design) {
        (Event::Pages(_), SystemDesign::One(_)) => {
            let refusal = "is for LUNs in pages: there is no [array.pages]";
            return Err(one.what.refuse(refusal));
        }
        (Event::Array(read), SystemDesign::Paged(paged)) if paged.members.len() > 1 => {
            one.member = which(&mut one.section, "member", paged.members.len())?;
            read
        }
        (Event::Pair(_), _) if link.is_none() => {
            let refusal = "is for a replicated array: there is no [replication]";
            return Err(one.what.refuse(refusal));
        }
        (Event::Lun(_) | Event::Pages(_), _) if pair.is_some() => {
            let refusal = "is not for a replicated array, whose LUNs stay as they are";
            return Err(one.what.refuse(refusal));
        }
        (Event::Array(read) | Event::Pages(read) | Event::Lun(read) | Event::Pair(read), _) => read,
        (Event::Fault(_), _) => unreachable!("a fault is of a file"),
    };
    let incident = read(&mut one)?;
    match one.section.entries().first() {
        Some((key, node)) => {
            Err(node.place.refuse(format!("`{key}` chooses one of several, and there is only one")))
        }
        None => Ok(Scheduled { at, array: first + one.member, incident }),
    }
}

/// One event while it is read: the values of its keys, checked against the array.
pub(super) struct One<'a> {
    pub(super) section: Section,
    /// Where the word stands.
    pub(super) what: Place,
    design: &'a SystemDesign,
    /// The pair of which that is the source.
    pair: Option<&'a PairDesign>,
    /// The link to another site.
    link: Option<&'a PairLinkDesign>,
    member: usize,
    pub(super) names: &'a mut Names,
    /// The number of the first clone.
    pub(super) first_clone: u32,
}

impl<'a> One<'a> {
    /// The array, or the member that is meant.
    fn array(&self) -> &'a ArrayDesign {
        match self.design {
            SystemDesign::One(array) => array,
            SystemDesign::Paged(paged) => &paged.members[self.member],
            SystemDesign::Pair(_) | SystemDesign::Sites(_) => unreachable!("the source is meant"),
        }
    }

    fn pages(&self) -> &'a PagedDesign {
        match self.design {
            SystemDesign::Paged(paged) => paged,
            _ => unreachable!("checked before"),
        }
    }

    pub(super) fn drive(&mut self) -> Result<u16, Refusal> {
        let count = self.array().drives.len();
        let number = which(&mut self.section, "drive", count)?;
        Ok(u16::try_from(number).expect("few drives"))
    }

    pub(super) fn controller(&mut self) -> Result<usize, Refusal> {
        let count = self.array().controller.count as usize;
        which(&mut self.section, "controller", count)
    }

    pub(super) fn path(&mut self) -> Result<usize, Refusal> {
        let array = self.array();
        let ports = array.controller.count as usize * array.front.ports as usize;
        which(&mut self.section, "path", ports)
    }

    pub(super) fn drive_slows(&mut self) -> Result<Incident, Refusal> {
        let times = self.section.need("times", "times = 3", section::positive);
        Ok(Incident::DriveSlows(self.drive()?, at_least_one(&times)?))
    }

    pub(super) fn rebuild_priority(&mut self) -> Result<Incident, Refusal> {
        let group = self.group()?;
        let section = &mut self.section;
        let priority = section
            .need("priority", "priority = \"low\"", |node| section::choice(node, &Priority::WORDS));
        Ok(Incident::RepairPriority(group, priority.value))
    }

    pub(super) fn pool_grows(&mut self) -> Result<Incident, Refusal> {
        let group = self.group()?;
        let design = &self.array().groups[group];
        if !matches!(design.level, Level::Pool { .. }) {
            return Err(self.what.refuse(format!(
                "is for pools: \"{}\" is a RAID group, which keeps its drives",
                design.name
            )));
        }
        Ok(Incident::PoolGrows(group, self.drive()?))
    }

    pub(super) fn of_battery(&mut self, incident: Incident) -> Result<Incident, Refusal> {
        match self.array().cache {
            Some(_) => Ok(incident),
            None => Err(self.what.refuse("is for a cache: there is no [array.cache]")),
        }
    }

    pub(super) fn member_joins(&mut self) -> Result<Incident, Refusal> {
        let most = u64::from(u16::MAX);
        let member =
            self.section.need("member", "member = 1", |node| section::integer(node, 0..=most));
        let number = usize::try_from(member.value).expect("in range");
        match self.pages().later.contains(&number) {
            true => Ok(Incident::MemberJoins(number)),
            false => Err(member.place.refuse("is not a member that joins later")),
        }
    }

    /// In pages the new size must be said; otherwise it is all that is free without it.
    pub(super) fn lun_grows(&mut self) -> Result<Incident, Refusal> {
        let lun = self.lun()?;
        let name = self.names.luns.iter().find(|(_, number)| *number == lun);
        if let Some((name, _)) = name.cloned() {
            self.check_has_no_replicas(&name)?;
        }
        let size = self.section.read("size", section::size);
        let before = match self.design {
            SystemDesign::One(array) => array.luns.get(lun as usize).map(|lun| lun.size),
            SystemDesign::Paged(paged) => paged.luns.get(lun as usize).map(|lun| lun.size),
            SystemDesign::Pair(_) | SystemDesign::Sites(_) => None,
        };
        let most = match self.design {
            SystemDesign::Paged(paged) => paged.lun_max(0),
            _ => ByteSize::bytes(u64::MAX),
        };
        let size = match (size, before, self.design) {
            (Some(size), Some(before), _) if size.value <= before => {
                let what = format!("is not more than the {before} that the LUN has");
                return Err(size.place.refuse(what));
            }
            (Some(size), ..) if size.value > most => {
                return Err(size.place.refuse(format!("is more than {most}, the most of a LUN")));
            }
            (Some(size), ..) => size.value,
            (None, _, SystemDesign::One(_)) => ByteSize::bytes(0),
            (None, ..) => {
                return Err(self.section.lacks("size", "size = \"2 TB\""));
            }
        };
        Ok(Incident::LunGrows(lun, size))
    }

    fn pair(&self) -> Result<&'a PairDesign, Refusal> {
        self.pair.ok_or_else(|| {
            let refusal = self.what.refuse("is for [replication], and this is [[replicate]]");
            refusal.hint("volumes are replicated by schedule")
        })
    }

    pub(super) fn link_path(&mut self) -> Result<usize, Refusal> {
        let paths = self.link.expect("checked before").paths;
        which(&mut self.section, "path", paths)
    }

    pub(super) fn link_flaps(&mut self) -> Result<Incident, Refusal> {
        let section = &mut self.section;
        let times =
            section.need("times", "times = 10", |node| section::integer(node, 1..=FLAPS_MAX));
        let mut span = |key, example| {
            let span = section.read(key, section::above_zero);
            span.ok_or_else(|| section.lacks(key, example))
        };
        let down = span("down", "down = \"5s\"")?.value;
        let up = span("up", "up = \"20s\"")?.value;
        let times = u32::try_from(times.value).expect("in range");
        Ok(Incident::Pair(PairIncident::LinkFlaps { times, down, up }))
    }

    /// To the destination; unplanned, as after a disaster.
    pub(super) fn failover(&mut self) -> Result<Incident, Refusal> {
        let to = self.section.read("to", site);
        let to = to.map_or(Site::Destination, |to| to.value);
        self.fail_over(to, false)
    }

    /// To the source, planned.
    pub(super) fn failback(&mut self) -> Result<Incident, Refusal> {
        self.fail_over(Site::Source, true)
    }

    fn fail_over(&mut self, to: Site, is_planned: bool) -> Result<Incident, Refusal> {
        let group = self.these_groups()?;
        let section = &mut self.section;
        let planned = section.read("planned", section::switch);
        let forced = section.read_or("forced", false, section::switch);
        let how = match (planned.as_ref().map(|one| one.value), forced.value) {
            (Some(true), true) => {
                let why = "is for a failover that is not planned";
                return Err(forced.place.refuse(why).hint("drop `planned = true`"));
            }
            (_, true) => Failover::Forced,
            (Some(true), _) => Failover::Planned,
            (None, _) if is_planned => Failover::Planned,
            _ => Failover::Unplanned,
        };
        Ok(Incident::Pair(PairIncident::FailOver { group, to, how }))
    }

    pub(super) fn split_ends(&mut self) -> Result<Incident, Refusal> {
        let group = self.these_groups()?;
        let keep = self.section.need("keep", "keep = \"destination\"", site);
        let site = keep.value;
        Ok(Incident::Pair(PairIncident::Keep { group, site }))
    }

    pub(super) fn group_suspended(&mut self) -> Result<Incident, Refusal> {
        let group = self.replication_group()?;
        if self.pair()?.groups[group].failsafe {
            return Err(self
                .what
                .refuse("is not for a failsafe group: its hosts would lose their LUNs"));
        }
        Ok(Incident::Pair(PairIncident::GroupSuspended(group)))
    }

    pub(super) fn group_resumed(&mut self) -> Result<Incident, Refusal> {
        let group = self.replication_group()?;
        let full_copy = self.section.read_or("full_copy", false, section::switch);
        let full_copy = full_copy.value;
        Ok(Incident::Pair(PairIncident::GroupResumed { group, full_copy }))
    }

    /// The replication group that is named; the first without a name.
    fn replication_group(&mut self) -> Result<usize, Refusal> {
        Ok(self.these_groups()?.unwrap_or(0))
    }

    /// The replication group that is named; nothing without a name, for all.
    fn these_groups(&mut self) -> Result<Option<usize>, Refusal> {
        let groups = self.pair()?.groups.iter();
        let names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
        let section = &mut self.section;
        let group = section.read_beside("group", |node| find(node, &names, "replication group"));
        Ok(group.map(|group| group.value))
    }

    /// The group that is named; the first without a name.
    fn group(&mut self) -> Result<usize, Refusal> {
        let groups = self.array().groups.iter();
        let names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
        let group = self.section.read_beside("group", |node| find(node, &names, "group"));
        Ok(group.map_or(0, |group| group.value))
    }

    /// The LUN that is named, of those that are there then; the first without a name.
    fn lun(&mut self) -> Result<u32, Refusal> {
        let there = self.names.luns.iter();
        let (names, numbers): (Vec<&str>, Vec<u32>) =
            there.map(|(name, number)| (name.as_str(), *number)).unzip();
        let section = &mut self.section;
        let lun = section.read_beside("lun", |node| find(node, &names, "LUN then"));
        match (lun, names.first()) {
            (Some(lun), _) => Ok(numbers[lun.value]),
            (None, Some(first)) if numbers[0] > 0 => {
                Err(section.lacks("lun", &format!("lun = \"{first}\"")))
            }
            (None, Some(_)) => Ok(0),
            (None, None) => Err(section.place().refuse("no LUN is left then")),
        }
    }
}

/// A site of a pair.
fn site(node: &Node) -> Result<Site, Refusal> {
    let sites = Site::ALL.map(|site| (site.word(), site));
    section::choice(node, &sites)
}

fn at_least_one(times: &Placed<f64>) -> Result<f64, Refusal> {
    match times.value {
        less if less < 1.0 => Err(times.place.refuse("is less than 1: a slow drive is not faster")),
        more if more > TIMES_MAX => {
            Err(times.place.refuse(format!("is more than {TIMES_MAX}: let the drive fail")))
        }
        times => Ok(times),
    }
}

/// The number that `key` gives, below `count`.
fn which(section: &mut Section, key: &str, count: usize) -> Result<usize, Refusal> {
    let number = section.read(key, |node| section::integer(node, 0..=u64::from(u16::MAX)));
    let number = number.ok_or_else(|| section.lacks(key, &format!("{key} = 0")))?;
    let index = usize::try_from(number.value).expect("in range");
    if index < count {
        Ok(index)
    } else {
        let what = format!("there is no such {key}: they are numbered from 0 to {}", count - 1);
        Err(number.place.refuse(what))
    }
}
