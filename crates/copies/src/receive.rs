//! The connection of a passive copy: it stores logs, tells how far it is, and exchanges pages.
//!
//! ```text
//!   Log, Piece, ...  --> Intake --> log folder --> Stored        while one is written and named, the next arrives
//!   Want             --> answered by the replay (`repair`)
//!   Page, NoPage     --> the request that waits for it
//!                        Replayed <-- as replay goes on
//! ```

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_units::Span;
use brunt_world::messages::{PATIENCE, Receiver, Sender, messages};
use brunt_world::sync::Alarm;
use brunt_world::{NetError, SocketId, Task};

use crate::error::CopyError;
use crate::files;
use crate::intake::Tail;
use crate::passive::PassiveCopy;
use crate::wire::{Hello, LONGEST, Message, Refusal};

/// How long an active may take to answer.
const WELCOME: Span = Span::seconds(30);
/// Messages that are still read after a refusal.
const UNREAD_MAX: usize = 64;
/// Longest silence of a copy towards its active.
const BEAT: Span = Span::seconds(5);

impl PassiveCopy {
    /// Receives logs over a connection to the active until it ends, and closes it. One connection
    /// at a time.
    ///
    /// # Errors
    /// [`CopyError::Refused`] and [`CopyError::RefusedThere`], by name; when the connection breaks,
    /// connect again. Every log that was acknowledged is there.
    pub async fn receive(&self, connection: SocketId) -> Result<(), CopyError> {
        let _busy = self.enter();
        if self.0.stopping.get() {
            self.0.world.net.close(connection);
            return Ok(());
        }
        let (sender, mut receiver) = messages(&self.0.world, connection, LONGEST);
        self.0.connection.set(Some(connection));
        self.0.asking.connected(connection, &sender);
        let over = Rc::new(Cell::new(false));
        let result = self.exchange(&sender, &mut receiver, &over).await;
        over.set(true);
        self.0.asking.cut(connection);
        self.0.wants.borrow_mut().clear();
        self.0.changed.notify();
        if let Err(CopyError::Refused(refusal)) = &result {
            self.refuse(&sender, *refusal).await;
            // A connection with unread bytes would be reset, and the active would not hear it.
            let rest = async {
                for _ in 0..UNREAD_MAX {
                    if !matches!(receiver.receive().await, Ok(Some(_))) {
                        break;
                    }
                }
            };
            let _ = self.0.world.within(PATIENCE, rest).await;
        }
        self.0.connection.set(None);
        self.0.world.net.close(connection);
        match result {
            Err(CopyError::Connection(_)) if self.0.stopping.get() => Ok(()),
            Err(error) if error.wants_reseed() => {
                self.0.failure.borrow_mut().get_or_insert(error.clone());
                Err(error)
            }
            result => result,
        }
    }

    async fn exchange(
        &self,
        sender: &Sender,
        receiver: &mut Receiver,
        over: &Rc<Cell<bool>>,
    ) -> Result<(), CopyError> {
        let hello = {
            let intake = self.0.intake.borrow();
            Message::Hello(Hello {
                stream: intake.stream(),
                last: intake.last(),
                next: intake.next(),
                replayed: self.queues().replayed,
                is_lagged: self.0.options.lag > Span::ZERO,
            })
        };
        sender.send(&hello.to_bytes()).await?;
        let welcome = self.next_message(receiver);
        let welcome = self.0.world.within(WELCOME, welcome).await;
        // Who says nothing would hold the only connection.
        match welcome.ok_or(NetError::TimedOut)?? {
            None => return Ok(()),
            Some(Message::Welcome(welcome)) => {
                self.0.intake.borrow_mut().meet(&welcome)?;
                self.note(|queues| queues.closed = welcome.closed);
            }
            Some(Message::Refused(refusal)) => return Err(CopyError::RefusedThere(refusal)),
            Some(_) => return Err(Refusal::OutOfPlace.into()),
        }
        let reporter = self.clone().report(sender.clone(), Rc::clone(over));
        drop(self.0.world.spawner.spawn(reporter));
        let mut storing = VecDeque::new();
        let received = self.take_logs(sender, receiver, &mut storing).await;
        let mut stored = Ok(());
        for one in storing {
            stored = stored.and(one.await);
        }
        // What could not be stored is why nothing more was received, if both failed.
        stored.and(received)
    }

