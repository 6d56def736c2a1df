//! Jobs: the part of an operation that falls in one stripe. Reads, then writes, holding the
//! stripe's lock where needed.
//!
//! When a drive fails under a job, the job continues with the remaining members. A job that was
//! reading plans again. One that was writing has written the other members; the failed drive's
//! content follows from the parities or the copies.

use brunt_units::Time;
use brunt_world::IoError;
use smallvec::SmallVec;

use super::observer::{Move, Observer};
use super::{Array, Event, Verb};
use crate::Extent;
use crate::breakdown::Breakdown;
use crate::design::MirrorChoice;
use crate::drive::{Begun, Service};
use crate::group::plan::{Plan, Step, Steps, all_of_it};
use crate::group::{Spot, StripeAt};
use crate::slab::Key;

/// What a job is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A host's request.
    Request(Key),
    /// Data being read into the cache.
    Fill(Key),
    /// Data being written from the cache.
    Destage(Key),
}

/// Disjoint parts of a stripe's data, ascending.
pub(super) type Extents = SmallVec<[Extent; 1]>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Locking,
    Reading,
    Writing,
}

/// A job in flight.
pub(super) struct Job {
    pub(super) owner: Owner,
    pub(super) group: u32,
    pub(super) at: StripeAt,
    pub(super) extents: Extents,
    pub(super) verb: Verb,
    phase: Phase,
    holds_lock: bool,
    /// Drive requests still in flight.
    pending: u32,
    writes: Steps,
    /// A drive failed under it.
    disturbed: bool,
    /// When the current phase began.
    since: Time,
    /// The last device I/O of this phase to end.
    slowest: Breakdown,
    breakdown: Breakdown,
}

/// What a request to a drive is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IoOwner {
    Job(Key),
    Repair(Key),
    /// The media scan.
    Scan,
    /// The solid-state tier.
    Tier(Key),
}

/// A request to a drive.
pub(super) struct DeviceIo {
    pub(super) owner: IoOwner,
    drive: u16,
    arrived: Time,
    begun: Time,
    service: Service,
}

impl DeviceIo {
    /// Where its time went.
    fn breakdown(&self) -> Breakdown {
        Breakdown {
            queue: self.begun - self.arrived + self.service.wait,
            overhead: self.service.overhead,
            seek: self.service.seek,
            rotation: self.service.rotation,
            transfer: self.service.transfer,
            ..Breakdown::default()
        }
    }
}

impl<O: Observer> Array<O> {
    /// Starts a job over `extents` of one stripe's data.
    pub(super) fn start_job(
        &mut self,
        owner: Owner,
        group: u32,
        at: StripeAt,
        extents: Extents,
        verb: Verb,
    ) {
        let entry = &self.groups[group as usize];
        let locks = verb == Verb::Write || entry.reads_need_lock(at);
        let job = self.jobs.insert(Job {
            owner,
            group,
            at,
            extents,
            verb,
            phase: Phase::Locking,
            holds_lock: false,
            pending: 0,
            writes: Steps::new(),
            disturbed: false,
            since: self.now,
            slowest: Breakdown::default(),
            breakdown: Breakdown::default(),
        });
        self.observe(Move::JobBegan(job));
        if !locks || self.groups[group as usize].locks.take(at, job) {
            self.jobs[job].holds_lock = locks;
            self.plan_job(job);
        }
    }

    /// The job now holds its stripe's lock.
    pub(super) fn job_locked(&mut self, job: Key) {
        let now = self.now;
        let entry = &mut self.jobs[job];
        entry.holds_lock = true;
        entry.breakdown.wait += now - entry.since;
        self.plan_job(job);
    }

