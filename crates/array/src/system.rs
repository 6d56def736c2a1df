//! A storage system as hosts see it: an array, a storage pool over several, a pair of these, or two
//! pools with replicas.
//!
//! [`System`] has the six methods that a world needs. All measurements come from a walk over the
//! [`Part`]s, so a new kind of system only lists its parts to be measured like the others.

use std::vec::Drain;

use brunt_units::{ByteSize, Time};
use brunt_world::random::Streams;
use smallvec::SmallVec;

use crate::cache::{CacheStats, TierStats};
use crate::design::{ArrayDesign, DesignError, GroupDesign};
use crate::drive::DriveStats;
use crate::incident::{Misplaced, Note, NoteKind, Scheduled};
use crate::paged::{PagedArray, PagedDesign, PagedError};
use crate::pair::{Pair, PairDesign, PairError, PairListener, Replication};
use crate::sites::{ReplicaListener, Replicas, Sites, SitesDesign, SitesError, of_partner};
use crate::{Array, Extent, Finished, HostIo, Standing, Unfinished};

/// The design of a [`System`].
#[derive(Clone)]
pub enum SystemDesign {
    /// A single array.
    One(Box<ArrayDesign>),
    /// A storage pool over arrays.
    Paged(PagedDesign),
    /// Two of these, one of which replicates to the other.
    Pair(PairDesign),
    /// Two storage pools, one of which keeps replicas of the other's LUNs.
    Sites(Box<SitesDesign>),
}

impl From<PairDesign> for SystemDesign {
    fn from(design: PairDesign) -> Self {
        Self::Pair(design)
    }
}

impl From<ArrayDesign> for SystemDesign {
    fn from(design: ArrayDesign) -> Self {
        Self::One(Box::new(design))
    }
}

impl From<PagedDesign> for SystemDesign {
    fn from(design: PagedDesign) -> Self {
        Self::Paged(design)
    }
}

