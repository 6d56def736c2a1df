//! What is done to mail servers while mail is sent, and what that explains.
//!
//! | incident | explains doubles |
//! | --- | --- |
//! | the store, its deliveries or the relay are killed, restarted or stand still | as many as deliveries were under way between relay and store |
//! | power cut | the same; of the relay also those of its last seconds, because a file of the queue may come back |
//! | connections between relay and store break | as many as were under way |
//! | anything else | none: whatever does not come between a delivery and its answer |
//!
//! A client of ours sends each message once, so nothing between it and the first server explains a
//! double.

use std::fmt;

use brunt_units::{Span, Time};

use crate::ledger::{Fault, FaultKind};

/// How long a file system may keep what was not synced, by itself: ext4 writes its journal every five
/// seconds (`commit=`).
pub const WRITES_WITHIN: Span = Span::seconds(5);

/// One of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The store.
    Store,
    /// The relay.
    Relay,
}

/// A kind of process of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// The store's deliveries.
    Lmtp,
    /// The store's sessions of users.
    Imap,
    /// The store's check of passwords.
    Auth,
    /// The first process of a server, which starts the others.
    Master(Part),
    /// The relay's queue manager.
    Queue,
}

/// Processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Processes {
    /// All of a server.
    All(Part),
    /// Those of one service.
    Of(Service),
}

/// Connections from one place to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hop {
    /// From the client that sends to the first server.
    Sending,
    /// From the relay to the store.
    Delivery,
    /// From users to their mailboxes.
    Reading,
}

/// Servers that lose their power at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Machine {
    /// All of them are one machine.
    Whole,
    /// This one alone.
    Only(Part),
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Processes are killed, and come back.
    Kill(Processes),
    /// Processes stand still for so long.
    Freeze(Processes, Span),
    /// A server is stopped in an orderly way, and started again.
    Restart(Part),
    /// Servers lose their power, and what they did not sync.
    PowerCut(Machine),
    /// Connections break; new ones work.
    Cut(Hop),
    /// Each piece takes so much longer, for so long.
    Slow(Hop, Span, Span),
    /// Connections stay open and carry nothing for so long; then they break.
    HalfOpen(Hop, Span),
    /// There is no room for so long.
    DiskFull(Part, Span),
    /// Every mailbox is at its limit for so long.
    QuotaFull(Span),
}

/// When it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// When half of the mail is sent, or half of the time is over.
    Middle,
    /// So long after the first message.
    After(Span),
}

/// Something that is done to the servers, at a time. Those of a list follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Incident {
    /// When.
    pub at: Moment,
    /// What.
    pub deed: Deed,
}

/// Deliveries that an incident can have met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnderWay {
    /// The most that can have been under way from relay to store.
    pub between: u32,
    /// Those that were accepted within [`WRITES_WITHIN`] before.
    pub recent: u32,
}

impl Deed {
    /// The fault that it was, from `from` until servers answered again.
    pub fn fault(self, (from, until): (Time, Time), under_way: UnderWay) -> Fault {
        let UnderWay { between, recent } = under_way;
        let (kind, in_flight) = match self {
            Self::Kill(whom) => (FaultKind::Kill, whom.in_flight(between)),
            Self::Freeze(whom, _) => (FaultKind::Freeze, whom.in_flight(between)),
            Self::Restart(_) => (FaultKind::Restart, between),
            Self::PowerCut(Machine::Only(Part::Store)) => (FaultKind::PowerCut, between),
            Self::PowerCut(_) => (FaultKind::PowerCut, between.saturating_add(recent)),
            Self::Cut(Hop::Delivery) | Self::HalfOpen(Hop::Delivery, _) => {
                (FaultKind::Connection, between)
            }
            Self::Cut(_) | Self::HalfOpen(..) | Self::Slow(..) => (FaultKind::Connection, 0),
            Self::DiskFull(..) | Self::QuotaFull(_) => (FaultKind::Room, 0),
        };
        Fault { kind, from, until, in_flight }
    }

    /// Whether processes end without a word.
    pub fn kills(self) -> bool {
        matches!(self, Self::Kill(_) | Self::PowerCut(_))
    }

    /// Whether it takes servers with file systems of their own.
    pub fn needs_volumes(self) -> bool {
        matches!(self, Self::PowerCut(_) | Self::DiskFull(..))
    }

    /// Whether it takes mailboxes with limits.
    pub fn needs_limits(self) -> bool {
        matches!(self, Self::QuotaFull(_))
    }

    /// Whether it takes a relay before the store.
    pub fn needs_relay(self) -> bool {
        match self {
            Self::Kill(whom) | Self::Freeze(whom, _) => whom.part() == Part::Relay,
            Self::Restart(part) | Self::DiskFull(part, _) => part == Part::Relay,
            Self::PowerCut(machine) => machine == Machine::Only(Part::Relay),
            Self::Cut(hop) | Self::Slow(hop, ..) | Self::HalfOpen(hop, _) => hop == Hop::Delivery,
            Self::QuotaFull(_) => false,
        }
    }

