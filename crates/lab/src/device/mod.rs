//! An array, or a storage pool over several, beneath a virtual world: files on its LUNs.
//!
//! The world's store keeps the bytes; the array supplies the timing. Each volume of the world lies
//! on one LUN, according to the table given to [`ArrayDevice::new`]. The array keeps its own event
//! heap, and the world calls back at its next event.
//!
//! [`SharedArray`] has two owners; `file_map` says where files lie.

mod file_map;
mod shared;
#[cfg(test)]
mod tests;

use brunt_array::{
    Extent, HostIo, Misplaced, ReplicaListener, Scheduled, Standings, System, Tally, Verb,
};
use brunt_units::SECTOR_BYTES;
use brunt_world::{Class, IoError, Op};
use brunt_world_virtual::{Agenda, Device, Inode, Request, RequestId};

use file_map::{FileMap, Full};
pub(crate) use shared::SharedArray;

/// A request of the world; `parts` of it are in flight in the array.
struct Under {
    id: RequestId,
    lun: u32,
    class: Class,
    parts: u32,
    result: Result<(), IoError>,
}

/// A [`System`] as a [`Device`].
pub(crate) struct ArrayDevice {
    array: Box<dyn System>,
    /// The LUN of each volume of the world; of some of them, if there are other devices.
    luns: Vec<Option<u32>>,
    files: Vec<FileMap>,
    under: Vec<Option<Under>>,
    tally: Tally,
    standings: Standings,
}

