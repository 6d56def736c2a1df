//! Samples at fixed intervals.
//!
//! Sample *i* covers `begin + i × interval` up to the next one. A late sampler closes a longer
//! interval, and the sample records its actual length, so that rates stay correct; the grid does
//! not move.

use brunt_units::{Span, Time};

/// The usual sampling interval: 15 s, as in Jetstress (`LogInterval` 15000 ms in
/// `JetstressConfig.xml`).
pub const SAMPLE_INTERVAL: Span = Span::seconds(15);

/// The sample of one interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample<T> {
    /// Start of the interval.
    pub begin: Time,
    /// Length of the interval.
    pub length: Span,
    /// The measured value.
    pub value: T,
}

/// A series of samples.
#[derive(Clone, Debug)]
pub struct Series<T> {
    interval: Span,
    closed_at: Time,
    due: Time,
    samples: Vec<Sample<T>>,
}

impl<T> Series<T> {
    /// An empty series that starts at `begin`, with capacity for `length` of samples.
    ///
    /// # Panics
    /// When `interval` is zero.
    pub fn new(begin: Time, interval: Span, length: Span) -> Self {
        assert!(interval > Span::ZERO, "samples need a distance");
        let expected = usize::try_from(length.0.div_ceil(interval.0)).unwrap_or(0);
        Self {
            interval,
            closed_at: begin,
            due: begin + interval,
            // At most a day of samples; a longer series grows.
            samples: Vec::with_capacity(expected.min(5760)),
        }
    }

    /// When the running interval is due to be closed.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Closes the running interval at `now` with its value, and moves on to the next point of the
    /// grid after `now`.
    ///
    /// # Panics
    /// When `now` is not after the last close.
    pub fn close_interval(&mut self, now: Time, value: T) {
        assert!(now > self.closed_at, "an interval has a length");
        self.samples.push(Sample { begin: self.closed_at, length: now - self.closed_at, value });
        self.closed_at = now;
        if now >= self.due {
            let missed = (now - self.due).0.div_euclid(self.interval.0);
            self.due += self.interval * (missed + 1);
        }
    }

    /// The samples so far, oldest first.
    pub fn samples(&self) -> &[Sample<T>] {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_sample_is_long_and_the_grid_stays() {
        let second = |count| Time::ZERO + Span::seconds(count);
        let mut series = Series::new(second(100), SAMPLE_INTERVAL, Span::seconds(60));
        assert_eq!(series.due(), second(115));
        series.close_interval(second(115), 'a');
        assert_eq!(series.due(), second(130));
        series.close_interval(second(148), 'b');
        assert_eq!(series.due(), second(160));
        // The end of a test closes a partial interval.
        series.close_interval(second(152), 'c');
        assert_eq!(series.due(), second(160));
        let lengths: Vec<_> = series.samples().iter().map(|s| s.length).collect();
        assert_eq!(lengths, [15, 33, 4].map(Span::seconds));
        let covered: u64 = lengths.iter().map(|l| l.0).sum();
        assert_eq!(covered, Span::seconds(52).0);
    }
}
