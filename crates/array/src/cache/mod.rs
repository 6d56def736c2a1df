//! The cache of an array: its pages, flushing and read-ahead.
//!
//! Nothing here deals with time or drives; the array asks and acts.

pub(crate) mod flush;
pub(crate) mod pages;
pub(crate) mod prefetch;
pub(crate) mod stats;
pub(crate) mod tier;

pub use flush::{FlushPolicy, Watermarks};
pub use pages::PAGE_SECTORS_MAX;
pub use stats::CacheStats;
pub use tier::TierStats;
