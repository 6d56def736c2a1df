//! A hard disk: one arm, one rotating stack of platters, one request at a time.
//!
//! ```text
//!    arrives      decoded          arm settles     sector comes      last sector passed
//!    |-- overhead --|----- seek -------|--- rotation ---|---- transfer ----|
//!    |-- queues meanwhile, if other requests are ahead --|
//! ```
//!
//! * The command overhead of a request overlaps with service of others; only an idle disk shows it.
//! * Rotation is exact: the angle under the head follows from the time, the angle of a sector from
//!   the geometry. A request that immediately continues where the last one ended loses no
//!   revolution.
//! * After a read the disk reads ahead into its track cache until the next request needs the arm or
//!   the segment is full. A sequential reader that asks before that finds its data there, or waits
//!   only until it has passed the head.
//! * Writes go to the medium: arrays run their drives with the write cache disabled.
//!
//! Not modelled: errors and retries, thermal recalibration, reads that start in the middle of a
//! track (zero-latency reads).

use std::sync::Arc;

use brunt_units::{Span, Time};

use super::geometry::{Geometry, SectorPosition, Shape};
use super::queue::{OVERDUE_TURNS, Policy, Waiting};
use super::seek::{SeekCurve, SeekError, SeekFigures};
use super::track_cache::{Found, TrackCache};
use crate::Extent;

/// Figures of a hard disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskFigures {
    /// Surfaces, zones, skew, capacity.
    pub shape: Shape,
    /// One revolution.
    pub turn: Span,
    /// Seek times for reads.
    pub read_seek: SeekFigures,
    /// Seek times for writes, which take longer to settle.
    pub write_seek: SeekFigures,
    /// From one surface to another of the same cylinder.
    pub head_switch: Span,
    /// Time to decode a command and answer it.
    pub overhead: Span,
    /// Rate of the interface for data from the track cache, in bytes per second.
    pub interface_bytes_per_s: u64,
    /// Segments of the track cache; zero disables it.
    pub cache_segments: u32,
    /// Sectors per segment: the limit of its read-ahead.
    pub segment_sectors: u32,
    /// Requests it accepts at once; further requests wait outside in order of arrival.
    pub tags: u32,
}

/// [`DiskFigures`] prepared for use, shared by all disks of one model.
pub(crate) struct DiskModel {
    geometry: Geometry,
    /// Curves for reads and for writes.
    seeks: [SeekCurve; 2],
    turn: u64,
    /// Rotation in 2^-32 turns per nanosecond, times 2^20.
    angle_per_ns: u64,
    skew: f64,
    head_switch: u32,
    pub(super) overhead: Span,
    interface_ns_per_sector: f64,
    cache_segments: u32,
    segment_sectors: u32,
    pub(super) tags: u32,
}

/// A computed position may lie this far behind the head and still count as under it: about a
/// microsecond.
const ROUNDING: u32 = 1 << 20;

impl DiskModel {
    pub(crate) fn new(figures: &DiskFigures) -> Result<Self, SeekError> {
        let geometry = Geometry::new(&figures.shape);
        let cylinders = geometry.cylinders();
        Ok(Self {
            seeks: [
                SeekCurve::new(&figures.read_seek, cylinders)?,
                SeekCurve::new(&figures.write_seek, cylinders)?,
            ],
            geometry,
            turn: figures.turn.0,
            angle_per_ns: (1_u64 << 52).div_euclid(figures.turn.0),
            skew: figures.shape.skew,
            head_switch: u32::try_from(figures.head_switch.0).unwrap_or(u32::MAX),
            overhead: figures.overhead,
            interface_ns_per_sector: 512.0 * 1e9 / figures.interface_bytes_per_s as f64,
            cache_segments: figures.cache_segments,
            segment_sectors: figures.segment_sectors,
            tags: figures.tags,
        })
    }

    pub(crate) fn locate(&self, sector: u64) -> SectorPosition {
        self.geometry.locate(sector)
    }

    /// Mean read seek over all pairs of cylinders.
    pub(crate) fn mean_read_seek(&self) -> Span {
        Span::from_seconds(self.seeks[0].mean() / 1e9)
    }

    fn angle_after(&self, nanos: u64) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "whole turns fall off on purpose")]
        let angle = ((nanos % self.turn).wrapping_mul(self.angle_per_ns) >> 20) as u32;
        angle
    }

    fn nanos_of(&self, angle: u32) -> u64 {
        (u64::from(angle) * self.turn) >> 32
    }

    fn seek(&self, from: (u32, u32), to: &SectorPosition, write: bool) -> u32 {
        let distance = from.0.abs_diff(to.cylinder);
        if distance == 0 && from.1 != to.head {
            return self.head_switch;
        }
        self.seeks[usize::from(write)].nanos(distance)
    }

    /// Nanoseconds to transfer `extent` starting with its first sector under the head, and the
    /// track of its last sector.
    fn transfer(&self, place: SectorPosition, extent: Extent) -> (u64, (u32, u32)) {
        let (mut nanos, mut at, mut left, mut place) = (0.0, extent.start, extent.length, place);
        loop {
            let per_track = self.geometry.sectors_per_track(place.zone);
            let here = left.min(u64::from(place.left_on_track));
            nanos += here as f64 * self.turn as f64 / f64::from(per_track);
            (left, at) = (left - here, at + here);
            if left == 0 {
                #[expect(clippy::cast_possible_truncation, reason = "positive and small")]
                return (nanos as u64, (place.cylinder, place.head));
            }
            nanos += self.skew * self.turn as f64;
            place = self.geometry.locate(at);
        }
    }

    /// Nanoseconds per sector of a long transfer in `zone`.
    fn stream_ns_per_sector(&self, zone: u32) -> f64 {
        let per_track = f64::from(self.geometry.sectors_per_track(zone));
        self.turn as f64 * (1.0 + self.skew) / per_track
    }
}

