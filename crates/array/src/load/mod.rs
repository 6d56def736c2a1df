//! Raw load on an array: random, sequential, or a trace, and its results.
//!
//! A [`Stream`] is one source of requests. A closed source keeps a fixed number of requests in
//! flight; an open source submits at a rate, regardless of the array; a trace has its own times.
//! [`simulate`] runs several of them, with incidents, and measures after a warm-up: latencies, the
//! parts of a read's time, drives, cache and front, in total and by interval.
//!
//! Latencies count from submission. Open and traced streams submit at the intended time, so
//! queueing is included when the array falls behind.

mod outcome;
mod source;

use brunt_units::{Span, Time};
use brunt_world::random::Streams;
use smallvec::SmallVec;

pub use outcome::{Interval, Outcome, Phase, Side};
pub use source::{Access, Pace, Stream, TraceEntry};

use crate::system::{System, SystemDesign, SystemError};
use crate::{Finished, HostIo, Scheduled};
use outcome::Measuring;
use source::Source;

/// A simulation to run.
#[derive(Clone)]
pub struct Simulation {
    /// The array, or the arrays.
    pub design: SystemDesign,
    /// The load.
    pub streams: Vec<Stream>,
    pub incidents: Vec<Scheduled>,
    /// Time at the beginning that is not measured.
    pub warm_up: Span,
    /// Measured time, after the warm-up.
    pub duration: Span,
    /// Length of the reporting intervals.
    pub interval: Span,
    /// The seed of all randomness.
    pub seed: u64,
}

/// Progress of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The interval that has ended.
    pub interval: &'a Interval,
    /// Virtual time so far.
    pub now: Time,
    /// Virtual time at the end.
    pub end: Time,
}

/// Runs `simulation`. `watch` is called at the end of every interval; if it returns false, the
/// simulation ends there.
///
/// # Errors
/// [`SystemError`] when the array cannot be built, or lacks a part that an incident names.
///
/// # Panics
/// When a stream names a LUN that does not exist; scenarios are checked before.
pub fn simulate(
    simulation: &Simulation,
    mut watch: impl FnMut(Progress<'_>) -> bool,
) -> Result<Outcome, SystemError> {
    let random = Streams::new(simulation.seed);
    let array = simulation.design.build(random.part("array"), &simulation.incidents)?;
    let mut sources: Vec<Source> = Vec::new();
    for (number, stream) in simulation.streams.iter().enumerate() {
        let random = random.named(&format!("load/{number}"));
        sources.push(Source::new(stream.clone(), &*array, random));
    }
    let begin = Time::ZERO + simulation.warm_up;
    let end = begin + simulation.duration;
    let mut run = Run {
        array,
        sources,
        has_incidents: !simulation.incidents.is_empty(),
        notes_seen: 0,
        measuring: Measuring::new(!simulation.incidents.is_empty()),
    };
    run.start();
    run.until(begin, false);
    run.measuring.begin(&mut *run.array);
    let mut at = begin;
    while at < end {
        at = (at + simulation.interval).min(end);
        run.until(at, true);
        let interval = run.measuring.close_interval(&*run.array);
        if !watch(Progress { interval, now: at, end }) {
            break;
        }
    }
    Ok(run.measuring.finish(&*run.array, &simulation.design))
}

struct Run {
    array: Box<dyn System>,
    sources: Vec<Source>,
    has_incidents: bool,
    notes_seen: usize,
    measuring: Measuring,
}

impl Run {
    fn start(&mut self) {
        for number in 0..self.sources.len() {
            if self.sources[number].is_there() {
                self.begin(number, Time::ZERO);
            }
        }
        // Answers that took no time: later, the clock of the array would be past their next
        // requests.
        self.collect(false);
    }

    fn begin(&mut self, number: usize, now: Time) {
        for _ in 0..self.sources[number].at_once() {
            self.ask(number, now);
        }
    }

    fn ask(&mut self, number: usize, now: Time) {
        if self.has_incidents {
            self.see_growth(now);
        }
        let (lun, verb, extent) = self.sources[number].draw();
        let tag = number as u64;
        self.array.submit(now, HostIo { lun, verb, extent, tag });
    }

    /// Updates the LUN sizes when something was noted, since a LUN may have grown, or be there now.
    fn see_growth(&mut self, now: Time) {
        let notes = self.array.notes_count();
        if notes == self.notes_seen {
            return;
        }
        self.notes_seen = notes;
        for number in 0..self.sources.len() {
            let source = &mut self.sources[number];
            let was_there = source.is_there();
            source.see_sizes(&*self.array);
            if !was_there && source.is_there() {
                self.begin(number, now);
            }
        }
    }

    /// Processes everything up to `end`.
    fn until(&mut self, end: Time, measured: bool) {
        loop {
            let due = (0..self.sources.len()).filter_map(|at| Some((self.sources[at].due()?, at)));
            let due = due.min();
            let next = match (self.array.next_at(), due) {
                (Some(event), Some((at, _))) => event.min(at),
                (Some(event), None) => event,
                (None, Some((at, _))) => at,
                (None, None) => break,
            };
            if next > end {
                break;
            }
            if let Some((at, number)) = due.filter(|(at, _)| *at <= next) {
                if self.sources[number].is_there() {
                    self.ask(number, at);
                }
                self.sources[number].asked(at);
            } else {
                self.array.advance(next);
            }
            if self.has_incidents && !self.sources.iter().all(Source::is_there) {
                let now = self.array.now();
                self.see_growth(now);
            }
            self.collect(measured);
        }
        self.array.advance(end);
        self.collect(measured);
    }

    fn collect(&mut self, measured: bool) {
        loop {
            let done: SmallVec<[Finished; 8]> = self.array.finished().collect();
            if done.is_empty() {
                break;
            }
            for one in done {
                if measured {
                    self.measuring.count(&one);
                }
                self.answered(&one);
            }
        }
        if measured {
            self.measuring.look(&*self.array);
        }
    }

    /// Closed sources submit again when they get their answer. After an answer that took no virtual
    /// time the source must wait or the clock would not advance: a microsecond, or a millisecond
    /// after an error.
    fn answered(&mut self, one: &Finished) {
        let number = usize::try_from(one.tag).expect("a source's number");
        if !self.sources[number].is_closed() {
            return;
        }
        match (one.at > one.submitted_at, one.result) {
            (true, _) => self.ask(number, one.at),
            (false, Ok(())) => self.sources[number].ask_at(one.at + Span::micros(1)),
            (false, Err(_)) => self.sources[number].ask_at(one.at + Span::millis(1)),
        }
    }
}

#[cfg(test)]
mod tests;
