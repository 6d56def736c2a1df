//! LUNs in pages that lie anywhere on one or more arrays: storage pools, thin provisioning,
//! snapshots and clones.
//!
//! ```text
//!    submit -> Request -> Parts (one to a page) -> map: which node, which slot
//!                                               -> Subs: requests to member arrays, and to their metadata
//! ```
//!
//! A member is a whole [`Array`] with its own front, controllers, cache and drives. The map is in
//! memory; changing it costs a 4 KiB write to the member that gets the page, and a host write that
//! changes it completes when both writes have.
//!
//! Invariant: a request finishes once, and the parts of its breakdown add up to its response time.

mod balance;
mod changes;
mod design;
mod gates;
mod map;
mod notes;
mod observer;
mod parts;
mod reserve;
#[cfg(test)]
mod snapshot_tests;
mod snapshots;
mod stats;
#[cfg(test)]
pub(crate) mod tests;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};

use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;
use brunt_world::{Due, IoError, Schedule};
use smallvec::SmallVec;

use crate::breakdown::Breakdown;
use crate::incident::{Incident, Misplaced, Note, NoteKind, Scheduled};
use crate::slab::{Key, Slab};
use crate::{Array, Extent, Finished, HostIo};
use balance::Balance;
use changes::Changes;
pub(crate) use changes::Grains;
use design::PAGES_MAX;
pub use design::{BalanceDesign, PagedDesign, PagedError, PagedLunDesign, ReserveDesign, WhenFull};
use gates::Gates;
use map::{LunKind, PageMap, WORKING_ROOM};
pub use notes::{CloneOf, SnapshotPlan, VolumeIncident, VolumeNote};
pub(crate) use observer::{PoolMove, PoolObserver};
use parts::{PagePart, PartOwner, Sub};
use snapshots::{Member, Snapshots};
pub use stats::{LunRoom, PageStats, SnapshotState};
use traffic::Traffic;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A scheduled incident.
    Incident(u32),
    /// Nothing had to be read; the host gets zeros.
    Zeros(Key),
    /// Compare the members.
    Compare,
    /// The pause of a move is over.
    Copy(Key),
    /// Complete the pages that were redirected because of snapshots that are gone.
    Merge,
}

struct Request {
    io: HostIo,
    submitted_at: Time,
    /// Parts still in flight.
    parts: u32,
    result: Result<(), IoError>,
}

/// Sectors per write of the map: 4 KiB.
const METADATA_SECTORS: u64 = 8;

/// The first sector of a member's part of the map, at the end of its space: 64 MiB, or a sixteenth
/// if that is less.
fn metadata_start(sectors: u64) -> u64 {
    let room = (64 * 2048).min(sectors.div_euclid(16)).max(METADATA_SECTORS);
    let start = sectors.saturating_sub(room);
    start - start % METADATA_SECTORS
}

/// Arrays under one map.
pub struct PagedArray {
    now: Time,
    schedule: Schedule<Event>,
    members: Vec<Array>,
    map: PageMap,
    traffic: Traffic,
    requests: Slab<Request>,
    parts: Slab<PagePart>,
    subs: Slab<Sub>,
    balance: Balance,
    stats: PageStats,
    incidents: Vec<Incident>,
    notes: Vec<Note>,
    /// By LUN, also of those that were removed or promised.
    names: Vec<String>,
    /// Numbers kept for clones.
    promised: BTreeSet<u32>,
    snapshots: Snapshots,
    when_full: BTreeMap<u32, WhenFull>,
    offline: BTreeSet<u32>,
    /// What LUNs had when their replication started.
    starts: Vec<Member>,
    gates: Gates,
    changes: Changes,
    finished: Vec<Finished>,
    /// Time to answer a read of zeros: link and processor, both ways.
    zeros_take: Span,
    is_full: bool,
    pub(crate) observer: Option<Box<dyn PoolObserver>>,
}

