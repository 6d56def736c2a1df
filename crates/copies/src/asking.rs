//! Requests for pages over a connection.
//!
//! Either side may ask. A request has a number, and its answer repeats it. An answer that comes too
//! late is dropped; one to a request that was never made has no place.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::instance::offer::PageOffer;
use brunt_ese::patch::PATIENCE;
use brunt_units::{LogPosition, PageNumber};
use brunt_world::messages::Sender;
use brunt_world::sync::{Alarm, Event};
use brunt_world::{Clock, SocketId, Tasks, World};

use crate::wire::{Message, Refusal, Sent, Want};

/// Requests that one side may have open; more are not answered.
pub(crate) const OPEN_MAX: usize = 16;

/// The requests of one side.
pub(crate) struct Asking {
    clock: Rc<dyn Clock>,
    tasks: Tasks,
    /// The connection, and the way into it.
    line: RefCell<Option<(SocketId, Sender)>>,
    next: Cell<u32>,
    open: RefCell<BTreeMap<u32, Answer>>,
    is_over: Cell<bool>,
    changed: Event,
}

enum Answer {
    Awaited,
    Here(Option<PageOffer>),
}

impl Asking {
    pub(crate) fn new(world: &World) -> Self {
        let tasks = world.spawner.tasks();
        Self {
            clock: Rc::clone(&world.clock),
            tasks: tasks.clone(),
            line: RefCell::default(),
            next: Cell::new(0),
            open: RefCell::default(),
            is_over: Cell::new(false),
            changed: Event::new(tasks),
        }
    }

    /// Requests go over `connection` from now on.
    pub(crate) fn connected(&self, connection: SocketId, line: &Sender) {
        *self.line.borrow_mut() = Some((connection, line.clone()));
        self.give_up();
    }

    /// `connection` is gone, and with it all answers.
    pub(crate) fn cut(&self, connection: SocketId) {
        let is_this = |(known, _): &mut (SocketId, Sender)| *known == connection;
        if self.line.borrow_mut().take_if(is_this).is_some() {
            self.give_up();
        }
    }

    fn give_up(&self) {
        for answer in self.open.borrow_mut().values_mut() {
            if matches!(answer, Answer::Awaited) {
                *answer = Answer::Here(None);
            }
        }
        self.changed.notify();
    }

    /// Nothing is asked any more.
    pub(crate) fn end(&self) {
        self.is_over.set(true);
        self.give_up();
    }

    /// Whether there is a connection.
    pub(crate) fn is_connected(&self) -> bool {
        self.line.borrow().is_some()
    }

    /// The other side's page with all log before `replayed`; `None` when it does not come within
    /// [`PATIENCE`], in which a connection may be made.
    pub(crate) async fn ask(
        &self,
        database: u8,
        page: PageNumber,
        replayed: LogPosition,
    ) -> Option<PageOffer> {
        let (alarm, until) = (Alarm::new(&self.tasks), self.clock.now() + PATIENCE);
        let over = || {
            let now = self.clock.now();
            alarm.set(now, until);
            (now >= until || self.is_over.get()).then_some(None)
        };
        let line = || match &*self.line.borrow() {
            Some((_, line)) if !self.is_over.get() => Some(Some(line.clone())),
            _ => over(),
        };
        let line = self.changed.wait(line).await?;
        if self.open.borrow().len() >= OPEN_MAX {
            return None;
        }
        let number = self.next.get();
        self.next.set(number.wrapping_add(1));
        self.open.borrow_mut().insert(number, Answer::Awaited);
        let _open = Open(self, number);
        let want = Message::Want(Want { number, database, page, replayed });
        line.send(&want.to_bytes()).await.ok()?;
        let over = || {
            let now = self.clock.now();
            alarm.set(now, until);
            (now >= until).then_some(None)
        };
        let answer = || match self.open.borrow_mut().get_mut(&number) {
            Some(Answer::Here(offer)) => Some(offer.take()),
            _ => over(),
        };
        self.changed.wait(answer).await
    }

    /// Notes an answer, `None` for a page that the other side does not have.
    ///
    /// # Errors
    /// [`Refusal::OutOfPlace`] when nothing was asked under that number.
    pub(crate) fn answered(&self, number: u32, offer: Option<PageOffer>) -> Result<(), Refusal> {
        if number >= self.next.get() {
            return Err(Refusal::OutOfPlace);
        }
        if let Some(answer) = self.open.borrow_mut().get_mut(&number) {
            *answer = Answer::Here(offer);
        }
        self.changed.notify();
        Ok(())
    }
}

/// Answers request `number` of the other side. A connection that breaks needs no answer.
pub(crate) async fn answer(line: &Sender, number: u32, offer: Option<PageOffer>) {
    let message = match offer {
        Some(offer) => Message::Page(Sent { number, offer }),
        None => Message::NoPage(number),
    };
    let _ = line.send(&message.to_bytes()).await;
}

/// A request that is open until this is dropped.
struct Open<'a>(&'a Asking, u32);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.borrow_mut().remove(&self.1);
    }
}
