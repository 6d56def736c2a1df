//! The result of a request that is no disk I/O: a one-shot future, [`Answer`], fulfilled by the
//! world through [`Answering`].

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::{TaskId, Tasks, VolumeError};

struct Shared<T, E> {
    value: Option<Result<T, E>>,
    waiter: Option<TaskId>,
}

/// Waits for an answer. Dropping it does not undo the request.
#[must_use = "the answer says whether it happened"]
pub struct Answer<T, E = VolumeError> {
    shared: Rc<RefCell<Shared<T, E>>>,
    tasks: Tasks,
}

/// The other end of an [`Answer`].
pub struct Answering<T, E = VolumeError> {
    shared: Rc<RefCell<Shared<T, E>>>,
    tasks: Tasks,
}

/// An answer to wait for, and the end that gives it.
pub fn answer<T, E>(tasks: &Tasks) -> (Answering<T, E>, Answer<T, E>) {
    let shared = Rc::new(RefCell::new(Shared { value: None, waiter: None }));
    let answering = Answering { shared: Rc::clone(&shared), tasks: tasks.clone() };
    (answering, Answer { shared, tasks: tasks.clone() })
}

impl<T, E> Answering<T, E> {
    /// Gives the answer and wakes the task that waits for it.
    pub fn give(self, value: Result<T, E>) {
        let mut shared = self.shared.borrow_mut();
        shared.value = Some(value);
        if let Some(task) = shared.waiter {
            self.tasks.wake(task);
        }
    }

    /// Whether the [`Answer`] has not been dropped.
    pub fn is_awaited(&self) -> bool {
        Rc::strong_count(&self.shared) > 1
    }
}

impl<T, E> Future for Answer<T, E> {
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let mut shared = self.shared.borrow_mut();
        match shared.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                shared.waiter = Some(self.tasks.current());
                Poll::Pending
            }
        }
    }
}
