//! Finds the sessions before the test: short trials on the warm server, controlled by
//! [`brunt_workload::tuning`].
//!
//! ```text
//!    warm up --> trial --> trial --> ... --> long trial --> collect, with the sessions found
//!                settle, then count for a window               |
//!                                                              `--> none found: the test is not begun; the result states why,
//!                                                                   what was tried, and what came nearest
//! ```
//!
//! With a target the trials are paced like the test, and tuning looks for the fewest sessions that
//! keep that pace. Without one they run in a closed loop, and it looks for the highest rate below
//! the limits; a test at a share of that maximum is then paced at it. When no number of sessions
//! keeps the pace of a target, tuning looks for the maximum all the same: it shows how near the
//! storage comes, or that the storage could do it and the tester could not.
//!
//! The storage fails only for its own faults. Trials that contradict one another leave the result
//! inconclusive.
//!
//! A trial counts by its worst value: the slowest database, the slowest log, page-fault stalls,
//! each as a share of its limit for the average of a test. Latencies of operations in a trial are
//! not judged, but their errors and wrong records are.

mod words;

use std::rc::Rc;

use brunt_report::result::Tuning;
use brunt_report::{counted, decimals};
use brunt_run::News;
use brunt_stats::{Meter, OperationLatencies};
use brunt_units::Span;
use brunt_workload::pacing::Pacer;
use brunt_workload::tuning::{Bounds, Goal, Reading, Step, Tuner, Why};

use crate::goal::{Target, Tune};
use crate::load::Load;
use crate::phases::run::{Director, GaveUp, TICK};
use crate::phases::test_run::TestRun;
use crate::sampling::discard;
use crate::server::{Server, Table};
use words::{Over, described, refusal};

/// A trial counts for one part in this many of the test.
const WINDOW_PART: u64 = 20;
/// Minimum and maximum length of that window.
const WINDOWS: (Span, Span) = (Span::seconds(3), Span::seconds(30));
/// Length of a long trial, in windows.
const LONG: u64 = 3;
/// Maximum number of sessions that are tried.
const SESSIONS_MAX: u32 = 4_096;
/// Share of an operation's service time that it may wait for a session. Our choice: a longer wait
/// would be latency that the storage did not cause.
const WAIT_SHARE: f64 = 0.25;
/// A wait up to this long is never too much: a busy host runs a task a millisecond late, which is
/// half a dozen service times on flash and says nothing about the storage. Our choice, as is the
/// next.
const WAIT_FLOOR: Span = Span::millis(1);
/// Likewise this share of the gap between two operations of the pace: such a slow pace is kept even
/// if each operation begins late.
const WAIT_GAP_SHARE: f64 = 0.01;
/// Number of windows in which a new pace must settle.
const PACE_WINDOWS: u64 = 10;

/// The measurements of a trial.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    reading: Reading,
    read_ms: f64,
    log_ms: f64,
    stalls_per_s: f64,
}

/// The outcome of a search. `over` is what the fewest sessions exceeded that were above a limit.
enum Search {
    Found {
        sessions: u32,
        io_per_s: f64,
        over: Option<Over>,
    },
    None {
        why: Why,
        over: Option<Over>,
    },
    /// The test is over, or the sessions cannot continue.
    Over,
}

