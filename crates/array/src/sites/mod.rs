//! Two storage pools at two sites, one of which keeps replicas of the other's LUNs: asynchronous
//! replication of volumes.
//!
//! ```text
//!    hosts -> source                                    partner -> hosts of clones
//!               | start: a snapshot of the set            ^  replica: a snapshot of its LUNs there
//!               +-> blocks that changed since the last start -> link (or media) -+
//! ```
//!
//! Hosts' writes never wait for the partner. A replication brings what has changed since the start
//! of the one before; when all of it is there, the partner makes a replica, and the oldest goes.
//! The instant of the newest is what would be left of a lost source.
//!
//! Invariant: a replica has what the set had at its instant, as a snapshot would (`paged::gates`).
//! Invariant: a complete replica does not change.
//!
//! Source: Dell EqualLogic, "Group Manager Administrator's Guide" (PS6210), pp. 240-243; "Using
//! Asynchronous Replication", TR1052.

mod design;
mod listener;
mod notes;
mod observer;
mod sending;
mod state;
#[cfg(test)]
mod tests;
mod transfer;
#[cfg(test)]
mod truth;

use std::vec::Drain;

use brunt_units::{ByteSize, Time};
use brunt_world::random::Streams;
use brunt_world::{Due, Schedule};
use smallvec::SmallVec;

use crate::incident::{Incident, Misplaced, Note, Scheduled};
use crate::paged::{CloneOf, Grains, PagedArray, VolumeIncident};
use crate::pair::{PairIncident, PairLink};
use crate::slab::{Key, Slab};
use crate::system::{Part, PartMut, Parts, System};
use crate::{Extent, Finished, HostIo, SystemDesign};
pub use design::{ReplicaDesign, Seed, SitesDesign, SitesError};
use listener::Listening;
pub use listener::{InReplica, ReplicaListener, ReplicaMove};
use notes::SiteNote as Noted;
pub use notes::{ReplicaNote, SiteNote};
use observer::{SitesMove, SitesObserver};
use sending::Message;
use state::{Counted, Replicated};
pub use state::{ReplicaState, Replicas};
use transfer::{AT_THE_PARTNER, Block, OVER_THE_LINK};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A scheduled incident.
    Incident(u32),
    /// A replication starts.
    Start(usize),
    /// A crossing of the link arrives.
    Crossed(Key),
    /// Media arrive.
    Arrived(usize),
    /// The partner is tried again, if this is still the turn.
    Retry(usize, u32),
}

/// What a request to one of the pools is for.
#[derive(Clone, Debug)]
enum Sub {
    /// A host's, as it made it.
    Host(HostIo),
    /// A block is read at the source.
    Read(Block),
    /// A block is written at the partner.
    Write(Block, Option<Key>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    Source,
    Partner,
}

/// Two pools, one of which keeps replicas of the other's LUNs.
pub struct Sites {
    state: Replicas,
    source: PagedArray,
    partner: PagedArray,
    schedule: Schedule<Event>,
    subs: Slab<Sub>,
    messages: Slab<Message>,
    incidents: Vec<Incident>,
    finished: Vec<Finished>,
    /// LUN numbers of hosts below this are those of the source; others are clones at the partner.
    first_at_partner: u32,
    /// The number that the first of these has at the partner.
    partner_clones: u32,
    listening: Listening,
    outstanding: u32,
    block_grains: u64,
    page_grains: u64,
    grain_sectors: u64,
    observer: Option<Box<dyn SitesObserver>>,
}

impl Sites {
    /// Creates the pools of `design` at time zero.
    ///
    /// # Errors
    /// [`SitesError`] when the design cannot be built.
    pub fn new(design: &SitesDesign, streams: Streams) -> Result<Self, SitesError> {
        design.check()?;
        let pool = |name, pool: &_| {
            let streams = streams.part(name);
            PagedArray::new(pool, streams).map_err(|error| SitesError::Pool(name, error))
        };
        let (mut source, partner) =
            (pool("source", &design.source)?, pool("partner", &design.partner)?);
        let link = PairLink::new(design.link.clone(), &streams.part("link"))?;
        let mut schedule = Schedule::default();
        let (mut sets, mut next) = (Vec::new(), 0_u32);
        for (number, replica) in design.replicas.iter().enumerate() {
            for lun in &replica.luns {
                source.keep_changes(*lun);
                if let Some(percent) = replica.local_reserve {
                    source.reserve_for_starts(*lun, percent);
                }
            }
            let count = u32::try_from(replica.luns.len()).expect("few LUNs");
            sets.push(Replicated {
                design: replica.clone(),
                incoming: (next..next + count).collect(),
                transfer: None,
                owed: vec![Grains::default(); replica.luns.len()],
                failback: Vec::new(),
                turn: 0,
                writing: 0,
                started: 0,
                newest: None,
                counted: Counted::default(),
            });
            next += count;
            schedule.set(replica.first, Event::Start(number));
        }
        let small = |count: usize| u32::try_from(count).expect("few LUNs");
        let grain = design.source.grain.get();
        let count = sets.len();
        let mut sites = Self {
            state: Replicas {
                now: Time::ZERO,
                link,
                is_partner_up: true,
                sets,
                notes: Vec::new(),
                grain: design.source.grain,
                kept: vec![0; count],
                changed: vec![0; count],
            },
            source,
            partner,
            schedule,
            subs: Slab::default(),
            messages: Slab::default(),
            incidents: Vec::new(),
            finished: Vec::new(),
            first_at_partner: small(design.source.luns.len() + design.source.clones.len()),
            partner_clones: small(design.partner.luns.len()),
            listening: Listening::default(),
            outstanding: design.outstanding.max(1),
            block_grains: design.block.get().div_euclid(grain).max(1),
            page_grains: design.source.page.get().div_euclid(grain),
            grain_sectors: grain.div_euclid(512),
            observer: None,
        };
        for outage in &design.link.outages {
            sites.plan(outage.start, Incident::Pair(PairIncident::LinkLost));
            sites.plan(outage.end, Incident::Pair(PairIncident::LinkReturns));
        }
        Ok(sites)
    }

