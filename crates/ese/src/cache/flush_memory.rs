//! What each page's latest write looked like, to detect a lost write when the page is read again.
//!
//! The flush type of a page cycles through 1, 2, 3 with each write, so a lost write is detected
//! unless three in a row are lost. A few bits of the page's database time catch most of those too.
//! One byte per page:
//!
//! ```text
//!   bits 0-1  flush type, 0 = unknown      bit 2  time known      bits 3-7  low bits of the database time
//! ```
//!
//! The flush map on disk stores the two type bits ([`crate::format::flush_map`]). Map pages that
//! differ from the disk are remembered, and written in one pass each time the checkpoint moves.
//! Ghost pages have no content to compare, so for them only the set of changed map pages is kept.

use std::collections::BTreeSet;

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use crate::content::Content;
use crate::format::flush_map::{
    MAP_PAGE_BYTES, MapPlace, PAGES_PER_MAP_PAGE, flush_type, seal_map_page, set_flush_types,
    sound_map_page,
};
use crate::policy::coalesce::{self, Limits, Run};
use crate::policy::patch::low_bits;

/// The memory of one database's page writes.
#[derive(Clone, Debug)]
pub struct FlushMemory {
    /// Whether pages have content that distinguishes writes.
    tells: bool,
    pages: Vec<u8>,
    /// Map pages that differ from those on disk.
    dirty: BTreeSet<u32>,
}

const TIME_KNOWN: u8 = 1 << 2;

/// Map pages in one write, and unchanged ones that may fill its gaps.
const TOGETHER: Limits = Limits { max_bytes: 512 << 10, max_gap_bytes: 64 << 10 };

impl FlushMemory {
    /// An empty memory for pages of content `C`.
    pub fn new<C: Content>() -> Self {
        Self { tells: C::TELLS_WRITES, pages: Vec::new(), dirty: BTreeSet::new() }
    }

    /// The known flush type of a page; 0 if unknown.
    pub fn flush_type(&self, page: PageNumber) -> u8 {
        self.pages.get(page.0 as usize).map_or(0, |byte| byte & 3)
    }

    /// Records that the page is being written with this flush type and time.
    pub fn written(&mut self, page: PageNumber, flush_type: u8, time: Option<DatabaseTime>) {
        self.dirty.insert(MapPlace::of(page).map_page);
        if !self.tells {
            return;
        }
        let at = page.0 as usize;
        if self.pages.len() <= at {
            self.pages.resize(at + 1, 0);
        }
        let time = time.map_or(0, |time| TIME_KNOWN | shifted_bits(time));
        self.pages[at] = (flush_type & 3) | time;
    }

    /// Learns a map page from disk; ignores one with a wrong checksum.
    pub fn learn(&mut self, map_page: u32, bytes: &[u8]) {
        if sound_map_page(bytes, map_page).is_none() {
            return;
        }
        let first = map_page * PAGES_PER_MAP_PAGE + 1;
        let end = (first + PAGES_PER_MAP_PAGE) as usize;
        if self.pages.len() < end {
            self.pages.resize(end, 0);
        }
        for entry in 0..PAGES_PER_MAP_PAGE {
            self.pages[(first + entry) as usize] = flush_type(bytes, entry);
        }
    }

    /// The map pages to write, in as few writes as possible. They count as written from now on.
    ///
    /// In a large database nearly all of them change between two checkpoints; one at a time they
    /// would cost as much as the pages they describe. A few unchanged ones are rewritten to join
    /// two runs.
    pub fn take_dirty(&mut self) -> Vec<Run> {
        let dirty = std::mem::take(&mut self.dirty).into_iter();
        let dirty: Vec<_> = dirty.map(PageNumber).collect();
        let mut runs = Vec::new();
        coalesce::reads(&dirty, PageSize::KIB_8, TOGETHER, &mut runs);
        runs
    }

    /// Map pages as they must be on disk.
    pub fn render(&self, run: Run, time: DatabaseTime) -> Vec<u8> {
        let mut bytes = vec![0; run.count as usize * MAP_PAGE_BYTES];
        if self.tells {
            for (page, bytes) in run.pages().zip(bytes.chunks_exact_mut(MAP_PAGE_BYTES)) {
                self.render_page(page.0, time, bytes);
            }
        }
        bytes
    }

    fn render_page(&self, map_page: u32, time: DatabaseTime, bytes: &mut [u8]) {
        let first = (map_page * PAGES_PER_MAP_PAGE + 1) as usize;
        let known = self.pages.get(first..).unwrap_or_default();
        let count = known.len().min(PAGES_PER_MAP_PAGE as usize);
        set_flush_types(bytes, &known[..count]);
        seal_map_page(bytes, map_page, time);
    }

