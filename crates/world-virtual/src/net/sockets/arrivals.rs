//! What messages do to the sockets of the host where they arrive.

use std::net::{IpAddr, SocketAddr};

use brunt_units::Time;
use brunt_world::{NetError, SocketId};

use super::{Socket, Sockets};
use crate::net::stream::{Peer, Stream};
use crate::net::wire::{Message, Step, What};

impl Sockets {
    /// What was set for now.
    pub(in crate::net) fn happen(&mut self, step: u32) {
        match self.wires.take(step) {
            Step::Arrives(message) => self.arrive(message),
            Step::IsSentAgain(message) => {
                let mut sender = message.patience.iter();
                if sender.any(|(_, socket)| self.sockets.contains_key(socket)) {
                    self.wires.send(message, Time::ZERO);
                }
            }
            Step::TimesOut(id) => self.fail(id, NetError::TimedOut),
        }
    }

    fn arrive(&mut self, message: Message) {
        let sender = self.hosts.get(&message.from);
        let dark_at = sender.and_then(|host| host.dark_at);
        if dark_at.is_some_and(|at| message.sent <= at && at < message.leaves) {
            return; // It never left.
        }
        if !self.hosts.get(&message.to).is_some_and(|host| host.is_up) {
            return self.wires.send_again(message);
        }
        let (host, id) = (message.to, message.socket);
        match message.what {
            What::Open { socket, from_port, port } => {
                let client = Peer { host: message.from, socket };
                self.opened(host, port, client, from_port, message.patience);
            }
            What::Opened { peer } => self.connected(host, id, message.from, peer),
            What::Refused => self.fail(id, NetError::Refused),
            What::Reset => self.fail(id, NetError::Reset),
            What::Bytes { peer, bytes } => match self.stream(host, id) {
                Some(stream) if stream.error.is_none() => {
                    stream.arrived.extend(bytes);
                    self.hand_over(id);
                }
                _ => {
                    let reset = Message::new(host, message.from, peer, What::Reset);
                    self.wires.send(reset, Time::ZERO);
                }
            },
            What::End => {
                if let Some(stream) = self.stream(host, id) {
                    stream.has_ended = true;
                    self.hand_over(id);
                }
            }
            What::Read(count) => {
                if let Some(stream) = self.stream(host, id) {
                    stream.unread -= count;
                    self.send_on(id);
                }
            }
        }
    }

    fn fail(&mut self, id: SocketId, error: NetError) {
        if let Some((_, Socket::Stream(stream))) = self.sockets.get_mut(&id) {
            stream.fail(error);
            // A connection that was never made has no owner.
            if stream.peer.is_none() {
                self.sockets.remove(&id);
            }
        }
    }

    /// A connection to a port of `host` is asked for.
    fn opened(
        &mut self,
        host: IpAddr,
        port: u16,
        client: Peer,
        from_port: u16,
        patience: Option<(Time, SocketId)>,
    ) {
        let Some(listener) = self.state(host).listeners.get(&port).copied() else {
            let refused = Message::new(host, client.host, client.socket, What::Refused);
            self.wires.send(refused, Time::ZERO);
            return;
        };
        let peer = self.add(host, Socket::Stream(Stream::new(Some(client), None)));
        let mut opened = Message::new(host, client.host, client.socket, What::Opened { peer });
        opened.patience = patience;
        let arrives = self.wires.send(opened, Time::ZERO);
        if let Some(stream) = self.stream(host, peer) {
            stream.arrives = arrives;
        }
        if let Some(listener) = self.listener(host, listener) {
            let address = SocketAddr::new(client.host, from_port);
            listener.waiting.push_back((peer, address));
            listener.hand_over();
        }
    }

    /// The connection that `id` asked for was made.
    fn connected(&mut self, host: IpAddr, id: SocketId, there: IpAddr, socket: SocketId) {
        let peer = Peer { host: there, socket };
        let connecting = self.stream(host, id).and_then(|stream| {
            stream.peer = Some(peer);
            stream.connecting.take()
        });
        match connecting {
            Some(answering) if answering.is_awaited() => answering.give(Ok(id)),
            // The answer was dropped, or the connection has timed out.
            _ => {
                self.sockets.remove(&id);
                let reset = Message::new(host, there, socket, What::Reset);
                self.wires.send(reset, Time::ZERO);
            }
        }
    }
}
