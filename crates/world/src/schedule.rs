//! Scheduled events, in a heap.
//!
//! Events are ordered by time, and at equal times by the order of the requests. An executor's
//! timers, a virtual world's events and the events of each modelled array have a schedule each.
//!
//! ```text
//!    0
//!    1 2 3 4                       every entry is before its four children
//!    5 6 7 8  9 10 11 12  ...
//! ```
//!
//! Four children rather than two: half the levels, and the four are adjacent in memory. Most events
//! request another one. So the place of the current event stays open until the next request, which
//! then takes it: one pass down the heap instead of two.

use brunt_units::Time;

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due<E> {
    /// Its time.
    pub at: Time,
    /// Number of events requested before it.
    pub number: u64,
    /// The event.
    pub event: E,
}

impl<E> Due<E> {
    /// Time and order in one number, which compares without branches.
    fn rank(&self) -> u128 {
        u128::from(self.at.0) << 64 | u128::from(self.number)
    }
}

const CHILDREN: usize = 4;

/// Scheduled events; see the [module](self).
pub struct Schedule<E> {
    heap: Vec<Due<E>>,
    /// Whether the first entry has happened, so that its place is free.
    is_open: bool,
    count: u64,
}

impl<E> Default for Schedule<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), is_open: false, count: 0 }
    }
}

impl<E: Copy> Schedule<E> {
    /// Schedules `event` at `at`.
    pub fn set(&mut self, at: Time, event: E) {
        let number = self.take_number();
        let due = Due { at, number, event };
        if std::mem::take(&mut self.is_open) {
            self.sink(due);
        } else {
            self.heap.push(due);
            self.rise(due);
        }
    }

    /// Takes the number of an event that is stored elsewhere.
    pub fn take_number(&mut self) -> u64 {
        let number = self.count;
        self.count += 1;
        number
    }

    /// Time of the next event.
    pub fn next_at(&self) -> Option<Time> {
        self.next().map(|(at, _)| at)
    }

    /// Time and number of the next event.
    pub fn next(&self) -> Option<(Time, u64)> {
        let place = |due: &Due<E>| (due.at, due.number);
        if self.is_open {
            let children = self.heap.iter().skip(1).take(CHILDREN);
            return children.map(place).min();
        }
        self.heap.first().map(place)
    }

    /// The next event, if it is not after `until`.
    pub fn pop(&mut self, until: Time) -> Option<Due<E>> {
        if std::mem::take(&mut self.is_open) {
            let last = self.heap.pop().expect("the open place is one");
            if !self.heap.is_empty() {
                self.sink(last);
            }
        }
        let first = self.heap.first().filter(|due| due.at <= until).copied();
        self.is_open = first.is_some();
        first
    }

    /// Number of events requested so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Puts `due` at the top, or further down where it belongs.
    fn sink(&mut self, due: Due<E>) {
        let (heap, rank) = (self.heap.as_mut_slice(), due.rank());
        let mut at = 0;
        while let Some((child, least)) = first_child(heap, at) {
            if rank < least {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = due;
    }

    /// Moves `due`, which is the last, up to where it belongs.
    fn rise(&mut self, due: Due<E>) {
        let (heap, rank) = (self.heap.as_mut_slice(), due.rank());
        let mut at = heap.len() - 1;
        while at > 0 {
            let parent = (at - 1).div_euclid(CHILDREN);
            if heap[parent].rank() < rank {
                break;
            }
            heap[at] = heap[parent];
            at = parent;
        }
        heap[at] = due;
    }
}

/// The earliest child of `at`, and its rank.
fn first_child<E>(heap: &[Due<E>], at: usize) -> Option<(usize, u128)> {
    let first = at * CHILDREN + 1;
    let sooner =
        |one: (usize, u128), other: (usize, u128)| if other.1 < one.1 { other } else { one };
    if let Some([a, b, c, d]) = heap.get(first..first + CHILDREN) {
        let front = sooner((first, a.rank()), (first + 1, b.rank()));
        let back = sooner((first + 2, c.rank()), (first + 3, d.rank()));
        return Some(sooner(front, back));
    }
    let children = heap.get(first..)?.iter().map(Due::rank);
    (first..).zip(children).reduce(sooner)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::Streams;

    #[test]
    fn events_come_by_time_then_in_order() {
        let mut schedule = Schedule::default();
        for (at, event) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (9, 'e')] {
            schedule.set(Time(at), event);
        }
        let mut seen = String::new();
        while let Some(due) = schedule.pop(Time(5)) {
            seen.push(due.event);
        }
        assert_eq!(seen, "bdac");
        assert_eq!(schedule.next_at(), Some(Time(9)));
    }

    #[test]
    fn it_agrees_with_a_sorted_set() {
        let mut stream = Streams::new(4).named("schedule");
        let (mut schedule, mut sorted) = (Schedule::default(), BTreeSet::new());
        let mut now = 0;
        for number in 0..20_000_u64 {
            let at = now + stream.below(50);
            schedule.set(Time(at), number);
            sorted.insert((at, number));
            // Sometimes none is left.
            for _ in 0..stream.below(3) {
                let until = now + stream.below(60);
                let expected = sorted.first().copied().filter(|(at, _)| *at <= until);
                let got = schedule.pop(Time(until));
                assert_eq!(got.map(|due| (due.at.0, due.event)), expected);
                if let Some(first) = expected {
                    sorted.remove(&first);
                    now = first.0;
                }
                let next = sorted.first().map(|(at, _)| Time(*at));
                assert_eq!(schedule.next_at(), next);
            }
        }
    }
}
