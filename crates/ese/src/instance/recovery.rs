//! Recovery: redo, undo, clean-up.
//!
//! *Redo* brings the pages up to the log (`redo`). *Undo* reverts the changes of transactions
//! without a commit, newest first. It uses the same trees and writes log records of its own, so a
//! crash during recovery is an ordinary crash. *Clean-up* removes the nodes that committed
//! transactions had marked deleted.

use std::collections::BTreeMap;

use super::Instance;
use super::transactions::{Node, Open, Undo};
use crate::content::Bytes;
use crate::error::EngineError;
use crate::log::{LogRecord, NodeAt, Role};
use crate::tree::{self, RemoveOutcome, Step, TreeId};

/// Statistics of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Log files read.
    pub generations: u32,
    /// Records replayed or found already applied.
    pub records: u64,
    /// Page changes that were missing and were applied.
    pub changes: u64,
    /// Pages whose last write was torn, rebuilt from the log.
    pub torn_pages: u32,
    /// Transactions undone.
    pub undone: u32,
}

/// What redo passes on to undo and clean-up.
pub(crate) struct Redone {
    /// Unfinished transactions.
    pub(crate) open: BTreeMap<u32, Open>,
    /// The largest transaction number seen.
    pub(crate) newest: u32,
    pub(crate) report: RecoveryReport,
}

impl Instance<Bytes> {
    /// Undoes transactions without a commit, and removes what committed transactions had marked.
    pub(crate) async fn undo_and_clean(
        &self,
        redone: Redone,
    ) -> Result<RecoveryReport, EngineError> {
        let mut report = redone.report;
        for (transaction, open) in redone.open {
            if !open.steps.is_empty() {
                report.undone += 1;
            }
            self.0.transactions.adopt(transaction, open);
        }
        self.0.transactions.start_after(redone.newest);
        // Newest first: a later transaction may depend on what an earlier one left.
        for transaction in self.0.transactions.numbers().into_iter().rev() {
            self.take_back(transaction).await?;
            self.carry_out(transaction).await?;
        }
        // A page that cannot be read is found before anybody works with the database.
        match self.0.unfinished.borrow_mut().take() {
            Some(error) => Err(error),
            None => Ok(report),
        }
    }

    /// Undoes the steps of a transaction, newest first, and closes it.
    pub(crate) async fn take_back(&self, transaction: u32) -> Result<(), EngineError> {
        let had_steps = self.0.transactions.last_step(transaction).is_some();
        while let Some(step) = self.0.transactions.last_step(transaction) {
            let left = self.0.transactions.steps_left(transaction);
            let (Undo::Insert(node)
            | Undo::Delete(node)
            | Undo::Unmark(node)
            | Undo::Replace(node, _)) = &step;
            match &step {
                Undo::Insert(_) => {
                    self.remove(node.database, transaction, Role::Undo, node.tree, &node.key)
                        .await?;
                }
                Undo::Delete(_) => {
                    self.change(node.database, transaction, Role::Undo, |change| {
                        tree::clear_deleted(change, node.tree, &node.key).map(Step::Done)
                    })
                    .await?;
                }
                Undo::Unmark(_) => {
                    self.change(node.database, transaction, Role::Undo, |change| {
                        tree::mark_deleted(change, node.tree, &node.key).map(Step::Done)
                    })
                    .await?;
                }
                Undo::Replace(_, former) => {
                    self.change(node.database, transaction, Role::Undo, |change| {
                        tree::replace(change, node.tree, &node.key, former)
                    })
                    .await?;
                }
            }
            if self.0.transactions.steps_left(transaction) >= left {
                return Err(self.nothing_there(node));
            }
        }
        if had_steps {
            self.append(&LogRecord::RolledBack { transaction });
        }
        Ok(())
    }

    /// Removes a node, and merges the page if little is left on it.
    async fn remove(
        &self,
        database: u8,
        transaction: u32,
        role: Role<'_>,
        id: TreeId,
        key: &[u8],
    ) -> Result<(), EngineError> {
        let removed =
            self.change(database, transaction, role, |change| tree::remove(change, id, key));
        if let RemoveOutcome::Removed { sparse: true } = removed.await? {
            let merged =
                self.change(database, 0, Role::System, |change| tree::shrink(change, id, key));
            match merged.await {
                // The node is gone, and its page may stay sparse: its transaction has done what it
                // was to do.
                Err(error @ EngineError::Page { .. }) => {
                    self.0.unfinished.borrow_mut().get_or_insert(error);
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Removes the nodes that a committed transaction had marked, and closes it.
    pub(crate) async fn carry_out(&self, transaction: u32) -> Result<(), EngineError> {
        while let Some(node) = self.0.transactions.next_doomed(transaction) {
            let role = Role::Cleanup(NodeAt { tree: node.tree, key: &node.key });
            self.remove(node.database, transaction, role, node.tree, &node.key).await?;
            if self.0.transactions.next_doomed(transaction).as_ref() == Some(&node) {
                return Err(self.nothing_there(&node));
            }
        }
        self.0.transactions.close(transaction, self.0.log.tail());
        Ok(())
    }

    /// An undo or clean-up step found nothing to change: the log and the pages contradict each
    /// other. Retrying would loop forever.
    fn nothing_there(&self, node: &Node) -> EngineError {
        EngineError::Damaged {
            path: self.0.database(node.database).path.clone(),
            what: "the log is to take back a change that its pages do not have",
        }
    }
}
