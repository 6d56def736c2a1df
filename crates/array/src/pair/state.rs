//! What a pair knows and reports: its groups, its link, its event log.

use std::collections::BTreeMap;

use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

use super::design::{Control, HistoryDesign, PairDesign, PairError, ResumePolicy};
use super::flights::Flights;
use super::group::{AtRisk, Group, LogFill, Phase};
use super::link::PairLink;
use super::notes::{GroupNote, PairNote};
use super::order::GroupExtent;
use super::receiver::Receiver;
use super::roles::{Loss, Site};
use crate::incident::{Note, NoteKind};
use crate::slab::Key;
use crate::system::System;

/// What is under way for a group.
#[derive(Default)]
pub(super) struct Lane {
    /// LUNs of the source and of the destination.
    pub(super) luns: Vec<(u32, u32)>,
    /// Writes at each site whose hosts wait for them, and blocks that are read there.
    pub(super) flights: [Flights; 2],
    /// Writes that wait for what overlaps them.
    pub(super) held: Vec<Key>,
    /// Blocks to be read when no write to them is under way, and blocks that are read.
    pub(super) reserved: Vec<GroupExtent>,
    pub(super) reading: Vec<GroupExtent>,
    /// Hosts that wait for the destination, by the number of their write.
    pub(super) waiting: BTreeMap<u64, Key>,
    /// Changes when the destination is lost: what began before no longer counts.
    pub(super) turn: u32,
    /// The question whether the destination is there.
    pub(super) hello: Option<Key>,
    /// A write that a control has dropped.
    pub(super) dropped: Option<u64>,
    /// The first of two writes that a control has swapped.
    pub(super) swapped: Option<u64>,
    pub(super) has_alarm: bool,
    /// Whether hosts were refused at a site, since roles changed.
    pub(super) has_refused: bool,
    /// Requests of hosts that were refused at a site that does not serve.
    pub(super) refused: u64,
    /// Since when the sides have not been in step.
    pub(super) apart_since: Option<Time>,
}

/// A group at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupState {
    pub name: String,
    /// Its state.
    pub phase: Phase,
    /// Its write history log.
    pub log: LogFill,
    /// The most that the log ever held.
    pub log_peak: ByteSize,
    /// The site that serves it; after a split, the one that was forced to.
    pub serving: Site,
    /// Whether hosts may use it there now: they may not while failsafe, a planned failover or the
    /// loss of the site keeps them away.
    pub is_served: bool,
    /// What would be lost with the serving site; `None` while a full copy has left the other one
    /// inconsistent, and after a split.
    pub at_risk: Option<AtRisk>,
    /// Bytes that a full copy has brought, and still has to bring at most.
    pub copied: (ByteSize, ByteSize),
    /// What source and destination have acknowledged beyond the point where they parted, while both
    /// serve; `None` where a site is not a state of the group.
    pub split: Option<[Option<AtRisk>; 2]>,
    /// What each failover and each choice after a split has cost, in order.
    pub losses: Vec<Loss>,
    /// Requests of hosts that were refused, because their site does not serve the group.
    pub refused: u64,
}

/// A pair's replication at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationState {
    pub groups: Vec<GroupState>,
    /// As [`Replication::log_peak`].
    pub log_peak: ByteSize,
    /// As [`Replication::longest_resumption`].
    pub longest_resumption: Option<Span>,
    /// As [`PairLink::bytes_sent`].
    pub link_bytes: u64,
}

/// The state of a pair's replication.
pub struct Replication {
    pub(super) now: Time,
    pub(super) link: PairLink,
    /// Which site's storage is there.
    pub(super) is_up: [bool; 2],
    pub(super) groups: Vec<Group>,
    pub(super) lanes: Vec<Lane>,
    pub(super) receivers: Vec<Receiver>,
    /// The group of each replicated LUN of each site, and its number there.
    pub(super) of_lun: [BTreeMap<u32, (usize, u16)>; 2],
    /// LUNs of the source; those of the destination have the numbers after them.
    pub(super) first_replica: u32,
    pub(super) history: HistoryDesign,
    /// The room of all logs together, at each site.
    room: [u64; 2],
    /// The sectors of the LUN of the logs, at each site.
    pub(super) log_sectors: [u64; 2],
    pub(super) policy: ResumePolicy,
    pub(super) outstanding: u64,
    pub(super) controls: Vec<Control>,
    pub(super) struck: Vec<Control>,
    notes: Vec<Note>,
    /// Since when groups could resume, while not all are in step.
    pub(super) resuming_since: Option<Time>,
    pub(super) longest_resumption: Option<Span>,
}