    pub fn replicas(&self) -> &Replicas {
        &self.state
    }

    fn plan(&mut self, at: Time, incident: Incident) {
        assert!(at >= self.state.now, "an incident before now");
        let number = u32::try_from(self.incidents.len()).expect("few incidents");
        self.incidents.push(incident);
        self.schedule.set(at, Event::Incident(number));
    }

    fn apply_incident(&mut self, number: u32) {
        match self.incidents[number as usize].clone() {
            Incident::Pair(PairIncident::LinkLost) => self.set_link(false),
            Incident::Pair(PairIncident::LinkReturns) => self.set_link(true),
            Incident::Pair(PairIncident::LinkPathLost(path)) => self.set_path(path, false),
            Incident::Pair(PairIncident::LinkPathReturns(path)) => self.set_path(path, true),
            Incident::Pair(PairIncident::DestinationLost) => self.set_partner(false),
            Incident::Pair(PairIncident::DestinationReturns) => self.set_partner(true),
            Incident::Volumes(VolumeIncident::Clone { of, name }) => {
                self.partner.clone_luns(&of, &name);
            }
            other => unreachable!("{other:?} is for a pool"),
        }
    }

    fn set_link(&mut self, is_up: bool) {
        self.state.link.set_cut(!is_up);
        self.state.note(Noted::Link(is_up));
        self.reach(is_up, OVER_THE_LINK);
    }

    fn set_partner(&mut self, is_up: bool) {
        self.state.is_partner_up = is_up;
        self.state.note(Noted::Partner(is_up));
        self.reach(is_up, AT_THE_PARTNER);
    }

    fn set_path(&mut self, path: usize, is_up: bool) {
        let was_up = self.state.link.is_up();
        self.state.link.set_path(path, is_up);
        self.state.note(Noted::LinkPath(path, is_up));
        if !is_up {
            self.drop_path(path);
        }
        if was_up != self.state.link.is_up() {
            self.reach(is_up, OVER_THE_LINK);
        } else {
            (0..self.state.sets.len()).for_each(|set| self.pump(set));
        }
    }

    /// Asks one of the pools.
    fn ask(&mut self, site: Site, what: Sub, mut io: HostIo) {
        io.tag = self.subs.insert(what).bits();
        self.observe(SitesMove::Asked { site, io });
        match site {
            Site::Source => self.source.submit(self.state.now, io),
            Site::Partner => self.partner.submit(self.state.now, io),
        }
    }

    /// Goes on with everything that the pools have finished.
    fn collect(&mut self) {
        loop {
            let done: SmallVec<[(Site, Finished); 4]> = self
                .source
                .finished()
                .map(|one| (Site::Source, one))
                .chain(self.partner.finished().map(|one| (Site::Partner, one)))
                .collect();
            if done.is_empty() {
                return;
            }
            for (_, one) in done {
                let sub = self.subs.remove(Key::from_bits(one.tag));
                match sub.expect("it was asked") {
                    Sub::Host(io) => {
                        self.listening.finished(&io, one.result);
                        self.finished.push(Finished { tag: io.tag, ..one });
                    }
                    Sub::Read(block) => {
                        self.observe(SitesMove::Read { block: &block, tag: one.tag });
                        self.was_read_at_source(block, one.result);
                    }
                    Sub::Write(block, message) => self.was_written(&block, message, one.result),
                }
            }
        }
    }

    fn next_event_at(&self) -> Option<Time> {
        let pools = [self.source.next_at(), self.partner.next_at()];
        let events = pools.into_iter().flatten();
        events.chain(self.schedule.next_at()).min()
    }

    fn pass(&mut self, to: Time) {
        assert!(to >= self.state.now, "time goes back");
        while let Some(next) = self.next_event_at().filter(|next| *next <= to) {
            self.state.now = next;
            for pool in [&mut self.source, &mut self.partner] {
                if pool.next_at() == Some(next) {
                    pool.advance(next);
                }
            }
            if self.schedule.next_at() == Some(next) {
                // What happens now may concern both.
                self.source.advance(next);
                self.partner.advance(next);
            }
            self.collect();
            while let Some(Due { event, .. }) = self.schedule.pop(next) {
                match event {
                    Event::Incident(number) => self.apply_incident(number),
                    Event::Start(set) => self.start(set),
                    Event::Crossed(message) => self.crossed(message),
                    Event::Arrived(set) => self.media_arrived(set),
                    Event::Retry(set, turn) => self.retry(set, turn),
                }
                self.collect();
            }
        }
        self.state.now = to;
        self.source.advance(to);
        self.partner.advance(to);
        self.collect();
        self.look();
    }

