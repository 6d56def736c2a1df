//! Snapshots of several LUNs at one instant, by hand or by schedule; restoring; clones.
//!
//! ```text
//!    set "hourly 3"   10:00   "mail" -> LUN 17    "logs" -> LUN 18      one event of the pool: nothing happens between the two
//!    set "hourly 4"   11:00   "mail" -> LUN 21    "logs" -> LUN 22
//! ```
//!
//! What is in a set is said in [`super::gates`]. A set is named by its own name or by that of its
//! schedule, which means the newest. Restoring takes a snapshot of what is there first.
//!
//! Source: Dell EqualLogic, "Snapshots and Clones: Best Practices and Sizing Guidelines", BP1027,
//! pp. 14-16; "Group Manager Administrator's Guide" (PS6210), pp. 226-235: collections, schedules
//! with a number to keep, restoring. A clone there is a full copy; here it shares pages until they
//! are written, as a thin clone does.

use brunt_units::Time;

use super::gates::Then;
use super::map::LunKind;
use super::notes::{CloneOf, SnapshotPlan, VolumeIncident, VolumeNote};
use super::{Event, PagedArray};
use crate::incident::NoteKind;

/// The snapshot of a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The LUN it is of.
    pub(crate) volume: u32,
    /// Its own number.
    pub(crate) snapshot: u32,
}

/// Snapshots of one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotSet {
    pub(crate) name: String,
    /// The name of its schedule, or its own.
    pub(crate) series: String,
    pub(crate) at: Time,
    /// Those that are left.
    pub(crate) members: Vec<Member>,
}

#[derive(Default)]
pub(super) struct Snapshots {
    /// From the oldest to the newest.
    pub(super) sets: Vec<SnapshotSet>,
    /// How many were taken by each schedule, by incident.
    counts: std::collections::BTreeMap<u32, u32>,
}

impl Snapshots {
    /// The place of a set by its name, or of the newest of a schedule.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let place = |is_it: &dyn Fn(&SnapshotSet) -> bool| self.sets.iter().rposition(is_it);
        place(&|set| set.name == name).or_else(|| place(&|set| set.series == name))
    }

    /// Forgets a snapshot by its number.
    pub(super) fn forget(&mut self, snapshot: u32) {
        for set in &mut self.sets {
            set.members.retain(|member| member.snapshot != snapshot);
        }
        self.sets.retain(|set| !set.members.is_empty());
    }
}

impl PagedArray {
    pub(super) fn apply_to_volumes(&mut self, number: u32, incident: VolumeIncident) {
        match incident {
            VolumeIncident::Take(plan) => {
                if let Some(every) = plan.every {
                    self.schedule.set(self.now + every, Event::Incident(number));
                }
                self.take_by(number, &plan);
            }
            VolumeIncident::Restore(name) => self.restore(&name),
            VolumeIncident::Remove(name) => self.remove_sets(&name),
            VolumeIncident::Clone { of, name } => self.clone_luns(&of, &name),
            VolumeIncident::Online(lun) => {
                if self.offline.remove(&lun) {
                    let lun = self.names[lun as usize].clone();
                    self.note_volume(VolumeNote::Online(lun));
                }
            }
        }
    }

    pub(super) fn note_volume(&mut self, what: VolumeNote) {
        self.note(NoteKind::Volume(what));
    }

    fn take_by(&mut self, number: u32, plan: &SnapshotPlan) {
        let name = match plan.every {
            None => plan.name.clone(),
            Some(_) => {
                let count = self.snapshots.counts.entry(number).or_default();
                *count += 1;
                format!("{} {count}", plan.name)
            }
        };
        self.take_snapshot(&plan.luns, &name, &plan.name);
        if let Some(keep) = plan.keep {
            self.keep_newest(&plan.name, keep as usize);
        }
    }

