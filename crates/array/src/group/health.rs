//! What a group has lost, and what to rebuild next.

use super::{Chunk, Group};

impl Chunk {
    /// Members that are not good.
    fn bad(&self) -> u32 {
        let bad = self.pieces.iter().filter(|piece| !piece.is_good).count();
        u32::try_from(bad).expect("few pieces")
    }
}

impl Group {
    /// Marks everything on `drive` as lost.
    pub(crate) fn lose(&mut self, drive: u16) {
        self.lose_slots(drive);
        for chunk in &mut self.chunks {
            for piece in &mut chunk.pieces {
                if piece.target.is_some_and(|target| target.spot.drive == drive) {
                    piece.target = None;
                }
                if piece.spot.drive == drive {
                    piece.is_good = false;
                }
            }
            chunk.look();
        }
    }

    /// Number of chunks with unrecoverable data.
    pub(crate) fn lost_chunks(&self) -> usize {
        let chunks = u32::try_from(self.chunks.len()).expect("few chunks");
        (0..chunks).filter(|chunk| !self.chunk_survives(*chunk)).count()
    }

    /// Whether all data of the stripes of `extent` can be read or computed.
    pub(crate) fn has(&self, extent: crate::Extent) -> bool {
        let mut stripes = extent.split(self.shape.data_sectors());
        stripes.all(|(number, _)| {
            let at = self.stripe(number);
            let chunk = &self.chunks[at.chunk as usize];
            chunk.is_plain || self.shape.survives(self.row(at).readable)
        })
    }

    /// Unrepaired failures: the number of drives with bad pieces, or the most members lost by any
    /// chunk if that is larger (a spare may have failed with one piece, returned, and failed again
    /// with another).
    pub(crate) fn failures(&self) -> u32 {
        let bad = |piece: &&super::Piece| !piece.is_good;
        let pieces = self.chunks.iter().flat_map(|chunk| &chunk.pieces);
        let mut drives: Vec<u16> = pieces.filter(bad).map(|piece| piece.spot.drive).collect();
        drives.sort_unstable();
        drives.dedup();
        let most = self.chunks.iter().map(Chunk::bad).max().unwrap_or(0);
        most.max(u32::try_from(drives.len()).expect("few drives"))
    }

    /// Whether any piece is on `drive`, is moving there, or has its home there.
    pub(crate) fn uses(&self, drive: u16) -> bool {
        let mut pieces = self.chunks.iter().flat_map(|chunk| &chunk.pieces);
        let goes =
            |piece: &super::Piece| piece.target.is_some_and(|target| target.spot.drive == drive);
        self.is_home(drive) || pieces.any(|piece| piece.spot.drive == drive || goes(piece))
    }

    /// Whether `drive` is the home of any piece, even if the piece is elsewhere.
    pub(crate) fn is_home(&self, drive: u16) -> bool {
        let mut pieces = self.chunks.iter().flat_map(|chunk| &chunk.pieces);
        self.pools(drive) || pieces.any(|piece| piece.home == drive)
    }

    /// Bad pieces that can be rebuilt but have no target.
    pub(crate) fn homeless(&self) -> Vec<(u32, u32)> {
        let chunks = (0..).zip(&self.chunks).filter(|(_, chunk)| !chunk.is_plain);
        let chunks = chunks.filter(|(number, _)| self.chunk_survives(*number));
        let pieces = chunks.flat_map(|(number, chunk)| {
            let pieces = (0..).zip(&chunk.pieces);
            let homeless = pieces.filter(|(_, piece)| !piece.is_good && piece.target.is_none());
            homeless.map(move |(member, _)| (number, member))
        });
        pieces.collect()
    }

    /// A good piece whose home is `drive` but that is elsewhere and not being moved.
    pub(crate) fn away_from(&self, drive: u16) -> Option<(u32, u32)> {
        if self.slots.is_some() {
            return None;
        }
        (0..).zip(&self.chunks).find_map(|(number, chunk)| {
            let away = chunk.pieces.iter().position(|piece| {
                piece.home == drive
                    && piece.spot.drive != drive
                    && piece.is_good
                    && piece.target.is_none()
            });
            away.map(|member| (number, u32::try_from(member).expect("few pieces")))
        })
    }

