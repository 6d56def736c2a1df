//! Distance between two processes of one machine: each in a network of its own, and a link between
//! them that is made of packets.
//!
//! ```text
//!   source                                                    destination
//!     192.0.2.1 --- TUN device ---> Emulator ---> TUN device --- 192.0.2.2
//!     a network namespace           delay, loss ...            a network namespace
//! ```
//!
//! A process leaves its network ([`leave`]) and sends the file of its device to the one that
//! carries packets ([`receive`]). TCP is that of the kernel, so windows, retransmissions and
//! time-outs are those of a real line.

mod emulator;
mod packets;

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};

use brunt_world_real::tun;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

pub use emulator::{Carried, Emulator};
pub use packets::{HELD_BACK, LinkConditions};

/// The addresses of the two ends, of those that are for documentation and never routed (RFC 5737).
pub const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];

/// Moves this process into a network of its own with `address`, and sends the file of its device
/// over the Unix socket `to`. The process must have one thread.
///
/// # Errors
/// What the system says: it may not allow namespaces or TUN devices.
pub fn leave(address: Ipv4Addr, to: impl AsFd) -> io::Result<()> {
    tun::leave_network()?;
    let device = tun::only_device(address)?;
    let files = [device.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let byte = [IoSlice::new(b"d")];
    retry_on_intr(|| sendmsg(&to, &byte, &mut control, SendFlags::empty()))?;
    Ok(())
}

/// The file of the device that the process at the other end of `from` has sent.
///
/// # Errors
/// `UnexpectedEof` when that process has ended before, and what the system says.
pub fn receive(from: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut into = [IoSliceMut::new(&mut byte)];
    // A wait with a time limit is not restarted after a signal.
    let received =
        retry_on_intr(|| recvmsg(&from, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC))?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let file = files.next().and_then(|mut files| files.next());
    file.ok_or_else(|| io::Error::other("no device was sent"))
}
