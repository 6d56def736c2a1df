//! `[replication]`, `[link]` and `[replica]`: a second array at another site, and what goes there.
//!
//! ```toml
//! [link]
//! rtt = "1ms"                    # or km = 100
//! gateway = "1.125ms"
//!
//! [replication]
//! failsafe = true
//!
//! [[replication.group]]          # without one, all LUNs are one group
//! name = "SG1"
//! luns = ["SG1 data", "SG1 log"]
//!
//! [replica]                      # as [array]; without it, an array like [array]
//! ```
//!
//! A LUN of the replica has the name of the one that it replicates.

use std::path::Path;

use brunt_array::{
    HistoryDesign, Mode, Pair, PairDesign, PairError, PairGroupDesign, PairLinkDesign,
    ResumePolicy, SystemDesign,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

use super::super::distance::{BANDWIDTH, Distance, PER_MILLION, round_trip};
use super::super::keys::{At, COST, Maybe, NOT_NEGATIVE, Whole, keys};
use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::groups::{EACH, read_each};
use super::{ARRAY_KEYS, read_system};

/// A link while it is read.
pub(crate) struct Link {
    distance: Distance,
    design: PairLinkDesign,
}

keys! {
    LINK of Link = "[link]";
    /// A round trip between the sites; has to be there without `km`.
    rtt: Option<Placed<Span>> = [distance.rtt], Maybe(At(COST)), "by `km`";
    /// Kilometres of fibre.
    km: Option<Placed<f64>> = [distance.km], Maybe(At(NOT_NEGATIVE)), "by `rtt`";
    /// Bytes a second of one direction, or a line: `"T3"`, `"OC3"`.
    bandwidth: Option<ByteSize> = [|link| some(link.design.bytes_per_second), |link, size| link.design.bytes_per_second = size.map_or(0, ByteSize::get)], Maybe(BANDWIDTH), "no limit";
    /// Packets of a million that are lost.
    loss_per_million: u32 = [design.lost_per_million], PER_MILLION, "0";
    /// Paths, which share the load.
    paths: usize = [design.paths], Whole(1..=64), "1";
    /// The most that a packet is late by.
    jitter: Span = [design.jitter], COST, "0";
    /// Round trips of a write.
    round_trips: u32 = [design.round_trips_per_write], Whole(1..=16), "2";
    /// Time in the gateways at both ends.
    gateway: Span = [design.gateway], COST, "0";
}

fn some(bytes_per_s: u64) -> Option<ByteSize> {
    Some(ByteSize::bytes(bytes_per_s)).filter(|size| size.get() > 0)
}

pub(crate) const KEYS: [&str; 10] = [
    "mode",
    "failsafe",
    "group",
    "resume",
    "resume_at",
    "outstanding",
    "log_initial",
    "log_limit",
    "log_room",
    "log_lun",
];
pub(crate) const GROUP_KEYS: [&str; 5] = ["name", "each", "luns", "mode", "failsafe"];
const MODES: [(&str, Mode); 2] =
    [("synchronous", Mode::Synchronous), ("asynchronous", Mode::Asynchronous)];
const RESUMES: [(&str, ResumePolicy); 2] =
    [("all at once", ResumePolicy::AllAtOnce), ("staggered", ResumePolicy::Staggered)];
/// Makes a pair of `source` if the scenario replicates it.
pub(crate) fn read(
    top: &mut Section,
    source: SystemDesign,
    folder: &Path,
) -> Result<SystemDesign, Refusal> {
    let (link, replica) = (top.take("link"), top.take("replica"));
    let Some(node) = top.take("replication") else {
        return match link.or(replica) {
            Some(node) => {
                Err(node.place.refuse("is for a replicated array: there is no [replication]"))
            }
            None => Ok(source),
        };
    };
    let mut section = Section::new(node, "[replication]", &KEYS);
    let own = section.place().clone();
    let Some(link) = link else {
        return Err(own.refuse("has no link").hint("for example: [link] with rtt = \"1ms\""));
    };
    let link_place = link.place.clone();
    let link = read_link(link);
    let destination = match replica {
        None => source.clone(),
        Some(node) => {
            let keys: Vec<&str> = ARRAY_KEYS.iter().copied().chain(["pages"]).collect();
            read_system(&mut Section::new(node, "[replica]", &keys), folder)
        }
    };
    let mut design = PairDesign::new(source, destination);
    design.link = link;
    let outstanding = u64::from(design.outstanding);
    let outstanding =
        section.read_or("outstanding", outstanding, |node| section::integer(node, 1..=10_000));
    design.outstanding = u32::try_from(outstanding.value).expect("in range");
    design.resume = read_resume(&mut section)?;
    design.history = read_history(&mut section, &design)?;
    let places = read_groups(&mut section, &mut design)?;
    if let Err(error) = Pair::new(&design, Streams::new(1)) {
        let blamed = match &error {
            PairError::Link(_) => Some(&link_place),
            PairError::Empty(group)
            | PairError::NoLun { group, .. }
            | PairError::Twice { group, .. }
            | PairError::TooSmall { group, .. }
            | PairError::Failsafe(group) => {
                let mut all = design.groups.iter().zip(&places);
                all.find(|(one, _)| one.name == *group).map(|(_, place)| place)
            }
            _ => None,
        };
        return Err(blamed.unwrap_or(&own).refuse(error.to_string()));
    }
    Ok(design.into())
}

pub(super) fn read_link(node: Node) -> PairLinkDesign {
    let mut link = Link { distance: Distance::default(), design: PairLinkDesign::default() };
    let section = LINK.read(node, &mut link);
    PairLinkDesign { round_trip: round_trip(&section, &link.distance).value, ..link.design }
}

fn read_resume(section: &mut Section) -> Result<ResumePolicy, Refusal> {
    let Some(at) = section.read("resume_at", section::span) else {
        return Ok(section.choice_or("resume", ResumePolicy::AllAtOnce, &RESUMES).value);
    };
    match section.read("resume", |node| section::choice(node, &RESUMES)) {
        Some(_) => Err(at.place.refuse("says when, and `resume` says how: give one")),
        None => Ok(ResumePolicy::NotBefore(Time::ZERO + at.value)),
    }
}

fn read_history(section: &mut Section, pair: &PairDesign) -> Result<HistoryDesign, Refusal> {
    let usual = HistoryDesign::default();
    let limit = section.read("log_limit", section::size);
    let initial = section.read("log_initial", section::size);
    // A small limit alone makes a small log.
    let initial = match (initial, &limit) {
        (Some(initial), _) => initial.value,
        (None, Some(limit)) => usual.initial.min(limit.value),
        (None, None) => usual.initial,
    };
    let limit = limit.map_or(usual.limit, |limit| limit.value);
    section.keep("log_initial", &initial);
    section.keep("log_limit", &limit);
    let names = pair.source.lun_names();
    let lun = section.read_beside("log_lun", |node| super::find(node, &names, "LUN"));
    // The destination logs on its LUN of the same name, if it has one.
    let replicas = pair.destination.lun_names();
    let replica_lun = lun.as_ref().and_then(|lun| {
        let mut replicas = replicas.iter();
        replicas.position(|name| *name == names[lun.value])
    });
    Ok(HistoryDesign {
        initial,
        limit,
        room: section.read_or("log_room", usual.room, section::size).value,
        lun: lun.map(|lun| u32::try_from(lun.value).expect("few LUNs")),
        replica_lun: replica_lun.map(|lun| u32::try_from(lun).expect("few LUNs")),
        alarm: usual.alarm,
    })
}

/// Adds the groups to `design`; returns the place of each.
fn read_groups(section: &mut Section, design: &mut PairDesign) -> Result<Vec<Place>, Refusal> {
    let mode = section.choice_or("mode", Mode::Synchronous, &MODES).value;
    let failsafe = section.read_or("failsafe", false, section::switch).value;
    let names = design.source.lun_names();
    let replicas = design.destination.lun_names();
    let pair = |name: &str, place: &Place| {
        let number = |names: &[&str]| names.iter().position(|one| *one == name);
        let source = number(&names)
            .ok_or_else(|| place.refuse(format!("there is no LUN called \"{name}\"")))?;
        let replica = number(&replicas)
            .ok_or_else(|| place.refuse(format!("[replica] has no LUN called \"{name}\"")))?;
        let small = |number| u32::try_from(number).expect("few LUNs");
        Ok((small(source), small(replica)))
    };
    let mut groups = Vec::new();
    let mut places = Vec::new();
    for (index, node) in section.tables("group").into_iter().enumerate() {
        let mut group = Section::new(node, "[[replication.group]]", &GROUP_KEYS);
        let name = format!("group {index}");
        let name = group.read_or("name", name, section::text).value;
        let each = read_each(&mut group, &name)?.unwrap_or_else(|| vec![String::new()]);
        let Some(luns) = group.read("luns", texts) else {
            return Err(group.lacks("luns", "luns = [\"data\", \"log\"]"));
        };
        let mode = group.choice_or("mode", mode, &MODES);
        let failsafe = group.read_or("failsafe", failsafe, section::switch);
        for each in each {
            let members = luns.value.iter();
            let members = members.map(|lun| pair(&lun.value.replace(EACH, &each), &lun.place));
            groups.push(PairGroupDesign {
                name: name.replace(EACH, &each),
                luns: members.collect::<Result<_, Refusal>>()?,
                mode: mode.value,
                failsafe: failsafe.value,
            });
            places.push(group.place().clone());
        }
    }
    if groups.is_empty() {
        let log = design.history.lun;
        let luns = (0..).zip(&names).filter(|(number, _)| Some(*number) != log);
        let luns = luns.map(|(_, name)| pair(name, section.place()));
        groups.push(PairGroupDesign {
            name: "all LUNs".to_owned(),
            luns: luns.collect::<Result<_, Refusal>>()?,
            mode,
            failsafe,
        });
        places.push(section.place().clone());
    }
    design.groups = groups;
    Ok(places)
}

/// A list of texts, each with its place.
fn texts(node: &Node) -> Result<Vec<Placed<String>>, Refusal> {
    let Value::List(nodes) = &node.value else {
        let what = format!("is {}, not a list of names", node.value.kind());
        return Err(node.place.refuse(what));
    };
    let texts = nodes
        .iter()
        .map(|node| Ok(Placed { value: section::text(node)?, place: node.place.clone() }));
    texts.collect()
}
