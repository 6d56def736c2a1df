//! What happened to pages, and what that cost beyond the requests of hosts.
//!
//! A plain write of a host costs its members one write. Whatever is counted here comes on top of that, or instead of it, so the
//! price of thin LUNs, of snapshots and of moving can be read off.

use brunt_units::ByteSize;

use super::PagedArray;
use crate::{Array, Extent};

/// What happened to pages since measuring began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageStats {
    /// Reads of hosts, by page, that asked for what nobody has written: no drive is asked.
    pub zeros: u64,
    /// Pages that got room for a write of a host.
    pub allocated: u64,
    /// Writes of hosts, by page, to grains that nobody had written.
    pub first_writes: u64,
    /// Writes of hosts, by page, to grains that lay on a node they may not change: a snapshot has it, too, or the page is moving.
    pub redirected: u64,
    /// Sectors that both read around their data, to write whole grains.
    pub around_sectors: u64,
    /// Writes of the map.
    pub map_writes: u64,
    /// Writes of hosts, by page, that found no room.
    pub refused: u64,
    /// Pages that lie on another member now.
    pub moved: u64,
    /// Pages that got what they lacked, because whatever was behind them is gone.
    pub made_whole: u64,
    /// Pages that are to be moved or made whole still.
    pub planned: u64,
    /// Sectors that were copied for both.
    pub copied_sectors: u64,
    /// Requests to each member for data, whatever they were for.
    pub asked: Vec<u64>,
}

impl PageStats {
    /// Nothing yet, of so many members.
    pub(super) fn new(members: usize) -> Self {
        Self {
            asked: vec![0; members],
            ..Self::default()
        }
    }
}

/// A LUN in pages, and how much of it has room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunRoom {
    /// What it is called.
    pub name: String,
    /// Its size.
    pub size: ByteSize,
    /// The pages of it that lie somewhere, its own and those that it shares; the last one counts whole.
    pub has: ByteSize,
}

impl PagedArray {
    /// Starts measuring anew, now.
    pub fn forget_stats(&mut self) {
        self.stats = PageStats::new(self.members.len());
        self.members.iter_mut().for_each(Array::forget_stats);
    }

    /// What happened to pages since measuring began.
    pub fn stats(&self) -> PageStats {
        PageStats {
            planned: self.pages_planned(),
            ..self.stats.clone()
        }
    }

    /// The LUNs that are there, in the order of their numbers.
    pub fn lun_rooms(&self) -> Vec<LunRoom> {
        let luns = (0..self.map.luns()).filter(|lun| self.map.sectors(*lun).is_some());
        luns.map(|lun| LunRoom {
            name: self.names[lun as usize].clone(),
            size: self.lun_size(lun),
            has: ByteSize::bytes(self.map.pages_with_room(lun) * self.page_bytes()),
        })
        .collect()
    }

    fn page_bytes(&self) -> u64 {
        Extent::new(0, self.map.page_sectors).bytes()
    }

    /// Room that nobody has yet, beyond what is kept for moving.
    pub fn free_room(&self) -> ByteSize {
        ByteSize::bytes(self.map.free_slots() as u64 * self.page_bytes())
    }

    /// Share of the room of all members that take part which is in use, 0 to 1.
    pub fn used_share(&self) -> f64 {
        self.map.used_share_of_open()
    }

    /// Share of each member's room in use, 0 to 1.
    pub fn used_shares(&self) -> Vec<f64> {
        let members = 0..self.members.len();
        members.map(|member| self.map.used_share(member)).collect()
    }
}
