//! Listeners and connections of all hosts, and the effect of messages on them.
//!
//! A connection has two ends, each a socket of its host, and each knows about the other only from
//! messages. A closed socket is gone: messages that still arrive for it are answered with a reset,
//! as in TCP.

mod arrivals;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use brunt_units::{Span, Time};
use brunt_world::{Answering, NetError, SocketId};

use super::stream::Stream;
use super::wire::{Message, What, Wires};

/// How long connecting is tried. Source: Linux, `tcp_syn_retries` = 6: 1 + 2 + 4 ... + 64 s.
const CONNECTING: Span = Span::seconds(127);

/// How long unacknowledged bytes are sent again. Source: Linux, `tcp_retries2` = 15: 924.6 s.
const SENDING: Span = Span::millis(924_600);

/// The first port of clients. Source: RFC 6335, section 6.
const FIRST_FREE_PORT: u16 = 49_152;

type Accepting = Answering<(SocketId, SocketAddr), NetError>;

/// State of a host besides its sockets.
pub(super) struct HostState {
    /// The number of its life, while it is alive.
    pub(super) life: Option<u32>,
    lives: u32,
    /// Whether its operating system answers.
    is_up: bool,
    /// When it last lost power.
    dark_at: Option<Time>,
    next_port: u16,
    listeners: BTreeMap<u16, SocketId>,
}

struct Listener {
    port: u16,
    waiting: VecDeque<(SocketId, SocketAddr)>,
    accepting: Option<Accepting>,
}

enum Socket {
    Listener(Listener),
    Stream(Stream),
}

pub(super) struct Sockets {
    pub(super) wires: Wires,
    pub(super) hosts: BTreeMap<IpAddr, HostState>,
    sockets: BTreeMap<SocketId, (IpAddr, Socket)>,
    made: u32,
}

impl Sockets {
    pub(super) fn new(wires: Wires) -> Self {
        Self { wires, hosts: BTreeMap::new(), sockets: BTreeMap::new(), made: 0 }
    }

    fn now(&self) -> Time {
        self.wires.events.now()
    }

    fn add(&mut self, host: IpAddr, socket: Socket) -> SocketId {
        let id = SocketId(self.made);
        self.made += 1;
        self.sockets.insert(id, (host, socket));
        id
    }

    fn stream(&mut self, host: IpAddr, id: SocketId) -> Option<&mut Stream> {
        match self.sockets.get_mut(&id)? {
            (owner, Socket::Stream(stream)) if *owner == host => Some(stream),
            _ => None,
        }
    }

    fn listener(&mut self, host: IpAddr, id: SocketId) -> Option<&mut Listener> {
        match self.sockets.get_mut(&id)? {
            (owner, Socket::Listener(listener)) if *owner == host => Some(listener),
            _ => None,
        }
    }

    fn state(&mut self, host: IpAddr) -> &mut HostState {
        self.hosts.get_mut(&host).expect("a host that lives or lived")
    }

    fn free_port(&mut self, host: IpAddr) -> u16 {
        let state = self.state(host);
        loop {
            let port = state.next_port;
            state.next_port = port.checked_add(1).unwrap_or(FIRST_FREE_PORT);
            if !state.listeners.contains_key(&port) {
                return port;
            }
        }
    }

    /// Begins a life of a host; returns its number.
    ///
    /// # Panics
    /// When the address already has a living host.
    pub(super) fn begin_life(&mut self, host: IpAddr) -> u32 {
        let state = self.hosts.entry(host).or_insert(HostState {
            life: None,
            lives: 0,
            is_up: true,
            dark_at: None,
            next_port: FIRST_FREE_PORT,
            listeners: BTreeMap::new(),
        });
        assert_eq!(state.life, None, "two hosts at {host}");
        state.lives += 1;
        state.life = Some(state.lives);
        state.is_up = true;
        state.lives
    }

    /// Ends the life of a host. Its operating system closes the sockets of its processes, unless it
    /// has lost power.
    pub(super) fn end_life(&mut self, host: IpAddr, loses_power: bool) {
        let now = self.now();
        let state = self.state(host);
        state.life = None;
        if loses_power {
            state.is_up = false;
            state.dark_at = Some(now);
        }
        let is_own = |(_, (owner, _)): &(&SocketId, &(IpAddr, Socket))| *owner == host;
        let own: Vec<_> = self.sockets.iter().filter(is_own).map(|own| *own.0).collect();
        for id in own {
            match loses_power {
                true => drop(self.sockets.remove(&id)),
                false => self.close(host, id),
            }
        }
        self.state(host).listeners.clear();
    }

    pub(super) fn listen(
        &mut self,
        host: IpAddr,
        at: SocketAddr,
    ) -> Result<(SocketId, SocketAddr), NetError> {
        let ip = at.ip();
        if ip != host && !ip.is_loopback() && !ip.is_unspecified() {
            return Err(NetError::Invalid);
        }
        let port = match at.port() {
            0 => self.free_port(host),
            port => port,
        };
        if self.state(host).listeners.contains_key(&port) {
            return Err(NetError::InUse);
        }
        let listener = Listener { port, waiting: VecDeque::new(), accepting: None };
        let id = self.add(host, Socket::Listener(listener));
        self.state(host).listeners.insert(port, id);
        Ok((id, SocketAddr::new(ip, port)))
    }

