//! What the body of a new page holds before anything is written into it.
//!
//! ESE fills a page that it takes for a tree with zeros (`CPAGE::PreInitializeNewPage_`), and the
//! zeros go as the page fills and empties: its free space then holds entries that were deleted or
//! moved. A test that is shorter than that would leave more zeros the more pages it splits, and
//! storage that compresses would write less than the setting says. So a new page begins with what
//! an old one has. The log says how it begins, so replaying gives the same bytes anywhere, with
//! nothing but the log.

use brunt_units::{DatabaseTime, PageNumber, PageSize};
use brunt_world::noise;

use crate::format::page::{TAG_BYTES, header_bytes};

/// The former content of a page, as the eight bytes that the log has for it.
///
/// ```text
///    bits 0-6   how far it compresses, in percent
///    bit  7     set, or all bits are zero: a page of zeros
///    bits 8-63  where the noise begins
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remains(u64);

const IS_NOISE: u64 = 0x80;
const PERCENT_MASK: u64 = 0x7F;

impl Remains {
    /// A page of zeros.
    pub const ZEROS: Self = Self(0);

    /// Noise for `page` at `time`, like that of no other page of a database with another `number`.
    /// Compressing saves `percent` of it.
    pub(crate) fn noise(percent: u32, number: u8, page: PageNumber, time: DatabaseTime) -> Self {
        assert!(percent <= 100, "{percent} % of a page");
        let place = u64::from(number) << 32 | u64::from(page.0);
        let start = place.wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ time.0.rotate_left(20);
        Self((start << 8) | IS_NOISE | u64::from(percent))
    }

    pub(super) fn from_log(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn to_log(self) -> u64 {
        self.0
    }

    /// Makes `page` begin like this: its header, and the empty tag 0 at its end, are zeros.
    pub(crate) fn fill(self, page: &mut [u8]) {
        page.fill(0);
        if self.0 & IS_NOISE != 0 {
            let end = page.len() - TAG_BYTES;
            // Items begin before this on small pages, so the zeros between are soon gone.
            let body = &mut page[header_bytes(PageSize::KIB_32)..end];
            // A log may say anything.
            let percent = (self.0 & PERCENT_MASK).min(100);
            let percent = u32::try_from(percent).expect("seven bits");
            noise::fill(self.0 & !0xFF, percent, 0, body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(remains: Remains) -> Vec<u8> {
        let mut page = vec![0xEE; 4096];
        remains.fill(&mut page);
        page
    }

    #[test]
    fn a_new_page_has_an_empty_header_and_no_zeros_behind_it() {
        let (page, time) = (PageNumber(7), DatabaseTime(40));
        let remains = Remains::noise(30, 2, page, time);
        let bytes = filled(remains);
        assert!(bytes[..80].iter().chain(&bytes[4092..]).all(|byte| *byte == 0));
        assert!(bytes[80..4092].windows(8).all(|word| word != [0; 8]));
        let plain = bytes.windows(8).step_by(8).filter(|word| *word == noise::PLAIN).count();
        // 3 in 10 of 501 words, and what copies take.
        assert!((150..170).contains(&plain), "{plain}");
        assert_eq!(filled(Remains::from_log(remains.to_log())), bytes);
        for other in [
            Remains::noise(30, 3, page, time),
            Remains::noise(30, 2, PageNumber(8), time),
            Remains::noise(30, 2, page, DatabaseTime(41)),
        ] {
            assert!(filled(other)[80..200] != bytes[80..200]);
        }
        assert!(filled(Remains::ZEROS).iter().all(|byte| *byte == 0));
    }
}
