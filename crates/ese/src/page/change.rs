//! One atomic change of pages, and its image in the log.
//!
//! The image is a list of page entries, each followed by its ranges:
//!
//! ```text
//!  entry   page number u32 | kind u8 | ranges u16 | time before u64 | ranges ...
//!  range   offset u16 | length u16 | bytes
//! ```
//!
//! *kind* 0 changes the page as it was at *time before*; 1 continues with a page that the same
//! change has touched before; 2 starts a new page, whose former content does not matter. For 2,
//! *time before* says what the page begins with instead ([`Remains`]): 0 is a page of zeros.
//! The time after the change is common to all entries and is in the log record's head.

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use super::{Claims, PageEditor, Remains};
use crate::format::page::{DATABASE_TIME_AT, Page};

/// What an operation needs before it can continue. Nothing has been changed when a need is
/// returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// This page must be read into memory.
    Page(PageNumber),
    /// Memory for this page, whose former content does not matter.
    Fresh(PageNumber),
    /// The database must grow by at least this many pages.
    Growth(u32),
    /// This page is not what the page that led to it says it is. This cannot be satisfied: the
    /// operation ends, and the page is reported as damaged.
    Repair(PageNumber),
}

/// The pages of one database in memory.
pub trait Pages {
    fn page_size(&self) -> PageSize;

    /// The last page of the file. A page number beyond it is damage.
    fn last(&self) -> PageNumber;

    /// A page's bytes.
    ///
    /// # Errors
    /// [`Need::Page`] when it is not in memory.
    fn resident(&self, page: PageNumber) -> Result<&[u8], Need>;

    /// Checks that there is memory for a page whose former content does not matter.
    ///
    /// # Errors
    /// [`Need::Fresh`] when there is none.
    fn claimed(&self, page: PageNumber) -> Result<(), Need>;

    /// A page's bytes for changing: in place, or in a copy while a write of it is in flight.
    ///
    /// # Panics
    /// When the page is neither resident nor claimed.
    fn change(&mut self, page: PageNumber) -> &mut [u8];

    /// Time of the database's latest change.
    fn time(&self) -> DatabaseTime;

    /// What a new page begins with.
    fn remains(&self, page: PageNumber) -> Remains {
        let _ = page;
        Remains::ZEROS
    }
}

const KIND_CHANGED: u8 = 0;
const KIND_AGAIN: u8 = 1;
const KIND_FRESH: u8 = 2;
const ENTRY_HEAD: usize = 4 + 1 + 2 + 8;

/// A change in progress. Drop it without [`Change::finish`] only if no page was edited.
pub struct Change<'p, P: Pages> {
    pages: &'p mut P,
    claims: Option<&'p Claims>,
    time: DatabaseTime,
    image: Vec<u8>,
    /// Where the open entry's head is in the image.
    entry: Option<usize>,
    touched: Vec<PageNumber>,
}

impl<'p, P: Pages> Change<'p, P> {
    /// Starts a change at the tick after the database's latest.
    pub fn new(pages: &'p mut P) -> Self {
        let time = pages.time().next();
        Self {
            pages,
            claims: None,
            time,
            image: Vec::with_capacity(256),
            entry: None,
            touched: Vec::new(),
        }
    }

    /// Leaves room for the claims of open transactions.
    pub fn with_claims(self, claims: Option<&'p Claims>) -> Self {
        Self { claims, ..self }
    }

    /// Claims of open transactions on the pages.
    pub fn claims(&self) -> Option<&'p Claims> {
        self.claims
    }

    /// The pages, for reading.
    pub fn pages(&self) -> &P {
        self.pages
    }

    /// The page, read through the format.
    ///
    /// # Errors
    /// [`Need::Page`] when it is not in memory.
    pub fn page(&self, page: PageNumber) -> Result<Page<'_>, Need> {
        let size = self.pages.page_size();
        Ok(Page::new(self.pages.resident(page)?, size))
    }

    /// The time that touched pages will carry.
    pub fn time(&self) -> DatabaseTime {
        self.time
    }

    /// The edited pages, in order of first edit.
    pub(crate) fn touched(&self) -> &[PageNumber] {
        &self.touched
    }

    /// Whether any page was edited.
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Edits a resident page.
    ///
    /// # Panics
    /// When the page is not resident: the caller must have read it before.
    pub fn edit(&mut self, page: PageNumber) -> PageEditor<'_> {
        let before = if self.touched.contains(&page) {
            self.open(page, KIND_AGAIN, self.time);
            self.time
        } else {
            let bytes = self.pages.resident(page).expect("an edited page is resident");
            let before = Page::new(bytes, self.pages.page_size()).database_time();
            self.open(page, KIND_CHANGED, before);
            before
        };
        debug_assert!(before <= self.time);
        self.editor(page)
    }

    /// Edits a new page: an empty one, whose body holds what [`Pages::remains`] says.
    ///
    /// # Panics
    /// When there is no memory for it, or this change has touched it before.
    pub fn fresh(&mut self, page: PageNumber) -> PageEditor<'_> {
        assert!(!self.touched.contains(&page), "page {page} is fresh and touched");
        let remains = self.pages.remains(page);
        self.open(page, KIND_FRESH, DatabaseTime(remains.to_log()));
        remains.fill(self.pages.change(page));
        self.editor(page)
    }

    /// Ends the change. Returns the touched pages, the time and the image for the log record.
    pub fn finish(mut self) -> Changed {
        self.close();
        Changed { time: self.time, touched: self.touched, image: self.image }
    }

    fn open(&mut self, page: PageNumber, kind: u8, before: DatabaseTime) {
        self.close();
        self.entry = Some(self.image.len());
        self.image.extend_from_slice(&page.0.to_le_bytes());
        self.image.push(kind);
        self.image.extend_from_slice(&[0, 0]);
        self.image.extend_from_slice(&before.0.to_le_bytes());
        if kind != KIND_AGAIN {
            self.touched.push(page);
        }
    }

    /// An editor of the open entry's page, stamped with this change's time.
    fn editor(&mut self, page: PageNumber) -> PageEditor<'_> {
        let size = self.pages.page_size();
        let bytes = self.pages.change(page);
        bytes[DATABASE_TIME_AT..DATABASE_TIME_AT + 8].copy_from_slice(&self.time.0.to_le_bytes());
        PageEditor::new(bytes, size, &mut self.image)
    }

    /// Writes the number of ranges into the open entry's head.
    fn close(&mut self) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        let mut ranges = 0_u16;
        let mut at = entry + ENTRY_HEAD;
        while at < self.image.len() {
            let length = u16::from_le_bytes([self.image[at + 2], self.image[at + 3]]);
            at += 4 + usize::from(length);
            ranges += 1;
        }
        self.image[entry + 5..entry + 7].copy_from_slice(&ranges.to_le_bytes());
    }
}