impl Director<'_> {
    /// Finds the sessions, and continues with them.
    ///
    /// # Errors
    /// Why there are none, in words.
    pub(crate) async fn tune<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
        load: &mut Load<T>,
    ) -> Result<(), String> {
        let Some(wanted) = self.plan.tune else {
            return Ok(());
        };
        run.tuning = Some(Tuning::default());
        let goal = match wanted {
            Tune::Target => Goal::Pace,
            Tune::Maximum { .. } => Goal::Maximum,
        };
        let found = match self.search(goal, run, server, load).await? {
            Search::Over => return Ok(()),
            Search::Found { sessions, io_per_s, .. } => (sessions, io_per_s),
            Search::None { why, over } => {
                return Err(self.none_found(goal, (why, over), run, server, load).await?);
            }
        };
        let (sessions, io_per_s) = found;
        let trials = run.tuning.as_ref().map_or(0, |tuning| tuning.trials.len());
        let mut note = format!(
            "{}, found in {}: {} I/Os per second",
            counted(sessions.into(), "session"),
            counted(trials as u64, "trial"),
            decimals(io_per_s)
        );
        let percent = match wanted {
            Tune::Maximum { percent } if percent < 100 => Some(percent),
            _ => None,
        };
        if let Some(percent) = percent {
            let target =
                Target { io_per_s: io_per_s * f64::from(percent) / 100.0, headroom_percent: 0 };
            note += &format!(", and the test asks for {percent} % of that");
            run.target = Some(target);
            let pacer = Some(Pacer::new(target.offered()));
            self.restart(server, load, sessions, pacer).await?;
            self.find_pace(load).await;
        }
        run.sessions = sessions;
        if let Some(tuning) = &mut run.tuning {
            tuning.sessions = Some(sessions);
            tuning.io_per_s = Some(io_per_s);
            tuning.outcome.clone_from(&note);
            self.tell(News::Tuned {
                sessions,
                target: percent.and(run.target),
                tuning: tuning.clone(),
            });
        }
        self.note(note);
        Ok(())
    }

    /// Why nothing was found, and what came nearest.
    async fn none_found<T: Table>(
        &self,
        goal: Goal,
        (why, over): (Why, Option<Over>),
        run: &mut TestRun,
        server: &Rc<Server<T>>,
        load: &mut Load<T>,
    ) -> Result<String, String> {
        let asked = self.plan.target.map_or(0.0, |target| target.offered());
        let maximum = match goal {
            Goal::Pace => Some(self.search(Goal::Maximum, run, server, load).await?),
            Goal::Maximum => None,
        };
        let (outcome, is_contradictory) = refusal(why, asked, over, maximum);
        if let Some(tuning) = &mut run.tuning {
            tuning.is_contradictory = is_contradictory;
            tuning.outcome.clone_from(&outcome);
        }
        Ok(outcome)
    }

    async fn search<T: Table>(
        &self,
        goal: Goal,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
        load: &mut Load<T>,
    ) -> Result<Search, String> {
        let mut tuner = Tuner::new(goal, self.bounds());
        let pacer = match goal {
            Goal::Pace => load.pacer(),
            Goal::Maximum => None,
        };
        let mut sessions_now = None;
        let mut over: Option<Over> = None;
        loop {
            let (sessions, long) = match tuner.next() {
                Step::Try { sessions, long } => (sessions, long),
                // The last trial was its long one: these sessions are still running.
                Step::Found { sessions, reading } => {
                    return Ok(Search::Found { sessions, io_per_s: reading.io_per_s, over });
                }
                Step::Failed(why) => return Ok(Search::None { why, over }),
            };
            if sessions_now != Some(sessions) {
                // The pace learnt in the last trial is the start for the next.
                let pacer = pacer.map(|first| load.pacer().unwrap_or(first));
                self.restart(server, load, sessions, pacer).await?;
                sessions_now = Some(sessions);
            }
            let tuning = run.tuning.get_or_insert_default();
            let number = tuning.trials.len() + 1;
            let trial = (number, sessions, long);
            let Some(measured) = self.trial(server, load, trial).await else {
                return Ok(Search::Over);
            };
            tuner.observe(sessions, long, measured.reading);
            let asked = pacer.and(self.plan.target).map(|target| target.offered());
            let exceeded = Over::of(sessions, &measured, &self.plan.limits);
            let trial = described(asked, sessions, &measured, exceeded.as_ref());
            if over.as_ref().is_none_or(|over| sessions < over.sessions) {
                over = exceeded.or(over);
            }
            self.tell(News::Tried(trial.clone()));
            tuning.trials.push(trial);
        }
    }

    fn bounds(&self) -> Bounds {
        let first = self.plan.sessions;
        Bounds { unit: self.plan.session_unit(), first, most: SESSIONS_MAX.max(first) }
    }

    /// Starts another number of sessions on the same databases.
    async fn restart<T: Table>(
        &self,
        server: &Rc<Server<T>>,
        load: &mut Load<T>,
        sessions: u32,
        pacer: Option<Pacer>,
    ) -> Result<(), String> {
        let stopped = self.unless_hung(load.sessions.stop()).await;
        stopped.map_err(|GaveUp| self.hung())?;
        load.restart(self.world, self.plan, server, sessions, pacer);
        Ok(())
    }

    fn window(&self) -> Span {
        let part = Span(self.plan.duration.0.div_euclid(WINDOW_PART));
        part.clamp(WINDOWS.0, WINDOWS.1)
    }

    /// Lets sessions settle, then counts. `None` when the test ends meanwhile.
    async fn trial<T: Table>(
        &self,
        server: &Server<T>,
        load: &mut Load<T>,
        (number, sessions, long): (usize, u32, bool),
    ) -> Option<Measured> {
        if long {
            // The result must hold at the pace of the test.
            self.find_pace(load).await;
        }
        let window = self.window();
        let settle = Span(window.0.div_euclid(3));
        let news = News::Tuning { trial: number, sessions };
        self.go_on(load, settle, &news).await?;
        server.board().with(discard);
        load.rebase(self.now());
        load.sessions.begin_collection();
        let begun = self.now();
        let length = if long { window * LONG } else { window };
        self.go_on(load, length, &news).await?;
        load.sessions.count_unfinished();
        let seconds = (self.now() - begun).as_seconds();
        let mut measured = self.measured(server, seconds);
        if let Some(pacer) = load.pacer() {
            let gap = Span::from_seconds(pacer.rate().recip());
            measured.reading.late = late(&operations(load), gap);
        }
        Some(measured)
    }

    /// Lets sessions run for this long.
    async fn go_on<T: Table>(&self, load: &mut Load<T>, span: Span, news: &News) -> Option<()> {
        let end = self.now() + span;
        while self.now() < end {
            self.world.sleep_until(end.min(self.now() + TICK)).await;
            self.tend(load);
            if self.is_over(load) {
                return None;
            }
            self.tell(news.clone());
        }
        Some(())
    }

    /// Waits for a new pace to settle, but not forever.
    async fn find_pace<T: Table>(&self, load: &mut Load<T>) {
        let by = self.now() + self.window() * PACE_WINDOWS;
        while !load.is_settled() && self.now() < by && !self.is_over(load) {
            self.world.sleep(TICK).await;
            self.tend(load);
        }
    }

    fn measured<T: Table>(&self, server: &Server<T>, seconds: f64) -> Measured {
        let limits = &self.plan.limits;
        server.board().with(|meters| {
            let mean = |meter: &Meter| meter.running().mean().unwrap_or_default();
            let databases = || meters.databases.iter();
            let read = databases().map(|d| mean(&d.reads)).max().unwrap_or_default();
            let log = meters.logs.iter().map(|l| mean(&l.writes)).max().unwrap_or_default();
            let ios = databases().map(|d| d.reads.running().count() + d.writes.running().count());
            let stalls_per_s = meters.page_fault_stalls.close_interval() as f64 / seconds;
            let io_per_s = ios.sum::<u64>() as f64 / seconds;
            let strain = [
                read.as_seconds() / limits.latency.read_mean.as_seconds(),
                log.as_seconds() / limits.latency.log_mean.as_seconds(),
                stalls_per_s / limits.stalls_per_s,
            ];
            Measured {
                reading: Reading {
                    io_per_s,
                    strain: strain.into_iter().fold(0.0, f64::max),
                    late: 0.0,
                },
                read_ms: read.as_millis(),
                log_ms: log.as_millis(),
                stalls_per_s,
            }
        })
    }
}

