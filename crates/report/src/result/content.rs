//! What storage sees of the bytes in databases.

use serde::{Deserialize, Serialize};

/// How far storage that compresses, or finds copies, could reduce the pages of the databases after
/// the test: measured on a sample of pages, in blocks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContentNumbers {
    /// Size of the blocks, in bytes.
    pub block_bytes: u64,
    /// Blocks in the sample; pages that were never used are not in it.
    pub blocks: u64,
    /// Share of the bytes that compressing each block by itself saves, as LZ4 would, in percent.
    pub compressible_percent: f64,
    /// Share of the blocks that are copies of others in the sample, in percent.
    pub duplicate_percent: f64,
    /// Share of the blocks that lie inside the bytes of one record, in percent. Only these can be
    /// copies, unless they are blank: the others hold the header or the tags of a page, or where
    /// records meet.
    pub inside_percent: f64,
}