    pub(super) fn accept(&mut self, host: IpAddr, id: SocketId, answering: Accepting) {
        match self.listener(host, id) {
            None => answering.give(Err(NetError::Closed)),
            Some(listener) => {
                let waits = listener.accepting.as_ref();
                if waits.is_some_and(Answering::is_awaited) {
                    return answering.give(Err(NetError::Invalid));
                }
                listener.accepting = Some(answering);
                listener.hand_over();
            }
        }
    }

    pub(super) fn connect(
        &mut self,
        host: IpAddr,
        to: SocketAddr,
        answering: Answering<SocketId, NetError>,
    ) {
        let there = if to.ip().is_loopback() { host } else { to.ip() };
        if !self.wires.lead(host, there) {
            return answering.give(Err(NetError::Unreachable));
        }
        let (from_port, port) = (self.free_port(host), to.port());
        let socket = self.add(host, Socket::Stream(Stream::new(None, Some(answering))));
        let open = What::Open { socket, from_port, port };
        let mut message = Message::new(host, there, socket, open);
        message.patience = Some((self.now() + CONNECTING, socket));
        self.wires.send(message, Time::ZERO);
    }

    pub(super) fn read(
        &mut self,
        host: IpAddr,
        id: SocketId,
        at_most: usize,
        answering: Answering<Vec<u8>, NetError>,
    ) {
        match self.stream(host, id) {
            None => answering.give(Err(NetError::Closed)),
            Some(stream) if stream.is_reading() => answering.give(Err(NetError::Invalid)),
            Some(stream) => {
                stream.reading = Some((at_most, answering));
                self.hand_over(id);
            }
        }
    }

    pub(super) fn write(
        &mut self,
        host: IpAddr,
        id: SocketId,
        bytes: Vec<u8>,
        answering: Answering<(), NetError>,
    ) {
        match self.writable(host, id) {
            Err(error) => answering.give(Err(error)),
            Ok(stream) => {
                stream.writing = Some((bytes.into(), answering));
                self.send_on(id);
            }
        }
    }

    pub(super) fn finish(&mut self, host: IpAddr, id: SocketId) -> Result<(), NetError> {
        self.writable(host, id)?.has_finished = true;
        self.send(id, |_| What::End);
        Ok(())
    }

    fn writable(&mut self, host: IpAddr, id: SocketId) -> Result<&mut Stream, NetError> {
        let stream = self.stream(host, id).ok_or(NetError::Closed)?;
        match stream.error {
            Some(error) => Err(error),
            None if stream.has_finished => Err(NetError::Closed),
            None if stream.writing.is_some() => Err(NetError::Invalid),
            None => Ok(stream),
        }
    }

    pub(super) fn close(&mut self, host: IpAddr, id: SocketId) {
        if let Some(stream) = self.stream(host, id) {
            let is_unread = !stream.arrived.is_empty();
            let is_over = stream.error.is_some() || stream.has_finished;
            stream.fail(NetError::Closed);
            if is_unread {
                self.send(id, |_| What::Reset);
            } else if !is_over {
                self.send(id, |_| What::End);
            }
        }
        if let Some(listener) = self.listener(host, id) {
            let port = listener.port;
            if let Some(answering) = listener.accepting.take() {
                answering.give(Err(NetError::Closed));
            }
            for (waiting, _) in std::mem::take(&mut listener.waiting) {
                self.send(waiting, |_| What::Reset);
                self.sockets.remove(&waiting);
            }
            self.state(host).listeners.remove(&port);
        }
        if self.sockets.get(&id).is_some_and(|(owner, _)| *owner == host) {
            self.sockets.remove(&id);
        }
    }

    /// Sends a message from one end of a connection to the other, after earlier ones.
    fn send(&mut self, id: SocketId, what: impl FnOnce(SocketId) -> What) {
        let now = self.now();
        let Some((host, Socket::Stream(stream))) = self.sockets.get_mut(&id) else {
            return;
        };
        let Some(peer) = stream.peer else {
            return;
        };
        let mut message = Message::new(*host, peer.host, peer.socket, what(id));
        if matches!(message.what, What::Bytes { .. } | What::End) {
            message.patience = Some((now + SENDING, id));
        }
        stream.arrives = self.wires.send(message, stream.arrives);
    }

    /// Answers the pending read of `id`, and reports to the other side how much was read.
    fn hand_over(&mut self, id: SocketId) {
        if let Some((_, Socket::Stream(stream))) = self.sockets.get_mut(&id) {
            let count = stream.read();
            if count > 0 {
                self.send_aside(id, What::Read(count));
            }
        }
    }

    /// Sends a message that need not wait for earlier ones.
    fn send_aside(&mut self, id: SocketId, what: What) {
        if let Some((host, Socket::Stream(stream))) = self.sockets.get(&id)
            && let Some(peer) = stream.peer
        {
            let message = Message::new(*host, peer.host, peer.socket, what);
            self.wires.send(message, Time::ZERO);
        }
    }

    /// Sends as much of the pending write of `id` as there is space for.
    fn send_on(&mut self, id: SocketId) {
        while let Some((_, Socket::Stream(stream))) = self.sockets.get_mut(&id)
            && let Some(bytes) = stream.next_message()
        {
            self.send(id, |peer| What::Bytes { peer, bytes });
        }
    }
}

impl Listener {
    /// Answers the pending accept, if there is a connection.
    fn hand_over(&mut self) {
        if self.accepting.as_ref().is_some_and(Answering::is_awaited)
            && let Some(first) = self.waiting.pop_front()
            && let Some(answering) = self.accepting.take()
        {
            answering.give(Ok(first));
        }
    }
}
