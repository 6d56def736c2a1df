//! Disk pools: pieces of a fixed size, scattered over all drives.
//!
//! ```text
//!    drive   0  1  2  3  4  5  6  7  8  9 10
//!    chunk 0 a  a  a  a  a  .  a  a  a  a  a      ten pieces (8 data, 2 parity) on ten of eleven drives
//!    chunk 1 b  b  .  b  b  b  b  b  b  b  b
//!            ...                                  some slots stay free on every drive: preservation capacity
//! ```
//!
//! There is no spare drive. When a drive fails, each of its pieces is rebuilt into a free slot of a
//! drive that does not yet hold a piece of the same chunk, so all drives read and all drives write.
//! As long as slots are free, drives may fail one after another without replacement.
//!
//! The shape follows the dynamic disk pools of the Dell MD3 and NetApp E series: at least 11
//! drives, 8 + 2, rebuilt with priorities. The piece size of 512 MiB and the preservation table are
//! from memory of their documents.

use std::collections::{BTreeMap, BTreeSet};

use brunt_world::random::Stream;

use super::{Chunk, Group, Piece, Spot, Target};

/// Minimum number of drives in a pool.
pub const POOL_DRIVES_MIN: usize = 11;

/// Drives' worth of slots kept free for rebuilding, in a pool of `drives` drives.
pub fn preservation_drives(drives: usize) -> usize {
    match drives {
        0..=11 => 1,
        12..=31 => 2,
        32..=63 => 3,
        64..=127 => 4,
        128..=191 => 6,
        _ => 8,
    }
}

/// The slots of a pool's drives.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    piece_sectors: u64,
    per_drive: u32,
    /// Slots kept free for rebuilding.
    reserved: usize,
    /// Free slots of each working drive.
    free: BTreeMap<u16, BTreeSet<u32>>,
}

impl Slots {
    pub(super) fn new(drives: &[u16], piece_sectors: u64, per_drive: u32, reserved: usize) -> Self {
        let all = || (0..per_drive).collect::<BTreeSet<u32>>();
        Self {
            piece_sectors,
            per_drive,
            reserved,
            free: drives.iter().map(|drive| (*drive, all())).collect(),
        }
    }

    /// Takes the lowest free slot of `drive`.
    fn take(&mut self, drive: u16) -> Option<Spot> {
        let slot = self.free.get_mut(&drive)?.pop_first()?;
        Some(Spot { drive, sector: u64::from(slot) * self.piece_sectors })
    }

    fn give(&mut self, spot: Spot) {
        let slot = spot.sector.div_euclid(self.piece_sectors);
        let slot = u32::try_from(slot).expect("a drive has few slots");
        if let Some(free) = self.free.get_mut(&spot.drive) {
            free.insert(slot);
        }
    }

    fn free_on(&self, drive: u16) -> usize {
        self.free.get(&drive).map_or(0, BTreeSet::len)
    }

    /// A slot on the drive with the most free slots, excluding `taken`; ties are broken at random.
    fn place(&mut self, taken: &[u16], stream: &mut Stream) -> Option<Spot> {
        let candidates =
            self.free.iter().filter(|(drive, free)| !free.is_empty() && !taken.contains(drive));
        let most = candidates.clone().map(|(_, free)| free.len()).max()?;
        let best: Vec<u16> =
            candidates.filter(|(_, free)| free.len() == most).map(|(drive, _)| *drive).collect();
        let drawn = usize::try_from(stream.below(best.len() as u64)).expect("few drives");
        self.take(best[drawn])
    }

    /// Builds chunks from free slots: as many as fit beside the reserved ones.
    pub(super) fn fill(&mut self, width: usize, stream: &mut Stream) -> Vec<Chunk> {
        let all: usize = self.free.values().map(BTreeSet::len).sum();
        let count = all.saturating_sub(self.reserved).div_euclid(width);
        (0..count).map_while(|_| self.chunk(width, stream)).collect()
    }

    /// A chunk on `width` different drives, if that many have a free slot.
    fn chunk(&mut self, width: usize, stream: &mut Stream) -> Option<Chunk> {
        let mut spots: Vec<Spot> = Vec::with_capacity(width);
        while spots.len() < width {
            let taken: Vec<u16> = spots.iter().map(|spot| spot.drive).collect();
            let Some(spot) = self.place(&taken, stream) else {
                spots.into_iter().for_each(|spot| self.give(spot));
                return None;
            };
            spots.push(spot);
        }
        Some(Chunk::new(spots.into_iter().map(Piece::at).collect()))
    }

    /// Removes a drive with its slots.
    fn lose(&mut self, drive: u16) {
        if let Some(free) = self.free.get_mut(&drive) {
            free.clear();
        }
    }

