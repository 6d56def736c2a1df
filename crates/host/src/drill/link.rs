//! What is between the two sites of a drill: packets over an emulated line, or a relay of
//! connections.
//!
//! ```text
//!   [link], and the system allows networks of one's own   packets: delay, jitter, loss, reordering, bandwidth (crate::distance)
//!   otherwise                                             a relay: delay alone
//!   the destination is another host                       a tunnel of ssh, and whatever is between the two
//! ```
//!
//! Whether packets are possible is tried, not guessed: namespaces and TUN devices may be missing,
//! or forbidden, in many ways.

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use brunt_drill::sites::relay::Relay;
use brunt_drill::sites::{CourseError, Doing, Link};
use brunt_scenario::{RealDrill, RealLink, RemoteHost};
use brunt_units::{ByteSize, Span, counted, grouped};
use brunt_world::{NetError, World};

use super::child::{Child, SitePlace};
use super::tunnel::Tunnel;
use crate::distance::{ENDS, Emulator, LinkConditions};

/// Why sites cannot be connected.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The scenario asks for what only packets have, and the system refuses these.
    #[error(
        "[link] asks for {}, which takes networks of its own for both sites, and this system refuses: {why}\n  run it \
         as root, or leave these keys out: a relay adds the round trip alone",
        keys.join(", ")
    )]
    NeedsPackets { keys: Vec<&'static str>, why: String },
    /// There can be no relay.
    #[error("the link: {0}")]
    Relay(NetError),
    /// There can be no tunnel.
    #[error("the link: {0}")]
    Tunnel(io::Error),
}

/// How sites are connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkKind {
    /// Packets between networks of their own.
    Packets(RealLink),
    /// A relay on loopback, with this round trip; and why no packets, if the scenario has a link.
    Relay(Span, Option<String>),
    /// The network to another host.
    Tunnel(RemoteHost),
}

impl LinkKind {
    /// The best that this machine can do for `drill`, whose sites are processes of `program`.
    ///
    /// # Errors
    /// [`LinkError::NeedsPackets`] when its link asks for what only these have.
    pub(super) fn possible(drill: &RealDrill, program: &Path) -> Result<Self, LinkError> {
        if let Some(remote) = &drill.remote {
            return Ok(Self::Tunnel(remote.clone()));
        }
        let Some(link) = drill.link else {
            return Ok(Self::Relay(Span::ZERO, None));
        };
        let tried = Child::start("source", &SitePlace::Here(program, Some(ENDS[0])));
        let Err(why) = tried.and_then(|child| child.device()) else {
            return Ok(Self::Packets(link));
        };
        let why = why.to_string();
        let why = why.strip_prefix("error: ").unwrap_or(&why).to_owned();
        let keys = link.beyond_delay();
        match keys.is_empty() {
            true => Ok(Self::Relay(link.round_trip, Some(why))),
            false => Err(LinkError::NeedsPackets { keys, why }),
        }
    }

    /// Where the source and the destination run, as processes of `program` here.
    pub(super) fn places<'p>(&'p self, program: &'p Path) -> [SitePlace<'p>; 2] {
        let here = SitePlace::Here(program, None);
        match self {
            Self::Packets(_) => ENDS.map(|address| SitePlace::Here(program, Some(address))),
            Self::Relay(..) => [here, here],
            Self::Tunnel(remote) => [here, SitePlace::There(remote)],
        }
    }
}

/// The link of one course.
pub(super) enum RealWay {
    Packets(Emulator),
    Relays(Span, Option<String>, RefCell<Vec<Relay>>),
    Tunnels(RemoteHost, RefCell<Vec<Tunnel>>),
}

impl RealWay {
    /// Connects the sites `children`.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn between(kind: &LinkKind, children: [&Child; 2], seed: u64) -> io::Result<Self> {
        let link = match kind {
            LinkKind::Relay(round_trip, why) => {
                return Ok(Self::Relays(*round_trip, why.clone(), RefCell::default()));
            }
            LinkKind::Tunnel(remote) => {
                return Ok(Self::Tunnels(remote.clone(), RefCell::default()));
            }
            LinkKind::Packets(link) => link,
        };
        let conditions = LinkConditions {
            round_trip: link.round_trip,
            jitter: link.jitter,
            bytes_per_second: link.bandwidth.map_or(0, ByteSize::get),
            lost_per_million: link.lost_per_million,
            reordered_per_million: link.reordered_per_million,
        };
        let [source, destination] = children;
        let ends = [source.device()?, destination.device()?];
        Emulator::start(ends, conditions, seed).map(Self::Packets)
    }
}

