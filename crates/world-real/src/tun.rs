//! A network namespace with one device, whose packets the holder of its file carries.
//!
//! ```text
//!   process in the namespace --> TCP of the kernel --> TUN device --> the holder of its file
//! ```
//!
//! Nothing reaches the namespace but through that file, and nothing leaves it in another way. Root
//! needs nothing else; other users get a user namespace as well, where the system allows that.

#![expect(unsafe_code, reason = "a TUN device is set up by ioctl; each block says why it is sound")]

use std::fs::{self, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{getgid, getuid};

/// The name of the device in its namespace.
const NAME: &[u8] = b"distance";
/// Bytes of its packets, as on Ethernet.
pub const PACKET_MAX: usize = 1500;

/// Moves this process into a network namespace of its own. Where that takes a user namespace, the
/// process must have one thread.
///
/// # Errors
/// What the system says: it may not allow namespaces.
pub fn leave_network() -> io::Result<()> {
    let unshare = |flags| {
        // SAFETY: no memory is passed. File descriptors and memory stay shared as before; only the
        // view of the network changes.
        match unsafe { libc::unshare(flags) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    match unshare(libc::CLONE_NEWNET) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
        other => return other,
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)?;
    // The same numbers inside, so that files belong to whom they belonged to.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))
}

/// Makes the only device of this process's network, with `address` in a network of four. Packets
/// are read from its file and written to it one by one, without waiting.
///
/// # Errors
/// What the system says, with what was tried.
pub fn only_device(address: Ipv4Addr) -> io::Result<OwnedFd> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(|error| told("/dev/net/tun", &error))?;
    let mut request = request();
    request.ifr_ifru.ifru_flags = flags(libc::IFF_TUN | libc::IFF_NO_PI);
    ask(&file, libc::TUNSETIFF, &mut request, "a TUN device")?;
    let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    for (address, command, what) in [
        (address, libc::SIOCSIFADDR, "its address"),
        (Ipv4Addr::new(255, 255, 255, 252), libc::SIOCSIFNETMASK, "its network"),
    ] {
        let mut request = self::request();
        request.ifr_ifru.ifru_addr = socket_address(address);
        ask(&control, command, &mut request, what)?;
    }
    let mut request = self::request();
    request.ifr_ifru.ifru_flags = flags(libc::IFF_UP | libc::IFF_RUNNING);
    ask(&control, libc::SIOCSIFFLAGS, &mut request, "to start it")?;
    Ok(file.into())
}

/// A request about the device.
fn request() -> libc::ifreq {
    // SAFETY: it consists of integers, pointers and unions of them, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME) {
        *to = from.cast_signed();
    }
    request
}

fn flags(flags: libc::c_int) -> libc::c_short {
    libc::c_short::try_from(flags).expect("they fit")
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data[2..].iter_mut().zip(address.octets()) {
        *to = from.cast_signed();
    }
    libc::sockaddr {
        sa_family: libc::sa_family_t::try_from(libc::AF_INET).expect("it fits"),
        sa_data: data,
    }
}

fn ask(
    file: &impl AsRawFd,
    command: libc::Ioctl,
    request: &mut libc::ifreq,
    what: &str,
) -> io::Result<()> {
    // SAFETY: these commands read and write one `ifreq`, which lives through the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), command, std::ptr::from_mut(request)) } {
        -1 => Err(told(what, &io::Error::last_os_error())),
        _ => Ok(()),
    }
}

fn told(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
