//! A log file: a header of 4,096 bytes, then segments to the end.
//!
//! ```text
//!    header                                              segment, from byte header + n × segment size
//!      0    4  checksum, old XOR over 4,096 bytes          0   8  checksum, XE, its number = segment number
//!      4    4  generation                                  8   8  its own log position (byte 0)
//!      8    2  bytes in a segment                         16   8  date
//!     10    2  segments that the header takes             24   2  payload bytes in use            (ours)
//!     12    2  segments in the file                       26   2  where the first record begins   (ours)
//!     14    2  page size of the databases, 0 = 4,096      28   4  CRC-32 of the payload in use       (ours)
//!     16    8  date of creation                           32   4  zero
//!     24    8  date of the previous generation            36   4  flags, 0x2000
//!     32   12  version: major, minor, update              40      payload
//!     44   28  signature of the stream; ours carries the marker
//!    640    8  checkpoint when the file was created
//!    667    4  file type 3
//!    671 2048  attached databases, see `attachment`
//! ```
//!
//! Segments are numbered from the start of the file; the header takes the first numbers. Fields
//! shared with genuine logs have their meaning. The differences: segments may be 512 bytes, the
//! reserved words at 24, 26 and 28 of a segment are used, and the payload is our own. Therefore the
//! **major version is `brnt`**, which a genuine engine refuses before it reads any further (it
//! knows majors up to 8).
//!
//! XE alone does not detect every torn segment: it is made of parities, and a sector of [`FILL`]
//! has the same ones as a sector of zeros. If a record's zeros were in a sector that did not
//! arrive, the record would be read with [`FILL`] in it. Hence the CRC.
//!
//! A segment that was never written holds [`FILL`], zeros or an older generation's segment. The
//! last, partly filled segment may be written twice: the second time at the next position, still
//! sealed under its own number.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/log.hxx (`LGFILEHDR_FIXED`) and
//! dev/ese/src/inc/_logstream.hxx (`LGSEGHDR`).

use brunt_units::{LogPosition, PageSize};

use super::attachment::{ATTACHMENTS_BYTES, Attachment, TooManyAttachments};
use super::checksum::{block_is_sound, header_is_sound, seal_block, seal_header};
use super::field::{array_at, put, put_u16, put_u32, u16_at, u32_at};
use super::header::FILE_TYPE_AT;
use super::stamp::{RunId, Signature, Stamp};

pub const LOG_HEADER_BYTES: usize = 4096;
pub const SEGMENT_HEADER_BYTES: usize = 40;
/// Filling of unused segments in a new log file.
pub const FILL: u8 = 0xDA;
pub const LOG_FILE_TYPE: u32 = 3;
/// The major version of our logs, unknown to genuine engines.
pub const LOG_MAJOR: u32 = u32::from_le_bytes(*b"brnt");
/// The minor version; increases whenever the meaning of segments or records changes.
pub const LOG_MINOR: u32 = 2;
/// The highest major version that genuine engines write.
pub const GENUINE_LOG_MAJOR_MAX: u32 = 8;

/// Offset of the log signature: 28 bytes.
pub const SIGNATURE_AT: usize = 44;
const CHECKPOINT_AT: usize = 640;
const ATTACHMENTS_AT: usize = 671;
const USED_AT: usize = 24;
const PAYLOAD_CRC_AT: usize = 28;
const SEGMENT_FLAGS_AT: usize = 36;
const SEGMENT_FLAGS: u32 = 0x2000;

/// Bytes in a segment: 512 or 4,096.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentSize(u16);

impl SegmentSize {
    /// Written atomically by disks with 512-byte sectors.
    pub const BYTES_512: Self = Self(512);
    /// The size in genuine logs.
    pub const BYTES_4096: Self = Self(4096);

    /// The size of `bytes`, if it is supported.
    pub fn new(bytes: u64) -> Option<Self> {
        [Self::BYTES_512, Self::BYTES_4096].into_iter().find(|size| size.bytes() as u64 == bytes)
    }

    /// Bytes per segment.
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }

    /// Bytes per segment without its header.
    pub const fn payload_bytes(self) -> usize {
        self.bytes() - SEGMENT_HEADER_BYTES
    }

    /// The number of the first segment, equal to the number that the header takes.
    pub const fn first_segment(self) -> u16 {
        4096_u16.div_euclid(self.0)
    }
}