/// The operations since the last call.
fn operations<T: Table>(load: &Load<T>) -> OperationLatencies {
    let mut all = OperationLatencies::default();
    for instance in load.sessions.take_latencies() {
        all.merge(&instance);
    }
    all
}

/// How far sessions are behind a pace with this `gap` between two operations: the wait of
/// operations for a session, as a multiple of the allowed wait. An operation that has not begun
/// when the trial ends has waited until then.
fn late(operations: &OperationLatencies, gap: Span) -> f64 {
    let mean =
        |latencies: &brunt_stats::Latencies| latencies.mean().unwrap_or_default().as_seconds();
    let service = mean(&operations.from_actual_start);
    let waited = (mean(&operations.from_intended_start) - service).max(0.0);
    let allowed =
        [service * WAIT_SHARE, WAIT_FLOOR.as_seconds(), gap.as_seconds() * WAIT_GAP_SHARE];
    waited / allowed.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Span = Span::micros(500);

    fn operation(waited: Span, service: Span) -> OperationLatencies {
        let mut operations = OperationLatencies::default();
        let intended = brunt_units::Time::ZERO;
        operations.record(intended, intended + waited, intended + waited + service);
        operations
    }

    #[test]
    fn waiting_for_a_session_is_being_late() {
        let mut operations = OperationLatencies::default();
        let at = |millis: u64| brunt_units::Time::ZERO + Span::millis(millis);
        // 8 ms of service; one waited 4 ms, the other not at all.
        operations.record(at(0), at(4), at(12));
        operations.record(at(20), at(20), at(28));
        let lateness = late(&operations, FAST);
        assert!((lateness - 1.0).abs() < 0.02, "2 ms are a quarter of 8: {lateness}");
        // This one has not begun.
        operations.from_intended_start.record(Span::seconds(1));
        assert!(late(&operations, FAST) > 100.0);
        assert_eq!(late(&OperationLatencies::default(), FAST), 0.0);
    }

    #[test]
    fn a_millisecond_or_a_hundredth_of_the_gap_is_not_being_late() {
        let service = Span::micros(200);
        let near = |lateness: f64, wanted: f64| (lateness - wanted).abs() < 0.02;
        let waited = operation(Span::micros(900), service);
        assert!(near(late(&waited, FAST), 0.9), "{}", late(&waited, FAST));
        // Five operations a second may each be 2 ms late.
        let waited = operation(Span::millis(3), service);
        assert!(near(late(&waited, FAST), 3.0));
        assert!(near(late(&waited, Span::millis(200)), 1.5));
    }
}
