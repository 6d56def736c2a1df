//! The media scan: every drive is read in the background, alternating a unit and a pause, from
//! start to end, repeatedly.
//!
//! It costs drive time and finds nothing, since modelled sectors do not become unreadable by
//! themselves. A failed drive is not scanned; a replaced drive is scanned from its beginning.

use brunt_units::{ByteSize, Time};

use super::jobs::IoOwner;
use super::observer::Observer;
use super::{Array, Event};
use crate::design::ScanDesign;
use crate::group::Spot;

/// The scan's position on each drive.
pub(super) struct Scan {
    design: ScanDesign,
    positions: Vec<u64>,
    scanned: u64,
}

impl Scan {
    pub(super) fn new(design: ScanDesign, drives: usize) -> Self {
        Self { design, positions: vec![0; drives], scanned: 0 }
    }
}

impl<O: Observer> Array<O> {
    /// Starts the scan of all drives, staggered within the first pause.
    pub(super) fn start_scan(&mut self) {
        let Some(scan) = &self.scan else { return };
        let drives = self.drives.len() as u64;
        let pause = scan.design.pause;
        for drive in 0..drives {
            let at = Time((pause.0.saturating_mul(drive)).div_euclid(drives));
            let drive = u16::try_from(drive).expect("few drives");
            self.schedule.set(at, Event::Scan(drive));
        }
    }

    /// The next unit of `drive` is due.
    pub(super) fn scan_unit(&mut self, drive: u16) {
        let number = usize::from(drive);
        let Some(scan) = &mut self.scan else { return };
        if self.drives[number].is_failed() {
            scan.positions[number] = 0;
            return self.scan_later(drive);
        }
        let sectors = self.drives[number].sectors();
        let sector = scan.positions[number];
        let unit = scan.design.unit.get().div_euclid(512).max(1);
        let length = unit.min(sectors - sector);
        scan.positions[number] = (sector + length) % sectors;
        scan.scanned += length;
        self.ask_drive(IoOwner::Scan, Spot { drive, sector }, length, false);
    }

    /// Starts a pause.
    pub(super) fn scan_later(&mut self, drive: u16) {
        let Some(scan) = &self.scan else { return };
        let at = self.now + scan.design.pause;
        self.schedule.set(at, Event::Scan(drive));
    }

    /// Bytes read by the media scan since the array started.
    pub fn scanned(&self) -> ByteSize {
        let sectors = self.scan.as_ref().map_or(0, |scan| scan.scanned);
        ByteSize::bytes(sectors * 512)
    }
}
