//! One direction of a modelled link: computes when messages arrive.
//!
//! ```text
//!    now        starts          leaves                            arrives
//!     |  queue    |   transfer    |   delay + jitter + recovery      |
//! ```
//!
//! Messages leave one after the other, each in `bytes / bytes_per_second`. A message that would be
//! on its way out during an outage waits for its end. A lost packet delays its message, as in TCP,
//! which sends it again. A link knows no connections; two messages may arrive in the other order,
//! and streams put them right.
//!
//! Source and simplifications: `docs/models/link.md`.

use std::ops::Range;

use brunt_units::{Span, Time};

use crate::random::Stream;

/// Bytes of a message per packet: Ethernet's 1,500 without the headers of IP and TCP.
const PACKET_BYTES: u64 = 1460;

/// How long TCP waits, beyond a round trip, before it retransmits a packet. Source: Linux,
/// `TCP_RTO_MIN`.
const RETRANSMISSION: Span = Span::millis(200);

/// Properties of a link, the same in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// One-way delay.
    pub delay: Span,
    /// Bandwidth; zero for an infinite one.
    pub bytes_per_second: u64,
    /// The most that a message is late by; drawn uniformly.
    pub jitter: Span,
    /// Packets of a million that are lost.
    pub lost_per_million: u32,
    /// When nothing gets through, in ascending order.
    pub outages: Vec<Range<Time>>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    options: LinkOptions,
    stream: Stream,
    /// When the previous message has left.
    free_at: Time,
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When its last byte has been sent.
    pub leaves: Time,
    /// When its last byte has been received.
    pub arrives: Time,
}

impl Link {
    /// An idle link; jitter and losses are drawn from `stream`.
    pub fn new(options: LinkOptions, stream: Stream) -> Self {
        Self { options, stream, free_at: Time::ZERO }
    }

    /// Sends a message of `bytes` at `now`, after all earlier ones.
    pub fn send(&mut self, now: Time, bytes: u64) -> Passage {
        let transfer = self.transfer(bytes);
        let mut starts = now.max(self.free_at);
        for outage in &self.options.outages {
            let is_cut = starts >= outage.start || starts + transfer > outage.start;
            if is_cut && starts < outage.end {
                starts = outage.end;
            }
        }
        let leaves = starts + transfer;
        self.free_at = leaves;
        let late = self.jitter() + self.recovery(bytes);
        Passage { leaves, arrives: leaves + self.options.delay + late }
    }

    /// Loses all messages that have not left: the next one waits for none.
    pub fn clear(&mut self) {
        self.free_at = Time::ZERO;
    }

