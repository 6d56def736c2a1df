//! The site that does not serve: applies what arrives, until it is promoted.
//!
//! ```text
//!   message --> decoded --> epoch older than ours? refused
//!                            |
//!                            v
//!                    submitted at once, in the order of arrival --> a task waits for it --> answer
//! ```
//!
//! Promotion sets the epoch, waits for what is in flight, and makes the epoch durable. From its
//! first instant on nothing older is applied, so the files are still when it returns.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;

use brunt_world::messages::{PATIENCE, Token, messages};
use brunt_world::sync::{Event, Limit};
use brunt_world::{
    Answer, Class, FileId, Io, IoError, NetError, Op, Segment, Segments, SocketId, Ticket,
    VolumeError, World,
};

use crate::breakage::{Breakage, Broken, Fate, TAIL};
use crate::epoch;
use crate::name::Name;
use crate::wire::{Outcome, REQUEST_MAX, Request};

/// Changes in flight; more wait in the connection.
const IN_FLIGHT_MAX: usize = 1024;
/// Connections that have not greeted yet; more are closed at once.
const STRANGERS_MAX: usize = 16;
/// Files that may be open.
const FILES_MAX: usize = 4096;
/// Where a file ends at the latest: no file system of Linux has larger ones in use.
const FILE_MAX: u64 = 1 << 46;

/// Why a receiver cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiverError {
    /// The file with the epoch cannot be opened, renamed or synced.
    #[error("{}: {error}", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// Why.
        error: VolumeError,
    },
    /// The file with the epoch cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: IoError,
    },
    /// The file that should hold the epoch holds something else.
    #[error("{}: holds no epoch of a mirror", .0.display())]
    Foreign(PathBuf),
    /// A promotion needs a newer epoch.
    #[error("epoch {asked} is not newer than {current}")]
    NotNewer {
        /// The epoch that was asked for.
        asked: u64,
        /// The receiver's.
        current: u64,
    },
}

/// Applies the changes of a mirrored world. A clone is another handle.
#[derive(Clone)]
pub struct Receiver(Rc<Inner>);

struct Inner {
    world: World,
    folder: PathBuf,
    record: PathBuf,
    epoch: Cell<u64>,
    /// Whether there was a connection.
    is_taken: Cell<bool>,
    files: RefCell<BTreeMap<u32, FileId>>,
    in_flight: Cell<usize>,
    quiet: Event,
    broken: RefCell<Broken>,
    refused: Cell<u64>,
    /// Connections that have not greeted.
    strangers: Cell<usize>,
}

/// A change that was submitted.
type Applying = Pin<Box<dyn Future<Output = Outcome>>>;

impl Receiver {
    /// A receiver for files below `folder`; its epoch is in the file `record`, which lies
    /// elsewhere.
    ///
    /// # Errors
    /// [`ReceiverError`] when the epoch cannot be read.
    pub async fn open(world: &World, folder: &Path, record: &Path) -> Result<Self, ReceiverError> {
        let epoch = epoch::read(world, record).await?;
        Ok(Self(Rc::new(Inner {
            world: world.clone(),
            folder: folder.to_owned(),
            record: record.to_owned(),
            epoch: Cell::new(epoch),
            is_taken: Cell::new(false),
            files: RefCell::default(),
            in_flight: Cell::new(0),
            quiet: Event::new(world.spawner.tasks()),
            broken: RefCell::default(),
            refused: Cell::new(0),
            strangers: Cell::new(0),
        })))
    }

    /// Its epoch: 0 before the first connection.
    pub fn epoch(&self) -> u64 {
        self.0.epoch.get()
    }

    /// Messages of older epochs that it has refused.
    pub fn refused(&self) -> u64 {
        self.0.refused.get()
    }

    /// Takes connections from `listener` until that fails: those that show `token`, if one is
    /// given.
    pub async fn serve(&self, listener: SocketId, token: Option<Token>) -> NetError {
        loop {
            match self.0.world.net.accept(listener).await {
                Ok((connection, _)) if self.0.strangers.get() >= STRANGERS_MAX => {
                    self.0.world.net.close(connection);
                }
                Ok((connection, _)) => {
                    self.0.strangers.update(|count| count + 1);
                    let one = self.clone().admit(connection, token);
                    drop(self.0.world.spawner.spawn(one));
                }
                Err(error) => return error,
            }
        }
    }

    /// Takes the place of the site that served: nothing of an epoch before `epoch` is applied any
    /// more, and what was applied is done.
    ///
    /// # Errors
    /// [`ReceiverError`] when the epoch is not newer, or cannot be made durable: the site must not
    /// serve then.
    pub async fn promote(&self, epoch: u64) -> Result<(), ReceiverError> {
        let inner = &self.0;
        let current = inner.epoch.get();
        if epoch <= current {
            let asked = epoch;
            return Err(ReceiverError::NotNewer { asked, current });
        }
        inner.epoch.set(epoch);
        inner.broken.borrow_mut().lose_tail();
        let is_quiet = || (inner.in_flight.get() == 0).then_some(());
        inner.quiet.wait(is_quiet).await;
        for file in inner.files.take().into_values() {
            // Everything in it is done; the handle is of no more use.
            let _ = inner.world.volume.close(file).await;
        }
        epoch::write(&inner.world, &inner.record, epoch).await
    }

