//! The flush map (`.jfm`): the flush type of each page's last write.
//!
//! Every write of a page advances its flush type (1, 2, 3, 1, ...). If a page is read with a
//! different type than the map has, its last write never reached the disk: error −1119, a lost
//! flush. Two bits per page; 0 is unknown and never an error.
//!
//! ```text
//!    header, 8,192 bytes
//!      0   4  checksum, old XOR over the header
//!      4   4  "jfm1"
//!      8  28  signature of the database
//!     36  28  signature of this header's last write; equal to the database header's at 612
//!     64   4  pages that the map covers
//!    667   4  file type 7
//!    map page i, 8,192 bytes, at (i + 1) × 8,192
//!      0   8  checksum, XE under number i + 1
//!      8   8  database time when the map page was written
//!     36   4  flags, 0x2000
//!     40      two bits for each of 32,608 pages, first page in the lowest bits
//! ```
//!
//! A map is valid only while both signatures match the database header. Writing the database
//! without the map (a restore, another program) breaks the match, and all pages become unknown. A
//! wrong checksum of a map page makes only its pages unknown.
//!
//! The idea, the file name, the type and the bits are a genuine engine's
//! (microsoft/Extensible-Storage-Engine, dev/ese/src/inc/flushmap.hxx). The layout is our own. No
//! genuine engine looks for it in our files, because the map is optional there.

use std::path::{Path, PathBuf};

use brunt_units::{DatabaseTime, PageNumber};

use super::checksum::{block_is_sound, header_is_sound, seal_block, seal_header};
use super::field::{put_u32, put_u64, u32_at, u64_at};
use super::header::FILE_TYPE_AT;
use super::stamp::Signature;

/// Bytes of the header and of each map page.
pub const MAP_PAGE_BYTES: usize = 8192;
pub const FLUSH_MAP_FILE_TYPE: u32 = 7;
/// Database pages that one map page covers.
pub const PAGES_PER_MAP_PAGE: u32 = 32_608;
/// The unknown flush type.
pub const UNKNOWN: u8 = 0;

const BITS_AT: usize = 40;
const TIME_AT: usize = 8;
const MAGIC: u32 = u32::from_le_bytes(*b"jfm1");
const _: () = assert!((MAP_PAGE_BYTES - BITS_AT) * 4 == PAGES_PER_MAP_PAGE as usize);

/// Path of the flush map of `database`: the same name, ending in `.jfm`.
pub fn path_beside(database: &Path) -> PathBuf {
    database.with_extension("jfm")
}

/// The flush type that follows `flush_type`: 1, 2, 3, 1, ...; after unknown comes 1.
pub const fn next_flush_type(flush_type: u8) -> u8 {
    match flush_type {
        1 => 2,
        2 => 3,
        _ => 1,
    }
}

/// Position of a page's two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapPlace {
    /// Map page, from 0.
    pub map_page: u32,
    /// Entry within it, below [`PAGES_PER_MAP_PAGE`].
    pub entry: u32,
}

impl MapPlace {
    /// The position of `page`.
    ///
    /// # Panics
    /// When `page` is [`PageNumber::NONE`].
    pub fn of(page: PageNumber) -> Self {
        assert!(page.is_some(), "a page");
        let index = page.0 - 1;
        Self {
            map_page: index.div_euclid(PAGES_PER_MAP_PAGE),
            entry: index.rem_euclid(PAGES_PER_MAP_PAGE),
        }
    }

    /// Offset of the map page in the file.
    pub const fn offset(self) -> u64 {
        map_page_offset(self.map_page)
    }
}

/// Offset of map page `map_page`, counted from 0, in the file.
pub const fn map_page_offset(map_page: u32) -> u64 {
    (map_page as u64 + 1) * MAP_PAGE_BYTES as u64
}