/// The header of a log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHeader {
    /// Generation, from 1.
    pub generation: u32,
    /// Bytes per segment.
    pub segment_size: SegmentSize,
    /// Segments in the file, including those of the header.
    pub segments: u16,
    /// Page size of the databases.
    pub page_size: PageSize,
    /// When the file was started.
    pub created: Stamp,
    /// When the previous one was started: generations form a chain.
    pub previous_created: Stamp,
    /// Signature of the stream; carries our marker.
    pub signature: Signature,
    /// The checkpoint when the file was started.
    pub checkpoint: LogPosition,
    /// The databases attached when the file was started.
    pub attachments: Vec<Attachment>,
}

/// Why bytes are not a brunt log header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogHeaderError {
    /// The file type is different.
    #[error("not an ESE log file")]
    NotLog,
    /// The checksum is wrong.
    #[error("the log header's checksum is wrong (ESE -501)")]
    Checksum,
    /// A log of a genuine engine, whose payload is unknown.
    #[error("a log of format {major}.{minor}, written by another program")]
    Foreign {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// A brunt log of another release.
    #[error(
        "a log of format {0}, and this release reads format {LOG_MINOR}: use the release that wrote it, or take the databases and \
         their logs away"
    )]
    Minor(u32),
    /// The checksum is right but the fields are malformed.
    #[error("the log header contradicts itself (ESE -501)")]
    Contradiction,
}

impl LogHeader {
    /// The run that created the stream, if it was brunt.
    pub fn run_id(&self) -> Option<RunId> {
        self.signature.run_id()
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        u64::from(self.segments) * self.segment_size.bytes() as u64
    }

