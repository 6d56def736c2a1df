//! Sockets on every backend: the suite of all networks, over loopback.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::skipped::skipped;
use brunt_conformance as conformance;
use brunt_units::Span;
use brunt_world_real::{Choice, Kind, Options, RealWorld, StartError};

/// `None` where the backend is refused.
fn world(kind: Kind) -> Option<RealWorld> {
    let options = Options {
        backend: Choice::Only(kind),
        slab_bytes: 1 << 20,
        threads: 2,
        ..Options::default()
    };
    match RealWorld::new(&options) {
        Err(StartError::Backend { reason, .. }) => {
            skipped(&format!("{kind} is refused here: {reason}"));
            None
        }
        other => Some(other.unwrap()),
    }
}

fn passes(kind: Kind) {
    let Some(mut real) = world(kind) else {
        return;
    };
    let addresses: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    for address in addresses {
        let (net, at) = (real.world.net.clone(), SocketAddr::new(address, 0));
        let listening = real.executor.block_on(async move { net.listen(at).await });
        let Ok((listener, _)) = listening else {
            skipped(&format!("{address} is not an address of this machine"));
            continue;
        };
        real.world.net.close(listener);
        for check in conformance::net::checks() {
            let future = check.start(&real.world, &real.world, address);
            real.executor.block_on(future);
        }
    }
}

#[test]
fn registered() {
    passes(Kind::Registered);
}

#[test]
fn unregistered() {
    passes(Kind::Unregistered);
}

#[test]
fn threads() {
    passes(Kind::Threads);
}

#[test]
fn everything_can_be_dropped_in_flight() {
    for kind in [Kind::Registered, Kind::Threads] {
        let Some(mut real) = world(kind) else {
            continue;
        };
        let net = real.world.net.clone();
        let kept = real.executor.block_on(async move {
            let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
            let (listener, at) = net.listen(at).await.unwrap();
            let client = net.connect(at).await.unwrap();
            let (server, _) = net.accept(listener).await.unwrap();
            let reading = (net.read(client, 10), net.accept(listener));
            (reading, net.write(server, vec![0; 16 << 20]), net.connect(at))
        });
        drop(real);
        drop(kept);
    }
}

#[test]
fn more_connections_wait_than_a_ring_has_places() {
    const COUNT: usize = 400;
    for kind in [Kind::Registered, Kind::Threads] {
        let Some(mut real) = world(kind) else {
            continue;
        };
        let net = real.world.net.clone();
        real.executor.block_on(async move {
            let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
            let (listener, at) = net.listen(at).await.unwrap();
            let mut pairs = Vec::new();
            for _ in 0..COUNT {
                let client = net.connect(at).await.unwrap();
                let (server, _) = net.accept(listener).await.unwrap();
                pairs.push((server, client));
            }
            // All of them begin to wait in one poll, and the last is the first to get anything.
            let reads: Vec<_> = pairs.iter().map(|(_, client)| net.read(*client, 9)).collect();
            for (read, (server, _)) in reads.into_iter().zip(&pairs).rev() {
                net.write(*server, vec![1]).await.unwrap();
                assert_eq!(read.await, Ok(vec![1]));
            }
            for socket in pairs.into_iter().flat_map(|(server, client)| [server, client]) {
                net.close(socket);
            }
        });
    }
}

/// A server that sends each answer in two parts: the second waits until the first is acknowledged
/// (Nagle's rule), and a client that has nothing to send acknowledges after 40 ms.
fn answers_in_two_parts(rounds: usize) -> SocketAddr {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        for _ in 0..rounds {
            peer.read_exact(&mut [0]).unwrap();
            peer.write_all(b"1").unwrap();
            peer.write_all(b"2").unwrap();
        }
    });
    at
}

#[test]
fn what_is_acknowledged_at_once_waits_for_no_timer() {
    const ROUNDS: usize = 41;
    for kind in [Kind::Registered, Kind::Threads] {
        let Some(mut real) = world(kind) else {
            continue;
        };
        let at = answers_in_two_parts(ROUNDS);
        let (net, clock) = (real.world.net.clone(), real.world.clock.clone());
        let mut took = real.executor.block_on(async move {
            let connection = net.connect(at).await.unwrap();
            assert!(net.acknowledge_at_once(connection));
            let mut took = Vec::new();
            for _ in 0..ROUNDS {
                let began = clock.now();
                net.write(connection, b"?".to_vec()).await.unwrap();
                let mut got = Vec::new();
                while got.len() < 2 {
                    got.extend(net.read(connection, 16).await.unwrap());
                }
                took.push(clock.now().since(began));
            }
            net.close(connection);
            assert!(!net.acknowledge_at_once(connection), "it is closed");
            took
        });
        took.sort_unstable();
        assert!(took[ROUNDS >> 1] < Span::millis(35), "{kind}: {took:?}");
    }
}
