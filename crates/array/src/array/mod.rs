//! The array: one front for requests, drives at the back, one heap of events.
//!
//! ```text
//!    submit -> Request -> Jobs (one to a stripe) -> device I/Os -> drives
//!                 ^              |  reads first, then writes          |
//!                 +-- all ended -+------------- ended ----------------+
//! ```
//!
//! There are no futures and no content. The caller drives virtual time: [`Array::submit`] at the
//! current time, [`Array::next_at`] for the next event, [`Array::advance`] to process everything up
//! to a time, and [`Array::finished`] to collect the results.
//!
//! Invariant: a request finishes once, and the parts of its [`Breakdown`] add up to its response
//! time.

#![expect(private_bounds, reason = "only this crate observes arrays")]

mod caching;
mod destage;
mod failures;
mod front;
mod growth;
mod jobs;
#[cfg(test)]
mod ledger;
mod observer;
mod progress;
mod repair;
mod requests;
mod scan;
mod tiering;

use brunt_units::{ByteSize, Time};
use brunt_world::random::{Stream, Streams};
use brunt_world::{IoError, Schedule};

use crate::Extent;
use crate::breakdown::Breakdown;
use crate::cache::tier::Tier;
use crate::cache::{CacheStats, TierStats};
use crate::design::{ArrayDesign, DesignError, MirrorChoice};
use crate::drive::{Drive, DriveStats};
use crate::group::Group;
use crate::incident::{Incident, Note};
use crate::slab::{Key, Slab};
use caching::Cache;
pub use front::FrontWork;
use front::{Front, Ownership};
use jobs::{DeviceIo, Job};
use observer::Observer;
use repair::{Campaign, Repair};
use requests::Request;
use scan::Scan;
use tiering::TierIo;

/// What a host asks of a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read sectors.
    Read,
    /// Write sectors.
    Write,
}

/// A host's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostIo {
    /// LUN number.
    pub lun: u32,
    /// Read or write.
    pub verb: Verb,
    /// The sectors within the LUN.
    pub extent: Extent,
    /// The caller's tag, returned in [`Finished`].
    pub tag: u64,
}

/// A finished request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The caller's tag.
    pub tag: u64,
    /// Read or write.
    pub verb: Verb,
    /// When it was submitted.
    pub submitted_at: Time,
    /// When it ended.
    pub at: Time,
    /// How it ended.
    pub result: Result<(), IoError>,
    /// Where its time went.
    pub breakdown: Breakdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A drive has completed its request.
    Device(Key),
    /// A repair's pause is over.
    NextUnit(Key),
    /// A scheduled incident.
    Incident(u32),
    /// A request comes in.
    Arrive(Key),
    /// A request goes out.
    Leave(Key),
    /// The media scan of a drive continues.
    Scan(u16),
    /// Check whether hosts have been quiet.
    IdleCheck,
}

struct Lun {
    group: u32,
    /// First sector within the group.
    start: u64,
    sectors: u64,
    ownership: Ownership,
}

/// A storage array in virtual time.
pub struct Array<O: Observer = ()> {
    now: Time,
    schedule: Schedule<Event>,
    drives: Vec<Drive>,
    groups: Vec<Group>,
    mirror_choices: Vec<MirrorChoice>,
    luns: Vec<Lun>,
    front: Front,
    cache: Option<Cache>,
    tier: Option<Tier>,
    has_battery: bool,
    scan: Option<Scan>,
    requests: Slab<Request>,
    jobs: Slab<Job>,
    ios: Slab<DeviceIo>,
    tier_ios: Slab<TierIo>,
    repairs: Slab<Repair>,
    campaigns: Vec<Campaign>,
    spares: Vec<u16>,
    incidents: Vec<Incident>,
    notes: Vec<Note>,
    names: Vec<String>,
    lun_names: Vec<String>,
    finished: Vec<Finished>,
    mirrors: Stream,
    placement: Stream,
    turn: u32,
    device_ios: u64,
    observer: O,
}

impl Array {
    /// Creates the array of `design` at time zero; `streams` supplies all randomness.
    ///
    /// # Errors
    /// [`DesignError`] when the design cannot be built.
    pub fn new(design: &ArrayDesign, streams: Streams) -> Result<Self, DesignError> {
        Self::observed(design, streams)
    }
}

impl<O: Observer> Array<O> {
    /// As [`Array::new`], with an observer.
    fn observed(design: &ArrayDesign, streams: Streams) -> Result<Self, DesignError> {
        let drives = design.drives.iter().enumerate().map(|(number, model)| {
            let mut stream = streams.named(&format!("drive/{number}"));
            Drive::new(model, design.policy, &mut stream)
        });
        let drives: Vec<Drive> = drives.collect();
        check_drives(design, drives.len())?;
        let mut groups = Vec::new();
        for group in &design.groups {
            let sectors = group.drives.iter().map(|drive| drives[usize::from(*drive)].sectors());
            let mut stream = streams.named(&format!("group/{}", groups.len()));
            groups.push(group.build(sectors.min().unwrap_or(0), &mut stream)?);
        }
        let front = Front::new(design.front, design.controller);
        let luns = place_luns(design, &groups, front.controllers())?;
        design.check(&groups)?;
        let cache = design.cache.map(|cache| {
            let drives: Vec<usize> = design.groups.iter().map(|group| group.drives.len()).collect();
            Cache::new(cache, &drives, luns.len())
        });
        let mut array = Self {
            now: Time::ZERO,
            schedule: Schedule::default(),
            drives,
            groups,
            mirror_choices: design.groups.iter().map(|group| group.mirror_choice).collect(),
            luns,
            front,
            cache,
            tier: design.build_tier()?,
            has_battery: true,
            scan: design.scan.map(|scan| Scan::new(scan, design.drives.len())),
            requests: Slab::default(),
            jobs: Slab::default(),
            ios: Slab::default(),
            tier_ios: Slab::default(),
            repairs: Slab::default(),
            campaigns: Vec::new(),
            spares: design.spares.clone(),
            incidents: Vec::new(),
            notes: Vec::new(),
            names: design.groups.iter().map(|group| group.name.clone()).collect(),
            lun_names: design.luns.iter().map(|lun| lun.name.clone()).collect(),
            finished: Vec::new(),
            mirrors: streams.named("mirrors"),
            placement: streams.named("placement"),
            turn: 0,
            device_ios: 0,
            observer: O::default(),
        };
        array.start_scan();
        Ok(array)
    }