/// Breakdown of a request's service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) finish: Time,
    /// Waiting inside the drive for one of its components.
    pub(crate) wait: Span,
    pub(crate) overhead: Span,
    pub(crate) seek: Span,
    pub(crate) rotation: Span,
    pub(crate) transfer: Span,
}

/// The state of one hard disk.
pub(crate) struct HardDisk {
    pub(super) model: Arc<DiskModel>,
    /// How far the spindle is ahead of the clock; less than a revolution.
    phase: u64,
    /// Cylinder and surface under the head.
    track: (u32, u32),
    /// Requests chosen since the last overdue one.
    since_overdue: u32,
    cache: TrackCache,
}

impl HardDisk {
    /// `phase` sets the spindle's position at time zero.
    pub(crate) fn new(model: &Arc<DiskModel>, phase: Span) -> Self {
        Self {
            phase: phase.0 % model.turn,
            track: (0, 0),
            since_overdue: OVERDUE_TURNS,
            cache: TrackCache::new(model.cache_segments, model.segment_sectors),
            model: Arc::clone(model),
        }
    }

    /// The index in `waiting` of the request to serve next.
    pub(crate) fn choose(&mut self, now: Time, policy: &Policy, waiting: &[Waiting]) -> usize {
        if waiting.len() == 1 {
            self.since_overdue = self.since_overdue.saturating_add(1);
            return 0;
        }
        let head = self.model.angle_after(now.0 + self.phase);
        let passing = self.cache.passing(now);
        let may_be_overdue = self.since_overdue + 1 >= OVERDUE_TURNS;
        let last = self.cache.last_sector();
        let (chosen, was_overdue) = policy.choose(now, waiting, last, may_be_overdue, |one| {
            if !one.write && passing.contains(&one.extent.start) {
                return 0;
            }
            let seek = self.model.seek(self.track, &one.place, one.write);
            u64::from(seek) + self.rotation(head, seek, one.place.angle)
        });
        self.since_overdue = if was_overdue { 0 } else { self.since_overdue.saturating_add(1) };
        chosen
    }

    /// Rotational delay until `angle` reaches the head, after `seek` from now; `head` is the angle
    /// under the head now.
    fn rotation(&self, head: u32, seek: u32, angle: u32) -> u64 {
        let turned = (u64::from(seek) * self.model.angle_per_ns) >> 20;
        #[expect(clippy::cast_possible_truncation, reason = "whole turns fall off on purpose")]
        let there = head.wrapping_add(turned as u32);
        let ahead = angle.wrapping_sub(there);
        if ahead > u32::MAX - ROUNDING { 0 } else { self.model.nanos_of(ahead) }
    }

    /// Serves `one`, beginning now; seek, rotation and transfer take `slowness` times as long (1
    /// for a healthy disk).
    pub(crate) fn serve(&mut self, now: Time, one: &Waiting, slowness: f64) -> Service {
        let ready = now.max(one.arrived + self.model.overhead);
        let mut service = if one.write {
            self.cache.write(ready, one.extent);
            self.use_medium(ready, one.extent, one.place, true)
        } else {
            self.read(ready, one)
        };
        service.overhead = ready - now;
        if slowness > 1.0 {
            for part in [&mut service.seek, &mut service.rotation, &mut service.transfer] {
                *part = Span::from_seconds(part.as_seconds() * slowness);
            }
            service.finish = ready + service.seek + service.rotation + service.transfer;
        }
        service
    }

    fn read(&mut self, ready: Time, one: &Waiting) -> Service {
        let extent = one.extent;
        #[expect(clippy::cast_possible_truncation, reason = "positive and small")]
        let bus = Span((extent.length as f64 * self.model.interface_ns_per_sector) as u64);
        match self.cache.read(ready, extent) {
            Found::There => Service { finish: ready + bus, transfer: bus, ..Service::default() },
            Found::Passing(passed) => {
                let last = self.model.locate(extent.end() - 1);
                self.track = (last.cylinder, last.head);
                let pace = self.model.stream_ns_per_sector(last.zone);
                self.cache.keep_pace(extent.end(), passed, pace);
                let finish = (ready + bus).max(passed);
                Service { finish, transfer: finish - ready, ..Service::default() }
            }
            Found::Beginning(rest) => self.read_medium(ready, rest, self.model.locate(rest.start)),
            Found::Nothing => self.read_medium(ready, extent, one.place),
        }
    }

    fn read_medium(&mut self, ready: Time, extent: Extent, place: SectorPosition) -> Service {
        let service = self.use_medium(ready, extent, place, false);
        let pace = self.model.stream_ns_per_sector(place.zone);
        self.cache.read_on(extent, service.finish, pace);
        service
    }

    fn use_medium(
        &mut self,
        ready: Time,
        extent: Extent,
        place: SectorPosition,
        write: bool,
    ) -> Service {
        let head = self.model.angle_after(ready.0 + self.phase);
        let seek = self.model.seek(self.track, &place, write);
        let rotation = self.rotation(head, seek, place.angle);
        let seek = u64::from(seek);
        let (transfer, track) = self.model.transfer(place, extent);
        self.track = track;
        Service {
            finish: ready + Span(seek + rotation + transfer),
            seek: Span(seek),
            rotation: Span(rotation),
            transfer: Span(transfer),
            ..Service::default()
        }
    }
}
