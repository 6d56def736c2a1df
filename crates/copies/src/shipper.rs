//! The active's side: sends closed logs to copies, and keeps those that they need.
//!
//! ```text
//!   serve(copy, connection)    Hello -> same history? is the log there? -> Welcome
//!                              next closed log, read as log replication reads -> Log, Piece, ...   at most 8 not acknowledged
//!                              Stored, Replayed -> standing of the copy -> logs held (`truncation`)
//! ```
//!
//! Each connection is one call; the caller accepts or makes it. The log that is being written is
//! not sent, except the last one of an instance that was closed: so a planned change of sides loses
//! nothing. Pages go both ways over the same connection ([`crate::pages`]). Logs are kept for every
//! copy from the beginning, also for one that has not come yet. A copy that stays away for too long
//! is left out with an alarm. It may come back: as long as the logs that it needs are there, it
//! continues; otherwise it must be reseeded.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::{Rc, Weak};

use brunt_ese::backup::LogHold;
use brunt_ese::content::Bytes;
use brunt_ese::format::log_file::LogHeader;
use brunt_ese::instance::Instance;
use brunt_units::{Span, Time};
use brunt_world::messages::{Receiver, Sender, messages};
use brunt_world::sync::{Alarm, Event};
use brunt_world::{Class, SocketId, World};

use crate::asking::{Asking, OPEN_MAX};
use crate::error::CopyError;
use crate::files::{LogReader, read_log};
use crate::queues::Queues;
use crate::truncation::{self, LeftOut, Limits, Standing};
use crate::wire::{Hello, LOG_BYTES_MAX, LONGEST, Message, Refusal, Welcome};

/// How often it looks for a closed log.
const LOOK: Span = Span::millis(50);
/// Logs sent and not acknowledged, at most.
const WINDOW: u32 = 8;

/// How often it looks for copies that are not heard of.
const WATCH: Span = Span::seconds(1);
/// How long it waits for a copy that it refused to close.
const FAREWELL: Span = Span::seconds(5);

/// Ships the logs of an instance to its copies, which have numbers from 0. A clone is another
/// handle.
#[derive(Clone)]
pub struct Shipper(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) world: World,
    pub(crate) instance: Instance<Bytes>,
    limits: Limits,
    standings: RefCell<Vec<Standing>>,
    /// Requests for pages of each copy.
    pub(crate) askings: Vec<Asking>,
    left_out: RefCell<Vec<(usize, LeftOut)>>,
    hold: RefCell<LogHold<Bytes>>,
    /// Whether the instance was closed, and its last log with it.
    pub(crate) is_final: Cell<bool>,
    stopping: Cell<bool>,
    changed: Event,
}

/// What a connection's two tasks share.
struct Heard {
    /// The newest log that was sent, or that the copy had.
    sent: Cell<u32>,
    stored: Cell<u32>,
    ended: RefCell<Option<Result<(), CopyError>>>,
}

impl Shipper {
    /// Begins to keep the logs of `instance` for `copies` copies.
    pub fn new(world: &World, instance: &Instance<Bytes>, copies: usize, limits: Limits) -> Self {
        let new = Standing { stored: 0, replayed: 0, is_lagged: false, heard: world.clock.now() };
        let inner = Rc::new(Inner {
            world: world.clone(),
            instance: instance.clone(),
            limits,
            standings: RefCell::new(vec![new; copies]),
            askings: (0..copies).map(|_| Asking::new(world)).collect(),
            left_out: RefCell::default(),
            hold: RefCell::new(instance.hold_log_from(match copies {
                0 => u32::MAX,
                _ => 0,
            })),
            is_final: Cell::new(false),
            stopping: Cell::new(false),
            changed: Event::new(world.spawner.tasks()),
        });
        drop(world.spawner.spawn(watch(world.clone(), Rc::downgrade(&inner))));
        Self(inner)
    }

    /// Notes that `copy` was seeded with databases that need the logs from `first` on.
    ///
    /// # Panics
    /// When there is no copy of that number.
    pub fn seeded(&self, copy: usize, first: u32) {
        let before = first.saturating_sub(1);
        self.stand(copy, |standing| {
            (standing.stored, standing.replayed) = (before, before);
        });
    }

