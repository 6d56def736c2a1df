//! A pair: two systems at two sites, one of which replicates groups of LUNs to the other over a
//! link.
//!
//! ```text
//!    submit -> Request -> source                         AtSource
//!                 |    -> order of its group -> link -> receiver -> destination
//!                 |              ^                                     |
//!                 +-- both ------+-------------- status ---------------+
//! ```
//!
//! A group keeps one write order. Its states are in [`group`], which decides and asks for nothing;
//! what is here carries that out. Hosts see the LUNs of both sites, those of the destination after
//! those of the source, and use those of a group at the site that serves it ([`roles`]): the source
//! at first. The other site does the writes of the group in their order ([`receiver`]). What is
//! said here of source and destination of a group holds for the site that serves it and for the
//! other one.
//!
//! Invariant: the destination is a prefix of its group's order, and where a host has the word that
//! both systems have its write, they have; a full copy alone is exempt, and marked. The
//! [`observer`] sees every write, and the ledger of tests checks this at each.

#![expect(private_bounds, reason = "only this crate observes pairs")]

mod blocks;
mod connection;
mod copying;
mod design;
mod failover;
mod flights;
#[cfg(test)]
mod follower;
mod group;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod ledger;
mod link;
mod listener;
mod notes;
mod observer;
mod order;
mod rates;
mod receiver;
mod requests;
#[cfg(test)]
mod role_tests;
mod roles;
mod sending;
mod state;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod truth;

use std::vec::Drain;

use brunt_units::{ByteSize, Time};
use brunt_world::random::Streams;
use brunt_world::{Due, Schedule};
use smallvec::SmallVec;

use crate::incident::{Incident, Misplaced, Scheduled};
use crate::slab::{Key, Slab};
use crate::system::{Part, PartMut, Parts, System};
use crate::{Extent, Finished, HostIo};
pub use design::{
    Control, HistoryDesign, Mode, PairDesign, PairError, PairGroupDesign, ResumePolicy,
};
pub use group::{AtRisk, LogFill, Phase};
pub use link::{Crossed, Exchange, PairLink, PairLinkDesign, PairLinkError};
pub use listener::{PairListener, PairMove};
pub use notes::{GroupNote, PairIncident, PairNote};
use observer::Observer;
pub use order::GroupExtent;
pub use rates::{WriteMeter, WriteRate, WriteRates};
use requests::Request;
pub use roles::{Failover, Loss, Obstacle, Site};
use sending::Message;
pub use state::{GroupState, Replication, ReplicationState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A scheduled incident.
    Incident(u32),
    /// A crossing of the link arrives.
    Crossed(Key),
    /// Groups may resume.
    Resume,
}

/// What a request to one of the two systems is for.
#[derive(Clone, Copy, Debug)]
enum Sub {
    /// A read, or a write that is not replicated.
    Plain(Key),
    /// A replicated write at the source.
    Local(Key),
    /// The same in the write history log.
    Log(Key),
    /// A write of the log is read, to be sent.
    LogRead { group: usize, number: u64, turn: u32 },
    /// A block is read, to be copied.
    CopyRead { site: Site, group: usize, turn: u32, at: order::GroupExtent },
    /// A write at the destination.
    Apply { group: usize, number: u64, turn: u32 },
}

/// Two systems, one of which replicates to the other.
pub struct Pair<O: Observer = ()> {
    state: Replication,
    source: Box<dyn System>,
    destination: Box<dyn System>,
    schedule: Schedule<Event>,
    requests: Slab<Request>,
    subs: Slab<Sub>,
    messages: Slab<Message>,
    incidents: Vec<PairIncident>,
    finished: Vec<Finished>,
    observer: O,
    listener: Option<Box<dyn PairListener>>,
}

impl Pair {
    /// Creates the pair of `design` at time zero; both sides have the same content.
    ///
    /// # Errors
    /// [`PairError`] when the design cannot be built.
    pub fn new(design: &PairDesign, streams: Streams) -> Result<Self, PairError> {
        let side = |name, side: &crate::SystemDesign| {
            if matches!(side, crate::SystemDesign::Pair(_)) {
                return Err(PairError::Nested);
            }
            side.build(streams.part(name), &[])
                .map_err(|error| PairError::Side(name, Box::new(error)))
        };
        let (source, destination) =
            (side("source", &design.source)?, side("destination", &design.destination)?);
        Self::over(design, source, destination, streams)
    }
}

