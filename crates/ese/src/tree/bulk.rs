//! Building a tree from entries in order, without a log.
//!
//! ```text
//!    root | owned | available | leaf leaf leaf ... branch leaf leaf ... branch branch leaf ...
//!    made at the end          | made in this order, each once, and never visited again
//! ```
//!
//! A leaf is filled in the memory its page will be written from. When the next entry does not fit,
//! the leaf's separator goes to the open page of the level above. A level that is full is written
//! after the leaf, and its own separator goes further up. The leaf's link must skip those pages to
//! reach the next leaf, so they are counted before the leaf is sealed. Pages therefore come out in
//! the order of their numbers, and memory holds one page per level, however large the tree is.
//!
//! Keys are stored whole: a prefix of a few bytes saves little in records of hundreds, and
//! long-value trees must not have one.

mod filling;
#[cfg(test)]
mod tests;

use std::ops::Range;

use brunt_units::{DatabaseTime, PageNumber, PageSize};

use self::filling::{Filling, Heading};
use super::{TreeId, order};
use crate::format::node::{Node, NodeFlags};
use crate::format::page::{PageFlags, body_bytes};
use crate::format::space::SPACE_HEADER_BYTES;
use crate::page::node_cost;

/// How many pages a sink must have memory for, counted from the last one requested, when an entry
/// is pushed or a tree finished.
pub const PAGES_AHEAD: u32 = 16;

/// Flush type of pages written once.
pub const FLUSH_TYPE: u8 = 1;

/// Memory for the pages of a bulk load.
pub trait PageSink {
    /// The memory of page `number`, one page long. It may be requested repeatedly until a page with
    /// a higher number is; numbers never decrease.
    fn page(&mut self, number: PageNumber) -> &mut [u8];

    /// Fills the bytes `free` of a page, between its items and its tags, where nothing is stored:
    /// zeros, or what an engine leaves there.
    fn fill_free(&mut self, number: PageNumber, free: Range<usize>) {
        self.page(number)[free].fill(0);
    }
}

/// Memory for a run of consecutive pages.
#[derive(Debug)]
pub struct PageRun<'m> {
    pub first: PageNumber,
    pub size: PageSize,
    /// The memory.
    pub bytes: &'m mut [u8],
}

impl PageSink for PageRun<'_> {
    /// # Panics
    /// When the page is not in the run.
    fn page(&mut self, number: PageNumber) -> &mut [u8] {
        let index = (number.0 - self.first.0) as usize;
        &mut self.bytes[index * self.size.bytes()..][..self.size.bytes()]
    }
}

/// Options for building a tree.
#[derive(Clone, Copy, Debug)]
pub struct BulkOptions {
    pub size: PageSize,
    /// Page flags besides the position: index, long values, non-unique.
    pub kind: PageFlags,
    /// Fill of pages, in percent of their body; at most 100.
    pub fill_percent: u32,
    /// Database time of the pages.
    pub time: DatabaseTime,
}

/// A tree under construction.
#[derive(Debug)]
pub struct BulkTree {
    tree: TreeId,
    options: BulkOptions,
    /// Fill limit of a page in bytes.
    limit: usize,
    leaf: Leaf,
    /// The open branch pages, lowest level first.
    levels: Vec<Level>,
    entries: u64,
}

#[derive(Debug)]
struct Leaf {
    number: PageNumber,
    previous: PageNumber,
    /// `None` before the first entry.
    filling: Option<Filling>,
    /// The last entry's sort key.
    last: Vec<u8>,
}

/// An open branch page. Its number is known when it is full.
#[derive(Debug)]
struct Level {
    bytes: Vec<u8>,
    filling: Filling,
    /// The last separator.
    last: Vec<u8>,
}

/// A finished tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkDone {
    /// The sealed root page.
    pub root: Vec<u8>,
    /// The page after the tree's last one.
    pub next: PageNumber,
    /// Entries in the tree.
    pub entries: u64,
}