/// Map pages that `pages` database pages need.
pub const fn map_pages(pages: u32) -> u32 {
    pages.div_ceil(PAGES_PER_MAP_PAGE)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushMapHeader {
    pub database: Signature,
    /// Changes with every write of this header; the database header repeats it.
    pub flush: Signature,
    /// Database pages that the map covers.
    pub pages: u32,
}

impl FlushMapHeader {
    /// Encodes and seals the header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; MAP_PAGE_BYTES];
        put_u32(&mut bytes, 4, MAGIC);
        self.database.write(&mut bytes, 8);
        self.flush.write(&mut bytes, 36);
        put_u32(&mut bytes, 64, self.pages);
        put_u32(&mut bytes, FILE_TYPE_AT, FLUSH_MAP_FILE_TYPE);
        seal_header(&mut bytes);
        bytes
    }

    /// Decodes a header; `None` if it is not a brunt header.
    ///
    /// # Panics
    /// When `bytes` is not [`MAP_PAGE_BYTES`] long.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        assert_eq!(bytes.len(), MAP_PAGE_BYTES, "a flush-map header");
        let ours = u32_at(bytes, 4) == MAGIC
            && u32_at(bytes, FILE_TYPE_AT) == FLUSH_MAP_FILE_TYPE
            && header_is_sound(bytes);
        ours.then(|| Self {
            database: Signature::read(bytes, 8),
            flush: Signature::read(bytes, 36),
            pages: u32_at(bytes, 64),
        })
    }

    /// Whether the map belongs to a database with this signature and this flush-map field.
    pub fn belongs_to(&self, database: &Signature, flush_map: &Signature) -> bool {
        self.database == *database && self.flush == *flush_map && flush_map.is_some()
    }
}

/// Whether the bytes start like a brunt flush map, valid or not.
pub fn has_magic(bytes: &[u8]) -> bool {
    bytes.len() >= MAP_PAGE_BYTES && u32_at(bytes, 4) == MAGIC
}

/// The flush type of an entry in a map page.
///
/// # Panics
/// When `entry` is [`PAGES_PER_MAP_PAGE`] or more.
pub fn flush_type(map_page: &[u8], entry: u32) -> u8 {
    let (byte, shift) = bits_of(entry);
    map_page[byte] >> shift & 3
}

/// Sets the flush type of an entry in a map page.
///
/// # Panics
/// When `entry` is [`PAGES_PER_MAP_PAGE`] or more, or `flush_type` above 3.
pub fn set_flush_type(map_page: &mut [u8], entry: u32, flush_type: u8) {
    assert!(flush_type <= 3, "a flush type has two bits");
    let (byte, shift) = bits_of(entry);
    map_page[byte] = map_page[byte] & !(3 << shift) | flush_type << shift;
}

/// Sets the flush types of the entries from 0 on, four at a time, from the low two bits of each
/// byte of `flush_types`. The remaining entries become unknown.
///
/// # Panics
/// When there are more than [`PAGES_PER_MAP_PAGE`].
pub fn set_flush_types(map_page: &mut [u8], flush_types: &[u8]) {
    assert!(flush_types.len() <= PAGES_PER_MAP_PAGE as usize, "the entries of a map page");
    let bits = &mut map_page[BITS_AT..MAP_PAGE_BYTES];
    let (fours, rest) = flush_types.as_chunks::<4>();
    for (byte, four) in bits.iter_mut().zip(fours) {
        *byte = four[0] & 3 | (four[1] & 3) << 2 | (four[2] & 3) << 4 | (four[3] & 3) << 6;
    }
    bits[fours.len()..].fill(0);
    for (entry, flush_type) in rest.iter().enumerate() {
        bits[fours.len()] |= (flush_type & 3) << (2 * entry);
    }
}