    /// Breaks it from now on, for a control.
    pub fn break_by(&self, how: Breakage) {
        self.0.broken.borrow_mut().set(how);
        if how == Breakage::LoseTail {
            drop(self.0.world.spawner.spawn(Rc::clone(&self.0).do_late()));
        }
    }

    /// Whether something was broken.
    pub fn has_broken(&self) -> bool {
        self.0.broken.borrow().struck()
    }

    async fn admit(self, connection: SocketId, token: Option<Token>) {
        let world = &self.0.world;
        let is_known = match token {
            Some(token) => token.is_shown(world, connection).await,
            None => true,
        };
        match is_known {
            true => self.receive(connection).await,
            false => self.0.strangers.update(|count| count - 1),
        }
    }

    /// Applies what arrives on `connection` until that ends.
    async fn receive(self, connection: SocketId) {
        let inner = self.0;
        let mut is_stranger = true;
        let (sender, mut receiver) = messages(&inner.world, connection, REQUEST_MAX);
        let room = Limit::new(inner.world.spawner.tasks(), IN_FLIGHT_MAX);
        let mut greeted = None;
        // Whatever is wrong with a connection or a message, the other side finds the connection
        // closed.
        loop {
            // Taken before anything is submitted: whatever is in flight is also waited for.
            let permit = room.enter().await;
            let arrived = match greeted {
                // Who served before may be silent for as long as it likes.
                Some(_) => receiver.receive().await,
                None => match inner.world.within(PATIENCE, receiver.receive()).await {
                    Some(arrived) => arrived,
                    None => break,
                },
            };
            let Ok(Some(message)) = arrived else {
                break;
            };
            let Ok((number, request)) = Request::decode(&message) else {
                break;
            };
            let (applying, is_change): (Applying, bool) = match (greeted, request) {
                (None, Request::Hello { epoch }) => {
                    let outcome = inner.greet(epoch).await;
                    greeted = (outcome == Outcome::Done).then_some(epoch);
                    if greeted.is_some() && std::mem::take(&mut is_stranger) {
                        inner.strangers.update(|count| count - 1);
                    }
                    (at_once(outcome), false)
                }
                (None, _) | (Some(_), Request::Hello { .. }) => break,
                (Some(own), _) if own < inner.epoch.get() => {
                    inner.refused.set(inner.refused.get() + 1);
                    (at_once(Outcome::Fenced(inner.epoch.get())), false)
                }
                (Some(_), request) => (inner.apply(request), true),
            };
            if is_change {
                inner.in_flight.set(inner.in_flight.get() + 1);
            }
            let (inner, sender) = (Rc::clone(&inner), sender.clone());
            let world = inner.world.clone();
            drop(world.spawner.spawn(async move {
                let outcome = applying.await;
                if is_change {
                    inner.in_flight.set(inner.in_flight.get() - 1);
                    inner.quiet.notify();
                }
                // A connection that is gone has nobody to answer.
                let _ = sender.send(&outcome.encode(number)).await;
                drop(permit);
            }));
        }
        if is_stranger {
            inner.strangers.update(|count| count - 1);
        }
        inner.world.net.close(connection);
    }
}

fn at_once(outcome: Outcome) -> Applying {
    Box::pin(std::future::ready(outcome))
}

impl Inner {
    /// What is said to a hello of `epoch`.
    async fn greet(&self, epoch: u64) -> Outcome {
        let own = self.epoch.get();
        if epoch < own {
            self.refused.set(self.refused.get() + 1);
            return Outcome::Fenced(own);
        }
        if self.is_taken.replace(true) {
            return Outcome::Taken;
        }
        if epoch > own {
            self.epoch.set(epoch);
            if let Err(error) = epoch::write(&self.world, &self.record, epoch).await {
                return Outcome::Volume(VolumeError::Other(error.to_string()));
            }
        }
        Outcome::Done
    }

    /// Submits a change.
    fn apply(self: &Rc<Self>, request: Request) -> Applying {
        let now = self.world.clock.now();
        let passed = self.broken.borrow_mut().pass(now, request);
        match passed {
            Some(request) => self.change(request),
            None => at_once(Outcome::Done),
        }
    }

