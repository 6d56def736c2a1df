//! What becomes of requests that a fault touches.

use std::ops::Range;
use std::rc::Rc;

use super::armed::overlap;
use super::slice::slice;
use super::{Fault, FaultKind, Faulty, Shared, Strike, TOLD_MAX};
use crate::{Class, Disk, FileId, Io, IoError, Op, Segment, Segments, Ticket};

/// Frames are whole blocks.
const BLOCK: u64 = 4096;

impl Disk for Faulty {
    fn submit(&self, io: Io) -> Ticket {
        let Some((number, fault)) = self.0.find(&io) else {
            return self.0.inner.disk.submit(io);
        };
        let (ticket, id) = self.0.tickets.issue(self.0.inner.clock.now());
        if fault.kind == FaultKind::Stuck {
            self.0.stuck.borrow_mut().push(io);
            return ticket;
        }
        let shared = Rc::clone(&self.0);
        drop(self.0.spawner.spawn(async move {
            let (result, segments) = shared.carry_out(io, number, &fault).await;
            let now = shared.inner.clock.now();
            shared.tickets.complete(id, result, now, segments);
        }));
        ticket
    }
}

impl Shared {
    /// The fault that strikes a request.
    fn find(&self, io: &Io) -> Option<(usize, Fault)> {
        if self.held.get() {
            return None;
        }
        let paths = self.paths.borrow();
        let path = paths.get(&io.file)?;
        let mut armed = self.armed.borrow_mut();
        let number = armed.iter_mut().position(|armed| armed.meet(io, path))?;
        let (fault, struck) = (armed[number].fault.clone(), armed[number].struck);
        // A write that is only watched is no strike.
        if (1..=TOLD_MAX).contains(&struck) {
            self.strikes.borrow_mut().push(Strike {
                number,
                fault: fault.clone(),
                path: path.clone(),
                op: io.op,
                offset: io.offset,
            });
        }
        Some((number, fault))
    }

    async fn carry_out(
        &self,
        io: Io,
        number: usize,
        fault: &Fault,
    ) -> (Result<(), IoError>, Segments) {
        let is_read = io.op == Op::Read;
        match fault.kind {
            FaultKind::DeviceError => (Err(IoError::Device), io.segments),
            FaultKind::MediumError => (Err(IoError::Medium), io.segments),
            FaultKind::NoSpace => (Err(IoError::NoSpace), io.segments),
            FaultKind::DroppedSync => (Ok(()), io.segments),
            FaultKind::Slow(span) => {
                let begin = self.inner.clock.now() + span;
                self.inner.sleep_until(begin).await;
                let done = self.inner.disk.submit(io).await;
                (done.result, done.segments)
            }
            _ if is_read => self.misread(io, number, fault).await,
            _ => {
                if fault.kind == FaultKind::Stale {
                    self.remember(&io, number, &fault.bytes).await;
                }
                let result = self.miswrite(&io, fault).await;
                (result, io.segments)
            }
        }
    }

    /// Writes what the fault leaves of a request.
    async fn miswrite(&self, io: &Io, fault: &Fault) -> Result<(), IoError> {
        let place = &fault.bytes;
        let inside = match fault.kind {
            FaultKind::Lost => None,
            FaultKind::Torn => slice(io, &(place.start..place.start + fault.sector)),
            FaultKind::MisdirectedWrite(by) => slice(io, place).map(|io| Io {
                offset: io.offset + by,
                ..io
            }),
            _ => slice(io, place),
        };
        let before = slice(io, &(0..place.start));
        let after = slice(io, &(place.end..u64::MAX));
        let parts = [before, inside, after].into_iter().flatten();
        let tickets: Vec<_> = parts.map(|part| self.inner.disk.submit(part)).collect();
        let mut result = Ok(());
        for ticket in tickets {
            result = result.and(ticket.await.result);
        }
        result
    }

    /// Reads, and changes what was read.
    async fn misread(
        &self,
        io: Io,
        number: usize,
        fault: &Fault,
    ) -> (Result<(), IoError>, Segments) {
        let (file, offset) = (io.file, io.offset);
        let place = overlap(&io, &fault.bytes).expect("it touches");
        let mut done = self.inner.disk.submit(io).await;
        if done.result.is_err() {
            return (done.result, done.segments);
        }
        let length = fault.bytes.end - fault.bytes.start;
        let other: Option<Vec<u8>> = match fault.kind {
            FaultKind::Stale => self.armed.borrow()[number].former.get(&file).cloned(),
            FaultKind::MisdirectedRead(by) => self.read(file, fault.bytes.start + by, length).await,
            FaultKind::Zeroed | FaultKind::ShortRead => Some(vec![0; index(length)]),
            _ => None,
        };
        let keep = match fault.kind {
            FaultKind::ShortRead => fault.bytes.start + fault.sector,
            _ => fault.bytes.start,
        };
        let middle = index(length.div_euclid(2));
        each_byte(&mut done.segments, offset, &place, |at, byte| {
            let within = index(at - fault.bytes.start);
            match (&other, fault.kind) {
                (Some(other), _) if at >= keep => *byte = other[within],
                (None, FaultKind::BitFlip) if within == middle => *byte ^= 1,
                (None, FaultKind::TwoBitFlip) if within == middle => *byte ^= 3,
                _ => {}
            }
        });
        (done.result, done.segments)
    }

    /// Keeps what stands at the place before a write changes it.
    async fn remember(&self, io: &Io, number: usize, place: &Range<u64>) {
        if let Some(former) = self
            .read(io.file, place.start, place.end - place.start)
            .await
        {
            self.armed.borrow_mut()[number]
                .former
                .insert(io.file, former);
        }
    }

    /// Reads below the faults; `None` when the blocks around the place reach past the end.
    async fn read(&self, file: FileId, offset: u64, length: u64) -> Option<Vec<u8>> {
        let start = offset - offset % BLOCK;
        let end = (offset + length).next_multiple_of(BLOCK);
        let frame = self.inner.frames.take(index(end - start));
        let io = Io::read(Class::Maintenance, file, start, frame);
        let done = self.inner.disk.submit(io).await;
        done.result.ok()?;
        let from = index(offset - start);
        Some(done.into_frame()[from..from + index(length)].to_vec())
    }
}

/// Shows every byte of `place` that was read from `offset` on, with where it lies in the file.
fn each_byte(
    segments: &mut Segments,
    offset: u64,
    place: &Range<u64>,
    mut show: impl FnMut(u64, &mut u8),
) {
    let mut at = offset;
    for segment in segments {
        if let Segment::Fill(frame) = segment {
            for (byte, at) in frame.iter_mut().zip(at..) {
                if place.contains(&at) {
                    show(at, byte);
                }
            }
        }
        at += segment.length();
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("memory is addressable")
}
