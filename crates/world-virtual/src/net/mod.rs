//! The network of a virtual world: TCP-like connections over modelled links.
//!
//! ```text
//!    HostNet: Net         one host's view
//!    sockets, stream      both ends of each connection
//!    wire                 messages in flight: retransmitted, given up
//!    Link                 arrival times
//! ```
//!
//! Opening a connection takes a round trip. Bytes go in messages of up to 64 KiB. They count
//! against the sender's buffer of 4 MiB until it hears that they were read, so a long link needs
//! many bytes in flight. A host that was killed resets or ends its connections. One that lost power
//! is silent: writes to it time out, or are reset once it is back, and reads wait forever.
//!
//! Source and simplifications: `docs/models/link.md`.

mod sockets;
mod stream;
mod wire;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use brunt_world::{Answering, Link, Net, NetError, Reply, SocketId, Tasks, answer};

use crate::events::Events;
use sockets::Sockets;
use wire::Wires;

/// All hosts and links of a world.
pub(crate) struct Network {
    tasks: Tasks,
    sockets: RefCell<Sockets>,
}

impl Network {
    /// Hosts connected by `links`, each from one address to another.
    pub(crate) fn new(
        tasks: &Tasks,
        events: &Events,
        links: BTreeMap<(IpAddr, IpAddr), Link>,
    ) -> Rc<Self> {
        Rc::new(Self {
            tasks: tasks.clone(),
            sockets: RefCell::new(Sockets::new(Wires::new(events, links))),
        })
    }

    /// The view of a new life of the host at `address`.
    pub(crate) fn host(self: &Rc<Self>, address: IpAddr) -> Rc<HostNet> {
        Rc::new(HostNet {
            life: self.sockets.borrow_mut().begin_life(address),
            network: Rc::clone(self),
            address,
        })
    }

    /// Handles a step that was scheduled for now.
    pub(crate) fn happen(&self, step: u32) {
        self.sockets.borrow_mut().happen(step);
    }
}

/// The network as seen by one life of a host.
pub(crate) struct HostNet {
    network: Rc<Network>,
    address: IpAddr,
    life: u32,
}

impl HostNet {
    pub(crate) fn end_life(&self, loses_power: bool) {
        let mut sockets = self.network.sockets.borrow_mut();
        if self.is_alive(&sockets) {
            sockets.end_life(self.address, loses_power);
        }
    }

    fn is_alive(&self, sockets: &Sockets) -> bool {
        sockets.hosts[&self.address].life == Some(self.life)
    }

    /// Passes a request on if the host is alive; otherwise it has no effect and is never answered.
    fn ask<T>(&self, ask: impl FnOnce(&mut Sockets, Answering<T, NetError>)) -> Reply<T> {
        let (answering, answer) = answer(&self.network.tasks);
        let mut sockets = self.network.sockets.borrow_mut();
        if self.is_alive(&sockets) {
            ask(&mut sockets, answering);
        }
        answer
    }
}

impl Net for HostNet {
    fn listen(&self, at: SocketAddr) -> Reply<(SocketId, SocketAddr)> {
        self.ask(|sockets, answering| answering.give(sockets.listen(self.address, at)))
    }

    fn accept(&self, listener: SocketId) -> Reply<(SocketId, SocketAddr)> {
        self.ask(|sockets, answering| sockets.accept(self.address, listener, answering))
    }

    fn connect(&self, to: SocketAddr) -> Reply<SocketId> {
        self.ask(|sockets, answering| sockets.connect(self.address, to, answering))
    }

    fn read(&self, connection: SocketId, at_most: usize) -> Reply<Vec<u8>> {
        assert!(at_most > 0, "a read of nothing");
        self.ask(|sockets, answering| sockets.read(self.address, connection, at_most, answering))
    }

    fn write(&self, connection: SocketId, bytes: Vec<u8>) -> Reply<()> {
        self.ask(|sockets, answering| sockets.write(self.address, connection, bytes, answering))
    }

    fn finish(&self, connection: SocketId) -> Reply<()> {
        self.ask(|sockets, answering| answering.give(sockets.finish(self.address, connection)))
    }

    fn acknowledge_at_once(&self, _: SocketId) -> bool {
        false
    }

    fn close(&self, socket: SocketId) {
        let mut sockets = self.network.sockets.borrow_mut();
        if self.is_alive(&sockets) {
            sockets.close(self.address, socket);
        }
    }
}
