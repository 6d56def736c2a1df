//! Measures the arrays while servers collect.
//!
//! The measurement restarts with every server that begins to collect, and ends when the first one
//! ends. So it covers the time in which all of them collected. In a recovery test it covers the
//! recovery, whose progress is reported repeatedly: from the first report to the verification after
//! it, or to the end of the test if there is none.
//!
//! [`parts`]: what each part of the arrays did in each sample.

pub(crate) mod parts;

use std::cell::RefCell;
use std::rc::Rc;

use brunt_array::drive::DriveStats;
use brunt_array::{
    CacheStats, LunRoom, Note, PageStats, PagedArray, ReplicaState, Replication, ReplicationState,
    SnapshotState, System, Tally, WriteMeter, WriteRates,
};
use brunt_report::result::StateSpan;
use brunt_run::{News, Recorded, Row};
use brunt_units::{Span, Time};

use crate::device::SharedArray;
use crate::replicas::Replicas;
use crate::states::{self, States};
use parts::{Marks, Names};

/// Measurements of one array.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) tally: Tally,
    pub(crate) drives: Vec<DriveStats>,
    pub(crate) cache: Option<CacheStats>,
    pub(crate) controllers: Vec<f64>,
    pub(crate) ports: Vec<f64>,
    pub(crate) between: f64,
    /// Activity of pages, and how full members were at the beginning and the end; `None` for a
    /// single array.
    pub(crate) pages: Option<PagesReading>,
    /// The replicas of volumes at the end; empty without.
    pub(crate) replicas: Vec<ReplicaState>,
    /// The replication at the end; `None` for an array that is not replicated.
    pub(crate) replication: Option<ReplicationState>,
    /// How fast hosts wrote to its groups.
    pub(crate) write_rates: Option<WriteRates>,
    pub(crate) notes: Vec<String>,
    pub(crate) events: Vec<Note>,
    /// When the measurement ended.
    pub(crate) until: Time,
    pub(crate) length: Span,
}

impl Reading {
    /// Adds what was measured of the same array in another world. What pages hold, and what
    /// happened, stays that of this one.
    pub(crate) fn join(&mut self, other: &Self) {
        let (own, length) = (self.length.as_seconds(), (self.length + other.length).as_seconds());
        let share = if length > 0.0 { own / length } else { 1.0 };
        let mean = |one: &mut f64, two: f64| *one = share * *one + (1.0 - share) * two;
        for (one, two) in
            [(&mut self.controllers, &other.controllers), (&mut self.ports, &other.ports)]
        {
            one.iter_mut().zip(two).for_each(|(one, two)| mean(one, *two));
        }
        mean(&mut self.between, other.between);
        self.tally.merge(&other.tally);
        for (one, two) in self.drives.iter_mut().zip(&other.drives) {
            *one = one.followed_by(two);
        }
        self.cache = self.cache.zip(other.cache).map(|(one, two)| one.and(&two));
        let rates = self.write_rates.as_ref().zip(other.write_rates.as_ref());
        self.write_rates = rates.map(|(one, two)| one.and(two, share));
        self.length += other.length;
    }
}

/// Measurements of LUNs in pages.
#[derive(Clone, Debug)]
pub(crate) struct PagesReading {
    pub(crate) stats: (PageStats, Vec<LunRoom>),
    pub(crate) snapshots: Vec<SnapshotState>,
    pub(crate) used_before: Vec<f64>,
    pub(crate) used: Vec<f64>,
}

/// Measures the arrays.
pub(crate) struct Gauge {
    arrays: Vec<SharedArray>,
    names: Vec<Names>,
    replicas: Option<Rc<Replicas>>,
    state: RefCell<State>,
    pub(crate) states: States,
}

#[derive(Default)]
struct State {
    since: Time,
    /// How full the members of each array were then.
    used_before: Vec<Vec<f64>>,
    /// The writes to each array that is replicated.
    writes: Vec<Option<WriteMeter>>,
    /// The parts of the arrays at the end of the newest sample.
    marks: Marks,
    until: Option<Time>,
    recovering: bool,
    readings: Vec<Reading>,
}

