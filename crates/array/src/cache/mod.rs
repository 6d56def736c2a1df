//! The cache of an array: pages, when they are flushed, and what is read ahead.
//!
//! Nothing here knows time or drives; the array asks and does.

pub(crate) mod flush;
pub(crate) mod pages;
pub(crate) mod prefetch;
pub(crate) mod stats;
pub(crate) mod tier;

pub use flush::{FlushPolicy, Watermarks};
pub use pages::PAGE_SECTORS_MAX;
pub use stats::CacheStats;
pub use tier::TierStats;
