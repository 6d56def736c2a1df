//! The log buffer: records appended but not yet being written.
//!
//! The buffer assigns positions. Records go into *chunks*, each a run of segments of one generation
//! for one write. Taking a chunk closes its last segment: the next record starts in the next
//! segment. A record that does not fit the rest of its file opens the next generation, whose first
//! record names the end of the previous one.

use std::collections::VecDeque;

use brunt_units::LogPosition;

use super::LogShape;
use super::record::{self, LogRecord};
use crate::content::Content;
use crate::format::log_file::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::format::stamp::Stamp;

/// Records waiting to be flushed.
pub struct LogBuffer<C: Content> {
    shape: LogShape,
    tail: LogPosition,
    chunks: VecDeque<Chunk<C>>,
}

/// Whole segments of one generation, for one write.
pub struct Chunk<C: Content> {
    /// First record byte of the first segment.
    pub start: LogPosition,
    /// One past the last record in it.
    pub end: LogPosition,
    /// The bytes.
    pub image: C::Image,
    /// The first record of each segment that has one.
    firsts: Vec<LogPosition>,
}

/// Position of an appended record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Its first byte.
    pub start: LogPosition,
    /// One past its last.
    pub end: LogPosition,
}

impl<C: Content> Chunk<C> {
    /// Number of segments in the chunk.
    pub fn segments(&self, shape: LogShape) -> usize {
        usize::from(shape.next_border(self.end).segment - self.start.segment)
    }

    /// The headers of the chunk's segments.
    pub fn headers(&self, shape: LogShape, written: Stamp) -> impl Iterator<Item = SegmentHeader> {
        let (start, end) = (self.start, self.end);
        let last = start.segment
            + u16::try_from(self.segments(shape)).expect("segments have 16-bit numbers");
        let mut firsts = self.firsts.iter().peekable();
        (start.segment..last).map(move |segment| {
            let used = if segment == end.segment {
                usize::from(end.byte) - SEGMENT_HEADER_BYTES
            } else {
                shape.payload_bytes()
            };
            SegmentHeader {
                position: LogPosition { segment, byte: 0, ..start },
                written,
                used: u16::try_from(used).expect("a segment's length"),
                first_record: firsts
                    .next_if(|first| first.segment == segment)
                    .map_or(0, |first| first.byte),
            }
        })
    }
}

impl<C: Content> LogBuffer<C> {
    /// An empty buffer that starts `generation`, after a log that ended at `previous_end`.
    pub fn new(shape: LogShape, generation: u32, previous_end: LogPosition) -> Self {
        let mut buffer = Self { shape, tail: previous_end, chunks: VecDeque::new() };
        buffer.begin(generation);
        buffer
    }

    /// Where the next record starts, if it fits.
    pub fn tail(&self) -> LogPosition {
        self.tail
    }

    /// Waiting bytes, in whole segments.
    pub fn bytes(&self) -> usize {
        self.chunks
            .iter()
            .map(|chunk| chunk.segments(self.shape) * self.shape.segment_bytes())
            .sum()
    }

    /// Whether nothing is waiting.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The generation of the oldest waiting records.
    pub fn oldest(&self) -> Option<u32> {
        let chunk = self.chunks.front()?;
        Some(chunk.start.generation)
    }

    /// Whether the oldest waiting records belong to a full file.
    pub fn has_full_file(&self) -> bool {
        self.chunks.len() > 1
    }

    /// Appends an encoded record.
    ///
    /// # Panics
    /// When it is longer than a file can hold.
    pub fn append(&mut self, record: C::Record<'_>) -> Appended {
        let length = C::record_length(record);
        if length > self.shape.remaining(self.tail) {
            self.begin(self.tail.generation + 1);
        }
        self.put(record)
    }

    /// Ends the current file: the next record goes to the next one, which begins here.
    pub fn next_file(&mut self) {
        self.begin(self.tail.generation + 1);
    }

    /// Takes the oldest chunk, closing its last segment.
    pub fn take(&mut self) -> Option<Chunk<C>> {
        let chunk = self.chunks.pop_front()?;
        if self.chunks.is_empty() {
            self.tail = self.shape.next_border(self.tail);
        }
        Some(chunk)
    }

