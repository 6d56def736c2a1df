//! The two block checksums of the format: the old XOR and the new XOR with error correction ("XE").
//!
//! **Old XOR.** `0x89ABCDEF` xor every 32-bit word of the block except the first, which stores it.
//! Detects, never corrects. Used in headers of databases, logs and checkpoints, and in pages of
//! engines before 2003 SP2.
//!
//! **XE.** Number the bits of a block of `cb` bytes `i = 8 × byte + bit`, and let `M = 8 × cb − 1`.
//! Then
//!
//! ```text
//!    xor = number  xor  every 32-bit word of the block
//!    lo  = xor of i      over every set bit i
//!    hi  = xor of M − i  over every set bit i            ecc = hi << 16 | lo
//! ```
//!
//! A flipped bit changes `lo` by its index and `hi` by the complement of it, which locates it.
//! `number` (a page number, or the number of a log segment) makes a block read from the wrong place
//! fail.
//!
//! **How it is computed.** Not bit by bit. `lo` is linear, so the index splits: seen as rows of 64
//! bytes, the upper bits of `lo` are the xor of the numbers of the rows with odd parity, the lower
//! bits come the same way from the xor of all rows (the *column*), and `hi` is `lo`, complemented
//! when the block as a whole has odd parity. Counting each row's bits would dominate the cost. Bit
//! `b` of that xor of row numbers is the parity of the xor of all rows whose number has bit `b`,
//! and a binary tree gathers those for all `b` with two xors per row:
//!
//! ```text
//!    row      0   1   2   3   4   5   6   7
//!             └─┬─┘   └─┬─┘   └─┬─┘   └─┬─┘     right children go to sum 0
//!               └───┬───┘       └───┬───┘       right children go to sum 1
//!                   └───────┬───────┘           right child goes to sum 2; the root goes to the column
//! ```
//!
//! Eight rows make a group; groups fold to one word each, and the same rule continues over those.
//! It is plain safe code on arrays of words that the compiler turns into the target's vector
//! instructions.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/checksum/checksum.cxx and
//! checksum_amd64.cxx (definition); the tree is ours. The tests compare it with the definition, bit
//! by bit.

use crate::format::field::u32_at;

/// Start value of the old XOR, and the signature in the second word of a database header.
pub const OLD_SEED: u32 = 0x89AB_CDEF;

/// Bytes at the start of a block that hold its own XE checksum.
pub const XE_BYTES: usize = 8;

/// Words in a row.
const ROW: usize = 8;
/// Weight of a row number in a bit index: the bits of a row.
const ROW_INDEX: u32 = 512;
const _: () = assert!(ROW * 64 == ROW_INDEX as usize);
/// Rows in a group.
const ROWS: usize = 8;
/// Words in a group: 512 bytes, the smallest block.
const GROUP: usize = ROW * ROWS;
/// Bits of a row's number within its group.
const ROW_BITS: usize = 3;
/// Groups in the largest block, 8 KiB.
const GROUPS_MAX: usize = 16;

/// The old XOR of a block. Skips the first word, which stores the result.
///
/// # Panics
/// When `block` is shorter than four bytes or not a whole number of words.
pub fn old_xor(block: &[u8]) -> u32 {
    let (words, rest) = block.as_chunks::<4>();
    assert!(rest.is_empty(), "a block of whole words");
    words[1..].iter().fold(OLD_SEED, |xor, word| xor ^ u32::from_le_bytes(*word))
}

/// The XE checksum of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xe {
    /// All words and the number.
    pub xor: u32,
    /// Positions of the set bits: `hi << 16 | lo`.
    pub ecc: u32,
}

/// Whether a block's first eight bytes hold its own checksum and count as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnChecksum {
    /// The block starts with its checksum.
    Inside,
    /// The checksum is stored elsewhere; every byte counts.
    Elsewhere,
}