/// Seals map page `index`, counted from 0.
///
/// # Panics
/// When `bytes` is not [`MAP_PAGE_BYTES`] long.
pub fn seal_map_page(bytes: &mut [u8], index: u32, time: DatabaseTime) {
    assert_eq!(bytes.len(), MAP_PAGE_BYTES, "a map page");
    bytes[..BITS_AT].fill(0);
    put_u64(bytes, TIME_AT, time.0);
    seal_block(bytes, index + 1);
}

/// The database time of map page `index` if its checksum is right; otherwise its pages are unknown.
///
/// # Panics
/// When `bytes` is not [`MAP_PAGE_BYTES`] long.
pub fn sound_map_page(bytes: &[u8], index: u32) -> Option<DatabaseTime> {
    assert_eq!(bytes.len(), MAP_PAGE_BYTES, "a map page");
    block_is_sound(bytes, index + 1).then(|| DatabaseTime(u64_at(bytes, TIME_AT)))
}

fn bits_of(entry: u32) -> (usize, u32) {
    assert!(entry < PAGES_PER_MAP_PAGE, "an entry of a map page");
    (BITS_AT + (entry >> 2) as usize, 2 * (entry & 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_flush_types_are_set_as_one_after_another() {
        let mut draw = brunt_world::random::Streams::new(4).named("types");
        for count in [0, 1, 2, 3, 4, 5, 4097, PAGES_PER_MAP_PAGE as usize] {
            let mut types = vec![0; count];
            draw.fill(&mut types);
            let (mut one, mut many) = (vec![0; MAP_PAGE_BYTES], vec![0xFF; MAP_PAGE_BYTES]);
            for (entry, flush_type) in (0..).zip(&types) {
                set_flush_type(&mut one, entry, flush_type & 3);
            }
            set_flush_types(&mut many, &types);
            assert_eq!(one[BITS_AT..], many[BITS_AT..], "{count} entries");
        }
    }

    #[test]
    fn places_follow_one_another() {
        let place = |page| MapPlace::of(PageNumber(page));
        assert_eq!((place(1).map_page, place(1).entry), (0, 0));
        assert_eq!((place(32_608).map_page, place(32_608).entry), (0, 32_607));
        assert_eq!((place(32_609).map_page, place(32_609).entry), (1, 0));
        assert_eq!(place(32_609).offset(), 2 * 8192);
        assert_eq!((map_pages(0), map_pages(32_608), map_pages(32_609)), (0, 1, 2));
    }

    #[test]
    fn entries_do_not_touch_their_neighbours() {
        let mut page = vec![0; MAP_PAGE_BYTES];
        for entry in 0..PAGES_PER_MAP_PAGE {
            set_flush_type(&mut page, entry, (entry % 4).to_le_bytes()[0]);
        }
        set_flush_type(&mut page, 6, 1);
        seal_map_page(&mut page, 3, DatabaseTime(99));
        assert_eq!(sound_map_page(&page, 3), Some(DatabaseTime(99)));
        assert_eq!(sound_map_page(&page, 4), None);
        for entry in 0..PAGES_PER_MAP_PAGE {
            let expected = if entry == 6 { 1 } else { entry % 4 };
            assert_eq!(u32::from(flush_type(&page, entry)), expected);
        }
    }

    #[test]
    fn a_header_belongs_to_one_state_of_one_database() {
        let signature = |random| Signature { random, ..Signature::default() };
        let header = FlushMapHeader { database: signature(1), flush: signature(2), pages: 100 };
        let bytes = header.to_bytes();
        assert_eq!(FlushMapHeader::read(&bytes), Some(header.clone()));
        assert!(header.belongs_to(&signature(1), &signature(2)));
        assert!(!header.belongs_to(&signature(1), &signature(3)));
        assert!(!header.belongs_to(&signature(3), &signature(2)));
        assert_eq!(FlushMapHeader::read(&[0; MAP_PAGE_BYTES]), None);
    }

    #[test]
    fn flush_types_go_round() {
        assert_eq!([0, 1, 2, 3].map(next_flush_type), [1, 2, 3, 1]);
    }
}