    /// Opens a generation with its first record.
    fn begin(&mut self, generation: u32) {
        let mut first = Vec::new();
        record::encode(&LogRecord::Start { previous_end: self.tail }, &mut first);
        self.tail = self.shape.first_record(generation);
        self.open();
        self.put(C::record(&first));
    }

    fn open(&mut self) {
        let (start, end) = (self.tail, self.tail);
        self.chunks.push_back(Chunk { start, end, image: C::Image::default(), firsts: Vec::new() });
    }

    fn put(&mut self, record: C::Record<'_>) -> Appended {
        let length = C::record_length(record);
        assert!(length <= self.shape.remaining(self.tail), "log record of {length} bytes");
        if self.chunks.is_empty() {
            self.open();
        }
        let chunk = self.chunks.back_mut().expect("a chunk is open");
        let base = self.shape.segment_offset(chunk.start);
        let start = self.tail;
        if chunk.firsts.last().is_none_or(|first| first.segment != start.segment) {
            chunk.firsts.push(start);
        }
        let mut done = 0;
        let mut at = start;
        while done < length {
            let room = self.shape.segment_bytes() - usize::from(at.byte);
            let piece = room.min(length - done);
            let offset = self.shape.segment_offset(at) + usize::from(at.byte) - base;
            C::put(&mut chunk.image, offset, record, done..done + piece);
            done += piece;
            at = self.shape.advance(at, piece);
        }
        self.tail = at;
        chunk.end = at;
        Appended { start, end: at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Bytes, Ghost};

    /// Appends equal lengths to both contents, with occasional flushes: every position must agree.
    #[test]
    fn ghosts_and_bytes_agree_on_every_position() {
        let shape = LogShape::new(512, 65536);
        let end = LogPosition::default();
        let (mut bytes, mut ghost) =
            (LogBuffer::<Bytes>::new(shape, 1, end), LogBuffer::<Ghost>::new(shape, 1, end));
        let mut draw = brunt_world::random::Streams::new(3).named("lengths");
        for _ in 0..2000 {
            let length = usize::try_from(5 + draw.below(3000)).unwrap();
            assert_eq!(bytes.append(&vec![1; length]), ghost.append(length));
            if draw.percent(30) {
                let (bytes, ghost) = (bytes.take().unwrap(), ghost.take().unwrap());
                assert_eq!((bytes.start, bytes.end), (ghost.start, ghost.end));
                assert!(bytes.image.len() <= bytes.segments(shape) * shape.segment_bytes());
            }
            assert_eq!(bytes.bytes(), ghost.bytes());
        }
        assert!(bytes.tail().generation > 20);
    }

    #[test]
    fn a_taken_chunk_ends_on_a_border_and_leaves_the_rest_unused() {
        let shape = LogShape::new(4096, 65536);
        let mut buffer = LogBuffer::<Bytes>::new(shape, 1, LogPosition::default());
        let first = buffer.append(&[9; 100]);
        assert_eq!(first.start, shape.advance(shape.first_record(1), 12));
        let chunk = buffer.take().unwrap();
        assert_eq!((chunk.segments(shape), chunk.end), (1, first.end));
        let second = buffer.append(&[9; 5000]);
        assert_eq!((second.start.segment, second.start.byte), (2, 40));
        assert_eq!(buffer.take().unwrap().segments(shape), 2);
        assert!(buffer.take().is_none());
    }

    #[test]
    fn a_record_never_crosses_files() {
        let shape = LogShape::new(512, 65536);
        let mut buffer = LogBuffer::<Ghost>::new(shape, 7, LogPosition::default());
        let first = buffer.append(shape.remaining(buffer.tail()) - 100);
        let second = buffer.append(200);
        assert_eq!((first.start.generation, second.start.generation), (7, 8));
        assert!(buffer.has_full_file());
        assert_eq!(buffer.take().unwrap().end, first.end);
        assert_eq!(buffer.take().unwrap().start, shape.first_record(8));
    }
}