impl PagedArray {
    /// Creates the paged array of `design` at time zero.
    ///
    /// # Errors
    /// [`PagedError`] when the design cannot be built.
    pub fn new(design: &PagedDesign, streams: Streams) -> Result<Self, PagedError> {
        let mut members = Vec::new();
        for (number, member) in design.members.iter().enumerate() {
            let part = streams.part(&format!("member/{number}"));
            members
                .push(Array::new(member, part).map_err(|error| PagedError::Member(number, error))?);
        }
        let map = lay_out(design, &members)?;
        let zeros_take = design.members.first().map_or(Span::ZERO, |member| {
            member.front.host_stack + member.front.latency * 2 + member.controller.read
        });
        let names = design.luns.iter().map(|lun| &lun.name);
        let names = names.chain(&design.clones);
        let first_clone = u32::try_from(design.luns.len()).expect("few LUNs");
        let reserves = (0..).zip(&design.luns);
        let reserves = reserves.filter_map(|(at, lun)| Some((at, lun.reserve?.when_full)));
        let mut array = Self {
            now: Time::ZERO,
            schedule: Schedule::default(),
            balance: Balance::new(design.balance, members.len()),
            stats: PageStats::new(members.len()),
            members,
            map,
            traffic: Traffic::default(),
            requests: Slab::default(),
            parts: Slab::default(),
            subs: Slab::default(),
            incidents: Vec::new(),
            notes: Vec::new(),
            names: names.cloned().collect(),
            promised: (first_clone..).take(design.clones.len()).collect(),
            snapshots: Snapshots::default(),
            when_full: reserves.collect(),
            offline: BTreeSet::new(),
            starts: Vec::new(),
            gates: Gates::default(),
            changes: Changes::default(),
            finished: Vec::new(),
            zeros_take,
            is_full: false,
            observer: None,
        };
        array.compare_later();
        Ok(array)
    }

    /// The member arrays.
    pub fn members(&self) -> &[Array] {
        &self.members
    }

    /// Schedules an incident of the pool or of one of its members. A snapshot gets the next LUN
    /// number when it is taken, so whether a LUN exists is only known then; an incident of a
    /// missing LUN has no effect.
    pub(crate) fn schedule_incident(&mut self, one: &Scheduled) -> Result<(), Misplaced> {
        let find = |number: usize| match number < self.members.len() {
            true => Ok(()),
            false => Err(Misplaced::Part("member", number)),
        };
        match one.incident {
            Incident::Snapshot(..)
            | Incident::LunRemoved(_)
            | Incident::LunGrows(..)
            | Incident::Volumes(_) => {}
            Incident::MemberJoins(member) => find(member)?,
            Incident::Pair(_) => return Err(Misplaced::NoPair),
            _ => {
                find(one.array)?;
                let member = &mut self.members[one.array];
                return member.schedule_incident(one.at, one.incident.clone());
            }
        }
        assert!(one.at >= self.now, "an incident before now");
        let number = u32::try_from(self.incidents.len()).expect("few incidents");
        self.incidents.push(one.incident.clone());
        self.schedule.set(one.at, Event::Incident(number));
        Ok(())
    }

    fn apply_incident(&mut self, number: u32) {
        match self.incidents[number as usize].clone() {
            Incident::Snapshot(lun, name) => {
                if self.map.sectors(lun).is_some() {
                    self.take_snapshot(&[lun], &name, &name);
                }
            }
            Incident::Volumes(incident) => self.apply_to_volumes(number, incident),
            Incident::LunRemoved(lun) => {
                if self.map.sectors(lun).is_none() {
                    return;
                }
                let name = self.names[lun as usize].clone();
                self.note(NoteKind::LunRemoved(name));
                self.drop_lun(lun);
            }
            Incident::MemberJoins(member) => {
                self.map.open(member, true);
                self.note(NoteKind::MemberJoined(member));
                self.look_for_room();
                self.even_out();
            }
            Incident::LunGrows(lun, size) => self.grow_lun(lun, size),
            other => unreachable!("{other:?} is for a member"),
        }
    }

