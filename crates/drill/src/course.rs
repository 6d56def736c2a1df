//! What a drill sees over time: samples of load and replication, what happened, and the phases
//! between.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use brunt_report::result::{DrillEvent, DrillPhase, DrillSample};
use brunt_run::{Interval, Listener, Recorded, Row};
use brunt_stats::Reading;
use brunt_units::{Span, Time};

use crate::samples;

/// Samples and events of a drill.
#[derive(Default)]
pub struct Course {
    /// Hears of every sample.
    listener: Option<Rc<dyn Listener>>,
    begun: Cell<Time>,
    closed_at: Cell<Time>,
    samples: RefCell<Vec<DrillSample>>,
    events: RefCell<Vec<DrillEvent>>,
    /// Where phases begin, with their names.
    borders: RefCell<Vec<(f64, String)>>,
}

impl Course {
    /// Nothing was seen yet; `listener` hears of every sample.
    pub fn new(listener: &Rc<dyn Listener>) -> Self {
        Self { listener: Some(Rc::clone(listener)), ..Self::default() }
    }

    /// Begins at `now`.
    pub fn begin(&self, now: Time) {
        self.begun.set(now);
        self.closed_at.set(now);
        self.borders.borrow_mut().push((0.0, "before".to_owned()));
    }

    /// Seconds from the beginning to `at`.
    pub fn second(&self, at: Time) -> f64 {
        at.since(self.begun.get()).as_seconds()
    }

    /// When the newest sample was closed.
    pub fn closed_at(&self) -> Time {
        self.closed_at.get()
    }

    /// Notes that `what` happened at `at`.
    pub fn happened(&self, at: Time, what: String) {
        let at_s = self.second(at);
        self.events.borrow_mut().push(DrillEvent { at_s, what });
    }

    /// A phase called `name` begins at `at`.
    pub fn phase(&self, at: Time, name: &str) {
        let at = self.second(at);
        self.borders.borrow_mut().push((at, name.to_owned()));
    }

    /// Closes a sample at `now`: `measured`, without its time; `more` rows are only in the record.
    pub fn close(&self, now: Time, measured: DrillSample, more: Vec<Row>) {
        let length = now.since(self.closed_at.get());
        if length > Span::ZERO {
            self.push(now, length.as_seconds(), measured, more);
        }
    }

    /// Closes a sample at `now` that knows its own length. One that began before the course is left
    /// out; when nothing was measured for a while before it began, there were no I/Os.
    pub fn close_own(&self, now: Time, measured: DrillSample) {
        let length = Span::from_seconds(measured.length_s);
        let begun = Time(now.0.saturating_sub(length.0));
        if begun < self.begun.get() {
            return;
        }
        let silence = begun.since(self.closed_at.get());
        if silence > length {
            self.push(begun, silence.as_seconds(), DrillSample::default(), Vec::new());
        }
        self.push(now, measured.length_s, measured, Vec::new());
    }

    fn push(&self, now: Time, length_s: f64, measured: DrillSample, more: Vec<Row>) {
        self.closed_at.set(now);
        let sample = DrillSample { at_s: self.second(now), length_s, ..measured };
        self.samples.borrow_mut().push(sample);
        // What was measured before it began is forgotten.
        let has_begun = !self.borders.borrow().is_empty();
        if let Some(listener) = self.listener.as_ref().filter(|_| has_begun) {
            let mut sample = samples::recorded(&sample);
            sample.rows.extend(more);
            let sample = Arc::new(sample);
            listener.recorded(&Recorded { sample, ..Recorded::default() });
        }
    }

    /// Forgets the samples so far.
    pub fn drop_samples(&self) {
        self.samples.borrow_mut().clear();
    }

    /// The samples, in order.
    pub fn samples(&self) -> Vec<DrillSample> {
        self.samples.borrow().clone()
    }

    /// What happened, in order.
    pub fn events(&self) -> Vec<DrillEvent> {
        let mut events = self.events.borrow().clone();
        events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        events
    }