    /// The newest closed generation; 0 for none.
    pub fn closed(&self) -> u32 {
        self.0.closed()
    }

    /// Notes that the instance was closed cleanly: its last log is sent as well, and a copy that
    /// has it lacks nothing.
    pub fn instance_closed(&self) {
        self.0.is_final.set(true);
        self.0.changed.notify();
    }

    /// How far a copy is, by what it said last.
    ///
    /// # Panics
    /// When there is no copy of that number.
    pub fn queues(&self, copy: usize) -> Queues {
        let standing = self.0.standings.borrow()[copy];
        Queues { closed: self.closed(), stored: standing.stored, replayed: standing.replayed }
    }

    /// The copies that logs are not kept for any more, and why.
    pub fn left_out(&self) -> Vec<(usize, LeftOut)> {
        self.0.retain();
        self.0.left_out.borrow().clone()
    }

    /// Ends all connections in order. Logs are kept until the last handle is dropped.
    pub fn stop(&self) {
        self.0.stopping.set(true);
        self.0.changed.notify();
    }

    /// Sends logs to a copy over a connection until it ends, the shipper stops or the instance
    /// fails, and closes it.
    ///
    /// # Errors
    /// [`CopyError::Refused`] when the copy must be reseeded; [`CopyError::RefusedThere`]; when a
    /// log cannot be read, or the connection breaks.
    ///
    /// # Panics
    /// When there is no copy of that number.
    pub async fn serve(&self, copy: usize, connection: SocketId) -> Result<(), CopyError> {
        let (sender, receiver) = messages(&self.0.world, connection, LONGEST);
        let result = self.exchange(copy, connection, &sender, receiver).await;
        self.0.askings[copy].cut(connection);
        let _ = sender.finish().await;
        self.0.world.net.close(connection);
        result
    }

    async fn exchange(
        &self,
        copy: usize,
        connection: SocketId,
        sender: &Sender,
        mut receiver: Receiver,
    ) -> Result<(), CopyError> {
        let Some(first) = receiver.receive().await? else {
            return Ok(());
        };
        let Message::Hello(hello) = Message::read(&first)? else {
            return Err(Refusal::OutOfPlace.into());
        };
        let closed = self.closed();
        if let Err(error) = self.meet(&hello, closed).await {
            tell_refusal(sender, &error).await;
            return Err(error);
        }
        self.stand(copy, |standing| {
            standing.is_lagged = hello.is_lagged;
            (standing.stored, standing.replayed) = (hello.next - 1, hello.replayed);
        });
        let stream = self.0.instance.log().files().place().signature;
        let welcome = Message::Welcome(Welcome { stream, closed });
        sender.send(&welcome.to_bytes()).await?;
        let heard = Rc::new(Heard {
            sent: Cell::new(hello.next - 1),
            stored: Cell::new(hello.next - 1),
            ended: RefCell::default(),
        });
        self.0.askings[copy].connected(connection, sender);
        let line = sender.clone();
        let listening = self.clone().listen(copy, receiver, line, Rc::clone(&heard));
        drop(self.0.world.spawner.spawn(listening));
        let sent = self.send_logs(sender, &heard, hello.next, closed).await;
        if let Err(error) = &sent
            && tell_refusal(sender, error).await
        {
            // A connection with unread bytes would be reset, and the copy would not hear it.
            let (clock, until) =
                (Rc::clone(&self.0.world.clock), self.0.world.clock.now() + FAREWELL);
            let alarm = Alarm::new(self.0.world.spawner.tasks());
            let ended = || {
                let now = clock.now();
                alarm.set(now, until);
                (heard.ended.borrow().is_some() || now >= until).then_some(())
            };
            self.0.changed.wait(ended).await;
        }
        sent
    }

