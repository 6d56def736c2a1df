//! Walks along a journal: tracks what is durable so far and what is pending.
//!
//! Invariants: `durable` holds every file that has a durable name or may get one, with the
//! journal's own inodes. Pending changes belong to files in `durable`, and are in the order of
//! submission.

use std::path::Path;

use super::pending::{
    Change, PendingChange, PendingLength, PendingName, PendingWrite, Sector, force,
};
use crate::journal::{Action, Moment};
use crate::{Inode, Journal, Step, Store};

/// A position in a journal.
pub(super) struct Cursor<'j> {
    journal: &'j Journal,
    step: Step,
    pub(super) durable: Store,
    pub(super) changes: Vec<PendingChange<'j>>,
    pub(super) names: Vec<PendingName<'j>>,
}

impl<'j> Cursor<'j> {
    /// The position before the first moment.
    pub(super) fn new(journal: &'j Journal) -> Self {
        Self {
            journal,
            step: Step(0),
            durable: journal.base().fork(),
            changes: Vec::new(),
            names: Vec::new(),
        }
    }

    pub(super) fn step(&self) -> Step {
        self.step
    }

    /// Number of pending actions: neither durable nor impossible.
    pub(super) fn pending(&self) -> usize {
        self.changes.len() + self.names.len()
    }

    /// Advances until `step` moments have passed.
    pub(super) fn advance(&mut self, step: Step) {
        let moments = &self.journal.moments()[self.step.0 as usize..step.0 as usize];
        for moment in moments {
            match moment {
                Moment::Submitted(action) => self.submitted(*action),
                Moment::Completed(action) => self.completed(*action),
                Moment::Marked(_) => {}
            }
            self.step.0 += 1;
        }
    }

    fn submitted(&mut self, number: u32) {
        let recorded = &self.journal.actions()[number as usize];
        match &recorded.action {
            Some(Action::Write { file, offset, content, .. }) => {
                let change = Change::Write(PendingWrite::new(*offset, content));
                self.push(number, *file, change);
            }
            Some(Action::Length { file, from, to }) => {
                let (from, to) = (*from, *to);
                self.push(number, *file, Change::Length(PendingLength { from, to }));
            }
            Some(Action::Name(change)) => {
                self.durable.insert_file(change.file());
                let name = PendingName::new(number, change);
                self.names.push(name);
            }
            Some(Action::Sync { .. } | Action::SyncDirectory { .. }) | None => {}
        }
    }

    fn push(&mut self, action: u32, file: Inode, change: Change<'j>) {
        // Changes of a file that no crash can bring back do not matter.
        if self.durable.length(file).is_some() {
            self.changes.push(PendingChange {
                action,
                file,
                submitted: self.step,
                completed: None,
                change,
            });
        }
    }

    fn completed(&mut self, number: u32) {
        let recorded = &self.journal.actions()[number as usize];
        match &recorded.action {
            Some(Action::Write { through, .. }) => {
                self.complete_change(number);
                if *through {
                    self.settle(|change| change.action == number);
                }
            }
            Some(Action::Length { .. }) => self.complete_change(number),
            Some(Action::Sync { file }) => {
                let before = recorded.submitted;
                self.settle(|change| {
                    change.file == *file && change.completed.is_some_and(|step| step < before)
                });
            }
            Some(Action::Name(_)) => {
                let name = self.names.iter_mut().find(|name| name.action == number);
                name.expect("it was submitted").completed = Some(self.step);
            }
            Some(Action::SyncDirectory { path }) => self.sync_names(path, recorded.submitted),
            None => {}
        }
    }

    fn complete_change(&mut self, number: u32) {
        let mut changes = self.changes.iter_mut();
        if let Some(change) = changes.find(|change| change.action == number) {
            change.completed = Some(self.step);
        }
    }

    /// Makes completed changes durable, in the order in which they completed.
    fn settle(&mut self, is_durable: impl Fn(&PendingChange<'j>) -> bool) {
        let mut settled: Vec<_> = self.changes.extract_if(.., |c| is_durable(c)).collect();
        settled.sort_by_key(|change| change.completed);
        // A shrinking that completed before a durable write is durable with that write.
        let mut shrinkings = Vec::new();
        for change in &settled {
            shrinkings.extend(self.changes.extract_if(.., |other| {
                let shrinks = matches!(other.change, Change::Length(l) if l.is_shrinking());
                let earlier = other.completed.is_some() && other.completed < change.completed;
                shrinks && earlier && other.file == change.file
            }));
        }
        settled.extend(shrinkings);
        settled.sort_by_key(|change| change.completed);
        for change in settled {
            self.make_durable(&change);
        }
    }

    fn make_durable(&mut self, durable: &PendingChange<'j>) {
        match &durable.change {
            Change::Write(write) => {
                let is_open = |_, sector| sector == Sector::Open;
                write.apply(&mut self.durable, durable.file, is_open);
                let range = (write.offset, write.end());
                self.overrule(durable, range);
            }
            Change::Length(length) => {
                length.apply(&mut self.durable, durable.file);
                if length.is_shrinking() {
                    self.overrule(durable, (length.to, u64::MAX));
                    self.drop_older_lengths(durable);
                }
            }
        }
    }

    /// Applies the effect of `durable` to other pending writes in its range.
    fn overrule(&mut self, durable: &PendingChange<'j>, (from, to): (u64, u64)) {
        for other in &mut self.changes {
            let (Change::Write(write), Some(completed)) = (&mut other.change, other.completed)
            else {
                continue;
            };
            if other.file != durable.file {
                continue;
            }
            if completed < durable.submitted {
                write.doom(from, to, Sector::Dead);
            } else if Some(completed) < durable.completed {
                write.doom(from, to, Sector::Overtaken);
            }
        }
        self.changes.retain(|other| {
            !matches!(&other.change, Change::Write(write)
                if write.sectors.iter().all(|sector| *sector == Sector::Dead))
        });
    }

    /// Drops lengths from before a durable shrinking; they cannot come back.
    fn drop_older_lengths(&mut self, durable: &PendingChange<'j>) {
        self.changes.retain(|other| {
            let older = other.completed.is_some() && other.completed < durable.completed;
            !(older && other.file == durable.file && matches!(other.change, Change::Length(_)))
        });
    }

    /// Handles the completion of a sync of `directory` that was submitted at `before`.
    fn sync_names(&mut self, directory: &Path, before: Step) {
        for name in &mut self.names {
            if name.completed.is_some_and(|step| step < before) {
                name.unsynced.retain(|unsynced| *unsynced != directory);
            }
        }
        let mut settled: Vec<_> =
            self.names.extract_if(.., |name| name.unsynced.is_empty()).collect();
        // Earlier changes of the same names become durable with them, recursively.
        let mut looked_at = 0;
        while let Some(name) = settled.get(looked_at).cloned() {
            settled.extend(self.names.extract_if(.., |other| {
                let earlier = other.completed.is_some() && other.completed < name.completed;
                earlier && other.shares_a_name_with(&name)
            }));
            looked_at += 1;
        }
        settled.sort_by_key(|name| name.completed);
        for name in &settled {
            force(&mut self.durable, name.change);
        }
        if !settled.is_empty() {
            self.forget_files();
        }
    }

    /// Drops files that have no durable name and cannot get one.
    fn forget_files(&mut self) {
        let possible: Vec<Inode> = self.names.iter().map(|name| name.change.file()).collect();
        self.durable.drop_unnamed(&possible);
        let durable = &self.durable;
        self.changes.retain(|change| durable.length(change.file).is_some());
    }
}
