//! The bytes of a record, from its key, its version and the seed.
//!
//! A record has a short pad, a long pad, and now and then a large message. Nothing is stored to check it against: whoever
//! reads a record knows its key and version and makes the bytes again. They do not repeat and do not compress, so that
//! storage that compresses or finds duplicates is not flattered; they are cheap, so that making them is not what is measured.
//!
//! Bytes are a counter run through a 64-bit mixer, started from (seed, key, version, part); the last word is cut.
//! Every version of a record has the same sizes, so a replace fits where it was.

use crate::keys::Mixer;

/// The parts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The short pad.
    Short,
    /// The long pad.
    Long,
    /// The large message.
    Large,
}

/// How large the parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes in the short pad.
    pub short: u32,
    /// Bytes in the long pad.
    pub long: u32,
    /// One record in so many has a large message; none for 0.
    pub large_one_in: u32,
    /// Least bytes in a large message.
    pub large_min: u32,
    /// Most bytes in a large message, not below the least.
    pub large_max: u32,
}

impl Sizes {
    /// Jetstress 2013: pads of 200 and 2,000 bytes. The large messages are our choice, there is no source: one record in
    /// a thousand, 16 to 256 KiB.
    pub const JETSTRESS: Self = Self {
        short: 200,
        long: 2_000,
        large_one_in: 1_000,
        large_min: 16 << 10,
        large_max: 256 << 10,
    };
}

/// Makes and checks the bytes of records; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    sizes: Sizes,
    seed: u64,
}

/// 2^64 / golden ratio, made odd: the step of the counter.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Content {
    /// Records of these sizes.
    ///
    /// # Panics
    /// When large messages have no possible size.
    pub fn new(sizes: Sizes, seed: u64) -> Self {
        assert!(sizes.large_min <= sizes.large_max, "no size for a message");
        Self { sizes, seed }
    }

    /// Bytes in a part of the record `key`; zero when it has none.
    pub fn length(&self, key: u64, part: Part) -> usize {
        let Sizes {
            short,
            long,
            large_one_in,
            large_min,
            large_max,
        } = self.sizes;
        let bytes = match part {
            Part::Short => short,
            Part::Long => long,
            Part::Large => {
                // Not the key itself: keys are dense in places that matter to the tree.
                let drawn = Mixer::new(self.seed).key(key);
                let (which, size) = (drawn >> 32, drawn & 0xFFFF_FFFF);
                if large_one_in == 0 || !which.is_multiple_of(large_one_in.into()) {
                    return 0;
                }
                let span = u64::from(large_max - large_min) + 1;
                let above = (size * span) >> 32;
                large_min + u32::try_from(above).expect("below the span")
            }
        };
        bytes as usize
    }

    /// Fills `bytes` with the beginning of a part.
    pub fn fill(&self, key: u64, version: u32, part: Part, bytes: &mut [u8]) {
        let mut counter = self.start(key, version, part);
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = mixed(counter).to_le_bytes();
            counter = counter.wrapping_add(STEP);
        }
        let last = mixed(counter).to_le_bytes();
        rest.copy_from_slice(&last[..rest.len()]);
    }

    /// Whether `bytes` are the beginning of a part.
    pub fn matches(&self, key: u64, version: u32, part: Part, bytes: &[u8]) -> bool {
        let mut counter = self.start(key, version, part);
        let (words, rest) = bytes.as_chunks::<8>();
        let mut difference = 0;
        for word in words {
            difference |= mixed(counter) ^ u64::from_le_bytes(*word);
            counter = counter.wrapping_add(STEP);
        }
        let last = mixed(counter).to_le_bytes();
        difference == 0 && rest == &last[..rest.len()]
    }

    fn start(&self, key: u64, version: u32, part: Part) -> u64 {
        let what = u64::from(version) << 2 | part as u64;
        Mixer::new(self.seed.rotate_left(17)).key(Mixer::new(what).key(key))
    }
}

/// A wide product folded onto itself: over a counter with this step no compressor sees through it, at the price of one
/// multiplication for each eight bytes.
fn mixed(counter: u64) -> u64 {
    let product = u128::from(counter) * u128::from(counter ^ 0xD6E8_FEB8_6659_FD93);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both halves of the product are wanted"
    )]
    let folded = (product >> 64) as u64 ^ product as u64;
    folded
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn content() -> Content {
        Content::new(Sizes::JETSTRESS, 42)
    }

    fn made(key: u64, version: u32, part: Part, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        content().fill(key, version, part, &mut bytes);
        bytes
    }

    #[test]
    fn bytes_are_recognised_and_nothing_else_is() {
        for length in [0, 1, 7, 8, 9, 200, 2_000] {
            let bytes = made(77, 3, Part::Long, length);
            assert!(content().matches(77, 3, Part::Long, &bytes));
            if length == 0 {
                continue;
            }
            assert!(!content().matches(77, 4, Part::Long, &bytes));
            assert!(!content().matches(78, 3, Part::Long, &bytes));
            assert!(!content().matches(77, 3, Part::Short, &bytes));
            for at in [0, length.div_euclid(2), length - 1] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x10;
                assert!(!content().matches(77, 3, Part::Long, &damaged));
            }
        }
    }

    #[test]
    fn bytes_do_not_repeat_and_do_not_compress() {
        let mut words = BTreeSet::new();
        let mut ones = 0;
        let mut bytes_seen = [0_u32; 256];
        for key in 0..200 {
            for byte in made(key, 0, Part::Long, 2_000) {
                bytes_seen[usize::from(byte)] += 1;
            }
            for word in made(key, 0, Part::Long, 2_000).as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word);
                ones += u64::from(word.count_ones());
                assert!(words.insert(word), "a word twice");
            }
        }
        let mean = ones as f64 / words.len() as f64;
        assert!((mean - 32.0).abs() < 0.1, "{mean} ones in a word");
        let expected = 400_000.0 / 256.0;
        let entropy: f64 = bytes_seen
            .iter()
            .map(|count| f64::from(*count) / 400_000.0)
            .map(|share| -share * share.log2())
            .sum();
        assert!(entropy > 7.999, "{entropy} bits in a byte");
        let square = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
        let per_degree = bytes_seen.iter().map(square).sum::<f64>() / 255.0;
        assert!((0.7..1.35).contains(&per_degree), "chi2/df = {per_degree}");
    }

    #[test]
    fn a_part_begins_the_same_however_much_is_asked_for() {
        let long = made(5, 1, Part::Large, 1_001);
        assert_eq!(made(5, 1, Part::Large, 333), long[..333]);
    }

    #[test]
    fn one_record_in_a_thousand_is_large() {
        let sizes: Vec<_> = (0..200_000)
            .map(|number| content().length(Mixer::new(9).key(number), Part::Large))
            .filter(|length| *length > 0)
            .collect();
        assert!((150..250).contains(&sizes.len()), "{} large", sizes.len());
        assert!(
            sizes
                .iter()
                .all(|size| (16 << 10..=256 << 10).contains(size))
        );
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!((mean / 1024.0 - 136.0).abs() < 15.0, "mean {mean}");
        let never = Sizes {
            large_one_in: 0,
            ..Sizes::JETSTRESS
        };
        assert_eq!(Content::new(never, 1).length(0, Part::Large), 0);
    }
}
