//! The program's own pulse: when it did not run.
//!
//! A signal, a frozen control group, a virtual machine that is paused or moved, a machine that is
//! suspended: the program stands still, and afterwards every I/O in flight looks as slow as that,
//! and the rate as low. So every waiting task says when it will be woken; one that is woken much
//! later has found a gap:
//!
//! ```text
//!   beat    │ │ │ │ │                            │ │ │ │
//!                     <----------- gap --------->
//! ```
//!
//! While a machine is suspended its monotonic clock stands, so nothing looks slow; the clock says
//! how long that was.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use brunt_run::Standstill;
use brunt_units::{Span, Time};
use brunt_world::Clock;

/// A gap is longer than this. Shorter ones are in the rule about late tasks
/// ([`crate::rules::tester`]).
pub const GAP: Span = Span::seconds(1);

/// Finds gaps; see the [module](self).
pub(crate) struct Pulse {
    clock: Rc<dyn Clock>,
    /// When it will be felt next.
    next: Cell<Time>,
    suspended: Cell<Span>,
    /// Gaps in order, from and until.
    gaps: RefCell<Vec<(Time, Time)>>,
    from: Cell<Time>,
    still: RefCell<Standstill>,
    news: RefCell<Vec<String>>,
}

impl Pulse {
    /// A pulse on `clock`.
    pub(crate) fn new(clock: &Rc<dyn Clock>) -> Self {
        Self {
            next: Cell::new(Time::MAX),
            suspended: Cell::new(clock.suspended()),
            gaps: RefCell::default(),
            from: Cell::new(Time::ZERO),
            still: RefCell::default(),
            news: RefCell::default(),
            clock: Rc::clone(clock),
        }
    }

    /// Gaps count from now on.
    pub(crate) fn begin(&self) {
        self.from.set(self.clock.now());
        self.still.take();
    }

    /// The next beat will be at `next`.
    pub(crate) fn expect(&self, next: Time) {
        self.next.set(next);
    }

    /// A beat, and the next within `every`. Returns the gap before it, if there was one.
    pub(crate) fn beat(&self, every: Span) -> Option<(Time, Time)> {
        let now = self.clock.now();
        let due = self.next.replace(now + every);
        let before = self.suspended.get();
        let suspended = self.clock.suspended().max(before);
        if suspended - before > GAP {
            self.note(now, suspended - before, true);
        }
        self.suspended.set(suspended);
        let late = Span(now.0.saturating_sub(due.0));
        (late > GAP).then(|| {
            self.gaps.borrow_mut().push((due, now));
            self.note(due, late, false);
            (due, now)
        })
    }

    fn note(&self, at: Time, length: Span, suspended: bool) {
        let gap = Standstill {
            count: 1,
            longest: length,
            after: Span(at.0.saturating_sub(self.from.get().0)),
            suspended,
        };
        self.news.borrow_mut().push(gap.words());
        let before = self.still.take();
        self.still.replace(before.and(gap, Span::ZERO));
    }

    /// How long the program has run since `since`.
    pub(crate) fn ran_since(&self, since: Time) -> Span {
        let now = self.clock.now();
        let gaps = self.gaps.borrow();
        let lost = gaps.iter().rev().take_while(|(_, until)| *until > since);
        let lost = lost.map(|(from, until)| (*until - (*from).max(since)).0);
        Span((now - since).0.saturating_sub(lost.sum()))
    }

    /// The gaps since [`Self::begin`].
    pub(crate) fn standstill(&self) -> Standstill {
        self.still.borrow().clone()
    }

    /// What there is to say, each once.
    pub(crate) fn news(&self) -> Vec<String> {
        self.news.take()
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::Spend;

    use super::*;

    /// A machine's clock, and how long it was suspended.
    #[derive(Default)]
    struct Hands(Cell<Time>, Cell<Span>);

    impl Clock for Hands {
        fn now(&self) -> Time {
            self.0.get()
        }

        fn spend(&self, _: Span) -> Spend {
            Spend::Ready
        }

        fn suspended(&self) -> Span {
            self.1.get()
        }
    }

    const EVERY: Span = Span::millis(10);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::millis(ms)
    }

    fn pulse() -> (Rc<Hands>, Pulse) {
        let hands = Rc::new(Hands::default());
        let clock: Rc<dyn Clock> = Rc::<Hands>::clone(&hands);
        (hands, Pulse::new(&clock))
    }

    #[test]
    fn a_beat_that_is_late_has_found_a_gap_and_a_pause_between_waits_is_none() {
        let (hands, pulse) = pulse();
        hands.0.set(at(50_000));
        assert_eq!(pulse.beat(EVERY), None, "nobody had said when");
        pulse.begin();
        for (now, wanted) in [
            (51_010, None),
            (52_020, None),
            (82_030, Some((at(52_030), at(82_030)))),
            (82_040, None),
        ] {
            hands.0.set(at(now));
            assert_eq!(pulse.beat(EVERY), wanted);
        }
        let still = pulse.standstill();
        let words = "brunt did not run for 30.0 s, 2 s after the start";
        assert_eq!((still.count, still.words().as_str()), (1, words));
        assert_eq!(pulse.news(), [words]);
        assert_eq!(pulse.ran_since(at(52_000)), Span::millis(40));
        assert_eq!(pulse.ran_since(at(60_000)), Span::millis(10));
        assert_eq!(pulse.ran_since(at(82_040)), Span::ZERO);
    }

    #[test]
    fn a_machine_that_was_suspended_says_so() {
        let (hands, pulse) = pulse();
        pulse.begin();
        hands.0.set(at(1_000));
        hands.1.set(Span::seconds(3_600));
        assert_eq!(pulse.beat(EVERY), None, "its clock stood");
        let words = "the machine was suspended for 3600.0 s, 1 s after the start";
        assert_eq!(pulse.standstill().words(), words);
        assert_eq!(pulse.ran_since(at(0)), Span::seconds(1));
    }
}