    /// Brings what is reported up to date.
    fn look(&mut self) {
        for (number, set) in self.state.sets.iter().enumerate() {
            self.state.kept[number] = self.partner.count_of(&set.design.name);
            let luns = set.design.luns.iter();
            let changed = luns.filter_map(|lun| self.source.changes(*lun));
            self.state.changed[number] = changed.map(Grains::count).sum();
        }
    }

    /// Where a host's LUN lies, and its number there.
    fn place(&self, lun: u32) -> (Site, u32) {
        match lun.checked_sub(self.first_at_partner) {
            None => (Site::Source, lun),
            Some(clone) => (Site::Partner, self.partner_clones + clone),
        }
    }
}

/// Whether it is an incident of the link or the partner that two pools have.
fn check(what: PairIncident, paths: usize) -> Result<(), Misplaced> {
    match what {
        PairIncident::LinkPathLost(path) | PairIncident::LinkPathReturns(path) if path >= paths => {
            Err(Misplaced::Part("path of the link", path))
        }
        PairIncident::LinkLost
        | PairIncident::LinkReturns
        | PairIncident::LinkPathLost(_)
        | PairIncident::LinkPathReturns(_)
        | PairIncident::DestinationLost
        | PairIncident::DestinationReturns => Ok(()),
        // Groups and failovers are those of a pair.
        _ => Err(Misplaced::NoPair),
    }
}

impl System for Sites {
    fn submit(&mut self, now: Time, io: HostIo) {
        self.pass(now);
        let (site, lun) = self.place(io.lun);
        self.ask(site, Sub::Host(io), HostIo { lun, ..io });
        self.collect();
    }

    fn next_at(&self) -> Option<Time> {
        self.next_event_at()
    }

    fn advance(&mut self, to: Time) {
        self.pass(to);
    }

    fn finished(&mut self) -> Drain<'_, Finished> {
        self.listening.taken();
        self.finished.drain(..)
    }

    fn lun_size(&self, lun: u32) -> ByteSize {
        match self.place(lun) {
            (Site::Source, lun) => self.source.lun_size(lun),
            (Site::Partner, lun) => self.partner.lun_size(lun),
        }
    }

    fn schedule(&mut self, one: &Scheduled) -> Result<(), Misplaced> {
        match &one.incident {
            Incident::Pair(what) => {
                check(*what, self.state.link.design().paths)?;
                self.plan(one.at, one.incident.clone());
                Ok(())
            }
            Incident::Volumes(VolumeIncident::Clone { of: CloneOf::Replica(_), .. }) => {
                self.plan(one.at, one.incident.clone());
                Ok(())
            }
            Incident::LunGrows(lun, _) | Incident::LunRemoved(lun)
                if self.state.is_replicated(*lun) =>
            {
                Err(Misplaced::HasReplicas)
            }
            _ => {
                let members = self.source.members().len();
                match one.array.checked_sub(members) {
                    None => self.source.schedule_incident(one),
                    Some(array) => {
                        self.partner.schedule_incident(&Scheduled { array, ..one.clone() })
                    }
                }
            }
        }
    }

    fn listen_to_replicas(&mut self, listener: Box<dyn ReplicaListener>) -> Result<(), Misplaced> {
        self.listening.listen(listener);
        Ok(())
    }

    fn assume_written(&mut self, lun: u32, extents: &[Extent]) {
        if let (Site::Source, lun) = self.place(lun) {
            self.source.assume_written(lun, extents);
        }
    }

    fn notes_count(&self) -> usize {
        self.state.notes().len() + self.source.notes_count() + self.partner.notes_count()
    }

    fn parts(&self) -> Parts<Part<'_>> {
        let mut parts = Parts::new();
        parts.push(Part::Replicas(&self.state));
        parts.extend(System::parts(&self.source));
        parts.push(Part::Partner(&self.partner));
        let first = self.source.members().len();
        let members = self.partner.members().iter().enumerate();
        parts.extend(members.map(|(number, array)| Part::Array(Some(first + number), array)));
        parts
    }

    fn parts_mut(&mut self) -> Parts<PartMut<'_>> {
        let pools = [&mut self.source, &mut self.partner];
        pools.into_iter().map(PartMut::Pool).collect()
    }
}

impl From<SitesDesign> for SystemDesign {
    fn from(design: SitesDesign) -> Self {
        Self::Sites(Box::new(design))
    }
}

/// The notes of the partner, so named.
pub(crate) fn of_partner(notes: &[Note]) -> impl Iterator<Item = Note> {
    notes.iter().map(|note| Note {
        at: note.at,
        what: crate::NoteKind::AtPartner(Box::new(note.what.clone())),
    })
}