    /// Takes a snapshot of `luns`, now.
    pub(crate) fn take_snapshot(&mut self, luns: &[u32], name: &str, series: &str) {
        if luns.iter().any(|lun| self.map.kind(*lun).is_none()) {
            return self.note_volume(VolumeNote::NotTaken(name.to_owned()));
        }
        let (copies, under_way) = self.copy_luns(luns, LunKind::Snapshot, name);
        let members = luns.iter().zip(&copies);
        self.snapshots.sets.push(SnapshotSet {
            name: name.to_owned(),
            series: series.to_owned(),
            at: self.now,
            members: members
                .map(|(volume, snapshot)| Member { volume: *volume, snapshot: *snapshot })
                .collect(),
        });
        let name = name.to_owned();
        match luns {
            [lun] => {
                let of = self.names[*lun as usize].clone();
                self.note(NoteKind::SnapshotTaken { of, name });
            }
            _ => self.note_volume(VolumeNote::Taken { name, luns: luns.len(), under_way }),
        }
    }

    /// Copies LUNs at one instant; returns the numbers of the copies, and the writes under way that
    /// may be in them.
    pub(super) fn copy_luns(
        &mut self,
        luns: &[u32],
        kind: LunKind,
        name: &str,
    ) -> (Vec<u32>, usize) {
        let names = self.names_of_copies(luns, luns, name);
        let copies = luns.iter().zip(names);
        let copies: Vec<u32> = copies.map(|(lun, own)| self.copy_as(*lun, kind, own)).collect();
        let under_way = self.settle(luns, copies.clone());
        (copies, under_way)
    }

    /// The names of copies of `luns`, which are named like `volumes`.
    fn names_of_copies(&self, luns: &[u32], volumes: &[u32], name: &str) -> Vec<String> {
        match luns {
            [_] => vec![name.to_owned()],
            _ => {
                volumes.iter().map(|lun| format!("{name}: {}", self.names[*lun as usize])).collect()
            }
        }
    }

    /// Copies a LUN, under the number that was kept for the name if there is one.
    fn copy_as(&mut self, lun: u32, kind: LunKind, name: String) -> u32 {
        let promised = (0..self.map.luns())
            .find(|number| self.promised.contains(number) && self.names[*number as usize] == name);
        match promised {
            Some(number) => {
                self.promised.remove(&number);
                self.map.copy_to(number, lun, kind);
                number
            }
            None => {
                self.names.push(name);
                self.map.copy(lun, kind)
            }
        }
    }

    /// Removes the oldest sets of a schedule beyond `keep`.
    pub(crate) fn keep_newest(&mut self, series: &str, keep: usize) {
        let of_series = |set: &&SnapshotSet| set.series == series;
        let count = self.snapshots.sets.iter().filter(of_series).count();
        let old = self.snapshots.sets.iter().filter(of_series);
        let old: Vec<SnapshotSet> = old.take(count.saturating_sub(keep)).cloned().collect();
        for set in old {
            self.note_volume(VolumeNote::Expired(set.name));
            for member in set.members {
                self.drop_lun(member.snapshot);
            }
        }
    }

    /// Removes a LUN without a note, and later completes the pages that were redirected because of
    /// it.
    pub(super) fn drop_lun(&mut self, lun: u32) {
        self.map.remove(lun);
        self.snapshots.forget(lun);
        self.schedule.set(self.now, Event::Merge);
    }

    /// Keeps what `luns` have now, as the start of a replication. Their requests under way may be
    /// in it.
    pub(crate) fn begin_start(&mut self, luns: &[u32]) -> Vec<u32> {
        let (copies, _) = self.copy_luns(luns, LunKind::Start, "start");
        let starts = luns.iter().zip(&copies);
        self.starts.extend(
            starts.map(|(volume, snapshot)| Member { volume: *volume, snapshot: *snapshot }),
        );
        copies
    }

    /// Gives up a start.
    pub(crate) fn end_start(&mut self, start: u32) {
        self.starts.retain(|one| one.snapshot != start);
        self.drop_lun(start);
    }

    /// Sets space aside for the start of a replication.
    pub(crate) fn reserve_for_starts(&mut self, lun: u32, percent: u32) {
        self.map.set_reserve(lun, LunKind::Start, percent);
    }

