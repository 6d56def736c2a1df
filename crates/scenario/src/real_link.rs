//! `[link]` of a drill on real storage: what packets between its sites go through.
//!
//! The keys of a modelled link mean the same here. What only an array has (gateways, round trips of
//! a write, paths) is not among them.

use brunt_units::{ByteSize, Span};

use super::distance::{BANDWIDTH, Distance, PER_MILLION, round_trip};
use super::keys::{At, COST, Maybe, NOT_NEGATIVE, keys};
use super::place::{Place, Placed};
use super::tree::Node;

/// A longer round trip is none of this earth, and neither is such jitter.
const RTT_MAX: Span = Span::seconds(1);

/// A link between two sites: what the keys of [`REAL_LINK`] say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealLink {
    /// A round trip; each direction takes half of it.
    pub round_trip: Span,
    pub jitter: Span,
    pub bandwidth: Option<ByteSize>,
    pub lost_per_million: u32,
    pub reordered_per_million: u32,
}

/// The same as it is written, without what changes nothing.
#[derive(Default)]
pub(crate) struct Said {
    distance: Distance,
    jitter: Option<Span>,
    bandwidth: Option<ByteSize>,
    lost: Option<u32>,
    reordered: Option<u32>,
}

keys! {
    REAL_LINK of Said = "[link]";
    /// A round trip between the sites; has to be there without `km`.
    rtt: Option<Placed<Span>> = [distance.rtt], Maybe(At(COST)), "by `km`";
    /// Kilometres of fibre.
    km: Option<Placed<f64>> = [distance.km], Maybe(At(NOT_NEGATIVE)), "by `rtt`";
    /// The most that a packet is late by.
    jitter: Option<Span> = [jitter], Maybe(COST), "0";
    /// Bytes a second of one direction, or a line.
    bandwidth: Option<ByteSize> = [bandwidth], Maybe(BANDWIDTH), "no limit";
    /// Packets of a million that are lost.
    loss_per_million: Option<u32> = [lost], Maybe(PER_MILLION), "0";
    /// Packets of a million that others overtake.
    reordered_per_million: Option<u32> = [reordered], Maybe(PER_MILLION), "0";
}

impl RealLink {
    pub(super) fn read(node: Node) -> Self {
        let mut said = Said::default();
        let section = REAL_LINK.read(node, &mut said);
        let round_trip = round_trip(&section, &said.distance);
        if round_trip.value > RTT_MAX {
            let place = &round_trip.place;
            let refusal = place.refuse(format!("is a round trip of more than {RTT_MAX}"));
            section.refuse(refusal.hint("1ms is 100 km of fibre"));
        }
        let jitter = said.jitter.unwrap_or_default();
        if jitter > RTT_MAX {
            let place = section.place_of("jitter");
            let refusal = place.refuse(format!("is longer than {RTT_MAX}"));
            section.refuse(refusal.hint("for example \"100us\""));
        }
        Self {
            round_trip: round_trip.value,
            jitter,
            bandwidth: said.bandwidth,
            lost_per_million: said.lost.unwrap_or_default(),
            reordered_per_million: said.reordered.unwrap_or_default(),
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        let place = Place::unwritten();
        let said = Said {
            distance: Distance { rtt: Some(Placed { value: self.round_trip, place }), km: None },
            jitter: Some(self.jitter).filter(|jitter| *jitter > Span::ZERO),
            bandwidth: self.bandwidth,
            lost: Some(self.lost_per_million).filter(|lost| *lost > 0),
            reordered: Some(self.reordered_per_million).filter(|packets| *packets > 0),
        };
        REAL_LINK.write(&said, out);
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
