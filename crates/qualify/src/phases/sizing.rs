//! The number of records in a database of a given size.
//!
//! A scenario gives the size of a database in bytes, but a bulk load must know the number of
//! records beforehand. So the pages that records take are computed the way the load fills them:
//! nodes of one size, whole nodes on each page, pages filled to a share.
//!
//! ```text
//!    tree       one node for a record of the workload
//!    records    2 + 9 key + 41 fixed and column heads + 4 body's id + subject
//!    bodies     root: 2 + 4 key + 8, and for each chunk: 2 + 8 key + bytes      (only bodies that leave their record)
//!    index      2 + 14 key + 9
//! ```
//!
//! Every node takes another 4 bytes for its tag. Branch pages are a few per thousand and are
//! counted as such. The result is within a few percent of what the load writes, as a test checks.

use brunt_ese::format::long_value::chunk_bytes;
use brunt_ese::format::page::{TAG_BYTES, body_bytes};
use brunt_ese::table::message::stays_inside;
use brunt_units::{ByteSize, PageSize};
use brunt_workload::content::Shape;

/// Fill of pages in percent: that of trees with random keys, ln 2 (Yao, "On random 2-3 trees",
/// 1978). Fuller pages would be split by the first inserts that meet, and a large database would
/// never recover from that.
pub const FILL_PERCENT: u32 = 70;

/// Pages of the system's trees, and of the roots and space trees of ours.
const SYSTEM_PAGES: u64 = 48;
/// The database header and its copy.
const HEADER_PAGES: u64 = 2;
/// Branch pages per leaf, at most: even on the smallest pages a branch holds more than 100
/// separators.
const BRANCHES_PER_LEAF: f64 = 0.01;

const NODE_HEAD: u32 = 2;
/// Head, offset of variable columns, fixed columns, nulls, one variable offset, one tagged entry
/// with its flags.
const RECORD_HEAD: u32 = 2 + 2 + 24 + 1 + 2 + 4 + 1;
const PRIMARY_KEY: u32 = 9;
const INDEX_KEY: u32 = 14;
const BODY_ID: u32 = 4;
const CHUNK_KEY: u32 = 8;
const BODY_ROOT: u32 = 4 + 8;

/// What a new database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    pub records: u64,
    /// Free pages after them.
    pub free_pages: u32,
}

/// The initial content of a database of `size` with pages of `page`: at least one record.
pub fn amount(size: ByteSize, page: PageSize, shape: &Shape) -> Amount {
    let pages = page.pages_in(size).saturating_sub(HEADER_PAGES);
    let room = pages.saturating_sub(SYSTEM_PAGES);
    let each = pages_per_record(page, shape);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float cast saturates, and is not below zero"
    )]
    let records = ((room as f64 / each) as u64).max(1);
    let used = SYSTEM_PAGES as f64 + records as f64 * each;
    #[expect(clippy::cast_possible_truncation, reason = "fewer pages than a database can have")]
    let used = used.ceil() as u64;
    let free = u32::try_from(pages.saturating_sub(used)).unwrap_or(u32::MAX);
    Amount { records, free_pages: free }
}

/// Bytes of a database per record, with pages filled as by a bulk load.
pub fn bytes_per_record(page: PageSize, shape: &Shape) -> f64 {
    pages_per_record(page, shape) * page.bytes() as f64
}

fn pages_per_record(page: PageSize, shape: &Shape) -> f64 {
    let record = NODE_HEAD + PRIMARY_KEY + RECORD_HEAD + shape.short;
    let inside = match stays_inside(page, shape.long as usize) {
        true => shape.long,
        false => BODY_ID,
    };
    let leaves = node_pages(page, &[record + inside])
        + apart_pages_per_record(page, shape)
        + node_pages(page, &[NODE_HEAD + INDEX_KEY + PRIMARY_KEY]);
    leaves * (1.0 + BRANCHES_PER_LEAF)
}

/// Mean number of pages per record for bodies outside their record.
pub fn apart_pages_per_record(page: PageSize, shape: &Shape) -> f64 {
    let large = match shape.large_one_in {
        0 => 0.0,
        one_in => 1.0 / f64::from(one_in),
    };
    let long = shape.long as usize;
    let usual = match stays_inside(page, long) {
        true => 0.0,
        false => body_pages(page, long),
    };
    let large_mean = (shape.large_min as usize).midpoint(shape.large_max as usize);
    (1.0 - large) * usual + large * body_pages(page, large_mean)
}

fn body_pages(page: PageSize, body: usize) -> f64 {
    let root = NODE_HEAD + BODY_ROOT;
    let chunk = |bytes: usize| {
        NODE_HEAD + CHUNK_KEY + u32::try_from(bytes).expect("a chunk is less than a page")
    };
    let whole = body.div_euclid(chunk_bytes(page));
    let rest = body.rem_euclid(chunk_bytes(page));
    whole as f64 + node_pages(page, &[root, chunk(rest)])
}

/// The share of a page that a group of nodes takes: whole groups on a page filled to its share, at
/// least one.
fn node_pages(page: PageSize, nodes: &[u32]) -> f64 {
    let room = body_bytes(page) * FILL_PERCENT as usize;
    let room = room.div_euclid(100);
    let tag = u32::try_from(TAG_BYTES).expect("a tag is small");
    let group: u32 = nodes.iter().map(|node| node + tag).sum();
    let fit = room.div_euclid(group as usize).max(1);
    1.0 / fit as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LARGE: Shape = Shape { large_one_in: 0, ..Shape::JETSTRESS };

    #[test]
    fn a_page_holds_whole_records() {
        // 70 % of 32 KiB hold 10 records of 2,251 bytes, or 791 index entries. 70 % of 8 KiB, where
        // such a body is outside its record, hold 22 records, 2 bodies with their roots, or 196
        // entries.
        let large = 1.0 / 10.0 + 1.0 / 791.0;
        let small = 1.0 / 22.0 + 1.0 / 2.0 + 1.0 / 196.0;
        for (page, expected) in [(PageSize::KIB_32, large), (PageSize::KIB_8, small)] {
            let each = pages_per_record(page, &NO_LARGE);
            assert!((each / expected - 1.01).abs() < 0.003, "{page}: {each}");
        }
    }

    #[test]
    fn every_size_gives_a_database_of_that_size() {
        for page in PageSize::ALL {
            for size in [1, 4, 512, 1 << 20].map(ByteSize::mib) {
                let amount = amount(size, page, &Shape::JETSTRESS);
                assert!(amount.records > 0);
                assert!(u64::from(amount.free_pages) < page.pages_in(size));
            }
        }
        let tiny = amount(ByteSize::kib(4), PageSize::KIB_4, &NO_LARGE);
        assert_eq!((tiny.records, tiny.free_pages), (1, 0));
    }
}
