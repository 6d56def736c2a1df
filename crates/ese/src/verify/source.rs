//! The file being verified: its length, single reads, and a stream of large reads.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};

use brunt_world::{Class, FileId, Frame, Io, IoError, OpenMode, Ticket, VolumeError, World};

/// Bytes per read of the stream, as in background maintenance and backup.
pub const CHUNK_BYTES: usize = 256 << 10;
/// Reads in flight: enough to keep the device busy while a chunk is checked, few enough for any
/// cache budget (2 MiB).
pub const READS_IN_FLIGHT: usize = 8;
/// Reads are multiples of this.
const UNIT_BYTES: usize = 4096;

/// An open file.
pub(super) struct Source {
    pub(super) world: World,
    pub(super) path: PathBuf,
    pub(super) file: FileId,
    /// Bytes in the file.
    pub(super) length: u64,
    /// Readable bytes: the length, rounded down to a whole unit.
    pub(super) readable: u64,
}

impl Source {
    pub(super) async fn open(world: &World, path: &Path) -> Result<Self, VolumeError> {
        let file = world.volume.open(path, OpenMode::Read).await?;
        let length = match world.volume.length(file).await {
            Ok(length) => length,
            Err(error) => {
                // The first error says more than a second one.
                let _ = world.volume.close(file).await;
                return Err(error);
            }
        };
        Ok(Self {
            world: world.clone(),
            path: path.to_owned(),
            file,
            length,
            readable: length - length % UNIT_BYTES as u64,
        })
    }

    /// The first `length` bytes, a multiple of the unit, and the error of any unreadable part. That
    /// part is returned as zeros: a database has two copies of what matters.
    pub(super) async fn read_start(&self, length: usize) -> (Vec<u8>, Option<IoError>) {
        let mut start = Vec::with_capacity(length);
        let mut failure = None;
        let mut stream = self.stream(0..length as u64, UNIT_BYTES);
        while let Some((_, bytes)) = stream.next().await {
            match bytes {
                Ok(bytes) => start.extend_from_slice(&bytes),
                Err(error) => {
                    failure = Some(error);
                    start.resize(start.len() + UNIT_BYTES, 0);
                }
            }
        }
        (start, failure)
    }

    /// `length` bytes from `offset`; both are multiples of the unit.
    pub(super) async fn read(&self, offset: u64, length: usize) -> Result<Frame, IoError> {
        let done = self.submit(offset, length).await;
        done.result?;
        Ok(done.into_frame())
    }

    fn submit(&self, offset: u64, length: usize) -> Ticket {
        let frame = self.world.frames.take(length);
        let io = Io::read(Class::Verify, self.file, offset, frame);
        self.world.disk.submit(io)
    }

    /// Reads `range` of the file in pieces, with read-ahead, and returns them in order.
    ///
    /// A piece that cannot be read is read again in parts of `unit` bytes, a multiple of the read
    /// unit, so that a failing sector affects as little as possible.
    pub(super) fn stream(&self, range: Range<u64>, unit: usize) -> Stream<'_> {
        Stream {
            source: self,
            left: range,
            unit,
            in_flight: VecDeque::with_capacity(READS_IN_FLIGHT),
            again: VecDeque::new(),
        }
    }
}

/// Part of the file, or the error of one unit.
pub(super) type Piece = (u64, Result<Frame, IoError>);

/// Reads in flight, in order; see [`Source::stream`].
pub(super) struct Stream<'s> {
    source: &'s Source,
    /// The range not submitted yet.
    left: Range<u64>,
    unit: usize,
    in_flight: VecDeque<(Range<u64>, Ticket)>,
    /// Units of pieces that failed.
    again: VecDeque<Range<u64>>,
}

impl Stream<'_> {
    /// The offset and bytes of the next piece, or the error of one unit; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        if let Some(unit) = self.again.pop_front() {
            let bytes = self.source.read(unit.start, length(&unit)).await;
            return Some((unit.start, bytes));
        }
        while self.in_flight.len() < READS_IN_FLIGHT && !self.left.is_empty() {
            let piece = take(&mut self.left, CHUNK_BYTES);
            let ticket = self.source.submit(piece.start, length(&piece));
            self.in_flight.push_back((piece, ticket));
        }
        let (mut piece, ticket) = self.in_flight.pop_front()?;
        let done = ticket.await;
        match done.result {
            Ok(()) => Some((piece.start, Ok(done.into_frame()))),
            Err(error) if length(&piece) <= self.unit => Some((piece.start, Err(error))),
            Err(_) => {
                let first = take(&mut piece, self.unit);
                while !piece.is_empty() {
                    self.again.push_back(take(&mut piece, self.unit));
                }
                let bytes = self.source.read(first.start, length(&first)).await;
                Some((first.start, bytes))
            }
        }
    }
}

/// Cuts at most `bytes` off the start of `range`.
fn take(range: &mut Range<u64>, bytes: usize) -> Range<u64> {
    let middle = range.end.min(range.start + bytes as u64);
    let first = range.start..middle;
    range.start = middle;
    first
}

/// Length of a range returned by [`take`].
fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end - range.start).expect("at most a chunk")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range_once() {
        let chunk = CHUNK_BYTES as u64;
        for bytes in [4096, chunk, chunk + 4096, 5 * chunk - 8192] {
            let mut left = 8192..8192 + bytes;
            let mut at = 8192;
            while !left.is_empty() {
                let piece = take(&mut left, CHUNK_BYTES);
                assert_eq!(piece.start, at);
                assert!(length(&piece) > 0 && length(&piece) <= CHUNK_BYTES);
                at = piece.end;
            }
            assert_eq!(at, 8192 + bytes);
        }
    }
}
