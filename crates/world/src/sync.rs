//! Waiting for one another, within one executor.
//!
//! Everything here tolerates spurious wake-ups and dropped waiters, because nothing keeps a queue that a dropped future
//! could block: [`Event::wait`] re-checks its condition, and [`Limit`] counts what is held.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::{TaskId, Tasks};

/// Something that happens again and again, and tasks that wait until a condition holds.
#[derive(Clone)]
pub struct Event {
    tasks: Tasks,
    waiting: Rc<RefCell<Vec<TaskId>>>,
}

impl Event {
    /// An event for tasks of `tasks`.
    pub fn new(tasks: &Tasks) -> Self {
        Self {
            tasks: tasks.clone(),
            waiting: Rc::default(),
        }
    }

    /// It happened: everyone who waits looks at their condition again, first come first.
    pub fn notify(&self) {
        for task in self.waiting.borrow_mut().drain(..) {
            self.tasks.wake(task);
        }
    }

    /// Waits until `condition` gives a value; it is tried now and after every [`Self::notify`].
    pub async fn wait<T>(&self, mut condition: impl FnMut() -> Option<T>) -> T {
        poll_fn(|_| match condition() {
            Some(value) => Poll::Ready(value),
            None => {
                let task = self.tasks.current();
                let mut waiting = self.waiting.borrow_mut();
                if !waiting.contains(&task) {
                    waiting.push(task);
                }
                Poll::Pending
            }
        })
        .await
    }
}

/// At most so many at once.
#[derive(Clone)]
pub struct Limit {
    free: Rc<Cell<usize>>,
    event: Event,
}

/// One of them; dropping it lets the next in.
pub struct Permit(Limit);

impl Limit {
    /// At most `count` permits at once.
    pub fn new(tasks: &Tasks, count: usize) -> Self {
        Self {
            free: Rc::new(Cell::new(count)),
            event: Event::new(tasks),
        }
    }

    /// Waits for a permit.
    pub async fn enter(&self) -> Permit {
        self.event
            .wait(|| {
                let free = self.free.get();
                self.free.set(free.checked_sub(1)?);
                Some(())
            })
            .await;
        Permit(self.clone())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.free.set(self.0.free.get() + 1);
        self.0.event.notify();
    }
}
