//! One stream of I/O: count, bytes and latencies.
//!
//! A meter records only into the running interval. Closing the interval yields a [`Reading`] and
//! adds the interval to the total, so recording touches one histogram and the total is exactly the
//! sum of the readings.

use brunt_units::Span;
use serde::{Deserialize, Serialize};

use crate::{Latencies, Percentile};

/// Latencies and bytes of one stream of I/O, for example the reads of one database.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    running: Flow,
    closed: Flow,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    latencies: Latencies,
    bytes: u64,
}

/// A meter's result for one interval, or in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Number of I/Os.
    pub count: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Mean latency; `None` without I/O, like the other latencies.
    pub mean: Option<Span>,
    /// Median.
    pub p50: Option<Span>,
    /// 99th percentile.
    pub p99: Option<Span>,
    /// 99.9th percentile.
    pub p999: Option<Span>,
    /// Maximum.
    pub max: Option<Span>,
}

impl Meter {
    /// Records one completed I/O.
    #[inline]
    pub fn record(&mut self, latency: Span, bytes: u64) {
        self.running.latencies.record(latency);
        self.running.bytes += bytes;
    }

    /// The running interval so far, for a progress line or for the latency log before the interval
    /// is closed.
    pub fn running(&self) -> &Latencies {
        &self.running.latencies
    }

    /// Closes the running interval and returns its reading. Costs a few microseconds.
    pub fn close_interval(&mut self) -> Reading {
        let reading = self.running.reading();
        self.closed.latencies.merge(&self.running.latencies);
        self.closed.bytes += self.running.bytes;
        self.running.clear();
        reading
    }

    /// Discards everything measured before collection began.
    pub fn discard(&mut self) {
        self.running.clear();
        self.closed.clear();
    }

    /// Adds what was measured earlier to the total.
    pub fn carry(&mut self, latencies: &Latencies, bytes: u64) {
        self.closed.latencies.merge(latencies);
        self.closed.bytes += bytes;
    }

    /// Adds the total of `other`.
    pub fn absorb(&mut self, other: &Self) {
        self.carry(other.latencies(), other.closed.bytes);
    }

    /// The total of all closed intervals.
    pub fn total(&self) -> Reading {
        self.closed.reading()
    }

    /// I/Os counted since the last [`Self::discard`], including the running interval.
    pub fn count(&self) -> u64 {
        self.closed.latencies.count() + self.running.latencies.count()
    }

    /// Bytes counted since the last [`Self::discard`], including the running interval.
    pub fn bytes(&self) -> u64 {
        self.closed.bytes + self.running.bytes
    }

    /// The latencies of all closed intervals.
    pub fn latencies(&self) -> &Latencies {
        &self.closed.latencies
    }
}

impl Reading {
    /// The reading of `latencies` with `bytes`.
    pub fn of(latencies: &Latencies, bytes: u64) -> Self {
        Self {
            count: latencies.count(),
            bytes,
            mean: latencies.mean(),
            p50: latencies.percentile(Percentile::P50),
            p99: latencies.percentile(Percentile::P99),
            p999: latencies.percentile(Percentile::P99_9),
            max: latencies.max(),
        }
    }
}

impl Flow {
    fn reading(&self) -> Reading {
        Reading::of(&self.latencies, self.bytes)
    }

    fn clear(&mut self) {
        self.latencies.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_what_the_readings_add_up_to() {
        let mut meter = Meter::default();
        meter.record(Span::seconds(9), 1);
        meter.discard();
        let mut readings = Vec::new();
        for interval in 1..=3 {
            for _ in 0..interval {
                meter.record(Span::millis(interval), 4096);
            }
            readings.push(meter.close_interval());
        }
        assert_eq!(
            readings[1],
            Reading {
                count: 2,
                bytes: 8192,
                mean: Some(Span::millis(2)),
                p50: Some(Span::millis(2)),
                p99: Some(Span::millis(2)),
                p999: Some(Span::millis(2)),
                max: Some(Span::millis(2)),
            }
        );
        assert_eq!(meter.bytes(), 6 * 4096);
        let total = meter.total();
        assert_eq!(total.count, readings.iter().map(|r| r.count).sum::<u64>());
        assert_eq!(total.bytes, readings.iter().map(|r| r.bytes).sum::<u64>());
        assert_eq!(total.max, Some(Span::millis(3)));
        // (1 + 2·2 + 3·3) / 6 = 14/6 ms.
        assert_eq!(total.mean, Some(Span(2_333_333)));
    }

    #[test]
    fn an_interval_without_io_reads_as_none() {
        let mut meter = Meter::default();
        assert_eq!(meter.close_interval(), Reading::default());
    }
}
