//! The arithmetic of a log file: where segments begin and how far a record reaches.
//!
//! ```text
//!  | file header, 4,096 bytes | segment | segment | ...                                        |
//!                             | head 40 | records .... | head 40 | ...records | zeros to the end |
//! ```
//!
//! Records are a stream of bytes that skips the heads. A record never crosses into the next file, and every flush ends on
//! a segment border, zeros filling the last segment: a segment that is durable is never written again, so a torn log
//! write can only hurt what nobody was promised. (ESE rewrites the partial segment and keeps a shadow of it for that
//! case; with 512-byte segments the bytes written are about the same.)

use brunt_units::LogPosition;

/// Bytes of a log file's header.
pub const HEADER_BYTES: usize = 4096;
/// Bytes of a segment's head.
pub const SEGMENT_HEAD: usize = 40;
/// Bytes before a record: its type and its length.
pub const RECORD_HEAD: usize = 4;

/// The sizes of one log stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogShape {
    /// Bytes in a segment: 512 or 4,096.
    pub segment: usize,
    /// Bytes in a file, header included; a multiple of 4,096.
    pub file: usize,
}

impl LogShape {
    /// A stream of files of `file` bytes in segments of `segment`.
    ///
    /// # Panics
    /// When the sizes are not ones a log can have.
    pub fn new(segment: usize, file: usize) -> Self {
        assert!(
            segment == 512 || segment == 4096,
            "segments of {segment} bytes"
        );
        assert!(
            file.is_multiple_of(4096) && file >= 65536,
            "log files of {file} bytes"
        );
        assert!(
            file.div_euclid(segment) <= usize::from(u16::MAX),
            "log files of {file} bytes"
        );
        Self { segment, file }
    }

    /// Segments in a file, those under its header included.
    pub fn segments(self) -> usize {
        self.file.div_euclid(self.segment)
    }

    /// The first segment that holds records.
    pub fn first_segment(self) -> usize {
        HEADER_BYTES.div_euclid(self.segment)
    }

    /// Where the first record of a generation begins.
    pub fn first_record(self, generation: u32) -> LogPosition {
        self.position(generation, self.first_segment(), SEGMENT_HEAD)
    }

    /// Record bytes in one segment.
    pub fn payload(self) -> usize {
        self.segment - SEGMENT_HEAD
    }

    /// Record bytes from `at` to the end of its file; `at` may be that end.
    pub fn remaining(self, at: LogPosition) -> usize {
        let whole = self.segments() - usize::from(at.segment);
        (whole * self.payload() + SEGMENT_HEAD).saturating_sub(usize::from(at.byte))
    }

    /// The longest record a file can hold, its head not counted.
    pub fn longest_record(self) -> usize {
        // The first record of a file is the one that links it to its predecessor.
        self.remaining(self.first_record(1)) - 2 * RECORD_HEAD - 8
    }

    /// The position `bytes` record bytes after `at`. A position at the very end of a segment is the first of the next.
    ///
    /// # Panics
    /// When that is past the end of the file.
    pub fn advance(self, at: LogPosition, bytes: usize) -> LogPosition {
        let into = usize::from(at.byte) - SEGMENT_HEAD + bytes;
        let segment = usize::from(at.segment) + into.div_euclid(self.payload());
        self.position(
            at.generation,
            segment,
            SEGMENT_HEAD + into.rem_euclid(self.payload()),
        )
    }

    /// The first byte of the file that `at` lies in, as an offset.
    pub fn segment_offset(self, at: LogPosition) -> usize {
        usize::from(at.segment) * self.segment
    }

    /// `at`, or the next segment's first record byte when `at` has gone into its segment.
    pub fn next_border(self, at: LogPosition) -> LogPosition {
        if usize::from(at.byte) == SEGMENT_HEAD {
            at
        } else {
            self.position(at.generation, usize::from(at.segment) + 1, SEGMENT_HEAD)
        }
    }

    /// Log bytes from one position to a later one, counting whole files between them.
    pub fn distance(self, from: LogPosition, to: LogPosition) -> u64 {
        let flat = |at: LogPosition| {
            u64::from(at.generation) * self.file as u64
                + (usize::from(at.segment) * self.segment + usize::from(at.byte)) as u64
        };
        flat(to).saturating_sub(flat(from))
    }

    /// The place `bytes` log bytes before `at`, for comparing with positions of records; before everything when the log is
    /// not that long.
    pub fn before(self, at: LogPosition, bytes: u64) -> LogPosition {
        let into = (usize::from(at.segment) * self.segment + usize::from(at.byte)) as u64;
        let file = self.file as u64;
        let flat = (u64::from(at.generation) * file + into).saturating_sub(bytes);
        let within = usize::try_from(flat.rem_euclid(file)).expect("within a file");
        let generation = u32::try_from(flat.div_euclid(file)).expect("not after `at`");
        self.position(
            generation,
            within.div_euclid(self.segment),
            within.rem_euclid(self.segment),
        )
    }

    fn position(self, generation: u32, segment: usize, byte: usize) -> LogPosition {
        let word = |value: usize| u16::try_from(value).expect("a position within a log file");
        LogPosition {
            generation,
            segment: word(segment),
            byte: word(byte),
        }
    }
}

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn going_back_is_the_reverse_of_distance() {
        let shape = LogShape::new(512, 65536);
        let at = LogPosition {
            generation: 5,
            segment: 3,
            byte: 100,
        };
        for bytes in [0, 1, 4000, 65536, 200_000] {
            let before = shape.before(at, bytes);
            assert!(before <= at);
            assert_eq!(shape.distance(before, at), bytes);
        }
        assert_eq!(shape.before(at, u64::MAX), LogPosition::default());
    }

    #[test]
    fn flushes_end_on_borders() {
        let shape = LogShape::new(4096, 1 << 20);
        let start = shape.first_record(1);
        assert_eq!(shape.next_border(start), start);
        let next = shape.next_border(shape.advance(start, 1));
        assert_eq!((next.segment, next.byte), (2, 40));
    }
}