    /// Home drives of good pieces of a RAID group that are elsewhere and not being moved.
    pub(crate) fn homes_away(&self) -> Vec<u16> {
        if self.slots.is_some() {
            return Vec::new();
        }
        let pieces = self.chunks.iter().flat_map(|chunk| &chunk.pieces);
        let away = pieces.filter(|piece| {
            piece.home != piece.spot.drive && piece.is_good && piece.target.is_none()
        });
        away.map(|piece| piece.home).collect()
    }

    /// Whether some piece lost on `drive` can still be computed.
    pub(crate) fn rebuilds(&self, drive: u16) -> bool {
        (0..).zip(&self.chunks).any(|(number, chunk)| {
            let mut pieces = chunk.pieces.iter();
            pieces.any(|piece| !piece.is_good && piece.spot.drive == drive)
                && self.chunk_survives(number)
        })
    }

    /// Whether a good piece is being copied onto `drive`.
    pub(crate) fn moves_onto(&self, drive: u16) -> bool {
        let mut pieces = self.chunks.iter().flat_map(|chunk| &chunk.pieces);
        pieces.any(|piece| {
            let goes = |target: super::Target| target.spot.drive == drive;
            piece.is_good && piece.target.is_some_and(goes)
        })
    }

    /// Rows still to be written to rebuild the recoverable pieces lost on `drive`.
    pub(crate) fn rows_to_rebuild(&self, drive: u16) -> u64 {
        let lost = |piece: &super::Piece| !piece.is_good && piece.spot.drive == drive;
        let chunks = (0..).zip(&self.chunks);
        let chunks = chunks.filter(|(number, _)| self.chunk_survives(*number));
        let pieces = chunks.flat_map(|(_, chunk)| &chunk.pieces);
        self.rows_lacking(pieces.filter(|piece| lost(piece)))
    }

    /// Rows still to be copied for good pieces moving to `drive`.
    pub(crate) fn rows_to_move(&self, drive: u16) -> u64 {
        let goes = |piece: &super::Piece| {
            let there = |target: super::Target| target.spot.drive == drive;
            piece.is_good && piece.target.is_some_and(there)
        };
        let pieces = self.chunks.iter().flat_map(|chunk| &chunk.pieces);
        self.rows_lacking(pieces.filter(|piece| goes(piece)))
    }

    fn rows_lacking<'p>(&self, pieces: impl Iterator<Item = &'p super::Piece>) -> u64 {
        let done = |piece: &super::Piece| piece.target.map_or(0, |target| target.rows_done);
        pieces.map(|piece| self.rows_per_chunk - done(piece)).sum()
    }

    /// The target drive of a recoverable piece that was being copied from the failed `drive`.
    pub(crate) fn copied_from(&self, drive: u16) -> Option<u16> {
        (0..).zip(&self.chunks).find_map(|(number, chunk)| {
            let lost = |piece: &&super::Piece| !piece.is_good && piece.spot.drive == drive;
            let target = chunk.pieces.iter().filter(lost).find_map(|one| one.target);
            let target = target.filter(|_| self.chunk_survives(number));
            target.map(|target| target.spot.drive)
        })
    }

    /// The next piece to rebuild or move: in the chunk that has lost most, among chunks not being
    /// repaired.
    pub(crate) fn next_repair(&self) -> Option<(u32, u32)> {
        if self.repairing.len() >= self.repair.at_once {
            return None;
        }
        let chunks = (0..)
            .zip(&self.chunks)
            .filter(|(number, chunk)| !chunk.is_plain && !self.repairing.contains(number));
        let candidates = chunks.filter_map(|(number, chunk)| {
            let is_due = |bad: bool| {
                let is_it = |piece: &super::Piece| piece.target.is_some() && piece.is_good != bad;
                chunk.pieces.iter().position(is_it)
            };
            let member = is_due(true).or_else(|| is_due(false))?;
            let member = u32::try_from(member).expect("few pieces");
            Some((std::cmp::Reverse(chunk.bad()), number, member))
        });
        candidates.min().map(|(_, number, member)| (number, member))
    }

    pub(crate) fn repair_priority(&self, chunk: u32) -> crate::incident::Priority {
        match self.chunks[chunk as usize].bad() {
            0 => self.repair.moving,
            1 => self.repair.priority,
            _ => self.repair.critical,
        }
    }
}
