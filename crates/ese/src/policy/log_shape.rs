//! The geometry of a log stream: where segments begin, where a record ends, how far apart positions
//! are.
//!
//! ```text
//!  | file header, 4,096 bytes | segment | segment | ...                                        |
//!                             | head 40 | records .... | head 40 | ...records | zeros to the end |
//! ```
//!
//! Records are a stream of bytes that skips the heads. A record never crosses into the next file.
//! Every flush ends on a segment border, with zeros filling the last segment. A durable segment is
//! therefore never written again, and a torn log write only damages log that has not been
//! acknowledged. (ESE rewrites the partial segment and keeps a shadow of it for that case; with
//! 512-byte segments the bytes written are about the same.)

use brunt_units::{LogPosition, PageSize};

use crate::format::log_file::{LOG_HEADER_BYTES, SEGMENT_HEADER_BYTES, SegmentSize};

/// The sizes of one log stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogShape {
    segment: SegmentSize,
    file_bytes: usize,
}

impl LogShape {
    /// A stream of files of `file_bytes`, header included, in segments of `segment_bytes`.
    ///
    /// # Panics
    /// When [`Self::checked`] refuses the sizes.
    pub fn new(segment_bytes: usize, file_bytes: usize) -> Self {
        SegmentSize::new(segment_bytes as u64)
            .and_then(|segment| Self::checked(segment, file_bytes))
            .unwrap_or_else(|| panic!("log files of {file_bytes} in segments of {segment_bytes}"))
    }

    /// As [`Self::new`]; `None` when the file size is not a multiple of 4,096 bytes, is below 64
    /// KiB, or needs segment numbers of more than 16 bits.
    pub fn checked(segment: SegmentSize, file_bytes: usize) -> Option<Self> {
        let shape = Self { segment, file_bytes };
        let sensible = file_bytes.is_multiple_of(4096)
            && file_bytes >= 64 << 10
            && shape.segments() <= usize::from(u16::MAX);
        sensible.then_some(shape)
    }

    /// Whether every change of pages of this size fits into a file. The largest is a split during a
    /// replacement: it logs two pages and the entry before and after.
    pub fn holds_changes_of(self, size: PageSize) -> bool {
        self.remaining(self.first_record(1)) >= 4 * size.bytes() + 1024
    }

    /// Bytes per segment.
    pub fn segment_bytes(self) -> usize {
        self.segment.bytes()
    }

    /// The segment size in the file header's encoding.
    pub fn segment_size(self) -> SegmentSize {
        self.segment
    }

    /// Bytes per file, header included.
    pub fn file_bytes(self) -> usize {
        self.file_bytes
    }

    /// Bytes per file for records and segment heads.
    pub fn usable_bytes(self) -> usize {
        self.file_bytes - LOG_HEADER_BYTES
    }

    /// Segments per file, including those under its header.
    pub fn segments(self) -> usize {
        self.file_bytes.div_euclid(self.segment_bytes())
    }

    /// Record bytes per segment.
    pub fn payload_bytes(self) -> usize {
        self.segment.payload_bytes()
    }

    /// Where the first record of a generation starts.
    pub fn first_record(self, generation: u32) -> LogPosition {
        let segment = usize::from(self.segment.first_segment());
        self.position(generation, segment, SEGMENT_HEADER_BYTES)
    }

    /// Record bytes from `at` to the end of its file; `at` may be that end.
    pub fn remaining(self, at: LogPosition) -> usize {
        let whole = self.segments() - usize::from(at.segment);
        (whole * self.payload_bytes() + SEGMENT_HEADER_BYTES).saturating_sub(usize::from(at.byte))
    }

    /// The position `bytes` record bytes after `at`. A position at the very end of a segment
    /// becomes the start of the next.
    ///
    /// # Panics
    /// When that is past the end of the file.
    pub fn advance(self, at: LogPosition, bytes: usize) -> LogPosition {
        let into = usize::from(at.byte) - SEGMENT_HEADER_BYTES + bytes;
        let segment = usize::from(at.segment) + into.div_euclid(self.payload_bytes());
        let byte = SEGMENT_HEADER_BYTES + into.rem_euclid(self.payload_bytes());
        self.position(at.generation, segment, byte)
    }

