//! Drives: a mechanism, its queue, its health, and what was measured on it.
//!
//! A `Drive` is told what to do and answers with what it has begun (`Begun`); the array puts the end of that on its
//! event heap and comes back with `Drive::end`. A failed drive forgets all it had; events about that find nothing.

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
use std::rc::Rc;

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

/// How a drive is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Health {
    /// As its data sheet says.
    Good,
    /// Everything takes this many times as long.
    Slow(f64),
    /// It answers nothing.
    Failed,
}

impl Health {
    /// How many times as long everything takes.
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

/// One drive.
pub(crate) struct Drive {
    mechanism: Mechanism,
    policy: Policy,
    health: Health,
    /// Requests it has and has not begun.
    waiting: Vec<Waiting>,
    /// Requests beyond its tags.
    outside: VecDeque<Waiting>,
    /// Requests it has begun: one, unless it is a solid-state drive.
    serving: SmallVec<[Key; 1]>,
    tags: usize,
    sectors: u64,
    number: u64,
    stats: DriveStats,
}

impl Drive {
    /// A drive of `model`; `stream` decides how far its spindle has turned.
    pub(crate) fn new(model: &DriveModel, policy: Policy, stream: &mut Stream) -> Self {
        let (mechanism, tags) = match model.ready() {
            Ready::Disk(disk) => {
                let phase = Span(stream.below(1 << 32));
                let mechanism = Mechanism::Disk(HardDisk::new(&Rc::clone(disk), phase));
                (mechanism, disk.tags.max(1))
            }
            // Everything is begun at once and waits for its die.
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

    /// Requests it has.
    pub(crate) fn outstanding(&self) -> usize {
        self.waiting.len() + self.outside.len() + self.serving.len()
    }

    /// What was measured up to `now`.
    pub(crate) fn stats_at(&self, now: Time) -> DriveStats {
        let mut stats = self.stats;
        stats.settle(now, self.outstanding());
        stats
    }

    /// Starts measuring anew.
    pub(crate) fn forget_stats(&mut self, now: Time) {
        let outstanding = self.outstanding();
        self.stats = DriveStats::from(now, outstanding);
    }

    /// Brings the time-weighted figures up to `now`.
    fn settle_stats(&mut self, now: Time) {
        let outstanding = self.outstanding();
        self.stats.settle(now, outstanding);
    }

    /// Takes a request. The drive must not have failed.
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

    /// The request it was serving has ended: what it begins next.
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

    /// It fails: the requests it had, in the order they came.
    pub(crate) fn fail(&mut self, now: Time) -> Vec<Key> {
        self.settle_stats(now);
        self.health = Health::Failed;
        let mut lost: Vec<Waiting> = self
            .waiting
            .drain(..)
            .chain(self.outside.drain(..))
            .collect();
        lost.sort_by_key(|one| one.number);
        let serving = std::mem::take(&mut self.serving);
        serving
            .into_iter()
            .chain(lost.into_iter().filter_map(|one| one.io))
            .collect()
    }

    /// It is replaced by an empty one of the same model, or becomes as fast as it was.
    pub(crate) fn heal(&mut self) {
        self.health = Health::Good;
    }

    /// Everything takes `times` as long from the next request on.
    pub(crate) fn slow_down(&mut self, times: f64) {
        if !self.is_failed() {
            self.health = Health::Slow(times);
        }
    }
}