impl Gauge {
    /// Measures `arrays` with these names.
    pub(crate) fn new(
        arrays: Vec<SharedArray>,
        names: Vec<Names>,
        replicas: Option<Rc<Replicas>>,
    ) -> Self {
        Self { arrays, names, replicas, state: RefCell::default(), states: States::default() }
    }

    /// Handles news of a server.
    pub(crate) fn observe(&self, at: Time, news: &News) {
        match news {
            News::CollectionStarted if self.state.borrow().until.is_none() => self.begin(at),
            News::Recovering { .. } if !self.state.borrow().recovering => {
                self.begin(at);
                self.state.borrow_mut().recovering = true;
            }
            News::BackedUp { .. } => {
                self.end(at);
                // A restore's replay is not what a backup measures.
                self.state.borrow_mut().recovering = true;
            }
            // What was recovered is closed.
            News::Closing { .. } if self.state.borrow().recovering => self.end(at),
            News::CollectionEnded | News::VerifyingFiles { .. } | News::VerifyingRecords { .. } => {
                self.end(at)
            }
            _ => {}
        }
    }

    /// Handles a sample of a server. What it returns are rows of the arrays' parts: it has them if
    /// it is of the first server.
    pub(crate) fn sampled(&self, server: usize, recorded: &Recorded) -> Vec<Row> {
        self.states.count(&self.arrays, server, recorded);
        // Every server has samples: those of one are enough.
        let mut state = self.state.borrow_mut();
        let (begin, length) = (recorded.sample.begin, recorded.sample.length);
        if server > 0 {
            return Vec::new();
        }
        let rows = state.marks.sample(&self.arrays, &self.names, length);
        // One that had begun before is no whole sample.
        if begin < state.since {
            return Vec::new();
        }
        if state.until.is_none() {
            self.sample_writes(&mut state);
        }
        rows
    }

    fn sample_writes(&self, state: &mut State) {
        for (array, writes) in self.arrays.iter().zip(&mut state.writes) {
            let device = array.device();
            if let Some((writes, pair)) = writes.as_mut().zip(device.array().replication()) {
                writes.sample(pair);
            }
        }
    }

    /// The times in which groups were not whole, up to the end of the measurement.
    pub(crate) fn spans(&self) -> Vec<StateSpan> {
        let until = self.state.borrow().until;
        until.map_or_else(Vec::new, |until| states::spans(&self.arrays, until))
    }

    /// Handles the end of a server's test, which also ends the measurement of a recovery.
    pub(crate) fn test_ended(&self, at: Time) {
        let recovering = self.state.borrow().recovering;
        if recovering {
            self.end(at);
        }
    }

    fn begin(&self, at: Time) {
        let begin = |array: &SharedArray| {
            let mut device = array.device();
            device.begin_measuring();
            let pool = device.array().pool();
            pool.map(PagedArray::used_shares).unwrap_or_default()
        };
        let used_before = self.arrays.iter().map(begin).collect();
        let writes = self.arrays.iter();
        let writes =
            writes.map(|array| array.device().array().replication().map(WriteMeter::begin));
        *self.state.borrow_mut() = State {
            since: at,
            used_before,
            writes: writes.collect(),
            marks: Marks::begin(&self.arrays),
            ..State::default()
        };
    }

    fn end(&self, at: Time) {
        let mut state = self.state.borrow_mut();
        if state.until.is_some() {
            return;
        }
        state.until = Some(at);
        if let Some(replicas) = &self.replicas {
            replicas.load_ended(at);
        }
        let length = at - state.since;
        let mut before = std::mem::take(&mut state.used_before).into_iter();
        let mut writes = std::mem::take(&mut state.writes).into_iter();
        state.readings = self
            .arrays
            .iter()
            .map(|array| read(array, before.next(), writes.next().flatten(), length))
            .collect();
    }

    /// The measurements; ends the measurement if it is still running.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        let open = self.state.borrow().until.is_none();
        if open {
            let now = self.arrays.iter().map(|array| array.device().array().now());
            self.end(now.max().unwrap_or_default());
        }
        self.state.borrow().readings.clone()
    }

    /// Length of the measurement.
    pub(crate) fn measured(&self) -> Span {
        let state = self.state.borrow();
        state.until.map_or(Span::ZERO, |until| until - state.since)
    }
}

