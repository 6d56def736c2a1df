//! Bytes that compress as far as asked for and repeat nowhere: what records, and the old content of
//! pages, are made of.
//!
//! ```text
//!   16 words   |random ... random brunt...brunt... random ... random|   some in the middle are a fixed text
//! ```
//!
//! The random words are a counter run through a 64-bit mixer. Nothing is stored: equal starts give
//! equal bytes, and any piece can be made alone.
//!
//! The text is in the middle, so that records which end within a stretch hold their share of it. A
//! compressor replaces the text by a copy, which takes bytes too. So each run of the text is
//! longer by what a copy takes with LZ4, and what is saved is what was asked for. Compressors that
//! also code what is left save a little more.

use std::ops::Range;

/// 2^64 / golden ratio, made odd: the counter's step.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
/// The compressible text.
pub const PLAIN: &[u8; 8] = b"brunt...";
/// Words per grain, each with a run of the text in its middle: runs are long enough for any
/// compressor, and in every block.
const GRAIN: usize = 16;
/// Bytes that a copy takes when data of the LZ4 family are compressed.
/// Source: LZ4 block format, a token and an offset.
pub const COPY_BYTES: usize = 3;

/// Fills `bytes` with the noise at `offset`, a multiple of 128, of that which begins at `start`;
/// compression saves `percent` of it.
///
/// # Panics
/// When `percent` is over 100.
pub fn fill(start: u64, percent: u32, offset: usize, bytes: &mut [u8]) {
    assert!(percent <= 100, "{percent} % of the bytes");
    let first_word = offset.div_euclid(8);
    let mut counter = start.wrapping_add((first_word as u64).wrapping_mul(STEP));
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in &mut *words {
        *word = mixed(counter).to_le_bytes();
        counter = counter.wrapping_add(STEP);
    }
    let last = mixed(counter).to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
    let first_grain = first_word.div_euclid(GRAIN);
    for range in plain_words(first_grain, words.len(), percent) {
        words[range].fill(*PLAIN);
    }
}

/// Which of `words` words, from the beginning of a grain, are plain text: a run in each grain, such
/// that all grains together save the requested share.
fn plain_words(
    first_grain: usize,
    words: usize,
    percent: u32,
) -> impl Iterator<Item = Range<usize>> {
    // In hundredths of a byte.
    let each = (GRAIN * 8 * percent as usize + COPY_BYTES * 100).min(GRAIN * 8 * 100);
    let until = move |grain: usize| (grain * each).div_euclid(8 * 100);
    let grains = if percent == 0 { 0 } else { words.div_ceil(GRAIN) };
    (0..grains).map(move |number| {
        let grain = first_grain + number;
        let plain = until(grain + 1) - until(grain);
        let start = number * GRAIN + (GRAIN - plain).div_euclid(2);
        start.min(words)..(start + plain).min(words)
    })
}

/// A wide product folded onto itself: over a counter with this step no compressor finds a pattern,
/// for one multiplication per eight bytes.
fn mixed(counter: u64) -> u64 {
    let product = u128::from(counter) * u128::from(counter ^ 0xD6E8_FEB8_6659_FD93);
    #[expect(clippy::cast_possible_truncation, reason = "both halves of the product are wanted")]
    let folded = (product >> 64) as u64 ^ product as u64;
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_copy_takes_is_made_up_for() {
        for percent in [0, 1, 25, 50, 77, 95, 100] {
            let mut bytes = vec![0; 128 * 1_000];
            fill(9, percent, 0, &mut bytes);
            let mut saved = 0.0;
            for grain in bytes.chunks(128) {
                let plain = grain.as_chunks::<8>().0.iter().filter(|word| *word == PLAIN).count();
                let copy = if plain > 0 { COPY_BYTES } else { 0 };
                saved += (8 * plain) as f64 - copy as f64;
            }
            let saved = 100.0 * saved / bytes.len() as f64;
            let most = 100.0 * (1.0 - COPY_BYTES as f64 / 128.0);
            // Grains without a run have nothing to make up for.
            let wanted = f64::from(percent).min(most);
            assert!((saved - wanted).abs() < 1.5, "{saved} % for {percent} %");
        }
    }

    #[test]
    fn a_record_that_ends_anywhere_holds_its_share() {
        for words in (25..250).step_by(5) {
            let mut bytes = vec![0; 8 * words];
            fill(9, 50, 0, &mut bytes);
            let is_plain = |word: &&[u8; 8]| *word == PLAIN;
            let plain = bytes.as_chunks::<8>().0.iter().filter(is_plain).count();
            let runs = bytes.chunks(128).filter(|grain| grain.as_chunks::<8>().0.contains(PLAIN));
            let saved = 8 * plain - COPY_BYTES * runs.count();
            // As far off as four words.
            let off = 100.0 * saved as f64 / bytes.len() as f64 - 50.0;
            assert!(off.abs() <= 400.0 / words as f64, "{off} of {words}");
        }
    }

    #[test]
    fn a_piece_is_as_in_the_whole() {
        let mut whole = vec![0; 4_096];
        fill(3, 40, 0, &mut whole);
        let mut piece = vec![0; 333];
        fill(3, 40, 1_280, &mut piece);
        assert_eq!(piece[..328], whole[1_280..1_608]);
    }
}