impl ArrayDevice {
    /// `array` beneath the world's volumes: `luns` pairs volume numbers with LUN numbers.
    ///
    /// # Panics
    /// When a LUN does not exist.
    pub(crate) fn new(array: Box<dyn System>, luns: &[(u32, u32)]) -> Self {
        let sectors = |lun| array.lun_size(lun).get().div_euclid(SECTOR_BYTES);
        let most = luns.iter().map(|(_, lun)| lun + 1).max().unwrap_or(0);
        Self {
            files: (0..most).map(|lun| FileMap::new(sectors(lun))).collect(),
            luns: by_volume(luns),
            standings: Standings::begin(&*array),
            array,
            under: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Host requests since measurement began: since the start of the world, or the last
    /// [`Self::begin_measuring`].
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The standing of the system since the start of the world.
    pub(crate) fn standings(&self) -> &Standings {
        &self.standings
    }

    /// Restarts measurement of the array and of host requests.
    pub(crate) fn begin_measuring(&mut self) {
        self.array.forget_stats();
        self.tally.begin(self.array.now());
    }

    /// Treats all existing files as written in advance. Thin LUNs allocate no space for unwritten
    /// data and read it as zeros, and the files of tests without content are never written.
    pub(crate) fn assume_written(&mut self) {
        for (lun, files) in (0..).zip(&self.files) {
            self.array.assume_written(lun, &files.in_use());
        }
    }

    /// Where `length` bytes of `file` at `offset` lie on the LUN of `volume`, in the file's order,
    /// up to the end of its space there.
    pub(crate) fn places(&self, volume: u32, file: Inode, offset: u64, length: u64) -> Vec<Extent> {
        let extent = Extent::new(offset.div_euclid(SECTOR_BYTES), length.div_euclid(SECTOR_BYTES));
        let files = &self.files[self.lun(volume) as usize];
        files.there(file, extent).into_vec()
    }

    /// Schedules an incident. The world has to [wake](brunt_world_virtual::Machine::wake) the
    /// device then.
    ///
    /// # Errors
    /// [`Misplaced`] when the system lacks a part that the incident names.
    ///
    /// # Panics
    /// When its time is in the past.
    pub(crate) fn schedule(&mut self, incident: &Scheduled) -> Result<(), Misplaced> {
        self.array.schedule(incident)
    }

    /// Tells `listener` of every replica of volumes from now on.
    ///
    /// # Errors
    /// [`Misplaced::NoPair`] when no volumes are replicated.
    pub(crate) fn listen_to_replicas(
        &mut self,
        listener: Box<dyn ReplicaListener>,
    ) -> Result<(), Misplaced> {
        self.array.listen_to_replicas(listener)
    }

    /// The storage system.
    pub(crate) fn array(&self) -> &dyn System {
        &*self.array
    }

    fn lun(&self, volume: u32) -> u32 {
        self.luns[volume as usize].expect("every volume lies on a LUN")
    }

    /// Delivers finished requests, schedules the next call, and keeps the standing.
    fn look(&mut self, agenda: &mut Agenda<'_>) {
        self.standings.look(&*self.array);
        for finished in self.array.finished() {
            let slot = usize::try_from(finished.tag).expect("a slot");
            let entry = &mut self.under[slot];
            let under = entry.as_mut().expect("it is under way");
            self.tally.count(under.lun, under.class, &finished);
            under.parts -= 1;
            under.result = under.result.and(finished.result);
            if under.parts == 0 {
                agenda.finish_at(finished.at, under.id, under.result);
                *entry = None;
            }
        }
        agenda.call_at(self.array.next_at());
    }

    fn begin(&mut self, request: &Request, verb: Verb, agenda: &mut Agenda<'_>) {
        let now = agenda.now();
        let lun = self.lun(request.volume);
        let extent = Extent::new(
            request.offset.div_euclid(SECTOR_BYTES),
            request.length.div_euclid(SECTOR_BYTES),
        );
        let files = &mut self.files[lun as usize];
        let parts = match verb {
            // A read past the file's end is refused by the world, and allocates no space.
            Verb::Read => Ok(files.there(request.file, extent)),
            Verb::Write => files.find(request.file, extent),
        };
        let parts = match parts {
            Ok(parts) if parts.is_empty() => return agenda.finish_at(now, request.id, Ok(())),
            Ok(parts) => parts,
            Err(Full) => return agenda.finish_at(now, request.id, Err(IoError::NoSpace)),
        };
        let slot = request.id.slot();
        if self.under.len() <= slot {
            self.under.resize_with(slot + 1, || None);
        }
        debug_assert!(self.under[slot].is_none(), "a slot is one request's");
        self.under[slot] = Some(Under {
            id: request.id,
            lun,
            class: request.class,
            parts: u32::try_from(parts.len()).expect("few parts"),
            result: Ok(()),
        });
        for extent in parts {
            let tag = slot as u64;
            self.array.submit(now, HostIo { lun, verb, extent, tag });
        }
        self.look(agenda);
    }
}

fn by_volume(pairs: &[(u32, u32)]) -> Vec<Option<u32>> {
    let volumes = pairs.iter().map(|(volume, _)| volume + 1);
    let mut luns = vec![None; volumes.max().unwrap_or(0) as usize];
    for (volume, lun) in pairs {
        luns[*volume as usize] = Some(*lun);
    }
    luns
}

impl Device for ArrayDevice {
    fn submit(&mut self, request: &Request, agenda: &mut Agenda<'_>) {
        match request.op {
            _ if request.length == 0 => agenda.finish_at(agenda.now(), request.id, Ok(())),
            Op::Read => self.begin(request, Verb::Read, agenda),
            Op::Write | Op::WriteThrough => self.begin(request, Verb::Write, agenda),
            // A completed write is on drives or in a protected cache: nothing is left to do.
            Op::Sync | Op::Trim => agenda.finish_at(agenda.now(), request.id, Ok(())),
        }
    }

    fn on_event(&mut self, agenda: &mut Agenda<'_>) {
        self.array.advance(agenda.now());
        self.look(agenda);
    }

    fn resized(&mut self, volume: u32, file: Inode, bytes: u64) {
        let lun = self.lun(volume);
        // A full LUN is reported at the next write to the file.
        let _ = self.files[lun as usize].resize(file, bytes.div_ceil(SECTOR_BYTES));
    }

    fn removed(&mut self, volume: u32, file: Inode) {
        let lun = self.lun(volume);
        self.files[lun as usize].remove(file);
    }
}
