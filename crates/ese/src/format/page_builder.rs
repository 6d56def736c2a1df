//! Builds whole pages for bulk loads and tests: nodes in order, then the seal. Does not change
//! existing pages.
//!
//! A node shares the start of its key with the page's prefix if that saves more than the two bytes
//! it costs, and never on a root page, whose tag 0 is not a prefix.

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use super::checksum::seal;
use super::field::{put, put_u16, put_u32, put_u64};
use super::node::NodeFlags;
use super::page::{
    DATABASE_TIME_AT, FIRST_FREE_AT, FLAGS_AT, FREE_AT, NEXT_AT, OBJECT_AT, ObjectId, PREVIOUS_AT,
    PageFlags, TAG_BYTES, TAG_COUNT_AT, TAG_COUNT_MASK, body_bytes, header_bytes, tag_at,
};

/// Minimum length of a common prefix worth sharing.
const SHARED_MIN: usize = 3;

/// A page under construction. The public fields go into its header as they are.
#[derive(Clone, Debug)]
pub struct PageBuilder {
    /// Flags, initially [`PageFlags::ALWAYS`].
    pub flags: PageFlags,
    /// Previous page of the level.
    pub previous: PageNumber,
    /// Next page of the level.
    pub next: PageNumber,
    /// Database time of the last change.
    pub time: DatabaseTime,
    /// Tag 0: the key prefix, or a root page's space header. Set it before the first node.
    pub header: Vec<u8>,
    size: PageSize,
    object: ObjectId,
    /// Items one after another, and the end of each.
    items: Vec<u8>,
    tags: Vec<(usize, NodeFlags)>,
}

impl PageBuilder {
    /// A page without nodes, of the tree `object`.
    pub fn new(size: PageSize, object: ObjectId) -> Self {
        Self {
            flags: PageFlags::ALWAYS,
            previous: PageNumber::NONE,
            next: PageNumber::NONE,
            time: DatabaseTime::default(),
            header: Vec::new(),
            size,
            object,
            items: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// The number of nodes.
    pub fn node_count(&self) -> usize {
        self.tags.len()
    }

    /// Free bytes of the body.
    pub fn free(&self) -> usize {
        body_bytes(self.size)
            - self.header.len()
            - self.items.len()
            - TAG_BYTES * (self.tags.len() + 1)
    }

    /// Bytes of the body that a node would take, its tag included.
    pub fn cost(&self, key: &[u8], data: &[u8]) -> usize {
        let shared = self.shared(key);
        let lengths = if shared > 0 { 4 } else { 2 };
        lengths + key.len() - shared + data.len() + TAG_BYTES
    }

    /// Whether a node fits.
    pub fn fits(&self, key: &[u8], data: &[u8]) -> bool {
        self.cost(key, data) <= self.free() && self.tags.len() + 1 < TAG_COUNT_MASK.into()
    }

    /// Appends a node. The caller keeps them in order.
    ///
    /// # Panics
    /// When it does not fit.
    pub fn push(&mut self, key: &[u8], data: &[u8]) {
        assert!(self.fits(key, data), "the node fits");
        let shared = self.shared(key);
        let flags = match shared {
            0 => NodeFlags::NONE,
            _ => NodeFlags::COMPRESSED,
        };
        let own = &key[shared..];
        let flag_bits = match self.size.is_large() {
            true => flags.to_word(),
            false => 0,
        };
        let word = |length: usize| u16::try_from(length).expect("a key fits on a page");
        if shared > 0 {
            self.items.extend((word(shared) | flag_bits).to_le_bytes());
            self.items.extend(word(own.len()).to_le_bytes());
        } else {
            self.items.extend((word(own.len()) | flag_bits).to_le_bytes());
        }
        self.items.extend(own);
        self.items.extend(data);
        self.tags.push((self.items.len(), flags));
    }

    /// The page, sealed as page `number`.
    pub fn seal(&self, number: PageNumber) -> Vec<u8> {
        let mut page = vec![0; self.size.bytes()];
        put_u64(&mut page, DATABASE_TIME_AT, self.time.0);
        put_u32(&mut page, PREVIOUS_AT, self.previous.0);
        put_u32(&mut page, NEXT_AT, self.next.0);
        put_u32(&mut page, OBJECT_AT, self.object.0);
        put_u32(&mut page, FLAGS_AT, self.flags.0);
        let word = |value: usize| u16::try_from(value).expect("a page is at most 32 KiB");
        put_u16(&mut page, FREE_AT, word(self.free()));
        let first_free = self.header.len() + self.items.len();
        put_u16(&mut page, FIRST_FREE_AT, word(first_free));
        put_u16(&mut page, TAG_COUNT_AT, word(self.tags.len() + 1));
        let body = header_bytes(self.size);
        put(&mut page, body, &self.header);
        put(&mut page, body + self.header.len(), &self.items);
        let mut write_tag = |index, start: usize, end: usize, flags: NodeFlags| {
            let flag_bits = match self.size.is_large() {
                true => 0,
                false => flags.to_word(),
            };
            let at = tag_at(self.size, index);
            put_u16(&mut page, at, word(end - start));
            put_u16(&mut page, at + 2, word(start) | flag_bits);
        };
        let mut start = self.header.len();
        write_tag(0, 0, start, NodeFlags::NONE);
        for (index, (end, flags)) in self.tags.iter().enumerate() {
            let end = self.header.len() + end;
            write_tag(index + 1, start, end, *flags);
            start = end;
        }
        seal(&mut page, self.size, number);
        page
    }

    /// Length of the prefix that a key shares, 0 when sharing is not worth it.
    fn shared(&self, key: &[u8]) -> usize {
        if self.flags.has(PageFlags::ROOT) {
            return 0;
        }
        let common = self.header.iter().zip(key).take_while(|(a, b)| a == b);
        let common = common.count();
        if common < SHARED_MIN { 0 } else { common }
    }
}