impl Replication {
    pub(super) fn new(
        design: &PairDesign,
        source: &dyn System,
        destination: &dyn System,
        streams: Streams,
    ) -> Result<Self, PairError> {
        let link = PairLink::new(design.link.clone(), &streams.part("link"))?;
        if design.outstanding == 0 {
            return Err(PairError::NothingOutstanding);
        }
        let (of_lun, sizes) = check_groups(design, source, destination)?;
        let names = [&design.source, &design.destination].map(|side| side.lun_names());
        let first_replica = u32::try_from(names[0].len()).expect("few LUNs");
        let history = &design.history;
        let at_source = check_history(design, Site::Source, history.lun, source, &of_lun)?;
        let at_destination =
            check_history(design, Site::Destination, history.replica_lun, destination, &of_lun)?;
        let room = [at_source.0, at_destination.0];
        let log_sectors = [at_source.1, at_destination.1];
        let groups = design.groups.iter().zip(sizes);
        let groups = groups.map(|(group, sizes)| Group::new(group, &design.history, sizes));
        let lanes =
            design.groups.iter().map(|group| Lane { luns: group.luns.clone(), ..Lane::default() });
        Ok(Self {
            now: Time::ZERO,
            link,
            is_up: [true; 2],
            groups: groups.collect(),
            lanes: lanes.collect(),
            receivers: design.groups.iter().map(|_| Receiver::default()).collect(),
            of_lun,
            first_replica,
            history: design.history.clone(),
            room,
            log_sectors,
            policy: design.resume,
            outstanding: u64::from(design.outstanding),
            controls: design.controls.clone(),
            struck: Vec::new(),
            notes: Vec::new(),
            resuming_since: None,
            longest_resumption: None,
        })
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The event log of the pair itself; the systems have their own.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub fn link(&self) -> &PairLink {
        &self.link
    }

    /// Number of groups.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Everything that is reported of it, now.
    pub fn state(&self) -> ReplicationState {
        ReplicationState {
            groups: (0..self.groups.len()).map(|one| self.group(one)).collect(),
            log_peak: self.log_peak(),
            longest_resumption: self.longest_resumption,
            link_bytes: self.link.bytes_sent(),
        }
    }

    /// A group's state now.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn group(&self, number: usize) -> GroupState {
        let group = &self.groups[number];
        let done = self.receivers[number].has();
        GroupState {
            name: group.name.clone(),
            phase: group.phase,
            log: self.log(number),
            log_peak: ByteSize::bytes(group.peak()),
            serving: group.roles.serving,
            is_served: group.serves(group.roles.serving) && self.is_up[group.roles.serving.index()],
            at_risk: group.at_risk(done),
            copied: (ByteSize::bytes(group.copied_bytes), ByteSize::bytes(group.left_to_copy())),
            split: group.roles.split.map(|split| split.beyond),
            losses: group.roles.losses.clone(),
            refused: self.lanes[number].refused,
        }
    }

    /// The write history log of a group now.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn log(&self, number: usize) -> LogFill {
        self.groups[number].fill(self.now, self.room_of(number), self.history.alarm)
    }

    /// The most that the log of one group ever held.
    pub fn log_peak(&self) -> ByteSize {
        let peaks = self.groups.iter().map(Group::peak);
        ByteSize::bytes(peaks.max().unwrap_or(0))
    }

    /// The longest time from the return of link or destination, or from a resumption, until all
    /// groups were in step.
    pub fn longest_resumption(&self) -> Option<Span> {
        self.longest_resumption
    }

    /// Bytes of all writes of hosts that each group ever took.
    pub fn taken_bytes(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|group| group.taken_bytes)
    }

    /// The name of a group.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn name(&self, number: usize) -> &str {
        &self.groups[number].name
    }

    /// The state of a group.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn phase(&self, number: usize) -> Phase {
        self.groups[number].phase
    }

    /// Whether hosts may use every group at `site` now.
    pub fn is_served_by(&self, site: Site) -> bool {
        let mut groups = self.groups.iter();
        self.is_up[site.index()] && groups.all(|own| own.roles.serving == site && own.serves(site))
    }

    /// Whether every group is in step with the destination.
    pub fn is_in_step(&self) -> bool {
        let mut groups = self.groups.iter();
        groups.all(|one| one.phase == Phase::Normal && one.is_connected)
    }

    /// The controls that have struck, in order.
    pub fn struck(&self) -> &[Control] {
        &self.struck
    }

    /// The LUN of the destination that replicates this one of the source, as hosts see it.
    pub fn replica_of(&self, lun: u32) -> Option<u32> {
        let (group, number) = self.of_lun[0].get(&lun)?;
        Some(self.first_replica + self.lanes[*group].luns[usize::from(*number)].1)
    }

    /// The group of a LUN that is replicated, as hosts see it: of either site.
    pub fn group_of(&self, lun: u32) -> Option<usize> {
        let (site, lun) = self.site_of(lun);
        let found = self.of_lun[site.index()].get(&lun)?;
        Some(found.0)
    }

    /// The site of a LUN as hosts see it, and its number there.
    pub fn site_of(&self, lun: u32) -> (Site, u32) {
        match lun.checked_sub(self.first_replica) {
            None => (Site::Source, lun),
            Some(lun) => (Site::Destination, lun),
        }
    }

    /// Whether the storage of a site is there.
    pub fn is_up(&self, site: Site) -> bool {
        self.is_up[site.index()]
    }

    /// The LUN of a group at a site.
    pub(super) fn lun_at(&self, site: Site, group: usize, lun: u16) -> u32 {
        let (source, replica) = self.lanes[group].luns[usize::from(lun)];
        match site {
            Site::Source => source,
            Site::Destination => replica,
        }
    }

    pub(super) fn serving(&self, group: usize) -> Site {
        self.groups[group].roles.serving
    }

    /// Whether both sites are there and can talk.
    pub(super) fn can_talk(&self) -> bool {
        self.link.is_up() && self.is_up == [true; 2]
    }

    /// What the log of a group may grow to.
    pub(super) fn room_of(&self, number: usize) -> u64 {
        let group = &self.groups[number];
        let site = group.roles.serving;
        let here = self.groups.iter().filter(|one| one.roles.serving == site);
        let taken: u64 = here.map(Group::allocated).sum();
        let left = self.room[site.index()].saturating_sub(taken);
        group.limit.min(group.allocated().saturating_add(left))
    }

    pub(super) fn note(&mut self, what: PairNote) {
        self.notes.push(Note { at: self.now, what: NoteKind::Pair(what) });
    }

    pub(super) fn note_group(&mut self, number: usize, what: GroupNote) {
        let name = self.groups[number].name.clone();
        self.note(PairNote::Group(name, what));
    }

    /// Takes the next control if it is this one.
    pub(super) fn is_next_control(&self, control: Control) -> bool {
        self.controls.first() == Some(&control)
    }

    pub(super) fn strike(&mut self) {
        let control = self.controls.remove(0);
        self.struck.push(control);
    }
}