impl<O: Observer> Pair<O> {
    /// As [`Pair::new`], over systems that are there.
    fn over(
        design: &PairDesign,
        source: Box<dyn System>,
        destination: Box<dyn System>,
        streams: Streams,
    ) -> Result<Self, PairError> {
        let mut pair = Self {
            state: Replication::new(design, &*source, &*destination, streams)?,
            source,
            destination,
            schedule: Schedule::default(),
            requests: Slab::default(),
            subs: Slab::default(),
            messages: Slab::default(),
            incidents: Vec::new(),
            finished: Vec::new(),
            observer: O::default(),
            listener: None,
        };
        for outage in &design.link.outages {
            pair.plan(outage.start, PairIncident::LinkLost);
            pair.plan(outage.end, PairIncident::LinkReturns);
        }
        if let ResumePolicy::NotBefore(at) = design.resume {
            pair.schedule.set(at, Event::Resume);
        }
        Ok(pair)
    }

    /// The state of the replication.
    pub fn replication(&self) -> &Replication {
        &self.state
    }

    fn plan(&mut self, at: Time, incident: PairIncident) {
        if let PairIncident::LinkFlaps { times, down, up } = incident {
            let period = down + up;
            for number in 0..u64::from(times) {
                let lost = at + period * number;
                self.plan(lost, PairIncident::LinkLost);
                self.plan(lost + down, PairIncident::LinkReturns);
            }
            return;
        }
        assert!(at >= self.state.now, "an incident before now");
        let number = u32::try_from(self.incidents.len()).expect("few incidents");
        self.incidents.push(incident);
        self.schedule.set(at, Event::Incident(number));
    }

    #[inline(always)]
    fn observe(&mut self, group: usize, moved: PairMove) {
        self.observer.see(self.state.now, group, moved);
        if self.listener.is_some() && !moved.is_inner() {
            self.tell(group, moved);
        }
    }

    #[cold]
    fn tell(&mut self, group: usize, moved: PairMove) {
        if let Some(listener) = &mut self.listener {
            listener.observe(self.state.now, group, moved);
        }
    }

    /// Asks one of the systems.
    fn ask(&mut self, site: Site, what: Sub, mut io: HostIo) {
        io.tag = self.subs.insert(what).bits();
        match site {
            Site::Source => self.source.submit(self.state.now, io),
            Site::Destination => self.destination.submit(self.state.now, io),
        }
    }

    /// Goes on with everything that the two systems have finished.
    fn collect(&mut self) {
        loop {
            let done: SmallVec<[Finished; 4]> =
                self.source.finished().chain(self.destination.finished()).collect();
            if done.is_empty() {
                return;
            }
            for one in done {
                let sub = self.subs.remove(Key::from_bits(one.tag));
                match sub.expect("it was asked") {
                    Sub::Plain(request) => self.plain_ended(request, &one),
                    Sub::Local(request) => self.at_source(request, &one),
                    Sub::Log(request) => self.part_ended(request, one.result),
                    Sub::LogRead { group, number, turn } => self.log_read(group, number, turn),
                    Sub::CopyRead { site, group, turn, at } => {
                        self.copy_read(site, group, turn, at, one.result);
                    }
                    Sub::Apply { group, number, turn } => {
                        self.applied(group, number, turn, one.result)
                    }
                }
            }
        }
    }

    fn next_event_at(&self) -> Option<Time> {
        let systems = [self.source.next_at(), self.destination.next_at()];
        let events = systems.into_iter().flatten();
        events.chain(self.schedule.next_at()).min()
    }

    fn pass(&mut self, to: Time) {
        assert!(to >= self.state.now, "time goes back");
        while let Some(next) = self.next_event_at().filter(|next| *next <= to) {
            self.state.now = next;
            for side in [&mut self.source, &mut self.destination] {
                if side.next_at() == Some(next) {
                    side.advance(next);
                }
            }
            self.collect();
            while let Some(Due { event, .. }) = self.schedule.pop(next) {
                match event {
                    Event::Incident(number) => self.apply_incident(self.incidents[number as usize]),
                    Event::Crossed(message) => self.crossed(message),
                    Event::Resume => self.connect_all(),
                }
                self.collect();
            }
        }
        self.state.now = to;
        self.source.advance(to);
        self.destination.advance(to);
    }

