//! A slow second implementation of the durability contract: every possible value of each sector and
//! every possible map of names, straight from the list of actions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brunt_world_virtual::journal::{Action, Content, Journal, NameChange, Recorded};
use brunt_world_virtual::{Inode, Step, Store};

use super::files::stamp;

pub(crate) type Names = BTreeMap<PathBuf, Inode>;

pub(crate) struct Oracle<'j> {
    journal: &'j Journal,
    cut: Step,
}

pub(crate) fn names(store: &Store) -> Names {
    let names = store.names();
    names.map(|(path, file)| (path.to_path_buf(), file)).collect()
}

struct Write {
    submitted: Step,
    completed: Option<Step>,
    is_durable: bool,
    stamp: u64,
}

impl<'j> Oracle<'j> {
    pub(crate) fn new(journal: &'j Journal, cut: Step) -> Self {
        Self { journal, cut }
    }

    /// Actions submitted before the cut.
    fn submitted(&self) -> impl Iterator<Item = &'j Recorded> {
        let cut = self.cut;
        self.journal.actions().iter().filter(move |recorded| recorded.submitted < cut)
    }

    fn completed(&self, recorded: &Recorded) -> Option<Step> {
        recorded.completed.filter(|step| *step < self.cut)
    }

    /// Whether a sync that matches `is_right` was submitted after `step` and completed before the
    /// cut.
    fn is_synced(&self, step: Step, is_right: impl Fn(&Action) -> bool) -> bool {
        self.submitted().any(|sync| {
            sync.action.as_ref().is_some_and(&is_right)
                && step < sync.submitted
                && self.completed(sync).is_some()
        })
    }

    fn is_synced_file(&self, step: Step, file: Inode) -> bool {
        self.is_synced(step, |action| *action == Action::Sync { file })
    }

    /// Every possible value of a sector.
    pub(crate) fn sector(&self, file: Inode, sector: u64) -> BTreeSet<u64> {
        let mut writes = Vec::new();
        for recorded in self.submitted() {
            let Some(Action::Write {
                file: written,
                offset,
                content: Content::Bytes(bytes),
                through,
            }) = &recorded.action
            else {
                continue;
            };
            let range = *offset..*offset + bytes.len() as u64;
            if *written != file || !range.contains(&(sector * 512)) {
                continue;
            }
            let at = usize::try_from(sector * 512 - offset).unwrap();
            let completed = self.completed(recorded);
            writes.push(Write {
                submitted: recorded.submitted,
                completed,
                is_durable: completed
                    .is_some_and(|step| *through || self.is_synced_file(step, file)),
                stamp: u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()),
            });
        }
        let durable: Vec<&Write> = writes.iter().filter(|write| write.is_durable).collect();
        let last = durable.iter().max_by_key(|write| write.completed);
        let certain = match last {
            Some(write) => write.stamp,
            None if self.journal.base().length(file).is_some() => {
                stamp(self.journal.base(), file, sector)
            }
            None => 0,
        };
        let open = writes.iter().filter(|write| {
            let gone = |d: &&Write| write.completed.is_some_and(|step| step < d.submitted);
            !write.is_durable && !durable.iter().any(gone)
        });
        open.map(|write| write.stamp).chain([certain]).collect()
    }

    /// The minimum and maximum length of a file that never shrinks.
    pub(crate) fn lengths(&self, file: Inode) -> (u64, u64) {
        let base = self.journal.base().length(file).unwrap_or(0);
        let (mut least, mut most) = (base, base);
        for recorded in self.submitted() {
            let (end, through) = match &recorded.action {
                Some(Action::Write { file: written, offset, content, through })
                    if *written == file =>
                {
                    (offset + content.length(), *through)
                }
                Some(Action::Length { file: grown, to, .. }) if *grown == file => (*to, false),
                _ => continue,
            };
            most = most.max(end);
            let completed = self.completed(recorded);
            if completed.is_some_and(|step| through || self.is_synced_file(step, file)) {
                least = least.max(end);
            }
        }
        (least, most)
    }

    /// Durable changes of names in the order of completion, and those that are not durable.
    fn changes(&self) -> (Vec<&'j NameChange>, Vec<&'j NameChange>) {
        let mut all: Vec<(&NameChange, Option<Step>, bool)> = Vec::new();
        for recorded in self.submitted() {
            if let Some(Action::Name(change)) = &recorded.action {
                let completed = self.completed(recorded);
                let is_durable = completed.is_some_and(|step| {
                    change.paths().all(|path| {
                        let path = path.parent().unwrap_or(Path::new("")).to_path_buf();
                        self.is_synced(step, |a| *a == Action::SyncDirectory { path: path.clone() })
                    })
                });
                all.push((change, completed, is_durable));
            }
        }
        // Adds earlier changes of the names of a durable one, until nothing changes.
        loop {
            let drawn_in = all.iter().position(|(change, completed, is_durable)| {
                let later = |(other, step, durable): &(&NameChange, Option<Step>, bool)| {
                    *durable
                        && completed < step
                        && other.paths().any(|p| change.paths().any(|q| p == q))
                };
                completed.is_some() && !is_durable && all.iter().any(later)
            });
            match drawn_in {
                Some(at) => all[at].2 = true,
                None => break,
            }
        }
        all.sort_by_key(|(_, completed, _)| *completed);
        let part = |durable| {
            let these = all.iter().filter(move |change| change.2 == durable);
            these.map(|change| change.0).collect()
        };
        (part(true), part(false))
    }

    /// Every possible map of names; `None` when there are too many orders to try.
    pub(crate) fn names(&self) -> Option<BTreeSet<Names>> {
        let (durable, pending) = self.changes();
        let mut certain = names(self.journal.base());
        for change in durable {
            apply(&mut certain, change);
        }
        let mut reached = BTreeSet::new();
        (pending.len() <= 5).then(|| {
            every_order(&certain, &pending, &mut reached);
            reached
        })
    }
}

fn every_order(names: &Names, left: &[&NameChange], reached: &mut BTreeSet<Names>) {
    reached.insert(names.clone());
    for (at, change) in left.iter().enumerate() {
        let can = match change {
            NameChange::Create { path, .. } => !names.contains_key(path),
            NameChange::Rename { from: path, file, .. } | NameChange::Remove { path, file } => {
                names.get(path) == Some(file)
            }
        };
        if can {
            let mut names = names.clone();
            apply(&mut names, change);
            let mut rest = left.to_vec();
            rest.remove(at);
            every_order(&names, &rest, reached);
        }
    }
}

fn apply(names: &mut Names, change: &NameChange) {
    let mut take = |path: &PathBuf, file: &Inode| {
        if names.get(path) == Some(file) {
            names.remove(path);
        }
    };
    match change {
        NameChange::Create { path, file } => {
            names.insert(path.clone(), *file);
        }
        NameChange::Rename { from, to, file } => {
            take(from, file);
            names.insert(to.clone(), *file);
        }
        NameChange::Remove { path, file } => take(path, file),
    }
}
