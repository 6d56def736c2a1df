//! Sizes of records on pages and in the log: numbers in place of the engine's bytes.
//!
//! Node sizes follow from the formats ([`crate::table::message`], [`crate::page`]), log sizes from
//! the encoding of changes ([`crate::log::record`], [`crate::page::Change`]). If a size depends on
//! the rest of the page, the mean is used. A test compares these numbers with the log bytes of the
//! engine itself.
//!
//! ```text
//!    change   4 head | 9 database, time | 4 transaction | role | for each page: 15 + ranges of 4 + bytes
//!    role     insert, delete, clean-up: 11 + key      replace: 13 + key + former data
//!    page     node | tags that move | number of tags | free bytes | first free byte
//! ```
//!
//! Engines in published tests encode their log differently: see [`super::nodes`].

use brunt_units::PageSize;

use super::nodes;
use crate::format::long_value::chunk_bytes;
use crate::format::page::{TAG_BYTES, body_bytes};
use crate::table::message::{PRIMARY_KEY_BYTES, RECEIVED_KEY_BYTES, stays_inside};

/// Length prefix of a node's key.
const NODE_HEAD: usize = 2;
/// A record without its subject and body: fixed part, NULL bits, offset of the subject, entry and
/// flags of the body.
const RECORD_HEAD: usize = 31 + 4 + 1;
/// Id of a separate body.
const BODY_ID: usize = 4;
/// Data of a branch node: the child.
const CHILD: usize = 4;
/// Root node of a body: key and data.
const BODY_ROOT: usize = 4 + 8;
/// The key of a body's chunk.
const CHUNK_KEY: usize = 8;

/// Head of a log record, database and time, transaction.
const CHANGE: usize = 4 + 9 + 4;
/// Role, tree and length of the key.
const ROLE: usize = 1 + 8 + 2;
/// Page entry of a change.
const ENTRY: usize = 15;
/// Head of a range.
const RANGE: usize = 4;
/// A range of two bytes of which about one differs.
const SMALL: usize = RANGE + 1;
/// A change of a node's flags.
const MARK: usize = ENTRY + RANGE + 1;
/// A commit record.
const COMMIT: usize = 4 + 4;

/// What log records contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogRecords {
    /// The changed bytes of pages, and the former data of a replaced record: the log of this
    /// engine.
    #[default]
    Ranges,
    /// The node that is inserted, marked or replaced: the log of Exchange's engine.
    Nodes,
}

/// The sizes of one table's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    pub page: PageSize,
    /// Fill of pages by a bulk load, in percent.
    pub fill_percent: u32,
    /// Bytes of a short pad.
    pub short: usize,
    /// Bytes of a long pad.
    pub long: usize,
    /// Content of its log records.
    pub log: LogRecords,
}

impl Measure {
    /// Bytes of data of a record with a body of `body` bytes.
    pub(super) fn record(&self, body: usize) -> usize {
        let body = if stays_inside(self.page, body) { body } else { BODY_ID };
        RECORD_HEAD + self.short + body
    }

    /// Bytes of an ordinary record on its page, including its tag.
    pub fn record_cost(&self) -> usize {
        NODE_HEAD + PRIMARY_KEY_BYTES + self.record(self.long) + TAG_BYTES
    }

    /// Bytes of an index entry on its page, including its tag.
    pub fn index_cost(&self) -> usize {
        NODE_HEAD + RECEIVED_KEY_BYTES + PRIMARY_KEY_BYTES + TAG_BYTES
    }

    /// Bytes of a child on a branch page, with a separator of `separator` bytes.
    fn branch_cost(separator: usize) -> usize {
        NODE_HEAD + separator + CHILD + TAG_BYTES
    }

    /// Nodes of `cost` bytes on a full page.
    pub fn full(&self, cost: usize) -> u32 {
        let room = body_bytes(self.page) - TAG_BYTES;
        u32::try_from(room.div_euclid(cost).max(1)).expect("a page holds few nodes")
    }

