//! Open transactions and what they have done.
//!
//! A transaction holds its undo steps in memory, newest last, and claims the room on pages that
//! undoing needs. It stays open after the commit until its marked nodes have been removed. Until
//! the log of that is durable, recovery must start early enough to see the transaction. Records are
//! locked by key. A lock that another transaction holds fails at once; it never waits.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use brunt_units::LogPosition;

use crate::error::EngineError;
use crate::log::{NodeAt, Role};
use crate::page::Claims;
use crate::tree::TreeId;

/// Reverts one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Remove the inserted node.
    Insert(Node),
    /// Clear the deletion mark.
    Delete(Node),
    /// Set the deletion mark again.
    Unmark(Node),
    /// Restore the former data.
    Replace(Node, Vec<u8>),
}

/// A node of a database, by key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// The database's number within the instance.
    pub database: u8,
    pub tree: TreeId,
    pub key: Vec<u8>,
}

impl Undo {
    /// What undoes a change with `role`, if anything does.
    pub fn of(database: u8, role: Role<'_>) -> Option<Self> {
        let node = |at: NodeAt<'_>| Node { database, tree: at.tree, key: at.key.to_vec() };
        match role {
            Role::Insert(at) => Some(Self::Insert(node(at))),
            Role::Delete(at) => Some(Self::Delete(node(at))),
            Role::Unmark(at) => Some(Self::Unmark(node(at))),
            Role::Replace(at, former) => Some(Self::Replace(node(at), former.to_vec())),
            Role::System | Role::Undo | Role::Cleanup(_) => None,
        }
    }
}

/// An open transaction.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// Its first record, if it has logged any.
    pub first: Option<LogPosition>,
    /// Its steps, newest last.
    pub steps: Vec<Undo>,
    /// Nodes to remove after the commit.
    pub doomed: BTreeSet<Node>,
    /// Locked records.
    locked: Vec<Node>,
}

impl Open {
    /// Commits: keeps the deletes to be carried out and drops the other steps.
    pub fn commit(&mut self) {
        for step in self.steps.drain(..) {
            match step {
                Undo::Delete(node) => drop(self.doomed.insert(node)),
                Undo::Unmark(node) => drop(self.doomed.remove(&node)),
                Undo::Insert(_) | Undo::Replace(..) => {}
            }
        }
    }

    /// Whether nothing is left to undo or to clean up.
    pub fn is_over(&self) -> bool {
        self.steps.is_empty() && self.doomed.is_empty()
    }

    /// Whether the transaction has marked a node deleted and not unmarked it since.
    fn has_marked(&self, node: &Node) -> bool {
        let newest = self.steps.iter().rev().find_map(|step| match step {
            Undo::Delete(marked) if marked == node => Some(true),
            Undo::Unmark(marked) if marked == node => Some(false),
            _ => None,
        });
        newest == Some(true)
    }
}

/// The transactions of an instance.
#[derive(Debug)]
pub struct Transactions {
    next: Cell<u32>,
    open: RefCell<BTreeMap<u32, Open>>,
    /// For each closed transaction, in order of closing: its first record, and the log position
    /// that must be durable for a crash not to reopen it.
    ending: RefCell<VecDeque<(LogPosition, LogPosition)>>,
    locks: RefCell<BTreeMap<Node, u32>>,
    /// Room claimed by the undo steps of all open transactions, by database.
    claims: RefCell<BTreeMap<u8, Claims>>,
}

impl Transactions {
    /// No open transactions; numbering starts at `next`.
    pub fn new(next: u32) -> Self {
        Self {
            next: Cell::new(next),
            open: RefCell::default(),
            ending: RefCell::default(),
            locks: RefCell::default(),
            claims: RefCell::default(),
        }
    }

    /// Opens a transaction.
    pub fn begin(&self) -> u32 {
        let number = self.next.get().max(1);
        self.next.set(number.wrapping_add(1));
        self.open.borrow_mut().insert(number, Open::default());
        number
    }

    /// Continues numbering after `newest`, which recovery has seen in the log.
    pub fn start_after(&self, newest: u32) {
        self.next.set(self.next.get().max(newest.wrapping_add(1)));
    }

    /// Adds a transaction found by recovery.
    pub fn adopt(&self, number: u32, open: Open) {
        open.steps.iter().for_each(|step| self.claim(step));
        self.open.borrow_mut().insert(number, open);
    }

    /// Locks a record for a transaction.
    ///
    /// # Errors
    /// [`EngineError::WriteConflict`] when another transaction has locked it.
    pub fn lock(&self, transaction: u32, node: Node) -> Result<(), EngineError> {
        let mut locks = self.locks.borrow_mut();
        match locks.get(&node) {
            Some(holder) if *holder == transaction => Ok(()),
            Some(_) => Err(EngineError::WriteConflict),
            None => {
                if let Some(open) = self.open.borrow_mut().get_mut(&transaction) {
                    open.locked.push(node.clone());
                }
                locks.insert(node, transaction);
                Ok(())
            }
        }
    }

