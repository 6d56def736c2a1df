//! A solid-state drive: many dies that each perform one operation at a time, behind a write buffer.
//!
//! ```text
//!    read    overhead -> wait for the die of the page -> read the page -> interface
//!    write   overhead -> interface -> wait for room in the buffer -> done
//!                                     in the background: program a page on the next die, copy for cleaning, sometimes erase
//! ```
//!
//! * A page is read from the die given by its number; writes go round-robin over the dies, as a
//!   log.
//! * **Cleaning.** A flash block is erased as a whole, so its valid pages must be copied first.
//!   With random writes and a share `p` of spare room, each page written costs `(1 + p) / 2p`
//!   programs in total (Agarwal and Marrow, "A closed-form expression for write amplification in
//!   NAND flash", 2010); sequential writes cost one. Copies follow each program; there is one erase
//!   per block's worth of programs. The drive is assumed full, as it is after its first days.
//! * **Reads behind writes**: a read waits while its die programs, copies or erases.
//! * The buffer survives a power loss, so a write completes when the buffer has it. A full buffer
//!   slows writes to the rate of the dies.
//!
//! Not modelled: suspended programs, the mapping's own reads, wear, thermal limits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use brunt_units::{Span, Time};

use super::disk::Service;
use crate::Extent;
use crate::busy::{Busy, transfer};

/// Figures of a solid-state drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashFigures {
    /// User capacity in sectors.
    pub sectors: u64,
    /// Dies that work in parallel.
    pub dies: u32,
    /// Sectors per flash page.
    pub page_sectors: u64,
    /// Time to read a page.
    pub read: Span,
    /// Time to program a page.
    pub program: Span,
    /// Time to erase a block.
    pub erase: Span,
    /// Pages per block.
    pub block_pages: u32,
    /// Spare room, as a share of the user capacity.
    pub spare: f64,
    /// Write buffer, in sectors.
    pub buffer_sectors: u64,
    /// Time to decode a command and answer it.
    pub overhead: Span,
    /// Interface rate in bytes per second.
    pub interface_bytes_per_s: u64,
}

/// The state of one solid-state drive.
pub(crate) struct Flash {
    figures: Arc<FlashFigures>,
    /// When each die is free.
    dies: Vec<Time>,
    /// Programs on each die since its last erase, times a thousand: cleaning adds fractions.
    programs: Vec<u64>,
    next_die: usize,
    /// For each page in the buffer, when it will be programmed.
    buffered: BinaryHeap<Reverse<Time>>,
    interface: Busy,
    /// The first sector after the last write.
    last_written: u64,
    /// Total time of the work given to the dies.
    worked: Span,
}

impl Flash {
    pub(super) fn new(figures: &Arc<FlashFigures>) -> Self {
        Self {
            dies: vec![Time::ZERO; figures.dies as usize],
            programs: staggered(figures),
            next_die: 0,
            buffered: BinaryHeap::new(),
            interface: Busy::default(),
            last_written: 0,
            worked: Span::ZERO,
            figures: Arc::clone(figures),
        }
    }

    /// Time of the dies since the last call, averaged over all of them.
    pub(super) fn take_work(&mut self) -> Span {
        let worked = std::mem::take(&mut self.worked);
        Span(worked.0.div_euclid(self.dies.len() as u64))
    }

    pub(super) fn serve(
        &mut self,
        now: Time,
        extent: Extent,
        write: bool,
        slowness: f64,
    ) -> Service {
        let ready = now + self.figures.overhead;
        let mut service = if write {
            self.write(ready, extent, slowness)
        } else {
            self.read(ready, extent, slowness)
        };
        service.overhead = self.figures.overhead;
        service
    }

    fn pages(&self, extent: Extent) -> u64 {
        extent.split(self.figures.page_sectors).count() as u64
    }

    fn read(&mut self, ready: Time, extent: Extent, slowness: f64) -> Service {
        let read = slowed(self.figures.read, slowness);
        let first = extent.start.div_euclid(self.figures.page_sectors);
        let (mut waited, mut end) = (Span::ZERO, ready);
        for page in first..first + self.pages(extent) {
            let die = usize::try_from(page % self.dies.len() as u64).expect("few dies");
            let begin = self.dies[die].max(ready);
            self.dies[die] = begin + read;
            self.worked += read;
            if self.dies[die] >= end {
                (waited, end) = (begin - ready, self.dies[die]);
            }
        }
        let finish = self.interface.occupy_later(ready, end, self.bus(extent, slowness));
        Service { finish, wait: waited, transfer: finish - ready - waited, ..Service::default() }
    }

    /// The time of `extent` on the interface.
    fn bus(&self, extent: Extent, slowness: f64) -> Span {
        let full_speed = transfer(extent.bytes(), self.figures.interface_bytes_per_s);
        slowed(full_speed, slowness)
    }

    fn write(&mut self, ready: Time, extent: Extent, slowness: f64) -> Service {
        let there = (self.interface).occupy(ready, self.bus(extent, slowness));
        let is_sequential = extent.start == self.last_written;
        self.last_written = extent.end();
        let room =
            usize::try_from(self.figures.buffer_sectors.div_euclid(self.figures.page_sectors))
                .unwrap_or(usize::MAX)
                .max(1);
        let mut taken = there;
        for _ in 0..self.pages(extent) {
            while self.buffered.peek().is_some_and(|Reverse(end)| *end <= taken) {
                self.buffered.pop();
            }
            while self.buffered.len() >= room {
                let Reverse(end) = self.buffered.pop().expect("it is full");
                taken = taken.max(end);
            }
            let end = self.program(taken, is_sequential, slowness);
            self.buffered.push(Reverse(end));
        }
        Service {
            finish: taken,
            wait: taken - there,
            transfer: there - ready,
            ..Service::default()
        }
    }

