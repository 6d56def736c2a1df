//! What is measured on the arrays while servers collect.
//!
//! Measuring begins anew with every server that begins to collect, and ends when the first one ends: what lies between is
//! the time in which all of them worked. In a recovery test it is the recovery, which is told again and again while it
//! goes on: from the first word of it to the verification after it.

use std::cell::RefCell;

use brunt_array::drive::DriveStats;
use brunt_array::{CacheStats, SharedArray, Tally};
use brunt_qualify::progress::News;
use brunt_units::{Span, Time};

/// What was measured on one array.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) tally: Tally,
    pub(super) drives: Vec<DriveStats>,
    pub(super) cache: Option<CacheStats>,
    pub(super) controllers: Vec<f64>,
    pub(super) ports: Vec<f64>,
    pub(super) between: f64,
    pub(super) notes: Vec<String>,
    pub(super) length: Span,
}

/// Measures the arrays.
pub(super) struct Gauge {
    arrays: Vec<SharedArray>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    since: Time,
    until: Option<Time>,
    recovering: bool,
    readings: Vec<Reading>,
}

impl Gauge {
    pub(super) fn new(arrays: Vec<SharedArray>) -> Self {
        Self {
            arrays,
            state: RefCell::default(),
        }
    }

    /// A server tells what it does.
    pub(super) fn hear(&self, at: Time, news: &News) {
        match news {
            News::CollectionStarted if self.state.borrow().until.is_none() => self.begin(at),
            News::Recovering { .. } if !self.state.borrow().recovering => {
                self.begin(at);
                self.state.borrow_mut().recovering = true;
            }
            News::CollectionEnded
            | News::BackedUp { .. }
            | News::VerifyingFiles { .. }
            | News::VerifyingRecords { .. } => self.end(at),
            _ => {}
        }
    }

    fn begin(&self, at: Time) {
        for array in &self.arrays {
            array.device().begin_measuring();
        }
        *self.state.borrow_mut() = State {
            since: at,
            ..State::default()
        };
    }

    fn end(&self, at: Time) {
        let mut state = self.state.borrow_mut();
        if state.until.is_some() {
            return;
        }
        state.until = Some(at);
        let length = at - state.since;
        state.readings = self
            .arrays
            .iter()
            .map(|array| read(array, length))
            .collect();
    }

    /// What was measured; up to now when nothing has ended it.
    pub(super) fn readings(&self) -> Vec<Reading> {
        let open = self.state.borrow().until.is_none();
        if open {
            let now = self.arrays.iter().map(|array| array.device().array().now());
            self.end(now.max().unwrap_or_default());
        }
        self.state.borrow().readings.clone()
    }

    /// How long was measured.
    pub(super) fn measured(&self) -> Span {
        let state = self.state.borrow();
        state.until.map_or(Span::ZERO, |until| until - state.since)
    }
}

fn read(array: &SharedArray, length: Span) -> Reading {
    let mut device = array.device();
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
        notes: array
            .notes()
            .iter()
            .map(|note| format!("{} at {}", note.what, Span(note.at.0)))
            .collect(),
        length,
    }
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
        News::VerifyingFiles {
            done: ByteSize::mib(1),
            total: ByteSize::mib(2),
        }
    }

    #[test]
    fn a_recovery_is_measured_from_its_first_word_to_the_verification() {
        let gauge = Gauge::new(Vec::new());
        gauge.hear(at(1), &News::CollectionStarted);
        gauge.hear(at(10), &News::CollectionEnded);
        gauge.hear(at(20), &recovering(0));
        gauge.hear(at(25), &recovering(4));
        gauge.hear(at(30), &recovering(9));
        gauge.hear(at(33), &verifying());
        gauge.hear(at(39), &verifying());
        assert_eq!(gauge.measured(), Span::seconds(13));
    }

    #[test]
    fn several_servers_are_measured_while_all_of_them_collect() {
        let gauge = Gauge::new(Vec::new());
        gauge.hear(at(1), &News::CollectionStarted);
        gauge.hear(at(3), &News::CollectionStarted);
        gauge.hear(at(8), &News::CollectionEnded);
        gauge.hear(at(9), &News::CollectionEnded);
        gauge.hear(at(10), &verifying());
        assert_eq!(gauge.measured(), Span::seconds(5));
    }
}
