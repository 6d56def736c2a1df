//! Leaving an instance without closing it, as a program that dies does: what tests of recovery begin with.
//!
//! The log is made durable to its end, so that it is known what recovery must bring back. Nothing else is done: dirty pages are
//! not written, and headers and checkpoint go on saying that the log is needed. What is in flight arrives first, because
//! whoever opens the files next must not meet it.

use super::Instance;
use crate::content::Content;
use crate::error::EngineError;

impl<C: Content> Instance<C> {
    /// Leaves the instance. The cache must have been halted ([`crate::cache::Cache::halt`]), and no operation may be under way.
    ///
    /// # Errors
    /// When the instance has failed, or its log cannot be flushed.
    pub async fn abandon(self) -> Result<(), EngineError> {
        self.end_background().await;
        if let Some(error) = self.failure() {
            return Err(error);
        }
        self.0.log.close().await?;
        self.0.cache.all_landed(self.0.options.number).await?;
        self.0.files.close().await?;
        self.0.close_databases().await
    }
}
