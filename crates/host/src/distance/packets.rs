//! One direction of an emulated link: decides when a packet arrives, if at all.
//!
//! ```text
//!   offered --> bottleneck: one packet after the other, a queue of 100 ms --> loss --> delay + jitter --> arrives
//!                |                                                             |         |
//!                dropped when the queue is full                                lost      held back: others overtake it
//! ```
//!
//! It knows packets alone: what loss and delay do to a connection is up to the TCP of the kernel.
//! It reads no clock and owns no device; equal seeds give equal fates.

use brunt_units::{Span, Time};
use brunt_world::random::{Stream, Streams};

/// What a link does to packets, in both directions alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkConditions {
    /// A round trip; each direction takes half of it.
    pub round_trip: Span,
    /// The most that a packet is late by, drawn uniformly for each. Packets stay in order.
    pub jitter: Span,
    /// Bandwidth of one direction; zero for that of the machine.
    pub bytes_per_second: u64,
    /// Packets of a million that are lost.
    pub lost_per_million: u32,
    /// Packets of a million that are held back by [`HELD_BACK`], so that others overtake them.
    pub reordered_per_million: u32,
}

/// How long a packet is held back that is to be overtaken: several packets of 1,500 bytes at 100
/// Mbit/s. Assumed.
pub const HELD_BACK: Span = Span::millis(1);
/// How long a packet may wait at the bottleneck. Assumed; routers hold 10 to 250 ms of their line
/// rate.
const QUEUE: Span = Span::millis(100);

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrives then.
    Arrives(Time),
    /// It is lost on the way.
    Lost,
    /// The queue was full.
    Dropped,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub(super) struct Direction {
    conditions: LinkConditions,
    stream: Stream,
    /// When the bottleneck is free again.
    free_at: Time,
    /// When the latest packet arrives that is in order.
    latest: Time,
}

impl Direction {
    /// The idle direction called `name` of a link.
    pub(super) fn new(conditions: LinkConditions, streams: Streams, name: &str) -> Self {
        Self { conditions, stream: streams.named(name), free_at: Time::ZERO, latest: Time::ZERO }
    }

    /// Offers a packet of `bytes` at `now`.
    pub(super) fn offer(&mut self, now: Time, bytes: usize) -> Fate {
        let begins = now.max(self.free_at);
        if begins > now + QUEUE {
            return Fate::Dropped;
        }
        let leaves = begins + self.transfer(bytes);
        self.free_at = leaves;
        // Every packet draws the same numbers, so that one condition does not change what another
        // one draws.
        let is_lost = self.draw() < self.conditions.lost_per_million;
        let is_held_back = self.draw() < self.conditions.reordered_per_million;
        let late = Span::nanos(self.stream.below(self.conditions.jitter.0 + 1));
        if is_lost {
            return Fate::Lost;
        }
        let half = Span(self.conditions.round_trip.0.div_euclid(2));
        let arrives = (leaves + half + late).max(self.latest);
        if is_held_back {
            return Fate::Arrives(arrives + HELD_BACK);
        }
        self.latest = arrives;
        Fate::Arrives(arrives)
    }

    fn draw(&mut self) -> u32 {
        u32::try_from(self.stream.below(1_000_000)).expect("below a million")
    }

