//! Moves bytes between an I/O's memory and the store.
//!
//! An I/O has two moments: *touch-down* at submission and *landing* at completion. Each sector
//! moves at one of them, drawn from the flight's `coins`, a bit pattern spread over the sectors.
//! Without bits everything moves at completion.

use brunt_units::SECTOR_BYTES;
use brunt_world::random::Stream;
use brunt_world::{IoError, Op, Segment};

use crate::front::{Flight, State};
use crate::{Inode, Store};

/// When an I/O's bytes move between memory and [`Store`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Landing {
    /// Everything at completion.
    #[default]
    AtCompletion,
    /// Each sector at submission or at completion, drawn from the world's stream `landing`:
    /// concurrent I/O on the same bytes sees torn data.
    Torn,
}

impl Landing {
    /// The coins of a flight.
    pub(crate) fn coins(self, stream: &mut Stream) -> u64 {
        match self {
            Self::AtCompletion => 0,
            Self::Torn => stream.bits(),
        }
    }
}

/// Whether the sector at `offset` moves at touch-down. Sectors 64 apart share a bit, rotated by
/// their position.
fn is_early(coins: u64, offset: u64) -> bool {
    let sector = offset.div_euclid(SECTOR_BYTES);
    let turned = sector.wrapping_add(sector.div_euclid(61)) % 64;
    (coins >> turned) & 1 == 1
}

impl State {
    /// Submission: moves the early sectors, unless the I/O cannot be admitted; then everything
    /// moves at completion.
    pub(crate) fn touch_down(&mut self, flight: &mut Flight) {
        if flight.coins == 0 {
            return;
        }
        match self.admit(flight) {
            Ok(()) => self.carry(flight, true),
            Err(_) => flight.coins = 0,
        }
    }

    /// Completion: moves the rest and decides the result.
    pub(crate) fn land(&mut self, flight: &mut Flight) -> Result<(), IoError> {
        self.admit(flight)?;
        self.carry(flight, false);
        Ok(())
    }

    /// Checks that the file is long enough to read, or has space to grow; claims that space.
    fn admit(&mut self, flight: &Flight) -> Result<(), IoError> {
        let length = self.length(flight.inode);
        let end = flight.io.offset + flight.io.length();
        match flight.io.op {
            Op::Read if end > length => Err(IoError::PastEnd),
            Op::Write | Op::WriteThrough if end > length => {
                let volume = self.handles.volume(flight.inode);
                if !self.mounts.grow(volume, end - length) {
                    return Err(IoError::NoSpace);
                }
                self.store.set_length(flight.inode, end);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn length(&self, inode: Inode) -> u64 {
        let length = self.store.length(inode);
        length.expect("a file lives while an I/O holds it")
    }

    fn carry(&mut self, flight: &mut Flight, early: bool) {
        let (inode, coins) = (flight.inode, flight.coins);
        let mut offset = flight.io.offset;
        let trimmed = (flight.io.op == Op::Trim).then(|| self.length(inode));
        for segment in &mut flight.io.segments {
            let end = offset + segment.length();
            let mut carry = |at: u64, length: u64| {
                let place = (inode, at, length);
                move_bytes(&mut self.store, flight.io.op, place, segment, at - offset);
            };
            if let Some(length) = trimmed {
                // Trimming never extends a file.
                if !early && offset < length {
                    carry(offset, end.min(length) - offset);
                }
            } else if coins == 0 {
                carry(offset, end - offset);
            } else {
                (offset..end)
                    .step_by(512)
                    .filter(|at| is_early(coins, *at) == early)
                    .for_each(|at| carry(at, SECTOR_BYTES));
            }
            offset = end;
        }
    }
}

/// Moves bytes of a file, by inode, offset and length, from `from` bytes into the segment.
fn move_bytes(
    store: &mut Store,
    op: Op,
    (inode, offset, length): (Inode, u64, u64),
    segment: &mut Segment,
    from: u64,
) {
    let range = || {
        let index = |at: u64| usize::try_from(at).expect("memory is addressable");
        index(from)..index(from + length)
    };
    match segment {
        Segment::Fill(frame) => store.read(inode, offset, &mut frame[range()]),
        Segment::Drain { .. } => store.write(inode, offset, &segment.drained()[range()]),
        Segment::Ghost(_) if op == Op::Read => {}
        Segment::Ghost(_) => store.write_zeros(inode, offset, length),
    }
}