type LunsAndSizes = ([BTreeMap<u32, (usize, u16)>; 2], Vec<Vec<u64>>);

/// The group of each LUN, and the sectors of every group's LUNs.
fn check_groups(
    design: &PairDesign,
    source: &dyn System,
    destination: &dyn System,
) -> Result<LunsAndSizes, PairError> {
    let (names, replicas) = (design.source.lun_names(), design.destination.lun_names());
    let mut of_lun = [const { BTreeMap::new() }; 2];
    let mut sizes = Vec::new();
    for (number, group) in design.groups.iter().enumerate() {
        let name = || group.name.clone();
        if group.luns.is_empty() {
            return Err(PairError::Empty(name()));
        }
        if group.failsafe && group.mode == super::Mode::Asynchronous {
            return Err(PairError::Failsafe(name()));
        }
        let mut own = Vec::new();
        for (place, (lun, replica)) in (0..).zip(&group.luns) {
            let find = |side, names: &[&str], lun: u32| {
                let found = names.get(lun as usize).map(|name| (*name).to_owned());
                let group = name();
                found.ok_or(PairError::NoLun { group, side, lun })
            };
            let twice = |side, lun| {
                let group = name();
                PairError::Twice { group, side, lun }
            };
            let lun_name = find("source", &names, *lun)?;
            let replica_name = find("destination", &replicas, *replica)?;
            if of_lun[0].insert(*lun, (number, place)).is_some() {
                return Err(twice("source", lun_name));
            }
            if of_lun[1].insert(*replica, (number, place)).is_some() {
                return Err(twice("destination", replica_name));
            }
            let (size, room) = (source.lun_size(*lun), destination.lun_size(*replica));
            if room < size {
                return Err(PairError::TooSmall { group: name(), lun: lun_name, size, room });
            }
            own.push(size.get().div_euclid(512));
        }
        sizes.push(own);
    }
    Ok((of_lun, sizes))
}

/// The room of all logs at a site, and the sectors of their LUN.
fn check_history(
    design: &PairDesign,
    site: Site,
    lun: Option<u32>,
    system: &dyn System,
    of_lun: &[BTreeMap<u32, (usize, u16)>; 2],
) -> Result<(u64, u64), PairError> {
    let history = &design.history;
    let refuse = |why: String| Err(PairError::History(why));
    let mut room = match history.room.get() {
        0 => u64::MAX,
        room => room,
    };
    let mut sectors = 0;
    if let Some(lun) = lun {
        let names = match site {
            Site::Source => design.source.lun_names(),
            Site::Destination => design.destination.lun_names(),
        };
        let Some(name) = names.get(lun as usize) else {
            return refuse(format!("the {site} has no LUN {lun}"));
        };
        if of_lun[site.index()].contains_key(&lun) {
            return refuse(format!("LUN \"{name}\" is replicated, it cannot hold them"));
        }
        let size = system.lun_size(lun);
        if room != u64::MAX && history.room > size {
            return refuse(format!("LUN \"{name}\" has {size}, not {}", history.room));
        }
        room = room.min(size.get());
        sectors = size.get().div_euclid(512);
    }
    if history.limit < history.initial {
        return refuse(format!(
            "they begin with {} and cannot be limited to {}",
            history.initial, history.limit
        ));
    }
    let initial = history.initial.get().saturating_mul(design.groups.len() as u64);
    if initial > room {
        return refuse(format!(
            "{} groups begin with {} each, and there is room for {}",
            design.groups.len(),
            history.initial,
            ByteSize::bytes(room)
        ));
    }
    Ok((room, sectors))
}
