//! Parts of requests, one per page, and the member requests they consist of.
//!
//! ```text
//!    read     ask the members that hold the data; unwritten data is zeros
//!    write    the grains are held, and not shared: write them in place
//!             otherwise: read what surrounds the data in its first and last grain -> write whole grains to the page's own
//!                        node, and the map -> the node now holds them
//!    copy     read what the new node lacks -> write it there, and the map -> the node now holds it
//! ```

use std::ops::Range;

use brunt_units::Time;
use brunt_world::IoError;
use smallvec::SmallVec;

use super::map::{NodeId, Run};
use super::reserve::Refused;
use super::traffic::PageAt;
use super::{Event, METADATA_SECTORS, PagedArray, PoolMove, metadata_start};
use crate::breakdown::Breakdown;
use crate::incident::NoteKind;
use crate::slab::Key;
use crate::{Extent, Finished, HostIo, Verb};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartOwner {
    /// A host's request.
    Request(Key),
    /// A page being moved.
    Move(Key),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Reading,
    Writing,
}

/// The part of a request that falls in one page.
pub(super) struct PagePart {
    owner: PartOwner,
    verb: Verb,
    pub(super) at: PageAt,
    pub(super) within: Extent,
    grains: Range<usize>,
    phase: Phase,
    /// The node it writes to.
    pub(super) node: Option<NodeId>,
    /// What it writes there: more than was requested, when grains are new.
    whole: Extent,
    is_new: bool,
    /// Nodes that must stay while the part is in progress.
    pins: SmallVec<[NodeId; 2]>,
    pending: u32,
    result: Result<(), IoError>,
    /// The breakdown of the last member request in this phase, and that of earlier phases.
    last: Breakdown,
    breakdown: Breakdown,
}

impl PagePart {
    pub(super) fn owner(&self) -> PartOwner {
        self.owner
    }

    pub(super) fn verb(&self) -> Verb {
        self.verb
    }
}

/// The kind of a member request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubKind {
    /// Data of a page, starting at this sector of the page.
    Data(u64),
    /// A write of the map.
    Metadata,
}

/// A request to a member.
pub(super) struct Sub {
    pub(super) part: Key,
    pub(super) kind: SubKind,
    asked_at: Time,
}

impl PagedArray {
    /// Starts a part of a request.
    pub(super) fn start_part(
        &mut self,
        owner: PartOwner,
        verb: Verb,
        at: PageAt,
        within: Extent,
    ) -> Key {
        let grains = self.map.grains(within);
        let key = self.parts.insert(PagePart {
            owner,
            verb,
            at,
            within,
            grains,
            phase: Phase::Waiting,
            node: None,
            whole: within,
            is_new: false,
            pins: SmallVec::new(),
            pending: 0,
            result: Ok(()),
            last: Breakdown::default(),
            breakdown: Breakdown::default(),
        });
        match verb {
            Verb::Read => self.read_part(key),
            Verb::Write => {
                self.enter(key, false);
            }
        }
        key
    }

    /// Starts copying grains of a page to `node`, which lacks them.
    pub(super) fn start_copy(
        &mut self,
        moving: Key,
        at: PageAt,
        node: NodeId,
        grains: &Range<usize>,
    ) {
        let within = self.map.extent(grains);
        let key = self.parts.insert(PagePart {
            owner: PartOwner::Move(moving),
            verb: Verb::Write,
            at,
            within,
            grains: grains.clone(),
            phase: Phase::Waiting,
            node: Some(node),
            whole: within,
            is_new: true,
            pins: SmallVec::new(),
            pending: 0,
            result: Ok(()),
            last: Breakdown::default(),
            breakdown: Breakdown::default(),
        });
        self.enter(key, false);
    }

    fn read_part(&mut self, key: Key) {
        let part = &self.parts[key];
        let runs = self.map.resolve(part.at.0, part.at.1, part.within);
        if runs.iter().all(|run| run.from.is_none()) {
            self.stats.zeros += 1;
            let at = self.now + self.zeros_take;
            return self.schedule.set(at, Event::Zeros(key));
        }
        self.read_runs(key, &runs);
    }

