//! The event queue: scheduled events, in the order of the requests.
//!
//! ```text
//!    heap     what happens later
//!    calls    for each device, when its own next event is due
//!    line     what happens at the current instant
//! ```
//!
//! Most events are inside of devices, which keep schedules of their own. The world needs to know
//! only when the next one is due, and that changes with every event: a time for each device, not
//! entries of the heap that the next request may outdate.
//!
//! Events for the current instant wait in a line: devices often finish requests the moment they see
//! them, which is every second event.
//!
//! Invariant: the clock never goes back, an event is never set before now, and the clock does not
//! move while the line is not empty.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use brunt_units::Time;
use brunt_world::{IoError, Schedule};

use crate::{Digest, RequestId};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A request ends.
    Finish(RequestId, Result<(), IoError>),
    /// A device's own next event.
    Device(u32),
    /// A volume answers.
    Answer(u32),
    /// A message arrives, or is given up.
    Net(u32),
}

/// When an event is due, and its number.
type CallTime = (Time, u64);

#[derive(Default)]
struct Inner {
    now: Cell<Time>,
    heap: RefCell<Schedule<Event>>,
    /// By device; `None` for one that waits for requests.
    calls: RefCell<Vec<Option<CallTime>>>,
    /// The first of them, and its device.
    first_call: Cell<Option<(CallTime, u32)>>,
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

    /// The own next event of `device` is due at `at`, and no longer when it was due before.
    ///
    /// # Panics
    /// When `at` has passed.
    pub(crate) fn call(&self, device: u32, at: Option<Time>) {
        let mut calls = self.0.calls.borrow_mut();
        let index = device as usize;
        if calls.len() <= index {
            calls.resize(index + 1, None);
        }
        if calls[index].map(|(at, _)| at) == at {
            return;
        }
        assert!(at.is_none_or(|at| at >= self.now()), "an event before now");
        let place = at.map(|at| (at, self.0.heap.borrow_mut().take_number()));
        calls[index] = place;
        let own = place.map(|place| (place, device));
        let first = match self.0.first_call.get() {
            Some((_, first)) if first == device => first_of(&calls),
            Some(first) => Some(own.map_or(first, |own| own.min(first))),
            None => own,
        };
        self.0.first_call.set(first);
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<Time> {
        if !self.0.line.borrow().is_empty() {
            return Some(self.now());
        }
        let call = self.0.first_call.get().map(|((at, _), _)| at);
        match (self.0.heap.borrow().next_at(), call) {
            (Some(event), Some(call)) => Some(event.min(call)),
            (event, call) => event.or(call),
        }
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
        let (now, mut heap) = (self.now(), self.0.heap.borrow_mut());
        let mut line = self.0.line.borrow_mut();
        let waiting = line.front().map(|(number, _)| (now, *number));
        let is_first = |call: CallTime| {
            let is_before = |other: Option<CallTime>| other.is_none_or(|other| call < other);
            call.0 <= now && is_before(waiting) && is_before(heap.next())
        };
        let (number, event) = match self.0.first_call.get() {
            Some((call, device)) if is_first(call) => {
                self.call(device, None);
                (call.1, Event::Device(device))
            }
            // What was set in advance was requested before what is in the line.
            _ => match heap.pop(now) {
                Some(due) => (due.number, due.event),
                None => line.pop_front()?,
            },
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

/// The first of these calls, and its device.
fn first_of(calls: &[Option<CallTime>]) -> Option<(CallTime, u32)> {
    let calls = calls.iter().zip(0..);
    calls.filter_map(|(call, device)| Some(((*call)?, device))).min()
}

#[cfg(test)]
mod tests {
    use brunt_units::Span;
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn events_come_by_time_then_by_number() {
        let events = Events::default();
        for (at, token) in [(5, 0), (3, 1), (5, 2), (3, 3), (4, 4)] {
            events.set(Time(at), Event::Answer(token));
        }
        let mut seen = Vec::new();
        while let Some(at) = events.next_at() {
            events.advance(at);
            while let Some(Event::Answer(token)) = events.pop_due() {
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
        let set = |at, token| events.set(Time(at), Event::Answer(token));
        set(7, 0);
        set(7, 1);
        events.advance(Time(7));
        let next = || match events.pop_due() {
            Some(Event::Answer(token)) => Some(token),
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

    #[test]
    fn a_device_is_called_once_and_in_its_turn() {
        let events = Events::default();
        events.call(0, Some(Time(9)));
        events.call(0, Some(Time(7)));
        events.set(Time(7), Event::Answer(0));
        events.advance(Time(7));
        let next = || events.pop_due();
        assert_eq!(next(), Some(Event::Device(0)));
        events.set(Time(7), Event::Answer(1));
        events.call(0, Some(Time(7)));
        events.set(Time(7), Event::Answer(2));
        let due: Vec<Event> = std::iter::from_fn(next).collect();
        let answer = Event::Answer;
        assert_eq!(due, [answer(0), answer(1), Event::Device(0), answer(2)]);
        events.call(0, Some(Time(8)));
        events.call(0, None);
        assert_eq!((next(), events.next_at()), (None, None));
    }

    #[test]
    fn of_many_devices_the_first_is_called() {
        let mut random = Streams::new(4).named("calls");
        let events = Events::default();
        let mut calls: [Option<CallTime>; 5] = [None; 5];
        for _ in 0..5_000 {
            let device = u32::try_from(random.below(5)).unwrap();
            let later = Span::nanos(random.below(50));
            let at = random.percent(80).then(|| events.now() + later);
            let call = &mut calls[device as usize];
            if call.map(|(at, _)| at) != at {
                *call = at.map(|at| (at, events.count()));
            }
            events.call(device, at);
            let first = first_of(&calls);
            assert_eq!(events.next_at(), first.map(|((at, _), _)| at));
            if let Some(((at, _), device)) = first.filter(|_| random.percent(40)) {
                events.advance(at);
                assert_eq!(events.pop_due(), Some(Event::Device(device)));
                calls[device as usize] = None;
            }
        }
    }
}
