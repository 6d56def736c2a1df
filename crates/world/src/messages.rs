//! Whole messages over a connection.
//!
//! ```text
//!   length, 4 bytes | CRC-32 of the content, 4 bytes | content        numbers are little-endian
//! ```
//!
//! Before the first message, the side that connects may have to show a [`Token`], so that finding
//! the port is not enough.
//!
//! A connection ends between two messages or inside one; only the first is an orderly end. Nothing
//! that arrives is trusted: a message that is longer than the receiver allows is refused before
//! memory is taken for it.

use std::fmt;
use std::rc::Rc;

use brunt_units::Span;

use crate::sync::Limit;
use crate::{Net, NetError, SocketId, World};

const HEADER: usize = 8;
/// Bytes of one read.
const READ: usize = 256 << 10;

/// How long a peer may take to show its token.
pub const PATIENCE: Span = Span::seconds(10);

/// A secret of both ends of a connection, told to each on another way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token(pub [u8; 16]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

impl Token {
    /// Shows it to the side that accepted `connection`. Comes before anything else.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn show(self, world: &World, connection: SocketId) -> Result<(), NetError> {
        world.net.write(connection, self.0.to_vec()).await
    }

    /// Whether the side that connected shows it, within [`PATIENCE`]. If not, the connection is
    /// closed.
    pub async fn is_shown(self, world: &World, connection: SocketId) -> bool {
        let reading = async {
            let mut shown = Vec::with_capacity(self.0.len());
            while shown.len() < self.0.len() {
                let rest = self.0.len() - shown.len();
                match world.net.read(connection, rest).await {
                    Ok(more) if !more.is_empty() => shown.extend_from_slice(&more),
                    _ => return false,
                }
            }
            // Every byte is compared, so that the time says nothing.
            let differ = shown.iter().zip(self.0).fold(0, |sum, (a, b)| sum | (a ^ b));
            differ == 0
        };
        let is_shown = world.within(PATIENCE, reading).await == Some(true);
        if !is_shown {
            world.net.close(connection);
        }
        is_shown
    }
}

/// Sends messages; a clone sends over the same connection. Messages of several tasks are not mixed.
#[derive(Clone)]
pub struct Sender {
    net: Rc<dyn Net>,
    connection: SocketId,
    turn: Limit,
}

/// Receives messages.
pub struct Receiver {
    net: Rc<dyn Net>,
    connection: SocketId,
    /// Bytes of the longest message it takes.
    longest: usize,
    arrived: Vec<u8>,
    /// Bytes of these that have been taken.
    taken: usize,
}

/// Why no message arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The connection broke.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The connection ended inside a message.
    #[error("the connection ended inside a message")]
    Torn,
    /// A message has more bytes than the receiver allows.
    #[error("a message of {length} bytes; {longest} are allowed")]
    TooLong {
        /// Bytes of its content.
        length: u64,
        /// Bytes that are allowed.
        longest: usize,
    },
    /// The content is not what was sent.
    #[error("a message was damaged on its way")]
    Damaged,
}

/// Both ends of messages over `connection`; a message received may have `longest` bytes.
pub fn messages(world: &World, connection: SocketId, longest: usize) -> (Sender, Receiver) {
    let net = Rc::clone(&world.net);
    let sender =
        Sender { net: Rc::clone(&net), connection, turn: Limit::new(world.spawner.tasks(), 1) };
    let receiver = Receiver { net, connection, longest, arrived: Vec::new(), taken: 0 };
    (sender, receiver)
}

impl Sender {
    /// Sends a message. Answered when the transport has accepted it.
    ///
    /// # Errors
    /// When the connection is broken.
    ///
    /// # Panics
    /// When the message has 4 GiB or more.
    pub async fn send(&self, content: &[u8]) -> Result<(), NetError> {
        let length = u32::try_from(content.len()).expect("a message is small");
        let mut bytes = Vec::with_capacity(HEADER + content.len());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        bytes.extend_from_slice(content);
        let _permit = self.turn.enter().await;
        self.net.write(self.connection, bytes).await
    }

    /// Ends this direction: the other side receives every message sent, then the end.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn finish(&self) -> Result<(), NetError> {
        let _permit = self.turn.enter().await;
        self.net.finish(self.connection).await
    }
}

impl Receiver {
    /// The next message; `None` when the other side has finished.
    ///
    /// # Errors
    /// [`MessageError`]. The connection is of no more use.
    pub async fn receive(&mut self) -> Result<Option<Vec<u8>>, MessageError> {
        if !self.arrive(HEADER).await? {
            return Ok(None);
        }
        let header = &self.arrived[self.taken..][..HEADER];
        let [length, sum] = [0, 4].map(|at| {
            let bytes = header[at..at + 4].try_into().expect("four bytes");
            u32::from_le_bytes(bytes)
        });
        let end = usize::try_from(length).ok();
        let end = end.filter(|length| *length <= self.longest);
        let end = HEADER
            + end.ok_or(MessageError::TooLong { length: length.into(), longest: self.longest })?;
        self.arrive(end).await?;
        let content = self.arrived[self.taken..][HEADER..end].to_vec();
        self.taken += end;
        match crc32fast::hash(&content) == sum {
            true => Ok(Some(content)),
            false => Err(MessageError::Damaged),
        }
    }

    /// Reads until `bytes` have arrived that are not taken; `false` when the other side has
    /// finished before the first of them.
    async fn arrive(&mut self, bytes: usize) -> Result<bool, MessageError> {
        while self.arrived.len() - self.taken < bytes {
            self.arrived.drain(..self.taken);
            self.taken = 0;
            let more = self.net.read(self.connection, READ).await?;
            match (more.is_empty(), self.arrived.is_empty()) {
                (true, true) => return Ok(false),
                (true, false) => return Err(MessageError::Torn),
                (false, true) => self.arrived = more,
                (false, false) => self.arrived.extend_from_slice(&more),
            }
        }
        Ok(true)
    }
}
