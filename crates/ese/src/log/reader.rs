//! Reading back a log file: its valid segments as one stream of records.
//!
//! Reading stops at the first invalid segment or incomplete record. What follows was in flight at
//! the crash and had not been acknowledged. The caller decides whether the end is legal: the newest
//! generation may end anywhere, an older one only where the first record of its successor says.
//!
//! Flushes follow one another, and only the last segment of a flush may be partly filled. So if a
//! partly filled segment and a later one are valid, everything up to the first of them was durable
//! once, and an invalid segment in that range is damaged ([`Generation::damaged`]).

use brunt_units::LogPosition;

use super::LogShape;
use super::record::{LogRecord, RECORD_HEAD, decode, head};
use crate::format::log_file::{
    LOG_HEADER_BYTES, LogHeader, LogHeaderError, SEGMENT_HEADER_BYTES, SegmentHeader,
};
use crate::format::stamp::Stamp;

/// The records of one generation.
pub struct Generation {
    pub header: LogHeader,
    shape: LogShape,
    /// Record bytes of all valid segments.
    payload: Vec<u8>,
    /// Each segment's number, and where its bytes start in the payload.
    segments: Vec<(u16, usize)>,
    /// Where reading stopped although valid log follows.
    pub damaged: Option<LogPosition>,
    /// When its last valid segment was written; the date of the file when there is none.
    pub written: Stamp,
}

/// A record and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located<'a> {
    /// Its first byte.
    pub start: LogPosition,
    /// One past its last.
    pub end: LogPosition,
    /// The decoded record; `None` when it is malformed although the checksum is right.
    pub record: Option<LogRecord<'a>>,
}

impl Generation {
    /// Reads the bytes of a whole log file.
    ///
    /// # Errors
    /// When the file does not start with a brunt header.
    pub fn read(file: &[u8]) -> Result<Self, LogHeaderError> {
        let header = LogHeader::read(file.get(..LOG_HEADER_BYTES).ok_or(LogHeaderError::NotLog)?)?;
        let shape = usize::try_from(header.file_bytes())
            .ok()
            .and_then(|bytes| LogShape::checked(header.segment_size, bytes))
            .ok_or(LogHeaderError::Contradiction)?;
        let mut payload = Vec::new();
        let mut segments = Vec::new();
        let sound = |number, bytes| {
            let segment = SegmentHeader::read(bytes, number)?;
            (segment.position.generation == header.generation).then_some(segment)
        };
        let numbered = (0_u16..header.segments).zip(file.chunks_exact(shape.segment_bytes()));
        let mut numbered = numbered.skip(header.segment_size.first_segment().into());
        let mut damaged = None;
        let mut written = header.created;
        while let Some((number, bytes)) = numbered.next() {
            let Some(segment) = sound(number, bytes) else {
                // A flush ended, and another one followed.
                let behind = numbered.by_ref().filter_map(|(number, bytes)| sound(number, bytes));
                let later =
                    behind.skip_while(|segment| usize::from(segment.used) == shape.payload_bytes());
                damaged = (later.take(2).count() == 2).then_some(LogPosition {
                    generation: header.generation,
                    segment: number,
                    byte: 0,
                });
                break;
            };
            written = segment.written;
            segments.push((number, payload.len()));
            let used = SEGMENT_HEADER_BYTES..SEGMENT_HEADER_BYTES + usize::from(segment.used);
            payload.extend_from_slice(&bytes[used]);
        }
        Ok(Self { header, shape, payload, segments, damaged, written })
    }

    /// Whether it continues a generation that ended at `end`, as its first record says; `None` when
    /// it has no record.
    pub fn continues(&self, end: LogPosition) -> Option<bool> {
        let first = self.records().next()?;
        Some(match first.record {
            Some(LogRecord::Start { previous_end }) => {
                self.shape.next_border(previous_end) == self.shape.next_border(end)
            }
            _ => false,
        })
    }