    fn change(self: &Rc<Self>, request: Request) -> Applying {
        let volume = &self.world.volume;
        let path = |name: &Name| name.in_folder(&self.folder);
        match request {
            Request::Hello { .. } => unreachable!("a hello is no change"),
            Request::Open { file, mode, name } => {
                let refused = |why: &str| Outcome::Volume(VolumeError::Other(why.to_owned()));
                if self.files.borrow().len() >= FILES_MAX {
                    return at_once(refused("too many files are open"));
                }
                if self.file(file).is_some() {
                    return at_once(refused(NUMBER_IN_USE));
                }
                let opening = volume.open(&path(&name), mode);
                let inner = Rc::clone(self);
                Box::pin(async move {
                    match opening.await {
                        Ok(opened) => {
                            let former = inner.files.borrow_mut().insert(file, opened);
                            match former {
                                None => Outcome::Done,
                                Some(former) => {
                                    // Two were opened under one number at once. Only one handle is
                                    // kept.
                                    let _ = inner.world.volume.close(former).await;
                                    Outcome::Volume(VolumeError::Other(NUMBER_IN_USE.to_owned()))
                                }
                            }
                        }
                        Err(error) => Outcome::Volume(error),
                    }
                })
            }
            Request::Close { file } => match self.files.borrow_mut().remove(&file) {
                Some(file) => {
                    self.broken.borrow_mut().closed(file);
                    of_volume(volume.close(file))
                }
                None => at_once(Outcome::Volume(not_open())),
            },
            Request::Allocate { file, bytes } => match self.file(file) {
                Some(file) if bytes <= FILE_MAX => of_volume(volume.allocate(file, bytes)),
                Some(_) => at_once(Outcome::Volume(VolumeError::NoSpace)),
                None => at_once(Outcome::Volume(not_open())),
            },
            Request::Rename { from, to } => of_volume(volume.rename(&path(&from), &path(&to))),
            Request::Remove { name } => of_volume(volume.remove(&path(&name))),
            Request::SyncDirectory { name } => of_volume(volume.sync_directory(&path(&name))),
            Request::Write { file, through, class, offset, bytes } => {
                let is_valid = is_inside(offset, bytes.len() as u64) && !bytes.is_empty();
                let Some(file) = self.file(file).filter(|_| is_valid) else {
                    return at_once(Outcome::Io(IoError::Invalid));
                };
                let op = match through {
                    true => Op::WriteThrough,
                    false => Op::Write,
                };
                let mut broken = self.broken.borrow_mut();
                let (fate, other) = broken.write(class, file, offset, bytes);
                let other =
                    other.map(|(file, offset, bytes)| self.write(op, class, file, offset, &bytes));
                match fate {
                    Fate::Dropped => at_once(Outcome::Done),
                    Fate::Done(bytes) => {
                        let own = self.write(op, class, file, offset, &bytes);
                        of_ios([Some(own), other].into_iter().flatten().collect())
                    }
                }
            }
            Request::Sync { file, class } => match self.file(file) {
                Some(file) => of_ios(vec![self.world.disk.submit(Io::sync(class, file))]),
                None => at_once(Outcome::Io(IoError::Invalid)),
            },
            Request::Trim { file, class, offset, length } => {
                match self.file(file).filter(|_| is_inside(offset, length)) {
                    Some(file) => {
                        let range = Segments::from_buf([Segment::Ghost(length)]);
                        let trim = Io::new(class, Op::Trim, file, offset, range);
                        of_ios(vec![self.world.disk.submit(trim)])
                    }
                    None => at_once(Outcome::Io(IoError::Invalid)),
                }
            }
        }
    }

    fn file(&self, number: u32) -> Option<FileId> {
        self.files.borrow().get(&number).copied()
    }

    /// Submits a write of `bytes`, a multiple of 512.
    fn write(&self, op: Op, class: Class, file: FileId, offset: u64, bytes: &[u8]) -> Ticket {
        let mut frame = self.world.frames.take(bytes.len().next_multiple_of(4096));
        frame[..bytes.len()].copy_from_slice(bytes);
        let segment = Segment::Drain { frame: Rc::new(frame), start: 0, length: bytes.len() };
        let segments = Segments::from_buf([segment]);
        self.world.disk.submit(Io::new(class, op, file, offset, segments))
    }

    /// Does late changes, one after the other, when they are due.
    async fn do_late(self: Rc<Self>) {
        loop {
            let due = self.broken.borrow().due_at();
            let now = self.world.clock.now();
            let due = due.unwrap_or(now + TAIL);
            self.world.sleep_until(due).await;
            let late = match self.broken.borrow().due_at() {
                Some(at) => at <= due,
                None => false,
            };
            let late = late.then(|| self.broken.borrow_mut().take_late());
            if let Some(request) = late.flatten() {
                self.in_flight.set(self.in_flight.get() + 1);
                // It is acknowledged already.
                let _ = self.change(request).await;
                self.in_flight.set(self.in_flight.get() - 1);
                self.quiet.notify();
            }
        }
    }
}

/// Whether a range is of whole sectors and within the largest file.
fn is_inside(offset: u64, length: u64) -> bool {
    let end = offset.checked_add(length).is_some_and(|end| end <= FILE_MAX);
    end && offset.is_multiple_of(512) && length.is_multiple_of(512)
}

const NUMBER_IN_USE: &str = "a file of this number is open";

fn not_open() -> VolumeError {
    VolumeError::Other("the file is not open".to_owned())
}

fn of_volume(answer: Answer<()>) -> Applying {
    Box::pin(async move {
        match answer.await {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Volume(error),
        }
    })
}

fn of_ios(tickets: Vec<Ticket>) -> Applying {
    Box::pin(async move {
        let mut result = Ok(());
        for ticket in tickets {
            result = result.and(ticket.await.result);
        }
        match result {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Io(error),
        }
    })
}
