//! Mutates a seed: a few small changes of the kinds that find the most bugs.

use brunt_world::random::Stream;

/// Maximum number of changes per input.
const CHANGES_MAX: u64 = 6;
/// Maximum length of an input.
pub const LENGTH_MAX: usize = 1 << 20;

/// Boundary values.
const BORDERS: [u8; 8] = [0, 1, 0x0F, 0x10, 0x7F, 0x80, 0xFE, 0xFF];

/// `seed` with a few changes; pieces of `other` may be inserted.
pub fn mutate(draw: &mut Stream, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=draw.below(CHANGES_MAX) {
        change(draw, &mut bytes, other);
    }
    bytes.truncate(LENGTH_MAX);
    bytes
}

fn change(draw: &mut Stream, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = below(draw, bytes.len());
    match draw.below(9) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << draw.below(8),
        1 if !bytes.is_empty() => bytes[at] = byte(draw),
        2 if !bytes.is_empty() => bytes[at] = BORDERS[below(draw, BORDERS.len())],
        3 => {
            let length = below(draw, 9).min(bytes.len() - at);
            let border = BORDERS[below(draw, BORDERS.len())];
            bytes[at..at + length].fill(border);
        }
        4 => bytes.truncate(at),
        5 => {
            let more = (0..below(draw, 64)).map(|_| byte(draw));
            let more: Vec<u8> = more.collect();
            bytes.splice(at..at, more);
        }
        6 => {
            let end = at + below(draw, 64).min(bytes.len() - at);
            bytes.drain(at..end);
        }
        7 => {
            let from = below(draw, other.len());
            let length = below(draw, 512).min(other.len() - from).min(bytes.len() - at);
            bytes[at..at + length].copy_from_slice(&other[from..from + length]);
        }
        _ => {
            // A number in text.
            let digits = draw.bits().to_string();
            bytes.splice(at..at, digits.into_bytes());
        }
    }
}

/// Below `end`, or zero.
fn below(draw: &mut Stream, end: usize) -> usize {
    usize::try_from(draw.below(end.max(1) as u64)).expect("below a length")
}

fn byte(draw: &mut Stream) -> u8 {
    u8::try_from(draw.below(256)).expect("a byte")
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn equal_streams_make_equal_inputs_and_most_differ_from_the_seed() {
        let inputs = |seed| -> Vec<Vec<u8>> {
            let mut draw = Streams::new(seed).named("mutate");
            (0..200).map(|_| mutate(&mut draw, &[7; 100], &[9; 50])).collect()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let changed = inputs(3).iter().filter(|bytes| **bytes != [7; 100]).count();
        assert!(changed > 180, "{changed} of 200");
        assert!(mutate(&mut Streams::new(1).named("empty"), &[], &[]).len() < 1000);
    }
}
