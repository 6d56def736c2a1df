//! What the links of modelled arrays and of drills on real storage have in common.

use brunt_array::PairLinkDesign;
use brunt_units::{ByteSize, Line, Span};

use super::keys::{Own, Whole, own};
use super::place::{Place, Placed, Refusal};
use super::section::{self, Section};
use super::tree::Node;

/// Half way round the earth.
const KILOMETRES_MAX: f64 = 20_000.0;

/// Also as the name of a line.
pub(super) const BANDWIDTH: Own<ByteSize> = own(read_bandwidth, "size, or a line");
/// Packets of a million that something happens to.
pub(super) const PER_MILLION: Whole = Whole(0..=999_999);

/// A round trip, or kilometres of fibre.
#[derive(Clone, Default)]
pub(super) struct Distance {
    pub(super) rtt: Option<Placed<Span>>,
    pub(super) km: Option<Placed<f64>>,
}

/// The round trip of a link, given as such or as kilometres of fibre.
pub(super) fn round_trip(section: &Section, Distance { rtt, km }: &Distance) -> Placed<Span> {
    match (rtt, km) {
        (_, Some(km)) if km.value > KILOMETRES_MAX => {
            section.refuse(km.place.refuse(format!("is more than {KILOMETRES_MAX}")));
        }
        (Some(_), Some(km)) => {
            section.refuse(km.place.refuse("says what `rtt` says, or something else"));
        }
        (None, None) if !section.was_refused("km") => {
            section.refuse(section.lacks("rtt", "rtt = \"1ms\", or km = 100"));
        }
        _ => {}
    }
    let of_fibre = km.as_ref().map(|km| Placed {
        value: PairLinkDesign::round_trip_over(km.value.min(KILOMETRES_MAX)),
        place: km.place.clone(),
    });
    let unwritten = || Placed { value: Span::millis(1), place: Place::unwritten() };
    rtt.clone().or(of_fibre).unwrap_or_else(unwritten)
}

/// Bytes a second of one direction, also as the name of a line.
fn read_bandwidth(node: &Node) -> Result<ByteSize, Refusal> {
    let lines = Line::ALL.map(|line| (line.name, ByteSize::bytes(line.bytes_per_s)));
    match section::text(node) {
        Ok(text) if lines.iter().any(|(word, _)| *word == text) => section::choice(node, &lines),
        _ => {
            let size = section::size(node);
            size.map_err(|refusal| refusal.hint("or \"T3\", \"OC3\""))
        }
    }
}