    /// Encodes and seals the header.
    ///
    /// # Errors
    /// [`TooManyAttachments`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, TooManyAttachments> {
        let mut bytes = vec![0; LOG_HEADER_BYTES];
        put_u32(&mut bytes, 4, self.generation);
        let page_bytes = u16::try_from(self.page_size.bytes()).expect("at most 32 KiB");
        for (at, value) in [
            (8, self.segment_size.0),
            (10, self.segment_size.first_segment()),
            (12, self.segments),
            (14, page_bytes),
        ] {
            put_u16(&mut bytes, at, value);
        }
        put(&mut bytes, 16, &self.created.to_bytes());
        put(&mut bytes, 24, &self.previous_created.to_bytes());
        put_u32(&mut bytes, 32, LOG_MAJOR);
        put_u32(&mut bytes, 36, LOG_MINOR);
        self.signature.write(&mut bytes, SIGNATURE_AT);
        put(&mut bytes, CHECKPOINT_AT, &self.checkpoint.to_bytes());
        put_u32(&mut bytes, FILE_TYPE_AT, LOG_FILE_TYPE);
        let attachments = Attachment::list_to_bytes(&self.attachments)?;
        put(&mut bytes, ATTACHMENTS_AT, &attachments);
        seal_header(&mut bytes);
        Ok(bytes)
    }

    /// Decodes a header.
    ///
    /// # Errors
    /// [`LogHeaderError`].
    ///
    /// # Panics
    /// When `bytes` is not [`LOG_HEADER_BYTES`] long.
    pub fn read(bytes: &[u8]) -> Result<Self, LogHeaderError> {
        assert_eq!(bytes.len(), LOG_HEADER_BYTES, "a log header");
        if u32_at(bytes, FILE_TYPE_AT) != LOG_FILE_TYPE {
            return Err(LogHeaderError::NotLog);
        }
        if !header_is_sound(bytes) {
            return Err(LogHeaderError::Checksum);
        }
        let (major, minor) = (u32_at(bytes, 32), u32_at(bytes, 36));
        match (major, minor) {
            (LOG_MAJOR, LOG_MINOR) => {}
            (LOG_MAJOR, _) => return Err(LogHeaderError::Minor(minor)),
            _ => return Err(LogHeaderError::Foreign { major, minor }),
        }
        Self::fields(bytes).ok_or(LogHeaderError::Contradiction)
    }

    fn fields(bytes: &[u8]) -> Option<Self> {
        let segment_size = SegmentSize::new(u16_at(bytes, 8).into())?;
        let segments = u16_at(bytes, 12);
        let generation = u32_at(bytes, 4);
        let page_size = match u16_at(bytes, 14) {
            0 => PageSize::KIB_4,
            size => PageSize::new(size.into()).ok()?,
        };
        let sensible = u16_at(bytes, 10) == segment_size.first_segment()
            && segments > segment_size.first_segment()
            && generation > 0;
        let list = &bytes[ATTACHMENTS_AT..ATTACHMENTS_AT + ATTACHMENTS_BYTES];
        sensible.then_some(Self {
            generation,
            segment_size,
            segments,
            page_size,
            created: Stamp::from_bytes(array_at(bytes, 16)),
            previous_created: Stamp::from_bytes(array_at(bytes, 24)),
            signature: Signature::read(bytes, SIGNATURE_AT),
            checkpoint: LogPosition::from_bytes(array_at(bytes, CHECKPOINT_AT)),
            attachments: Attachment::list_from_bytes(list)?,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Generation and segment number; the byte is 0.
    pub position: LogPosition,
    /// When it was written.
    pub written: Stamp,
    /// Payload bytes in use, from the start.
    pub used: u16,
    /// Offset in the segment of the first record that starts here; 0 if none does.
    pub first_record: u16,
}

impl SegmentHeader {
    /// Writes the header into `segment`, whose payload is complete, and seals it under its own
    /// number.
    ///
    /// # Panics
    /// When `segment` is not 512 or 4,096 bytes long, or `used` exceeds its payload.
    pub fn seal(&self, segment: &mut [u8]) {
        let size = SegmentSize::new(segment.len() as u64).expect("a segment");
        assert!(usize::from(self.used) <= size.payload_bytes(), "the payload fits");
        segment[..SEGMENT_HEADER_BYTES].fill(0);
        put(segment, 8, &self.position.to_bytes());
        put(segment, 16, &self.written.to_bytes());
        put_u16(segment, USED_AT, self.used);
        put_u16(segment, 26, self.first_record);
        put_u32(segment, SEGMENT_FLAGS_AT, SEGMENT_FLAGS);
        seal_segment(segment, self.position.segment);
    }

    /// The header of a valid segment with number `number`, which may be at another position: see
    /// the [module](self). `None` when a checksum is wrong, or right but the fields contradict it.
    ///
    /// # Panics
    /// When `segment` is not 512 or 4,096 bytes long.
    pub fn read(segment: &[u8], number: u16) -> Option<Self> {
        let size = SegmentSize::new(segment.len() as u64).expect("a segment");
        let header = Self {
            position: LogPosition::from_bytes(array_at(segment, 8)),
            written: Stamp::from_bytes(array_at(segment, 16)),
            used: u16_at(segment, USED_AT),
            first_record: u16_at(segment, 26),
        };
        let sensible = header.position.segment == number
            && header.position.byte == 0
            && usize::from(header.used) <= size.payload_bytes()
            && usize::from(header.first_record) < size.bytes();
        let flagged = u32_at(segment, SEGMENT_FLAGS_AT) & SEGMENT_FLAGS != 0;
        let is_sound = sensible
            && flagged
            && block_is_sound(segment, number.into())
            && u32_at(segment, PAYLOAD_CRC_AT) == payload_crc(segment);
        is_sound.then_some(header)
    }
}

/// Sets both checksums of a segment, whatever its fields.
///
/// # Panics
/// When `segment` is shorter than its header.
pub fn seal_segment(segment: &mut [u8], number: u16) {
    let crc = payload_crc(segment);
    put_u32(segment, PAYLOAD_CRC_AT, crc);
    seal_block(segment, number.into());
}

/// The CRC of the payload in use, or of all of it if `used` is out of range.
fn payload_crc(segment: &[u8]) -> u32 {
    let payload = &segment[SEGMENT_HEADER_BYTES..];
    let used = usize::from(u16_at(segment, USED_AT));
    crc32fast::hash(payload.get(..used).unwrap_or(payload))
}

/// The name of generation `generation` of the stream `base`: five hexadecimal digits, eight from
/// 0x100000 on.
pub fn log_file_name(base: &str, generation: u32) -> String {
    match generation {
        0..=0xF_FFFF => format!("{base}{generation:05X}.log"),
        _ => format!("{base}{generation:08X}.log"),
    }
}

/// The generation that `name` stands for, if it names an older one.
pub fn generation_of(base: &str, name: &str) -> Option<u32> {
    let digits = name.strip_prefix(base)?.strip_suffix(".log")?;
    let generation = u32::from_str_radix(digits, 16).ok()?;
    // Accept only our own spelling: any other is a foreign file.
    (log_file_name(base, generation) == name).then_some(generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_world::random::Streams;

    fn header(segment_size: SegmentSize) -> LogHeader {
        LogHeader {
            generation: 7,
            segment_size,
            segments: 128,
            page_size: PageSize::KIB_32,
            created: Stamp::from_unix_millis(1),
            previous_created: Stamp::from_unix_millis(2),
            signature: Signature::ours(3, Stamp::from_unix_millis(4), RunId(5)),
            checkpoint: LogPosition::start_of(6),
            attachments: Vec::new(),
        }
    }

    #[test]
    fn headers_come_back() {
        for segment_size in [SegmentSize::BYTES_512, SegmentSize::BYTES_4096] {
            let header = header(segment_size);
            let bytes = header.to_bytes().unwrap();
            assert_eq!(LogHeader::read(&bytes), Ok(header));
        }
    }

    #[test]
    fn other_logs_are_told_apart() {
        let good = header(SegmentSize::BYTES_512).to_bytes().unwrap();
        let with = |at, value| {
            let mut bytes = good.clone();
            put_u32(&mut bytes, at, value);
            seal_header(&mut bytes);
            LogHeader::read(&bytes)
        };
        let (major, minor) = (8, LOG_MINOR);
        assert_eq!(with(32, 8), Err(LogHeaderError::Foreign { major, minor }));
        assert_eq!(with(36, 9), Err(LogHeaderError::Minor(9)));
        assert_eq!(with(8, 0), Err(LogHeaderError::Contradiction));
        assert_eq!(with(FILE_TYPE_AT, 1), Err(LogHeaderError::NotLog));
        let mut bytes = good;
        bytes[4000] ^= 1;
        assert_eq!(LogHeader::read(&bytes), Err(LogHeaderError::Checksum));
        const { assert!(LOG_MAJOR > GENUINE_LOG_MAJOR_MAX) };
    }

    #[test]
    fn segments_come_back_only_under_their_number() {
        for size in [SegmentSize::BYTES_512, SegmentSize::BYTES_4096] {
            let header = SegmentHeader {
                position: LogPosition { generation: 3, segment: 9, byte: 0 },
                written: Stamp::from_unix_millis(1),
                used: 100,
                first_record: 44,
            };
            let mut segment = vec![0xAB; size.bytes()];
            header.seal(&mut segment);
            assert_eq!(SegmentHeader::read(&segment, 9), Some(header));
            assert_eq!(SegmentHeader::read(&segment, 10), None);
            segment[size.bytes() - 1] ^= 1;
            assert_eq!(SegmentHeader::read(&segment, 9), None);
            assert_eq!(SegmentHeader::read(&vec![FILL; size.bytes()], 9), None);
        }
    }

    #[test]
    fn a_sector_of_fill_in_the_place_of_one_of_zeros_is_noticed() {
        let header = SegmentHeader {
            position: LogPosition { generation: 3, segment: 9, byte: 0 },
            written: Stamp::from_unix_millis(1),
            used: 476,
            first_record: 40,
        };
        let mut segment = vec![0; SegmentSize::BYTES_4096.bytes()];
        header.seal(&mut segment);
        segment[512..1024].fill(FILL);
        assert!(block_is_sound(&segment, 9), "XE does not notice it");
        assert_eq!(SegmentHeader::read(&segment, 9), None);
    }

    #[test]
    fn any_segment_is_read_without_a_panic() {
        let mut random = Streams::new(7).named("segments");
        let mut segment = [0; 512];
        for number in 0..500 {
            random.fill(&mut segment);
            if number & 1 == 1 {
                seal_segment(&mut segment, number);
            }
            let _ = SegmentHeader::read(&segment, number);
        }
    }

    #[test]
    fn names_are_as_long_as_they_must_be() {
        assert_eq!(log_file_name("edb", 0x1F), "edb0001F.log");
        assert_eq!(log_file_name("E00", 0x10_0000), "E0000100000.log");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(generation_of("edb", "edb0001F.log"), Some(0x1F));
        assert_eq!(generation_of("edb", "edb00100000.log"), Some(0x10_0000));
        for other in
            ["edb.log", "edbtmp.log", "edb0001f.log", "edb1F.log", "E000001F.log", "edb0001F.txt"]
        {
            assert_eq!(generation_of("edb", other), None, "{other}");
        }
    }
}
