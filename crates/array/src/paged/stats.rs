//! Page counters, and their cost beyond host requests.
//!
//! A plain host write costs its members one write. Everything counted here comes on top of that or
//! instead of it, so it shows the cost of thin LUNs, snapshots and moves.

use brunt_units::{ByteSize, Time};

use super::PagedArray;
use super::map::LunKind;
use crate::{Array, Extent};

/// Page counters since measurement began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageStats {
    /// Host reads, by page, of data that was never written: no drive is accessed.
    pub zeros: u64,
    /// Pages allocated for host writes.
    pub allocated: u64,
    /// Host writes, by page, to grains that were never written.
    pub first_writes: u64,
    /// Host writes, by page, to grains on a node that must not change: it is shared with a
    /// snapshot, or the page is moving.
    pub redirected: u64,
    /// Sectors read around the data of both, to write whole grains.
    pub around_sectors: u64,
    pub map_writes: u64,
    /// Host writes, by page, that found no free page.
    pub refused: u64,
    /// Pages moved to another member.
    pub moved: u64,
    /// Pages that got the grains they lacked after the pages behind them lost their other users.
    pub made_whole: u64,
    /// Pages still to be moved or made whole.
    pub planned: u64,
    /// Sectors copied for moved pages and pages made whole.
    pub copied_sectors: u64,
    /// Snapshots deleted because a reserve was full.
    pub snapshots_deleted: u64,
    /// Data requests to each member, for any purpose.
    pub asked: Vec<u64>,
}

impl PageStats {
    /// Zero counters for this many members.
    pub(super) fn new(members: usize) -> Self {
        Self { asked: vec![0; members], ..Self::default() }
    }
}

/// A LUN in pages, and how much of it is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunRoom {
    /// What it is called.
    pub name: String,
    pub size: ByteSize,
    /// Its allocated pages, its own and shared ones; the last page counts whole.
    pub has: ByteSize,
    /// What its snapshots keep beyond that, and their reserve if they have one.
    pub snapshots: (ByteSize, Option<ByteSize>),
}

/// Snapshots of one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotState {
    /// What they are called.
    pub name: String,
    /// Their instant.
    pub at: Time,
    /// The LUNs, by name.
    pub luns: Vec<String>,
}

impl PagedArray {
    /// Restarts measurement now.
    pub fn forget_stats(&mut self) {
        self.stats = PageStats::new(self.members.len());
        self.members.iter_mut().for_each(Array::forget_stats);
    }

    /// Page counters since measurement began.
    pub fn stats(&self) -> PageStats {
        PageStats { planned: self.pages_planned(), ..self.stats.clone() }
    }

    /// The snapshots that are there, from the oldest.
    pub fn snapshots(&self) -> Vec<SnapshotState> {
        let sets = self.snapshots.sets.iter();
        sets.map(|set| SnapshotState {
            name: set.name.clone(),
            at: set.at,
            luns: set
                .members
                .iter()
                .map(|member| self.names[member.volume as usize].clone())
                .collect(),
        })
        .collect()
    }

    /// The existing LUNs, in order of number, but not what a replication started from.
    pub fn lun_rooms(&self) -> Vec<LunRoom> {
        let is_seen = |lun: &u32| !matches!(self.map.kind(*lun), None | Some(LunKind::Start));
        let luns = (0..self.map.luns()).filter(is_seen);
        luns.map(|lun| LunRoom {
            name: self.names[lun as usize].clone(),
            size: self.lun_size(lun),
            has: ByteSize::bytes(self.map.pages_with_room(lun) * self.page_bytes()),
            snapshots: {
                let (held, reserve) = self.map.held(lun, LunKind::Snapshot);
                let bytes = |pages: u32| ByteSize::bytes(u64::from(pages) * self.page_bytes());
                (bytes(held), reserve.map(bytes))
            },
        })
        .collect()
    }

    fn page_bytes(&self) -> u64 {
        Extent::new(0, self.map.page_sectors).bytes()
    }

    /// Free space, beyond what is kept for moves.
    pub fn free_room(&self) -> ByteSize {
        ByteSize::bytes(self.map.free_slots() as u64 * self.page_bytes())
    }

    /// Share of the space of all active members in use, 0 to 1.
    pub fn used_share(&self) -> f64 {
        self.map.used_share_of_open()
    }

    /// Share of each member's space in use, 0 to 1.
    pub fn used_shares(&self) -> Vec<f64> {
        let members = 0..self.members.len();
        members.map(|member| self.map.used_share(member)).collect()
    }
}
