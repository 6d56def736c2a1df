//! The liar: a mail server in the virtual world that breaks its word as told.
//!
//! ```text
//!    port 25    SMTP  -> queue -> workers --+
//!                                           +--> mailboxes <-- port 143  IMAP
//!    port 24    LMTP -----------------------+
//!               ^ sessions and workers        ^ queue and mailboxes live on
//!                 die with their host           when the host is killed
//! ```
//!
//! Without a lie it keeps every promise of RFC 5321, RFC 2033 and RFC 3501 that a client of brunt
//! depends on, through cuts of connections and kills of its host: what it answered 250 is in its
//! queue or in a mailbox, and a worker that dies between handing a message on and removing it from the
//! queue hands it on again, as real relays do. So an audit must pass it, and explain its doubles.
//!
//! [`Lie`]s are told about messages by number or at a rate, and each is kept with the number of its
//! message ([`Told`]): an audit must name exactly these.
//!
//! It is small, not hardened: it trusts its clients, and its memory grows with what they send.

mod imap;
mod lies;
mod queue;
mod smtp;
mod store;
mod wire;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::random::{Stream, Streams};
use brunt_world::sync::Event;
use brunt_world::{SocketId, World};

pub use lies::{Lie, Told, Which};
use lies::{Lies, number_of};
use queue::Entry;
pub use store::Folder;
use store::Store;
use wire::Wire;

/// Ports of its three protocols.
pub const SMTP: u16 = 25;
/// See [`SMTP`].
pub const LMTP: u16 = 24;
/// See [`SMTP`].
pub const IMAP: u16 = 143;

/// What the server is like.
#[derive(Clone, Debug)]
pub struct LiarOptions {
    /// Seed of its times, cuts and lies.
    pub seed: u64,
    /// Unix time at which the world's clock showed zero.
    pub began: u64,
    /// Addresses and passwords of its users.
    pub accounts: Vec<(String, String)>,
    /// What it lies about.
    pub lies: Vec<(Lie, Which)>,
    /// Of a million lines that it receives, before so many it breaks the connection.
    pub cuts_per_million: u64,
    /// Mean time from the queue into a mailbox.
    pub delivery: Span,
    /// Messages that are handed on at a time.
    pub workers: usize,
    /// Recipients of a thousand that are refused for now.
    pub refusals_per_thousand: u64,
}

impl LiarOptions {
    /// An honest server that delivers within some ten milliseconds.
    pub fn new(seed: u64, began: u64, accounts: Vec<(String, String)>) -> Self {
        Self {
            seed,
            began,
            accounts,
            lies: Vec::new(),
            cuts_per_million: 0,
            delivery: Span::millis(5),
            workers: 4,
            refusals_per_thousand: 0,
        }
    }
}

/// The server: what is left of it when its host is killed, and the way to start it again.
#[derive(Clone)]
pub struct Liar(Rc<Inner>);

struct Inner {
    options: LiarOptions,
    state: RefCell<State>,
}

/// A port that is free again when its task has ended, as it is after the death of a process.
struct Listener {
    world: World,
    socket: SocketId,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.world.net.close(self.socket);
    }
}

/// What is durable.
struct State {
    store: Store,
    queue: Vec<Entry>,
    /// Wakes the workers of this life.
    queued: Option<Event>,
    /// Number of the next entry of the queue.
    next_entry: u64,
    lies: Lies,
    stream: Stream,
    /// Connections that were broken, by when.
    cuts: Vec<Time>,
}

impl Liar {
    /// A server with empty mailboxes, not started.
    pub fn new(options: LiarOptions) -> Self {
        let streams = Streams::new(options.seed).part("liar");
        let state = State {
            store: Store::new(&options.accounts),
            queue: Vec::new(),
            queued: None,
            next_entry: 0,
            lies: Lies::new(options.lies.clone(), streams.named("lies")),
            stream: streams.named("times"),
            cuts: Vec::new(),
        };
        Self(Rc::new(Inner { options, state: RefCell::new(state) }))
    }