    fn grow_lun(&mut self, lun: u32, size: ByteSize) {
        let Some(sectors) = self.map.sectors(lun) else {
            return;
        };
        let (name, before) = (self.names[lun as usize].clone(), self.lun_size(lun));
        let wanted = size.get().div_ceil(512);
        if wanted <= sectors {
            let (size, most) = (before, None);
            return self.note(NoteKind::LunStays { lun: name, size, most });
        }
        self.map.grow(lun, wanted);
        self.note(NoteKind::LunGrew { lun: name, size });
    }

    /// Clears the full state if pages have become free.
    fn look_for_room(&mut self) {
        self.is_full &= self.map.free_slots() == 0;
    }

    fn note(&mut self, what: NoteKind) {
        self.notes.push(Note { at: self.now, what });
    }

    /// The event log of the pool itself; members have their own.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Submits a request at `now`. A request past the LUN's end fails with [`IoError::PastEnd`], a
    /// write that finds no free page with [`IoError::NoSpace`], and a request to a LUN that does
    /// not exist with [`IoError::Device`].
    ///
    /// # Panics
    /// When `now` is in the past.
    pub fn submit(&mut self, now: Time, io: HostIo) {
        self.advance(now);
        let request = self.requests.insert(Request {
            io,
            submitted_at: now,
            // One for `start_request`, so that the request cannot finish before all parts exist.
            parts: 1,
            result: Ok(()),
        });
        match self.gates.is_shut(io.lun) {
            true => self.gates.wait(io.lun, request),
            false => self.start_request(request),
        }
        self.collect();
    }

    fn start_request(&mut self, request: Key) {
        let io = self.requests[request].io;
        let refusal = match self.map.sectors(io.lun) {
            None => Some(IoError::Device),
            Some(_) if self.offline.contains(&io.lun) => Some(IoError::Device),
            Some(sectors) if io.extent.end() > sectors => Some(IoError::PastEnd),
            Some(_) => None,
        };
        self.requests[request].result = refusal.map_or(Ok(()), Err);
        if refusal.is_none() {
            for (page, within) in io.extent.split(self.map.page_sectors) {
                let page = u32::try_from(page).expect("few pages");
                self.requests[request].parts += 1;
                let owner = PartOwner::Request(request);
                self.start_part(owner, io.verb, (io.lun, page), within);
            }
        }
        self.part_of_request_ended(request, Ok(()), Breakdown::default());
    }

    fn part_of_request_ended(
        &mut self,
        key: Key,
        result: Result<(), IoError>,
        mut breakdown: Breakdown,
    ) {
        let request = &mut self.requests[key];
        request.parts -= 1;
        request.result = request.result.and(result);
        if request.parts > 0 {
            return;
        }
        let took = self.now - request.submitted_at;
        debug_assert!(breakdown.total() <= took);
        breakdown.wait += took - breakdown.total();
        self.finished.push(Finished {
            tag: request.io.tag,
            verb: request.io.verb,
            submitted_at: request.submitted_at,
            at: self.now,
            result: request.result,
            breakdown,
        });
        self.observe(PoolMove::Answered(key));
        self.requests.forget(key);
    }

    /// When the next event is due, if no more requests come in.
    pub fn next_at(&self) -> Option<Time> {
        let members = self.members.iter().filter_map(Array::next_at);
        members.chain(self.schedule.next_at()).min()
    }

    /// Processes every event due by `to` and moves the clock there.
    ///
    /// # Panics
    /// When `to` is in the past.
    pub fn advance(&mut self, to: Time) {
        assert!(to >= self.now, "time goes back");
        while let Some(next) = self.next_at().filter(|next| *next <= to) {
            self.now = next;
            for member in &mut self.members {
                if member.next_at() == Some(next) {
                    member.advance(next);
                }
            }
            self.collect();
            while let Some(Due { event, .. }) = self.schedule.pop(next) {
                match event {
                    Event::Incident(number) => self.apply_incident(number),
                    Event::Zeros(part) => self.part_ended(part),
                    Event::Compare => self.compare(),
                    Event::Copy(moving) => self.copy_unit(moving),
                    Event::Merge => {
                        self.look_for_room();
                        self.merge();
                    }
                }
                self.collect();
            }
        }
        self.now = to;
        for member in &mut self.members {
            member.advance(to);
        }
    }

