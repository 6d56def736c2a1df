//! The split buffer: pages reserved for the space trees' own splits.
//!
//! ```text
//!    0  4  pages of the first run          8  4  last page of the first run
//!    4  4  pages of the second run        12  4  last page of the second run
//! ```
//!
//! Stored in tag 0 of a space tree's root. Empty runs are zero. We use the buffer of the
//! available-extents root for both space trees and leave the other zero.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/_space.hxx (`SPLIT_BUFFER`).

use brunt_units::PageNumber;

use crate::format::field::{put_u32, u32_in};
use crate::format::page::Page;
use crate::format::space::{Extent, SPLIT_BUFFER_BYTES};
use crate::page::{Change, Need, Pages};
use crate::tree::{Site, load};

use super::Space;

/// Two runs of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitBuffer {
    runs: [Option<Extent>; 2],
}

impl SplitBuffer {
    /// The split buffer in a space tree's root. `None` when tag 0 is not one.
    pub(crate) fn of(root: Page<'_>) -> Option<Self> {
        let item = root.item(0).ok().filter(|item| item.len() == SPLIT_BUFFER_BYTES)?;
        let run = |index: usize| {
            let (pages, last) = (u32_in(item, 4 * index)?, u32_in(item, 8 + 4 * index)?);
            let last = PageNumber(last);
            Some((pages > 0).then_some(Extent { last, pages }))
        };
        let runs = [run(0)?, run(1)?];
        let sensible = runs.iter().flatten().all(|run| run.pages <= run.last.0);
        sensible.then_some(Self { runs })
    }

    /// The split buffer for the space trees of `space`. Its pages must be within the file.
    ///
    /// # Errors
    /// [`Need::Page`]; [`Need::Repair`].
    pub(super) fn load<P: Pages>(pages: &P, space: Space) -> Result<Self, Need> {
        let root = space.available.root;
        let buffer = Self::of(load(pages, space.available, root)?);
        buffer
            .filter(|buffer| buffer.runs().all(|run| run.last <= pages.last()))
            .ok_or(Need::Repair(root))
    }

    /// The 16 bytes of tag 0.
    pub(crate) fn to_bytes(self) -> [u8; SPLIT_BUFFER_BYTES] {
        let mut bytes = [0; SPLIT_BUFFER_BYTES];
        for (index, run) in self.runs.iter().enumerate() {
            if let Some(run) = run {
                put_u32(&mut bytes, 4 * index, run.pages);
                put_u32(&mut bytes, 8 + 4 * index, run.last.0);
            }
        }
        bytes
    }

    /// The non-empty runs.
    pub(crate) fn runs(self) -> impl Iterator<Item = Extent> {
        self.runs.into_iter().flatten()
    }

    pub(crate) fn take(&mut self) -> Option<PageNumber> {
        let run = self.runs.iter_mut().rev().find(|run| run.is_some())?;
        let Extent { last, pages } = (*run)?;
        let first = PageNumber(last.0 - pages + 1);
        *run = (pages > 1).then_some(Extent { last, pages: pages - 1 });
        Some(first)
    }

    /// Adds a page.
    ///
    /// # Panics
    /// When both runs are in use.
    pub(crate) fn put(&mut self, page: PageNumber) {
        let slot = self.runs.iter_mut().find(|run| run.is_none());
        *slot.expect("a free run of the split buffer") = Some(Extent { last: page, pages: 1 });
    }
}

/// Puts a page that a space tree no longer needs into the split buffer. The available-extents root
/// is resident.
pub(crate) fn put_into_buffer<P: Pages>(change: &mut Change<'_, P>, site: Site, page: PageNumber) {
    let outcome = Space::of(change.pages(), site.owner).and_then(|space| {
        let mut buffer = SplitBuffer::load(change.pages(), space)?;
        buffer.put(page);
        let mut root = change.edit(space.available.root);
        root.set_external_header(&buffer.to_bytes());
        Ok(())
    });
    outcome.expect("the root was read when the change began");
}

#[cfg(test)]
mod tests {
    use brunt_units::PageSize;

    use super::*;
    use crate::format::page::{ObjectId, PageFlags};
    use crate::format::page_builder::PageBuilder;

    #[test]
    fn pages_come_out_as_they_went_in() {
        let mut buffer = SplitBuffer::default();
        assert_eq!(buffer.to_bytes(), [0; 16]);
        buffer.put(PageNumber(7));
        buffer.put(PageNumber(9));
        let mut root = PageBuilder::new(PageSize::KIB_4, ObjectId(8));
        root.flags = root.flags.with(PageFlags::ROOT);
        root.header = buffer.to_bytes().to_vec();
        let bytes = root.seal(PageNumber(3));
        let mut read = SplitBuffer::of(Page::new(&bytes, PageSize::KIB_4)).unwrap();
        assert_eq!(read, buffer);
        assert_eq!(read.take(), Some(PageNumber(9)));
        assert_eq!(read.take(), Some(PageNumber(7)));
        assert_eq!(read.take(), None);
    }

    #[test]
    fn runs_give_their_first_page() {
        let run = Extent::starting_at(PageNumber(5), 3);
        let mut buffer = SplitBuffer { runs: [Some(run), None] };
        assert_eq!(buffer.take(), Some(PageNumber(5)));
        let rest: Vec<_> = buffer.runs().collect();
        assert_eq!(rest, [Extent::starting_at(PageNumber(6), 2)]);
    }
}