    /// The complete records in order.
    pub fn records(&self) -> impl Iterator<Item = Located<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = &self.payload[at..];
            let (kind, length) = head(*rest.first_chunk()?)?;
            let body = rest.get(RECORD_HEAD..RECORD_HEAD + length)?;
            let start = self.position(at);
            at += RECORD_HEAD + length;
            Some(Located { start, end: self.end_of(at), record: decode(kind, body) })
        })
    }

    /// One past the last complete record.
    pub fn end(&self) -> LogPosition {
        let first = self.shape.first_record(self.header.generation);
        self.records().last().map_or(first, |record| record.end)
    }

    /// File position of the payload byte at `at`.
    fn position(&self, at: usize) -> LogPosition {
        let index = self.segments.partition_point(|(_, begin)| *begin <= at) - 1;
        self.within(index, at)
    }

    /// End position of a record whose last byte is just before `at`: in the segment of that byte.
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
        LogPosition { generation: self.header.generation, segment, byte }
    }
}

#[cfg(test)]
mod tests {
    use brunt_units::{DatabaseTime, PageSize};
    use brunt_world::Frames;
    use brunt_world::random::{Stream, Streams};

    use super::*;
    use crate::content::{Bytes, Content};
    use crate::format::log_file::FILL;
    use crate::format::stamp::{RunId, Signature};
    use crate::log::buffer::LogBuffer;
    use crate::log::{Role, record};

    const SECTOR: usize = 512;

    /// A log file and the list of records written to it.
    struct Written {
        shape: LogShape,
        buffer: LogBuffer<Bytes>,
        file: Vec<u8>,
        records: Vec<(LogPosition, LogPosition, Vec<u8>)>,
        /// Records and bytes in the file before the newest flush.
        before: (usize, usize),
        /// The end of the newest flush in the file.
        end: usize,
        frames: Frames,
    }

    impl Written {
        fn new(shape: LogShape, frames: &Frames) -> Self {
            let header = LogHeader {
                generation: 1,
                segment_size: shape.segment_size(),
                segments: u16::try_from(shape.segments()).unwrap(),
                page_size: PageSize::KIB_4,
                created: Stamp::default(),
                previous_created: Stamp::default(),
                signature: Signature::ours(1, Stamp::default(), RunId(1)),
                checkpoint: LogPosition::default(),
                attachments: Vec::new(),
            };
            let mut file = header.to_bytes().unwrap();
            file.resize(shape.file_bytes(), FILL);
            Self {
                shape,
                buffer: LogBuffer::new(shape, 1, LogPosition::default()),
                file,
                records: Vec::new(),
                before: (0, LOG_HEADER_BYTES),
                end: LOG_HEADER_BYTES,
                frames: frames.clone(),
            }
        }

        /// Appends a change of `length` bytes in total, all zeros or random.
        fn append(&mut self, length: usize, draw: &mut Stream) {
            let mut image = vec![0; length - 18];
            if draw.percent(70) {
                draw.fill(&mut image);
            }
            let change = LogRecord::Change {
                database: 1,
                time: DatabaseTime(self.records.len() as u64),
                transaction: 0,
                role: Role::System,
                image: &image,
            };
            let mut bytes = Vec::new();
            record::encode(&change, &mut bytes);
            assert_eq!(bytes.len(), length);
            let appended = self.buffer.append(&bytes);
            self.records.push((appended.start, appended.end, bytes));
        }

        fn flush(&mut self) {
            let Some(chunk) = self.buffer.take() else {
                return;
            };
            let offset = self.shape.segment_offset(chunk.start);
            let segment = Bytes::seal_log(&self.frames, chunk, self.shape, Stamp::default());
            let bytes = segment.drained();
            self.before = (self.read(&self.file), offset);
            self.end = offset + bytes.len();
            self.file[offset..self.end].copy_from_slice(bytes);
        }

        /// Reads a version of the file. Every record must match the list. Returns their number.
        fn read(&self, file: &[u8]) -> usize {
            let generation = Generation::read(file).unwrap();
            let mut records = generation.records();
            let Some(first) = records.next() else {
                return 0;
            };
            assert!(matches!(first.record, Some(LogRecord::Start { .. })));
            let mut count = 0;
            let mut end = first.end;
            for (read, (start, listed_end, bytes)) in records.zip(&self.records) {
                assert_eq!((read.start, read.end), (*start, *listed_end));
                let mut spelled = Vec::new();
                record::encode(&read.record.unwrap(), &mut spelled);
                assert_eq!(spelled, *bytes);
                end = read.end;
                count += 1;
            }
            assert_eq!(generation.records().count(), 1 + count);
            assert_eq!(generation.end(), end);
            count
        }

