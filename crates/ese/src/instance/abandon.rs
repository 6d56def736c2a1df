//! Leaving an instance without closing it, like a process that dies. Recovery tests begin this way.
//!
//! The log is flushed to its end, so a test knows what recovery must restore. Nothing else happens:
//! dirty pages are not written, and headers and checkpoint still require the log. I/O in flight
//! completes first, so it cannot interfere with the next open.

use super::{Instance, Replayer};
use crate::content::Content;
use crate::error::EngineError;

impl Replayer {
    /// Leaves the databases as they are on disk. The caller has halted the cache
    /// ([`crate::cache::Cache::halt`]).
    ///
    /// # Errors
    /// When the cache has failed, or a file cannot be closed.
    pub async fn abandon(self) -> Result<(), EngineError> {
        self.beside.end().await;
        for database in &self.base.databases {
            self.base.cache.end_preread(database.number).await;
        }
        self.base.cache.all_landed(self.base.options.number).await?;
        self.base.close_databases().await
    }
}

impl<C: Content> Instance<C> {
    /// Leaves the instance. The caller has halted the cache ([`crate::cache::Cache::halt`]), and no
    /// operation is in progress.
    ///
    /// # Errors
    /// When the instance has failed, or its log cannot be flushed.
    pub async fn abandon(self) -> Result<(), EngineError> {
        self.end_background().await;
        if let Some(error) = self.failure() {
            return Err(self.once_landed(error).await);
        }
        let flushed = self.0.log.close().await;
        let landed = self.0.cache.all_landed(self.0.options.number).await;
        flushed.and(landed)?;
        self.0.files.close().await?;
        self.0.close_databases().await
    }
}
