//! The bytes of a record, generated from its key, its version and the seed.
//!
//! A record has a short pad, a long pad and, occasionally, a large message. Nothing is stored for
//! comparison: a reader knows the record's key and version and generates the bytes again. By
//! default they neither repeat nor compress, so storage with compression or deduplication gains
//! nothing; and they are cheap, so that generating them does not distort the measurement. Jetstress
//! writes one record again and again, which makes such storage look better than it would with mail.
//!
//! Real mail compresses, and some of it is duplicated, so a [`Shape`] can ask for both:
//!
//! ```text
//!   compressible   compressing saves this percentage of every stretch of 128 bytes (see brunt_world::noise)
//!   duplicate      this percentage of the records share the same bytes, whatever their version
//! ```
//!
//! Duplicates are whole bodies, not whole blocks: every record has its own key beside them, and
//! every page its own number, checksum and tags. Only a block that lies inside a body is a copy for
//! storage that compares blocks: none with the bodies of mail, and at most six of eight blocks of 4
//! KiB in a page of 32 KiB with large ones. Storage that finds equal data at any alignment detects
//! all of them, as with mail.
//!
//! The noise is seeded with (seed, key, version, part); the last word is cut. Every version of a
//! record has the same sizes, so a replace fits in place.
//!
//! ESE compresses some long values and stores the scheme in the first byte of a chunk. Ours are not
//! compressed, but a reader that checks that byte before the length could take a random one for a
//! scheme. So every byte that begins a chunk, on pages of any size, has a bit set that no scheme
//! uses: 122 bits in a message of 256 KiB.

use std::ops::Range;

use brunt_world::noise;

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

/// Sizes of the parts, and their redundancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes in the short pad.
    pub short: u32,
    /// Bytes in the long pad.
    pub long: u32,
    /// One in this many records has a large message; 0 for none.
    pub large_one_in: u32,
    /// Smallest large message in bytes.
    pub large_min: u32,
    /// Largest large message in bytes, at least `large_min`.
    pub large_max: u32,
    /// Share of bytes that compressing saves, in percent.
    pub compressible_percent: u32,
    /// Share of records that use the same common bytes, in percent.
    pub duplicate_percent: u32,
    /// Share of records whose key is adjacent to the key of the previous record, in percent, at
    /// most 50. See [`crate::keys`].
    pub beside_percent: u32,
}

impl Shape {
    /// Jetstress 2013: pads of 200 and 2,000 bytes. The large messages are our choice, without a
    /// source: one record in a thousand, 16 to 256 KiB.
    pub const JETSTRESS: Self = Self {
        short: 200,
        long: 2_000,
        large_one_in: 1_000,
        large_min: 16 << 10,
        large_max: 256 << 10,
        compressible_percent: 0,
        duplicate_percent: 0,
        beside_percent: 0,
    };
}

/// Generates and checks the bytes of records; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    shape: Shape,
    seed: u64,
}

impl Content {
    /// Content for records of this shape.
    ///
    /// # Panics
    /// When `large_min` exceeds `large_max`, or a share is over 100 %.
    pub fn new(shape: Shape, seed: u64) -> Self {
        assert!(shape.large_min <= shape.large_max, "no size for a message");
        assert!(shape.compressible_percent <= 100 && shape.duplicate_percent <= 100);
        Self { shape, seed }
    }