    /// Offset in the file of the segment that contains `at`.
    pub fn segment_offset(self, at: LogPosition) -> usize {
        usize::from(at.segment) * self.segment_bytes()
    }

    /// `at` if it is at the start of its segment, else the start of the next segment.
    pub fn next_border(self, at: LogPosition) -> LogPosition {
        if usize::from(at.byte) == SEGMENT_HEADER_BYTES {
            at
        } else {
            let next = usize::from(at.segment) + 1;
            self.position(at.generation, next, SEGMENT_HEADER_BYTES)
        }
    }

    /// Log bytes from `older` to `newer`, counting files whole; zero if `older` is not older.
    pub fn distance(self, older: LogPosition, newer: LogPosition) -> u64 {
        self.bytes_before(newer).saturating_sub(self.bytes_before(older))
    }

    /// The position `bytes` of log before `at`, for comparison with record positions; before all
    /// records when the log is not that long.
    pub fn before(self, at: LogPosition, bytes: u64) -> LogPosition {
        let file = self.file_bytes as u64;
        let left = self.bytes_before(at).saturating_sub(bytes);
        let within = usize::try_from(left.rem_euclid(file)).expect("within a file");
        let generation = u32::try_from(left.div_euclid(file)).expect("not after `at`");
        let segment = within.div_euclid(self.segment_bytes());
        self.position(generation, segment, within.rem_euclid(self.segment_bytes()))
    }

    fn bytes_before(self, at: LogPosition) -> u64 {
        let within = self.segment_offset(at) + usize::from(at.byte);
        u64::from(at.generation) * self.file_bytes as u64 + within as u64
    }

    fn position(self, generation: u32, segment: usize, byte: usize) -> LogPosition {
        let word = |value: usize| u16::try_from(value).expect("a position within a log file");
        LogPosition { generation, segment: word(segment), byte: word(byte) }
    }
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn advancing_skips_the_heads() {
        let shape = LogShape::new(512, 65536);
        let start = shape.first_record(3);
        assert_eq!((start.segment, start.byte), (8, 40));
        let end = shape.advance(start, 472);
        assert_eq!((end.segment, end.byte), (9, 40));
        let end = shape.advance(start, 472 * 3 + 5);
        assert_eq!((end.segment, end.byte), (11, 45));
        assert_eq!(shape.remaining(start), 120 * 472);
        assert_eq!(shape.remaining(shape.advance(start, 500)), 120 * 472 - 500);
        assert_eq!(shape.remaining(shape.advance(start, 120 * 472)), 0);
    }

    #[test]
    fn going_back_is_the_reverse_of_distance() {
        let mut random = Streams::new(4).named("shape");
        for (segment, file) in [(512, 64 << 10), (4096, 1 << 20), (512, 31 << 20)] {
            let shape = LogShape::new(segment, file);
            let origin = LogPosition::default();
            for _ in 0..1_000 {
                let at = shape.before(LogPosition::start_of(900), random.below(600 * file as u64));
                let back = random.below(shape.distance(origin, at));
                let before = shape.before(at, back);
                assert!(before <= at);
                assert_eq!(shape.distance(before, at), back);
                assert_eq!(shape.distance(at, before), 0);
            }
            assert_eq!(shape.before(LogPosition::start_of(900), u64::MAX), origin);
        }
    }

    #[test]
    fn flushes_end_on_borders() {
        let shape = LogShape::new(4096, 1 << 20);
        let start = shape.first_record(1);
        assert_eq!(shape.next_border(start), start);
        let next = shape.next_border(shape.advance(start, 1));
        assert_eq!((next.segment, next.byte), (2, 40));
    }

    #[test]
    #[should_panic(expected = "log files of 33554432 in segments of 512")]
    fn a_file_of_more_segments_than_positions_can_name_is_refused() {
        LogShape::new(512, 32 << 20);
    }
}
