//! A transaction as its session uses it: begin, change, commit or undo.

use brunt_units::PageNumber;

use super::Instance;
use super::transactions::Node;
use crate::content::Bytes;
use crate::error::EngineError;
use crate::log::{FlushReason, LogRecord, NodeAt, Role};
use crate::tree::{self, InsertOutcome, MarkOutcome, ReplaceOutcome, Step, TreeId};

/// When a commit returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// When its log is durable.
    Hard,
    /// At once. Its log becomes durable within the instance's lazy wait.
    Lazy,
}

/// An open transaction. If dropped without [`Transaction::commit`] or [`Transaction::take_back`],
/// it keeps its locks until the instance closes and undoes it.
pub struct Transaction<'i> {
    instance: &'i Instance<Bytes>,
    number: u32,
}

impl Instance<Bytes> {
    pub fn begin(&self) -> Transaction<'_> {
        Transaction { instance: self, number: self.0.transactions.begin() }
    }
}

impl Transaction<'_> {
    /// The instance it changes.
    pub fn instance(&self) -> &Instance<Bytes> {
        self.instance
    }

    /// The transaction's number in the log.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Locks a record for this transaction.
    ///
    /// # Errors
    /// [`EngineError::WriteConflict`] when another transaction has locked it.
    pub fn lock(&self, database: u8, tree: TreeId, key: &[u8]) -> Result<(), EngineError> {
        let node = Node { database, tree, key: key.to_vec() };
        self.instance.0.transactions.lock(self.number, node)
    }

    /// Inserts an entry. Replaces an entry of the same key that this transaction has deleted.
    ///
    /// # Errors
    /// [`EngineError::KeyDuplicate`]; [`EngineError::WriteConflict`] while an entry of this key,
    /// deleted by another transaction, is not removed yet; [`EngineError::LogDiskFull`] for the
    /// first change of a transaction when the log volume is full.
    pub async fn insert(
        &self,
        database: u8,
        tree: TreeId,
        key: &[u8],
        data: &[u8],
    ) -> Result<(), EngineError> {
        self.may_change().await?;
        let sort_key = [key, data].concat();
        let by_data = self.orders_by_data(database, tree).await?;
        let at = NodeAt { tree, key: if by_data { &sort_key } else { key } };
        let role = Role::Insert(at);
        let inserted = self
            .instance
            .change(database, self.number, role, |change| tree::insert(change, tree, key, data));
        match inserted.await? {
            InsertOutcome::Inserted => Ok(()),
            InsertOutcome::Duplicate => Err(EngineError::KeyDuplicate),
            InsertOutcome::Deleted => {
                let node = Node { database, tree, key: at.key.to_vec() };
                if !self.instance.0.transactions.has_marked(self.number, &node) {
                    return Err(EngineError::WriteConflict);
                }
                self.unmark(database, at).await?;
                match by_data {
                    true => Ok(()),
                    false => self.replace(database, tree, key, data).await,
                }
            }
        }
    }

    /// Clears the mark of an entry that this transaction has deleted.
    async fn unmark(&self, database: u8, at: NodeAt<'_>) -> Result<(), EngineError> {
        let cleared = self.instance.change(database, self.number, Role::Unmark(at), |change| {
            tree::clear_deleted(change, at.tree, at.key).map(Step::Done)
        });
        match cleared.await? {
            MarkOutcome::Changed => Ok(()),
            MarkOutcome::Unchanged | MarkOutcome::NotFound => Err(EngineError::RecordNotFound),
        }
    }

    /// Marks an entry deleted; it is removed after the commit. In a tree ordered by data, `key` is
    /// key and data.
    ///
    /// # Errors
    /// [`EngineError::RecordNotFound`]; [`EngineError::LogDiskFull`] as for
    /// [`Transaction::insert`].
    pub async fn delete(&self, database: u8, tree: TreeId, key: &[u8]) -> Result<(), EngineError> {
        self.may_change().await?;
        let role = Role::Delete(NodeAt { tree, key });
        let marked = self.instance.change(database, self.number, role, |change| {
            tree::mark_deleted(change, tree, key).map(Step::Done)
        });
        match marked.await? {
            MarkOutcome::Changed => Ok(()),
            MarkOutcome::Unchanged | MarkOutcome::NotFound => Err(EngineError::RecordNotFound),
        }
    }

    /// Replaces an entry's data. The entry must be locked, or another transaction could change it
    /// while this one waits.
    ///
    /// # Errors
    /// [`EngineError::RecordNotFound`]; [`EngineError::LogDiskFull`] as for
    /// [`Transaction::insert`].
    pub async fn replace(
        &self,
        database: u8,
        tree: TreeId,
        key: &[u8],
        data: &[u8],
    ) -> Result<(), EngineError> {
        self.may_change().await?;
        let former =
            self.instance.read(database, tree, key).await?.ok_or(EngineError::RecordNotFound)?;
        let role = Role::Replace(NodeAt { tree, key }, &former);
        let replaced = self
            .instance
            .change(database, self.number, role, |change| tree::replace(change, tree, key, data));
        match replaced.await? {
            ReplaceOutcome::Replaced => Ok(()),
            ReplaceOutcome::Marked(_) | ReplaceOutcome::NotFound => {
                Err(EngineError::RecordNotFound)
            }
        }
    }

    /// Commits the changes, then removes the entries marked deleted.
    ///
    /// # Errors
    /// When the log fails. The outcome of a hard commit is then unknown until recovery. An entry on
    /// a page that cannot be read stays marked deleted until the instance closes;
    /// [`Instance::unfinished`] has the page's error.
    pub async fn commit(self, how: Commit) -> Result<(), EngineError> {
        let (instance, number) = (self.instance, self.number);
        if instance.0.transactions.has_logged(number) {
            let record = LogRecord::Commit { transaction: number };
            let end = instance.append(&record).end;
            instance.0.transactions.commit(number);
            match how {
                Commit::Hard => instance.0.log.flushed(end, FlushReason::Commit).await?,
                Commit::Lazy => instance.0.log.lazy(),
            }
        }
        match instance.carry_out(number).await {
            Err(error @ EngineError::Page { .. }) => {
                instance.0.unfinished.borrow_mut().get_or_insert(error);
                instance.0.transactions.unlock(number);
                Ok(())
            }
            carried_out => carried_out,
        }
    }

    /// Undoes the changes, newest first.
    ///
    /// # Errors
    /// When a page cannot be read or the log fails.
    pub async fn take_back(self) -> Result<(), EngineError> {
        self.instance.take_back(self.number).await?;
        self.instance.carry_out(self.number).await
    }

    /// When the log volume is full, only transactions that have already changed something may
    /// continue.
    async fn may_change(&self) -> Result<(), EngineError> {
        let files = self.instance.0.log.files();
        if files.is_low() && !self.instance.0.transactions.has_logged(self.number) {
            files.check_room().await?;
        }
        Ok(())
    }

    async fn orders_by_data(&self, database: u8, tree: TreeId) -> Result<bool, EngineError> {
        self.instance.look(database, |pages| tree::orders_by_data(pages, tree)).await
    }
}

impl Instance<Bytes> {
    /// An entry's data; `None` if it does not exist or is marked deleted.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub async fn read(
        &self,
        database: u8,
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.read_at(database, tree, key).await?.1)
    }

    /// [`Self::read`], and the leaf where the entry is or would be.
    pub(super) async fn read_at(
        &self,
        database: u8,
        tree: TreeId,
        key: &[u8],
    ) -> Result<(PageNumber, Option<Vec<u8>>), EngineError> {
        self.look(database, |pages| {
            let found = tree::seek(pages, tree, key)?;
            let data = match found.exact && !found.deleted {
                true => Some(found.data(pages)?.to_vec()),
                false => None,
            };
            Ok((found.page, data))
        })
        .await
    }
}
