//! Messages in flight between hosts.
//!
//! TCP sends unacknowledged bytes again until it gives up. A message that would arrive after that
//! times out, and so does one to a host that stays down. During an outage messages wait in the
//! link.

use std::collections::BTreeMap;
use std::net::IpAddr;

use brunt_units::{Span, Time};
use brunt_world::{Link, Passage, SocketId};

use crate::events::{Event, Events};
use crate::slots::Slots;

/// Delay from a host to itself.
const LOOPBACK: Span = Span::micros(10);

/// The first and the longest interval between retransmissions; each is twice the one before.
/// Source: RFC 6298, section 2; Linux, `TCP_RTO_MAX`.
const SENT_AGAIN: [Span; 2] = [Span::seconds(1), Span::seconds(120)];

/// The content of a message.
#[derive(Debug)]
pub(super) enum What {
    /// A client asks for a connection to `port`.
    Open { socket: SocketId, from_port: u16, port: u16 },
    /// The connection was established; `peer` is its other end.
    Opened { peer: SocketId },
    /// Nothing listens there.
    Refused,
    /// Bytes of the stream.
    Bytes { peer: SocketId, bytes: Vec<u8> },
    /// The end of the stream.
    End,
    /// The other side has read this many bytes.
    Read(usize),
    /// The connection is broken.
    Reset,
}

/// A message from one host to another.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    /// The receiver; [`What::Open`] is addressed to a port.
    pub(super) socket: SocketId,
    pub(super) what: What,
    /// When retransmission ends, and the connection that then times out.
    pub(super) patience: Option<(Time, SocketId)>,
    pub(super) sent: Time,
    pub(super) leaves: Time,
    tries: u32,
}

impl Message {
    pub(super) fn new(from: IpAddr, to: IpAddr, socket: SocketId, what: What) -> Self {
        Self {
            from,
            to,
            socket,
            what,
            patience: None,
            sent: Time::ZERO,
            leaves: Time::ZERO,
            tries: 0,
        }
    }

    fn bytes(&self) -> u64 {
        match &self.what {
            What::Bytes { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}

/// An event of a message.
pub(super) enum Step {
    Arrives(Message),
    IsSentAgain(Message),
    TimesOut(SocketId),
}

/// The links between hosts, with the messages in flight on them.
pub(super) struct Wires {
    pub(super) events: Events,
    links: BTreeMap<(IpAddr, IpAddr), Link>,
    under_way: Slots<Step>,
}

impl Wires {
    pub(super) fn new(events: &Events, links: BTreeMap<(IpAddr, IpAddr), Link>) -> Self {
        Self { events: events.clone(), links, under_way: Slots::default() }
    }

    pub(super) fn lead(&self, from: IpAddr, to: IpAddr) -> bool {
        from == to || self.links.contains_key(&(from, to))
    }

    pub(super) fn take(&mut self, step: u32) -> Step {
        self.under_way.take(step)
    }

    /// Sends `message`, to arrive at `not_before` or later; returns when it arrives.
    pub(super) fn send(&mut self, mut message: Message, not_before: Time) -> Time {
        let (now, bytes) = (self.events.now(), message.bytes());
        let passage = match self.links.get_mut(&(message.from, message.to)) {
            Some(link) => link.send(now, bytes),
            None => Passage { leaves: now, arrives: now + LOOPBACK },
        };
        (message.sent, message.leaves) = (now, passage.leaves);
        let arrives = passage.arrives.max(not_before);
        match message.patience {
            Some((until, socket)) if arrives > until => self.set(until, Step::TimesOut(socket)),
            _ => self.set(arrives, Step::Arrives(message)),
        }
        arrives
    }

    /// `message` found its host down: sends it again later, or times out.
    pub(super) fn send_again(&mut self, mut message: Message) {
        let Some((until, socket)) = message.patience else {
            return;
        };
        let [first, longest] = SENT_AGAIN;
        let at = self.events.now() + (first * (1 << message.tries)).min(longest);
        message.tries += 1;
        match at < until {
            true => self.set(at, Step::IsSentAgain(message)),
            false => self.set(until, Step::TimesOut(socket)),
        }
    }

    fn set(&mut self, at: Time, step: Step) {
        let step = self.under_way.put(step);
        self.events.set(at, Event::Net(step));
    }
}
