//! Synchronisation of tasks within one executor.
//!
//! Everything here tolerates spurious wake-ups and dropped waiters: a dropped waiter leaves its
//! queue, and one that is dropped after it was admitted but before it ran admits the next.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use brunt_units::Time;

pub use crate::event::{Event, Sign, Until};
use crate::{TaskId, Tasks};

/// The timer of one task that repeatedly waits for an event or a time.
///
/// A task that sets a timer for each wait leaves one behind whenever the event came first; a busy
/// one leaves thousands, which all fire. An alarm fires at the requested time, or earlier if it was
/// set before.
pub struct Alarm {
    tasks: Tasks,
    /// When the latest timer fires, or has fired.
    rings: Cell<Time>,
}

impl Alarm {
    /// An alarm of a task of `tasks`, not set.
    pub fn new(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), rings: Cell::new(Time::ZERO) }
    }

    /// Wakes the running task, which must always be the same, at `time` or before.
    pub fn set(&self, now: Time, time: Time) {
        let waits = self.rings.get() > now;
        if waits && self.rings.get() <= time {
            return;
        }
        self.rings.set(time);
        self.tasks.wake_at(time, self.tasks.current());
    }
}

/// A semaphore: at most `count` permits at once, first come first served.
///
/// A returned permit goes to the task that has waited longest, not to the next one that asks.
#[derive(Clone)]
pub struct Limit(Rc<Gate>);

struct Gate {
    tasks: Tasks,
    state: RefCell<GateState>,
}

/// Invariant: while a task waits, no permit is free.
struct GateState {
    free: usize,
    /// Waiting tasks, by slot.
    queue: VecDeque<u32>,
    slots: Vec<Slot>,
    unused: Vec<u32>,
}

#[derive(Clone, Copy)]
enum Slot {
    Waiting(TaskId),
    /// Has a permit but has not run yet.
    LetIn,
}

impl Limit {
    /// At most `count` permits at once.
    pub fn new(tasks: &Tasks, count: usize) -> Self {
        Self(Rc::new(Gate {
            tasks: tasks.clone(),
            state: RefCell::new(GateState {
                free: count,
                queue: VecDeque::new(),
                slots: Vec::new(),
                unused: Vec::new(),
            }),
        }))
    }

    /// Waits for a permit. The place in the queue is taken when this is first polled.
    pub fn enter(&self) -> Enter<'_> {
        Enter { limit: self, slot: None }
    }

    /// Gives a permit to the next waiting task, or marks it free.
    fn give_back(&self) {
        let state = &mut *self.0.state.borrow_mut();
        match state.queue.pop_front() {
            None => state.free += 1,
            Some(slot) => {
                let slot = &mut state.slots[slot as usize];
                if let Slot::Waiting(task) = std::mem::replace(slot, Slot::LetIn) {
                    self.0.tasks.wake(task);
                }
            }
        }
    }
}

impl GateState {
    fn queue_up(&mut self, task: TaskId) -> u32 {
        let slot = match self.unused.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Slot::Waiting(task);
                slot
            }
            None => {
                self.slots.push(Slot::Waiting(task));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 waiters")
            }
        };
        self.queue.push_back(slot);
        slot
    }
}

/// Waits for a [`Permit`]. Dropping it gives up the place, or the permit.
#[must_use = "futures do nothing unless awaited"]
pub struct Enter<'a> {
    limit: &'a Limit,
    slot: Option<u32>,
}

impl Future for Enter<'_> {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Permit> {
        let state = &mut *self.limit.0.state.borrow_mut();
        match self.slot {
            None if state.free > 0 => state.free -= 1,
            None => {
                self.slot = Some(state.queue_up(self.limit.0.tasks.current()));
                return Poll::Pending;
            }
            Some(slot) => match &mut state.slots[slot as usize] {
                Slot::Waiting(task) => {
                    *task = self.limit.0.tasks.current();
                    return Poll::Pending;
                }
                Slot::LetIn => {
                    state.unused.push(slot);
                    self.slot = None;
                }
            },
        }
        Poll::Ready(Permit(self.limit.clone()))
    }
}

impl Drop for Enter<'_> {
    fn drop(&mut self) {
        let Some(slot) = self.slot else {
            return;
        };
        let mut state = self.limit.0.state.borrow_mut();
        state.unused.push(slot);
        if let Slot::Waiting(_) = state.slots[slot as usize] {
            state.queue.retain(|waiter| *waiter != slot);
        } else {
            drop(state);
            self.limit.give_back();
        }
    }
}

