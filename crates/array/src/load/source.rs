//! One source of requests.

use std::collections::BinaryHeap;
use std::sync::Arc;

use std::cmp::Reverse;

use brunt_units::{Span, Time};
use brunt_world::random;

use crate::system::System;
use crate::{Extent, Verb};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// Time of the request.
    pub at: Time,
    /// LUN number.
    pub lun: u32,
    /// Read or write.
    pub verb: Verb,
    /// The sectors of the LUN.
    pub extent: Extent,
}

/// Which sectors are requested.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// Anywhere on the LUNs, aligned to the request size; each LUN is chosen in proportion to its
    /// size.
    Random {
        luns: Vec<u32>,
        /// Percentage of reads.
        read_percent: u32,
        /// Sectors of a request.
        sectors: u64,
    },
    /// Sequentially from the beginning of a LUN, repeatedly.
    Sequential {
        lun: u32,
        /// Read or write.
        verb: Verb,
        /// Sectors of a request.
        sectors: u64,
    },
    /// Lines of a trace, ascending in time.
    Trace(Arc<[TraceEntry]>),
}

/// When requests are submitted. A trace has its own times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// A fixed number in flight.
    Outstanding(u32),
    /// Requests per second, at random times (Poisson).
    Rate(f64),
    /// At the times of the trace.
    Traced,
}

/// A source of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Which sectors.
    pub access: Access,
    /// When to submit.
    pub pace: Pace,
}

/// A running [`Stream`].
pub(super) struct Source {
    stream: Stream,
    random: random::Stream,
    /// For random access: each LUN with the cumulative number of places up to and including it.
    places: Vec<(u32, u64)>,
    /// For sequential access: the size of the LUN in sectors.
    sectors: u64,
    /// The next sector or trace entry.
    position: u64,
    /// When the next request is due, for sources that are not closed.
    next: Option<Time>,
    /// When a closed source retries after an error or an instant answer.
    later: BinaryHeap<Reverse<Time>>,
}

impl Source {
    pub(super) fn new(stream: Stream, array: &dyn System, random: random::Stream) -> Self {
        let mut source = Self {
            places: Vec::new(),
            sectors: 0,
            position: 0,
            next: None,
            later: BinaryHeap::new(),
            random,
            stream,
        };
        match &source.stream.access {
            Access::Random { luns, .. } => {
                source.places = luns.iter().map(|lun| (*lun, 0)).collect();
            }
            Access::Sequential { .. } => {}
            Access::Trace(entries) => source.next = entries.first().map(|entry| entry.at),
        }
        source.see_sizes(array);
        if let Pace::Rate(_) = source.stream.pace {
            source.asked(Time::ZERO);
        }
        source
    }

    /// Updates the LUN sizes, at the start and when one has grown. A LUN that was removed keeps its
    /// last size.
    pub(super) fn see_sizes(&mut self, array: &dyn System) {
        let sectors_of = |lun| array.lun_size(lun).get().div_euclid(512);
        match &self.stream.access {
            Access::Random { sectors, .. } => {
                let (mut before, mut all) = (0, 0);
                for (lun, places) in &mut self.places {
                    let own = *places - before;
                    before = *places;
                    all += own.max(sectors_of(*lun).div_euclid(*sectors));
                    *places = all;
                }
            }
            Access::Sequential { lun, .. } => self.sectors = self.sectors.max(sectors_of(*lun)),
            Access::Trace(_) => {}
        }
    }

    /// Whether there is a LUN to ask: a clone is there later.
    pub(super) fn is_there(&self) -> bool {
        match &self.stream.access {
            Access::Random { .. } => self.places.last().is_some_and(|(_, places)| *places > 0),
            Access::Sequential { .. } => self.sectors > 0,
            Access::Trace(_) => true,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.stream.pace, Pace::Outstanding(_))
    }

    /// Number of requests to submit at the start.
    pub(super) fn at_once(&self) -> u32 {
        match self.stream.pace {
            Pace::Outstanding(count) => count,
            Pace::Rate(_) | Pace::Traced => 0,
        }
    }

    /// When the next request is due, other than in reply to an answer.
    pub(super) fn due(&self) -> Option<Time> {
        self.next.or_else(|| self.later.peek().map(|Reverse(at)| *at))
    }

    /// Records that the request due at `at` was submitted.
    pub(super) fn asked(&mut self, at: Time) {
        match (self.stream.pace, &self.stream.access) {
            (Pace::Outstanding(_), _) => {
                self.later.pop();
            }
            (Pace::Rate(per_s), _) => {
                let mean = Span::from_seconds(1.0 / per_s);
                self.next = Some(at + self.random.exponential(mean));
            }
            (Pace::Traced, Access::Trace(entries)) => {
                let line = usize::try_from(self.position).expect("a trace fits in memory");
                self.next = entries.get(line).map(|entry| entry.at);
            }
            (Pace::Traced, _) => self.next = None,
        }
    }

    /// Lets a closed source submit again at `at`.
    pub(super) fn ask_at(&mut self, at: Time) {
        self.later.push(Reverse(at));
    }

    /// Draws the next request.
    pub(super) fn draw(&mut self) -> (u32, Verb, Extent) {
        match &self.stream.access {
            Access::Random { read_percent, sectors, .. } => {
                let verb =
                    if self.random.percent(*read_percent) { Verb::Read } else { Verb::Write };
                let all = self.places.last().expect("there is a LUN").1;
                let drawn = self.random.below(all);
                let at = self.places.partition_point(|(_, places)| *places <= drawn);
                let before = at.checked_sub(1).map_or(0, |at| self.places[at].1);
                let start = (drawn - before) * sectors;
                (self.places[at].0, verb, Extent::new(start, *sectors))
            }
            Access::Sequential { lun, verb, sectors } => {
                if self.position + sectors > self.sectors {
                    self.position = 0;
                }
                let extent = Extent::new(self.position, *sectors);
                self.position += sectors;
                (*lun, *verb, extent)
            }
            Access::Trace(entries) => {
                let line = usize::try_from(self.position).expect("a trace fits in memory");
                self.position += 1;
                let entry = entries[line];
                (entry.lun, entry.verb, entry.extent)
            }
        }
    }
}
