//! What hosts see as one thing: an array, or LUNs in pages over several.

use brunt_units::{ByteSize, Time};
use brunt_world::random::Streams;

use crate::cache::{CacheStats, TierStats};
use crate::design::{ArrayDesign, DesignError, GroupDesign};
use crate::drive::DriveStats;
use crate::incident::{Incident, Note};
use crate::paged::{LunRoom, PageStats, PagedArray, PagedDesign, PagedError, PagedIncident};
use crate::{Array, Extent, Finished, HostIo, Standing, Unfinished};

/// What a [`System`] is to be made of.
#[derive(Clone)]
pub enum SystemDesign {
    /// An array.
    One(Box<ArrayDesign>),
    /// LUNs in pages over arrays.
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
    /// LUNs in pages.
    #[error(transparent)]
    Paged(#[from] PagedError),
}

impl SystemDesign {
    /// The arrays, one or several.
    pub fn arrays(&self) -> &[ArrayDesign] {
        match self {
            Self::One(design) => std::slice::from_ref(design),
            Self::Paged(design) => &design.members,
        }
    }

    /// The names of what hosts see, in order.
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

    /// The system at time zero.
    ///
    /// # Errors
    /// [`SystemError`] when the design cannot be built.
    pub fn build(&self, streams: Streams) -> Result<System, SystemError> {
        Ok(match self {
            Self::One(design) => System::One(Box::new(Array::new(design, streams)?)),
            Self::Paged(design) => System::Paged(Box::new(PagedArray::new(design, streams)?)),
        })
    }
}

/// An array, or LUNs in pages over several, in virtual time.
pub enum System {
    /// An array.
    One(Box<Array>),
    /// LUNs in pages over arrays.
    Paged(Box<PagedArray>),
}

impl From<Array> for System {
    fn from(array: Array) -> Self {
        Self::One(Box::new(array))
    }
}

impl From<PagedArray> for System {
    fn from(array: PagedArray) -> Self {
        Self::Paged(Box::new(array))
    }
}

impl System {
    /// Takes a request; see [`Array::submit`] and [`PagedArray::submit`].
    ///
    /// # Panics
    /// When `now` has passed.
    pub fn submit(&mut self, now: Time, io: HostIo) {
        match self {
            Self::One(array) => array.submit(now, io),
            Self::Paged(array) => array.submit(now, io),
        }
    }

    /// When something happens next, if nobody asks for anything.
    pub fn next_at(&self) -> Option<Time> {
        match self {
            Self::One(array) => array.next_at(),
            Self::Paged(array) => array.next_at(),
        }
    }

    /// Lets everything happen that is due by `to`, and makes that now.
    ///
    /// # Panics
    /// When `to` has passed.
    pub fn advance(&mut self, to: Time) {
        match self {
            Self::One(array) => array.advance(to),
            Self::Paged(array) => array.advance(to),
        }
    }

    /// Takes what has finished since the last call, in order.
    pub fn finished(&mut self) -> std::vec::Drain<'_, Finished> {
        match self {
            Self::One(array) => array.finished(),
            Self::Paged(array) => array.finished(),
        }
    }

    /// Lets `incident` happen at `at`. Those of one array are of its member 0; others do not befall it.
    ///
    /// # Panics
    /// When `at` has passed, what is named is not there, or one array is to have a snapshot, a member or fewer LUNs.
    pub fn schedule_incident(&mut self, at: Time, incident: PagedIncident) {
        match (self, incident) {
            (Self::One(array), PagedIncident::Member(0, incident)) => {
                array.schedule_incident(at, incident);
            }
            (Self::One(array), PagedIncident::LunGrows(lun, size)) => {
                array.schedule_incident(at, Incident::LunGrows(lun, size));
            }
            (Self::One(_), other) => panic!("{other:?} cannot befall one array"),
            (Self::Paged(array), incident) => array.schedule_incident(at, incident),
        }
    }

    /// Now.
    pub fn now(&self) -> Time {
        match self {
            Self::One(array) => array.now(),
            Self::Paged(array) => array.now(),
        }
    }

    /// How often a LUN has grown.
    pub(crate) fn lun_growths(&self) -> u32 {
        match self {
            Self::One(array) => array.lun_growths(),
            Self::Paged(array) => array.lun_growths(),
        }
    }