/// Reads the measurements of `array`. Its members count as empty if the measurement never began.
fn read(
    array: &SharedArray,
    used_before: Option<Vec<f64>>,
    writes: Option<WriteMeter>,
    length: Span,
) -> Reading {
    let device = array.device();
    let tally = device.tally().clone();
    let array = device.array();
    let (controllers, ports, between) = array.front_utilisations();
    Reading {
        tally,
        drives: array.drive_stats(),
        cache: array.cache_stats(),
        controllers,
        ports,
        between,
        pages: array.pool().map(|pool| {
            let used = pool.used_shares();
            PagesReading {
                stats: (pool.stats(), pool.lun_rooms()),
                snapshots: pool.snapshots(),
                used_before: used_before.unwrap_or_else(|| vec![0.0; used.len()]),
                used,
            }
        }),
        replication: array.replication().map(Replication::state),
        write_rates: {
            let measured = writes.zip(array.replication());
            measured.map(|(writes, pair)| writes.rates(pair))
        },
        replicas: array.replicas().map(|replicas| replicas.states()).unwrap_or_default(),
        notes: notes(array),
        events: array.notes(),
        until: array.now(),
        length,
    }
}

/// The log of the array, with events that have not ended.
fn notes(array: &dyn System) -> Vec<String> {
    let notes = array.notes().into_iter();
    let notes = notes.map(|note| format!("{} at {}", note.what, Span(note.at.0)));
    let unfinished = array.unfinished().into_iter();
    notes.chain(unfinished.map(|one| one.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_units::ByteSize;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    fn recovering(done: u32) -> News {
        News::Recovering { done, logs: 9 }
    }

    fn verifying() -> News {
        News::VerifyingFiles { done: ByteSize::mib(1), total: ByteSize::mib(2) }
    }

    #[test]
    fn a_recovery_is_measured_from_its_first_word_to_the_verification() {
        let gauge = Gauge::new(Vec::new(), Vec::new(), None);
        gauge.observe(at(1), &News::CollectionStarted);
        gauge.observe(at(10), &News::CollectionEnded);
        gauge.observe(at(20), &recovering(0));
        gauge.observe(at(25), &recovering(4));
        gauge.observe(at(30), &recovering(9));
        gauge.observe(at(33), &verifying());
        gauge.observe(at(39), &verifying());
        assert_eq!(gauge.measured(), Span::seconds(13));
    }

    #[test]
    fn the_shutdown_after_a_recovery_is_not_measured() {
        let gauge = Gauge::new(Vec::new(), Vec::new(), None);
        gauge.observe(at(20), &recovering(0));
        let (done, total) = (ByteSize::mib(0), ByteSize::mib(9));
        gauge.observe(at(25), &News::Closing { done, total });
        gauge.observe(at(33), &verifying());
        assert_eq!(gauge.measured(), Span::seconds(5));
    }

    #[test]
    fn the_replay_after_a_restore_is_not_that_of_the_backup() {
        let gauge = Gauge::new(Vec::new(), Vec::new(), None);
        gauge.observe(at(1), &News::CollectionStarted);
        let (total, took) = (ByteSize::mib(9), Span::seconds(6));
        gauge.observe(at(7), &News::BackedUp { total, took });
        gauge.observe(at(20), &recovering(0));
        gauge.observe(at(33), &verifying());
        assert_eq!(gauge.measured(), Span::seconds(6));
    }

    #[test]
    fn several_servers_are_measured_while_all_of_them_collect() {
        let gauge = Gauge::new(Vec::new(), Vec::new(), None);
        gauge.observe(at(1), &News::CollectionStarted);
        gauge.observe(at(3), &News::CollectionStarted);
        gauge.observe(at(8), &News::CollectionEnded);
        gauge.observe(at(9), &News::CollectionEnded);
        gauge.observe(at(10), &verifying());
        assert_eq!(gauge.measured(), Span::seconds(5));
    }
}
