//! Stops: times in which I/O was in flight and none completed.
//!
//! A path that fails over, a controller that restarts and a drive that collects garbage stop all
//! I/O for a second or for ten. Means do not show it: in two hours, a stop holds up one I/O of each
//! session. So completions of each stream are watched one after the other:
//!
//! ```text
//!   in flight      ──────  ───────────────────────────  ────────
//!   completed         │  │ │                          │││  │
//!                            <-------- stop --------->
//! ```
//!
//! Streams are the reads of a database, its writes, and the writes of a log. A device that stops
//! does so for each of its streams, and a stop of one kind (writes alone) does not hide behind the
//! other. A stream may be idle for a moment when storage stops: a pause of at most [`IDLE`] between
//! its last completion and the I/O that waits belongs to the stop, or a stop of a second would
//! measure less than one. While the program itself did not run ([`crate::pulse`]) nobody knows what
//! the storage did, so that time counts as no stop.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_run::LongestStop;
use brunt_units::{Span, Time};
use brunt_world::{Op, Watcher};

use crate::plan::Plan;

/// A longer stop is noted in the test log; this is the limit of the rule. Our choice.
pub const NOTED: Span = Span::seconds(1);

/// A stream that was idle for no longer had not stopped working when the storage did. Our choice: a
/// twentieth of [`NOTED`], and ten times the pause between reads at 200 a second.
const IDLE: Span = Span::millis(50);

/// A stop that has ended.
#[derive(Clone, Copy, Debug)]
struct Found {
    began: Time,
    length: Span,
    lane: usize,
}

/// What all streams have in common.
#[derive(Debug, Default)]
struct Seen {
    from: Cell<Time>,
    /// The longest since the program was last known to run.
    fresh: Cell<Option<Found>>,
    longest: Cell<Option<Found>>,
}

impl Seen {
    fn note(&self, lane: usize, began: Time, ended: Time) {
        let began = began.max(self.from.get());
        let length = Span(ended.0.saturating_sub(began.0));
        if self.fresh.get().is_none_or(|found| length > found.length) {
            self.fresh.set(Some(Found { began, length, lane }));
        }
    }
}

/// The I/Os in flight of one stream.
#[derive(Debug)]
pub(crate) struct Lane {
    number: usize,
    seen: Rc<Seen>,
    in_flight: Cell<u32>,
    /// When the last one completed, or the first was submitted after a pause.
    since: Cell<Time>,
}

impl Lane {
    /// An I/O was submitted.
    pub(crate) fn submitted(&self, at: Time) {
        if self.in_flight.get() == 0 && at > self.since.get() + IDLE {
            self.since.set(at);
        }
        self.in_flight.set(self.in_flight.get() + 1);
    }

    fn waits_since(&self) -> Option<Time> {
        (self.in_flight.get() > 0).then(|| self.since.get())
    }
}

impl Watcher for Lane {
    fn completed(&self, done_at: Time) {
        self.seen.note(self.number, self.since.get(), done_at);
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        self.since.set(done_at);
    }
}

/// The streams of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    reads: Option<Rc<Lane>>,
    writes: Option<Rc<Lane>>,
}

impl Lanes {
    /// The stream of an I/O.
    pub(crate) fn of(&self, op: Op) -> Option<&Rc<Lane>> {
        match op {
            Op::Read => self.reads.as_ref(),
            Op::Write | Op::WriteThrough | Op::Sync => self.writes.as_ref(),
            Op::Trim => None,
        }
    }
}

/// All streams of a test; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Stops {
    seen: Rc<Seen>,
    names: Vec<String>,
    lanes: Vec<Rc<Lane>>,
    databases: Vec<(PathBuf, Lanes)>,
    logs: Vec<(PathBuf, Lanes)>,
    told_until: Cell<Time>,
    news: RefCell<Vec<String>>,
}