/// Why a system cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemError {
    /// The array cannot be built.
    #[error(transparent)]
    One(#[from] DesignError),
    /// The storage pool cannot be built.
    #[error(transparent)]
    Paged(#[from] PagedError),
    /// The pair cannot be built.
    #[error(transparent)]
    Pair(Box<PairError>),
    /// The two pools cannot be built.
    #[error(transparent)]
    Sites(#[from] SitesError),
    /// An incident cannot be scheduled.
    #[error("incident: {0}")]
    Incident(#[from] Misplaced),
}

impl SystemDesign {
    /// The arrays; one or several. Those of a pair's source come first.
    pub fn arrays(&self) -> Vec<&ArrayDesign> {
        match self {
            Self::One(design) => vec![design],
            Self::Paged(design) => design.members.iter().collect(),
            Self::Pair(design) => {
                let sides = [&design.source, &design.destination];
                sides.iter().flat_map(|side| side.arrays()).collect()
            }
            Self::Sites(design) => {
                let pools = [&design.source, &design.partner];
                pools.iter().flat_map(|pool| &pool.members).collect()
            }
        }
    }

    /// The names of the LUNs that hosts see, in order; of a pair, those of its source.
    pub fn lun_names(&self) -> Vec<&str> {
        match self {
            Self::One(design) => design.luns.iter().map(|lun| lun.name.as_str()).collect(),
            Self::Paged(design) => {
                let luns = design.luns.iter().map(|lun| lun.name.as_str());
                luns.chain(design.clones.iter().map(String::as_str)).collect()
            }
            Self::Pair(design) => design.source.lun_names(),
            Self::Sites(design) => design.lun_names(),
        }
    }

    /// The names of all LUNs by their number in [`System`]: those of a pair's destination come
    /// after those of its source.
    pub fn all_lun_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.lun_names().into_iter().map(str::to_owned).collect();
        if let Self::Pair(pair) = self {
            let replicas = pair.destination.lun_names().into_iter();
            names.extend(replicas.map(|name| format!("{name} at the destination")));
        }
        names
    }

    /// All groups of all arrays, each with the system-wide number of its array's first drive.
    pub fn groups(&self) -> Vec<(usize, &GroupDesign)> {
        let mut first = 0;
        let mut groups = Vec::new();
        for array in self.arrays() {
            groups.extend(array.groups.iter().map(|group| (first, group)));
            first += array.drives.len();
        }
        groups
    }

    /// Builds the system at time zero, with `incidents` scheduled.
    ///
    /// # Errors
    /// [`SystemError`] when the design cannot be built, or an incident names a part that does not
    /// exist.
    pub fn build(
        &self,
        streams: Streams,
        incidents: &[Scheduled],
    ) -> Result<Box<dyn System>, SystemError> {
        let mut system: Box<dyn System> = match self {
            Self::One(design) => Box::new(Array::new(design, streams)?),
            Self::Paged(design) => Box::new(PagedArray::new(design, streams)?),
            Self::Pair(design) => Box::new(Pair::new(design, streams)?),
            Self::Sites(design) => Box::new(Sites::new(design, streams)?),
        };
        for incident in incidents {
            system.schedule(incident)?;
        }
        Ok(system)
    }
}

/// Virtual-time storage, as its hosts see it.
pub trait System {
    /// Submits a request at `now`. It always finishes, possibly with an error.
    ///
    /// # Panics
    /// When `now` is in the past.
    fn submit(&mut self, now: Time, io: HostIo);

    /// The time of the next event, if no more requests come in.
    fn next_at(&self) -> Option<Time>;

    /// Processes every event due by `to` and moves the clock there.
    ///
    /// # Panics
    /// When `to` is in the past.
    fn advance(&mut self, to: Time);

    /// Takes the requests that have finished since the last call, in order.
    fn finished(&mut self) -> Drain<'_, Finished>;

    fn lun_size(&self, lun: u32) -> ByteSize;

    /// Schedules an incident.
    ///
    /// # Errors
    /// [`Misplaced`] when the system lacks a part that the incident names.
    ///
    /// # Panics
    /// When its time is in the past.
    fn schedule(&mut self, incident: &Scheduled) -> Result<(), Misplaced>;

    /// Tells `listener` of every replicated write from now on, instead of the one before it. Nobody
    /// listens at first, and that costs nothing.
    ///
    /// # Errors
    /// [`Misplaced::NoPair`] when nothing is replicated.
    fn listen(&mut self, _listener: Box<dyn PairListener>) -> Result<(), Misplaced> {
        Err(Misplaced::NoPair)
    }

    /// Tells `listener` of every replica from now on, instead of the one before it.
    ///
    /// # Errors
    /// [`Misplaced::NoPair`] when no volumes are replicated.
    fn listen_to_replicas(&mut self, _listener: Box<dyn ReplicaListener>) -> Result<(), Misplaced> {
        Err(Misplaced::NoPair)
    }

    /// Treats `extents` of a LUN as already written, in no time; see
    /// `ArrayDevice::assume_written` of the lab.
    fn assume_written(&mut self, _lun: u32, _extents: &[Extent]) {}

    /// Number of entries in the event log; asked after every event.
    fn notes_count(&self) -> usize;

    /// The parts; a pool comes before its members, a pair before its two sides.
    fn parts(&self) -> Parts<Part<'_>>;

    /// The same, for resetting their measurements.
    fn parts_mut(&mut self) -> Parts<PartMut<'_>>;
}

/// A list of parts; short for most systems.
pub type Parts<P> = SmallVec<[P; 2]>;

/// A part of a system.
#[derive(Clone, Copy)]
pub enum Part<'s> {
    /// The replication of a pair, without its two sides.
    Pair(&'s Replication),
    /// The replicas of two pools, without these.
    Replicas(&'s Replicas),
    /// A storage pool, without its members.
    Pool(&'s PagedArray),
    /// The storage pool at the other site, without its members.
    Partner(&'s PagedArray),
    /// An array, with its number if there are several: in a pool, or in a pair, where those of the
    /// source come first.
    Array(Option<usize>, &'s Array),
}

/// A mutable part of a system.
pub enum PartMut<'s> {
    /// A storage pool with its members.
    Pool(&'s mut PagedArray),
    /// An array that is not a member of a pool.
    Array(&'s mut Array),
}

impl System for Array {
    fn submit(&mut self, now: Time, io: HostIo) {
        Self::submit(self, now, io);
    }

    fn next_at(&self) -> Option<Time> {
        Self::next_at(self)
    }

    fn advance(&mut self, to: Time) {
        Self::advance(self, to);
    }

    fn finished(&mut self) -> Drain<'_, Finished> {
        Self::finished(self)
    }

    fn lun_size(&self, lun: u32) -> ByteSize {
        Self::lun_size(self, lun)
    }

    fn schedule(&mut self, one: &Scheduled) -> Result<(), Misplaced> {
        match one.array {
            0 => self.schedule_incident(one.at, one.incident.clone()),
            other => Err(Misplaced::Part("array", other)),
        }
    }

    fn notes_count(&self) -> usize {
        self.notes().len()
    }

    fn parts(&self) -> Parts<Part<'_>> {
        std::iter::once(Part::Array(None, self)).collect()
    }

    fn parts_mut(&mut self) -> Parts<PartMut<'_>> {
        std::iter::once(PartMut::Array(self)).collect()
    }
}

impl System for PagedArray {
    fn submit(&mut self, now: Time, io: HostIo) {
        Self::submit(self, now, io);
    }

    fn next_at(&self) -> Option<Time> {
        Self::next_at(self)
    }

    fn advance(&mut self, to: Time) {
        Self::advance(self, to);
    }

    fn finished(&mut self) -> Drain<'_, Finished> {
        Self::finished(self)
    }

    fn lun_size(&self, lun: u32) -> ByteSize {
        Self::lun_size(self, lun)
    }

    fn schedule(&mut self, one: &Scheduled) -> Result<(), Misplaced> {
        self.schedule_incident(one)
    }

    fn assume_written(&mut self, lun: u32, extents: &[Extent]) {
        Self::assume_written(self, lun, extents);
    }

    fn notes_count(&self) -> usize {
        let members = self.members().iter().map(System::notes_count);
        self.notes().len() + members.sum::<usize>()
    }

    fn parts(&self) -> Parts<Part<'_>> {
        let members = self.members().iter().enumerate();
        let members = members.map(|(number, array)| Part::Array(Some(number), array));
        std::iter::once(Part::Pool(self)).chain(members).collect()
    }

    fn parts_mut(&mut self) -> Parts<PartMut<'_>> {
        std::iter::once(PartMut::Pool(self)).collect()
    }
}

impl dyn System + '_ {
    /// The current time.
    pub fn now(&self) -> Time {
        match self.parts()[0] {
            Part::Pair(pair) => pair.now(),
            Part::Replicas(replicas) => replicas.now(),
            Part::Pool(pool) | Part::Partner(pool) => pool.now(),
            Part::Array(_, array) => array.now(),
        }
    }

    /// The arrays; one or several.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.parts().into_iter().filter_map(|part| match part {
            Part::Array(_, array) => Some(array),
            _ => None,
        })
    }

    /// The storage pool, if there is one.
    pub fn pool(&self) -> Option<&PagedArray> {
        self.parts().into_iter().find_map(|part| match part {
            Part::Pool(pool) => Some(pool),
            _ => None,
        })
    }

    /// The replication, if this is a pair.
    pub fn replication(&self) -> Option<&Replication> {
        match self.parts().first() {
            Some(Part::Pair(pair)) => Some(pair),
            _ => None,
        }
    }

    /// The replicas, if there are two pools.
    pub fn replicas(&self) -> Option<&Replicas> {
        match self.parts().first() {
            Some(Part::Replicas(replicas)) => Some(replicas),
            _ => None,
        }
    }

    /// The event log, in order of time. Entries of pool members name the member.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for part in self.parts() {
            match part {
                Part::Pair(pair) => notes.extend_from_slice(pair.notes()),
                Part::Replicas(replicas) => notes.extend_from_slice(replicas.notes()),
                Part::Pool(pool) => notes.extend_from_slice(pool.notes()),
                Part::Partner(pool) => notes.extend(of_partner(pool.notes())),
                Part::Array(None, array) => notes.extend_from_slice(array.notes()),
                Part::Array(Some(member), array) => {
                    notes.extend(array.notes().iter().map(|note| Note {
                        at: note.at,
                        what: NoteKind::Member(member, Box::new(note.what.clone())),
                    }));
                }
            }
        }
        notes.sort_by_key(|note| note.at);
        notes
    }

    /// The standing of the worst group of all arrays; see [`Array::standing`].
    pub fn standing(&self) -> Standing {
        self.arrays().map(Array::standing).max().unwrap_or_default()
    }

    /// The repairs under way in all arrays.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        let parts = self.parts().into_iter();
        let all = parts.flat_map(|part| match part {
            Part::Array(member, array) => {
                let mut own = array.unfinished();
                own.iter_mut().for_each(|one| one.member = member);
                own
            }
            _ => Vec::new(),
        });
        all.collect()
    }

    /// Restarts measurement now.
    pub fn forget_stats(&mut self) {
        for part in self.parts_mut() {
            match part {
                PartMut::Pool(pool) => pool.forget_stats(),
                PartMut::Array(array) => array.forget_stats(),
            }
        }
    }

    /// Measurements of each drive of each array, up to now.
    pub fn drive_stats(&self) -> Vec<DriveStats> {
        self.arrays().flat_map(Array::drive_stats).collect()
    }

    /// Counters of all caches together, if there are any.
    pub fn cache_stats(&self) -> Option<CacheStats> {
        let caches = self.arrays().filter_map(Array::cache_stats);
        caches.reduce(|all, one| all.and(&one))
    }

    /// Counters of all solid-state tiers together, if there are any.
    pub fn tier_stats(&self) -> Option<TierStats> {
        let tiers = self.arrays().filter_map(Array::tier_stats);
        tiers.reduce(|all, one| all.and(&one))
    }

    /// As [`Array::front_utilisations`]: controllers and ports array by array, and the busiest
    /// link.
    pub fn front_utilisations(&self) -> (Vec<f64>, Vec<f64>, f64) {
        let (mut controllers, mut ports, mut between) = (Vec::new(), Vec::new(), 0.0_f64);
        for array in self.arrays() {
            let (own, own_ports, link) = array.front_utilisations();
            controllers.extend(own);
            ports.extend(own_ports);
            between = between.max(link);
        }
        (controllers, ports, between)
    }

    /// Requests to drives so far.
    pub fn device_ios(&self) -> u64 {
        self.arrays().map(Array::device_ios).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::library;
    use crate::incident::Incident;
    use crate::{Level, PagedLunDesign};

    fn array() -> ArrayDesign {
        let model = library::find("cheetah-15k5-146-fc").unwrap();
        ArrayDesign::one_group(&model, 4, Level::Raid10)
    }

    #[test]
    fn an_incident_of_what_is_not_there_is_refused() {
        let refusal = |design: SystemDesign, array, incident| {
            let at = Time::ZERO;
            let one = Scheduled { at, array, incident };
            let built = design.build(Streams::new(1), &[one]);
            built.err().map(|error| error.to_string())
        };
        let one = |array_number, incident| refusal(array().into(), array_number, incident);
        let is_missing = |what: &str| Some(format!("incident: there is no {what}"));
        assert_eq!(one(0, Incident::DriveFails(3)), None);
        assert_eq!(one(0, Incident::DriveFails(4)), is_missing("drive 4"));
        assert_eq!(one(1, Incident::DriveFails(3)), is_missing("array 1"));
        assert_eq!(one(0, Incident::ControllerFails(7)), is_missing("controller 7"));
        assert_eq!(one(0, Incident::PoolGrows(1, 0)), is_missing("group 1"));
        let snapshot = one(0, Incident::Snapshot(0, "copy".into())).unwrap();
        assert!(snapshot.contains("only a storage pool"), "{snapshot}");

        let pool = || {
            let lun = PagedLunDesign {
                name: "mail".into(),
                size: ByteSize::gib(1),
                is_thin: true,
                reserve: None,
            };
            PagedDesign {
                members: vec![array(), array()],
                later: Vec::new(),
                page: ByteSize::mib(1),
                grain: ByteSize::kib(64),
                luns: vec![lun],
                clones: Vec::new(),
                balance: None,
            }
        };
        let paged = |member, incident| refusal(pool().into(), member, incident);
        assert_eq!(paged(1, Incident::DriveFails(3)), None);
        assert_eq!(paged(2, Incident::DriveFails(3)), is_missing("member 2"));
        assert_eq!(paged(1, Incident::PathDown(99)), is_missing("path 99"));
        assert_eq!(paged(0, Incident::MemberJoins(2)), is_missing("member 2"));
        assert_eq!(paged(0, Incident::Snapshot(0, "copy".into())), None);
    }
}
