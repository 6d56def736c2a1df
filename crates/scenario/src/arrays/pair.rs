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

use brunt_array::{
    HistoryDesign, Mode, Pair, PairDesign, PairError, PairGroupDesign, PairLinkDesign,
    ResumePolicy, SystemDesign,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

use super::super::distance::{BANDWIDTH, Distance, PER_MILLION, round_trip};
use super::super::files::Files;
use super::super::keys::{
    At, COST, Maybe, NOT_NEGATIVE, SIZE, SWITCH, TEXT, TIME, Whole, Word, keys, list,
};
use super::super::place::{Place, Placed, Refusal};
use super::super::section::{self, Section};
use super::super::tree::{Node, Value};
use super::groups::{EACH, find_name, names_of, read_each};
use super::{read_system, titled_section};

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

keys! {
    /// What is said of the whole pair, while it is read.
    pub(crate) struct Said; REPLICATION = "[replication]";
    /// Whether a write waits for the other site; of groups that say nothing else.
    mode: Mode = Mode::Synchronous, Word(&MODES), "`\"synchronous\"`";
    /// Whether hosts lose their LUNs while the replica cannot be reached; of groups that say nothing else.
    failsafe: bool = false, SWITCH, "`false`";
    /// When groups resume after an outage, not before this time.
    resume_at: Option<Span> = None, Maybe(TIME), "by `resume`";
    /// How they resume.
    resume: Option<ResumePolicy> = None, Maybe(Word(&RESUMES)), "`\"all at once\"`", |said| said.resume = said.resume_at.is_none().then_some(ResumePolicy::AllAtOnce);
    /// Writes under way while a log is replayed.
    outstanding: u32 = 8, Whole(1..=10_000), "8";
    /// What each write history log may grow to; beyond that all is copied.
    log_limit: ByteSize = HistoryDesign::default().limit, SIZE, "`\"2 TB\"`";
    /// What each has at first.
    log_initial: ByteSize = HistoryDesign::default().initial, SIZE, "`\"139 MB\"`, or `log_limit` if that is less", |said| said.log_initial = said.log_initial.min(said.log_limit);
    /// The room of all logs together.
    log_room: ByteSize = HistoryDesign::default().room, SIZE, "that of `log_lun`, or no limit";
    /// The LUN that holds them.
    log_lun: Option<Placed<String>> = None, Maybe(At(TEXT)), "none";
}

keys! {
    /// Groups that are alike, while they are read.
    pub(crate) struct Alike; GROUP = "[[replication.group]]";
    /// What it is called.
    name: String = String::new(), TEXT, "`\"group 0\"` and so on";
    /// Makes one group for each of these names, which replaces `{}` in its name and its LUNs'.
    each: Option<Vec<String>> = None, Maybe(list(read_each, "list of names")), "one group";
    /// LUNs that are replicated together.
    luns: Vec<String> = Vec::new(), list(texts, "list of names"), needs "luns = [\"data\", \"log\"]";
    /// Whether a write waits for the other site.
    mode: Mode = Mode::Synchronous, Word(&MODES), "that of [replication]";
    /// Whether hosts lose their LUNs while the replica cannot be reached.
    failsafe: bool = false, SWITCH, "that of [replication]";
}

static MODES: [(&str, Mode); 2] =
    [("synchronous", Mode::Synchronous), ("asynchronous", Mode::Asynchronous)];
static RESUMES: [(&str, ResumePolicy); 2] =
    [("all at once", ResumePolicy::AllAtOnce), ("staggered", ResumePolicy::Staggered)];

/// Makes a pair of `source` if the scenario replicates it.
pub(crate) fn read(
    top: &mut Section,
    source: SystemDesign,
    files: &Files,
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
    let mut said = Said::default();
    let mut section = REPLICATION.read_beside(node, &["group"], &mut said);
    let own = section.place().clone();
    let Some(link) = link else {
        return Err(own.refuse("has no link").hint("for example: [link] with rtt = \"1ms\""));
    };
    let link_place = link.place.clone();
    let link = read_link(link);
    let destination = match replica {
        None => source.clone(),
        Some(node) => read_system(&mut titled_section(node, "[replica]", &["pages"]), files),
    };
    let mut design = PairDesign::new(source, destination);
    design.link = link;
    design.outstanding = said.outstanding;
    design.resume = match (said.resume_at, said.resume) {
        (Some(_), Some(_)) => {
            let at = section.place_of("resume_at");
            return Err(at.refuse("says when, and `resume` says how: give one"));
        }
        (Some(at), None) => ResumePolicy::NotBefore(Time::ZERO + at),
        (None, resume) => resume.unwrap_or_default(),
    };
    let (initial, limit, room) = (said.log_initial, said.log_limit, said.log_room);
    design.history = HistoryDesign { initial, limit, room, ..HistoryDesign::default() };
    if let Some(Placed { value: name, place }) = &said.log_lun {
        let names = design.source.lun_names();
        let lun = section.sink().catch(find_name(name, place, &names, "LUN"));
        design.history.lun = lun.map(|lun| u32::try_from(lun).expect("few LUNs"));
        // The destination logs on its LUN of the same name, if it has one.
        let replica = design.destination.lun_names().iter().position(|own| own == name);
        design.history.replica_lun =
            replica.filter(|_| lun.is_some()).map(|lun| u32::try_from(lun).expect("few LUNs"));
    }
    let places = read_groups(&mut section, &said, &mut design)?;
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

/// Adds the groups to `design`; returns the place of each.
fn read_groups(
    section: &mut Section,
    said: &Said,
    design: &mut PairDesign,
) -> Result<Vec<Place>, Refusal> {
    let Said { mode, failsafe, .. } = *said;
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
        let name = format!("group {index}");
        let mut own = Alike { name, mode, failsafe, ..Alike::default() };
        let group = GROUP.read(node, &mut own);
        for each in names_of(&group, &own.name, own.each.as_ref())? {
            let place = group.place_of("luns");
            let members = own.luns.iter().map(|lun| pair(&lun.replace(EACH, &each), place));
            groups.push(PairGroupDesign {
                name: own.name.replace(EACH, &each),
                luns: members.collect::<Result<_, Refusal>>()?,
                mode: own.mode,
                failsafe: own.failsafe,
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

/// A list of names.
fn texts(node: &Node) -> Result<Vec<String>, Refusal> {
    let Value::List(nodes) = &node.value else {
        let what = format!("is {}, not a list of names", node.value.kind());
        return Err(node.place.refuse(what));
    };
    nodes.iter().map(section::text).collect()
}
