//! What a cache needs of a log: pages are written after the log that covers them.

use std::future::Future;
use std::pin::Pin;

use brunt_units::LogPosition;

use crate::error::EngineError;

/// The log that covers the pages of a database: a page is written when its last record is durable.
///
/// A passive copy is covered by logs that were durable before they arrived.
pub trait WriteAhead {
    /// Every record before this position is durable.
    fn durable(&self) -> LogPosition;

    /// Makes everything up to `end` durable.
    ///
    /// # Errors
    /// When the log has failed.
    fn flushed(&self, end: LogPosition) -> Flushed;
}

/// A flush that was asked for.
pub type Flushed = Pin<Box<dyn Future<Output = Result<(), EngineError>>>>;