impl Xe {
    /// The checksum of `block` as page or segment `number`.
    ///
    /// # Panics
    /// Unless `block` is 512, 1,024, 2,048, 4,096 or 8,192 bytes long.
    pub fn of(block: &[u8], number: u32, own: OwnChecksum) -> Self {
        assert!(
            block.len().is_power_of_two() && (512..=8192).contains(&block.len()),
            "a checksum block of {} bytes",
            block.len()
        );
        let (column, odd_rows) = gather(block);
        let mut lo = (odd_rows * ROW_INDEX) ^ odd_places(&column);
        let mut xor = column.iter().fold(0, |all, word| all ^ halves(*word));
        if own == OwnChecksum::Inside {
            // Both sums are linear: adding the first two words again cancels them.
            let (first, second) = (u32_at(block, 0), u32_at(block, 4));
            lo ^= (second.count_ones() & 1) * 32;
            xor ^= first ^ second;
        }
        lo ^= odd_bits(xor);
        let all_ones = bits(block) - 1;
        let hi = lo ^ (all_ones * (xor.count_ones() & 1));
        Self { xor: xor ^ number, ecc: hi << 16 | lo }
    }

    /// The eight bytes on disk.
    pub fn to_bytes(self) -> [u8; XE_BYTES] {
        (u64::from(self.ecc) << 32 | u64::from(self.xor)).to_le_bytes()
    }

    /// The reverse of [`Self::to_bytes`].
    pub fn from_bytes(bytes: [u8; XE_BYTES]) -> Self {
        Self { xor: u32_at(&bytes, 0), ecc: u32_at(&bytes, 4) }
    }

    /// The index of the single bit that differs between a block whose stored checksum is `self` and
    /// the block for which `computed` was computed; `None` if the difference is not a single bit.
    ///
    /// `block_bytes` is the block's length. A flip inside the stored checksum itself is not found.
    pub fn flipped_bit(self, computed: Self, block_bytes: usize) -> Option<u32> {
        let bits = u32::try_from(block_bytes * 8).ok()?;
        let all_ones = bits - 1;
        let ecc = self.ecc ^ computed.ecc;
        let complementary = ((ecc >> 16) ^ ecc) & all_ones == all_ones;
        let index = ecc & 0xFFFF;
        let one_bit = (self.xor ^ computed.xor).is_power_of_two();
        (complementary && one_bit && index < bits).then_some(index)
    }
}

fn bits(block: &[u8]) -> u32 {
    u32::try_from(block.len() * 8).expect("a block has at most 65,536 bits")
}

/// The xor of all rows, and the xor of the numbers of those with odd parity.
fn gather(block: &[u8]) -> ([u64; ROW], u32) {
    let mut column = [0; ROW];
    let mut sums = [[0; ROW]; ROW_BITS];
    let mut groups = [0; GROUPS_MAX];
    let (chunks, _) = block.as_chunks::<{ GROUP * 8 }>();
    for (chunk, folded) in chunks.iter().zip(&mut groups) {
        let root = gather_group(chunk, &mut sums);
        for (column, word) in column.iter_mut().zip(root) {
            *column ^= word;
        }
        *folded = fold(&root);
    }
    let mut odd_rows = 0;
    for (bit, sum) in sums.iter().enumerate() {
        odd_rows |= (fold(sum).count_ones() & 1) << bit;
    }
    for (number, folded) in (0_u32..).zip(groups) {
        odd_rows ^= (folded.count_ones() & 1) * (number << ROW_BITS);
    }
    (column, odd_rows)
}

/// Gathers the eight rows of one group, lane by lane; returns the root of the tree.
#[inline(always)]
fn gather_group(group: &[u8; GROUP * 8], sums: &mut [[u64; ROW]; ROW_BITS]) -> [u64; ROW] {
    let (words, _) = group.as_chunks::<8>();
    let word = |row: usize, lane: usize| u64::from_le_bytes(words[row * ROW + lane]);
    let mut root = [0; ROW];
    for lane in 0..ROW {
        let odd = [word(1, lane), word(3, lane), word(5, lane), word(7, lane)];
        let pairs = [
            word(0, lane) ^ odd[0],
            word(2, lane) ^ odd[1],
            word(4, lane) ^ odd[2],
            word(6, lane) ^ odd[3],
        ];
        let right = pairs[2] ^ pairs[3];
        sums[0][lane] ^= (odd[0] ^ odd[1]) ^ (odd[2] ^ odd[3]);
        sums[1][lane] ^= pairs[1] ^ pairs[3];
        sums[2][lane] ^= right;
        root[lane] = (pairs[0] ^ pairs[1]) ^ right;
    }
    root
}