    /// Receives logs. While one is written and the one before it gets its name, the next one
    /// arrives.
    async fn take_logs(
        &self,
        sender: &Sender,
        receiver: &mut Receiver,
        storing: &mut VecDeque<Task<Result<(), CopyError>>>,
    ) -> Result<(), CopyError> {
        let broken = Rc::new(Cell::new(false));
        let mut arriving: Option<(u32, u32, Vec<u8>)> = None;
        while let Some(message) = self.next_message(receiver).await? {
            match (message, &mut arriving) {
                (Message::Closed(closed), _) => self.note(|queues| queues.closed = closed),
                (Message::Log { generation, length }, None) => {
                    self.0.intake.borrow().announced(generation, length)?;
                    let room = Vec::with_capacity(length as usize);
                    arriving = Some((generation, length, room));
                }
                (Message::Log { .. }, Some((torn, ..))) => return Err(Refusal::Torn(*torn).into()),
                (Message::Piece { at, bytes }, Some((generation, length, so_far))) => {
                    let rest = *length as usize - so_far.len();
                    if at as usize != so_far.len() || bytes.len() > rest {
                        return Err(Refusal::Torn(*generation).into());
                    }
                    so_far.extend_from_slice(&bytes);
                }
                (Message::Want(want), _) => self.wanted(sender, want)?,
                (Message::Page(sent), _) => {
                    self.0.asking.answered(sent.number, Some(sent.offer))?;
                }
                (Message::NoPage(number), _) => self.0.asking.answered(number, None)?,
                (Message::Refused(refusal), _) => return Err(CopyError::RefusedThere(refusal)),
                _ => return Err(Refusal::OutOfPlace.into()),
            }
            let whole =
                |(_, length, bytes): &mut (u32, u32, Vec<u8>)| bytes.len() == *length as usize;
            if let Some((generation, _, bytes)) = arriving.take_if(whole) {
                let tail = self.0.intake.borrow_mut().check(generation, &bytes)?;
                if storing.len() == files::ARRIVING_MAX
                    && let Some(oldest) = storing.pop_front()
                {
                    oldest.await?;
                }
                let store = self.clone().store(sender.clone(), tail, bytes, Rc::clone(&broken));
                storing.push_back(self.0.world.spawner.spawn(store));
            }
        }
        match arriving {
            Some((torn, ..)) => Err(Refusal::Torn(torn).into()),
            None => Ok(()),
        }
    }

    /// The next message; `None` when the active has finished.
    async fn next_message(&self, receiver: &mut Receiver) -> Result<Option<Message>, CopyError> {
        match receiver.receive().await? {
            Some(bytes) => Ok(Some(Message::read(&bytes)?)),
            None => Ok(None),
        }
    }

    /// Lets the active name a refusal; this side ends in any case.
    async fn refuse(&self, sender: &Sender, refusal: Refusal) {
        if sender.send(&Message::Refused(refusal).to_bytes()).await.is_ok() {
            let _ = sender.finish().await;
        }
    }

    /// Stores a log after the one before it, and acknowledges it. When one cannot be stored,
    /// `broken` says so to those after it, and the connection ends, also when nothing more comes
    /// over it.
    async fn store(
        self,
        sender: Sender,
        tail: Tail,
        bytes: Vec<u8>,
        broken: Rc<Cell<bool>>,
    ) -> Result<(), CopyError> {
        let stored = self.put(tail, &bytes, &broken).await;
        match &stored {
            Ok(true) => {
                let stored = Message::Stored(tail.held.generation);
                sender.send(&stored.to_bytes()).await?;
            }
            Ok(false) => {}
            Err(_) => {
                broken.set(true);
                self.0.changed.notify();
                // Its own error is the one that counts.
                let _ = sender.finish().await;
            }
        }
        stored.map(drop)
    }

    /// Makes a log durable: its content at once, its name after that of the one before it. `false`
    /// when that one failed.
    async fn put(&self, tail: Tail, bytes: &[u8], broken: &Cell<bool>) -> Result<bool, CopyError> {
        let (world, directory) = (&self.0.world, self.0.intake.borrow().directory().to_owned());
        let generation = tail.held.generation;
        files::write_log::<Bytes>(world, &directory, generation, bytes).await?;
        let turn = || {
            let is_next = self.0.intake.borrow().next() == generation;
            (is_next || broken.get()).then_some(is_next)
        };
        if !self.0.changed.wait(turn).await {
            files::forget_log(world, &directory, generation).await;
            return Ok(false);
        }
        files::name_log(world, &directory, generation).await?;
        self.0.intake.borrow_mut().stored(tail);
        self.note(|queues| {
            queues.stored = generation;
            queues.closed = queues.closed.max(generation);
        });
        Ok(true)
    }

    /// Tells the active how far the databases are, also when nothing changes.
    async fn report(self, sender: Sender, over: Rc<Cell<bool>>) {
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        let clock = Rc::clone(&self.0.world.clock);
        let mut told = 0;
        while !over.get() {
            let replayed = self.queues().replayed;
            if sender.send(&Message::Replayed(replayed).to_bytes()).await.is_err() {
                return;
            }
            told = replayed.max(told);
            let next = clock.now() + BEAT;
            let moved = || {
                let now = clock.now();
                alarm.set(now, next);
                let is_due = now >= next || self.queues().replayed > told;
                (is_due || over.get()).then_some(())
            };
            self.0.changed.wait(moved).await;
        }
    }
}
