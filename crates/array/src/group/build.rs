//! Groups from their designs.

use brunt_world_virtual::SECTOR_BYTES;

use super::{Chunk, Group, Piece, RepairPolicy, Spot, Spread};
use crate::design::{DesignError, GroupDesign};

impl GroupDesign {
    /// The group over drives of which the smallest has `drive_sectors`.
    ///
    /// # Errors
    /// [`DesignError`] when the level cannot be built of these drives.
    pub(crate) fn build(&self, drive_sectors: u64) -> Result<Group, DesignError> {
        let shape = self.level.shape(self.drives.len(), self.strip)?;
        let used = self.drive_size.map_or(drive_sectors, |size| {
            size.get().div_euclid(SECTOR_BYTES).min(drive_sectors)
        });
        let rows = used.div_euclid(shape.strip_sectors);
        if rows == 0 {
            return Err(DesignError::TooSmall(self.name.clone()));
        }
        let whole = |drive: &u16| {
            Piece::at(Spot {
                drive: *drive,
                sector: 0,
            })
        };
        let sets = self.drives.chunks(shape.width as usize);
        let chunks = sets.map(|set| Chunk::new(set.iter().map(whole).collect()));
        let chunks: Vec<Chunk> = chunks.collect();
        let unit = self.repair.unit.get().div_euclid(SECTOR_BYTES);
        let repair = RepairPolicy {
            unit_rows: unit.div_euclid(shape.strip_sectors).max(1),
            at_once: chunks.len(),
            priority: self.repair.priority,
            critical: self.repair.critical,
        };
        Ok(Group::new(shape, Spread::Round, rows, chunks, repair))
    }
}