    /// Nodes of `cost` bytes on a bulk-loaded page.
    pub fn loaded(&self, cost: usize) -> u32 {
        let room = (body_bytes(self.page) * self.fill_percent as usize).div_euclid(100) - TAG_BYTES;
        u32::try_from(room.div_euclid(cost).max(1)).expect("a page holds few nodes")
    }

    /// Children of a branch page above `leaves` leaves with the shortest possible separators.
    pub fn fanout(&self, leaves: u64) -> u32 {
        let bits = u64::BITS - leaves.leading_zeros();
        // The segment byte, then as much of the key as distinguishes neighbours.
        let separator = 1 + (bits as usize).div_ceil(8) + 1;
        self.loaded(Self::branch_cost(separator)).max(2)
    }

    /// Pages of a body of `body` bytes besides its record: whole chunks, the last page shared with
    /// other bodies.
    pub fn body_pages(&self, body: usize) -> f64 {
        if stays_inside(self.page, body) {
            return 0.0;
        }
        let chunks = body.div_ceil(chunk_bytes(self.page));
        let bytes =
            body + BODY_ROOT + NODE_HEAD + TAG_BYTES + chunks * (CHUNK_KEY + NODE_HEAD + TAG_BYTES);
        bytes as f64 / (body_bytes(self.page) - TAG_BYTES) as f64
    }

    /// Log of inserting a node with `behind` nodes after it.
    fn put(node: usize, behind: u32) -> usize {
        ENTRY + RANGE + node + RANGE + (behind as usize + 1) * TAG_BYTES + 3 * SMALL
    }

    /// Log of removing a node with `behind` nodes after it.
    fn take(behind: u32) -> usize {
        ENTRY + RANGE + behind as usize * TAG_BYTES + 2 * SMALL
    }

    /// Mean number of nodes after one on a bulk-loaded page: half of its nodes.
    fn behind(&self, cost: usize) -> u32 {
        self.loaded(cost).div_euclid(2)
    }

    /// Log of an insert: record, index entry with `behind` entries after it, body.
    pub fn insert_log(&self, body: usize, behind: u32) -> usize {
        if self.log == LogRecords::Nodes {
            return nodes::insert(self, body);
        }
        let node = NODE_HEAD + PRIMARY_KEY_BYTES + self.record(body);
        let record =
            CHANGE + ROLE + PRIMARY_KEY_BYTES + Self::put(node, self.behind(self.record_cost()));
        let entry = RECEIVED_KEY_BYTES + PRIMARY_KEY_BYTES;
        let index = CHANGE + ROLE + entry + Self::put(NODE_HEAD + entry, behind);
        record + index + self.body_log(body) + COMMIT
    }

    /// Log of a separate body.
    fn body_log(&self, body: usize) -> usize {
        if stays_inside(self.page, body) {
            return 0;
        }
        let chunks = body.div_ceil(chunk_bytes(self.page));
        let each = CHANGE + ROLE + CHUNK_KEY + Self::put(NODE_HEAD + CHUNK_KEY, 0);
        let root = CHANGE + ROLE + Self::put(NODE_HEAD + BODY_ROOT, 0);
        body + chunks * each + root
    }

    /// Log of a delete until its commit: marks.
    pub fn delete_log(&self, body: usize) -> usize {
        if self.log == LogRecords::Nodes {
            return nodes::mark(self, body);
        }
        let each = CHANGE + ROLE + MARK;
        2 * each
            + 2 * PRIMARY_KEY_BYTES
            + RECEIVED_KEY_BYTES
            + COMMIT
            + self.chunks(body) * (each + CHUNK_KEY)
    }

    /// Log of a delete after its commit: entries are removed, with `behind` entries after that of
    /// the index.
    pub fn clean_up_log(&self, body: usize, behind: u32) -> usize {
        if self.log == LogRecords::Nodes {
            return nodes::clean_up(self, body);
        }
        let each = CHANGE + ROLE;
        let record = each + PRIMARY_KEY_BYTES + Self::take(self.behind(self.record_cost()));
        let index = each + PRIMARY_KEY_BYTES + RECEIVED_KEY_BYTES + Self::take(behind);
        record + index + self.chunks(body) * (each + CHUNK_KEY + Self::take(0))
    }

