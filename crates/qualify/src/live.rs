//! The state of a running test, for display.

use brunt_ese::meter::{MeterBoard, Meters};
use brunt_run::{Live, LiveDatabase, SoFar};
use brunt_stats::{Latencies, Meter, Percentile};
use brunt_units::{Span, Time};

use crate::goal::Target;
use crate::plan::Plan;
use crate::rules::less_margin;

/// Reads the counters without closing intervals.
pub struct Gauge {
    begin: Time,
    duration: Span,
    stalls_per_s: f64,
    least: Option<f64>,
    /// The name of each database, and the number of its log.
    databases: Vec<(String, usize)>,
    /// I/Os counted, and when.
    before: (u64, Time),
    rate: f64,
    /// When the running sample was last seen with reads.
    read_at: Time,
    so_far: SoFar,
}

/// A rate is measured over at least this long.
const WINDOW: Span = Span::seconds(1);

impl Gauge {
    /// A gauge for a collection of `plan` that lasts for `duration` from `begin` and must achieve
    /// `target`.
    pub fn new(begin: Time, duration: Span, plan: &Plan, target: Option<Target>) -> Self {
        let instances = plan.instances.iter().enumerate();
        let databases = instances.flat_map(|(log, instance)| {
            let names = instance.databases.iter().map(|one| one.name.clone());
            names.map(move |name| (name, log))
        });
        Self {
            begin,
            duration,
            stalls_per_s: plan.limits.stalls_per_s,
            least: target.map(|target| less_margin(target.io_per_s, &plan.limits)),
            databases: databases.collect(),
            before: (0, begin),
            rate: 0.0,
            read_at: begin,
            so_far: SoFar::default(),
        }
    }

    /// The rules were judged.
    pub(crate) fn judged(&mut self, so_far: SoFar) {
        self.so_far = so_far;
    }

    /// The state at `now`; `over` says whether a sample was over its limit.
    pub fn read(&mut self, now: Time, board: &MeterBoard, over: bool) -> Live {
        board.with(|meters| {
            let all = ios(meters);
            self.update_rate(now, all);
            let stalls = meters.page_fault_stalls.total();
            // The rule's own definition; the first second may be a burst.
            let seconds = (now - self.begin).max(WINDOW).as_seconds();
            let over = over || stalls as f64 / seconds > self.stalls_per_s;
            let databases = || meters.databases.iter();
            let reads = sum(databases().map(|m| &m.reads));
            let writes = sum(databases().map(|m| &m.writes));
            let log_writes = sum(meters.logs.iter().map(|m| &m.writes));
            if reads.count() > 0 {
                self.read_at = now;
            }
            let mut so_far = self.so_far.clone();
            // A sample that has just begun has none yet.
            if so_far.passes == Some(true) && now - self.read_at > WINDOW {
                so_far.passes = None;
            }
            Live {
                elapsed: now - self.begin,
                duration: self.duration,
                io_per_s: self.rate,
                io_per_s_mean: all as f64 / seconds,
                io_per_s_min: self.least,
                read: reads.mean(),
                read_p99: reads.percentile(Percentile::P99),
                write: writes.mean(),
                log_write: log_writes.mean(),
                stalls,
                over,
                so_far,
                databases: self.databases(meters),
            }
        })
    }

    fn databases(&self, meters: &Meters) -> Vec<LiveDatabase> {
        let databases = self.databases.iter().zip(&meters.databases);
        databases
            .map(|((name, log), meter)| LiveDatabase {
                name: name.clone(),
                read: meter.reads.running().mean(),
                log_write: meters.logs[*log].writes.running().mean(),
            })
            .collect()
    }

    fn update_rate(&mut self, now: Time, all: u64) {
        let (before, at) = self.before;
        let span = now - at;
        if span < WINDOW {
            return;
        }
        self.rate = (all - before) as f64 / span.as_seconds();
        self.before = (all, now);
    }
}

/// Database reads and writes since the collection began.
fn ios(meters: &Meters) -> u64 {
    let databases = meters.databases.iter();
    databases.map(|m| m.reads.count() + m.writes.count()).sum()
}

fn sum<'m>(meters: impl Iterator<Item = &'m Meter>) -> Latencies {
    let mut all = Latencies::new();
    for meter in meters {
        all.merge(meter.running());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    #[test]
    fn nothing_passes_before_it_was_judged_or_while_nothing_is_read() {
        let (board, plan) = (MeterBoard::new(2, 2), plan());
        let target = Target { io_per_s: 1_000.0, headroom_percent: 20 };
        let mut gauge = Gauge::new(Time::ZERO, Span::seconds(60), &plan, Some(target));
        let read = || board.database(1, |m| &mut m.reads, 4_096, Span::millis(2));
        read();
        let live = gauge.read(at(4), &board, false);
        assert_eq!(live.so_far, SoFar::default());
        assert_eq!((live.io_per_s_mean, live.io_per_s_min), (0.25, Some(950.0)));
        assert_eq!(live.databases[0].read, None);
        assert_eq!(live.databases[1].read, Some(Span::millis(2)));
        gauge.judged(SoFar { passes: Some(true), ..SoFar::default() });
        board.with(|meters| meters.databases[1].reads.close_interval());
        let passes =
            |gauge: &mut Gauge, seconds| gauge.read(at(seconds), &board, false).so_far.passes;
        assert_eq!(passes(&mut gauge, 5), Some(true), "a sample has just begun");
        assert_eq!(passes(&mut gauge, 6), None, "a sample without reads");
        read();
        assert_eq!(passes(&mut gauge, 7), Some(true));
    }

    #[test]
    fn a_rate_is_that_of_the_last_second() {
        let board = MeterBoard::new(2, 2);
        let mut gauge = Gauge::new(Time::ZERO, Span::seconds(60), &plan(), None);
        let read = |count| {
            for _ in 0..count {
                board.database(0, |m| &mut m.reads, 4_096, Span::millis(2));
            }
        };
        read(500);
        assert_eq!(gauge.read(at(1), &board, false).io_per_s, 500.0);
        read(100);
        board.with(|meters| meters.databases[0].reads.close_interval());
        let live = gauge.read(at(2), &board, true);
        assert_eq!((live.io_per_s, live.read, live.over), (100.0, None, true));
        let stalls = |count: u64| {
            board.with(|meters| {
                meters.page_fault_stalls.add(count);
                meters.page_fault_stalls.close_interval();
            });
        };
        stalls(3);
        assert!(!gauge.read(at(3), &board, false).over, "one a second");
        stalls(1);
        assert!(gauge.read(at(3), &board, false).over);
    }
}
