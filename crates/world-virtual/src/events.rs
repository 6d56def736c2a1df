//! The event queue: scheduled events, in the order of the requests.
//!
//! Events for the current instant wait in a line beside the heap: devices often finish requests the moment they see them, which is
//! every second event.
//!
//! Invariant: the clock never goes back, an event is never set before now, and the clock does not move while the line is not empty.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use brunt_units::Time;
use brunt_world::{Due, IoError, Schedule};

use crate::{Digest, RequestId};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A request ends.
    Finish(RequestId, Result<(), IoError>),
    /// A device asked to be called.
    Device { device: u32, token: u64 },
    /// A volume answers.
    Answer(u32),
    /// A message arrives, or is given up.
    Net(u32),
}

#[derive(Default)]
struct Inner {
    now: Cell<Time>,
    heap: RefCell<Schedule<Event>>,
    /// Events set for the current instant, with their numbers.
    line: RefCell<VecDeque<(u64, Event)>>,
    digest: Cell<Digest>,
}

/// The current time and the scheduled events. A clone is another handle.
#[derive(Clone, Default)]
pub(crate) struct Events(Rc<Inner>);

impl Events {
    pub(crate) fn now(&self) -> Time {
        self.0.now.get()
    }

    /// Number of events requested so far.
    pub(crate) fn count(&self) -> u64 {
        self.0.heap.borrow().count()
    }

    /// Schedules `event` at `at`.
    ///
    /// # Panics
    /// When `at` has passed.
    pub(crate) fn set(&self, at: Time, event: Event) {
        assert!(at >= self.now(), "an event before now");
        let mut heap = self.0.heap.borrow_mut();
        if at == self.now() {
            let number = heap.take_number();
            self.0.line.borrow_mut().push_back((number, event));
        } else {
            heap.set(at, event);
        }
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<Time> {
        if !self.0.line.borrow().is_empty() {
            return Some(self.now());
        }
        self.0.heap.borrow().next_at()
    }

    /// Moves the clock.
    pub(crate) fn advance(&self, to: Time) {
        debug_assert!(to >= self.now(), "the clock goes back");
        debug_assert!(
            to == self.now() || self.0.line.borrow().is_empty(),
            "something is left to happen"
        );
        self.0.now.set(to);
        self.mix(to.0);
    }

    /// Takes the next event that is due now.
    pub(crate) fn pop_due(&self) -> Option<Event> {
        // Events that were set in advance were requested before those in the line.
        let due = self.0.heap.borrow_mut().pop(self.now());
        let (number, event) = match due {
            Some(Due { number, event, .. }) => (number, event),
            None => self.0.line.borrow_mut().pop_front()?,
        };
        self.mix(number);
        Some(event)
    }

    /// Adds a word to the digest.
    pub(crate) fn mix(&self, word: u64) {
        let mut digest = self.0.digest.get();
        digest.mix(word);
        self.0.digest.set(digest);
    }

    /// A hash of everything that happened so far.
    pub(crate) fn digest(&self) -> Digest {
        self.0.digest.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_by_number() {
        let events = Events::default();
        for (at, token) in [(5, 0), (3, 1), (5, 2), (3, 3), (4, 4)] {
            events.set(Time(at), Event::Device { device: 0, token });
        }
        let mut seen = Vec::new();
        while let Some(at) = events.next_at() {
            events.advance(at);
            while let Some(Event::Device { token, .. }) = events.pop_due() {
                seen.push(token);
            }
        }
        assert_eq!(seen, [1, 3, 4, 0, 2]);
        assert_eq!(events.now(), Time(5));
        assert!(events.pop_due().is_none());
    }

    #[test]
    fn what_is_set_for_now_comes_after_what_was_due_already() {
        let events = Events::default();
        let set = |at, token| events.set(Time(at), Event::Device { device: 0, token });
        set(7, 0);
        set(7, 1);
        events.advance(Time(7));
        let next = || match events.pop_due() {
            Some(Event::Device { token, .. }) => Some(token),
            _ => None,
        };
        assert_eq!(next(), Some(0));
        set(7, 2);
        set(8, 3);
        assert_eq!(events.next_at(), Some(Time(7)));
        assert_eq!([next(), next(), next()], [Some(1), Some(2), None]);
        assert_eq!(events.next_at(), Some(Time(8)));
    }

    #[test]
    #[should_panic(expected = "before now")]
    fn the_past_is_refused() {
        let events = Events::default();
        events.advance(Time(2));
        events.set(Time(1), Event::Answer(0));
    }
}