    fn transfer(&self, bytes: u64) -> Span {
        let rate = u128::from(self.options.bytes_per_second);
        let nanos = match rate {
            0 => 0,
            rate => (u128::from(bytes) * 1_000_000_000).div_ceil(rate),
        };
        Span::nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn jitter(&mut self) -> Span {
        match self.options.jitter {
            Span::ZERO => Span::ZERO,
            most => Span::nanos(self.stream.below(most.0 + 1)),
        }
    }

    /// The delay by lost packets: that of the packet which is lost most often.
    fn recovery(&mut self, bytes: u64) -> Span {
        if self.options.lost_per_million == 0 {
            return Span::ZERO;
        }
        let packets = bytes.div_ceil(PACKET_BYTES).max(1);
        let losses = (0..packets).map(|_| self.losses()).max().unwrap_or(0);
        // Each attempt waits twice as long as the previous one.
        (self.options.delay * 2 + RETRANSMISSION) * ((1 << losses) - 1)
    }

    /// How often in a row one packet is lost; TCP would have given up before the bound.
    fn losses(&mut self) -> u32 {
        let bound = u64::from(self.options.lost_per_million);
        let mut lost = || self.stream.below(1_000_000) < bound;
        (1..=16).take_while(|_| lost()).last().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use crate::random::Streams;

    use super::*;

    fn link(options: LinkOptions) -> Link {
        Link::new(options, Streams::new(1).named("link"))
    }

    fn arrival(link: &mut Link, at: Span, bytes: u64) -> Span {
        link.send(Time::ZERO + at, bytes).arrives - Time::ZERO
    }

    #[test]
    fn a_message_takes_its_transfer_and_the_delay_and_waits_for_those_before() {
        // 10 Gbit/s are 1.25 bytes per nanosecond; 5 ms are 1,000 km of fibre.
        let mut link = link(LinkOptions {
            delay: Span::millis(5),
            bytes_per_second: 1_250_000_000,
            ..LinkOptions::default()
        });
        let at = Span::nanos;
        assert_eq!(arrival(&mut link, at(0), 125_000), at(5_100_000));
        assert_eq!(arrival(&mut link, at(0), 125_000), at(5_200_000), "queued");
        assert_eq!(arrival(&mut link, at(150_000), 1), at(5_200_001));
        assert_eq!(arrival(&mut link, at(900_000), 0), at(5_900_000), "idle");
        let sent = link.send(Time(1_000_000), 1_250);
        assert_eq!((sent.leaves, sent.arrives), (Time(1_001_000), Time(6_001_000)));
    }

    #[test]
    fn a_link_of_infinite_bandwidth_has_no_queue() {
        let delay = Span::micros(50);
        let mut link = link(LinkOptions { delay, ..LinkOptions::default() });
        for _ in 0..3 {
            assert_eq!(arrival(&mut link, Span::ZERO, 1 << 40), delay);
        }
    }

    #[test]
    fn messages_wait_for_the_end_of_an_outage() {
        let second = |count| Time::ZERO + Span::seconds(count);
        let mut link = link(LinkOptions {
            delay: Span::seconds(1),
            bytes_per_second: 1_000,
            outages: vec![second(10)..second(20), second(21)..second(22)],
            ..LinkOptions::default()
        });
        let mut sent = |at, bytes| arrival(&mut link, Span::seconds(at), bytes);
        assert_eq!(sent(8, 1_000), Span::seconds(10), "sent before, arrives during");
        assert_eq!(sent(9, 2_000), Span::seconds(25), "cut off twice, sent at 22");
        assert_eq!(sent(15, 1_000), Span::seconds(26), "behind the other");
        let out = link.send(second(10), 0);
        assert_eq!(out.leaves, second(25), "in order");
    }

    #[test]
    fn jitter_is_bounded_and_drawn() {
        let options = LinkOptions {
            delay: Span::millis(1),
            jitter: Span::micros(100),
            ..LinkOptions::default()
        };
        let mut link = link(options);
        let spans: Vec<_> = (0..1_000).map(|_| arrival(&mut link, Span::ZERO, 1).0).collect();
        assert!(spans.iter().all(|span| (1_000_000..=1_100_000).contains(span)));
        let mean = spans.iter().sum::<u64>().div_euclid(1_000);
        assert!((1_045_000..1_055_000).contains(&mean), "{mean}");
    }

    #[test]
    fn a_lost_packet_costs_a_retransmission_and_the_next_loss_twice_that() {
        let mut link = link(LinkOptions {
            delay: Span::millis(10),
            lost_per_million: 100_000,
            ..LinkOptions::default()
        });
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            let recovery = arrival(&mut link, Span::ZERO, 1_460) - Span::millis(10);
            // 20 ms for the round trip and 200 ms, then 440 ms more.
            match recovery {
                Span::ZERO => counts[0] += 1,
                once if once == Span::millis(220) => counts[1] += 1,
                twice if twice == Span::millis(660) => counts[2] += 1,
                more => assert!(more == Span::millis(1_540) || more > Span::seconds(3)),
            }
        }
        // 90 %, 9 % and 0.9 %.
        assert!((8_900..9_100).contains(&counts[0]), "{counts:?}");
        assert!((810..990).contains(&counts[1]), "{counts:?}");
        assert!((60..120).contains(&counts[2]), "{counts:?}");
        let held = |link: &mut Link| arrival(link, Span::ZERO, 14_600) > Span::millis(10);
        let held = (0..10_000).filter(|_| held(&mut link)).count();
        // Ten packets: 1 - 0.9^10 = 65 %.
        assert!((6_300..6_700).contains(&held), "{held}");
    }
}
