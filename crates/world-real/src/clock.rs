//! The system clock, and when a task should yield.
//!
//! `CLOCK_MONOTONIC`, counted from the world's start. It keeps running while a task computes, so
//! paying for computation means yielding: [`OsClock::spend`] sends a task that has run for
//! [`YIELD_AFTER`] to the back of the ready queue, and the reactor reaps completions on the way.

use std::cell::Cell;

use brunt_units::{Span, Time};
use brunt_world::{Clock, Spend, Tasks};
use rustix::time::{ClockId, clock_gettime};

/// A poll that has lasted this long yields at its next [`Clock::spend`].
///
/// Reaping must not be delayed by more than 50 µs. Between two calls of `spend` are single steps,
/// such as searching or checking a page, that take a few microseconds each, some up to thirty.
pub const YIELD_AFTER: Span = Span::micros(20);

/// The point in time from which a clock counts. Clocks of several worlds that count from the same
/// one show the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockZero(u64);

impl ClockZero {
    pub fn now() -> Self {
        Self(monotonic_nanos())
    }

    /// What a clock shows now that counts from there.
    pub fn elapsed(self) -> Time {
        Time(monotonic_nanos() - self.0)
    }
}

/// The system's monotonic clock.
pub struct OsClock {
    zero: ClockZero,
    tasks: Tasks,
    poll_began: Cell<Time>,
}

impl OsClock {
    /// A clock that counts from `zero`, for tasks of `tasks`.
    pub(crate) fn new(tasks: &Tasks, zero: ClockZero) -> Self {
        Self { zero, tasks: tasks.clone(), poll_began: Cell::new(Time::ZERO) }
    }

    /// Marks the start of the next poll, after the reactor's turn. Returns the current time.
    pub(crate) fn begin_poll(&self) -> Time {
        let now = self.now();
        self.poll_began.set(now);
        now
    }

    /// When the current poll began, or the reactor last checked.
    pub(crate) fn poll_began(&self) -> Time {
        self.poll_began.get()
    }
}

impl Clock for OsClock {
    fn now(&self) -> Time {
        self.zero.elapsed()
    }

    fn spend(&self, _cpu: Span) -> Spend {
        if self.now().since(self.poll_began.get()) > YIELD_AFTER {
            Spend::Yield(self.tasks.clone())
        } else {
            Spend::Ready
        }
    }

    /// Since the machine booted: how far a clock that goes on meanwhile is ahead of the monotonic
    /// one.
    fn suspended(&self) -> Span {
        let boot_time = nanos(ClockId::Boottime);
        Span(boot_time.saturating_sub(monotonic_nanos()))
    }
}

fn monotonic_nanos() -> u64 {
    nanos(ClockId::Monotonic)
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Neither part is negative: this clock starts at boot.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_with_the_same_zero_show_the_same_time() {
        let zero = ClockZero::now();
        let [one, other] = [(); 2].map(|()| OsClock::new(&Tasks::default(), zero));
        let (before, between, after) = (one.now(), other.now(), one.now());
        assert!(before <= between && between <= after);
    }

    #[test]
    fn a_long_poll_yields_and_a_short_one_does_not() {
        let clock = OsClock::new(&Tasks::default(), ClockZero::now());
        clock.begin_poll();
        let began = clock.now();
        while clock.now().since(began) <= YIELD_AFTER {
            std::hint::spin_loop();
        }
        assert!(matches!(clock.spend(Span::micros(1)), Spend::Yield(_)));
        // A preempted test thread may lose 20 µs here, but not a hundred times in a row.
        let short = (0..100).any(|_| {
            clock.begin_poll();
            matches!(clock.spend(Span::micros(1)), Spend::Ready)
        });
        assert!(short);
    }
}