    /// Size of a LUN.
    pub fn lun_size(&self, lun: u32) -> ByteSize {
        match self {
            Self::One(array) => array.lun_size(lun),
            Self::Paged(array) => array.lun_size(lun),
        }
    }

    /// The arrays, one or several.
    pub fn arrays(&mut self) -> &mut [Array] {
        match self {
            Self::One(array) => std::slice::from_mut(array),
            Self::Paged(array) => array.members_mut(),
        }
    }

    /// Everything that was noted.
    pub fn notes(&self) -> Vec<Note> {
        match self {
            Self::One(array) => array.notes().to_vec(),
            Self::Paged(array) => array.notes(),
        }
    }

    /// How many notes there are.
    pub(crate) fn notes_count(&self) -> usize {
        match self {
            Self::One(array) => array.notes().len(),
            Self::Paged(array) => array.notes_count(),
        }
    }

    /// How the worst group of all arrays is; see [`Array::standing`].
    pub fn standing(&self) -> Standing {
        let arrays = match self {
            Self::One(array) => std::slice::from_ref(&**array),
            Self::Paged(array) => array.members(),
        };
        arrays.iter().map(Array::standing).max().unwrap_or_default()
    }

    /// The repairs of all arrays that are under way.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        match self {
            Self::One(array) => array.unfinished(),
            Self::Paged(array) => array.unfinished(),
        }
    }

    /// Share of each member's room in use, 0 to 1; nothing for one array.
    pub fn used_shares(&self) -> Vec<f64> {
        match self {
            Self::One(_) => Vec::new(),
            Self::Paged(array) => array.used_shares(),
        }
    }

    /// What happened to pages since measuring began, the LUNs and their room; nothing for one array.
    pub fn pages(&self) -> Option<(PageStats, Vec<LunRoom>)> {
        match self {
            Self::One(_) => None,
            Self::Paged(array) => Some((array.stats(), array.lun_rooms())),
        }
    }

    /// Room for pages that nobody has yet; nothing for one array.
    pub fn free_room(&self) -> Option<ByteSize> {
        match self {
            Self::One(_) => None,
            Self::Paged(array) => Some(array.free_room()),
        }
    }

    /// Declares that `extents` of a LUN were written before anything began: they have room, and lie on drives.
    pub(crate) fn assume_written(&mut self, lun: u32, extents: &[Extent]) {
        if let Self::Paged(array) = self {
            array.assume_written(lun, extents);
        }
    }

    /// Share of the room of all members that take part which is in use, 0 to 1; nothing for one array.
    pub fn used_share(&self) -> Option<f64> {
        match self {
            Self::One(_) => None,
            Self::Paged(array) => Some(array.used_share()),
        }
    }

    /// Starts measuring anew, now.
    pub fn forget_stats(&mut self) {
        match self {
            Self::One(array) => array.forget_stats(),
            Self::Paged(array) => array.forget_stats(),
        }
    }

    /// What was measured on each drive of each array, up to now.
    pub fn drive_stats(&mut self) -> Vec<DriveStats> {
        let arrays = self.arrays().iter_mut();
        arrays.flat_map(Array::drive_stats).collect()
    }

    /// Counts of all caches together, if there are any.
    pub fn cache_stats(&mut self) -> Option<CacheStats> {
        let caches = self.arrays().iter().filter_map(Array::cache_stats);
        caches.reduce(|all, one| all.and(&one))
    }

    /// Counts of all solid-state tiers together, if there are any.
    pub fn tier_stats(&mut self) -> Option<TierStats> {
        let tiers = self.arrays().iter().filter_map(Array::tier_stats);
        tiers.reduce(|all, one| all.and(&one))
    }

    /// See [`Array::front_utilisations`]: controllers and ports one array after the other, the busiest link.
    pub fn front_utilisations(&mut self) -> (Vec<f64>, Vec<f64>, f64) {
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
    pub fn device_ios(&mut self) -> u64 {
        self.arrays().iter().map(|array| array.device_ios()).sum()
    }
}

/// An incident of a plain array.
impl From<Incident> for PagedIncident {
    fn from(incident: Incident) -> Self {
        Self::Member(0, incident)
    }
}