    fn read_runs(&mut self, key: Key, runs: &[Run]) {
        let part = &mut self.parts[key];
        part.phase = Phase::Reading;
        // One for this function, so that the part cannot end before all requests are made.
        part.pending = 1;
        for run in runs {
            let Some((node, slot)) = run.from else {
                continue;
            };
            self.map.pin(node);
            self.parts[key].pins.push(node);
            let start = u64::from(slot.number) * self.map.page_sectors + run.within.start;
            let extent = Extent::new(start, run.within.length);
            let kind = SubKind::Data(run.within.start);
            self.ask(key, slot.member, Verb::Read, extent, kind);
        }
        self.step_ended(key);
    }

    fn ask(&mut self, part: Key, member: usize, verb: Verb, extent: Extent, kind: SubKind) {
        self.parts[part].pending += 1;
        let mut io = HostIo { lun: 0, verb, extent, tag: 0 };
        let sub = self.subs.insert(Sub { part, kind, asked_at: self.now });
        io.tag = sub.bits();
        self.observe(PoolMove::Asked { sub, io });
        match kind {
            SubKind::Data(_) => self.stats.asked[member] += 1,
            SubKind::Metadata => self.stats.map_writes += 1,
        }
        self.members[member].submit(self.now, io);
    }

    /// Starts a write if it conflicts with no other, or queues it; returns whether it started.
    fn enter(&mut self, key: Key, has_waited: bool) -> bool {
        let part = &self.parts[key];
        let (at, grains) = (part.at, part.grains.clone());
        let is_copy = part.node.is_some();
        let is_new = is_copy || !self.map.is_own(at.0, at.1, grains.clone());
        let lane = self.lane(at);
        let is_in = self.traffic.enter(lane, key, &grains, is_new, has_waited);
        if is_in {
            self.parts[key].is_new = is_new;
            if is_copy {
                self.begin_copy(key);
            } else {
                self.begin_write(key);
            }
        }
        is_in
    }

    fn begin_write(&mut self, key: Key) {
        let part = &self.parts[key];
        let (at, within, is_new) = (part.at, part.within, part.is_new);
        if self.map.sectors(at.0).is_none() {
            // The LUN was removed while it waited.
            self.parts[key].result = Err(IoError::Device);
            return self.part_ended(key);
        }
        let had_room = self.map.sole(at.0, at.1).is_some();
        if is_new {
            self.count_new(at, within);
        }
        let node = match self.own_node(at) {
            Ok(node) => node,
            Err(why) => {
                self.parts[key].result = Err(self.refuse(&why));
                return self.part_ended(key);
            }
        };
        self.changed(at.0, at.1, self.parts[key].grains.clone());
        self.stats.allocated += u64::from(!had_room);
        self.map.pin(node);
        let part = &mut self.parts[key];
        part.node = Some(node);
        part.pins.push(node);
        if !is_new {
            return self.write_part(key);
        }
        let (whole, around) = self.around(node, &self.parts[key].grains, within);
        self.parts[key].whole = whole;
        let runs: SmallVec<[Run; 2]> = around
            .into_iter()
            .flat_map(|extent| self.map.resolve_from(Some(node), extent))
            .collect();
        let read = runs.iter().filter(|run| run.from.is_some());
        self.stats.around_sectors += read.map(|run| run.within.length).sum::<u64>();
        self.read_runs(key, &runs);
    }

    /// Counts a host write that cannot be done in place: a first write, or a redirected one.
    fn count_new(&mut self, at: PageAt, within: Extent) {
        let own = self.map.sole(at.0, at.1);
        let is_elsewhere = |run: &Run| run.from.is_some_and(|(node, _)| Some(node) != own);
        let lies = self.map.resolve(at.0, at.1, within);
        if lies.iter().any(is_elsewhere) {
            self.stats.redirected += 1;
        } else {
            self.stats.first_writes += 1;
        }
    }

    /// The extent to write when `within` is new on `node`, and what to read for it: the rest of its
    /// first and last grain, if the node lacks those grains.
    fn around(
        &self,
        node: NodeId,
        grains: &Range<usize>,
        within: Extent,
    ) -> (Extent, SmallVec<[Extent; 2]>) {
        let all = self.map.extent(grains);
        let lacks = |grain: usize| !self.map.has_all(node, grain..grain + 1);
        let (mut start, mut end) = (within.start, within.end());
        let mut around = SmallVec::new();
        if all.start < start && lacks(grains.start) {
            around.push(Extent::new(all.start, start - all.start));
            start = all.start;
        }
        if end < all.end() && lacks(grains.end - 1) {
            around.push(Extent::new(end, all.end() - end));
            end = all.end();
        }
        (Extent::new(start, end - start), around)
    }

