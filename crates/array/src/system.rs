//! What hosts see as one storage system: an array, or a storage pool over several.
//!
//! [`System`] has the six verbs that a world needs. Everything that is measured comes from a walk over the [`Part`]s, so a new
//! kind of system says what it is made of and is measured like the others.

use std::vec::Drain;

use brunt_units::{ByteSize, Time};
use brunt_world::random::Streams;
use smallvec::SmallVec;

use crate::cache::{CacheStats, TierStats};
use crate::design::{ArrayDesign, DesignError, GroupDesign};
use crate::drive::DriveStats;
use crate::incident::{Misplaced, Note, NoteKind, Scheduled};
use crate::paged::{PagedArray, PagedDesign, PagedError};
use crate::{Array, Finished, HostIo, Standing, Unfinished};

/// The design of a [`System`].
#[derive(Clone)]
pub enum SystemDesign {
    /// An array.
    One(Box<ArrayDesign>),
    /// A storage pool over arrays.
    Paged(PagedDesign),
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
    /// An array.
    #[error(transparent)]
    One(#[from] DesignError),
    /// A storage pool.
    #[error(transparent)]
    Paged(#[from] PagedError),
    /// An incident.
    #[error("incident: {0}")]
    Incident(#[from] Misplaced),
}

impl SystemDesign {
    /// The arrays, one or several.
    pub fn arrays(&self) -> &[ArrayDesign] {
        match self {
            Self::One(design) => std::slice::from_ref(design),
            Self::Paged(design) => &design.members,
        }
    }

    /// The names of the LUNs that hosts see, in order.
    pub fn lun_names(&self) -> Vec<&str> {
        match self {
            Self::One(design) => design.luns.iter().map(|lun| lun.name.as_str()).collect(),
            Self::Paged(design) => design.luns.iter().map(|lun| lun.name.as_str()).collect(),
        }
    }

    /// All groups of all arrays, each with the number of its array's first drive among all drives.
    pub fn groups(&self) -> Vec<(usize, &GroupDesign)> {
        let mut first = 0;
        let mut groups = Vec::new();
        for array in self.arrays() {
            groups.extend(array.groups.iter().map(|group| (first, group)));
            first += array.drives.len();
        }
        groups
    }

    /// The system at time zero, with `incidents` scheduled.
    ///
    /// # Errors
    /// [`SystemError`] when the design cannot be built, or an incident names something that it does not have.
    pub fn build(
        &self,
        streams: Streams,
        incidents: &[Scheduled],
    ) -> Result<Box<dyn System>, SystemError> {
        let mut system: Box<dyn System> = match self {
            Self::One(design) => Box::new(Array::new(design, streams)?),
            Self::Paged(design) => Box::new(PagedArray::new(design, streams)?),
        };
        for incident in incidents {
            system.schedule(incident)?;
        }
        Ok(system)
    }
}

/// Storage in virtual time, as its hosts see it.
pub trait System {
    /// Takes a request at `now`. It always finishes, with an error if need be.
    ///
    /// # Panics
    /// When `now` has passed.
    fn submit(&mut self, now: Time, io: HostIo);

    /// The time of the next event, if no further request comes.
    fn next_at(&self) -> Option<Time>;

    /// Lets everything happen that is due by `to`, and makes that now.
    ///
    /// # Panics
    /// When `to` has passed.
    fn advance(&mut self, to: Time);

    /// Takes the requests that have finished since the last call, in order.
    fn finished(&mut self) -> Drain<'_, Finished>;

    /// Size of a LUN.
    fn lun_size(&self, lun: u32) -> ByteSize;

    /// Schedules an incident.
    ///
    /// # Errors
    /// [`Misplaced`] when the system does not have what the incident is about.
    ///
    /// # Panics
    /// When its time has passed.
    fn schedule(&mut self, incident: &Scheduled) -> Result<(), Misplaced>;

    /// The parts, a pool before its members.
    fn parts(&self) -> Parts<Part<'_>>;

    /// The same, to reset what they have measured.
    fn parts_mut(&mut self) -> Parts<PartMut<'_>>;
}

/// A list of parts; short for most systems.
pub type Parts<P> = SmallVec<[P; 2]>;

/// A part of a system.
#[derive(Clone, Copy)]
pub enum Part<'s> {
    /// A storage pool, without its members.
    Pool(&'s PagedArray),
    /// An array, with its number when it is a pool's member.
    Array(Option<usize>, &'s Array),
}

/// A part of a system, to be changed.
pub enum PartMut<'s> {
    /// A storage pool and its members.
    Pool(&'s mut PagedArray),
    /// An array that is not a pool's member.
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
    /// Now.
    pub fn now(&self) -> Time {
        match self.parts()[0] {
            Part::Pool(pool) => pool.now(),
            Part::Array(_, array) => array.now(),
        }
    }

    /// The arrays, one or several.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.parts().into_iter().filter_map(|part| match part {
            Part::Pool(_) => None,
            Part::Array(_, array) => Some(array),
        })
    }

    /// The storage pool, if it is one.
    pub fn pool(&self) -> Option<&PagedArray> {
        self.parts().into_iter().find_map(|part| match part {
            Part::Pool(pool) => Some(pool),
            Part::Array(..) => None,
        })
    }

    /// The event log, in order of time. Members of a pool are named.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for part in self.parts() {
            match part {
                Part::Pool(pool) => notes.extend_from_slice(pool.notes()),
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

    /// Entries in the event log.
    pub(crate) fn notes_count(&self) -> usize {
        let parts = self.parts().into_iter();
        let counts = parts.map(|part| match part {
            Part::Pool(pool) => pool.notes().len(),
            Part::Array(_, array) => array.notes().len(),
        });
        counts.sum()
    }

    /// The state of the worst group of all arrays; see [`Array::standing`].
    pub fn standing(&self) -> Standing {
        self.arrays().map(Array::standing).max().unwrap_or_default()
    }

    /// The repairs of all arrays that are under way.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        let parts = self.parts().into_iter();
        let all = parts.flat_map(|part| match part {
            Part::Pool(_) => Vec::new(),
            Part::Array(member, array) => {
                let mut own = array.unfinished();
                own.iter_mut().for_each(|one| one.member = member);
                own
            }
        });
        all.collect()
    }

    /// Starts measuring anew, now.
    pub fn forget_stats(&mut self) {
        for part in self.parts_mut() {
            match part {
                PartMut::Pool(pool) => pool.forget_stats(),
                PartMut::Array(array) => array.forget_stats(),
            }
        }
    }

    /// What was measured on each drive of each array, up to now.
    pub fn drive_stats(&self) -> Vec<DriveStats> {
        self.arrays().flat_map(Array::drive_stats).collect()
    }

    /// Counts of all caches together, if there are any.
    pub fn cache_stats(&self) -> Option<CacheStats> {
        let caches = self.arrays().filter_map(Array::cache_stats);
        caches.reduce(|all, one| all.and(&one))
    }

    /// Counts of all solid-state tiers together, if there are any.
    pub fn tier_stats(&self) -> Option<TierStats> {
        let tiers = self.arrays().filter_map(Array::tier_stats);
        tiers.reduce(|all, one| all.and(&one))
    }

    /// See [`Array::front_utilisations`]: controllers and ports one array after the other, the busiest link.
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
            let one = Scheduled {
                at,
                array,
                incident,
            };
            let built = design.build(Streams::new(1), &[one]);
            built.err().map(|error| error.to_string())
        };
        let one = |array_number, incident| refusal(array().into(), array_number, incident);
        let is_missing = |what: &str| Some(format!("incident: there is no {what}"));
        assert_eq!(one(0, Incident::DriveFails(3)), None);
        assert_eq!(one(0, Incident::DriveFails(4)), is_missing("drive 4"));
        assert_eq!(one(1, Incident::DriveFails(3)), is_missing("array 1"));
        assert_eq!(
            one(0, Incident::ControllerFails(7)),
            is_missing("controller 7")
        );
        assert_eq!(one(0, Incident::PoolGrows(1, 0)), is_missing("group 1"));
        let snapshot = one(0, Incident::Snapshot(0, "copy".into())).unwrap();
        assert!(snapshot.contains("only a storage pool"), "{snapshot}");

        let pool = || {
            let lun = PagedLunDesign {
                name: "mail".into(),
                size: ByteSize::gib(1),
                is_thin: true,
            };
            PagedDesign {
                members: vec![array(), array()],
                later: Vec::new(),
                page: ByteSize::mib(1),
                grain: ByteSize::kib(64),
                luns: vec![lun],
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
