//! Closing an instance: write back all dirty pages, sync, log the detach, and only then mark the
//! headers *clean*.

use super::Instance;
use super::checkpoint::checkpoint_path;
use crate::content::{Bytes, Content};
use crate::error::EngineError;
use crate::format::header::{DatabaseState, LogsRequired};
use crate::log::LogRecord;
use crate::small_file::name_error;

impl Instance<Bytes> {
    /// Closes the instance. Afterwards every database is clean and needs no log.
    ///
    /// Open transactions are undone.
    ///
    /// # Errors
    /// When a write fails. The databases are then recoverable but not clean, and the instance no
    /// longer touches their files.
    pub async fn close(self) -> Result<(), EngineError> {
        if let Err(error) = self.take_all_back().await {
            // After this call returns, no task may still move the checkpoint or release log files.
            self.end_background().await;
            return Err(self.once_landed(error).await);
        }
        self.shut_down().await
    }

    async fn take_all_back(&self) -> Result<(), EngineError> {
        for transaction in self.0.transactions.numbers() {
            self.take_back(transaction).await?;
            self.carry_out(transaction).await?;
        }
        Ok(())
    }
}

impl<C: Content> Instance<C> {
    /// Closes an instance without open transactions. Afterwards every database is clean and needs
    /// no log.
    pub async fn shut_down(self) -> Result<(), EngineError> {
        self.end_background().await;
        if let Some(error) = self.failure() {
            return Err(self.once_landed(error).await);
        }
        self.0.cache.write_all(self.0.options.number).await?;
        for entry in &self.0.databases {
            self.0.cache.sync(entry.number).await?;
        }
        self.0.write_flush_maps().await?;
        self.detach().await?;
        let logs = self.0.files.close().await;
        self.0.close_databases().await.and(logs)
    }

    /// `error`, once no write is in flight: from then on the instance touches no file.
    pub(super) async fn once_landed(&self, error: EngineError) -> EngineError {
        // What failed first is said.
        let _ = self.0.cache.all_landed(self.0.options.number).await;
        error
    }

    async fn detach(&self) -> Result<(), EngineError> {
        let mut detached = Vec::new();
        for (index, entry) in (0_u8..).zip(&self.0.databases) {
            detached.push(self.0.log.tail());
            self.append(&LogRecord::Detach {
                database: index,
                time: self.0.cache.time(entry.number),
            });
        }
        self.0.log.close().await?;
        let file = self.0.open_checkpoint().await?;
        let end = self.0.log.durable();
        self.0.write_checkpoint(file, end, end).await?;
        let path = checkpoint_path(&self.0.options);
        self.0.world.volume.close(file).await.map_err(name_error(&path))?;
        let stamp = self.0.files.stamp();
        for (entry, position) in self.0.databases.iter().zip(detached) {
            {
                let mut header = entry.header.borrow_mut();
                header.state = DatabaseState::Clean;
                header.time = self.0.cache.time(entry.number);
                (header.consistent, header.consistent_on) = (position, stamp);
                (header.detached, header.detached_on) = (position, stamp);
                (header.required, header.committed) = (LogsRequired::default(), 0);
            }
            entry.write_header(&self.0.world).await?;
        }
        Ok(())
    }
}