/// A finished change.
#[derive(Debug)]
pub struct Changed {
    /// The time that the touched pages now carry.
    pub time: DatabaseTime,
    /// Each touched page once, in the order of first touch.
    pub touched: Vec<PageNumber>,
    /// The image; see [`PageChanges`].
    pub image: Vec<u8>,
}

/// One page's part of a change, read back from the log.
#[derive(Clone, Copy, Debug)]
pub struct PageChange<'a> {
    pub page: PageNumber,
    /// What the page begins with, if it is new.
    pub fresh: Option<Remains>,
    /// Whether an earlier entry of the same change concerned the same page.
    pub is_again: bool,
    /// The page's time before the change; of no meaning if it is new.
    pub before: DatabaseTime,
    count: u16,
    ranges: &'a [u8],
}

/// Bytes and their offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'a> {
    /// First byte in the page.
    pub offset: usize,
    /// The bytes to write.
    pub bytes: &'a [u8],
}

impl<'a> PageChange<'a> {
    /// The ranges in write order. Lengths were checked when the entry was read.
    pub fn ranges(&self) -> impl Iterator<Item = Range<'a>> {
        let mut rest = self.ranges;
        (0..self.count).map(move |_| {
            let offset = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
            let length = usize::from(u16::from_le_bytes([rest[2], rest[3]]));
            let bytes = &rest[4..4 + length];
            rest = &rest[4 + length..];
            Range { offset, bytes }
        })
    }

    /// Writes this part into the page's bytes, whatever their content, and stamps them with `time`.
    pub fn apply(&self, page: &mut [u8], time: DatabaseTime) {
        if let Some(remains) = self.fresh {
            remains.fill(page);
        }
        for Range { offset, bytes } in self.ranges() {
            page[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        page[DATABASE_TIME_AT..DATABASE_TIME_AT + 8].copy_from_slice(&time.0.to_le_bytes());
    }
}

/// Reads a change's image. Yields `None` once where the bytes are malformed for pages of this size,
/// then ends.
pub struct PageChanges<'a> {
    rest: &'a [u8],
    size: PageSize,
}

impl<'a> PageChanges<'a> {
    /// The parts of `image`, for pages of `size`.
    pub fn new(image: &'a [u8], size: PageSize) -> Self {
        Self { rest: image, size }
    }

    fn entry(&mut self) -> Option<PageChange<'a>> {
        let (head, mut rest) = self.rest.split_at_checked(ENTRY_HEAD)?;
        let page = PageNumber(u32::from_le_bytes(head[..4].try_into().ok()?));
        let kind = head[4];
        let count = u16::from_le_bytes([head[5], head[6]]);
        let before = DatabaseTime(u64::from_le_bytes(head[7..].try_into().ok()?));
        let ranges = rest;
        for _ in 0..count {
            let (head, after) = rest.split_at_checked(4)?;
            let offset = usize::from(u16::from_le_bytes([head[0], head[1]]));
            let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
            if offset + length > self.size.bytes() {
                return None;
            }
            rest = after.get(length..)?;
        }
        let ranges = &ranges[..ranges.len() - rest.len()];
        self.rest = rest;
        let known = matches!(kind, KIND_CHANGED | KIND_AGAIN | KIND_FRESH) && page.is_some();
        known.then_some(PageChange {
            page,
            fresh: (kind == KIND_FRESH).then(|| Remains::from_log(before.0)),
            is_again: kind == KIND_AGAIN,
            before,
            count,
            ranges,
        })
    }
}

impl<'a> Iterator for PageChanges<'a> {
    type Item = Option<PageChange<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry)
    }
}
