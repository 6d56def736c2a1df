//! The samples that find most bugs: few, the same for every cut, and each failure is informative.

use super::durable::Cursor;
use super::pending::{Change, PendingWrite, Sector, attempt};
use super::sample::{Sample, by_completion, lengthen, names_by_completion};
use crate::{Inode, Step, Store};

/// A fixed sample, at a cut.
pub(super) struct Corner {
    sample: Sample,
    oldest: Option<u32>,
    newest: Option<u32>,
}

impl Corner {
    pub(super) fn at(cursor: &Cursor<'_>, sample: Sample) -> Self {
        let changes = cursor.changes.iter().map(|change| change.action);
        let names = cursor.names.iter().map(|name| name.action);
        let actions: Vec<u32> = changes.chain(names).collect();
        Self {
            sample,
            oldest: actions.iter().min().copied(),
            newest: actions.iter().max().copied(),
        }
    }

    pub(super) fn image(&self, cursor: &Cursor<'_>, store: &mut Store) {
        for change in by_completion(&cursor.changes) {
            if self.keeps(change.action, change.completed) {
                match &change.change {
                    Change::Write(write) => self.write(store, change.file, write),
                    Change::Length(length) if self.has_metadata() => {
                        length.apply(store, change.file);
                    }
                    Change::Length(_) => {}
                }
            }
        }
        for name in names_by_completion(&cursor.names) {
            if self.has_metadata() && self.keeps(name.action, name.completed) {
                attempt(store, name.change);
            }
        }
    }

    /// Whether an action survives, wholly or in part.
    fn keeps(&self, action: u32, completed: Option<Step>) -> bool {
        match self.sample {
            Sample::Nothing => false,
            Sample::Completed => completed.is_some(),
            Sample::InFlight => completed.is_none(),
            Sample::Newest => Some(action) == self.newest,
            Sample::AllButOldest => Some(action) != self.oldest,
            _ => true,
        }
    }

    fn has_metadata(&self) -> bool {
        self.sample != Sample::BytesOnly
    }

    /// Whether a sector of a surviving write survives.
    fn spares(&self, sector: usize) -> bool {
        match self.sample {
            Sample::MetadataOnly => false,
            Sample::TornEven => sector.is_multiple_of(2),
            Sample::TornOdd => !sector.is_multiple_of(2),
            _ => true,
        }
    }

    fn write(&self, store: &mut Store, file: Inode, write: &PendingWrite<'_>) {
        write.apply(store, file, |number, sector| sector == Sector::Open && self.spares(number));
        if self.has_metadata() {
            lengthen(store, file, write);
        }
    }
}
