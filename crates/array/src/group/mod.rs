//! RAID groups and disk pools: sectors spread over drives, with protection.
//!
//! Both consist of *chunks*. A chunk is a number of stripe rows whose members are *pieces*, one per
//! drive:
//!
//! ```text
//!    RAID 10, 6 drives:  3 chunks (one per mirror pair), every piece a whole drive; stripes rotate over the chunks
//!    RAID 50, 2 x 5:     2 chunks (one per RAID 5), likewise
//!    disk pool:          many chunks of 10 pieces of 512 MiB on 10 of all drives; stripes fill one chunk, then the next
//! ```
//!
//! A piece may have a *target*: where it is being rebuilt or copied to. Rows below the target's
//! mark are already there: a lost piece can be read from its target below the mark, and every write
//! below the mark also goes to the target.
//!
//! Invariant: the pieces of a chunk lie on different drives. Invariant: every sector of the group
//! belongs to one stripe.

mod build;
mod health;
pub(crate) mod locks;
pub(crate) mod plan;
pub(crate) mod pool;
mod stripe;

use smallvec::SmallVec;

pub use pool::{POOL_DRIVES_MIN, preservation_drives};
pub use stripe::{Protection, StripeShape, WIDTH_MAX};

use crate::incident::Priority;
use plan::Row;
use stripe::Members;
pub(crate) use stripe::members;

/// A position on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) drive: u16,
    /// First sector.
    pub(crate) sector: u64,
}

/// Where a piece is moving to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) spot: Spot,
    /// Rows below this are already there.
    pub(crate) rows_done: u64,
}

/// One member of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) spot: Spot,
    /// Whether the content at `spot` is good.
    pub(crate) is_good: bool,
    pub(crate) target: Option<Target>,
    /// The drive it belongs on.
    pub(crate) home: u16,
}

impl Piece {
    pub(crate) fn at(spot: Spot) -> Self {
        Self { spot, is_good: true, target: None, home: spot.drive }
    }
}

/// How lost pieces are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RepairPolicy {
    /// Rows rebuilt together.
    pub(crate) unit_rows: u64,
    /// Chunks rebuilt at once.
    pub(crate) at_once: usize,
    /// When one member of a stripe is lost.
    pub(crate) priority: Priority,
    /// When more members are lost.
    pub(crate) critical: Priority,
    /// When none is lost: a piece is only moved.
    pub(crate) moving: Priority,
}

/// Rows of stripes over the same pieces.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) pieces: Box<[Piece]>,
    /// Whether every piece is good and none is moving.
    pub(crate) is_plain: bool,
}

impl Chunk {
    pub(crate) fn new(pieces: Vec<Piece>) -> Self {
        let mut chunk = Self { pieces: pieces.into(), is_plain: false };
        chunk.look();
        chunk
    }

    /// Updates `is_plain`; must be called after any change of a piece.
    pub(crate) fn look(&mut self) {
        self.is_plain = self.pieces.iter().all(|piece| piece.is_good && piece.target.is_none());
    }

    /// Where `member` of `row` can be read.
    fn readable_at(&self, member: u32, row: u64) -> Option<Spot> {
        let piece = &self.pieces[member as usize];
        if piece.is_good {
            return Some(piece.spot);
        }
        let target = piece.target.filter(|target| row < target.rows_done);
        target.map(|target| target.spot)
    }

    fn readable(&self, row: u64) -> Members {
        (0..)
            .zip(&self.pieces)
            .filter(|(member, _)| self.readable_at(*member, row).is_some())
            .fold(0, |set, (member, _)| set | 1 << member)
    }
}

/// How stripes are laid out over chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// One stripe of each chunk in turn.
    Round,
    /// All stripes of a chunk, then the next.
    Filling,
}

/// A stripe of a group: its chunk, and its row in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StripeAt {
    pub(crate) chunk: u32,
    pub(crate) row: u64,
}

/// A RAID group or pool.
pub(crate) struct Group {
    pub(crate) shape: StripeShape,
    pub(crate) spread: Spread,
    pub(crate) rows_per_chunk: u64,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) locks: locks::Locks,
    pub(crate) repair: RepairPolicy,
    /// Chunks being repaired.
    pub(crate) repairing: Vec<u32>,
    /// Free slots of a pool; a RAID group has none.
    pub(crate) slots: Option<pool::Slots>,
}

impl Group {
    pub(crate) fn new(
        shape: StripeShape,
        spread: Spread,
        rows_per_chunk: u64,
        chunks: Vec<Chunk>,
        repair: RepairPolicy,
    ) -> Self {
        for chunk in &chunks {
            let mut drives: Vec<u16> = chunk.pieces.iter().map(|piece| piece.spot.drive).collect();
            drives.sort_unstable();
            drives.dedup();
            assert_eq!(drives.len(), shape.width as usize, "pieces share a drive");
        }
        Self {
            shape,
            spread,
            rows_per_chunk,
            chunks,
            locks: locks::Locks::default(),
            repair,
            repairing: Vec::new(),
            slots: None,
        }
    }

