//! Torn pages with a valid checksum.
//!
//! A page's checksum has blind spots: swapping two words leaves it unchanged if they differ in an
//! even number of bits. Sectors of two versions can differ in just that, such as the tags of a
//! small page whose nodes have swapped places. The first sector of such a page names a version, and
//! redo would trust it.
//!
//! ```text
//!   log, since checkpoint       c1      c2      c3      c4       the page says that it is of version 3
//!   found                   [ 3 | 3 | 1 | 3 ... ]                c2 wrote into sector 2, and it is not there
//! ```
//!
//! So when redo skips a change because the page already has it, the change is compared with the
//! page. From the first missing byte on, everything that the log writes into the page is kept. Once
//! the log has reached the page's version, either a later record has overwritten the missing bytes,
//! or the page is a mixture and gets the content of its version. Sectors of *later* versions need
//! no care: later records rewrite them. Memory use is at most the log between checkpoint and page.

use std::collections::BTreeMap;

use brunt_units::PageNumber;

use crate::page::{PageChange, Range};

/// Storage writes whole sectors, and the first one holds the page's version.
const SECTOR: usize = 512;

/// Bytes and their offset.
type Written = (usize, Vec<u8>);

/// Logged bytes that are missing from pages of a later version.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    pages: BTreeMap<(u8, PageNumber), Vec<Written>>,
}

impl Doubts {
    /// Called when redo skips a change because `page` claims to have it.
    pub(super) fn pass(&mut self, database: u8, change: &PageChange<'_>, page: &[u8]) {
        let key = (database, change.page);
        for range in change.ranges() {
            let Some((offset, bytes)) = behind_first_sector(range) else {
                continue;
            };
            let is_there = page[offset..offset + bytes.len()] == *bytes;
            match self.pages.get_mut(&key) {
                Some(written) => written.push((offset, bytes.to_vec())),
                None if is_there => {}
                None => drop(self.pages.insert(key, vec![(offset, bytes.to_vec())])),
            }
        }
    }

    /// Called when the log has reached the version of `page`. Returns the right content if the page
    /// is a mixture.
    pub(super) fn settle(
        &mut self,
        database: u8,
        number: PageNumber,
        page: &[u8],
    ) -> Option<Vec<u8>> {
        let written = self.pages.remove(&(database, number))?;
        let mut right = page.to_vec();
        for (offset, bytes) in written {
            right[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        (right != page).then_some(right)
    }
}

/// The part of a range after the first sector.
fn behind_first_sector(range: Range<'_>) -> Option<(usize, &[u8])> {
    let skipped = SECTOR.saturating_sub(range.offset);
    let bytes = range.bytes.get(skipped..).filter(|bytes| !bytes.is_empty())?;
    Some((range.offset + skipped, bytes))
}

#[cfg(test)]
mod tests {
    use brunt_units::{DatabaseTime, PageSize};

    use super::*;
    use crate::format::checksum::{self, Diagnosis};
    use crate::page::PageChanges;

    const PAGE: PageNumber = PageNumber(9);

    /// Log image of a change to one page.
    fn image(ranges: &[(u16, &[u8])]) -> Vec<u8> {
        let mut image = PAGE.0.to_le_bytes().to_vec();
        image.push(0);
        image.extend(u16::try_from(ranges.len()).unwrap().to_le_bytes());
        image.extend(DatabaseTime(1).0.to_le_bytes());
        for (offset, bytes) in ranges {
            image.extend(offset.to_le_bytes());
            image.extend(u16::try_from(bytes.len()).unwrap().to_le_bytes());
            image.extend(*bytes);
        }
        image
    }

    /// What the page should be after redo has skipped `changes`, each a list of ranges.
    fn settled(page: &[u8], changes: &[&[(u16, &[u8])]]) -> Option<Vec<u8>> {
        let mut doubts = Doubts::default();
        for ranges in changes {
            let image = image(ranges);
            for change in PageChanges::new(&image, PageSize::KIB_4) {
                doubts.pass(0, &change.expect("it makes sense"), page);
            }
        }
        let right = doubts.settle(0, PAGE, page);
        assert!(doubts.pages.is_empty());
        right
    }

    fn page(bytes: &[(usize, u8)]) -> Vec<u8> {
        let mut page = vec![0; 4096];
        bytes.iter().for_each(|(at, byte)| page[*at] = *byte);
        page
    }

    #[test]
    fn a_page_that_has_it_all_is_left_alone() {
        let whole = page(&[(600, 2), (700, 1)]);
        assert_eq!(settled(&whole, &[&[(600, &[2]), (700, &[1])]]), None);
        // A later record overwrites the missing bytes.
        let changes: [&[(u16, &[u8])]; 2] = [&[(600, &[1]), (700, &[1])], &[(600, &[2])]];
        assert_eq!(settled(&whole, &changes), None);
    }

    #[test]
    fn a_sector_of_an_earlier_version_is_brought_up() {
        let old = page(&[(600, 2)]);
        let changes: [&[(u16, &[u8])]; 3] = [&[(700, &[1])], &[(701, &[5])], &[(701, &[0])]];
        assert_eq!(settled(&old, &changes), Some(page(&[(600, 2), (700, 1)])));
    }

    /// How such pages arise: a page of version 2 with a last sector of version 1, in which two tags
    /// are swapped.
    #[test]
    fn a_checksum_does_not_see_that_words_have_changed_places() {
        let (size, tags) = (PageSize::KIB_4, [0x0018_000A_u32, 0x0024_000A]);
        let mut page = page(&[(37, 0x28)]);
        page[4080..4084].copy_from_slice(&tags[0].to_le_bytes());
        page[4084..4088].copy_from_slice(&tags[1].to_le_bytes());
        checksum::seal(&mut page, size, PAGE);
        page[4080..4084].copy_from_slice(&tags[1].to_le_bytes());
        page[4084..4088].copy_from_slice(&tags[0].to_le_bytes());
        assert_eq!(checksum::diagnose(&page, size, PAGE), Diagnosis::Sound);
    }

    #[test]
    fn the_first_sector_is_of_the_version_that_it_says() {
        assert_eq!(settled(&page(&[]), &[&[(100, &[9; 50])]]), None);
        let found = settled(&page(&[]), &[&[(510, &[7; 4])]]);
        assert_eq!(found, Some(page(&[(512, 7), (513, 7)])));
    }
}
