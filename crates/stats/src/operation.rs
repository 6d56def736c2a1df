//! Two latencies of one operation, which must not be confused.
//!
//! A client that was to ask at one o'clock, and could not until two because the last answer had not come, has waited
//! an hour longer than its request took. A load generator that stops asking while the system stalls never sees that hour.
//! So an operation has an *intended* start, and its latency counts from there; the time from the actual start stands
//! beside it under its own name.

use brunt_units::{Span, Time};

use crate::Latencies;

/// Latencies of operations, from both starts.
#[derive(Clone, Debug, Default)]
pub struct OperationLatencies {
    /// From when it should have begun to when it was done: what its user waits.
    pub from_intended_start: Latencies,
    /// From when it did begin to when it was done: what the system took.
    pub from_actual_start: Latencies,
}

impl OperationLatencies {
    /// Counts one operation.
    ///
    /// # Panics
    /// When it began before it was intended to, or was done before it began: a mistake of the caller.
    pub fn record(&mut self, intended: Time, began: Time, done: Time) {
        assert!(intended <= began, "began before it was intended to");
        assert!(began <= done, "done before it began");
        self.from_intended_start.record(done - intended);
        self.from_actual_start.record(done - began);
    }

    /// Adds everything `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        self.from_intended_start.merge(&other.from_intended_start);
        self.from_actual_start.merge(&other.from_actual_start);
    }

    /// How much of the mean latency was spent waiting to begin; zero when nothing was recorded.
    pub fn mean_delay(&self) -> Span {
        let mean = |latencies: &Latencies| latencies.mean().unwrap_or_default();
        mean(&self.from_intended_start) - mean(&self.from_actual_start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_start_shows_in_one_and_not_in_the_other() {
        let mut operations = OperationLatencies::default();
        // Asked for every 10 ms; the first takes 100 ms, the nine behind it 1 ms each.
        let mut free = Time::ZERO;
        for at in 0..10 {
            let intended = Time::ZERO + Span::millis(10 * at);
            let began = intended.max(free);
            free = began + Span::millis(if at == 0 { 100 } else { 1 });
            operations.record(intended, began, free);
        }
        assert_eq!(
            operations.from_actual_start.mean(),
            Some(Span::micros(10_900))
        );
        // 100, 91, 82, ... 19 ms: each is 9 ms less late than the one before.
        assert_eq!(
            operations.from_intended_start.mean(),
            Some(Span::micros(59_500))
        );
        assert_eq!(operations.mean_delay(), Span::micros(48_600));
    }

    #[test]
    #[should_panic(expected = "before it was intended")]
    fn an_early_start_is_a_mistake() {
        OperationLatencies::default().record(Time(2), Time(1), Time(3));
    }
}
