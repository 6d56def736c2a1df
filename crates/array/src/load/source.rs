//! One source of requests.

use std::collections::BinaryHeap;
use std::sync::Arc;

use std::cmp::Reverse;

use brunt_units::{Span, Time};
use brunt_world::random;

use crate::system::System;
use crate::{Extent, Verb};

/// A line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// When.
    pub at: Time,
    /// Which LUN, by number.
    pub lun: u32,
    /// What.
    pub verb: Verb,
    /// Which of its sectors.
    pub extent: Extent,
}

/// Which sectors are asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// Anywhere on the LUNs, at multiples of the size, each LUN as often as it is large.
    Random {
        /// The LUNs.
        luns: Vec<u32>,
        /// Reads in a hundred requests.
        read_percent: u32,
        /// Sectors of a request.
        sectors: u64,
    },
    /// One after the other from the beginning of a LUN, and again.
    Sequential {
        /// The LUN.
        lun: u32,
        /// Reading or writing.
        verb: Verb,
        /// Sectors of a request.
        sectors: u64,
    },
    /// Lines of a trace, ascending in time.
    Trace(Arc<[TraceEntry]>),
}

/// When they are asked for. A trace has its own times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many are in the array all the time.
    Outstanding(u32),
    /// So many come in a second, at random times (Poisson).
    Rate(f64),
    /// At the times of the trace.
    Traced,
}

/// A source of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Which sectors.
    pub access: Access,
    /// When.
    pub pace: Pace,
}

/// A [`Stream`] at work.
pub(super) struct Source {
    stream: Stream,
    random: random::Stream,
    /// The LUNs of random access, with the number of places on it and all before.
    places: Vec<(u32, u64)>,
    /// Sectors of the LUN of sequential access.
    sectors: u64,
    /// The next sector, or the next line.
    position: u64,
    /// When the next request comes, for sources that are not closed.
    next: Option<Time>,
    /// Requests of a closed source that wait after a refusal.
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

    /// Looks how large LUNs are, at the beginning and when one has grown. One that is gone is asked for what it had.
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

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.stream.pace, Pace::Outstanding(_))
    }

    /// Requests that are asked for at the very beginning.
    pub(super) fn at_once(&self) -> u32 {
        match self.stream.pace {
            Pace::Outstanding(count) => count,
            Pace::Rate(_) | Pace::Traced => 0,
        }
    }

    /// When the next request comes by itself.
    pub(super) fn due(&self) -> Option<Time> {
        self.next
            .or_else(|| self.later.peek().map(|Reverse(at)| *at))
    }

    /// The request that was due at `at` has been asked for.
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

    /// A closed source asks again at `at`.
    pub(super) fn ask_at(&mut self, at: Time) {
        self.later.push(Reverse(at));
    }

    /// The next request.
    pub(super) fn draw(&mut self) -> (u32, Verb, Extent) {
        match &self.stream.access {
            Access::Random {
                read_percent,
                sectors,
                ..
            } => {
                let verb = if self.random.percent(*read_percent) {
                    Verb::Read
                } else {
                    Verb::Write
                };
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