    fn plan_job(&mut self, key: Key) {
        let job = &self.jobs[key];
        if let Owner::Destage(destage) = job.owner
            && self.is_lost(destage)
        {
            return self.end_job(key, Err(IoError::Device));
        }
        let group = &mut self.groups[job.group as usize];
        if !job.holds_lock && group.reads_need_lock(job.at) {
            // A drive has failed since the job began without a lock.
            let taken = group.locks.take(job.at, key);
            let job = &mut self.jobs[key];
            (job.phase, job.since, job.holds_lock) = (Phase::Locking, self.now, taken);
            if !taken {
                return;
            }
        }
        let job = &self.jobs[key];
        let group = &self.groups[job.group as usize];
        let row = group.row(job.at);
        let plan = match job.verb {
            Verb::Read => {
                let (at, choice) = (job.at, self.mirror_choices[job.group as usize]);
                let turn = &mut self.turn;
                let mirrors = &mut self.mirrors;
                let drives = &self.drives;
                row.read(job.extents[0], |readable| {
                    let queue = |member: u32| {
                        let spot = group.read_spot(at, member, 0);
                        drives[usize::from(spot.drive)].outstanding()
                    };
                    choose_copy(readable, choice, turn, mirrors, queue)
                })
            }
            Verb::Write => match (&job.owner, &self.cache) {
                (Owner::Destage(_), Some(cache)) => {
                    let (number, first) = (job.group, group.first_sector(job.at));
                    row.write(&job.extents, |part| {
                        let part = Extent::new(first + part.start, part.length);
                        let lacking = cache.lacks(number, part)?;
                        Some(Extent::new(lacking.start - first, lacking.length))
                    })
                }
                _ => row.write(&job.extents, all_of_it),
            },
        };
        let computed = plan.as_ref().map_or(0, |plan| plan.computed(&row, &job.extents));
        self.front.computed(self.now, Extent::new(0, computed).bytes());
        match plan {
            Ok(Plan { method, reads, writes, spared }) => {
                self.observe(Move::JobPlanned(key, method));
                self.count_parity_reads(key, reads.len(), spared);
                let job = &mut self.jobs[key];
                job.disturbed = false;
                job.since = self.now;
                job.writes = writes;
                if reads.is_empty() {
                    self.write_phase(key);
                } else {
                    self.read_phase(key, &reads);
                }
            }
            Err(_) => self.end_job(key, Err(IoError::Device)),
        }
    }

    fn read_phase(&mut self, key: Key, reads: &Steps) {
        let job = &mut self.jobs[key];
        job.phase = Phase::Reading;
        job.pending = u32::try_from(reads.len()).expect("few steps");
        let (group, at) = (job.group, job.at);
        for Step { member, within } in reads {
            let spot = self.groups[group as usize].read_spot(at, *member, within.start);
            let owner = IoOwner::Job(key);
            let io = self.ask_drive(owner, spot, within.length, false);
            self.observe(Move::ReadBegan { io, owner, spot, member: *member, within: *within });
        }
    }

    fn write_phase(&mut self, key: Key) {
        if let Owner::Destage(destage) = self.jobs[key].owner
            && self.is_lost(destage)
        {
            return self.end_job(key, Err(IoError::Device));
        }
        let job = &mut self.jobs[key];
        job.phase = Phase::Writing;
        let steps = std::mem::take(&mut job.writes);
        let (group, at) = (job.group, job.at);
        let mut spots: SmallVec<[(Spot, Step); 8]> = SmallVec::new();
        for step in steps {
            let Step { member, within } = step;
            for spot in self.groups[group as usize].write_spots(at, member, within.start) {
                spots.push((spot, step));
            }
        }
        self.jobs[key].pending = u32::try_from(spots.len()).expect("few steps");
        if spots.is_empty() {
            // Every target drive failed meanwhile.
            let result = self.judge(key);
            return self.end_job(key, result);
        }
        for (spot, step) in spots {
            let io = self.ask_drive(IoOwner::Job(key), spot, step.within.length, true);
            self.observe(Move::WriteBegan { io, job: key, spot, step });
        }
    }

    pub(super) fn ask_drive(
        &mut self,
        owner: IoOwner,
        spot: Spot,
        length: u64,
        write: bool,
    ) -> Key {
        let io = self.ios.insert(DeviceIo {
            owner,
            drive: spot.drive,
            arrived: self.now,
            begun: self.now,
            service: Service::default(),
        });
        self.device_ios += 1;
        let extent = Extent::new(spot.sector, length);
        let returned = if write { 0 } else { extent.bytes() };
        self.front.asked_drive(self.now, returned);
        let drive = &mut self.drives[usize::from(spot.drive)];
        let begun = drive.submit(self.now, io, extent, write);
        self.device_begun(begun);
        io
    }

    fn device_begun(&mut self, begun: Option<Begun>) {
        let Some(Begun { io, service }) = begun else {
            return;
        };
        let entry = &mut self.ios[io];
        entry.begun = self.now;
        entry.service = service;
        self.schedule.set(service.finish, Event::Device(io));
    }

