//! Checksums of pages, log segments and headers: sealing, checking, and repairing single flipped
//! bits.
//!
//! ```text
//!    header (database, log, checkpoint)   u32 old XOR @0 over the whole header
//!    small page, log segment              XE @0 over everything; counts its own eight bytes as zero
//!    large page                           four equal blocks
//!        block 0    XE @0, its own eight bytes as zero, computed last: it covers the three others
//!        block 1-3  XE @40, @48, @56 in block 0; every byte of the block counts
//!    page without the 0x2000 flag         u32 old XOR @0, u32 page number @4
//! ```
//!
//! Every XE is seeded with the page's number, so a page read from the wrong place fails. If that is
//! its only fault, [`diagnose`] names the place it belongs to. One flipped bit per block can be
//! repaired, except inside the stored checksum itself and except the flag that says which checksum
//! it is.
//!
//! A page of zeroes has no checksum: it was never written.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/_osu/checksumu.cxx (blocks of a
//! large page) and dev/ese/src/checksum/checksum.cxx (when a bit may be repaired).

pub mod block;

use brunt_units::{PageNumber, PageSize};
use smallvec::SmallVec;

use self::block::{OwnChecksum, XE_BYTES, Xe, old_xor};
use super::field::{array_at, put, put_u32, u32_at};

/// Offset of the flags of a page or log segment.
const FLAGS_AT: usize = 36;
/// Flag of pages sealed with XE.
const NEW_CHECKSUM: u32 = 0x2000;
/// Its bit, which must never be "repaired": it decides which checksum applies.
const NEW_CHECKSUM_BIT: u32 = 36 * 8 + 13;
/// Where a large page stores the checksums of its blocks 1 to 3.
const MORE_AT: usize = 40;
/// Where a large page stores its own number.
const NUMBER_AT: usize = 64;

/// Result of checking a page's checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnosis {
    /// The bytes are as sealed, for this place.
    Sound,
    /// All zero: never written.
    Uninitialised,
    /// Single flipped bits; [`Flips::repair`] restores the sealed bytes.
    Correctable(Flips),
    /// The bytes are as sealed, for another place. On small pages a damaged checksum field can look
    /// the same, so the caller should check that the place can exist.
    OtherNumber(PageNumber),
    /// The bytes are not as sealed.
    Damaged,
}

/// Flipped bits of a page, at most one per block, as `8 × byte + bit` within the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flips(SmallVec<[u32; 4]>);

impl Flips {
    /// The flipped bits.
    pub fn bits(&self) -> &[u32] {
        &self.0
    }

    /// Flips them back.
    ///
    /// # Panics
    /// When `page` is shorter than the diagnosed page.
    pub fn repair(&self, page: &mut [u8]) {
        for bit in &self.0 {
            page[(bit >> 3) as usize] ^= 1 << (bit & 7);
        }
    }
}

/// Seals a page: sets the checksum flag and, on large pages, the page's own number, then writes the
/// checksums.
///
/// # Panics
/// When `page` is not `size` bytes long.
pub fn seal(page: &mut [u8], size: PageSize, number: PageNumber) {
    assert_eq!(page.len(), size.bytes(), "a page of {size}");
    if !size.is_large() {
        return seal_block(page, number.0);
    }
    put_u32(page, NUMBER_AT, number.0);
    set_flag(page);
    let block_bytes = page.len().div_euclid(4);
    for block in 1..4 {
        let bytes = &page[block * block_bytes..][..block_bytes];
        let checksum = Xe::of(bytes, number.0, OwnChecksum::Elsewhere);
        put(page, more_at(block), &checksum.to_bytes());
    }
    let checksum = Xe::of(&page[..block_bytes], number.0, OwnChecksum::Inside);
    put(page, 0, &checksum.to_bytes());
}

/// Seals a small page or a log segment: sets the checksum flag, then writes the checksum.
///
/// # Panics
/// When the length is not one of [`Xe::of`].
pub fn seal_block(block: &mut [u8], number: u32) {
    set_flag(block);
    let checksum = Xe::of(block, number, OwnChecksum::Inside);
    put(block, 0, &checksum.to_bytes());
}

