//! Reading a log file back: its sound segments as one stream of records.
//!
//! Reading stops at the first segment that is not sound, and at a record that is not complete: what lies behind was in
//! flight when the world ended, and nobody was promised it. Whether the end is where it may be is for the caller to say:
//! the newest generation may end anywhere, an older one where its successor's first record says.

use brunt_units::LogPosition;

use super::LogShape;
use super::record::{LogRecord, RECORD_HEAD, decode, head};
use crate::format::log_file::{
    LOG_HEADER_BYTES, LogHeader, LogHeaderError, SEGMENT_HEADER_BYTES, SegmentHeader,
};

/// The records of one generation.
pub struct Generation {
    /// Its header.
    pub header: LogHeader,
    shape: LogShape,
    /// Record bytes of all sound segments.
    payload: Vec<u8>,
    /// Number of each segment and where its bytes begin in the payload.
    segments: Vec<(u16, usize)>,
}

/// A record and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located<'a> {
    /// Its first byte.
    pub start: LogPosition,
    /// One past its last.
    pub end: LogPosition,
    /// What it says; `None` when its bytes make no sense although their checksum holds.
    pub record: Option<LogRecord<'a>>,
}

impl Generation {
    /// Reads the bytes of a whole log file.
    ///
    /// # Errors
    /// When they do not begin with a header of ours.
    pub fn read(file: &[u8]) -> Result<Self, LogHeaderError> {
        let header = LogHeader::read(file.get(..LOG_HEADER_BYTES).ok_or(LogHeaderError::NotLog)?)?;
        let shape = usize::try_from(header.file_bytes())
            .ok()
            .and_then(|bytes| LogShape::checked(header.segment_size, bytes))
            .ok_or(LogHeaderError::Contradiction)?;
        let mut payload = Vec::new();
        let mut segments = Vec::new();
        let numbered = (0_u16..header.segments).zip(file.chunks_exact(shape.segment_bytes()));
        for (number, bytes) in numbered.skip(header.segment_size.first_segment().into()) {
            let Some(segment) = SegmentHeader::read(bytes, number) else {
                break;
            };
            if segment.position.generation != header.generation {
                break;
            }
            segments.push((number, payload.len()));
            let used = SEGMENT_HEADER_BYTES..SEGMENT_HEADER_BYTES + usize::from(segment.used);
            payload.extend_from_slice(&bytes[used]);
        }
        Ok(Self {
            header,
            shape,
            payload,
            segments,
        })
    }

    /// Its complete records in order.
    pub fn records(&self) -> impl Iterator<Item = Located<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = &self.payload[at..];
            let (kind, length) = head(*rest.first_chunk()?)?;
            let body = rest.get(RECORD_HEAD..RECORD_HEAD + length)?;
            let start = self.position(at);
            at += RECORD_HEAD + length;
            Some(Located {
                start,
                end: self.end_of(at),
                record: decode(kind, body),
            })
        })
    }

    /// One past the last complete record.
    pub fn end(&self) -> LogPosition {
        let first = self.shape.first_record(self.header.generation);
        self.records().last().map_or(first, |record| record.end)
    }

    /// Where the byte at `at` of the payload lies in the file.
    fn position(&self, at: usize) -> LogPosition {
        let index = self.segments.partition_point(|(_, begin)| *begin <= at) - 1;
        self.within(index, at)
    }

    /// Where a record whose last byte is right before `at` ends: in the segment of that byte.
    fn end_of(&self, at: usize) -> LogPosition {
        let index = self.segments.partition_point(|(_, begin)| *begin < at) - 1;
        let position = self.within(index, at);
        if usize::from(position.byte) == self.shape.segment_bytes() {
            self.shape.next_border(position)
        } else {
            position
        }
    }

    fn within(&self, index: usize, at: usize) -> LogPosition {
        let (segment, begin) = self.segments[index];
        let byte = u16::try_from(SEGMENT_HEADER_BYTES + at - begin).expect("a segment's length");
        LogPosition {
            generation: self.header.generation,
            segment,
            byte,
        }
    }
}
