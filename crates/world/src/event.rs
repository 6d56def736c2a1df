//! Recurring events, and the tasks that wait for their effect.
//!
//! ```text
//!    notify ---> every waiting task is ready, first come first served
//!                   |                        \
//!                polled: tries its            its sign is not shown: skipped,
//!                condition again              and waits on behind the others
//! ```
//!
//! Most tasks that wait for a page are woken by other pages. Polling such a task walks down through
//! all its futures, only to find that nothing has changed. So a task that knows what must happen
//! first supplies a [`Sign`], and the executor checks that instead. It does so when it would have
//! polled the task, not when the event happens: this keeps the order of all tasks exactly the same
//! as without signs.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;

use crate::{TaskId, Tasks};

/// Whether a condition is worth trying. Shown once; a clone is another handle.
#[derive(Clone, Debug, Default)]
pub struct Sign(Rc<Cell<bool>>);

impl Sign {
    /// Makes the condition worth trying. A task that waits for the sign tries at the next
    /// occurrence of its [`Event`].
    pub fn show(&self) {
        self.0.set(true);
    }
}

/// What must happen before a condition is worth trying again.
#[derive(Clone, Debug)]
pub enum Until {
    /// The event.
    Notified,
    /// The event, after this sign was shown.
    Shown(Sign),
}

/// A recurring event, on which tasks wait until a condition holds.
#[derive(Clone)]
pub struct Event(Rc<Happening>);

struct Happening {
    tasks: Tasks,
    /// Number of occurrences.
    round: Cell<u64>,
    /// Tasks waiting for the next round, first come first served.
    waiting: RefCell<Vec<Ready>>,
}

/// An entry of a queue.
pub(crate) enum Ready {
    Task(TaskId),
    /// A task that waits for a sign.
    Watcher(Rc<Watcher>),
}

impl Ready {
    /// The task to poll; `None` if it is skipped.
    pub(crate) fn task(self) -> Option<TaskId> {
        let watcher = match self {
            Self::Task(task) => return Some(task),
            Self::Watcher(watcher) => watcher,
        };
        if !watcher.is_queued.get() {
            return None; // It no longer waits.
        }
        if watcher.sign.0.get() {
            watcher.is_queued.set(false);
            return Some(watcher.task);
        }
        let event = Rc::clone(&watcher.event);
        event.waiting.borrow_mut().push(Self::Watcher(watcher));
        None
    }
}

/// A task that waits for a sign.
pub(crate) struct Watcher {
    task: TaskId,
    sign: Sign,
    event: Rc<Happening>,
    /// Whether it is in the queue of waiting or of ready tasks.
    is_queued: Cell<bool>,
}

impl Watcher {
    fn is_in(self: &Rc<Self>, ready: &Ready) -> bool {
        matches!(ready, Ready::Watcher(other) if Rc::ptr_eq(self, other))
    }
}

impl Event {
    /// An event for tasks of `tasks`.
    pub fn new(tasks: &Tasks) -> Self {
        Self(Rc::new(Happening {
            tasks: tasks.clone(),
            round: Cell::new(0),
            waiting: RefCell::default(),
        }))
    }

    /// Signals an occurrence: every waiting task tries its condition again, first come first
    /// served.
    pub fn notify(&self) {
        self.0.round.set(self.0.round.get() + 1);
        for ready in self.0.waiting.borrow_mut().drain(..) {
            self.0.tasks.make_ready(ready);
        }
    }

    /// Waits until `condition` gives a value; it is tried now and after every [`Self::notify`].
    pub async fn wait<T>(&self, mut condition: impl FnMut() -> Option<T>) -> T {
        let condition = || match condition() {
            Some(value) => ControlFlow::Break(value),
            None => ControlFlow::Continue(Until::Notified),
        };
        self.wait_until(condition).await
    }

