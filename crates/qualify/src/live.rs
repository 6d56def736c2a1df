//! The state of a running test, for display.

use brunt_ese::meter::{MeterBoard, Meters};
use brunt_stats::{Latencies, Meter, Percentile};
use brunt_units::{Span, Time};

use crate::progress::Live;

/// Reads the counters without closing intervals.
pub struct Gauge {
    begin: Time,
    duration: Span,
    stalls_per_s: f64,
    /// I/Os counted, and when.
    before: (u64, Time),
    rate: f64,
}

/// A rate is measured over at least this long.
const WINDOW: Span = Span::seconds(1);

impl Gauge {
    /// A gauge for a collection of `duration` from `begin`, with a limit of `stalls_per_s` stalls per second.
    pub fn new(begin: Time, duration: Span, stalls_per_s: f64) -> Self {
        Self {
            begin,
            duration,
            stalls_per_s,
            before: (0, begin),
            rate: 0.0,
        }
    }

    /// The state at `now`; `over` says whether a sample was over its limit.
    pub fn read(&mut self, now: Time, board: &MeterBoard, over: bool) -> Live {
        board.with(|meters| {
            self.update_rate(now, meters);
            let stalls = meters.page_fault_stalls.total();
            // The rule's own definition; the first second may be a burst.
            let seconds = (now - self.begin).max(WINDOW).as_seconds();
            let over = over || stalls as f64 / seconds > self.stalls_per_s;
            let databases = || meters.databases.iter();
            let reads = sum(databases().map(|m| &m.reads));
            let writes = sum(databases().map(|m| &m.writes));
            let log_writes = sum(meters.logs.iter().map(|m| &m.writes));
            Live {
                elapsed: now - self.begin,
                duration: self.duration,
                io_per_s: self.rate,
                read: reads.mean(),
                read_p99: reads.percentile(Percentile::P99),
                write: writes.mean(),
                log_write: log_writes.mean(),
                stalls,
                over,
            }
        })
    }

    fn update_rate(&mut self, now: Time, meters: &Meters) {
        let (before, at) = self.before;
        let span = now - at;
        if span < WINDOW {
            return;
        }
        let databases = meters.databases.iter();
        let all = databases.map(|m| count(&m.reads) + count(&m.writes)).sum();
        self.rate = (all - before) as f64 / span.as_seconds();
        self.before = (all, now);
    }
}

fn count(meter: &Meter) -> u64 {
    meter.latencies().count() + meter.running().count()
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

    #[test]
    fn a_rate_is_that_of_the_last_second() {
        let board = MeterBoard::new(1, 1);
        let mut gauge = Gauge::new(Time::ZERO, Span::seconds(60), 1.0);
        let read = |count| {
            for _ in 0..count {
                board.database(0, |m| &mut m.reads, 4_096, Span::millis(2));
            }
        };
        read(500);
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
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
