//! The virtual clock and the modelled cores.
//!
//! A core is just the time until which it is busy. [`VirtualClock::spend`] takes the core that is
//! free earliest. So requests are served first come, first served, and a dropped one has still used
//! its core.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::{Rc, Weak};

use brunt_units::{Span, Time};
use brunt_world::{Clock, Sleep, Spend, Tasks};

use crate::events::Events;

/// How many tasks can compute at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cores {
    /// A core for each task: computing takes time but never waits. Time must still pass; otherwise
    /// a session whose pages are all cached would do infinitely much at one instant.
    #[default]
    Unlimited,
    /// A fixed number of shared cores.
    Count(NonZeroU32),
}

/// [`Clock`] over the event queue.
pub(crate) struct VirtualClock {
    events: Events,
    tasks: Tasks,
    /// Until when each core is busy; empty with unlimited cores.
    busy: RefCell<Vec<Time>>,
    spent: Cell<Span>,
    me: Weak<Self>,
}

impl VirtualClock {
    pub(crate) fn new(events: &Events, tasks: &Tasks, cores: Cores) -> Rc<Self> {
        let count = match cores {
            Cores::Unlimited => 0,
            Cores::Count(count) => count.get() as usize,
        };
        Rc::new_cyclic(|me| Self {
            events: events.clone(),
            tasks: tasks.clone(),
            busy: RefCell::new(vec![Time::ZERO; count]),
            spent: Cell::new(Span::ZERO),
            me: Weak::clone(me),
        })
    }

    /// Total computing time charged so far.
    pub(crate) fn spent(&self) -> Span {
        self.spent.get()
    }

    /// Occupies a core for `cpu`; returns when that ends.
    fn occupy(&self, cpu: Span) -> Time {
        let now = self.events.now();
        let mut busy = self.busy.borrow_mut();
        match busy.iter_mut().min() {
            None => now + cpu,
            Some(until) => {
                *until = now.max(*until) + cpu;
                *until
            }
        }
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Time {
        self.events.now()
    }

    fn spend(&self, cpu: Span) -> Spend {
        if cpu == Span::ZERO {
            return Spend::Ready;
        }
        self.spent.set(self.spent.get() + cpu);
        let end = self.occupy(cpu);
        let me: Rc<dyn Clock> = self.me.upgrade().expect("spend is called on it");
        Spend::Until(Sleep::new(&self.tasks, me, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(cores: Cores, spans: &[u64]) -> Vec<u64> {
        let clock = VirtualClock::new(&Events::default(), &Tasks::default(), cores);
        spans.iter().map(|span| clock.occupy(Span::nanos(*span)).0).collect()
    }

    #[test]
    fn the_earliest_free_core_is_taken() {
        assert_eq!(ends(Cores::Unlimited, &[10, 10, 3]), [10, 10, 3]);
        let one = Cores::Count(NonZeroU32::MIN);
        assert_eq!(ends(one, &[10, 10, 3]), [10, 20, 23]);
        let two = Cores::Count(NonZeroU32::new(2).unwrap());
        assert_eq!(ends(two, &[10, 4, 3, 5]), [10, 4, 7, 12]);
    }
}