        /// The file with only some sectors of the newest flush.
        fn torn(&self, arrives: impl Fn(usize) -> bool) -> Vec<u8> {
            let mut file = self.file.clone();
            let sectors = file.chunks_exact_mut(SECTOR).enumerate();
            for (number, sector) in sectors {
                let at = number * SECTOR;
                if (self.before.1..self.end).contains(&at) && !arrives(number) {
                    sector.fill(FILL);
                }
            }
            file
        }

        /// Whichever sectors of the newest flush arrived, a prefix of the records is read, and
        /// earlier flushes are intact.
        fn check_torn(&self, draw: &mut Stream) {
            for cut in self.before.1.div_euclid(SECTOR)..=self.end.div_euclid(SECTOR) {
                let left = self.read(&self.torn(|sector| sector < cut));
                assert!(left >= self.before.0, "cut at sector {cut}");
            }
            for _ in 0..4 {
                let coins = draw.below(u64::MAX);
                let left = self.read(&self.torn(|sector| coins >> (sector & 63) & 1 == 1));
                assert!(left >= self.before.0, "sectors {coins:b}");
            }
        }
    }

    #[test]
    fn records_of_every_length_around_borders_are_read_back() {
        let frames = Frames::in_memory();
        let mut draw = Streams::new(1).named("records");
        for (segment, span) in [(512, 1_500), (4096, 60)] {
            let shape = LogShape::new(segment, 64 << 10);
            // From where the first record ends to the border, and one segment past it.
            let border = shape.payload_bytes() - 12;
            let lengths = (border.saturating_sub(span).max(18)..border + span)
                .chain(border + shape.payload_bytes() - 40..border + shape.payload_bytes() + 40);
            for length in lengths {
                for flushed_between in [false, true] {
                    let mut written = Written::new(shape, &frames);
                    written.append(length, &mut draw);
                    if flushed_between {
                        written.flush();
                    }
                    written.append(19, &mut draw);
                    written.append(600, &mut draw);
                    written.flush();
                    assert_eq!(written.read(&written.file), 3, "{length} bytes");
                }
            }
        }
    }

    /// Damage to an earlier flush is detected once another flush has ended and one more has
    /// followed.
    #[test]
    fn damage_that_flushes_followed_is_told_from_a_torn_end() {
        let frames = Frames::in_memory();
        let mut draw = Streams::new(4).named("damage");
        let mut written = Written::new(LogShape::new(512, 64 << 10), &frames);
        for _ in 0..6 {
            // Five segments each.
            written.append(2_000, &mut draw);
            written.flush();
        }
        assert_eq!(Generation::read(&written.file).unwrap().damaged, None);
        let damaged = (LOG_HEADER_BYTES..written.end).step_by(SECTOR).map(|at| {
            let mut file = written.file.clone();
            file[at + 100] ^= 1;
            Generation::read(&file).unwrap().damaged
        });
        let damaged: Vec<_> = damaged.collect();
        // Not where only the last flush, or the end of the one before it, may be missing.
        assert_eq!(damaged.iter().flatten().count(), 24);
        assert_eq!(damaged[24..], [None; 6]);
        assert_eq!(damaged[0].unwrap().segment, 8);
    }

    #[test]
    fn torn_tails_leave_a_prefix() {
        let frames = Frames::in_memory();
        for (seed, segment) in [(1, 512), (2, 4096), (3, 512), (4, 4096)] {
            let shape = LogShape::new(segment, 64 << 10);
            let mut draw = Streams::new(seed).named("torn");
            let mut written = Written::new(shape, &frames);
            while shape.remaining(written.buffer.tail()) > 12_000 {
                let longest = [40, 700, 5_000, 11_000][usize::try_from(draw.below(4)).unwrap()];
                let length = 18 + usize::try_from(draw.below(longest)).unwrap();
                written.append(length, &mut draw);
                if draw.percent(30) {
                    written.flush();
                    assert_eq!(written.read(&written.file), written.records.len());
                    written.check_torn(&mut draw);
                }
            }
        }
    }
}
