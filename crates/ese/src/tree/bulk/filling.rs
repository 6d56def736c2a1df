//! One page being filled from the front, in borrowed memory with arbitrary old content.

use std::ops::Range;

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use crate::format::checksum::seal;
use crate::format::field::{put, put_u16, put_u32, put_u64, u16_at};
use crate::format::page::{
    DATABASE_TIME_AT, FIRST_FREE_AT, FLAGS_AT, FREE_AT, NEXT_AT, OBJECT_AT, ObjectId, PREVIOUS_AT,
    PageFlags, TAG_BYTES, TAG_COUNT_AT, TAG_COUNT_MASK, body_bytes, header_bytes, tag_at,
};

/// The state of a page being filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    size: PageSize,
    /// Bytes of items.
    end: usize,
    tags: usize,
}

/// Header content of a finished page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    pub(super) object: ObjectId,
    pub(super) flags: PageFlags,
    pub(super) previous: PageNumber,
    pub(super) next: PageNumber,
    pub(super) time: DatabaseTime,
}

impl Filling {
    /// Starts a page with `header` as its tag 0.
    pub(super) fn begin(page: &mut [u8], size: PageSize, header: &[u8]) -> Self {
        let mut filling = Self { size, end: 0, tags: 0 };
        put(page, header_bytes(size), header);
        filling.tag(page, header.len());
        filling
    }

    /// Nodes on the page.
    pub(super) fn nodes(self) -> usize {
        self.tags - 1
    }

    /// Bytes of items and tags.
    pub(super) fn used(self) -> usize {
        self.end + TAG_BYTES * self.tags
    }

    /// Whether a node of `cost` bytes, tag included, fits.
    pub(super) fn fits(self, cost: usize) -> bool {
        self.used() + cost <= body_bytes(self.size) && self.tags < TAG_COUNT_MASK.into()
    }

    /// Adds a node, which must fit.
    pub(super) fn push(&mut self, page: &mut [u8], key: &[u8], data: &[u8]) {
        let length = u16::try_from(key.len()).expect("a key fits on a page");
        let at = header_bytes(self.size) + self.end;
        put_u16(page, at, length);
        put(page, at + 2, key);
        put(page, at + 2 + key.len(), data);
        self.tag(page, 2 + key.len() + data.len());
    }

    /// Adds the tag of the last item.
    fn tag(&mut self, page: &mut [u8], length: usize) {
        let word = |value: usize| u16::try_from(value).expect("items lie within a page");
        let at = tag_at(self.size, self.tags);
        put_u16(page, at, word(length));
        put_u16(page, at + 2, word(self.end));
        self.end += length;
        self.tags += 1;
    }

    /// The items of the nodes, on a page whose header is not written yet.
    pub(super) fn items(self, page: &[u8], size: PageSize) -> impl Iterator<Item = &[u8]> {
        let body = &page[header_bytes(size)..];
        (1..self.tags).map(move |index| {
            let at = tag_at(size, index);
            let (length, offset) = (u16_at(page, at), u16_at(page, at + 2));
            &body[offset.into()..][..length.into()]
        })
    }

    /// The bytes between items and tags.
    pub(super) fn free(self) -> Range<usize> {
        header_bytes(self.size) + self.end..tag_at(self.size, self.tags - 1)
    }

    /// Completes and seals the page, whose free bytes are filled: header, checksum.
    pub(super) fn close(self, page: &mut [u8], number: PageNumber, heading: Heading) {
        let start = header_bytes(self.size);
        page[..start].fill(0);
        let word = |value: usize| u16::try_from(value).expect("counts lie within a page");
        put_u64(page, DATABASE_TIME_AT, heading.time.0);
        put_u32(page, PREVIOUS_AT, heading.previous.0);
        put_u32(page, NEXT_AT, heading.next.0);
        put_u32(page, OBJECT_AT, heading.object.0);
        put_u16(page, FREE_AT, word(body_bytes(self.size) - self.used()));
        put_u16(page, FIRST_FREE_AT, word(self.end));
        put_u16(page, TAG_COUNT_AT, word(self.tags));
        put_u32(page, FLAGS_AT, heading.flags.0);
        seal(page, self.size, number);
    }
}