    /// Whether a LUN exists.
    pub(crate) fn has_lun(&self, lun: u32) -> bool {
        self.map.kind(lun).is_some()
    }

    /// All snapshots, from the oldest.
    #[cfg(test)]
    pub(crate) fn snapshot_sets(&self) -> Vec<SnapshotSet> {
        self.snapshots.sets.clone()
    }

    /// Snapshots of a schedule.
    pub(crate) fn count_of(&self, series: &str) -> usize {
        let sets = self.snapshots.sets.iter();
        sets.filter(|set| set.series == series).count()
    }

    fn remove_sets(&mut self, name: &str) {
        let is_it = |set: &&SnapshotSet| set.name == name || set.series == name;
        let sets: Vec<SnapshotSet> = self.snapshots.sets.iter().filter(is_it).cloned().collect();
        if sets.is_empty() {
            return self.note_volume(VolumeNote::Gone(name.to_owned()));
        }
        for set in sets {
            self.note(NoteKind::LunRemoved(set.name));
            for member in set.members {
                self.drop_lun(member.snapshot);
            }
        }
    }

    fn restore(&mut self, name: &str) {
        let Some(set) = self.snapshots.find(name) else {
            return self.note_volume(VolumeNote::Gone(name.to_owned()));
        };
        let set = self.snapshots.sets[set].clone();
        let members = set.members.iter();
        let pairs = members.map(|member| (member.volume, member.snapshot));
        let pairs: Vec<(u32, u32)> = pairs.collect();
        self.drain(&pairs, Then::Restore(set.name, pairs.clone()));
    }

    /// Gives the first LUN of each pair the content of the second.
    pub(super) fn restore_now(&mut self, name: &str, pairs: &[(u32, u32)]) {
        let is_there = |lun: u32| self.map.kind(lun).is_some();
        let pairs: Vec<(u32, u32)> =
            pairs.iter().copied().filter(|(lun, from)| is_there(*lun) && is_there(*from)).collect();
        if pairs.is_empty() {
            return self.note_volume(VolumeNote::Gone(name.to_owned()));
        }
        let before = format!("before {name} was restored");
        let luns: Vec<u32> = pairs.iter().map(|(lun, _)| *lun).collect();
        self.take_snapshot(&luns, &before, &before);
        for (lun, from) in &pairs {
            self.map.restore(*lun, *from);
            self.changed_altogether(*lun);
            self.offline.remove(lun);
        }
        self.note_volume(VolumeNote::Restored { from: name.to_owned(), luns: pairs.len(), before });
        self.schedule.set(self.now, Event::Merge);
    }

    /// Makes LUNs of their own. A clone of a replica is made at the other site, of the snapshot
    /// there.
    pub(crate) fn clone_luns(&mut self, of: &CloneOf, name: &str) {
        let (luns, volumes, of, at) = match of {
            CloneOf::Luns(luns) => {
                let names = luns.iter().map(|lun| self.names[*lun as usize].as_str());
                let names: Vec<&str> = names.collect();
                (luns.clone(), luns.clone(), names.join("\", \""), self.now)
            }
            CloneOf::Snapshot(of) | CloneOf::Replica(of) => {
                let Some(set) = self.snapshots.find(of) else {
                    return self.note_volume(VolumeNote::NotCloned(name.to_owned()));
                };
                let set = &self.snapshots.sets[set];
                let members = set.members.iter();
                let (luns, volumes) = members.map(|one| (one.snapshot, one.volume)).unzip();
                (luns, volumes, set.name.clone(), set.at)
            }
        };
        if luns.iter().any(|lun| self.map.kind(*lun).is_none()) {
            return self.note_volume(VolumeNote::NotCloned(name.to_owned()));
        }
        let names = self.names_of_copies(&luns, &volumes, name);
        let copies = luns.iter().zip(names);
        let copies = copies.map(|(lun, own)| self.copy_as(*lun, LunKind::Volume, own));
        let copies = copies.collect();
        self.settle(&luns, copies);
        let name = name.to_owned();
        self.note_volume(VolumeNote::Cloned { of, at, name });
    }
}