/// Xor of all words of a row.
fn fold(row: &[u64; ROW]) -> u64 {
    row.iter().fold(0, |all, word| all ^ word)
}

/// Xor of both halves of a word.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn halves(word: u64) -> u32 {
    word as u32 ^ (word >> 32) as u32
}

/// The xor of `32 × k` over every 32-bit word `k` of the column that has odd parity.
fn odd_places(column: &[u64; ROW]) -> u32 {
    let mut places = 0;
    for (at, word) in (0_u32..).zip(column) {
        let upper = (word >> 32).count_ones() & 1;
        let both = word.count_ones() & 1;
        places ^= (both * 64 * at) ^ (upper * 32);
    }
    places
}

/// The xor of the numbers of the set bits.
fn odd_bits(word: u32) -> u32 {
    // Bit b of the result is the parity of the set bits whose number has bit b.
    const WITH_BIT: [u32; 5] = [0xAAAA_AAAA, 0xCCCC_CCCC, 0xF0F0_F0F0, 0xFF00_FF00, 0xFFFF_0000];
    let mut xor = 0;
    for (bit, mask) in WITH_BIT.iter().enumerate() {
        xor |= ((word & mask).count_ones() & 1) << bit;
    }
    xor
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_world::random::Streams;

    /// The definition, one bit at a time.
    fn definition(block: &[u8], number: u32, own: OwnChecksum) -> Xe {
        let skip = if own == OwnChecksum::Inside { 8 } else { 0 };
        let all_ones = bits(block) - 1;
        let (mut xor, mut lo, mut hi) = (number, 0, 0);
        for (at, byte) in (0_u32..).zip(block).skip(skip) {
            xor ^= u32::from(*byte) << (8 * (at % 4));
            for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
                lo ^= 8 * at + bit;
                hi ^= all_ones - (8 * at + bit);
            }
        }
        Xe { xor, ecc: hi << 16 | lo }
    }

    #[test]
    fn the_tree_agrees_with_the_definition() {
        let mut random = Streams::new(1).named("blocks");
        for length in [512, 1024, 2048, 4096, 8192] {
            for own in [OwnChecksum::Inside, OwnChecksum::Elsewhere] {
                for _ in 0..8 {
                    let mut block = vec![0; length];
                    random.fill(&mut block);
                    let number = 0x1234_5678;
                    assert_eq!(Xe::of(&block, number, own), definition(&block, number, own));
                }
            }
        }
    }

    #[test]
    fn every_single_bit_of_a_block_counts_for_itself() {
        let mut block = vec![0; 8192];
        for index in 0..8192 * 8 {
            let (byte, bit) = (index >> 3, 1 << (index & 7));
            block[byte] = bit;
            let computed = Xe::of(&block, 0, OwnChecksum::Elsewhere);
            block[byte] = 0;
            let zero = Xe { xor: 0, ecc: 0 };
            assert_eq!(zero.flipped_bit(computed, 8192), u32::try_from(index).ok());
        }
    }

    #[test]
    fn two_flips_are_never_taken_for_one() {
        let mut random = Streams::new(2).named("flips");
        let mut block = vec![0; 4096];
        random.fill(&mut block);
        let stored = Xe::of(&block, 9, OwnChecksum::Elsewhere);
        for _ in 0..2000 {
            let mut damaged = block.clone();
            let first = random.below(4096 * 8);
            let second = (first + 1 + random.below(4096 * 8 - 1)) % (4096 * 8);
            for index in [first, second] {
                damaged[usize::try_from(index >> 3).unwrap()] ^= 1 << (index & 7);
            }
            let computed = Xe::of(&damaged, 9, OwnChecksum::Elsewhere);
            assert_ne!(stored, computed);
            assert_eq!(stored.flipped_bit(computed, 4096), None);
        }
    }

    #[test]
    fn the_old_xor_leaves_out_its_own_word() {
        let mut block = [0; 16];
        assert_eq!(old_xor(&block), OLD_SEED);
        block[..4].fill(0xFF);
        assert_eq!(old_xor(&block), OLD_SEED);
        block[15] = 0x80;
        assert_eq!(old_xor(&block), OLD_SEED ^ 0x8000_0000);
    }
}