impl Link for RealWay {
    fn way_to<'a>(&'a self, world: &'a World, to: SocketAddr) -> Doing<'a, SocketAddr> {
        Box::pin(async move {
            match self {
                Self::Packets(_) => Ok(to),
                Self::Relays(round_trip, _, relays) => {
                    let here = Ipv4Addr::LOCALHOST.into();
                    let relay = Relay::open(world, SocketAddr::new(here, 0), to, *round_trip).await;
                    let (relay, at) =
                        relay.map_err(|error| CourseError::of(LinkError::Relay(error)))?;
                    relays.borrow_mut().push(relay);
                    Ok(at)
                }
                Self::Tunnels(remote, tunnels) => {
                    let tunnel = Tunnel::open(remote, to);
                    let tunnel =
                        tunnel.map_err(|error| CourseError::of(LinkError::Tunnel(error)))?;
                    let at = tunnel.at();
                    tunnels.borrow_mut().push(tunnel);
                    Ok(at)
                }
            }
        })
    }

    /// Bytes of packets are those with their headers.
    fn sent(&self) -> u64 {
        match self {
            Self::Packets(emulator) => emulator.carried().bytes_forth,
            Self::Relays(_, _, relays) => relays.borrow().iter().map(Relay::sent).sum(),
            Self::Tunnels(_, tunnels) => tunnels.borrow().iter().map(Tunnel::sent).sum(),
        }
    }

    fn cut(&self) {
        match self {
            Self::Packets(emulator) => emulator.cut(),
            Self::Relays(_, _, relays) => relays.borrow().iter().for_each(Relay::cut),
            Self::Tunnels(_, tunnels) => tunnels.borrow().iter().for_each(|one| one.cut(true)),
        }
    }

    fn mend(&self) {
        match self {
            Self::Packets(emulator) => emulator.mend(),
            Self::Relays(_, _, relays) => relays.borrow().iter().for_each(Relay::mend),
            Self::Tunnels(_, tunnels) => tunnels.borrow().iter().for_each(|one| one.cut(false)),
        }
    }

    fn shortcoming(&self) -> Option<String> {
        let Self::Relays(round_trip, Some(why), _) = self else {
            return None;
        };
        Some(format!(
            "the link is a relay: a round trip of {round_trip}, without the windows and retransmissions of a line ({why})"
        ))
    }

    fn carried(&self) -> Option<String> {
        let Self::Packets(emulator) = self else {
            return None;
        };
        let carried = emulator.carried();
        let arrived = counted(carried.arrived, "packet");
        Some(match (carried.lost, carried.dropped) {
            (0, 0) => {
                format!("{arrived} crossed the link; none was lost, none dropped by a full queue")
            }
            (lost, dropped) => format!(
                "{arrived} crossed the link; lost: {}, dropped by a full queue: {}",
                grouped(lost),
                grouped(dropped)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use brunt_scenario::Document;

    use super::*;

    /// What is possible with a program that ends at once, as one that may not leave its network.
    fn possible(link: &str) -> Result<LinkKind, LinkError> {
        let text = format!(
            "[test]\nduration = \"1min\"\nsessions = 2\n[[instance]]\nlog = \"log1\"\ndatabases = [\"db1/1.edb\"]\n\
             database_size = \"16 MiB\"\n[site.source]\nfolder = \"a\"\n[site.destination]\nfolder = \"b\"\n\
             [[event]]\nat = \"1s\"\nwhat = \"failover\"\n{link}"
        );
        let document = Document::new("t.toml", &text, Path::new("/srv")).unwrap();
        let drill = document.real_drill(&[]).unwrap();
        LinkKind::possible(&drill, Path::new("/bin/false"))
    }

    #[test]
    fn without_networks_a_relay_stands_in_for_a_round_trip_and_nothing_else() {
        assert_eq!(possible("").unwrap(), LinkKind::Relay(Span::ZERO, None));
        let LinkKind::Relay(round_trip, Some(why)) = possible("[link]\nrtt = \"2ms\"\n").unwrap()
        else {
            panic!("the program gives no network");
        };
        let way = RealWay::Relays(round_trip, Some(why), RefCell::default());
        let told = way.shortcoming().unwrap();
        assert!(told.contains("2.00 ms") && told.contains("exit status: 1"), "{told}");
        let refused = possible("[link]\nkm = 10\nloss_per_million = 5\n").unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("loss_per_million"), "{refused}");
    }
}