    /// Data capacity in sectors.
    pub(crate) fn sectors(&self) -> u64 {
        self.shape.data_sectors() * self.rows_per_chunk * self.chunks.len() as u64
    }

    pub(crate) fn piece_sectors(&self) -> u64 {
        self.rows_per_chunk * self.shape.strip_sectors
    }

    /// The stripe with this number within the group.
    pub(crate) fn stripe(&self, number: u64) -> StripeAt {
        let (chunk, row) = match self.spread {
            Spread::Round => {
                let chunks = self.chunks.len() as u64;
                (number % chunks, number.div_euclid(chunks))
            }
            Spread::Filling => {
                let rows = self.rows_per_chunk;
                (number.div_euclid(rows), number % rows)
            }
        };
        StripeAt { chunk: u32::try_from(chunk).expect("few chunks"), row }
    }

    /// The first sector of a stripe's data within the group: the inverse of [`Self::stripe`].
    pub(crate) fn first_sector(&self, at: StripeAt) -> u64 {
        let (chunk, chunks) = (u64::from(at.chunk), self.chunks.len() as u64);
        let number = match self.spread {
            Spread::Round => at.row * chunks + chunk,
            Spread::Filling => chunk * self.rows_per_chunk + at.row,
        };
        number * self.shape.data_sectors()
    }

    /// The row of `at`, for planning.
    pub(crate) fn row(&self, at: StripeAt) -> Row<'_> {
        let chunk = &self.chunks[at.chunk as usize];
        Row {
            shape: &self.shape,
            row: at.row,
            readable: if chunk.is_plain { self.shape.all() } else { chunk.readable(at.row) },
        }
    }

    /// Where to read `member` of a stripe, from sector `within` of its strip; it must be readable.
    pub(crate) fn read_spot(&self, at: StripeAt, member: u32, within: u64) -> Spot {
        let spot = self.chunks[at.chunk as usize].readable_at(member, at.row);
        self.within(spot.expect("the plan reads what can be read"), at.row, within)
    }

    /// Where to write `member` of a stripe, from sector `within` of its strip.
    pub(crate) fn write_spots(
        &self,
        at: StripeAt,
        member: u32,
        within: u64,
    ) -> SmallVec<[Spot; 2]> {
        let piece = &self.chunks[at.chunk as usize].pieces[member as usize];
        let target = piece.target.filter(|target| at.row < target.rows_done);
        let mut spots = SmallVec::new();
        if piece.is_good {
            spots.push(self.within(piece.spot, at.row, within));
        }
        if let Some(target) = target {
            spots.push(self.within(target.spot, at.row, within));
        }
        spots
    }

    fn within(&self, spot: Spot, row: u64, within: u64) -> Spot {
        Spot { sector: spot.sector + row * self.shape.strip_sectors + within, ..spot }
    }

    /// Whether reading a stripe requires its lock, because the strips read must be consistent with
    /// each other.
    pub(crate) fn reads_need_lock(&self, at: StripeAt) -> bool {
        self.shape.parities() > 0 && !self.chunks[at.chunk as usize].is_plain
    }

    /// Whether the data of all rows of a chunk is readable or can be computed.
    pub(crate) fn chunk_survives(&self, chunk: u32) -> bool {
        // The last row has the fewest readable members: targets are filled from row 0 upwards.
        let readable = self.chunks[chunk as usize].readable(self.rows_per_chunk - 1);
        self.shape.survives(readable)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use brunt_units::ByteSize;
    use brunt_world::random::Streams;

    use crate::design::{ArrayDesign, Level};
    use crate::drive::library;

    #[test]
    fn every_block_maps_once_and_parity_shares_no_drive_with_its_data() {
        let model = library::find("cheetah-15k5-146-fc").unwrap();
        let pool = Level::Pool { piece: ByteSize::kib(64), preserved: None };
        for (level, drives) in [
            (Level::Raid0, 3),
            (Level::Raid10, 6),
            (Level::Raid5, 5),
            (Level::Raid50(2), 8),
            (Level::Raid6, 7),
            (pool, 12),
        ] {
            let mut design = ArrayDesign::one_group(&model, drives, level).groups.remove(0);
            design.strip = ByteSize::kib(4);
            let mut stream = Streams::new(9).named("group");
            let group = design.build(1024, &mut stream).unwrap();
            let mut used: BTreeMap<(u16, u64), u64> = BTreeMap::new();
            for number in 0..group.sectors().div_euclid(group.shape.data_sectors()) {
                let at = group.stripe(number);
                let mut on = BTreeSet::new();
                for member in 0..group.shape.width {
                    let spot = group.read_spot(at, member, 0);
                    assert!(spot.sector + group.shape.strip_sectors <= 1024);
                    assert!(on.insert(spot.drive), "{level:?}: two members on a drive");
                    let before = used.insert((spot.drive, spot.sector), number);
                    assert_eq!(before, None, "{level:?}: a strip of two stripes");
                }
            }
        }
    }
}