    /// The connections that it is done to.
    pub fn hop(self) -> Option<Hop> {
        match self {
            Self::Cut(hop) | Self::Slow(hop, ..) | Self::HalfOpen(hop, _) => Some(hop),
            _ => None,
        }
    }
}

impl Processes {
    /// Whose they are.
    pub fn part(self) -> Part {
        match self {
            Self::All(part) => part,
            Self::Of(service) => service.part(),
        }
    }

    /// Deliveries that they can leave without an answer.
    fn in_flight(self, between: u32) -> u32 {
        match self {
            Self::All(_) | Self::Of(Service::Lmtp | Service::Master(_) | Service::Queue) => between,
            Self::Of(Service::Imap | Service::Auth) => 0,
        }
    }
}

impl Service {
    /// Whose it is.
    pub fn part(self) -> Part {
        match self {
            Self::Lmtp | Self::Imap | Self::Auth => Part::Store,
            Self::Master(part) => part,
            Self::Queue => Part::Relay,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lmtp => "lmtp",
            Self::Imap => "imap",
            Self::Auth => "auth",
            Self::Master(_) => "master",
            Self::Queue => "queue",
        }
    }
}

impl Machine {
    /// Whether `part` loses its power.
    pub fn has(self, part: Part) -> bool {
        self == Self::Whole || self == Self::Only(part)
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sending => "from the client to the first server",
            Self::Delivery => "from the relay to the store",
            Self::Reading => "from users to their mailboxes",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MET: UnderWay = UnderWay { between: 20, recent: 300 };

    fn explains(deed: Deed) -> u32 {
        let fault = deed.fault((Time(5), Time(9)), MET);
        assert_eq!((fault.from, fault.until), (Time(5), Time(9)));
        fault.in_flight
    }

    #[test]
    fn only_what_comes_between_a_delivery_and_its_answer_explains_doubles() {
        let long = Span::seconds(3);
        for part in [Part::Store, Part::Relay] {
            let all = Processes::All(part);
            let master = Processes::Of(Service::Master(part));
            for deed in [Deed::Kill(all), Deed::Freeze(all, long), Deed::Restart(part)] {
                assert_eq!(explains(deed), 20, "{deed:?}");
            }
            assert_eq!(explains(Deed::Kill(master)), 20);
            assert_eq!(explains(Deed::DiskFull(part, long)), 0);
        }
        assert_eq!(explains(Deed::QuotaFull(long)), 0);
        for (service, doubles) in
            [(Service::Lmtp, 20), (Service::Queue, 20), (Service::Imap, 0), (Service::Auth, 0)]
        {
            assert_eq!(explains(Deed::Kill(Processes::Of(service))), doubles, "{service:?}");
            assert_eq!(explains(Deed::Freeze(Processes::Of(service), long)), doubles);
        }
        for (hop, doubles) in [(Hop::Sending, 0), (Hop::Delivery, 20), (Hop::Reading, 0)] {
            assert_eq!(explains(Deed::Cut(hop)), doubles, "{hop:?}");
            assert_eq!(explains(Deed::HalfOpen(hop, long)), doubles, "{hop:?}");
            assert_eq!(explains(Deed::Slow(hop, long, long)), 0, "{hop:?}");
        }
    }

    #[test]
    fn a_queue_that_lost_its_power_may_bring_back_the_last_seconds() {
        let cut = |machine| explains(Deed::PowerCut(machine));
        assert_eq!(cut(Machine::Whole), 320);
        assert_eq!(cut(Machine::Only(Part::Relay)), 320);
        assert_eq!(cut(Machine::Only(Part::Store)), 20);
    }

    #[test]
    fn what_an_incident_needs_is_known_beforehand() {
        let long = Span::seconds(1);
        let relay = [
            Deed::Kill(Processes::Of(Service::Queue)),
            Deed::Restart(Part::Relay),
            Deed::Cut(Hop::Delivery),
            Deed::PowerCut(Machine::Only(Part::Relay)),
            Deed::DiskFull(Part::Relay, long),
        ];
        assert!(relay.iter().all(|deed| deed.needs_relay()));
        let alone = [
            Deed::Freeze(Processes::Of(Service::Auth), long),
            Deed::Slow(Hop::Sending, long, long),
            Deed::PowerCut(Machine::Whole),
        ];
        assert!(!alone.iter().any(|deed| deed.needs_relay()));
        assert!(alone[2].needs_volumes() && !alone[0].needs_volumes());
        assert!(alone[2].kills() && !alone[0].kills());
    }
}
