//! The thread for blocking work without tickets: names, lengths, space, closing.
//!
//! One thread, one queue, first come first served, so that a rename requested after a create
//! happens after it. Work is passed as a closure, and its result goes to a second closure, which
//! runs on the executor's thread at the next reap.
//!
//! ```text
//!   executor's thread          helper thread
//!   ask(work, finish) ------>  work()  -> result into a cell
//!   deliver(): finish(result) <------  number into the mailbox, bell
//! ```
//!
//! The helper ends when the last [`Errands`] is dropped and the queue is empty. It is never joined.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::bell::{Bell, Mailbox};

type Work = Box<dyn FnOnce() + Send>;
type Finish = Box<dyn FnOnce()>;

/// Accepts work that needs no answer. Clones share the same helper.
#[derive(Clone)]
pub(crate) struct Errands(Sender<Work>);

impl Errands {
    /// Passes `work` to the helper, or runs it here when the helper has ended.
    pub(crate) fn run(&self, work: impl FnOnce() + Send + 'static) {
        if let Err(refused) = self.0.send(Box::new(work)) {
            refused.0();
        }
    }

    /// Errands that run on the calling thread.
    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        Self(channel().0)
    }
}

/// The executor's side of the helper thread.
pub(crate) struct Helper {
    errands: Errands,
    done: Arc<Mailbox<u64>>,
    waiting: RefCell<BTreeMap<u64, Finish>>,
    asked: Cell<u64>,
}

impl Helper {
    /// Starts the thread; it rings `bell` after every answer.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub(crate) fn start(bell: &Arc<Bell>) -> io::Result<Rc<Self>> {
        let (sender, receiver) = channel::<Work>();
        let thread = std::thread::Builder::new().name("names".into());
        thread.spawn(move || work_off(&receiver))?;
        Ok(Rc::new(Self {
            errands: Errands(sender),
            done: Arc::new(Mailbox::new(bell)),
            waiting: RefCell::default(),
            asked: Cell::new(0),
        }))
    }

    /// Accepts work that needs no answer.
    pub(crate) fn errands(&self) -> &Errands {
        &self.errands
    }

    /// Runs `work` on the helper thread, then `finish` with its result on this one, from
    /// [`Self::deliver`].
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        finish: impl FnOnce(T) + 'static,
    ) {
        let number = self.asked.get();
        self.asked.set(number + 1);
        let result = Arc::new(Mutex::new(None));
        let (cell, done) = (Arc::clone(&result), Arc::clone(&self.done));
        let finish: Finish = Box::new(move || {
            let value = result.lock().unwrap_or_else(PoisonError::into_inner).take();
            finish(value.expect("the number is posted after the result is stored"));
        });
        self.waiting.borrow_mut().insert(number, finish);
        self.errands.run(move || {
            let value = work();
            *cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            done.post(number);
        });
    }

    /// Runs `finish` for all returned results.
    pub(crate) fn deliver(&self) {
        if self.done.is_empty() {
            return;
        }
        let mut numbers = Vec::new();
        self.done.take(&mut numbers);
        for number in numbers {
            let finish = self.waiting.borrow_mut().remove(&number);
            finish.expect("asked once, answered once")();
        }
    }

    /// Whether results have returned.
    pub(crate) fn has_answers(&self) -> bool {
        !self.done.is_empty()
    }

    /// Whether all requested work has been delivered.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.borrow().is_empty()
    }
}

fn work_off(receiver: &Receiver<Work>) {
    for work in receiver {
        work();
    }
}