    /// A change of the transaction was logged at `start`.
    pub fn logged(&self, transaction: u32, start: LogPosition, database: u8, role: Role<'_>) {
        let mut open = self.open.borrow_mut();
        let Some(entry) = open.get_mut(&transaction) else {
            return;
        };
        entry.first.get_or_insert(start);
        match role {
            Role::Undo => {
                if let Some(Undo::Replace(node, _)) = entry.steps.pop() {
                    self.claims_near(&node).take_back(node.tree.root, &node.key);
                }
            }
            Role::Cleanup(at) => {
                entry.doomed.remove(&Node { database, tree: at.tree, key: at.key.to_vec() });
            }
            _ => {
                let step = Undo::of(database, role);
                step.iter().for_each(|step| self.claim(step));
                entry.steps.extend(step);
            }
        }
    }

    /// Claims room for a step that restores former data.
    fn claim(&self, step: &Undo) {
        if let Undo::Replace(node, former) = step {
            self.claims_near(node).add(node.tree.root, &node.key, former.len());
        }
    }

    /// Releases the claim of a step that will not be undone.
    fn release(&self, step: &Undo) {
        if let Undo::Replace(node, _) = step {
            self.claims_near(node).release(node.tree.root, &node.key);
        }
    }

    /// The claims in a node's database.
    fn claims_near(&self, node: &Node) -> RefMut<'_, Claims> {
        RefMut::map(self.claims.borrow_mut(), |claims| claims.entry(node.database).or_default())
    }

    /// Claims of open transactions in a database.
    pub fn claims(&self, database: u8) -> Option<Ref<'_, Claims>> {
        Ref::filter_map(self.claims.borrow(), |claims| claims.get(&database)).ok()
    }

    /// The newest step not undone yet.
    pub fn last_step(&self, transaction: u32) -> Option<Undo> {
        self.open.borrow().get(&transaction)?.steps.last().cloned()
    }

    /// Whether the transaction has marked a node deleted and not unmarked it since.
    pub fn has_marked(&self, transaction: u32, node: &Node) -> bool {
        let open = self.open.borrow();
        open.get(&transaction).is_some_and(|open| open.has_marked(node))
    }

    /// Number of steps left to undo.
    pub fn steps_left(&self, transaction: u32) -> usize {
        let open = self.open.borrow();
        open.get(&transaction).map_or(0, |open| open.steps.len())
    }

    /// A node that the committed transaction still has to remove.
    pub fn next_doomed(&self, transaction: u32) -> Option<Node> {
        self.open.borrow().get(&transaction)?.doomed.first().cloned()
    }

    /// Whether the transaction has logged anything.
    pub fn has_logged(&self, transaction: u32) -> bool {
        self.open.borrow().get(&transaction).is_some_and(|open| open.first.is_some())
    }

    /// The transaction has committed. It stays open while it has nodes to remove.
    pub fn commit(&self, transaction: u32) {
        if let Some(open) = self.open.borrow_mut().get_mut(&transaction) {
            open.steps.iter().for_each(|step| self.release(step));
            open.commit();
        }
    }

    /// The transaction is over, as the log before `end` says. Releases its locks.
    pub fn close(&self, transaction: u32, end: LogPosition) {
        let Some(open) = self.open.borrow_mut().remove(&transaction) else {
            return;
        };
        if let Some(first) = open.first {
            self.ending.borrow_mut().push_back((first, end));
        }
        self.free(open.locked);
    }

    /// Releases the locks of a transaction that stays open with nodes to remove.
    pub fn unlock(&self, transaction: u32) {
        if let Some(open) = self.open.borrow_mut().get_mut(&transaction) {
            self.free(std::mem::take(&mut open.locked));
        }
    }

    fn free(&self, locked: Vec<Node>) {
        let mut locks = self.locks.borrow_mut();
        for node in locked {
            locks.remove(&node);
        }
    }

    /// The first record of the oldest transaction that is open, or that a crash would reopen
    /// because the log is durable only before `durable`. Recovery must start no later.
    pub fn oldest(&self, durable: LogPosition) -> Option<LogPosition> {
        let mut ending = self.ending.borrow_mut();
        while ending.front().is_some_and(|(_, end)| *end <= durable) {
            ending.pop_front();
        }
        let open = self.open.borrow();
        let open = open.values().filter_map(|open| open.first);
        ending.iter().map(|(first, _)| *first).chain(open).min()
    }

    /// Numbers of the open transactions.
    pub fn numbers(&self) -> Vec<u32> {
        self.open.borrow().keys().copied().collect()
    }
}
