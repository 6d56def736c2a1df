//! Relays of ours between two places, for connections that something is done to. Others go straight.

use std::net::{Ipv4Addr, SocketAddr};

use brunt_drill::sites::relay::Relay;
use brunt_load::Endpoint;
use brunt_mail::incident::{Hop, Incident};
use brunt_units::Span;
use brunt_world_real::RealWorld;

use super::LoadError;

/// A relay of ours, and where it listens.
pub(super) type Way = (Hop, (Relay, SocketAddr));

/// Opens a relay for each of `ways` that an incident is about: from where it is to listen, if that
/// matters, to the server.
pub(super) fn open(
    real: &mut RealWorld,
    incidents: &[Incident],
    ways: &[(Hop, SocketAddr, Option<SocketAddr>)],
) -> Result<Vec<Way>, LoadError> {
    let mut opened = Vec::new();
    for (hop, to, at) in ways.iter().copied() {
        if !incidents.iter().any(|incident| incident.deed.hop() == Some(hop)) {
            continue;
        }
        let world = real.world.clone();
        let at = at.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let relay = real
            .executor
            .block_on(async move { Relay::open(&world, at, to, Span::ZERO).await })
            .map_err(|error| LoadError::Numbers(format!("connections {hop}: {error}")))?;
        opened.push((hop, relay));
    }
    Ok(opened)
}

/// Leads connections to `endpoint` through the relay of `hop`, if there is one.
pub(super) fn lead(ways: &[Way], hop: Hop, endpoint: &mut Endpoint) {
    if let Some((_, (_, at))) = ways.iter().find(|(of, _)| *of == hop) {
        endpoint.address = *at;
    }
}
