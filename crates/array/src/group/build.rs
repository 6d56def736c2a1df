//! Builds groups from their designs.

use brunt_units::SECTOR_BYTES;

use brunt_units::ByteSize;
use brunt_world::random::Stream;

use super::pool::{Slots, preservation_drives};
use super::{Chunk, Group, Piece, RepairPolicy, Spot, Spread, StripeShape};
use crate::design::{DesignError, GroupDesign, Level};
use crate::incident::Priority;

impl GroupDesign {
    /// Builds the group; its smallest drive has `drive_sectors`.
    ///
    /// # Errors
    /// [`DesignError`] when the level cannot be built from these drives.
    pub(crate) fn build(
        &self,
        drive_sectors: u64,
        stream: &mut Stream,
    ) -> Result<Group, DesignError> {
        let shape = self.level.shape(self.drives.len(), self.strip)?;
        let used = self
            .drive_size
            .map_or(drive_sectors, |size| size.get().div_euclid(SECTOR_BYTES).min(drive_sectors));
        if let Level::Pool { piece, preserved } = self.level {
            return self.build_pool(shape, used, piece, preserved, stream);
        }
        let rows = used.div_euclid(shape.strip_sectors);
        if rows == 0 {
            return Err(DesignError::TooSmall(self.name.clone()));
        }
        let whole = |drive: &u16| Piece::at(Spot { drive: *drive, sector: 0 });
        let sets = self.drives.chunks(shape.width as usize);
        let chunks = sets.map(|set| Chunk::new(set.iter().map(whole).collect()));
        let chunks: Vec<Chunk> = chunks.collect();
        let repair = self.policy(&shape, chunks.len());
        Ok(Group::new(shape, Spread::Round, rows, chunks, repair))
    }

    fn policy(&self, shape: &StripeShape, at_once: usize) -> RepairPolicy {
        let unit = self.repair.unit.get().div_euclid(SECTOR_BYTES);
        RepairPolicy {
            unit_rows: unit.div_euclid(shape.strip_sectors).max(1),
            at_once,
            priority: self.repair.priority,
            critical: self.repair.critical,
            moving: Priority::Low,
        }
    }

    fn build_pool(
        &self,
        shape: StripeShape,
        drive_sectors: u64,
        piece: ByteSize,
        preserved: Option<u32>,
        stream: &mut Stream,
    ) -> Result<Group, DesignError> {
        let too_small = || DesignError::TooSmall(self.name.clone());
        let rows = piece.get().div_euclid(SECTOR_BYTES).div_euclid(shape.strip_sectors);
        let piece_sectors = rows * shape.strip_sectors;
        let per_drive = drive_sectors.checked_div_euclid(piece_sectors).ok_or_else(too_small)?;
        let per_drive = u32::try_from(per_drive).map_err(|_| DesignError::Piece(piece))?;
        let preserved = preserved
            .map_or_else(|| preservation_drives(self.drives.len()), |drives| drives as usize);
        let width = shape.width as usize;
        let reserved = preserved * per_drive as usize;
        let mut slots = Slots::new(&self.drives, piece_sectors, per_drive, reserved);
        let chunks = slots.fill(width, stream);
        if chunks.is_empty() {
            return Err(too_small());
        }
        // All drives but the lost one share the work; each chunk involves a stripe's width of them.
        let at_once = (self.drives.len() - 1).div_euclid(width).max(1);
        let repair = self.policy(&shape, at_once);
        let mut group = Group::new(shape, Spread::Filling, rows, chunks, repair);
        group.slots = Some(slots);
        Ok(group)
    }
}
