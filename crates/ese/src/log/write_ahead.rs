//! What the cache needs of a log: pages are written after the log that covers them.

use std::future::Future;
use std::pin::Pin;

use brunt_units::LogPosition;

use crate::error::EngineError;

/// The log that covers the pages of a database. A page may be written once its last log record is
/// durable.
///
/// A passive copy's log was durable before it arrived.
pub trait WriteAhead {
    /// Every record before this position is durable.
    fn durable(&self) -> LogPosition;

    /// Makes everything up to `end` durable.
    ///
    /// # Errors
    /// When the log has failed.
    fn flushed(&self, end: LogPosition) -> Flushed;
}

/// A requested flush.
pub type Flushed = Pin<Box<dyn Future<Output = Result<(), EngineError>>>>;