    /// Adds an empty drive.
    fn gain(&mut self, drive: u16) {
        self.free.insert(drive, (0..self.per_drive).collect());
    }

    fn has(&self, drive: u16) -> bool {
        self.free.contains_key(&drive)
    }
}

impl Group {
    /// Whether this is a pool that includes `drive`.
    pub(crate) fn pools(&self, drive: u16) -> bool {
        self.slots.as_ref().is_some_and(|slots| slots.has(drive))
    }

    /// Whether this is a pool, and a drive of `sectors` is large enough for its slots.
    pub(crate) fn admits(&self, sectors: u64) -> bool {
        self.slots
            .as_ref()
            .is_some_and(|slots| u64::from(slots.per_drive) * slots.piece_sectors <= sectors)
    }

    /// Turns unreserved slots into chunks; returns the sectors gained, which come after all others.
    pub(crate) fn extend(&mut self, stream: &mut Stream) -> u64 {
        let (before, width) = (self.sectors(), self.shape.width as usize);
        if let Some(slots) = &mut self.slots {
            self.chunks.extend(slots.fill(width, stream));
        }
        self.sectors() - before
    }

    /// Removes the slots of a failed `drive`.
    pub(crate) fn lose_slots(&mut self, drive: u16) {
        if let Some(slots) = &mut self.slots {
            slots.lose(drive);
        }
    }

    /// Adds the slots of an empty drive, new or replaced.
    pub(crate) fn gain_slots(&mut self, drive: u16) {
        if let Some(slots) = &mut self.slots {
            slots.gain(drive);
        }
    }

    /// Frees a spot that no piece uses any more.
    pub(crate) fn free_spot(&mut self, spot: Spot) {
        if let Some(slots) = &mut self.slots {
            slots.give(spot);
        }
    }

    /// Assigns a rebuild slot to a piece of a pool; false when there is none.
    pub(crate) fn place_target(&mut self, chunk: u32, member: u32, stream: &mut Stream) -> bool {
        let entry = &mut self.chunks[chunk as usize];
        let good = entry.pieces.iter().filter(|piece| piece.is_good);
        let targets = entry.pieces.iter().filter_map(|piece| piece.target);
        let taken: Vec<u16> = good
            .map(|piece| piece.spot.drive)
            .chain(targets.map(|target| target.spot.drive))
            .collect();
        let slots = self.slots.as_mut().expect("it is a pool");
        let Some(spot) = slots.place(&taken, stream) else {
            return false;
        };
        entry.pieces[member as usize].target = Some(Target { spot, rows_done: 0 });
        true
    }

    /// Assigns targets on `drive` to pieces of the fullest drives, until it is as full as they are;
    /// returns whether there are any.
    pub(crate) fn rebalance(&mut self, drive: u16) -> bool {
        let Some(slots) = &mut self.slots else {
            return false;
        };
        let mut freed: BTreeMap<u16, usize> = BTreeMap::new();
        let mut moves = false;
        for chunk in &mut self.chunks {
            let uses = |piece: &Piece| piece.spot.drive == drive;
            if !chunk.is_plain || chunk.pieces.iter().any(uses) {
                continue;
            }
            let room = |piece: &Piece| {
                let other = piece.spot.drive;
                slots.free_on(other) + freed.get(&other).copied().unwrap_or(0)
            };
            let fullest = chunk.pieces.iter_mut().min_by_key(|piece| room(piece));
            let piece = fullest.expect("a chunk has pieces");
            if room(piece) + 1 >= slots.free_on(drive) {
                continue;
            }
            *freed.entry(piece.spot.drive).or_insert(0) += 1;
            let spot = slots.take(drive).expect("it has more free slots than others");
            piece.target = Some(Target { spot, rows_done: 0 });
            chunk.look();
            moves = true;
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn a_filled_pool_is_even_and_keeps_its_reserve() {
        let mut stream = Streams::new(1).named("pool");
        for drives in [11_u16, 12, 24, 60] {
            let numbers: Vec<u16> = (0..drives).collect();
            let reserved = preservation_drives(usize::from(drives)) * 100;
            let mut slots = Slots::new(&numbers, 1000, 100, reserved);
            let chunks = slots.fill(10, &mut stream);
            let free: Vec<usize> = numbers.iter().map(|drive| slots.free_on(*drive)).collect();
            let least = free.iter().min().unwrap();
            assert!(free.iter().all(|free| free - least <= 2), "{free:?}");
            let all: usize = free.iter().sum();
            assert!(all >= reserved && all < reserved + 10, "{drives} drives: {all}");
            for chunk in chunks {
                let mut on: Vec<u16> = chunk.pieces.iter().map(|piece| piece.spot.drive).collect();
                on.sort_unstable();
                on.dedup();
                assert_eq!(on.len(), 10, "pieces of a chunk lie on different drives");
            }
        }
    }
}