    /// Nodes of a separate body.
    pub(super) fn chunks(&self, body: usize) -> usize {
        match stays_inside(self.page, body) {
            true => 0,
            false => 1 + body.div_ceil(chunk_bytes(self.page)),
        }
    }

    /// Log of a replacement: the former record and the new one.
    pub fn replace_log(&self, body: usize) -> usize {
        if self.log == LogRecords::Nodes {
            return nodes::replace(self, body);
        }
        let record = self.record(body);
        let record =
            CHANGE + ROLE + PRIMARY_KEY_BYTES + 2 + record + ENTRY + RANGE + self.short + record
                - self.short
                - 24;
        let apart = match stays_inside(self.page, body) {
            true => 0,
            false => 2 * body + self.chunks(body) * (CHANGE + ROLE + CHUNK_KEY + 2 + ENTRY + RANGE),
        };
        record + apart + COMMIT
    }

    /// Log of a split of a leaf whose nodes take `cost` bytes each: half a page of nodes moves to
    /// the new page.
    pub fn split_log(&self, cost: usize) -> usize {
        if self.log == LogRecords::Nodes {
            return nodes::SPLIT;
        }
        let moved = (self.full(cost) as usize * cost).div_euclid(2);
        // Left page, new page, parent, and the link of the next page.
        moved + 4 * ENTRY + 8 * RANGE + Self::put(NODE_HEAD + 8, self.behind(Self::branch_cost(6)))
    }

    /// Additional log when the last record of a leaf is removed, and the leaf with it.
    pub fn unlink_log(&self) -> usize {
        if self.log == LogRecords::Nodes {
            return nodes::SPLIT;
        }
        // The leaf's flags and links, the links of its neighbours, the parent, and the free
        // extents.
        3 * ENTRY + 6 * RANGE + 20 + Self::take(self.behind(Self::branch_cost(6))) + ENTRY + 40
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;
    use crate::format::page::PageFlags;
    use crate::tree::testing::{Database, Plan};
    use crate::tree::{self, TreeId};

    /// Random inserts into a real tree, compared with the encoded changes of its pages.
    #[test]
    fn inserts_and_splits_are_as_long_in_the_log_as_the_engines() {
        for page in [PageSize::KIB_4, PageSize::KIB_8] {
            let measure =
                Measure { page, fill_percent: 80, short: 200, long: 800, log: LogRecords::Ranges };
            let plans = [Plan { parent: TreeId::DATABASE, flags: PageFlags(0) }];
            let mut database = Database::new(page, &plans);
            let tree = database.trees[0];
            let mut draw = Streams::new(1).named("records");
            let mut data = vec![0; measure.record(measure.long)];
            // Count and bytes of inserts without a split and with one.
            let mut seen = [(0_usize, 0_usize); 2];
            for _ in 0..12_000 {
                let key = [&[0x7F][..], &draw.bits().to_be_bytes()].concat();
                draw.fill(&mut data);
                let before = database.pages.log.len();
                database.run(|change| tree::insert(change, tree, &key, &data));
                let images = database.pages.log[before..].iter();
                let bytes: usize = images.map(|(_, image)| image.len()).sum();
                let slot = &mut seen[usize::from(bytes > data.len() + page.bytes().div_euclid(8))];
                *slot = (slot.0 + 1, slot.1 + bytes);
            }
            let mean = |(count, bytes): (usize, usize)| bytes as f64 / count as f64;
            let node = NODE_HEAD + PRIMARY_KEY_BYTES + data.len();
            let insert = Measure::put(node, measure.behind(measure.record_cost()));
            let split = insert + measure.split_log(measure.record_cost());
            for (mean, ours) in [(mean(seen[0]), insert), (mean(seen[1]), split)] {
                let ratio = ours as f64 / mean;
                assert!((ratio - 1.0).abs() < 0.05, "{page}: {ours} for {mean:.0}");
            }
        }
    }
}
