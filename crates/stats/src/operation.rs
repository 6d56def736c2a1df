//! Two latencies of one operation, which must not be confused.
//!
//! If a client was due to send a request at one o'clock but could not until two, because the last
//! answer was late, it waited an hour longer than its request took. A load generator that stops
//! sending while the system stalls never records that hour (coordinated omission). So latency
//! counts from an operation's *intended* start; the time from the actual start is recorded
//! separately under its own name.

use brunt_units::{Span, Time};

use crate::Latencies;

/// Latencies of operations, from both starts.
#[derive(Clone, Debug, Default)]
pub struct OperationLatencies {
    /// From the intended start to completion: what the user experiences.
    pub from_intended_start: Latencies,
    /// From the actual start to completion: what the system took.
    pub from_actual_start: Latencies,
}

impl OperationLatencies {
    /// Records one operation.
    ///
    /// # Panics
    /// When `intended`, `began` and `done` are not in this order.
    pub fn record(&mut self, intended: Time, began: Time, done: Time) {
        assert!(intended <= began, "began before it was intended to");
        assert!(began <= done, "done before it began");
        self.from_intended_start.record(done - intended);
        self.from_actual_start.record(done - began);
    }

    /// Adds everything recorded in `other`.
    pub fn merge(&mut self, other: &Self) {
        self.from_intended_start.merge(&other.from_intended_start);
        self.from_actual_start.merge(&other.from_actual_start);
    }

    /// Mean time from intended to actual start; zero if nothing was recorded.
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
        // One operation every 10 ms; the first takes 100 ms, the next nine 1 ms each.
        let mut free = Time::ZERO;
        for at in 0..10 {
            let intended = Time::ZERO + Span::millis(10 * at);
            let began = intended.max(free);
            free = began + Span::millis(if at == 0 { 100 } else { 1 });
            operations.record(intended, began, free);
        }
        assert_eq!(operations.from_actual_start.mean(), Some(Span::micros(10_900)));
        // 100, 91, 82, ... 19 ms: each is 9 ms less late than the previous one.
        assert_eq!(operations.from_intended_start.mean(), Some(Span::micros(59_500)));
        assert_eq!(operations.mean_delay(), Span::micros(48_600));
    }

    #[test]
    #[should_panic(expected = "before it was intended")]
    fn an_early_start_is_a_mistake() {
        OperationLatencies::default().record(Time(2), Time(1), Time(3));
    }
}
