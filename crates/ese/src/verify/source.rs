//! The file under judgement: its length, single reads, and a stream of large ones.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use brunt_world::{Class, FileId, Frame, Io, IoError, OpenMode, Ticket, VolumeError, World};

/// Bytes of one read of the stream: what background maintenance and backup read at a time, too.
pub(super) const CHUNK_BYTES: usize = 256 << 10;
/// Reads in flight: enough that a device is never idle while a chunk is judged, few enough for any cache budget (2 MiB).
const READS_IN_FLIGHT: usize = 8;
/// Reads are of multiples of this.
const UNIT: u64 = 4096;

/// An open file.
pub(super) struct Source {
    pub(super) world: World,
    pub(super) path: PathBuf,
    pub(super) file: FileId,
    /// Bytes in the file.
    pub(super) length: u64,
    /// Bytes that can be read: the length, rounded down to a whole unit.
    pub(super) readable: u64,
}

impl Source {
    pub(super) async fn open(world: &World, path: &Path) -> Result<Self, VolumeError> {
        let file = world.volume.open(path, OpenMode::Read).await?;
        let length = world.volume.length(file).await?;
        Ok(Self {
            world: world.clone(),
            path: path.to_owned(),
            file,
            length,
            readable: length - length % UNIT,
        })
    }

    /// The first `length` bytes, a multiple of the unit.
    pub(super) async fn read_start(&self, length: usize) -> Result<Vec<u8>, IoError> {
        match length {
            0 => Ok(Vec::new()),
            _ => Ok(self.read(0, length).await?.to_vec()),
        }
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

    /// The pieces of `plan`, read ahead and handed over in its order.
    pub(super) fn stream<P: Iterator<Item = Piece>>(&self, plan: P) -> Stream<'_, P> {
        Stream {
            source: self,
            plan,
            in_flight: VecDeque::with_capacity(READS_IN_FLIGHT),
        }
    }
}

/// A part of the file to read at once, at most [`CHUNK_BYTES`] long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) length: usize,
}

/// `range` in pieces.
pub(super) fn pieces(range: std::ops::Range<u64>) -> impl Iterator<Item = Piece> {
    range.clone().step_by(CHUNK_BYTES).map(move |offset| {
        let left = range.end - offset;
        let length = usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        Piece { offset, length }
    })
}

/// Reads in flight, in order.
pub(super) struct Stream<'s, P> {
    source: &'s Source,
    plan: P,
    in_flight: VecDeque<(Piece, Ticket)>,
}

impl<P: Iterator<Item = Piece>> Stream<'_, P> {
    /// The next piece and its bytes, or why they cannot be read; `None` at the end of the plan.
    pub(super) async fn next(&mut self) -> Option<(Piece, Result<Frame, IoError>)> {
        while self.in_flight.len() < READS_IN_FLIGHT {
            let Some(piece) = self.plan.next() else {
                break;
            };
            let ticket = self.source.submit(piece.offset, piece.length);
            self.in_flight.push_back((piece, ticket));
        }
        let (piece, ticket) = self.in_flight.pop_front()?;
        let done = ticket.await;
        let bytes = done.result.map(|()| done.into_frame());
        Some((piece, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range_once() {
        let chunk = CHUNK_BYTES as u64;
        for length in [4096, chunk, chunk + 4096, 5 * chunk - 8192] {
            let mut at = 8192;
            for piece in pieces(8192..8192 + length) {
                assert_eq!(piece.offset, at);
                assert!(piece.length > 0 && piece.length <= CHUNK_BYTES);
                at += piece.length as u64;
            }
            assert_eq!(at, 8192 + length);
        }
        assert_eq!(pieces(7..7).count(), 0);
    }
}
