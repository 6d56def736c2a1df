//! Torn pages whose checksum is right all the same.
//!
//! A page's checksum does not see everything: two words that have changed places leave it as it was, if they differ in an even
//! number of bits. Sectors of two versions can differ in just that, such as the tags of a small page whose nodes have changed
//! places. Such a page says that it is of the version of its first sector, and redo would build on it.
//!
//! ```text
//!   log, since checkpoint       c1      c2      c3      c4       the page says that it is of version 3
//!   found                   [ 3 | 3 | 1 | 3 ... ]                c2 wrote into sector 2, and it is not there
//! ```
//!
//! So what redo passes over, because the page has it already, is compared with the page. From the first byte that is not there
//! on, what the log writes into the page is kept; when the log has come to the version that the page says it is, either a
//! later record has accounted for those bytes, or the page is a mixture, and is made what it says it is. Sectors of *later*
//! versions need no care: the records that are to come write them anew. Memory is at most the log between checkpoint and page.

use std::collections::BTreeMap;

use brunt_units::PageNumber;

use crate::page::{PageChange, Range};

/// Storage writes sectors whole, and the first one says of which version the page is.
const SECTOR: usize = 512;

/// Bytes and where they go.
type Written = (usize, Vec<u8>);

/// What the log has written into pages that are of a later version and do not have it.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    pages: BTreeMap<(u8, PageNumber), Vec<Written>>,
}

impl Doubts {
    /// Redo passes over a change, because `page` says that it has it.
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

    /// The log has come to the version that `page` is of: what it should be, if it is a mixture.
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

/// The part of a range that lies behind the first sector.
fn behind_first_sector(range: Range<'_>) -> Option<(usize, &[u8])> {
    let skipped = SECTOR.saturating_sub(range.offset);
    let bytes = range
        .bytes
        .get(skipped..)
        .filter(|bytes| !bytes.is_empty())?;
    Some((range.offset + skipped, bytes))
}

#[cfg(test)]
mod tests {
    use brunt_units::{DatabaseTime, PageSize};

    use super::*;
    use crate::format::checksum::{self, Diagnosis};
    use crate::page::PageChanges;

    const PAGE: PageNumber = PageNumber(9);

    /// The image of a change of one page.
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

    /// What the page should be after the log has passed over `changes`, each a list of ranges.
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
        // What a later record has written over.
        let changes: [&[(u16, &[u8])]; 2] = [&[(600, &[1]), (700, &[1])], &[(600, &[2])]];
        assert_eq!(settled(&whole, &changes), None);
    }

    #[test]
    fn a_sector_of_an_earlier_version_is_brought_up() {
        let old = page(&[(600, 2)]);
        let changes: [&[(u16, &[u8])]; 3] = [&[(700, &[1])], &[(701, &[5])], &[(701, &[0])]];
        assert_eq!(settled(&old, &changes), Some(page(&[(600, 2), (700, 1)])));
    }

    /// Why there are such pages: a page of version 2 whose last sector is of version 1, where two tags stand the other way round.
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
