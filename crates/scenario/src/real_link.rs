//! `[link]` of a drill on real storage: what packets between its sites go through.
//!
//! ```toml
//! [link]
//! rtt = "2ms"                         # or km = 200, of fibre
//! jitter = "100us"                    # the most that a packet is late by
//! bandwidth = "12.5 MB"               # a second and direction; or "T3", "OC3"
//! loss_per_million = 100
//! reordered_per_million = 10
//! ```
//!
//! The keys of a modelled link mean the same here. What only an array has (gateways, round trips of
//! a write, paths) is not among them.

use std::fmt::Write;

use brunt_units::{ByteSize, Span};

use super::arrays::{read_bandwidth, read_per_million, read_round_trip};
use super::format::{size, span};
use super::section::{Section, short_span};
use super::tree::Node;

const KEYS: [&str; 6] =
    ["rtt", "km", "jitter", "bandwidth", "loss_per_million", "reordered_per_million"];
/// A longer round trip is none of this earth, and neither is such jitter.
const RTT_MAX: Span = Span::seconds(1);

/// A link between two sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealLink {
    /// A round trip; each direction takes half of it.
    pub round_trip: Span,
    /// The most that a packet is late by.
    pub jitter: Span,
    /// Bytes a second of one direction, if they are limited.
    pub bandwidth: Option<ByteSize>,
    /// Packets of a million that are lost.
    pub lost_per_million: u32,
    /// Packets of a million that others overtake.
    pub reordered_per_million: u32,
}

impl RealLink {
    pub(super) fn read(node: Node) -> Self {
        let mut section = Section::new(node, "[link]", &KEYS);
        let round_trip = read_round_trip(&mut section);
        if round_trip.value > RTT_MAX {
            let place = &round_trip.place;
            let refusal = place.refuse(format!("is a round trip of more than {RTT_MAX}"));
            section.refuse(refusal.hint("1ms is 100 km of fibre"));
        }
        let jitter = section.read_or("jitter", Span::ZERO, short_span);
        if jitter.value > RTT_MAX {
            let refusal = jitter.place.refuse(format!("is longer than {RTT_MAX}"));
            section.refuse(refusal.hint("for example \"100us\""));
        }
        Self {
            round_trip: round_trip.value,
            jitter: jitter.value,
            bandwidth: read_bandwidth(&mut section),
            lost_per_million: read_per_million(&mut section, "loss_per_million"),
            reordered_per_million: read_per_million(&mut section, "reordered_per_million"),
        }
    }

    pub(super) fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "\n[link]\nrtt = {}", span(self.round_trip))?;
        if self.jitter > Span::ZERO {
            writeln!(out, "jitter = {}", span(self.jitter))?;
        }
        if let Some(bandwidth) = self.bandwidth {
            writeln!(out, "bandwidth = {}", size(bandwidth))?;
        }
        for (key, count) in [
            ("loss_per_million", self.lost_per_million),
            ("reordered_per_million", self.reordered_per_million),
        ] {
            if count > 0 {
                writeln!(out, "{key} = {count}")?;
            }
        }
        Ok(())
    }

    /// What it does besides delay, in the words of its keys.
    pub fn beyond_delay(&self) -> Vec<&'static str> {
        let asked = [
            ("jitter", self.jitter > Span::ZERO),
            ("bandwidth", self.bandwidth.is_some()),
            ("loss_per_million", self.lost_per_million > 0),
            ("reordered_per_million", self.reordered_per_million > 0),
        ];
        let asked = asked.into_iter().filter(|(_, is_asked)| *is_asked);
        asked.map(|(key, _)| key).collect()
    }
}