    fn transfer(&self, bytes: usize) -> Span {
        let nanos = match u128::from(self.conditions.bytes_per_second) {
            0 => 0,
            rate => (bytes as u128 * 1_000_000_000).div_ceil(rate),
        };
        Span::nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: usize = 1_500;

    fn direction(conditions: LinkConditions) -> Direction {
        Direction::new(conditions, Streams::new(1), "forth")
    }

    /// The fates of packets that are offered a microsecond apart.
    fn fates(conditions: LinkConditions, count: u64) -> Vec<Fate> {
        let mut direction = direction(conditions);
        let at = |number| Time::ZERO + Span::micros(number);
        (0..count).map(|number| direction.offer(at(number), PACKET)).collect()
    }

    fn arrivals(fates: &[Fate]) -> Vec<Time> {
        let arrives = |fate: &Fate| match fate {
            Fate::Arrives(at) => Some(*at),
            _ => None,
        };
        fates.iter().filter_map(arrives).collect()
    }

    #[test]
    fn a_packet_takes_its_transfer_and_half_a_round_trip() {
        // 100 Mbit/s are 12.5 bytes a microsecond.
        let conditions = LinkConditions {
            round_trip: Span::millis(50),
            bytes_per_second: 12_500_000,
            ..LinkConditions::default()
        };
        let mut link = direction(conditions);
        let at = |micros| Time::ZERO + Span::micros(micros);
        assert_eq!(link.offer(at(0), PACKET), Fate::Arrives(at(25_120)));
        assert_eq!(link.offer(at(0), PACKET), Fate::Arrives(at(25_240)), "queued");
        assert_eq!(link.offer(at(1_000), PACKET), Fate::Arrives(at(26_120)), "idle");
    }

    #[test]
    fn a_full_queue_drops_and_goes_on_at_its_rate() {
        let conditions =
            LinkConditions { bytes_per_second: 15_000_000, ..LinkConditions::default() };
        // A packet takes 100 us: of 5,000 that come within 5 ms, the queue takes 100 ms, what
        // leaves meanwhile, and one.
        let fates = fates(conditions, 5_000);
        let arrived = arrivals(&fates);
        assert_eq!(arrived.len(), 1_000 + 50);
        assert!(fates.contains(&Fate::Dropped));
        for pair in arrived.windows(2) {
            assert_eq!(pair[1] - pair[0], Span::micros(100));
        }
    }

    #[test]
    fn jitter_is_bounded_and_keeps_the_order() {
        let (half, jitter) = (Span::millis(1), Span::micros(100));
        let conditions =
            LinkConditions { round_trip: half * 2, jitter, ..LinkConditions::default() };
        let arrived = arrivals(&fates(conditions, 10_000));
        assert_eq!(arrived.len(), 10_000);
        assert!(arrived.is_sorted());
        let mut late = Vec::new();
        for (number, at) in (0..).zip(&arrived) {
            late.push(*at - (Time::ZERO + Span::micros(number) + half));
        }
        assert!(late.iter().all(|late| *late <= jitter));
        assert!(late.iter().any(|late| *late * 10 > jitter * 9));
    }

    #[test]
    fn packets_are_lost_and_overtaken_as_often_as_wanted() {
        let conditions = LinkConditions {
            lost_per_million: 10_000,
            reordered_per_million: 20_000,
            ..LinkConditions::default()
        };
        let fates_here = fates(conditions, 100_000);
        let lost = fates_here.iter().filter(|fate| **fate == Fate::Lost).count();
        assert!((850..1_150).contains(&lost), "{lost}");
        let arrived = arrivals(&fates_here);
        let overtaken = arrived.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!((1_700..2_100).contains(&overtaken), "{overtaken}");
    }

    #[test]
    fn equal_seeds_lose_equal_packets_whatever_else_the_link_does() {
        let lossy = LinkConditions { lost_per_million: 50_000, ..LinkConditions::default() };
        let lost = |conditions| {
            let fates = fates(conditions, 2_000);
            let lost = fates.iter().map(|fate| *fate == Fate::Lost);
            lost.collect::<Vec<_>>()
        };
        assert_eq!(lost(lossy), lost(lossy));
        let late =
            LinkConditions { round_trip: Span::millis(20), reordered_per_million: 1_000, ..lossy };
        assert_eq!(lost(lossy), lost(late));
        let mut back = Direction::new(lossy, Streams::new(1), "back");
        let other: Vec<_> = (0..2_000)
            .map(|number| back.offer(Time::ZERO + Span::micros(number), PACKET) == Fate::Lost)
            .collect();
        assert_ne!(lost(lossy), other);
    }
}