    /// A drive has completed `key`.
    pub(super) fn device_ended(&mut self, key: Key) {
        let Some(io) = self.ios.remove(key) else {
            return; // The drive has failed since.
        };
        if io.owner != IoOwner::Scan {
            self.observe(Move::DeviceEnded(key));
        }
        let next = self.drives[usize::from(io.drive)].end(self.now, key, io.arrived);
        self.device_begun(next);
        let key = match io.owner {
            IoOwner::Job(job) => job,
            IoOwner::Repair(repair) => return self.repair_io_ended(repair, false),
            IoOwner::Scan => return self.scan_later(io.drive),
            IoOwner::Tier(tier) => return self.tier_io_ended(tier, io.breakdown(), false),
        };
        self.jobs[key].slowest = io.breakdown();
        self.step_ended(key);
    }

    /// Handles the failure of a drive under one of the job's requests.
    pub(super) fn job_disturbed(&mut self, key: Key) {
        let job = &mut self.jobs[key];
        job.disturbed = true;
        job.slowest = Breakdown::default();
        self.step_ended(key);
    }

    fn step_ended(&mut self, key: Key) {
        let now = self.now;
        let job = &mut self.jobs[key];
        job.pending -= 1;
        if job.pending > 0 {
            return;
        }
        let slowest = std::mem::take(&mut job.slowest);
        if slowest.total() == now - job.since {
            job.breakdown.add(&slowest);
        } else {
            // The last request to end was on a failed drive.
            job.breakdown.wait += now - job.since;
        }
        job.since = now;
        match (job.phase, job.verb) {
            (Phase::Reading, _) if job.disturbed => self.plan_job(key),
            (Phase::Reading, Verb::Write) => self.write_phase(key),
            (Phase::Reading, Verb::Read) | (Phase::Writing, _) => {
                let result = self.judge(key);
                self.end_job(key, result);
            }
            (Phase::Locking, _) => unreachable!("a job that waits asks no drive"),
        }
    }

    /// Whether the job's data is readable on the remaining members.
    fn judge(&self, key: Key) -> Result<(), IoError> {
        let job = &self.jobs[key];
        let row = self.groups[job.group as usize].row(job.at);
        if row.shape.survives(row.readable) { Ok(()) } else { Err(IoError::Device) }
    }

    fn end_job(&mut self, key: Key, result: Result<(), IoError>) {
        if result.is_ok() && self.jobs[key].verb == Verb::Read {
            self.observe(Move::JobRead(key));
        }
        let job = &self.jobs[key];
        let (owner, group, at, breakdown) = (job.owner, job.group, job.at, job.breakdown);
        let held_lock = job.holds_lock;
        self.jobs.forget(key);
        if let Owner::Destage(destage) = owner {
            // Before any other job plans with what the cache reports as on disk.
            self.settle_destage(destage, result);
        }
        if held_lock {
            let released = self.groups[group as usize].locks.give(at);
            for next in released.jobs {
                self.job_locked(next);
            }
            if let Some(claim) = released.claim {
                self.claim_begun(group, claim);
            }
        }
        match owner {
            Owner::Request(request) => self.part_ended(request, result, breakdown),
            Owner::Fill(fill) => self.fill_ended(fill, result, breakdown),
            Owner::Destage(_) => self.destage_ended(),
        }
    }

    /// Counts the parity reads of a destage.
    fn count_parity_reads(&mut self, key: Key, reads: usize, spared: usize) {
        let job = &self.jobs[key];
        if let (Owner::Destage(_), Some(cache)) = (job.owner, &mut self.cache) {
            cache.stats.parity_reads += reads as u64;
            cache.stats.parity_reads_spared += spared as u64;
        }
    }
}

/// Chooses the copy to read.
fn choose_copy(
    readable: u32,
    choice: MirrorChoice,
    turn: &mut u32,
    mirrors: &mut brunt_world::random::Stream,
    queue: impl Fn(u32) -> usize,
) -> u32 {
    use crate::group::members;
    let count = readable.count_ones();
    if count == 1 {
        return readable.trailing_zeros();
    }
    let first = match choice {
        MirrorChoice::Random => {
            let drawn = mirrors.below(u64::from(count));
            return members(readable)
                .nth(usize::try_from(drawn).expect("few copies"))
                .expect("drawn among them");
        }
        MirrorChoice::ShortestQueue => {
            *turn = turn.wrapping_add(1);
            *turn % count
        }
    };
    let mut best = (usize::MAX, u32::MAX, 0);
    for (at, member) in (count - first..).zip(members(readable)) {
        let after = if at >= count { at - count } else { at };
        best = best.min((queue(member), after, member));
    }
    best.2
}