    /// Listens on all ports of `address` in `world`, that of a host or of a group of tasks: its death
    /// ends everything but queue and mailboxes.
    ///
    /// # Panics
    /// When an address is in use.
    pub async fn start(&self, world: &World, address: IpAddr) {
        let queued = Event::new(world.spawner.tasks());
        self.0.state.borrow_mut().begin_life(&queued);
        for port in [SMTP, LMTP, IMAP] {
            let at = SocketAddr::new(address, port);
            let (socket, _) = world.net.listen(at).await.expect("its ports are free");
            let listener = Listener { world: world.clone(), socket };
            drop(world.spawner.spawn(Rc::clone(&self.0).accept(listener, port)));
        }
        for _ in 0..self.0.options.workers {
            let (inner, world) = (Rc::clone(&self.0), world.clone());
            drop(world.spawner.clone().spawn(inner.hand_on(world, queued.clone())));
        }
    }

    /// Messages in the queue.
    pub fn queued(&self) -> u64 {
        self.0.state.borrow().queue.len() as u64
    }

    /// Lies told so far, in order.
    pub fn told(&self) -> Vec<Told> {
        self.0.state.borrow().lies.told.clone()
    }

    /// When it broke connections.
    pub fn cuts(&self) -> Vec<Time> {
        self.0.state.borrow().cuts.clone()
    }

    /// Most deliveries that a kill can make it repeat, for messages of up to `recipients`.
    pub fn in_flight_max(&self, recipients: usize) -> u32 {
        let most = self.0.options.workers * recipients;
        u32::try_from(most).expect("a few workers")
    }

    /// Puts a message into an inbox that no client sent.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn invent(&self, account: u32, message: &[u8]) {
        let mut state = self.0.state.borrow_mut();
        state.lies.tell(Lie::Invent, number_of(message), account);
        state.store.file(account, Folder::Inbox, Time::ZERO, message.to_vec());
    }

    /// Everything in a folder of an account, as it is stored.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn stored(&self, account: u32, folder: Folder) -> Vec<Vec<u8>> {
        self.0.state.borrow().store.messages(account, folder)
    }
}

impl State {
    /// No worker of an earlier life has anything.
    fn begin_life(&mut self, queued: &Event) {
        self.queue.iter_mut().for_each(|entry| entry.is_taken = false);
        self.queued = Some(queued.clone());
    }
}

impl Inner {
    async fn accept(self: Rc<Self>, listener: Listener, port: u16) {
        let world = listener.world.clone();
        while let Ok((socket, _)) = world.net.accept(listener.socket).await {
            let (inner, wire) = (Rc::clone(&self), Wire::new(&world, socket));
            let session = async move {
                match port {
                    SMTP => smtp::serve(&inner, wire, smtp::Dialect::Smtp).await,
                    LMTP => smtp::serve(&inner, wire, smtp::Dialect::Lmtp).await,
                    _ => imap::serve(&inner, wire).await,
                }
            };
            drop(world.spawner.spawn(session));
        }
    }

    /// Whether to break the connection now instead of reading on.
    fn is_cut(&self, now: Time) -> bool {
        let mut state = self.state.borrow_mut();
        let is_cut = state.stream.below(1_000_000) < self.options.cuts_per_million;
        if is_cut {
            state.cuts.push(now);
        }
        is_cut
    }

    /// Who may log in so.
    fn account(&self, user: &[u8], password: &[u8]) -> Option<u32> {
        let is = |(address, its): &(String, String)| {
            address.as_bytes().eq_ignore_ascii_case(user) && its.as_bytes() == password
        };
        let index = self.options.accounts.iter().position(is)?;
        u32::try_from(index).ok()
    }

    fn recipient(&self, address: &str) -> Option<u32> {
        let is = |(its, _): &(String, String)| its.eq_ignore_ascii_case(address);
        u32::try_from(self.options.accounts.iter().position(is)?).ok()
    }

    /// Now, as a server writes it.
    fn date(&self, now: Time) -> String {
        brunt_mail::date::written(self.options.began + now.0.div_euclid(1_000_000_000))
    }
}
