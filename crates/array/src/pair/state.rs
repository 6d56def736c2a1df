//! What a pair knows and reports: its groups, its link, its event log.

use std::collections::BTreeMap;

use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

use super::design::{Control, HistoryDesign, PairDesign, PairError, ResumePolicy};
use super::flights::Flights;
use super::group::{AtRisk, Group, LogFill, Phase};
use super::link::PairLink;
use super::notes::{GroupNote, PairNote};
use super::order::Place;
use super::receiver::Receiver;
use crate::incident::{Note, NoteKind};
use crate::slab::Key;
use crate::system::System;

/// What is under way for a group.
#[derive(Default)]
pub(super) struct Lane {
    /// LUNs of the source and of the destination.
    pub(super) luns: Vec<(u32, u32)>,
    /// Writes at the source, and blocks that are read.
    pub(super) flights: Flights,
    /// Writes that wait for what overlaps them.
    pub(super) held: Vec<Key>,
    /// Blocks to be read when no write to them is under way, and blocks that are read.
    pub(super) reserved: Vec<Place>,
    pub(super) reading: Vec<Place>,
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
    /// Since when the sides have not been in step.
    pub(super) apart_since: Option<Time>,
}

/// A group at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupState {
    /// Its name.
    pub name: String,
    /// Its state.
    pub phase: Phase,
    /// Its write history log.
    pub log: LogFill,
    /// The most that the log ever held.
    pub log_peak: ByteSize,
    /// What would be lost with the source; `None` while a full copy has left the destination inconsistent.
    pub at_risk: Option<AtRisk>,
    /// Bytes that a full copy has brought, and still has to bring at most.
    pub copied: (ByteSize, ByteSize),
}

/// A pair's replication at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationState {
    /// Its groups.
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
    pub(super) is_destination_up: bool,
    pub(super) groups: Vec<Group>,
    pub(super) lanes: Vec<Lane>,
    pub(super) receivers: Vec<Receiver>,
    /// The group of each replicated LUN of the source, and its number there.
    pub(super) of_lun: BTreeMap<u32, (usize, u16)>,
    pub(super) history: HistoryDesign,
    /// The room of all logs together.
    room: u64,
    /// The sectors of the LUN of the logs.
    pub(super) log_sectors: u64,
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
        let (room, log_sectors) = check_history(design, source, &of_lun)?;
        let groups = design.groups.iter().zip(sizes);
        let groups = groups.map(|(group, sizes)| Group::new(group, &design.history, sizes));
        let lanes = design.groups.iter().map(|group| Lane {
            luns: group.luns.clone(),
            ..Lane::default()
        });
        Ok(Self {
            now: Time::ZERO,
            link,
            is_destination_up: true,
            groups: groups.collect(),
            lanes: lanes.collect(),
            receivers: design.groups.iter().map(|_| Receiver::default()).collect(),
            of_lun,
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

    /// The link.
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
            at_risk: group.at_risk(done),
            copied: (
                ByteSize::bytes(group.copied_bytes),
                ByteSize::bytes(group.left_to_copy()),
            ),
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

    /// The longest time from the return of link or destination, or from a resumption, until all groups were in step.
    pub fn longest_resumption(&self) -> Option<Span> {
        self.longest_resumption
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

    /// The LUN of the destination that replicates this one.
    pub fn replica_of(&self, lun: u32) -> Option<u32> {
        let (group, number) = self.of_lun.get(&lun)?;
        Some(self.lanes[*group].luns[usize::from(*number)].1)
    }

    pub(super) fn is_replicated(&self, lun: u32, is_at_source: bool) -> bool {
        let mut luns = self.lanes.iter().flat_map(|lane| &lane.luns);
        luns.any(|(source, replica)| lun == if is_at_source { *source } else { *replica })
    }

    /// What the log of a group may grow to.
    pub(super) fn room_of(&self, number: usize) -> u64 {
        let group = &self.groups[number];
        let taken: u64 = self.groups.iter().map(Group::allocated).sum();
        let left = self.room.saturating_sub(taken);
        group.limit.min(group.allocated().saturating_add(left))
    }

    pub(super) fn note(&mut self, what: PairNote) {
        self.notes.push(Note {
            at: self.now,
            what: NoteKind::Pair(what),
        });
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

type LunsAndSizes = (BTreeMap<u32, (usize, u16)>, Vec<Vec<u64>>);

/// The group of each LUN, and the sectors of every group's LUNs.
fn check_groups(
    design: &PairDesign,
    source: &dyn System,
    destination: &dyn System,
) -> Result<LunsAndSizes, PairError> {
    let (names, replicas) = (design.source.lun_names(), design.destination.lun_names());
    let mut of_lun = BTreeMap::new();
    let mut taken = Vec::new();
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
            if of_lun.insert(*lun, (number, place)).is_some() {
                return Err(twice("source", lun_name));
            }
            if taken.contains(replica) {
                return Err(twice("destination", replica_name));
            }
            taken.push(*replica);
            let (size, room) = (source.lun_size(*lun), destination.lun_size(*replica));
            if room < size {
                return Err(PairError::TooSmall {
                    group: name(),
                    lun: lun_name,
                    size,
                    room,
                });
            }
            own.push(size.get().div_euclid(512));
        }
        sizes.push(own);
    }
    Ok((of_lun, sizes))
}

/// The room of all logs, and the sectors of their LUN.
fn check_history(
    design: &PairDesign,
    source: &dyn System,
    of_lun: &BTreeMap<u32, (usize, u16)>,
) -> Result<(u64, u64), PairError> {
    let history = &design.history;
    let refuse = |why: String| Err(PairError::History(why));
    let mut room = match history.room.get() {
        0 => u64::MAX,
        room => room,
    };
    let mut sectors = 0;
    if let Some(lun) = history.lun {
        let names = design.source.lun_names();
        let Some(name) = names.get(lun as usize) else {
            return refuse(format!("the source has no LUN {lun}"));
        };
        if of_lun.contains_key(&lun) {
            return refuse(format!("LUN \"{name}\" is replicated, it cannot hold them"));
        }
        let size = source.lun_size(lun);
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
    let initial = history
        .initial
        .get()
        .saturating_mul(design.groups.len() as u64);
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
