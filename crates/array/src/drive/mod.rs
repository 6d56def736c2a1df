//! Drives: a mechanism, its queue, its health, and its measurements.
//!
//! Each call to a `Drive` returns the request it begins next (`Begun`), if any; the array schedules
//! its end on the event heap and then calls `Drive::end`. A failed drive drops all its requests;
//! events about them find nothing.

mod disk;
mod flash;
mod geometry;
pub mod library;
pub mod model;
mod queue;
mod seek;
mod sheet;
mod stats;
mod track_cache;

use std::collections::VecDeque;

use brunt_units::{Span, Time};
use brunt_world::random::Stream;
use smallvec::SmallVec;

pub use disk::DiskFigures;
pub use flash::FlashFigures;
pub use geometry::{Shape, Zone};
pub use model::{DriveModel, Figure, ModelError, Provenance};
pub use queue::{Order, Policy};
pub use seek::{SeekError, SeekFigures};
pub use stats::DriveStats;

pub(crate) use disk::Service;

use crate::Extent;
use crate::slab::Key;
use disk::HardDisk;
use flash::Flash;
use model::Ready;
use queue::Waiting;

/// A request that a drive has begun; it ends at `service.finish`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) io: Key,
    pub(crate) service: Service,
}

/// The health of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Health {
    /// As specified on its data sheet.
    Good,
    /// Every operation takes this many times as long.
    Slow(f64),
    /// Answers nothing.
    Failed,
}

impl Health {
    /// The factor by which operations are slowed.
    fn slowness(self) -> f64 {
        match self {
            Self::Slow(times) => times,
            Self::Good | Self::Failed => 1.0,
        }
    }
}

enum Mechanism {
    Disk(HardDisk),
    Flash(Flash),
}

pub(crate) struct Drive {
    mechanism: Mechanism,
    policy: Policy,
    health: Health,
    /// Requests accepted but not begun.
    waiting: Vec<Waiting>,
    /// Requests beyond its tags, waiting outside.
    outside: VecDeque<Waiting>,
    /// Requests begun: at most one, except on a solid-state drive.
    serving: SmallVec<[Key; 1]>,
    tags: usize,
    sectors: u64,
    number: u64,
    stats: DriveStats,
}

impl Drive {
    /// A drive of `model`; `stream` determines the spindle's starting position.
    pub(crate) fn new(model: &DriveModel, policy: Policy, stream: &mut Stream) -> Self {
        let (mechanism, tags) = match model.ready() {
            Ready::Disk(disk) => {
                let phase = Span(stream.below(1 << 32));
                let mechanism = Mechanism::Disk(HardDisk::new(disk, phase));
                (mechanism, disk.tags.max(1))
            }
            // Every request begins at once and waits for its die.
            Ready::Flash(flash) => (Mechanism::Flash(Flash::new(flash)), u32::MAX),
        };
        Self {
            tags: tags as usize,
            sectors: model.sectors(),
            mechanism,
            policy,
            health: Health::Good,
            waiting: Vec::new(),
            outside: VecDeque::new(),
            serving: SmallVec::new(),
            number: 0,
            stats: DriveStats::default(),
        }
    }

    pub(crate) fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.health == Health::Failed
    }

    /// Requests outstanding on this drive.
    pub(crate) fn outstanding(&self) -> usize {
        self.waiting.len() + self.outside.len() + self.serving.len()
    }

    /// Measurements up to `now`.
    pub(crate) fn stats_at(&self, now: Time) -> DriveStats {
        let mut stats = self.stats;
        stats.settle(now, self.outstanding());
        stats
    }

    /// Restarts measurement.
    pub(crate) fn forget_stats(&mut self, now: Time) {
        let outstanding = self.outstanding();
        self.stats = DriveStats::from(now, outstanding);
    }

    /// Advances the time-weighted figures to `now`.
    fn settle_stats(&mut self, now: Time) {
        let outstanding = self.outstanding();
        self.stats.settle(now, outstanding);
    }

    /// Submits a request. The drive must not have failed.
    pub(crate) fn submit(
        &mut self,
        now: Time,
        io: Key,
        extent: Extent,
        write: bool,
    ) -> Option<Begun> {
        debug_assert!(!self.is_failed(), "a failed drive is asked nothing");
        debug_assert!(extent.end() <= self.sectors, "{extent:?} is past the end");
        self.settle_stats(now);
        let disk = match &mut self.mechanism {
            Mechanism::Disk(disk) => disk,
            Mechanism::Flash(flash) => {
                let service = flash.serve(now, extent, write, self.health.slowness());
                self.serving.push(io);
                self.stats.served(write, extent, &service);
                self.stats.worked(flash.take_work());
                return Some(Begun { io, service });
            }
        };
        let one = Waiting {
            io: Some(io),
            extent,
            write,
            place: disk.model.locate(extent.start),
            arrived: now,
            number: self.number,
        };
        self.number += 1;
        if self.waiting.len() < self.tags {
            self.waiting.push(one);
        } else {
            self.outside.push_back(one);
        }
        self.begin(now)
    }

    /// Ends a request; returns the one it begins next.
    pub(crate) fn end(&mut self, now: Time, io: Key, arrived: Time) -> Option<Begun> {
        self.settle_stats(now);
        let at = self.serving.iter().position(|one| *one == io);
        self.serving.swap_remove(at.expect("it was serving it"));
        self.stats.responded(now - arrived);
        if let Some(one) = self.outside.pop_front() {
            self.waiting.push(one);
        }
        self.begin(now)
    }

    fn begin(&mut self, now: Time) -> Option<Begun> {
        if !self.serving.is_empty() || self.waiting.is_empty() {
            return None;
        }
        let Mechanism::Disk(disk) = &mut self.mechanism else {
            unreachable!("a solid-state drive lets nobody wait outside");
        };
        let next = disk.choose(now, &self.policy, &self.waiting);
        let one = self.waiting.swap_remove(next);
        let service = disk.serve(now, &one, self.health.slowness());
        let io = one.io.expect("only estimates have none");
        self.serving.push(io);
        self.stats.served(one.write, one.extent, &service);
        self.stats.busy_until(service.finish);
        Some(Begun { io, service })
    }

    /// Fails the drive; returns its requests in order of arrival.
    pub(crate) fn fail(&mut self, now: Time) -> Vec<Key> {
        self.settle_stats(now);
        self.health = Health::Failed;
        let mut lost: Vec<Waiting> = self.waiting.drain(..).chain(self.outside.drain(..)).collect();
        lost.sort_by_key(|one| one.number);
        let serving = std::mem::take(&mut self.serving);
        serving.into_iter().chain(lost.into_iter().filter_map(|one| one.io)).collect()
    }

    /// Replaces the drive with an empty one of the same model, or restores its speed.
    pub(crate) fn heal(&mut self) {
        self.health = Health::Good;
    }

    /// Makes every operation take `times` as long from the next request on.
    pub(crate) fn slow_down(&mut self, times: f64) {
        if !self.is_failed() {
            self.health = Health::Slow(times);
        }
    }
}