    /// Forgets the flush type learned from disk. A write since then stays known, since its time is
    /// known.
    pub fn forget_learned(&mut self, page: PageNumber) {
        let byte = self.pages.get_mut(page.0 as usize);
        if let Some(byte) = byte.filter(|byte| **byte != 0 && **byte & TIME_KNOWN == 0) {
            *byte = 0;
            self.dirty.insert(MapPlace::of(page).map_page);
        }
    }

    /// Low bits of the page's time at its last write, if known.
    pub fn low_bits(&self, page: PageNumber) -> Option<u8> {
        let byte = self.pages.get(page.0 as usize).copied().unwrap_or_default();
        (byte & 3 != 0 && byte & TIME_KNOWN != 0).then_some(byte >> 3)
    }

    /// Whether a page that was read can be the one last written.
    pub fn agrees(&self, page: PageNumber, flush_type: u8, time: Option<DatabaseTime>) -> bool {
        let Some(&byte) = self.pages.get(page.0 as usize) else {
            return true;
        };
        let known = byte & 3;
        let type_agrees = known == 0 || flush_type == 0 || known == flush_type;
        let time_known = known != 0 && byte & TIME_KNOWN != 0;
        let time_agrees = !time_known || time.is_none_or(|time| byte & !7 == shifted_bits(time));
        type_agrees && time_agrees
    }
}

fn shifted_bits(time: DatabaseTime) -> u8 {
    low_bits(time) << 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Bytes, Ghost};

    #[test]
    fn what_is_rendered_is_learned() {
        let mut memory = FlushMemory::new::<Bytes>();
        let pages =
            [PageNumber(1), PageNumber(PAGES_PER_MAP_PAGE), PageNumber(PAGES_PER_MAP_PAGE + 1)];
        for (page, flush_type) in pages.into_iter().zip(1..) {
            memory.written(page, flush_type, Some(DatabaseTime(9)));
        }
        let run = |first, count| Run { first: PageNumber(first), count };
        assert_eq!(memory.take_dirty(), [run(0, 2)]);
        assert_eq!(memory.take_dirty(), []);
        let mut learned = FlushMemory::new::<Bytes>();
        let mut rendered = memory.render(run(0, 2), DatabaseTime(9));
        rendered[MAP_PAGE_BYTES + 5000] ^= 4;
        for (index, bytes) in (0..).zip(rendered.chunks_exact(MAP_PAGE_BYTES)) {
            learned.learn(index, bytes);
        }
        assert_eq!(pages.map(|page| learned.flush_type(page)), [1, 2, 0]);
    }

    #[test]
    fn map_pages_that_are_near_each_other_are_written_together() {
        let mut memory = FlushMemory::new::<Ghost>();
        for map_page in [0, 1, 3, 12, 200] {
            let page = PageNumber(map_page * PAGES_PER_MAP_PAGE + 7);
            memory.written(page, 1, None);
            assert_eq!(memory.flush_type(page), 0, "nothing to tell");
        }
        let runs = memory.take_dirty();
        let seen: Vec<_> = runs.iter().map(|run| (run.first.0, run.count)).collect();
        assert_eq!(seen, [(0, 13), (200, 1)]);
        let bytes = memory.render(runs[0], DatabaseTime(1));
        assert_eq!(bytes.len(), 13 * MAP_PAGE_BYTES);
    }

    #[test]
    fn a_lost_write_is_noticed_and_an_unknown_page_is_not_accused() {
        let mut memory = FlushMemory::new::<Bytes>();
        let page = PageNumber(9);
        assert!(memory.agrees(page, 2, Some(DatabaseTime(5))));
        memory.written(page, 2, Some(DatabaseTime(100)));
        assert!(memory.agrees(page, 2, Some(DatabaseTime(100))));
        assert_eq!(memory.low_bits(page), Some(100 % 32));
        assert!(!memory.agrees(page, 1, Some(DatabaseTime(99))), "the write before");
        assert!(!memory.agrees(page, 2, Some(DatabaseTime(97))), "three writes before");
        memory.written(page, 3, None);
        assert!(memory.agrees(page, 3, Some(DatabaseTime(1))));
        assert_eq!(memory.low_bits(page), None);
        memory.forget_learned(page);
        assert!(memory.agrees(page, 1, Some(DatabaseTime(0))));
    }
}