    /// Length in bytes of a part of the record `key`; zero if it has none.
    pub fn length(&self, key: u64, part: Part) -> usize {
        let Shape { short, long, large_one_in, large_min, large_max, .. } = self.shape;
        let bytes = match part {
            Part::Short => short,
            Part::Long => long,
            Part::Large => {
                // Not the key itself: keys are dense in the parts of their range that matter to the
                // tree.
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
        self.fill_block(self.start(key, version, part), 0, bytes);
    }

    /// Fills the free space of a page of a new database: as compressible as records are, and alike
    /// on no two pages.
    pub fn fill_free(&self, page: u32, bytes: &mut [u8]) {
        let start = Mixer::new(self.seed.rotate_left(29)).key(page.into());
        self.fill_block(start, 0, bytes);
    }

    /// Whether `bytes` match the beginning of a part.
    pub fn matches(&self, key: u64, version: u32, part: Part, bytes: &[u8]) -> bool {
        let start = self.start(key, version, part);
        let mut expected = [0; BLOCK_BYTES];
        let mut blocks = bytes.chunks(BLOCK_BYTES).enumerate();
        blocks.all(|(number, block)| {
            let expected = &mut expected[..block.len()];
            let offset = number * BLOCK_BYTES;
            self.fill_block(start, offset, expected);
            expected == block
        })
    }

    /// Fills `bytes` with the content at `offset`, a multiple of [`BLOCK_BYTES`] or zero, of the
    /// part that begins at `start`.
    fn fill_block(&self, start: u64, offset: usize, bytes: &mut [u8]) {
        noise::fill(start, self.shape.compressible_percent, offset, bytes);
        for at in chunk_starts(offset..offset + bytes.len()) {
            bytes[at - offset] |= NO_SCHEME;
        }
    }

    fn start(&self, key: u64, version: u32, part: Part) -> u64 {
        let (key, version) = match self.is_duplicate(key) {
            true => (0, 0),
            false => (key, version),
        };
        let what = u64::from(version) << 2 | part as u64;
        Mixer::new(self.seed.rotate_left(17)).key(Mixer::new(what).key(key))
    }

    /// Whether the record uses the common bytes.
    fn is_duplicate(&self, key: u64) -> bool {
        let percent = u64::from(self.shape.duplicate_percent);
        percent > 0 && Mixer::new(self.seed.rotate_left(41)).key(key).rem_euclid(100) < percent
    }
}

/// Bytes compared at a time.
const BLOCK_BYTES: usize = 4096;

/// Bytes in a chunk of a long value, on pages of 4, 8, 16 and 32 KiB.
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/lv.hxx.
pub const CHUNK_BYTES: [usize; 4] = [4_014, 8_110, 16_262, 32_646];
/// A bit that no scheme byte has: schemes are numbers up to 7, shifted by three bits.
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/compression.cxx.
const NO_SCHEME: u8 = 0x40;

/// Offsets in `range` at which a chunk begins, for any page size.
fn chunk_starts(range: Range<usize>) -> impl Iterator<Item = usize> {
    CHUNK_BYTES.into_iter().flat_map(move |chunk| {
        let first = range.start.next_multiple_of(chunk);
        (first..range.end).step_by(chunk)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn content() -> Content {
        Content::new(Shape::JETSTRESS, 42)
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
    fn no_chunk_begins_like_a_compressed_one() {
        let bytes = made(5, 1, Part::Large, 256 << 10);
        for chunk in CHUNK_BYTES {
            for start in bytes.iter().step_by(chunk) {
                assert!(*start >= 0x40, "{start:#x}");
            }
        }
        assert_eq!(chunk_starts(0..bytes.len()).count(), 66 + 33 + 17 + 9);
        assert_eq!(chunk_starts(4_014..4_015).next(), Some(4_014));
        assert_eq!(chunk_starts(4_015..8_028).next(), None);
        // Compared block by block with content generated in one piece.
        assert!(content().matches(5, 1, Part::Large, &bytes));
        for start in [0, 4_014, 32_646] {
            let mut damaged = bytes.clone();
            damaged[start] ^= NO_SCHEME;
            assert!(!content().matches(5, 1, Part::Large, &damaged));
        }
    }

    #[test]
    fn compressible_records_are_told_apart_too() {
        for percent in [1, 25, 50, 77, 100] {
            let shape = Shape { compressible_percent: percent, ..Shape::JETSTRESS };
            let content = Content::new(shape, 42);
            let mut bytes = vec![0; 16_000];
            content.fill(5, 1, Part::Long, &mut bytes);
            assert!(content.matches(5, 1, Part::Long, &bytes));
            assert_eq!(content.matches(5, 2, Part::Long, &bytes), percent == 100);
            let mut damaged = bytes.clone();
            damaged[15_990] ^= 1;
            assert!(!content.matches(5, 1, Part::Long, &damaged));
            let mut start = vec![0; 333];
            content.fill(5, 1, Part::Long, &mut start);
            assert_eq!(start[..328], bytes[..328]);
        }
    }

    #[test]
    fn as_many_records_are_alike_as_was_asked_for() {
        let shape = Shape { duplicate_percent: 30, ..Shape::JETSTRESS };
        let content = Content::new(shape, 42);
        let mut seen = BTreeSet::new();
        let mut copies = 0;
        for key in 0..10_000 {
            let mut bytes = vec![0; 64];
            content.fill(key, 3, Part::Long, &mut bytes);
            assert!(content.matches(key, 3, Part::Long, &bytes));
            copies += u32::from(!seen.insert(bytes));
        }
        assert!((2_850..3_150).contains(&copies), "{copies} copies");
    }

    #[test]
    fn one_record_in_a_thousand_is_large() {
        let sizes: Vec<_> = (0..200_000)
            .map(|number| content().length(Mixer::new(9).key(number), Part::Large))
            .filter(|length| *length > 0)
            .collect();
        assert!((150..250).contains(&sizes.len()), "{} large", sizes.len());
        assert!(sizes.iter().all(|size| (16 << 10..=256 << 10).contains(size)));
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!((mean / 1024.0 - 136.0).abs() < 15.0, "mean {mean}");
        let never = Shape { large_one_in: 0, ..Shape::JETSTRESS };
        assert_eq!(Content::new(never, 1).length(0, Part::Large), 0);
    }
}
