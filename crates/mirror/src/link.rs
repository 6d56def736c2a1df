//! The side that serves: requests on their way, and what became of the connection.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use brunt_world::messages::{MessageError, Receiver, Sender, messages};
use brunt_world::sync::Event;
use brunt_world::{Answer, Answering, IoError, SocketId, VolumeError, World, answer};

use crate::MirrorError;
use crate::wire::{ANSWER_MAX, Outcome, Request};

/// What became of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorState {
    /// Both sites have everything that was acknowledged.
    InStep,
    /// The other site cannot be reached, or refused what this one has done. Changes wait for ever.
    Broken(String),
    /// The other site was promoted to this epoch. Changes wait for ever.
    Fenced { epoch: u64 },
}

/// The connection of a mirror. A clone is another handle.
#[derive(Clone)]
pub struct Mirror(pub(crate) Rc<Link>);

impl Mirror {
    /// What became of it.
    pub fn state(&self) -> MirrorState {
        self.0.state.borrow().clone()
    }

    /// Bytes that were sent to the other site.
    pub fn sent_bytes(&self) -> u64 {
        self.0.sent.get()
    }

    /// The last error of the other site: an error that the caller of a change got may have been its
    /// own or this one.
    pub fn refusal(&self) -> Option<String> {
        self.0.refusal.borrow().clone()
    }

    /// Changes that the other site has not answered.
    pub fn unanswered(&self) -> usize {
        self.0.waiting.borrow().len()
    }
}

/// Somebody who waits for the other site.
enum Waiting {
    Io(Answering<(), IoError>),
    Volume(Answering<(), VolumeError>),
}

/// Requests on their way.
pub(crate) struct Link {
    world: World,
    state: RefCell<MirrorState>,
    waiting: RefCell<BTreeMap<u64, Waiting>>,
    /// Requests, and files, so far.
    requests: Cell<u64>,
    files: Cell<u32>,
    /// Messages to be sent, in their order.
    outbox: RefCell<VecDeque<Vec<u8>>>,
    filled: Event,
    sent: Cell<u64>,
    refusal: RefCell<Option<String>>,
}

impl Link {
    /// Greets the receiver at the other end of `connection`, and lets requests go there.
    pub(crate) async fn open(
        world: &World,
        connection: SocketId,
        epoch: u64,
    ) -> Result<Rc<Self>, MirrorError> {
        let (sender, mut receiver) = messages(world, connection, ANSWER_MAX);
        let lost = |why: &dyn ToString| MirrorError::Connection(why.to_string());
        let hello = Request::Hello { epoch }.encode(0);
        sender.send(&hello).await.map_err(|error| lost(&error))?;
        let welcome = next(&mut receiver).await.map_err(|error| lost(&error))?;
        match welcome {
            (0, Outcome::Done) => {}
            (0, Outcome::Fenced(epoch)) => return Err(MirrorError::Fenced { epoch }),
            (0, Outcome::Taken) => return Err(MirrorError::Taken),
            (0, Outcome::Volume(error)) => return Err(lost(&error)),
            _ => return Err(lost(&crate::wire::Nonsense)),
        }
        let link = Rc::new(Self {
            world: world.clone(),
            state: RefCell::new(MirrorState::InStep),
            waiting: RefCell::default(),
            requests: Cell::new(0),
            files: Cell::new(0),
            outbox: RefCell::default(),
            filled: Event::new(world.spawner.tasks()),
            sent: Cell::new(0),
            refusal: RefCell::default(),
        });
        drop(world.spawner.spawn(Rc::clone(&link).send_all(sender)));
        let receiving = Rc::clone(&link).receive_all(receiver, connection);
        drop(world.spawner.spawn(receiving));
        Ok(link)
    }

    /// Whether changes can still reach the other site.
    pub(crate) fn is_in_step(&self) -> bool {
        *self.state.borrow() == MirrorState::InStep
    }

    /// A number for a file that is opened.
    pub(crate) fn new_file(&self) -> u32 {
        let number = self.files.get();
        self.files.set(number.wrapping_add(1));
        number
    }

    /// Asks for a change of bytes; never answered when the mirror is broken.
    pub(crate) fn ask_io(&self, request: &Request) -> Answer<(), IoError> {
        let (answering, answer) = answer(self.world.spawner.tasks());
        self.ask(request, Waiting::Io(answering));
        answer
    }

    /// Asks for a change of names or lengths; never answered when the mirror is broken.
    pub(crate) fn ask_volume(&self, request: &Request) -> Answer<()> {
        let (answering, answer) = answer(self.world.spawner.tasks());
        self.ask(request, Waiting::Volume(answering));
        answer
    }

    fn ask(&self, request: &Request, waiting: Waiting) {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        self.waiting.borrow_mut().insert(number, waiting);
        if self.is_in_step() {
            self.outbox.borrow_mut().push_back(request.encode(number));
            self.filled.notify();
        }
    }

    /// The two sites differ, or may: nothing is acknowledged any more.
    pub(crate) fn give_up(&self, why: MirrorState) {
        if self.is_in_step() {
            *self.state.borrow_mut() = why;
            self.outbox.borrow_mut().clear();
        }
    }

    pub(crate) fn broken(&self, why: impl ToString) {
        self.give_up(MirrorState::Broken(why.to_string()));
    }

    async fn send_all(self: Rc<Self>, sender: Sender) {
        loop {
            let next = || self.outbox.borrow_mut().pop_front();
            let message = self.filled.wait(next).await;
            self.sent.set(self.sent.get() + message.len() as u64);
            if let Err(error) = sender.send(&message).await {
                return self.broken(error);
            }
        }
    }

    async fn receive_all(self: Rc<Self>, mut receiver: Receiver, connection: SocketId) {
        let why = loop {
            match next(&mut receiver).await {
                Ok((_, Outcome::Fenced(epoch))) => break MirrorState::Fenced { epoch },
                Ok((number, outcome)) => {
                    if let Err(why) = self.answered(number, outcome) {
                        break MirrorState::Broken(why);
                    }
                }
                Err(why) => break MirrorState::Broken(why),
            }
        };
        self.give_up(why);
        self.world.net.close(connection);
    }

    fn answered(&self, number: u64, outcome: Outcome) -> Result<(), String> {
        let waiting = self.waiting.borrow_mut().remove(&number);
        let refusal = match &outcome {
            Outcome::Io(error) => Some(error.to_string()),
            Outcome::Volume(error) => Some(error.to_string()),
            _ => None,
        };
        if refusal.is_some() {
            *self.refusal.borrow_mut() = refusal;
        }
        match (waiting, outcome) {
            (Some(Waiting::Io(answering)), Outcome::Done) => answering.give(Ok(())),
            (Some(Waiting::Io(answering)), Outcome::Io(error)) => answering.give(Err(error)),
            (Some(Waiting::Volume(answering)), Outcome::Done) => answering.give(Ok(())),
            (Some(Waiting::Volume(answering)), Outcome::Volume(error)) => {
                answering.give(Err(error));
            }
            _ => return Err(crate::wire::Nonsense.to_string()),
        }
        Ok(())
    }
}

/// The next answer; why there is none, in words.
async fn next(receiver: &mut Receiver) -> Result<(u64, Outcome), String> {
    let message = receiver.receive().await.map_err(|error| match error {
        MessageError::Net(error) => error.to_string(),
        other => other.to_string(),
    })?;
    let message = message.ok_or("the other side closed the connection")?;
    Outcome::decode(&message).map_err(|error| error.to_string())
}
