//! The reserve of snapshots, and what happens when it is full.
//!
//! A reserve is a share of the pages that a LUN has. It is set aside: other LUNs cannot have it,
//! and a thin LUN's grows with the LUN. What is counted against it is what snapshots keep beyond
//! the LUN itself, page by page.
//!
//! Source: Dell EqualLogic, "Group Manager Administrator's Guide" (PS6210), p. 227, and BP1027, p.
//! 15: a percentage of the volume reserve, 100 by default; delete the oldest snapshot (default),
//! set the volume offline, or borrow space ("Space Borrowing", TR1084). The same guide, pp.
//! 240-243: the local reserve of a replication, 5 to 200 %, and what it keeps.

use super::PagedArray;
use super::design::WhenFull;
use super::map::{Full, LunKind, NodeId};
use super::notes::VolumeNote;
use super::snapshots::SnapshotSet;
use super::traffic::PageAt;

/// Why a write has no node.
pub(super) enum Refused {
    Full,
    Offline,
}

impl From<Full> for Refused {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl PagedArray {
    /// The node for a host's write, after the reserves were seen to.
    pub(super) fn own_node(&mut self, at: PageAt) -> Result<NodeId, Refused> {
        let (lun, page) = at;
        if self.map.leaves(lun, page, LunKind::Start) && self.is_over(lun, LunKind::Start) {
            self.drop_starts(lun);
        }
        while self.map.leaves(lun, page, LunKind::Snapshot) && self.is_over(lun, LunKind::Snapshot)
        {
            let when_full = self.when_full[&lun];
            match when_full {
                WhenFull::Borrow if self.map.free_slots() > self.map.promised() => break,
                WhenFull::Borrow | WhenFull::DeleteOldest => {
                    if !self.delete_oldest(lun, 0) {
                        break;
                    }
                }
                WhenFull::KeepNewest if self.delete_oldest(lun, 1) => {}
                WhenFull::KeepNewest => return Err(Refused::Full),
                WhenFull::Offline => {
                    self.offline.insert(lun);
                    let lun = self.names[lun as usize].clone();
                    self.note_volume(VolumeNote::Offline(lun));
                    return Err(Refused::Offline);
                }
            }
        }
        loop {
            match self.map.own(lun, page) {
                Ok(node) => return Ok(node),
                // Snapshots that borrow make room for what needs it.
                Err(Full) if self.delete_borrower() => {}
                Err(Full) => return Err(Refused::Full),
            }
        }
    }

    /// Gives up what `lun` had when its replication started.
    fn drop_starts(&mut self, lun: u32) {
        let starts = self.starts.iter().filter(|start| start.volume == lun);
        let starts: Vec<u32> = starts.map(|start| start.snapshot).collect();
        for start in starts {
            self.end_start(start);
        }
    }

    /// Whether one page more would be too many.
    fn is_over(&self, lun: u32, kind: LunKind) -> bool {
        let (held, reserved) = self.map.held(lun, kind);
        reserved.is_some_and(|reserved| held >= reserved)
    }

    /// Deletes the oldest snapshot of `lun`, unless no more than `keep` are left.
    fn delete_oldest(&mut self, lun: u32, keep: usize) -> bool {
        let has_lun = |set: &&SnapshotSet| set.members.iter().any(|one| one.volume == lun);
        let own: Vec<&SnapshotSet> = self.snapshots.sets.iter().filter(has_lun).collect();
        let Some(oldest) = own.first().filter(|_| own.len() > keep) else {
            return false;
        };
        // A replica of several LUNs is nothing without one of them.
        let is_whole = self.when_full[&lun] == WhenFull::KeepNewest;
        let members = oldest.members.iter();
        let gone = members.filter(|one| is_whole || one.volume == lun);
        let gone: Vec<u32> = gone.map(|one| one.snapshot).collect();
        let (name, lun) = (oldest.name.clone(), self.names[lun as usize].clone());
        self.note_volume(VolumeNote::Deleted { name, lun });
        self.stats.snapshots_deleted += 1;
        for snapshot in gone {
            self.drop_lun(snapshot);
        }
        true
    }

    /// Deletes the oldest snapshot of a LUN that borrows more than its reserve.
    fn delete_borrower(&mut self) -> bool {
        let borrowers = self.when_full.iter();
        let borrower = borrowers
            .filter(|(_, when)| **when == WhenFull::Borrow)
            .map(|(lun, _)| *lun)
            .find(|lun| {
                let (held, reserved) = self.map.held(*lun, LunKind::Snapshot);
                reserved.is_some_and(|reserved| held > reserved)
            });
        borrower.is_some_and(|lun| self.delete_oldest(lun, 0))
    }
}