impl BulkTree {
    /// A new tree, whose pages except the root are numbered from `first`.
    ///
    /// # Panics
    /// When the fill is 0 or above 100.
    pub fn new(tree: TreeId, first: PageNumber, options: BulkOptions) -> Self {
        assert!((1..=100).contains(&options.fill_percent), "fill of {} %", options.fill_percent);
        let limit = body_bytes(options.size) * options.fill_percent as usize;
        Self {
            tree,
            options,
            limit: limit.div_euclid(100),
            leaf: Leaf {
                number: first,
                previous: PageNumber::NONE,
                filling: None,
                last: Vec::new(),
            },
            levels: Vec::new(),
            entries: 0,
        }
    }

    /// The first unfinished page: the tree's pages before it can be written.
    pub fn settled(&self) -> PageNumber {
        self.leaf.number
    }

    /// Appends an entry.
    ///
    /// # Panics
    /// When it is not above the previous entries, or does not fit on an empty page.
    pub fn push(&mut self, sink: &mut impl PageSink, key: &[u8], data: &[u8]) {
        let by_data = self.options.kind.has(PageFlags::NON_UNIQUE);
        let cost = node_cost(key, data);
        if let Some(filling) = self.leaf.filling {
            let target = order::sort_key(key, data, by_data);
            assert!(self.leaf.last.as_slice() < &*target, "entries ascend");
            if !self.takes(filling, cost, 1) {
                let separator = order::separator(&self.leaf.last, &target);
                let separator = separator.expect("entries ascend").to_vec();
                self.turn_page(sink, &separator);
            }
        }
        let page = sink.page(self.leaf.number);
        let filling = match &mut self.leaf.filling {
            Some(filling) => filling,
            none => none.insert(Filling::begin(page, self.options.size, &[])),
        };
        assert!(filling.fits(cost), "an entry of {cost} bytes");
        filling.push(page, key, data);
        self.leaf.last.clear();
        self.leaf.last.extend_from_slice(key);
        if by_data {
            self.leaf.last.extend_from_slice(data);
        }
        self.entries += 1;
    }

    /// Whether a page takes one more node within the limit. The first `least` nodes are accepted
    /// whatever their size: one on a leaf, and two on a branch page, or levels would not get
    /// smaller upwards.
    fn takes(&self, filling: Filling, cost: usize, least: usize) -> bool {
        let within = filling.used() + cost <= self.limit || filling.nodes() < least;
        within && filling.fits(cost)
    }

    fn heading(&self, flags: PageFlags) -> Heading {
        let always = PageFlags::ALWAYS.with_flush_type(FLUSH_TYPE);
        Heading {
            object: self.tree.object,
            flags: always.with(self.options.kind).with(flags),
            previous: PageNumber::NONE,
            next: PageNumber::NONE,
            time: self.options.time,
        }
    }

    /// Finishes the open leaf and any branch pages that its separator does not fit, and opens the
    /// next leaf.
    fn turn_page(&mut self, sink: &mut impl PageSink, separator: &[u8]) {
        let mut full = 0;
        let mut key_bytes = separator.len();
        while let Some(level) = self.levels.get(full)
            && !self.takes(level.filling, 2 + key_bytes + 4 + 4, 2)
        {
            key_bytes = level.last.len();
            full += 1;
        }
        let full = u32::try_from(full).expect("a tree has few levels");
        let (number, next) = (self.leaf.number, self.leaf.number.after(1 + full));
        self.close_leaf(sink, next);
        let behind = self.raise(sink, 0, separator.to_vec(), number, number.after(1));
        debug_assert_eq!(behind, next, "the link leads over the branch pages");
        self.leaf.number = next;
        self.leaf.previous = number;
        self.leaf.filling = None;
    }

    fn close_leaf(&self, sink: &mut impl PageSink, next: PageNumber) {
        let heading =
            Heading { previous: self.leaf.previous, next, ..self.heading(PageFlags::LEAF) };
        let filling = self.leaf.filling.expect("a leaf with entries");
        sink.fill_free(self.leaf.number, filling.free());
        filling.close(sink.page(self.leaf.number), self.leaf.number, heading);
    }