    /// The load in each phase: of the samples that lie in it.
    pub fn phases(&self) -> Vec<DrillPhase> {
        let samples = self.samples.borrow();
        let borders = self.borders.borrow();
        // What is over at once is no phase.
        let next = borders.iter().skip(1).map(|(at, _)| *at);
        let next = next.chain([f64::INFINITY]);
        let lasting = borders.iter().zip(next).filter(|((from, _), to)| to - from >= 1.0);
        let borders: Vec<(f64, String)> = lasting.map(|(border, _)| border.clone()).collect();
        let ends = borders.iter().skip(1).map(|(at, _)| *at).chain([f64::INFINITY]);
        let phases = borders.iter().zip(ends).map(|((from, name), to)| {
            let inside = |sample: &&DrillSample| {
                sample.at_s - sample.length_s >= from - 1e-9 && sample.at_s <= to + 1e-9
            };
            phase(name, *from, samples.iter().filter(inside))
        });
        phases.flatten().collect()
    }
}

/// What servers have measured in an interval, as a sample without its time.
pub fn measured(load: &[Interval]) -> DrillSample {
    let (reads, read_ms) = sum(load.iter().map(|one| &one.reads));
    let (writes, write_ms) = sum(load.iter().map(|one| &one.writes));
    let (log_writes, log_ms) = sum(load.iter().map(|one| &one.log_writes));
    DrillSample { reads, read_ms, writes, write_ms, log_writes, log_ms, ..DrillSample::default() }
}

/// The number of I/Os, and their mean latency.
fn sum<'r>(readings: impl Iterator<Item = &'r Reading>) -> (u64, Option<f64>) {
    let (mut count, mut total) = (0, 0.0);
    for reading in readings {
        count += reading.count;
        total += reading.mean.unwrap_or_default().as_millis() * reading.count as f64;
    }
    (count, (count > 0).then(|| total / count as f64))
}

fn phase<'s>(
    name: &str,
    from: f64,
    samples: impl Iterator<Item = &'s DrillSample> + Clone,
) -> Option<DrillPhase> {
    let to = samples.clone().map(|sample| sample.at_s).reduce(f64::max)?;
    let seconds: f64 = samples.clone().map(|sample| sample.length_s).sum();
    let mean = |of: fn(&DrillSample) -> (u64, Option<f64>)| {
        let (count, total) =
            samples.clone().map(of).fold((0, 0.0), |(count, total), (more, ms)| {
                (count + more, total + ms.unwrap_or_default() * more as f64)
            });
        (count > 0).then(|| total / count as f64)
    };
    let ios: u64 = samples.clone().map(|sample| sample.reads + sample.writes).sum();
    Some(DrillPhase {
        name: name.to_owned(),
        from_s: from,
        to_s: to,
        io_per_s: ios as f64 / seconds,
        read_ms: mean(|sample| (sample.reads, sample.read_ms)),
        write_ms: mean(|sample| (sample.writes, sample.write_ms)),
        log_ms: mean(|sample| (sample.log_writes, sample.log_ms)),
        log_worst_ms: samples.clone().filter_map(|sample| sample.log_ms).reduce(f64::max),
        log_bytes: samples.map(|sample| sample.log_bytes).max().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_samples_has_no_load() {
        let course = Course::default();
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        course.begin(at(100));
        let sample = DrillSample { length_s: 2.0, reads: 10, ..DrillSample::default() };
        for second in [101, 103, 105, 110] {
            course.close_own(at(second), sample);
        }
        let told = course.samples();
        let told: Vec<_> = told.iter().map(|one| (one.at_s, one.length_s, one.reads)).collect();
        assert_eq!(told, [(3.0, 2.0, 10), (5.0, 2.0, 10), (8.0, 3.0, 0), (10.0, 2.0, 10)]);
    }

    #[test]
    fn phases_hold_whole_samples_only() {
        let course = Course::default();
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        course.begin(at(100));
        for (second, reads, read_ms) in
            [(10, 100, 4.0), (20, 300, 8.0), (30, 200, 1.0), (40, 10, 9.0)]
        {
            course.samples.borrow_mut().push(DrillSample {
                at_s: f64::from(second),
                length_s: 10.0,
                reads,
                read_ms: Some(read_ms),
                ..DrillSample::default()
            });
        }
        course.phase(at(125), "link lost");
        let phases = course.phases();
        assert_eq!(phases.len(), 2);
        assert_eq!((phases[0].name.as_str(), phases[0].io_per_s), ("before", 20.0));
        assert_eq!(phases[0].read_ms, Some(7.0));
        assert_eq!((phases[1].from_s, phases[1].to_s, phases[1].io_per_s), (25.0, 40.0, 1.0));
    }
}