    fn check(&self, one: &Scheduled) -> Result<(), Misplaced> {
        let groups = self.state.groups.len();
        let group = |number: usize| match self.state.groups.get(number) {
            None => Err(Misplaced::Part("replication group", number)),
            Some(_) => Ok(()),
        };
        let Incident::Pair(what) = one.incident else {
            return Ok(());
        };
        match what {
            PairIncident::LinkPathLost(path) | PairIncident::LinkPathReturns(path)
                if path >= self.state.link.design().paths =>
            {
                Err(Misplaced::Part("path of the link", path))
            }
            PairIncident::GroupSuspended(number)
                if number < groups && self.state.groups[number].failsafe =>
            {
                Err(Misplaced::Failsafe)
            }
            PairIncident::GroupSuspended(number)
            | PairIncident::GroupResumed { group: number, .. }
            | PairIncident::FailOver { group: Some(number), .. }
            | PairIncident::Keep { group: Some(number), .. } => group(number),
            _ => Ok(()),
        }
    }
}

/// The parts of one side, its arrays numbered from `first`.
fn numbered(side: &dyn System, first: usize) -> impl Iterator<Item = Part<'_>> {
    side.parts().into_iter().map(move |part| match part {
        Part::Array(member, array) => Part::Array(Some(first + member.unwrap_or(0)), array),
        other => other,
    })
}

impl<O: Observer> System for Pair<O> {
    fn submit(&mut self, now: Time, io: HostIo) {
        self.pass(now);
        self.begin(io);
        self.collect();
    }

    fn next_at(&self) -> Option<Time> {
        self.next_event_at()
    }

    fn advance(&mut self, to: Time) {
        self.pass(to);
    }

    fn finished(&mut self) -> Drain<'_, Finished> {
        self.finished.drain(..)
    }

    fn lun_size(&self, lun: u32) -> ByteSize {
        let (site, own) = self.state.site_of(lun);
        match (site, self.state.of_lun[1].get(&own)) {
            (Site::Source, _) => self.source.lun_size(own),
            (Site::Destination, None) => self.destination.lun_size(own),
            // A replica is as large as what it replicates.
            (Site::Destination, Some((group, lun))) => {
                self.source.lun_size(self.state.lun_at(Site::Source, *group, *lun))
            }
        }
    }

    fn schedule(&mut self, one: &Scheduled) -> Result<(), Misplaced> {
        if let Incident::Pair(what) = one.incident {
            self.check(one)?;
            self.plan(one.at, what);
            return Ok(());
        }
        let at_source = self.source.arrays().count();
        let is_at_source = one.array < at_source;
        let of_lun = &self.state.of_lun[usize::from(!is_at_source)];
        let is_refused = match &one.incident {
            Incident::LunGrows(lun, _) | Incident::LunRemoved(lun) => of_lun.contains_key(lun),
            // It would need a number among those of the destination.
            Incident::Snapshot(..) => true,
            _ => false,
        };
        if is_refused {
            return Err(Misplaced::Replicated);
        }
        if is_at_source {
            return self.source.schedule(one);
        }
        self.destination.schedule(&Scheduled { array: one.array - at_source, ..one.clone() })
    }

    fn listen(&mut self, listener: Box<dyn PairListener>) -> Result<(), Misplaced> {
        self.listener = Some(listener);
        Ok(())
    }

    fn assume_written(&mut self, lun: u32, extents: &[Extent]) {
        let (site, own) = self.state.site_of(lun);
        if site == Site::Destination {
            return self.destination.assume_written(own, extents);
        }
        self.source.assume_written(own, extents);
        if let Some(replica) = self.state.replica_of(lun) {
            let (_, replica) = self.state.site_of(replica);
            self.destination.assume_written(replica, extents);
        }
    }

    fn notes_count(&self) -> usize {
        self.state.notes().len() + self.source.notes_count() + self.destination.notes_count()
    }

    fn parts(&self) -> Parts<Part<'_>> {
        let at_source = self.source.arrays().count();
        let mut parts = Parts::new();
        parts.push(Part::Pair(&self.state));
        parts.extend(numbered(&*self.source, 0));
        parts.extend(numbered(&*self.destination, at_source));
        parts
    }

    fn parts_mut(&mut self) -> Parts<PartMut<'_>> {
        let mut parts = self.source.parts_mut();
        parts.extend(self.destination.parts_mut());
        parts
    }
}