    /// Whether a copy continues this history, and can.
    async fn meet(&self, hello: &Hello, closed: u32) -> Result<(), CopyError> {
        let files = self.0.instance.log().files();
        let stream = files.place().signature;
        if hello.stream.is_some_and(|theirs| theirs != stream) {
            return Err(Refusal::OtherStream.into());
        }
        if hello.next > closed + 1 {
            return Err(Refusal::Diverged(hello.next - 1).into());
        }
        let Some(last) = hello.last else {
            return Ok(());
        };
        let path = self.path_of(last.generation);
        let most = u64::from(LOG_BYTES_MAX);
        let (world, class) = (&self.0.world, Class::Replication);
        let Some(bytes) = read_log(world, class, &path, most).await? else {
            return Err(Refusal::Truncated(last.generation).into());
        };
        match crc32fast::hash(&bytes) == last.sum {
            true => Ok(()),
            false => Err(Refusal::Diverged(last.generation).into()),
        }
    }

    /// The name of a closed log: the last one of an instance that has closed keeps that of the
    /// current one.
    fn path_of(&self, generation: u32) -> PathBuf {
        let files = self.0.instance.log().files();
        match self.0.is_final.get() && generation == self.closed() {
            true => files.current_path(),
            false => files.archived_path(generation),
        }
    }

    async fn send_logs(
        &self,
        sender: &Sender,
        heard: &Heard,
        mut next: u32,
        mut told: u32,
    ) -> Result<(), CopyError> {
        let alarm = Alarm::new(self.0.world.spawner.tasks());
        let clock = Rc::clone(&self.0.world.clock);
        loop {
            if let Some(ended) = heard.ended.borrow_mut().take() {
                return ended;
            }
            if let Some(error) = self.0.instance.failure() {
                return Err(CopyError::ActiveFailed(error));
            }
            if self.0.stopping.get() {
                return Ok(());
            }
            let closed = self.closed();
            if closed > told {
                told = closed;
                sender.send(&Message::Closed(closed).to_bytes()).await?;
            }
            let may_send = next <= closed && next - heard.stored.get() <= WINDOW;
            if may_send && self.send_log(sender, heard, next).await? {
                next += 1;
                continue;
            }
            let stored = heard.stored.get();
            let look = clock.now() + LOOK;
            let waited = || {
                let now = clock.now();
                alarm.set(now, look);
                let is_over = heard.ended.borrow().is_some() || self.0.stopping.get();
                (is_over || now >= look || heard.stored.get() > stored).then_some(())
            };
            self.0.changed.wait(waited).await;
            self.0.retain();
        }
    }

    /// Sends a closed log; `false` when it still has the name of the current one.
    async fn send_log(
        &self,
        sender: &Sender,
        heard: &Heard,
        generation: u32,
    ) -> Result<bool, CopyError> {
        let world = &self.0.world;
        let path = self.path_of(generation);
        let mut opened = LogReader::<Bytes>::open(world, Class::Replication, &path).await?;
        if opened.is_none() && generation == self.closed() {
            // The roll that renames it may not have begun.
            if self.is_current(generation).await? {
                return Ok(false);
            }
            opened = LogReader::<Bytes>::open(world, Class::Replication, &path).await?;
        }
        let Some(mut reader) = opened else {
            return Err(Refusal::Truncated(generation).into());
        };
        heard.sent.set(generation);
        let sent = self.send_pieces(sender, generation, &mut reader).await;
        reader.close().await;
        sent.map(|()| true)
    }

    /// Whether the file that is written to is still this generation.
    async fn is_current(&self, generation: u32) -> Result<bool, CopyError> {
        let path = self.0.instance.log().files().current_path();
        let opened = LogReader::<Bytes>::open(&self.0.world, Class::Replication, &path).await?;
        let Some(mut reader) = opened else {
            // Between the two renames of a roll.
            return Ok(false);
        };
        let header = reader.next().await;
        reader.close().await;
        let header = header?.map(|(bytes, ..)| LogHeader::read(&bytes));
        Ok(matches!(header, Some(Ok(header)) if header.generation == generation))
    }