    /// Waits until `condition` breaks with a value. It is tried now, and again each time the
    /// [`Until`] it returned has happened.
    pub async fn wait_until<T>(&self, mut condition: impl FnMut() -> ControlFlow<T, Until>) -> T {
        let mut place = Place { event: &self.0, taken: Taken::No };
        poll_fn(|_| match condition() {
            ControlFlow::Break(value) => Poll::Ready(value),
            ControlFlow::Continue(until) => {
                place.take(until);
                Poll::Pending
            }
        })
        .await
    }
}

/// The place of a waiting task in the queue.
struct Place<'a> {
    event: &'a Rc<Happening>,
    taken: Taken,
}

enum Taken {
    No,
    /// For one round.
    Task(u64, TaskId),
    /// Until the sign is shown, through any number of rounds.
    Watcher(Rc<Watcher>),
}

impl Place<'_> {
    /// Queues the running task; once per round, however often it is polled.
    fn take(&mut self, until: Until) {
        let (round, task) = (self.event.round.get(), self.event.tasks.current());
        let is_queued = match &self.taken {
            Taken::No => false,
            Taken::Task(taken, _) => *taken == round,
            Taken::Watcher(watcher) => watcher.is_queued.get(),
        };
        if is_queued {
            return;
        }
        let ready = match until {
            Until::Notified => {
                self.taken = Taken::Task(round, task);
                Ready::Task(task)
            }
            Until::Shown(sign) => {
                let watcher = Rc::new(Watcher {
                    task,
                    sign,
                    event: Rc::clone(self.event),
                    is_queued: Cell::new(true),
                });
                self.taken = Taken::Watcher(Rc::clone(&watcher));
                Ready::Watcher(watcher)
            }
        };
        self.event.waiting.borrow_mut().push(ready);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.event.waiting.borrow_mut();
        match &self.taken {
            Taken::No => {}
            Taken::Task(round, task) => {
                if *round == self.event.round.get() {
                    let is_own = |ready: &Ready| matches!(ready, Ready::Task(own) if own == task);
                    let place = waiting.iter().position(is_own);
                    waiting.remove(place.expect("the round has not ended"));
                }
            }
            Taken::Watcher(watcher) => {
                if watcher.is_queued.replace(false) {
                    // If it is not here it is in the ready queue, and will be skipped.
                    waiting.retain(|ready| !watcher.is_in(ready));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spawner;
    use crate::random::Streams;
    use crate::sync::tests::{patiently, pause, run};

    #[test]
    fn an_event_wakes_everyone_in_order_until_their_condition_holds() {
        run(async |tasks| {
            let event = Event::new(&tasks);
            let level = Rc::new(Cell::new(0));
            let order = Rc::new(RefCell::new(Vec::new()));
            let spawner = Spawner::new(&tasks);
            let waiters: Vec<_> = [3, 1, 2, 1]
                .into_iter()
                .enumerate()
                .map(|(number, wanted)| {
                    let (event, level) = (event.clone(), Rc::clone(&level));
                    let order = Rc::clone(&order);
                    spawner.spawn(async move {
                        let reached = || (level.get() >= wanted).then(|| level.get());
                        let seen = event.wait(reached).await;
                        order.borrow_mut().push((number, seen));
                    })
                })
                .collect();
            for now in 1..=3 {
                pause(&tasks).await;
                level.set(now);
                event.notify();
            }
            for waiter in waiters {
                waiter.await;
            }
            assert_eq!(*order.borrow(), [(1, 1), (3, 1), (2, 2), (0, 3)]);
        });
    }

    #[test]
    fn a_waiter_stands_in_the_queue_once_and_leaves_it_when_dropped() {
        run(async |tasks| {
            let event = Event::new(&tasks);
            let count = event.clone();
            let never = event.wait(|| {
                assert!(count.0.waiting.borrow().len() <= 1);
                None::<()>
            });
            assert!(patiently(&tasks, 5, never).await.is_none());
            assert!(event.0.waiting.borrow().is_empty());
            let mut is_second = false;
            let second = || std::mem::replace(&mut is_second, true).then_some(());
            let woken = event.wait(second);
            let spawner = Spawner::new(&tasks);
            let (later, ringer) = (tasks.clone(), event.clone());
            drop(spawner.spawn(async move {
                pause(&later).await;
                ringer.notify();
            }));
            woken.await;
            assert!(event.0.waiting.borrow().is_empty());
        });
    }

    /// Readers of a few pages that come and go, each with a sign when `signed`: in which order they
    /// went on, and how often a condition was tried.
    fn readers(seed: u64, signed: bool) -> (Vec<(u64, u64)>, u64) {
        let (order, tries) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(0)));
        let (went_on, tried) = (Rc::clone(&order), Rc::clone(&tries));
        run(async move |tasks: Tasks| {
            let (event, spawner) = (Event::new(&tasks), Spawner::new(&tasks));
            let pages: Rc<RefCell<Vec<Option<Sign>>>> =
                Rc::new(RefCell::new(vec![Some(Sign::default()); 16]));
            let readers: Vec<_> = (0..12)
                .map(|number| {
                    let (event, pages, tasks) = (event.clone(), Rc::clone(&pages), tasks.clone());
                    let (order, tries) = (Rc::clone(&went_on), Rc::clone(&tried));
                    let mut stream = Streams::new(seed).named(&format!("reader/{number}"));
                    spawner.spawn(async move {
                        for step in 0..20 {
                            let page = usize::try_from(stream.below(16)).unwrap();
                            let here = || {
                                tries.set(tries.get() + 1);
                                match &pages.borrow()[page] {
                                    None => ControlFlow::Break(()),
                                    Some(sign) if signed => {
                                        ControlFlow::Continue(Until::Shown(sign.clone()))
                                    }
                                    Some(_) => ControlFlow::Continue(Until::Notified),
                                }
                            };
                            event.wait_until(here).await;
                            order.borrow_mut().push((number, step));
                            if stream.percent(30) {
                                pause(&tasks).await;
                            }
                        }
                    })
                })
                .collect();
            let mut stream = Streams::new(seed).named("pages");
            while !readers.iter().all(crate::Task::is_done) {
                // Several events happen before any task runs.
                for _ in 0..stream.below(4) {
                    let page = usize::try_from(stream.below(16)).unwrap();
                    let page = &mut pages.borrow_mut()[page];
                    match page.take() {
                        Some(sign) => sign.show(),
                        None => *page = Some(Sign::default()),
                    }
                    event.notify();
                }
                pause(&tasks).await;
            }
            assert!(event.0.waiting.borrow().is_empty());
        });
        (order.take(), tries.get())
    }

    #[test]
    fn signs_save_polls_and_change_no_order() {
        for seed in 0..50 {
            let (order, tries) = readers(seed, false);
            let (with_signs, fewer) = readers(seed, true);
            assert_eq!(order, with_signs, "seed {seed}");
            assert!(4 * fewer < 3 * tries, "{fewer} of {tries}");
        }
    }

    #[test]
    fn a_watcher_that_is_dropped_has_no_turn() {
        run(async |tasks: Tasks| {
            let (event, sign) = (Event::new(&tasks), Sign::default());
            let until = || ControlFlow::<(), _>::Continue(Until::Shown(sign.clone()));
            let watched = patiently(&tasks, 5, event.wait_until(until));
            assert!(watched.await.is_none());
            assert!(event.0.waiting.borrow().is_empty());
            // Once more, when it is ready but not yet polled.
            let mut watched = Box::pin(event.wait_until(until));
            let mut first = true;
            poll_fn(|context| {
                if !std::mem::take(&mut first) {
                    return Poll::Ready(());
                }
                assert!(watched.as_mut().poll(context).is_pending());
                event.notify();
                tasks.wake(tasks.current());
                Poll::Pending
            })
            .await;
            drop(watched);
            assert!(event.0.waiting.borrow().len() <= 1);
            event.notify();
            pause(&tasks).await;
            assert!(event.0.waiting.borrow().is_empty());
        });
    }
}