/// Whether a page's checksum is right: [`diagnose`] without the diagnosis, for the fast path of
/// reads.
///
/// # Panics
/// When `page` is not `size` bytes long.
pub fn is_sound(page: &[u8], size: PageSize, number: PageNumber) -> bool {
    assert_eq!(page.len(), size.bytes(), "a page of {size}");
    if u32_at(page, FLAGS_AT) & NEW_CHECKSUM == 0 {
        return u32_at(page, 0) == old_xor(page) && u32_at(page, 4) == number.0;
    }
    if !size.is_large() {
        return block_is_sound(page, number.0);
    }
    let block_bytes = page.len().div_euclid(4);
    let (first, others) = page.split_at(block_bytes);
    block_is_sound(first, number.0)
        && others.chunks_exact(block_bytes).zip(1..4).all(|(bytes, block)| {
            let computed = Xe::of(bytes, number.0, OwnChecksum::Elsewhere);
            computed.to_bytes() == page[more_at(block)..][..XE_BYTES]
        })
}

/// Whether a small page or log segment has the right XE checksum.
///
/// # Panics
/// When the length is not one of [`Xe::of`].
pub fn block_is_sound(block: &[u8], number: u32) -> bool {
    Xe::of(block, number, OwnChecksum::Inside).to_bytes() == array_at::<XE_BYTES>(block, 0)
}

/// Diagnoses the checksum of page `number` in full.
///
/// # Panics
/// When `page` is not `size` bytes long.
pub fn diagnose(page: &[u8], size: PageSize, number: PageNumber) -> Diagnosis {
    if is_sound(page, size, number) {
        Diagnosis::Sound
    } else if page.iter().all(|byte| *byte == 0) {
        Diagnosis::Uninitialised
    } else if u32_at(page, FLAGS_AT) & NEW_CHECKSUM == 0 {
        diagnose_old(page)
    } else {
        let blocks = compare_blocks(page, size, number);
        match other_number(&blocks, number) {
            Some(other) => Diagnosis::OtherNumber(other),
            None => {
                find_flips(page, size, number).map_or(Diagnosis::Damaged, Diagnosis::Correctable)
            }
        }
    }
}

/// Writes a header's checksum.
///
/// # Panics
/// Like [`old_xor`].
pub fn seal_header(header: &mut [u8]) {
    let checksum = old_xor(header);
    put_u32(header, 0, checksum);
}

/// Whether a header has the right checksum.
///
/// # Panics
/// Like [`old_xor`].
pub fn header_is_sound(header: &[u8]) -> bool {
    u32_at(header, 0) == old_xor(header)
}

fn set_flag(page: &mut [u8]) {
    let flags = u32_at(page, FLAGS_AT);
    put_u32(page, FLAGS_AT, flags | NEW_CHECKSUM);
}

fn more_at(block: usize) -> usize {
    MORE_AT + (block - 1) * XE_BYTES
}

/// Diagnoses a page in the old format that failed: is it an intact page of another place?
fn diagnose_old(page: &[u8]) -> Diagnosis {
    let other = PageNumber(u32_at(page, 4));
    if u32_at(page, 0) == old_xor(page) && other.is_some() {
        Diagnosis::OtherNumber(other)
    } else {
        Diagnosis::Damaged
    }
}

/// A block's stored and computed checksums.
struct Compared {
    stored: Xe,
    computed: Xe,
}

fn compare_blocks(page: &[u8], size: PageSize, number: PageNumber) -> SmallVec<[Compared; 4]> {
    let count = if size.is_large() { 4 } else { 1 };
    let block_bytes = page.len().div_euclid(count);
    let compare = |block| {
        let (at, own) = match block {
            0 => (0, OwnChecksum::Inside),
            _ => (more_at(block), OwnChecksum::Elsewhere),
        };
        let bytes = &page[block * block_bytes..][..block_bytes];
        Compared {
            stored: Xe::from_bytes(array_at(page, at)),
            computed: Xe::of(bytes, number.0, own),
        }
    };
    (0..count).map(compare).collect()
}