impl Stops {
    /// The streams of `plan`.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut stops = Self::default();
        for database in plan.databases() {
            let lanes = Lanes {
                reads: Some(stops.lane(format!("reads of {}", database.name))),
                writes: Some(stops.lane(format!("writes of {}", database.name))),
            };
            stops.databases.push((database.path.clone(), lanes));
        }
        for instance in &plan.instances {
            let lanes = Lanes {
                reads: None,
                writes: Some(stops.lane(format!("log writes of {}", instance.name))),
            };
            stops.logs.push((instance.log.clone(), lanes));
        }
        stops
    }

    fn lane(&mut self, name: String) -> Rc<Lane> {
        let lane = Rc::new(Lane {
            number: self.names.len(),
            seen: Rc::clone(&self.seen),
            in_flight: Cell::new(0),
            since: Cell::new(Time::ZERO),
        });
        self.names.push(name);
        self.lanes.push(Rc::clone(&lane));
        lane
    }

    /// The streams of the file at `path`.
    pub(crate) fn lanes_of(&self, path: &Path) -> Lanes {
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        let found = match is_log {
            true => self.logs.iter().find(|(log, _)| path.parent() == Some(log)),
            false => self.databases.iter().find(|(own, _)| own == path),
        };
        found.map_or_else(Lanes::default, |(_, lanes)| lanes.clone())
    }

    /// Stops count from now on.
    pub(crate) fn begin(&self, now: Time) {
        self.seen.from.set(now);
        self.seen.fresh.take();
        self.seen.longest.take();
        self.told_until.set(now);
        self.news.take();
    }

    /// The program has run all the time until now.
    pub(crate) fn settle(&self) {
        let Some(found) = self.seen.fresh.take() else {
            return;
        };
        let longest = &self.seen.longest;
        if longest.get().is_none_or(|longest| found.length > longest.length) {
            longest.set(Some(found));
        }
        if found.length > NOTED && found.began >= self.told_until.get() {
            self.told_until.set(found.began + found.length);
            let after = found.began - self.seen.from.get();
            self.news.borrow_mut().push(format!(
                "no I/O completed for {:.2} s, from {:.1} s after the start: {}",
                found.length.as_seconds(),
                after.as_seconds(),
                self.names[found.lane]
            ));
        }
    }

    /// The program did not run from `from` to `until`.
    pub(crate) fn leave_out(&self, from: Time, until: Time) {
        if let Some(found) = self.seen.fresh.take() {
            let end = (found.began + found.length).min(from).max(found.began);
            self.seen.note(found.lane, found.began, end);
        }
        for lane in &self.lanes {
            if let Some(since) = lane.waits_since().filter(|since| *since < until) {
                self.seen.note(lane.number, since.min(from), from);
                lane.since.set(until);
            }
        }
        self.settle();
    }

    /// The longest since [`Self::begin`], with those that go on at `now`.
    pub(crate) fn longest(&self, now: Time) -> LongestStop {
        let from = self.seen.from.get();
        let going_on = self.lanes.iter().filter_map(|lane| {
            let began = lane.waits_since()?.max(from);
            Some(Found { began, length: Span(now.0.saturating_sub(began.0)), lane: lane.number })
        });
        let all = going_on.chain(self.seen.longest.get());
        let Some(found) = all.max_by_key(|found| found.length) else {
            return LongestStop::default();
        };
        LongestStop {
            length: found.length,
            after: found.began - from,
            what: self.names[found.lane].clone(),
        }
    }

    /// What there is to say, each once.
    pub(crate) fn news(&self) -> Vec<String> {
        self.news.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::millis(ms)
    }

    /// Lanes of the reads of DB1, its writes, and the log of Instance 2.
    fn lanes(stops: &Stops) -> [Rc<Lane>; 3] {
        let database = stops.lanes_of(Path::new("db/1.edb"));
        let log = stops.lanes_of(Path::new("log2/E0000000001.log"));
        let lane = |lanes: &Lanes, op| Rc::clone(lanes.of(op).unwrap());
        [lane(&database, Op::Read), lane(&database, Op::WriteThrough), lane(&log, Op::Sync)]
    }

    #[test]
    fn a_stop_is_from_one_completion_to_the_next_while_something_is_in_flight() {
        let stops = Stops::of(&plan());
        let [reads, ..] = lanes(&stops);
        assert!(stops.lanes_of(Path::new("log1/E00.chk")).writes.is_none());
        stops.begin(at(1_000));
        let longest = |now| {
            stops.settle();
            stops.longest(at(now))
        };
        assert_eq!(longest(1_000), LongestStop::default());
        reads.submitted(at(1_500));
        reads.submitted(at(1_600));
        assert_eq!(longest(1_700).length, Span::millis(200), "it goes on");
        reads.completed(at(1_900));
        reads.completed(at(2_100));
        // Idle until here: a wait for nothing is no stop.
        reads.submitted(at(9_000));
        reads.completed(at(9_100));
        let stop = longest(9_100);
        assert_eq!((stop.length, stop.after), (Span::millis(400), Span::millis(500)));
        assert_eq!(stop.remark(), "reads of DB1, 0.5 s after the start");
        assert!(stops.news().is_empty());
    }

    /// The stream was idle for 30 ms when the storage stopped for a second.
    #[test]
    fn a_short_pause_before_a_stop_belongs_to_it() {
        let longest = |idle: u64| {
            let stops = Stops::of(&plan());
            let [reads, ..] = lanes(&stops);
            stops.begin(at(0));
            reads.submitted(at(995));
            reads.completed(at(1_000));
            reads.submitted(at(1_000 + idle));
            reads.completed(at(2_001));
            stops.settle();
            stops.longest(at(2_001)).length
        };
        assert_eq!([30, 50, 51].map(longest), [1_001, 1_001, 950].map(Span::millis));
    }

    #[test]
    fn writes_that_stop_do_not_hide_behind_reads() {
        let stops = Stops::of(&plan());
        let [reads, writes, log] = lanes(&stops);
        stops.begin(at(0));
        writes.submitted(at(1_000));
        log.submitted(at(1_010));
        for ms in 10..25 {
            reads.submitted(at(100 * ms));
            reads.completed(at(100 * ms + 90));
            stops.settle();
        }
        writes.completed(at(2_500));
        stops.settle();
        log.completed(at(2_520));
        stops.settle();
        let stop = stops.longest(at(2_600));
        assert_eq!(
            (stop.length, stop.what.as_str()),
            (Span::millis(1_510), "log writes of Instance 2")
        );
        // The same stop of another stream is not told again.
        let told = "no I/O completed for 1.50 s, from 1.0 s after the start: writes of DB1";
        assert_eq!(stops.news(), [told]);
    }

    #[test]
    fn a_program_that_did_not_run_blames_no_storage() {
        let stops = Stops::of(&plan());
        let [reads, writes, _] = lanes(&stops);
        stops.begin(at(0));
        reads.submitted(at(990));
        writes.submitted(at(500));
        // Stopped from 1,000 to 31,000; the read is reaped before anybody knows.
        reads.completed(at(31_000));
        stops.leave_out(at(1_000), at(31_000));
        writes.completed(at(31_200));
        stops.settle();
        let stop = stops.longest(at(31_200));
        assert_eq!(stop.length, Span::millis(500));
        assert_eq!(stop.what, "writes of DB1");
        assert!(stops.news().is_empty());
    }
}
