//! Applies faults to the requests that they touch.

use std::ops::Range;
use std::rc::Rc;

use super::armed::{Armed, Meeting, overlap};
use super::slice::slice;
use super::{Fault, FaultKind, Faulty, Shared, Strike, TOLD_MAX};
use crate::{Class, Disk, FileId, Io, IoError, Op, Segment, Segments, Ticket};

/// Frames are whole blocks.
const BLOCK: u64 = 4096;

impl Disk for Faulty {
    fn submit(&self, io: Io) -> Ticket {
        let Some((number, meeting)) = self.0.find(&io, 0) else {
            return self.0.inner.disk.submit(io);
        };
        let (ticket, id) = self.0.tickets.issue(self.0.inner.clock.now());
        let shared = Rc::clone(&self.0);
        drop(self.0.spawner.spawn(async move {
            if let Some((result, segments)) = shared.undergo(io, number, meeting).await {
                let now = shared.inner.clock.now();
                shared.tickets.complete(id, result, now, segments);
            }
        }));
        ticket
    }
}

impl Shared {
    /// The first fault, from number `from` on, that affects a request. A strike is recorded.
    fn find(&self, io: &Io, from: usize) -> Option<(usize, Meeting)> {
        if self.held.get() {
            return None;
        }
        let paths = self.paths.borrow();
        let path = paths.get(&io.file)?;
        let mut armed = self.armed.borrow_mut();
        let mut later = armed.iter_mut().enumerate().skip(from);
        let (number, meeting) = later.find_map(|(number, armed)| match armed.meet(io, path) {
            Meeting::Passes => None,
            meeting => Some((number, meeting)),
        })?;
        let Armed { fault, struck, .. } = &armed[number];
        // A write that is only watched is not a strike.
        if matches!(meeting, Meeting::Strikes) && (1..=TOLD_MAX).contains(struck) {
            self.strikes.borrow_mut().push(Strike {
                number,
                fault: fault.clone(),
                path: path.clone(),
                op: io.op,
                offset: io.offset,
            });
        }
        Some((number, meeting))
    }

    /// The result of a request that met fault `number`; never completes when it is stuck.
    async fn undergo(
        &self,
        io: Io,
        mut number: usize,
        mut meeting: Meeting,
    ) -> Option<(Result<(), IoError>, Segments)> {
        while let Meeting::Settles(place) = meeting {
            let from = match self.holds_data(&io, number, &place).await {
                true => {
                    let path = self.paths.borrow()[&io.file].clone();
                    self.armed.borrow_mut()[number].settle(path, place);
                    number
                }
                false => number + 1,
            };
            let Some(next) = self.find(&io, from) else {
                let done = self.inner.disk.submit(io).await;
                return Some((done.result, done.segments));
            };
            (number, meeting) = next;
        }
        let fault = self.armed.borrow()[number].fault.clone();
        if fault.kind == FaultKind::Stuck {
            self.stuck.borrow_mut().push(io);
            return None;
        }
        Some(self.carry_out(io, number, &fault).await)
    }

    /// Whether all data that fault `number` would damage or return at `place` is non-blank.
    async fn holds_data(&self, io: &Io, number: usize, place: &Range<u64>) -> bool {
        // A log is always written to blank space.
        if io.class == Class::Log {
            return true;
        }
        let by = match self.armed.borrow()[number].fault.kind {
            FaultKind::MisdirectedRead(by) | FaultKind::MisdirectedWrite(by) => by,
            _ => 0,
        };
        for start in [place.start, place.start + by] {
            let bytes = self.read(io.file, start, place.end - place.start).await;
            if bytes.is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0)) {
                return false;
            }
        }
        true
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
            FaultKind::MisdirectedWrite(by) => {
                slice(io, place).map(|io| Io { offset: io.offset + by, ..io })
            }
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

    /// Reads, and changes the result.
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

    /// Saves the content of the place before a write changes it.
    async fn remember(&self, io: &Io, number: usize, place: &Range<u64>) {
        if let Some(former) = self.read(io.file, place.start, place.end - place.start).await {
            self.armed.borrow_mut()[number].former.insert(io.file, former);
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

/// Passes every byte of `place` that was read from `offset` on, with its position in the file.
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