/// One permit; dropping it admits the next task.
pub struct Permit(Limit);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use super::*;
    use crate::executor::tests::Ticking;
    use crate::random::Streams;
    use crate::{Executor, Spawner};

    pub(crate) fn run(test: impl AsyncFnOnce(Tasks) + 'static) {
        let tasks = Tasks::default();
        let mut executor = Executor::new(&tasks, Ticking(0));
        executor.block_on(async move { test(tasks).await });
    }

    #[test]
    fn an_alarm_leaves_one_timer_however_often_it_is_set() {
        run(async |tasks: Tasks| {
            let alarm = Alarm::new(&tasks);
            let mut polls = 0_u64;
            poll_fn(|_| {
                polls += 1;
                // Woken a thousand times before the alarm is due, once per tick.
                alarm.set(Time(polls - 1), Time(5_000));
                tasks.wake(tasks.current());
                (polls == 1_000).then_some(()).map_or(Poll::Pending, Poll::Ready)
            })
            .await;
            assert_eq!(tasks.timers_set(), 1);
            alarm.set(Time(1_000), Time(2_000));
            alarm.set(Time(1_000), Time(5_000));
            assert_eq!(tasks.timers_set(), 2, "one for an earlier time");
            alarm.set(Time(2_000), Time(9_000));
            assert_eq!(tasks.timers_set(), 3, "that one has rung");
        });
    }

    /// Lets the tasks that are ready now run once.
    pub(crate) async fn pause(tasks: &Tasks) {
        let mut is_late = false;
        poll_fn(|_| {
            if !std::mem::replace(&mut is_late, true) {
                tasks.wake(tasks.current());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Polls `future` up to `patience` times, then drops it.
    pub(crate) async fn patiently<T>(
        tasks: &Tasks,
        patience: u64,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        let mut future = pin!(future);
        let mut left = patience;
        poll_fn(|context| {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                return Poll::Ready(Some(value));
            }
            if left == 0 {
                return Poll::Ready(None);
            }
            left -= 1;
            tasks.wake(tasks.current());
            Poll::Pending
        })
        .await
    }

    #[test]
    fn permits_go_round_in_the_order_of_asking() {
        run(async |tasks| {
            let limit = Limit::new(&tasks, 1);
            let order = Rc::new(RefCell::new(Vec::new()));
            let spawner = Spawner::new(&tasks);
            let visitors: Vec<_> = (0..5)
                .map(|number| {
                    let (tasks, limit) = (tasks.clone(), limit.clone());
                    let order = Rc::clone(&order);
                    spawner.spawn(async move {
                        for _ in 0..3 {
                            // Asks again as soon as it has left, and must not overtake.
                            let permit = limit.enter().await;
                            order.borrow_mut().push(number);
                            pause(&tasks).await;
                            drop(permit);
                        }
                    })
                })
                .collect();
            for visitor in visitors {
                visitor.await;
            }
            let round: Vec<_> = (0..5).collect();
            assert_eq!(*order.borrow(), round.repeat(3));
        });
    }

    #[test]
    fn a_visitor_who_leaves_the_queue_keeps_nobody_out() {
        run(async |tasks| {
            let limit = Limit::new(&tasks, 1);
            let held = limit.enter().await;
            assert!(patiently(&tasks, 3, limit.enter()).await.is_none());
            assert!(limit.0.state.borrow().queue.is_empty());
            // Admitted, and dropped before it is polled again.
            let mut enter = Box::pin(limit.enter());
            let mut context = Context::from_waker(std::task::Waker::noop());
            assert!(enter.as_mut().poll(&mut context).is_pending());
            drop(held);
            assert_eq!(limit.0.state.borrow().free, 0);
            drop(enter);
            assert_eq!(limit.0.state.borrow().free, 1);
            drop(limit.enter().await);
        });
    }

    /// Random visitors, some impatient: never too many at once, and in the end every permit is
    /// back.
    #[test]
    fn no_permit_is_lost_or_doubled() {
        for seed in 0..30 {
            run(async move |tasks| {
                let limit = Limit::new(&tasks, 3);
                let (inside, served) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
                let spawner = Spawner::new(&tasks);
                let visitors: Vec<_> = (0..20)
                    .map(|number| {
                        let (tasks, limit) = (tasks.clone(), limit.clone());
                        let (inside, served) = (Rc::clone(&inside), Rc::clone(&served));
                        let mut stream = Streams::new(seed).named(&format!("visitor/{number}"));
                        spawner.spawn(async move {
                            for _ in 0..20 {
                                let patience = stream.below(12);
                                let enter = patiently(&tasks, patience, limit.enter());
                                let Some(permit) = enter.await else {
                                    continue;
                                };
                                inside.set(inside.get() + 1);
                                assert!(inside.get() <= 3, "too many inside");
                                for _ in 0..stream.below(3) {
                                    pause(&tasks).await;
                                }
                                inside.set(inside.get() - 1);
                                served.set(served.get() + 1);
                                drop(permit);
                            }
                        })
                    })
                    .collect();
                for visitor in visitors {
                    visitor.await;
                }
                assert!(served.get() > 20, "hardly anybody was served");
                let state = limit.0.state.borrow();
                assert_eq!(state.free, 3);
                assert!(state.queue.is_empty());
                assert_eq!(state.unused.len(), state.slots.len());
            });
        }
    }
}
