//! Free ports on 127.0.0.1, outside the range from which the kernel takes the ports of clients.
//!
//! A server that was killed comes back at its port. Inside that range a client could have taken it
//! meanwhile, or even be connected to itself: a connection to a free port of loopback whose own
//! number is drawn equal succeeds.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::ServerError;

/// The lowest port that is used.
const LOWEST: u16 = 10_000;
/// What is left for servers is at least this wide, or the whole range is used.
const NARROWEST: u16 = 1_000;
/// What the kernel takes where it does not say.
const USUAL_OF_CLIENTS: Range<u16> = 32_768..61_000;

static DRAWN: AtomicU32 = AtomicU32::new(0);

/// `N` ports at which nothing listens now.
///
/// # Errors
/// [`ServerError::NoPort`].
pub(crate) fn free<const N: usize>() -> Result<[u16; N], ServerError> {
    let range = for_servers(&of_clients());
    let width = u32::from(range.end - range.start);
    // Programs that start at the same moment should look in different places.
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let mixed = std::process::id().wrapping_mul(0x9E37_79B1) ^ nanos.rotate_left(7);
    let first = mixed.wrapping_add(DRAWN.fetch_add(977, Ordering::Relaxed)) % width;
    let ports = (0..width).map(|step| (first + step) % width + u32::from(range.start));
    let ports = ports.filter_map(|port| u16::try_from(port).ok());
    let mut held = Vec::new();
    for port in ports {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            held.push((port, listener));
        }
        if held.len() == N {
            let mut ports = held.iter().map(|(port, _)| *port);
            return Ok(std::array::from_fn(|_| ports.next().unwrap_or_default()));
        }
    }
    Err(ServerError::NoPort)
}

fn of_clients() -> Range<u16> {
    let said = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut numbers = said.split_whitespace().filter_map(|number| number.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(first), Some(last)) if first <= last => first..u16::saturating_add(last, 1),
        _ => USUAL_OF_CLIENTS,
    }
}

/// The wider part of what clients leave.
fn for_servers(clients: &Range<u16>) -> Range<u16> {
    let below = LOWEST..clients.start.max(LOWEST);
    let above = clients.end.max(LOWEST)..u16::MAX;
    let widest = if below.len() >= above.len() { below } else { above };
    match widest.len() >= usize::from(NARROWEST) {
        true => widest,
        false => LOWEST..u16::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_clients_are_left_alone() {
        assert_eq!(for_servers(&(32_768..61_000)), 10_000..32_768);
        assert_eq!(for_servers(&(9_000..50_000)), 50_000..65_535);
        assert_eq!(for_servers(&(1_024..65_535)), 10_000..65_535);
    }

    #[test]
    fn a_port_with_a_listener_is_not_free() {
        let ports: [u16; 4] = free().unwrap();
        let listeners: Vec<TcpListener> =
            ports.iter().map(|port| TcpListener::bind(("127.0.0.1", *port)).unwrap()).collect();
        let others: [u16; 8] = free().unwrap();
        assert!(others.iter().all(|port| !ports.contains(port)));
        assert_eq!(listeners.len(), 4);
    }
}