    /// Continues everything that members have finished.
    fn collect(&mut self) {
        loop {
            let mut was_any = false;
            for member in 0..self.members.len() {
                let done: SmallVec<[Finished; 4]> = self.members[member].finished().collect();
                was_any |= !done.is_empty();
                for one in done {
                    self.sub_ended(member, &one);
                }
            }
            if !was_any {
                return;
            }
        }
    }

    /// Takes the requests finished since the last call, in order.
    pub fn finished(&mut self) -> std::vec::Drain<'_, Finished> {
        self.finished.drain(..)
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Size of a LUN; zero when it does not exist.
    pub fn lun_size(&self, lun: u32) -> ByteSize {
        let sectors = self.map.sectors(lun).unwrap_or(0);
        ByteSize::bytes(Extent::new(0, sectors).bytes())
    }

    /// Treats `extents` of a LUN as already written: allocates their pages as a write would, in no
    /// time. When space runs out, the pool is full and the remaining pages stay unallocated.
    pub(crate) fn assume_written(&mut self, lun: u32, extents: &[Extent]) {
        let size = self.map.sectors(lun).unwrap_or(0);
        for extent in extents.iter().filter(|extent| extent.end() <= size) {
            for (page, _) in extent.split(self.map.page_sectors) {
                let page = u32::try_from(page).expect("few pages");
                if self.map.fill_page(lun, page).is_err() {
                    return self.note_full();
                }
            }
        }
    }
}

/// The map of `design`: LUNs that are not thin are fully allocated, thin ones are empty.
fn lay_out(design: &PagedDesign, members: &[Array]) -> Result<PageMap, PagedError> {
    let takes_part = |number: usize| !design.later.contains(&number);
    if !(0..members.len()).any(takes_part) {
        return Err(PagedError::NoMember);
    }
    design.check()?;
    let (page, grain) = (design.page.get(), design.grain.get());
    let page_sectors = page.div_euclid(512);
    let mut slots = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let sectors = member.lun_size(0).get().div_euclid(512);
        let pages = metadata_start(sectors).div_euclid(page_sectors);
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        if pages as usize <= WORKING_ROOM {
            return Err(PagedError::TooSmall(number, pages, design.page, WORKING_ROOM));
        }
        slots.push(pages);
    }
    if slots.iter().map(|pages| u64::from(*pages)).sum::<u64>() > PAGES_MAX {
        return Err(PagedError::Pages { page: design.page, most: PAGES_MAX });
    }
    let mut map = PageMap::new(page_sectors, grain.div_euclid(512), &slots);
    for member in &design.later {
        map.open(*member, false);
    }
    let mut entries = 0;
    for lun in &design.luns {
        let (size, most) = (lun.size, design.lun_max(entries));
        if size > most {
            let (lun, page) = (lun.name.clone(), design.page);
            return Err(PagedError::LunSize { lun, size, page, most });
        }
        entries += size.get().div_ceil(page);
        let left = ByteSize::bytes(map.free_slots() as u64 * page);
        let number = map.add_lun(lun.size.get().div_ceil(512));
        let filled = if lun.is_thin { Ok(()) } else { map.fill(number) };
        filled.map_err(|_| PagedError::Lun { lun: lun.name.clone(), size: lun.size, left })?;
        if let Some(reserve) = lun.reserve {
            map.set_reserve(number, LunKind::Snapshot, reserve.percent);
            let (reserved, free) = (map.promised(), map.free_slots());
            if reserved > free {
                let own = map.held(number, LunKind::Snapshot).1.unwrap_or(0);
                let others = reserved - own as usize;
                return Err(PagedError::Reserve {
                    lun: lun.name.clone(),
                    reserve: ByteSize::bytes(u64::from(own) * page),
                    left: ByteSize::bytes(free.saturating_sub(others) as u64 * page),
                });
            }
        }
    }
    for _ in &design.clones {
        map.promise_lun();
    }
    Ok(map)
}