    /// Adds a child with its separator to level `lowest`, writes full levels starting at page
    /// `free`, and returns the page after them.
    fn raise(
        &mut self,
        sink: &mut impl PageSink,
        lowest: usize,
        mut separator: Vec<u8>,
        mut child: PageNumber,
        mut free: PageNumber,
    ) -> PageNumber {
        for index in lowest.. {
            let flags = self.branch_flags(index);
            let heading = self.heading(flags);
            let Some(level) = self.levels.get(index) else {
                self.levels.push(Level::begin(self.options.size, separator, child));
                break;
            };
            let cost = node_cost(&separator, &child.0.to_le_bytes());
            if self.takes(level.filling, cost, 2) {
                self.levels[index].push(separator, child);
                break;
            }
            let level = &mut self.levels[index];
            level.write(sink, free, heading);
            let last = std::mem::take(&mut level.last);
            *level = Level::begin(self.options.size, separator, child);
            (separator, child) = (last, free);
            free = free.after(1);
        }
        free
    }

    fn branch_flags(&self, index: usize) -> PageFlags {
        match index {
            0 => PageFlags::PARENT_OF_LEAF,
            _ => PageFlags(0),
        }
    }

    /// Finishes the last page of each level and the root. Tag 0 of the root is the space header
    /// that `header` returns for the page after the tree's last one.
    pub fn finish(
        mut self,
        sink: &mut impl PageSink,
        header: impl FnOnce(PageNumber) -> [u8; SPACE_HEADER_BYTES],
    ) -> BulkDone {
        let number = self.leaf.number;
        let Some(filling) = self.leaf.filling else {
            let root = self.root(&header(number), PageFlags::LEAF, &[]);
            return self.done(root, number);
        };
        if self.levels.is_empty() && fits_root(filling) {
            let nodes = nodes_of(sink.page(number), filling, self.options.size);
            let root = self.root(&header(number), PageFlags::LEAF, &nodes);
            return self.done(root, number);
        }
        self.close_leaf(sink, PageNumber::NONE);
        let mut free = self.raise(sink, 0, Vec::new(), number, number.after(1));
        let mut index = 0;
        while index + 1 < self.levels.len() || !fits_root(self.levels[index].filling) {
            let heading = self.heading(self.branch_flags(index));
            self.levels[index].write(sink, free, heading);
            let child = free;
            free = free.after(1);
            index += 1;
            free = self.raise(sink, index, Vec::new(), child, free);
        }
        let level = &self.levels[index];
        let nodes = nodes_of(&level.bytes, level.filling, self.options.size);
        let root = self.root(&header(free), self.branch_flags(index), &nodes);
        self.done(root, free)
    }

    /// The sealed root page.
    fn root(&self, header: &[u8], flags: PageFlags, nodes: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
        let mut page = vec![0; self.options.size.bytes()];
        let mut filling = Filling::begin(&mut page, self.options.size, header);
        for (key, data) in nodes {
            filling.push(&mut page, key, data);
        }
        let heading = self.heading(flags.with(PageFlags::ROOT));
        filling.close(&mut page, self.tree.root, heading);
        page
    }

    fn done(self, root: Vec<u8>, next: PageNumber) -> BulkDone {
        let entries = self.entries;
        BulkDone { root, next, entries }
    }
}

impl Level {
    fn begin(size: PageSize, separator: Vec<u8>, child: PageNumber) -> Self {
        let mut bytes = vec![0; size.bytes()];
        let filling = Filling::begin(&mut bytes, size, &[]);
        let mut level = Self { bytes, filling, last: Vec::new() };
        level.push(separator, child);
        level
    }

    fn push(&mut self, separator: Vec<u8>, child: PageNumber) {
        self.filling.push(&mut self.bytes, &separator, &child.0.to_le_bytes());
        self.last = separator;
    }

    fn write(&mut self, sink: &mut impl PageSink, number: PageNumber, heading: Heading) {
        sink.page(number).copy_from_slice(&self.bytes);
        sink.fill_free(number, self.filling.free());
        self.filling.close(sink.page(number), number, heading);
    }
}

/// Whether the nodes of a page fit a root, whose tag 0 is a space header.
fn fits_root(filling: Filling) -> bool {
    filling.fits(SPACE_HEADER_BYTES)
}

/// The nodes of a page whose header is not written yet.
fn nodes_of(page: &[u8], filling: Filling, size: PageSize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let items = filling.items(page, size);
    items
        .map(|item| {
            let node = Node::decode(item, NodeFlags::NONE, &[], 0).expect("we have just put it");
            (node.key.to_vec(), node.data.to_vec())
        })
        .collect()
}