/// The number under which every block would be valid.
fn other_number(blocks: &[Compared], number: PageNumber) -> Option<PageNumber> {
    let difference = |block: &Compared| block.stored.xor ^ block.computed.xor;
    let first = difference(blocks.first()?);
    let agree = blocks
        .iter()
        .all(|block| block.stored.ecc == block.computed.ecc && difference(block) == first);
    let other = PageNumber(number.0 ^ first);
    (agree && other.is_some()).then_some(other)
}

/// The flips that explain a page's checksums, if there are any. Block 0 is repaired first, in a
/// copy, because it contains the stored checksums of the others.
fn find_flips(page: &[u8], size: PageSize, number: PageNumber) -> Option<Flips> {
    let mut repaired = page.to_vec();
    let mut flips = Flips::default();
    let first = &compare_blocks(page, size, number)[0];
    let block_bytes = page.len().div_euclid(if size.is_large() { 4 } else { 1 });
    if first.stored != first.computed {
        let bit = first.stored.flipped_bit(first.computed, block_bytes)?;
        if bit == NEW_CHECKSUM_BIT {
            return None;
        }
        flips.0.push(bit);
        flips.repair(&mut repaired);
    }
    let blocks = compare_blocks(&repaired, size, number);
    for (block, compared) in (0_u32..).zip(&blocks).skip(1) {
        if compared.stored != compared.computed {
            let bit = compared.stored.flipped_bit(compared.computed, block_bytes)?;
            let block_bits = u32::try_from(block_bytes * 8).ok()?;
            flips.0.push(block * block_bits + bit);
        }
    }
    Some(flips)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_world::random::Streams;

    const NUMBER: PageNumber = PageNumber(0x1234);

    /// The byte generator of the published test vectors.
    fn generated(length: usize) -> Vec<u8> {
        let mut x = 1_u32;
        let next = |_| {
            x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            x.to_be_bytes()[0]
        };
        (0..length).map(next).collect()
    }

    fn dense(length: usize) -> Vec<u8> {
        let mut page = generated(length);
        put_u32(&mut page, FLAGS_AT, 0x2802);
        match PageSize::new(length as u64) {
            Ok(size) => seal(&mut page, size, NUMBER),
            Err(_) => seal_block(&mut page, NUMBER.0), // 2 KiB is a block, not one of our page sizes.
        }
        page
    }

    fn hex(bytes: &[u8]) -> String {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dense_pages_have_the_checksums_of_the_format() {
        assert_eq!(hex(&generated(16)), "41 96 27 c4 f9 95 d9 9c bf 0f 0a 31 23 af 7d c4");
        for (length, first) in [
            (2048, "fa 41 7a 58 ce 3a 31 05"),
            (4096, "72 43 35 3c ec 79 ec 79"),
            (8192, "3a d5 18 f9 0e 7e 0e 7e"),
            (16384, "8d 6d 6a b2 ac 7a ac 7a"),
            (32768, "9f 69 d8 b5 1f 7d 1f 7d"),
        ] {
            assert_eq!(hex(&dense(length)[..8]), first, "{length}");
        }
        for (length, more) in [
            (16384, "7c 84 2d c5 e2 07 e2 07 1a 10 c8 78 da 6c da 6c 70 ef 6f 61 75 43 75 43"),
            (32768, "5e ed a7 19 af 2f af 2f 45 b8 3d 66 57 72 a8 8d 66 e8 be 35 84 21 7b de"),
        ] {
            assert_eq!(hex(&dense(length)[40..64]), more, "{length}");
        }
    }

    #[test]
    fn sparse_pages_have_the_checksums_of_the_format() {
        let sparse = |size: PageSize, more: &[(usize, u8)]| {
            let mut page = vec![0; size.bytes()];
            page[100] = 1;
            page[size.bytes() - 1] = 0x80;
            for (at, byte) in more {
                page[*at] = *byte;
            }
            put_u32(&mut page, FLAGS_AT, 0x2802);
            seal(&mut page, size, PageNumber(5));
            page
        };
        let small = sparse(PageSize::KIB_4, &[]);
        assert_eq!(hex(&small[..8]), "06 28 00 80 f8 7d 07 02");
        let large = sparse(PageSize::KIB_32, &[(8192, 0x10), (20000, 0xFF), (24576, 1)]);
        assert_eq!(hex(&large[..8]), "13 d7 04 80 4c 03 b3 fc");
        assert_eq!(
            hex(&large[40..64]),
            "15 00 00 00 04 00 fb ff fa 00 00 00 00 00 00 00 04 00 00 80 ff ff ff ff"
        );
    }

    #[test]
    fn old_pages_and_headers_have_the_checksums_of_the_format() {
        for (size, first) in [
            (PageSize::KIB_4, "9d ae 9e b5 34 12 00 00"),
            (PageSize::KIB_8, "d5 38 b3 70 34 12 00 00"),
        ] {
            let mut page = generated(size.bytes());
            put_u32(&mut page, FLAGS_AT, 0x0802);
            put_u32(&mut page, 4, NUMBER.0);
            seal_header(&mut page);
            assert_eq!(hex(&page[..8]), first);
            assert_eq!(diagnose(&page, size, NUMBER), Diagnosis::Sound);
            assert_eq!(diagnose(&page, size, PageNumber(9)), Diagnosis::OtherNumber(NUMBER));
            page[2000] ^= 1;
            assert_eq!(diagnose(&page, size, NUMBER), Diagnosis::Damaged);
        }
        let mut header = generated(4096);
        put_u32(&mut header, 4, block::OLD_SEED);
        seal_header(&mut header);
        assert_eq!(hex(&header[..4]), "75 d4 ac 55");
        let mut header = vec![0; 4096];
        for (at, value) in [(4, block::OLD_SEED), (8, 0x620), (236, 0x8000)] {
            put_u32(&mut header, at, value);
        }
        seal_header(&mut header);
        assert_eq!(u32_at(&header, 0), 0x8620);
        assert!(header_is_sound(&header));
    }

    #[test]
    fn the_published_correction() {
        let mut page = dense(4096);
        page[1000] ^= 0x20;
        let Diagnosis::Correctable(flips) = diagnose(&page, PageSize::KIB_4, NUMBER) else {
            panic!("one flipped bit");
        };
        assert_eq!(flips.bits(), [1000 * 8 + 5]);
    }

    #[test]
    fn one_flip_in_each_block_is_repaired() {
        let mut random = Streams::new(3).named("flips");
        for size in PageSize::ALL {
            let sealed = dense(size.bytes());
            let blocks = if size.is_large() { 4 } else { 1 };
            let block_bits = (size.bytes_u64() * 8).div_euclid(blocks);
            for _ in 0..60 {
                let mut page = sealed.clone();
                for block in 0..blocks {
                    // Bits 0 to 63 are the stored checksum, and the flag's bit is never repaired.
                    let bit = block * block_bits + 64 + random.below(block_bits - 64);
                    if bit != u64::from(NEW_CHECKSUM_BIT) {
                        page[usize::try_from(bit >> 3).unwrap()] ^= 1 << (bit & 7);
                    }
                }
                if let Diagnosis::Correctable(flips) = diagnose(&page, size, NUMBER) {
                    flips.repair(&mut page);
                }
                assert!(page == sealed, "{size}");
            }
        }
    }

    #[test]
    fn what_cannot_be_repaired_is_damaged() {
        for size in PageSize::ALL {
            let sealed = dense(size.bytes());
            let damaged = |flips: &[(usize, u8)]| {
                let mut page = sealed.clone();
                for (at, mask) in flips {
                    page[*at] ^= mask;
                }
                diagnose(&page, size, NUMBER)
            };
            assert_eq!(damaged(&[(100, 1), (200, 1)]), Diagnosis::Damaged);
            assert_eq!(damaged(&[(5, 1)]), Diagnosis::Damaged, "the stored ecc");
            assert_eq!(damaged(&[(37, 0x20)]), Diagnosis::Damaged, "the flag");
        }
    }

    #[test]
    fn a_page_from_another_place_is_named() {
        for size in PageSize::ALL {
            let page = dense(size.bytes());
            assert_eq!(diagnose(&page, size, NUMBER), Diagnosis::Sound);
            assert_eq!(diagnose(&page, size, PageNumber(0x1235)), Diagnosis::OtherNumber(NUMBER));
            let zero = vec![0; size.bytes()];
            assert_eq!(diagnose(&zero, size, NUMBER), Diagnosis::Uninitialised);
        }
    }
}
