//! The one event heap of an array.
//!
//! Events come by time, and at equal times in the order they were asked for.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use brunt_units::Time;

struct Due<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> PartialEq for Due<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Due<E> {}

impl<E> PartialOrd for Due<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Due<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// What happens when.
pub(crate) struct Schedule<E> {
    heap: BinaryHeap<Reverse<Due<E>>>,
    count: u64,
}

impl<E> Default for Schedule<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            count: 0,
        }
    }
}

impl<E> Schedule<E> {
    /// Lets `event` happen at `at`.
    pub(crate) fn set(&mut self, at: Time, event: E) {
        let number = self.count;
        self.count += 1;
        self.heap.push(Reverse(Due { at, number, event }));
    }

    /// When the next event happens.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// The next event, if it is not after `until`.
    pub(crate) fn pop(&mut self, until: Time) -> Option<(Time, E)> {
        if self.next_at()? > until {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| (due.at, due.event))
    }

    /// Events asked for so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_in_order() {
        let mut schedule = Schedule::default();
        for (at, event) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (9, 'e')] {
            schedule.set(Time(at), event);
        }
        let mut seen = String::new();
        while let Some((_, event)) = schedule.pop(Time(5)) {
            seen.push(event);
        }
        assert_eq!(seen, "bdac");
        assert_eq!(schedule.next_at(), Some(Time(9)));
    }
}
