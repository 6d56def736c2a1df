//! One end of a connection: bytes that have arrived but were not read, and bytes that wait for
//! buffer space.

use std::collections::VecDeque;
use std::net::IpAddr;

use brunt_units::Time;
use brunt_world::{Answering, NetError, SocketId};

/// Maximum bytes that were sent but not read by the other side. Source: Linux, the largest of
/// `net.ipv4.tcp_wmem`.
pub(super) const BUFFER_BYTES: usize = 4 << 20;

/// Bytes of one message: what Linux passes to a network card at once.
pub(super) const MESSAGE_BYTES: usize = 64 << 10;

/// The other end, once it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) host: IpAddr,
    pub(super) socket: SocketId,
}

/// One end of a connection.
pub(super) struct Stream {
    pub(super) peer: Option<Peer>,
    pub(super) connecting: Option<Answering<SocketId, NetError>>,
    pub(super) arrived: VecDeque<u8>,
    /// Whether nothing more will arrive.
    pub(super) has_ended: bool,
    /// Whether nothing more will be sent.
    pub(super) has_finished: bool,
    pub(super) error: Option<NetError>,
    pub(super) reading: Option<(usize, Answering<Vec<u8>, NetError>)>,
    pub(super) writing: Option<(VecDeque<u8>, Answering<(), NetError>)>,
    /// Bytes sent that the other side has not read, as far as known.
    pub(super) unread: usize,
    /// When the last message arrives.
    pub(super) arrives: Time,
}

impl Stream {
    pub(super) fn new(
        peer: Option<Peer>,
        connecting: Option<Answering<SocketId, NetError>>,
    ) -> Self {
        Self {
            peer,
            connecting,
            arrived: VecDeque::new(),
            has_ended: false,
            has_finished: false,
            error: None,
            reading: None,
            writing: None,
            unread: 0,
            arrives: Time::ZERO,
        }
    }

    /// Whether a read is in flight whose answer was not dropped.
    pub(super) fn is_reading(&self) -> bool {
        let reading = self.reading.as_ref();
        reading.is_some_and(|(_, answering)| answering.is_awaited())
    }

    /// Answers the pending read if possible; returns the number of bytes it took.
    pub(super) fn read(&mut self) -> usize {
        let Some((at_most, answering)) = self.reading.take() else {
            return 0;
        };
        if !answering.is_awaited() {
            return 0;
        }
        let count = at_most.min(self.arrived.len());
        match self.error {
            _ if count > 0 => answering.give(Ok(take(&mut self.arrived, count))),
            _ if self.has_ended => answering.give(Ok(Vec::new())),
            Some(error) => answering.give(Err(error)),
            None => self.reading = Some((at_most, answering)),
        }
        count
    }

    /// The next message of the pending write, if there is space.
    pub(super) fn next_message(&mut self) -> Option<Vec<u8>> {
        let (rest, _) = self.writing.as_mut()?;
        let room = BUFFER_BYTES - self.unread;
        let count = room.min(MESSAGE_BYTES).min(rest.len());
        if count > 0 {
            self.unread += count;
            return Some(take(rest, count));
        }
        if rest.is_empty()
            && let Some((_, answering)) = self.writing.take()
        {
            answering.give(Ok(()));
        }
        None
    }

    /// Answers all pending and later requests with `error`.
    pub(super) fn fail(&mut self, error: NetError) {
        self.error.get_or_insert(error);
        if let Some(answering) = self.connecting.take() {
            answering.give(Err(error));
        }
        if let Some((_, answering)) = self.writing.take() {
            answering.give(Err(error));
        }
        self.read();
    }
}

/// The first `count` bytes of a queue, which has them.
fn take(queue: &mut VecDeque<u8>, count: usize) -> Vec<u8> {
    let (front, back) = queue.as_slices();
    let front = &front[..count.min(front.len())];
    let taken = [front, &back[..count - front.len()]].concat();
    queue.drain(..count);
    taken
}