    fn begin_copy(&mut self, key: Key) {
        let part = &self.parts[key];
        let node = part.node.expect("it is a copy");
        if self.map.has_all(node, part.grains.clone()) {
            return self.part_ended(key);
        }
        let runs = self.map.resolve_from(Some(node), part.whole);
        self.stats.copied_sectors += part.whole.length;
        self.read_runs(key, &runs);
    }

    fn write_part(&mut self, key: Key) {
        let part = &mut self.parts[key];
        part.phase = Phase::Writing;
        part.pending = 1;
        let (whole, is_new) = (part.whole, part.is_new);
        let node = part.node.expect("it writes somewhere");
        let slot = self.map.slot(node);
        let start = u64::from(slot.number) * self.map.page_sectors + whole.start;
        let extent = Extent::new(start, whole.length);
        self.ask(key, slot.member, Verb::Write, extent, SubKind::Data(whole.start));
        if is_new {
            // A member's part of the map lies at its end; each node has a place in it.
            let sectors = self.members[slot.member].lun_size(0).get().div_euclid(512);
            let first = metadata_start(sectors);
            let places = (sectors - first).div_euclid(METADATA_SECTORS);
            let place = node.number() % places;
            let extent = Extent::new(first + place * METADATA_SECTORS, METADATA_SECTORS);
            self.ask(key, slot.member, Verb::Write, extent, SubKind::Metadata);
        }
        self.step_ended(key);
    }

    /// A member has finished a request.
    pub(super) fn sub_ended(&mut self, member: usize, finished: &Finished) {
        let key = Key::from_bits(finished.tag);
        let sub = self.subs.remove(key).expect("it was asked");
        self.balance.measured(member, finished.at - sub.asked_at, sub.kind);
        let Sub { part, kind, .. } = sub;
        let result = finished.result;
        self.observe(PoolMove::Ended { sub: key, part, kind, member, result });
        let part = &mut self.parts[sub.part];
        part.result = part.result.and(finished.result);
        part.last = finished.breakdown;
        self.step_ended(sub.part);
    }

    fn step_ended(&mut self, key: Key) {
        let part = &mut self.parts[key];
        part.pending -= 1;
        if part.pending > 0 {
            return;
        }
        let last = std::mem::take(&mut part.last);
        part.breakdown.add(&last);
        match (part.phase, part.verb, part.result) {
            (Phase::Reading, Verb::Write, Ok(())) => self.write_part(key),
            (Phase::Writing, _, Ok(())) => {
                if part.is_new {
                    let (node, grains) = (part.node, part.grains.clone());
                    self.map.written(node.expect("it wrote somewhere"), grains);
                }
                self.part_ended(key);
            }
            _ => self.part_ended(key),
        }
    }

    pub(super) fn part_ended(&mut self, key: Key) {
        self.observe(PoolMove::PartEnded(key));
        let part = self.parts.remove(key).expect("it is under way");
        for node in part.pins {
            self.map.unpin(node);
        }
        if part.verb == Verb::Write {
            let lane = self.lane(part.at);
            self.traffic.leave(lane, key);
            while let Some(next) = self.traffic.next(lane) {
                if !self.enter(next, true) {
                    break;
                }
            }
        }
        match part.owner {
            PartOwner::Request(request) => {
                self.part_of_request_ended(request, part.result, part.breakdown);
            }
            PartOwner::Move(moving) => self.copied(moving, part.result),
        }
        if !self.gates.are_open() {
            self.part_left(key);
        }
    }

    /// Where writes to a page meet: LUNs of one family share nodes, so a copy for one must not meet
    /// a write to another.
    fn lane(&self, at: PageAt) -> PageAt {
        (self.map.family(at.0), at.1)
    }

    fn refuse(&mut self, why: &Refused) -> IoError {
        match why {
            Refused::Offline => IoError::Device,
            Refused::Full => {
                self.note_full();
                self.stats.refused += 1;
                IoError::NoSpace
            }
        }
    }

    pub(super) fn note_full(&mut self) {
        if !std::mem::replace(&mut self.is_full, true) {
            self.note(NoteKind::ThinFull);
        }
    }
}