    /// Total programs for one page written, in thousandths.
    fn amplification(&self, is_sequential: bool) -> u64 {
        if is_sequential {
            return 1000;
        }
        let spare = self.figures.spare;
        #[expect(clippy::cast_possible_truncation, reason = "positive and small")]
        let thousandths = ((1.0 + spare) / (2.0 * spare) * 1000.0) as u64;
        thousandths.max(1000)
    }

    /// Programs a page on the next die, with the cleaning that follows; returns when the page is
    /// programmed.
    fn program(&mut self, from: Time, is_sequential: bool, slowness: f64) -> Time {
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies.len();
        let amplification = self.amplification(is_sequential);
        let begin = self.dies[die].max(from);
        let end = begin + slowed(self.figures.program, slowness);
        let copy = (self.figures.read + self.figures.program).0 * (amplification - 1000);
        let mut work = self.figures.program + Span(copy.div_euclid(1000));
        self.programs[die] += amplification;
        let block = u64::from(self.figures.block_pages) * 1000;
        if self.programs[die] >= block {
            self.programs[die] -= block;
            work += self.figures.erase;
        }
        let work = slowed(work, slowness);
        self.dies[die] = begin + work;
        self.worked += work;
        end
    }
}

/// Programs on each die when a test begins: dies do not erase together.
fn staggered(figures: &FlashFigures) -> Vec<u64> {
    let dies = u64::from(figures.dies);
    let block = u64::from(figures.block_pages) * 1000;
    (0..dies).map(|die| (die * block).div_euclid(dies)).collect()
}

/// `span` on a drive that takes `slowness` times as long.
fn slowed(span: Span, slowness: f64) -> Span {
    if slowness > 1.0 { Span::from_seconds(span.as_seconds() * slowness) } else { span }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flash() -> Flash {
        Flash::new(&Arc::new(FlashFigures {
            sectors: 1 << 30,
            dies: 4,
            page_sectors: 16,
            read: Span::micros(60),
            program: Span::micros(600),
            erase: Span::millis(4),
            block_pages: 100,
            spare: 0.25,
            buffer_sectors: 160,
            overhead: Span::micros(20),
            interface_bytes_per_s: 819_200_000,
        }))
    }

    #[test]
    fn a_read_takes_what_can_be_added_up() {
        let mut flash = flash();
        let service = flash.serve(Time(1000), Extent::new(32, 16), false, 1.0);
        // Overhead, page, and 8 KiB at 819.2 MB/s.
        assert_eq!(service.finish, Time(1000 + 20_000 + 60_000 + 10_000));
        // Another page of the same die waits; a page of another die does not.
        let same = flash.serve(Time(1000), Extent::new(32 + 64, 16), false, 1.0);
        assert_eq!(same.wait, Span::micros(60));
        let other = flash.serve(Time(1000), Extent::new(48, 16), false, 1.0);
        assert_eq!(other.wait, Span::ZERO);
        // The interface had two pages before it, but it has done them while the die reads.
        assert_eq!(other.finish, Time(1000 + 20_000 + 60_000 + 10_000));
    }

    #[test]
    fn writes_end_in_the_buffer_until_it_is_full() {
        let mut flash = flash();
        let mut last = Service::default();
        for number in 0..10 {
            last = flash.serve(Time(0), Extent::new(number * 1600, 16), true, 1.0);
            assert_eq!(last.wait, Span::ZERO);
        }
        assert_eq!(last.finish, Time(20_000 + 10 * 10_000));
        let full = flash.serve(Time(0), Extent::new(99_200, 16), true, 1.0);
        assert!(full.wait > Span::micros(400), "{full:?}");
    }

    #[test]
    fn steady_writes_are_as_fast_as_dies_with_cleaning() {
        let rate = |sequential: bool| {
            let mut flash = flash();
            let (mut now, mut start) = (Time::ZERO, 0);
            for number in 0..20_000_u64 {
                start = if sequential { number * 16 } else { (start + 1_600_016) % (1 << 30) };
                now = flash.serve(now, Extent::new(start, 16), true, 1.0).finish;
            }
            20_000.0 / (now - Time::ZERO).as_seconds()
        };
        // Sequential: one program and a hundredth of an erase. Random: 2.5 programs, 1.5 reads and
        // 2.5 hundredths.
        let sequential = 4.0 / (600e-6 + 4e-3 / 100.0);
        let random = 4.0 / (2.5 * 600e-6 + 1.5 * 60e-6 + 2.5 * 4e-3 / 100.0);
        assert!((rate(true) / sequential - 1.0).abs() < 0.02, "{} {sequential}", rate(true));
        assert!((rate(false) / random - 1.0).abs() < 0.02, "{} {random}", rate(false));
    }

    #[test]
    fn a_slow_drive_does_less() {
        let seconds = |slowness: f64| {
            let mut flash = flash();
            let mut now = Time::ZERO;
            for number in 0..2_000_u64 {
                let start = number * 1_600_016 % (1 << 29);
                now = flash.serve(now, Extent::new(start, 16), true, slowness).finish;
            }
            (now - Time::ZERO).as_seconds()
        };
        let times = seconds(10.0) / seconds(1.0);
        assert!((9.5..10.1).contains(&times), "{times}");
    }

    #[test]
    fn reads_behind_writes_are_slower() {
        let mut flash = flash();
        let mut waits = 0;
        for number in 0..200 {
            let now = Time(number * 300_000);
            flash.serve(now, Extent::new(number * 16_000, 16), true, 1.0);
            let read = flash.serve(now, Extent::new(number * 160, 16), false, 1.0);
            waits += u64::from(read.wait > Span::ZERO);
        }
        assert!(waits > 40, "{waits}");
    }
}