    /// When the next event is due, if no more requests come in.
    pub fn next_at(&self) -> Option<Time> {
        self.schedule.next_at()
    }

    /// Processes every event due by `to` and moves the clock there.
    ///
    /// # Panics
    /// When `to` is in the past.
    pub fn advance(&mut self, to: Time) {
        assert!(to >= self.now, "time goes back");
        while let Some(due) = self.schedule.pop(to) {
            self.now = due.at;
            match due.event {
                Event::Device(io) => self.device_ended(io),
                Event::NextUnit(repair) => self.next_unit(repair),
                Event::Incident(number) => self.apply_incident(number),
                Event::Arrive(request) => self.arrive(request),
                Event::Leave(request) => self.leave(request),
                Event::Scan(drive) => self.scan_unit(drive),
                Event::IdleCheck => self.check_idle(),
            }
        }
        self.now = to;
    }

    /// Takes the requests finished since the last call, in order.
    pub fn finished(&mut self) -> std::vec::Drain<'_, Finished> {
        self.finished.drain(..)
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    pub fn lun_size(&self, lun: u32) -> ByteSize {
        ByteSize::bytes(Extent::new(0, self.luns[lun as usize].sectors).bytes())
    }

    /// Requests in flight.
    pub fn outstanding(&self) -> usize {
        self.requests.len()
    }

    /// Requests to drives so far.
    pub fn device_ios(&self) -> u64 {
        self.device_ios
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.schedule.count()
    }

    /// Restarts measurement now.
    pub fn forget_stats(&mut self) {
        for drive in &mut self.drives {
            drive.forget_stats(self.now);
        }
        self.front.forget_stats(self.now);
        if let Some(cache) = &mut self.cache {
            cache.stats = CacheStats::default();
        }
        if let Some(tier) = &mut self.tier {
            tier.stats = TierStats::default();
        }
    }

    /// Cache counters, if there is a cache.
    pub fn cache_stats(&self) -> Option<CacheStats> {
        let cache = self.cache.as_ref()?;
        Some(cache.stats.of(cache.pages.unwritten(), cache.write_pages))
    }

    /// Utilisation since measurement began, 0 to 1: of each controller's processor, of each port's
    /// busier direction, of the link between controllers.
    pub fn front_utilisations(&self) -> (Vec<f64>, Vec<f64>, f64) {
        self.front.utilisations(self.now)
    }

    /// What [`Self::front_utilisations`] are shares of.
    pub fn front_work(&self) -> FrontWork {
        self.front.worked(self.now)
    }

    /// A LUN's sectors within its group: the first, and the count.
    fn lun_range(&self, lun: u32) -> (u64, u64) {
        let lun = &self.luns[lun as usize];
        (lun.start, lun.sectors)
    }

    /// Measurements of each drive up to now.
    pub fn drive_stats(&self) -> Vec<DriveStats> {
        let drives = self.drives.iter();
        drives.map(|drive| drive.stats_at(self.now)).collect()
    }
}

fn check_drives(design: &ArrayDesign, count: usize) -> Result<(), DesignError> {
    let mut used = vec![false; count];
    let all = design
        .groups
        .iter()
        .flat_map(|group| &group.drives)
        .chain(design.tier.iter().flat_map(|tier| &tier.drives))
        .chain(&design.spares);
    for drive in all {
        match used.get_mut(usize::from(*drive)) {
            None => return Err(DesignError::Drive(*drive, "is not there")),
            Some(true) => return Err(DesignError::Drive(*drive, "is used twice")),
            Some(used) => *used = true,
        }
    }
    Ok(())
}

/// LUNs begin at multiples of this many sectors: 1 MiB.
pub(crate) const LUN_BORDER: u64 = 2048;

/// Places LUNs one after the other in their groups. A size of zero takes all that is left.
fn place_luns(
    design: &ArrayDesign,
    groups: &[Group],
    controllers: usize,
) -> Result<Vec<Lun>, DesignError> {
    let mut used = vec![0; groups.len()];
    let mut luns = Vec::new();
    for lun in &design.luns {
        let Some(group) = groups.get(lun.group) else {
            return Err(DesignError::NoGroup(lun.name.clone()));
        };
        let left = group.sectors() - used[lun.group];
        let sectors = match lun.size.get() {
            0 => left,
            bytes => bytes.div_ceil(512),
        };
        if sectors > left || left == 0 {
            return Err(DesignError::Lun {
                lun: lun.name.clone(),
                size: lun.size,
                group: design.groups[lun.group].name.clone(),
                left: ByteSize::bytes(Extent::new(0, left).bytes()),
            });
        }
        luns.push(Lun {
            group: u32::try_from(lun.group).expect("few groups"),
            start: used[lun.group],
            sectors,
            ownership: Ownership::of(lun.owner.unwrap_or(luns.len()) % controllers),
        });
        // The next LUN begins on a multiple of the border.
        used[lun.group] =
            (used[lun.group] + sectors).next_multiple_of(LUN_BORDER).min(group.sectors());
    }
    Ok(luns)
}
