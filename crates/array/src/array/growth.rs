//! Adding drives to a pool, and growing LUNs.
//!
//! ```text
//!    before   | "mail" ........ | reserve |            a pool's sectors, LUNs one after the other
//!    after    | "mail" ........ | new | reserve |      new chunks come last, so existing data keeps its place
//! ```
//!
//! A drive that joins adds slots to the pool. They first make up what the reserve lacks; the rest
//! become chunks, and a LUN can grow into these when no other LUN follows it. Then pieces move
//! until the new drive is as full as the others.

use brunt_units::ByteSize;

use super::Array;
use super::observer::Observer;
use crate::Extent;
use crate::incident::NoteKind;

impl<O: Observer> Array<O> {
    /// Adds `drive` to a pool, if possible.
    pub(super) fn grow_pool(&mut self, group: usize, drive: u16) {
        let name = self.names[group].clone();
        if let Some(why) = self.bars_from_pool(group, drive) {
            return self.note(NoteKind::PoolStays { group: name, drive, why });
        }
        self.spares.retain(|spare| *spare != drive);
        self.groups[group].gain_slots(drive);
        // Rebuilds that lacked room may have some now, and take precedence.
        self.look_for_targets();
        let more = self.groups[group].extend(&mut self.placement);
        self.note(NoteKind::PoolGrew { group: name, drive, room: size(more) });
        self.copy_back(u32::try_from(group).expect("few groups"), drive);
    }

    /// Why `drive` cannot join the pool, if it cannot.
    fn bars_from_pool(&self, group: usize, drive: u16) -> Option<&'static str> {
        let in_tier = self.tier.as_ref().is_some_and(|tier| tier.uses(drive));
        let is_used = in_tier || self.groups.iter().any(|group| group.uses(drive));
        let (one, pool) = (&self.drives[usize::from(drive)], &self.groups[group]);
        let bars = [
            (pool.slots.is_none(), "it is not a pool"),
            (is_used, "the drive is in use"),
            (one.is_failed(), "the drive has failed"),
            (!pool.admits(one.sectors()), "the drive is too small"),
        ];
        bars.into_iter().find_map(|(is_so, why)| is_so.then_some(why))
    }

    /// Grows a LUN to a larger size; zero takes all free space after it.
    pub(super) fn grow_lun(&mut self, lun: u32, to: ByteSize) {
        let (name, most) = (self.lun_names[lun as usize].clone(), self.room_of(lun));
        let entry = &mut self.luns[lun as usize];
        let sectors = match to.get() {
            0 => most,
            bytes => bytes.div_ceil(512),
        };
        if sectors <= entry.sectors || sectors > most {
            let (size, most) = (size(entry.sectors), Some(size(most)));
            return self.note(NoteKind::LunStays { lun: name, size, most });
        }
        entry.sectors = sectors;
        let size = size(sectors);
        self.note(NoteKind::LunGrew { lun: name, size });
    }

    /// The most sectors a LUN can have: up to the next LUN or the end of its group.
    fn room_of(&self, lun: u32) -> u64 {
        let lun = &self.luns[lun as usize];
        let others = self.luns.iter().filter(|other| other.group == lun.group);
        let next = others.map(|other| other.start).filter(|start| *start > lun.start).min();
        next.unwrap_or(self.groups[lun.group as usize].sectors()) - lun.start
    }
}

fn size(sectors: u64) -> ByteSize {
    ByteSize::bytes(Extent::new(0, sectors).bytes())
}
