//! How far another host's clock is from ours, and how well that is known.
//!
//! ```text
//!   ours    sent ---------------------------- received       offset = there - (sent + received) / 2
//!                 \                        /                  wrong by at most (received - sent) / 2,
//!   theirs         `------- there --------'                  wherever between them it was asked
//! ```
//!
//! Both are monotonic clocks: nobody sets them, and where their zero lies does not matter. What was
//! measured some time ago is known less well: clocks drift, by at most what Linux lets a time daemon
//! correct.

use brunt_units::{Span, Time};

/// The fastest that two clocks drift apart, in parts of a million. Source: Linux, `MAXFREQ` of
/// `timex.h` is 500 ppm, for each of them.
const DRIFT_PPM: u64 = 1_000;

/// Round trips that are kept.
const KEPT: usize = 64;

/// What is known of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Nanoseconds by which the other clock is ahead.
    pub offset_ns: i64,
    /// The offset is wrong by at most this.
    pub bound: Span,
}

impl Estimate {
    /// Our `time` on the other clock.
    pub fn there(&self, time: Time) -> Time {
        Time(time.0.saturating_add_signed(self.offset_ns))
    }

    /// The other clock's `time` on ours.
    pub fn here(&self, time: Time) -> Time {
        Time(time.0.saturating_add_signed(self.offset_ns.saturating_neg()))
    }
}

/// Round trips to a host.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    samples: Vec<(Time, Estimate)>,
}

impl Offsets {
    /// A question that was sent at `sent` was answered at `there` of the other clock; the answer came
    /// at `received`.
    pub fn add(&mut self, sent: Time, there: Time, received: Time) {
        let trip = received.since(sent);
        let middle = i128::from(sent.0) + i128::from(trip.0 >> 1);
        let Ok(offset_ns) = i64::try_from(i128::from(there.0) - middle) else {
            return;
        };
        let bound = Span(trip.0.div_ceil(2));
        if self.samples.len() == KEPT {
            self.samples.remove(0);
        }
        self.samples.push((received, Estimate { offset_ns, bound }));
    }

    /// What is known at `now`: the smallest of all round trips, their age considered.
    pub fn estimate(&self, now: Time) -> Option<Estimate> {
        let aged = self.samples.iter().map(|(at, estimate)| {
            let drift = now.since(*at).0.div_ceil(1_000_000).saturating_mul(DRIFT_PPM);
            Estimate { bound: Span(estimate.bound.0.saturating_add(drift)), ..*estimate }
        });
        aged.min_by_key(|estimate| estimate.bound)
    }

    /// When the last answer came.
    pub(crate) fn last(&self) -> Option<Time> {
        self.samples.last().map(|(at, _)| *at)
    }

    /// The host has begun again: its clock, too.
    pub(crate) fn clear(&mut self) {
        self.samples.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_round_trip_counts() {
        let mut offsets = Offsets::default();
        assert_eq!(offsets.estimate(Time::ZERO), None);
        let at = |micros| Time::ZERO + Span::micros(micros);
        // Their clock is 1,000 µs ahead; the first answer was slow on its way back.
        offsets.add(at(0), at(1_010), at(500));
        offsets.add(at(600), at(1_605), at(610));
        let known = offsets.estimate(at(610)).unwrap();
        assert_eq!((known.offset_ns, known.bound), (1_000_000, Span::micros(5)));
        assert_eq!(known.there(at(700)), at(1_700));
        assert_eq!(known.here(at(1_700)), at(700));
    }

    #[test]
    fn what_is_old_is_known_less_well() {
        let mut offsets = Offsets::default();
        let second = |s| Time::ZERO + Span::seconds(s);
        offsets.add(second(0), second(0), Time(2_000));
        let hour = offsets.estimate(second(3_600)).unwrap();
        assert!(hour.bound > Span::seconds(3) && hour.bound < Span::seconds(4));
        offsets.add(second(3_600), second(3_600), Time(second(3_600).0 + 20_000));
        assert_eq!(offsets.estimate(second(3_600)).unwrap().bound, Span::micros(10));
    }

    #[test]
    fn a_clock_behind_ours_has_a_negative_offset() {
        let mut offsets = Offsets::default();
        offsets.add(Time(u64::MAX - 10), Time(5), Time(u64::MAX));
        assert_eq!(offsets.estimate(Time(u64::MAX)), None, "no clock is 584 years behind");
        offsets.add(Time(1_000), Time(10), Time(1_010));
        assert_eq!(offsets.estimate(Time(1_010)).unwrap().offset_ns, -995);
    }
}
