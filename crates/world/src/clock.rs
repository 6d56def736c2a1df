//! Time: reading it, waiting for it, and charging for computing.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use brunt_units::{Span, Time};

use crate::Tasks;

/// A world's clock.
pub trait Clock {
    /// The current time. Reading it does not advance it.
    fn now(&self) -> Time;

    /// Charges for `cpu` of computing. In a virtual world it occupies a modelled core for that
    /// long; otherwise a session whose pages are all cached would never let time pass. In the real
    /// world the time has passed by itself, and a long-running task yields here so that completions
    /// are reaped.
    fn spend(&self, cpu: Span) -> Spend;

    /// How long the machine has been suspended so far, which does not advance [`Self::now`].
    fn suspended(&self) -> Span {
        Span::ZERO
    }
}

/// Waits until a point in time; see [`crate::World::sleep_until`].
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    tasks: Tasks,
    clock: Rc<dyn Clock>,
    until: Time,
    registered: bool,
}

impl Sleep {
    /// Waits until `until` on `clock`, woken by `tasks`.
    pub fn new(tasks: &Tasks, clock: Rc<dyn Clock>, until: Time) -> Self {
        Self { tasks: tasks.clone(), clock, until, registered: false }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= self.until {
            return Poll::Ready(());
        }
        if !self.registered {
            self.registered = true;
            self.tasks.wake_at(self.until, self.tasks.current());
        }
        Poll::Pending
    }
}

/// What [`Clock::spend`] returns.
#[must_use = "futures do nothing unless awaited"]
pub enum Spend {
    /// Nothing to wait for.
    Ready,
    /// Go to the back of the ready queue once.
    Yield(Tasks),
    /// Wait for a modelled core.
    Until(Sleep),
}

impl Future for Spend {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut *self {
            Self::Ready => Poll::Ready(()),
            Self::Yield(tasks) => {
                tasks.wake(tasks.current());
                *self = Self::Ready;
                Poll::Pending
            }
            Self::Until(sleep) => Pin::new(sleep).poll(context),
        }
    }
}