    async fn send_pieces(
        &self,
        sender: &Sender,
        generation: u32,
        reader: &mut LogReader<Bytes>,
    ) -> Result<(), CopyError> {
        let length = u32::try_from(reader.length()).unwrap_or(u32::MAX);
        let begin = Message::Log { generation, length };
        sender.send(&begin.to_bytes()).await?;
        let (meters, number) = (self.0.instance.cache().meters(), self.0.instance.options().number);
        let mut at = 0;
        while let Some((read, count, latency)) = reader.next().await? {
            meters.log(number, |log| &mut log.replication, count, latency);
            let bytes = read.to_vec();
            let piece = Message::Piece { at, bytes };
            sender.send(&piece.to_bytes()).await?;
            at += u32::try_from(count).expect("a piece is small");
        }
        Ok(())
    }

    /// Notes what a copy says, until it ends the connection.
    async fn listen(self, copy: usize, mut receiver: Receiver, line: Sender, heard: Rc<Heard>) {
        // Each request that is being answered has a clone.
        let open = Rc::new(());
        let ended = loop {
            let message = match receiver.receive().await {
                Ok(Some(bytes)) => Message::read(&bytes),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.into()),
            };
            match message {
                Ok(Message::Stored(generation)) if generation <= heard.sent.get() => {
                    heard.stored.set(generation.max(heard.stored.get()));
                    self.stand(copy, |standing| {
                        standing.stored = generation.max(standing.stored);
                    });
                }
                Ok(Message::Replayed(generation)) => self.stand(copy, |standing| {
                    standing.replayed = generation.min(standing.stored);
                }),
                Ok(Message::Want(want)) => {
                    if Rc::strong_count(&open) > OPEN_MAX {
                        break Err(Refusal::OutOfPlace.into());
                    }
                    let answering = self.clone().answer(line.clone(), want, Rc::clone(&open));
                    drop(self.0.world.spawner.spawn(answering));
                }
                Ok(Message::Page(sent)) => {
                    let noted = self.0.askings[copy].answered(sent.number, Some(sent.offer));
                    if let Err(refusal) = noted {
                        break Err(refusal.into());
                    }
                }
                Ok(Message::NoPage(number)) => {
                    let noted = self.0.askings[copy].answered(number, None);
                    if let Err(refusal) = noted {
                        break Err(refusal.into());
                    }
                }
                Ok(Message::Refused(refusal)) => break Err(CopyError::RefusedThere(refusal)),
                Ok(_) => break Err(Refusal::OutOfPlace.into()),
                Err(refusal) => break Err(refusal.into()),
            }
        };
        *heard.ended.borrow_mut() = Some(ended);
        self.0.changed.notify();
    }

    /// Notes where a copy is, and that it lives.
    fn stand(&self, copy: usize, change: impl FnOnce(&mut Standing)) {
        let now: Time = self.0.world.clock.now();
        {
            let mut standings = self.0.standings.borrow_mut();
            let standing = &mut standings[copy];
            change(standing);
            standing.heard = now;
        }
        self.0.retain();
        self.0.changed.notify();
    }
}

impl Inner {
    fn closed(&self) -> u32 {
        let newest = self.instance.log().durable().generation;
        match self.is_final.get() {
            true => newest,
            false => newest.saturating_sub(1),
        }
    }

    /// Keeps the logs that copies need from now on.
    fn retain(&self) {
        let standings = self.standings.borrow();
        let now = self.world.clock.now();
        // The engine keeps what its own checkpoint needs.
        let decided = truncation::decide(now, u32::MAX, self.closed(), &standings, self.limits);
        *self.left_out.borrow_mut() = decided.left_out;
        if decided.keep_from.max(1) != self.hold.borrow().generation() {
            // The new hold begins before the former one ends.
            let hold = self.instance.hold_log_from(decided.keep_from);
            self.hold.replace(hold);
        }
    }
}

/// Leaves out copies that are not heard of, while a shipper lives.
async fn watch(world: World, inner: Weak<Inner>) {
    loop {
        world.sleep(WATCH).await;
        let Some(inner) = inner.upgrade() else { return };
        inner.retain();
    }
}

/// Lets the copy name a refusal of this side; `true` when it was one and could be sent.
async fn tell_refusal(sender: &Sender, error: &CopyError) -> bool {
    let CopyError::Refused(refusal) = error else {
        return false;
    };
    let told = sender.send(&Message::Refused(*refusal).to_bytes()).await;
    told.is_ok() && sender.finish().await.is_ok()
}
