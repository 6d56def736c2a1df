//! Connections between hosts: byte streams similar to TCP.
//!
//! ```text
//!    server                                     client
//!    listen -> listener                         connect -> connection
//!    accept(listener) -> connection             write, write, finish
//!    read, read ... nothing more: the end       read ...
//!    close                                      close
//! ```
//!
//! Bytes are owned vectors, copied at the seam. Frames are pages for direct I/O; protocols have
//! lines and records of any length, and copying a kilobyte takes less time than the system call
//! that sends it. Verbs return answers, as those of [`crate::Volume`] do. There is no cancel and no
//! timeout: a caller that is less patient than the transport also waits for the clock, and then
//! closes the connection.

use std::net::SocketAddr;

use crate::Answer;

/// A listener or a connection. Numbers of closed ones are not reused soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// An answer from the network.
pub type Reply<T> = Answer<T, NetError>;

/// Connections between hosts.
///
/// A connection carries bytes in both directions, each in order and complete up to where it breaks.
/// Each side has at most one read and one write in flight, a listener one accept; a second one is
/// [`NetError::Invalid`]. After an error of a connection every later write fails with it, and so
/// does every read that finds neither bytes that had arrived nor the end.
pub trait Net {
    /// Listens at an address of this host (port 0 picks a free one); returns the listener and its
    /// address. Connections that arrive wait until they are accepted.
    fn listen(&self, at: SocketAddr) -> Reply<(SocketId, SocketAddr)>;
    /// The next connection of a listener, with the address of the other side.
    fn accept(&self, listener: SocketId) -> Reply<(SocketId, SocketAddr)>;
    /// Connects to a listener.
    fn connect(&self, to: SocketAddr) -> Reply<SocketId>;
    /// Reads between one and `at_most` bytes; none when the other side has finished and everything
    /// was read. Bytes of a dropped answer may be lost.
    ///
    /// # Panics
    /// When `at_most` is zero.
    fn read(&self, connection: SocketId, at_most: usize) -> Reply<Vec<u8>>;
    /// Sends all of `bytes`. Answered when the transport has accepted them, which says nothing
    /// about their arrival: its buffer is bounded, and full while the other side does not read.
    fn write(&self, connection: SocketId, bytes: Vec<u8>) -> Reply<()>;
    /// Ends this direction, after the last answered write: the other side reads to the end.
    fn finish(&self, connection: SocketId) -> Reply<()>;
    /// From now on acknowledges at once what arrives at this connection, where the transport would
    /// wait for something to send with it (TCP's delayed acknowledgements). Returns whether there is
    /// such a timer here: the virtual world has none.
    fn acknowledge_at_once(&self, connection: SocketId) -> bool;
    /// Closes a listener or connection; closing twice has no effect. Requests in flight on it are
    /// answered with [`NetError::Closed`]. Written data still arrive, unless this side leaves bytes
    /// unread: then the other side is reset.
    fn close(&self, socket: SocketId);
}

/// Why the network refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The host is up and has no listener at the port.
    #[error("connection refused")]
    Refused,
    /// The other side broke the connection, or has closed it and accepts no more data.
    #[error("connection reset by the other side")]
    Reset,
    /// There is no route to the host.
    #[error("host unreachable")]
    Unreachable,
    /// The other side did not answer before the transport gave up.
    #[error("connection timed out")]
    TimedOut,
    /// This side has closed the socket, or finished its direction.
    #[error("the connection is closed")]
    Closed,
    /// The address has a listener already.
    #[error("address in use")]
    InUse,
    /// The request itself is wrong: a second concurrent read or write, or listening at another
    /// host's address. A bug of ours.
    #[error("invalid request")]
    Invalid,
    /// This process, or the system, may have no more sockets open.
    #[error("no more open files: ulimit -n")]
    NoHandle,
    /// Every local port to this address is in use, or was a minute ago.
    #[error("no local port left: net.ipv4.ip_local_port_range")]
    NoPort,
    /// Any other error of the operating system.
    #[error("operating-system error {0}")]
    Other(i32),
}
