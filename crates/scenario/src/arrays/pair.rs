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
use brunt_units::{ByteSize, Line, Span, Time};
use brunt_world::random::Streams;

use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section, short_span};
use super::super::tree::{Node, Value};
use super::front::count;
use super::groups::{EACH, read_each};
use super::{ARRAY_KEYS, read_system};

pub(crate) const LINK_KEYS: [&str; 8] =
    ["rtt", "km", "jitter", "bandwidth", "loss_per_million", "round_trips", "gateway", "paths"];
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
/// Half way round the earth.
const KILOMETRES_MAX: f64 = 20_000.0;

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
    design.outstanding = count(&mut section, "outstanding", design.outstanding, 10_000);
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
    let mut section = Section::new(node, "[link]", &LINK_KEYS);
    let usual = PairLinkDesign::default();
    let round_trip = read_round_trip(&mut section).value;
    let bandwidth = read_bandwidth(&mut section);
    let lost_per_million = read_per_million(&mut section, "loss_per_million");
    let paths = count(&mut section, "paths", 1, 64);
    PairLinkDesign {
        round_trip,
        jitter: section.read_or("jitter", Span::ZERO, short_span).value,
        bytes_per_second: bandwidth.map_or(0, ByteSize::get),
        lost_per_million,
        round_trips_per_write: count(&mut section, "round_trips", usual.round_trips_per_write, 16),
        gateway: section.read_or("gateway", Span::ZERO, short_span).value,
        paths: usize::try_from(paths).expect("in range"),
        outages: Vec::new(),
    }
}

/// The round trip of a link, given as such or as kilometres of fibre.
pub(crate) fn read_round_trip(section: &mut Section) -> Placed<Span> {
    let rtt = section.read("rtt", short_span);
    let km = section.read("km", section::not_negative);
    match (&rtt, &km) {
        (_, Some(km)) if km.value > KILOMETRES_MAX => {
            section.refuse(km.place.refuse(format!("is more than {KILOMETRES_MAX}")));
        }
        (Some(_), Some(km)) => {
            section.refuse(km.place.refuse("says what `rtt` says, or something else"));
        }
        (None, None) if !section.was_refused("km") => {
            section.refuse(section.lacks("rtt", "rtt = \"1ms\", or km = 100"));
        }
        _ => {}
    }
    let of_fibre = km.map(|km| Placed {
        value: PairLinkDesign::round_trip_over(km.value.min(KILOMETRES_MAX)),
        place: km.place,
    });
    let unwritten = || Placed { value: Span::millis(1), place: Place::unwritten() };
    rtt.or(of_fibre).unwrap_or_else(unwritten)
}

/// Bytes a second of one direction, also as the name of a line; `None` for no limit.
pub(crate) fn read_bandwidth(section: &mut Section) -> Option<ByteSize> {
    let lines = Line::ALL.map(|line| (line.name, ByteSize::bytes(line.bytes_per_s)));
    let bandwidth = section.read("bandwidth", |node| match section::text(node) {
        Ok(text) if lines.iter().any(|(word, _)| *word == text) => section::choice(node, &lines),
        _ => {
            let size = section::size(node);
            size.map_err(|refusal| refusal.hint("or \"T3\", \"OC3\""))
        }
    });
    bandwidth.map(|rate| rate.value)
}

/// Packets of a million that something happens to.
pub(crate) fn read_per_million(section: &mut Section, key: &str) -> u32 {
    let number = section.read_or(key, 0, |node| section::integer(node, 0..=999_999));
    u32::try_from(number.value).expect("in range")
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
