//! The database header: one page at the start of the file, and a second copy in the next page.
//!
//! ```text
//!      0   4  checksum, old XOR over the whole page        212   4  highest object id
//!      4   4  0x89ABCDEF                                   216  16  operating system
//!      8   4  0x620                                        232   4  revision
//!     12   4  0                                            236   4  page size, 0 means 4,096
//!     16   8  database time                                296   8  lowest, highest log generation required
//!     24  28  signature; ours carries the marker           340   8  0x620 and 20: version at creation
//!     52   4  state                                        348   8  date of the highest required generation
//!     56   8  last consistent at this log position         416   4  highest committed generation
//!     64   8  ... on this date                             508   8  all ones
//!     72  16  attached: date, log position                 584  28  last header flush
//!     88  16  detached: date, log position                 612  28  last flush-map header flush
//!    104   4  database id                                  644   4  minor revision
//!    108  28  signature of the log                         667   4  file type 1
//! ```
//!
//! Fields that are not shown are zero in our files (backups, counters of repairs and resizes, scan
//! marks). Both copies are equal after a clean shutdown. The second is written after the first is
//! durable, so one of them is always intact. A reader does not know the page size before it has the
//! header: [`DatabaseHeader::find`] tries the sizes until a checksum matches over exactly the size
//! that the header names.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/inc/daedef.hxx (`DBFILEHDR`) and
//! dev/ese/published/inc/jethdr.w (states).

use brunt_units::{DatabaseTime, LogPosition, PageSize};

use super::checksum::block::OLD_SEED;
use super::checksum::{header_is_sound, seal_header};
use super::field::{array_at, put, put_u32, put_u64, u32_at, u64_at};
use super::page::ObjectId;
use super::stamp::{RunId, Signature, Stamp};

/// The format version that every reader expects.
pub const FORMAT_VERSION: u32 = 0x620;
/// The format revision that we write: Windows 8 to 10, accepted by every reader version tried.
pub const REVISION: u32 = 20;
/// Bytes that [`DatabaseHeader::find`] needs: two copies of the largest header.
pub const HEADERS_BYTES_MAX: usize = 2 * 32_768;
/// Offset of the file type, the same in every kind of file: u32.
pub const FILE_TYPE_AT: usize = 667;
pub const DATABASE_FILE_TYPE: u32 = 1;

const SIGNATURE: u32 = OLD_SEED;
const VERSION_AT: usize = 8;
const TIME_AT: usize = 16;
/// Offset of a database's signature: 28 bytes.
pub const SIGNATURE_AT: usize = 24;
const STATE_AT: usize = 52;
const CONSISTENT_AT: usize = 56;
const CONSISTENT_ON_AT: usize = 64;
const ATTACHED_ON_AT: usize = 72;
const ATTACHED_AT: usize = 80;
const DETACHED_ON_AT: usize = 88;
const DETACHED_AT: usize = 96;
const DATABASE_ID_AT: usize = 104;
const LOG_SIGNATURE_AT: usize = 108;
const OBJECT_MAX_AT: usize = 212;
const OS_AT: usize = 216;
const REVISION_AT: usize = 232;
const PAGE_SIZE_AT: usize = 236;
const REQUIRED_LOW_AT: usize = 296;
const REQUIRED_HIGH_AT: usize = 300;
const CREATED_VERSION_AT: usize = 340;
const REQUIRED_ON_AT: usize = 348;
const COMMITTED_AT: usize = 416;
const SORT_VERSION_AT: usize = 508;
const HEADER_FLUSH_AT: usize = 584;
const FLUSH_MAP_AT: usize = 612;
const REVISION_MINOR_AT: usize = 644;

/// Value in genuine files of revision 20: Windows 10 build 17763. The build does not matter to any
/// reader.
const OS: [u32; 4] = [10, 0, 17_763, 0];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatabaseState {
    /// Creation has started but not finished.
    JustCreated,
    /// In use, or not closed properly: the required logs must be replayed.
    Dirty,
    /// Closed properly; needs no log.
    Clean,
    /// A state that we never write, as a number.
    Other(u32),
}

impl DatabaseState {
    fn from_number(number: u32) -> Self {
        match number {
            1 => Self::JustCreated,
            2 => Self::Dirty,
            3 => Self::Clean,
            other => Self::Other(other),
        }
    }

    fn number(self) -> u32 {
        match self {
            Self::JustCreated => 1,
            Self::Dirty => 2,
            Self::Clean => 3,
            Self::Other(number) => number,
        }
    }
}

/// The log generations a database needs to become consistent; both 0 when it needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogsRequired {
    /// The oldest.
    pub lowest: u32,
    /// The newest that must exist.
    pub highest: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseHeader {
    /// Bytes per page.
    pub page_size: PageSize,
    /// Upper bound of the database time of every page.
    pub time: DatabaseTime,
    /// Identifies the database; carries our marker.
    pub signature: Signature,
    pub state: DatabaseState,
    /// Log position at which it was last consistent; zero without a log.
    pub consistent: LogPosition,
    /// When it was last consistent.
    pub consistent_on: Stamp,
    pub attached: LogPosition,
    /// When it was attached.
    pub attached_on: Stamp,
    /// Log position of the detach; zero while attached.
    pub detached: LogPosition,
    /// When it was detached.
    pub detached_on: Stamp,
    /// Number in the log stream.
    pub database_id: u32,
    /// The log stream it belongs to.
    pub log_signature: Signature,
    /// Highest object id in use.
    pub object_max: ObjectId,
    /// Format revision, 20 in our files.
    pub revision: u32,
    pub revision_minor: u32,
    /// The log generations it needs.
    pub required: LogsRequired,
    /// Date of the highest required generation.
    pub required_on: Stamp,
    /// Highest generation with committed changes for this database; 0 when clean.
    pub committed: u32,
    /// Changes with every write of the header.
    pub header_flush: Signature,
    /// Signature of the matching flush-map header.
    pub flush_map: Signature,
    /// File type: 1, or 0 in files older than the field.
    pub file_type: u32,
}

/// Why bytes are not a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes do not look like an ESE database.
    #[error("not an ESE database (no signature in either header copy)")]
    NotEse,
    /// The signature is there, but the checksum is wrong in both copies at every page size.
    #[error("neither header copy has a valid checksum (ESE -1018)")]
    Checksum,
    /// A version that no engine since 2000 writes.
    #[error("format version {0:#x} is not 0x620")]
    Version(u32),
    /// An unknown page size.
    #[error("pages of {0} bytes are not supported (4096, 8192, 16384 or 32768)")]
    PageSize(u32),
}

/// One of the two copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderCopy {
    /// The first page of the file.
    Primary,
    /// The second.
    Shadow,
}

/// A header, and the state of the file's two copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFound {
    /// The chosen header; see [`DatabaseHeader::find`].
    pub header: DatabaseHeader,
    /// The copy it came from.
    pub copy: HeaderCopy,
    /// The other copy, if it is valid too.
    pub other: Option<Box<DatabaseHeader>>,
}

impl DatabaseHeader {
    /// The header of a newly created database with `signature`.
    pub fn new(page_size: PageSize, signature: Signature) -> Self {
        Self {
            page_size,
            time: DatabaseTime(1),
            signature,
            state: DatabaseState::JustCreated,
            consistent: LogPosition::default(),
            consistent_on: Stamp::default(),
            attached: LogPosition::default(),
            attached_on: Stamp::default(),
            detached: LogPosition::default(),
            detached_on: Stamp::default(),
            database_id: 1,
            log_signature: Signature::default(),
            object_max: ObjectId::default(),
            revision: REVISION,
            revision_minor: 0,
            required: LogsRequired::default(),
            required_on: Stamp::default(),
            committed: 0,
            header_flush: Signature::default(),
            flush_map: Signature::default(),
            file_type: DATABASE_FILE_TYPE,
        }
    }

    /// The run that created the database, if it was brunt.
    pub fn run_id(&self) -> Option<RunId> {
        self.signature.run_id()
    }

    /// Whether brunt created the database, and may open it for writing.
    pub fn is_ours(&self) -> bool {
        self.run_id().is_some()
    }

    /// Finds the header in the first bytes of a database file, up to [`HEADERS_BYTES_MAX`].
    ///
    /// The first valid copy counts, except that in our own databases the newer one does. The first
    /// copy is written first, so a newer second copy means that the write of the first got lost.
    ///
    /// # Errors
    /// [`HeaderError`] when neither copy is a readable header.
    pub fn find(start: &[u8]) -> Result<HeaderFound, HeaderError> {
        let primary = Self::find_copy(start, HeaderCopy::Primary);
        let shadow = Self::find_copy(start, HeaderCopy::Shadow);
        match (primary, shadow) {
            (Ok(primary), Ok(shadow)) if shadow.is_newer_than(&primary) => Ok(HeaderFound {
                header: shadow,
                copy: HeaderCopy::Shadow,
                other: Some(Box::new(primary)),
            }),
            (Ok(header), shadow) => Ok(HeaderFound {
                header,
                copy: HeaderCopy::Primary,
                other: shadow.ok().map(Box::new),
            }),
            (Err(_), Ok(header)) => {
                Ok(HeaderFound { header, copy: HeaderCopy::Shadow, other: None })
            }
            // The shadow's offset depends on the page size, so the primary's error says more.
            (Err(HeaderError::NotEse), Err(trouble)) | (Err(trouble), Err(_)) => Err(trouble),
        }
    }

    /// Whether this is a later header of the same database of ours: its times and log positions
    /// only ever grow.
    fn is_newer_than(&self, other: &Self) -> bool {
        let age = |header: &Self| {
            let positions = [header.consistent, header.attached, header.detached];
            (header.time, positions.into_iter().max(), header.committed)
        };
        self.is_ours() && self.signature == other.signature && age(self) > age(other)
    }

    /// Reads a copy at the first page size at which it is valid.
    fn find_copy(start: &[u8], copy: HeaderCopy) -> Result<Self, HeaderError> {
        let mut trouble = HeaderError::NotEse;
        for size in PageSize::ALL {
            let at = match copy {
                HeaderCopy::Primary => 0,
                HeaderCopy::Shadow => size.bytes(),
            };
            let Some(bytes) = start.get(at..at + size.bytes()) else {
                continue;
            };
            match Self::read(bytes) {
                Ok(header) => return Ok(header),
                Err(HeaderError::NotEse) => {}
                Err(HeaderError::Checksum) if trouble != HeaderError::NotEse => {}
                Err(other) => trouble = other,
            }
        }
        Err(trouble)
    }

    /// Decodes one copy, as long as the page size it names.
    ///
    /// # Errors
    /// [`HeaderError`].
    ///
    /// # Panics
    /// When `bytes` is shorter than 4,096 bytes.
    pub fn read(bytes: &[u8]) -> Result<Self, HeaderError> {
        assert!(bytes.len() >= PageSize::KIB_4.bytes(), "a header is a page");
        if u32_at(bytes, 4) != SIGNATURE {
            return Err(HeaderError::NotEse);
        }
        let version = u32_at(bytes, VERSION_AT);
        let stored_size = match u32_at(bytes, PAGE_SIZE_AT) {
            0 => 4096,
            size => size,
        };
        let page_size = PageSize::new(stored_size.into());
        if !header_is_sound(bytes) {
            // A header of 2 KiB pages is complete within the first 2 KiB.
            let whole = stored_size == 2048 && header_is_sound(&bytes[..2048]);
            return Err(match whole {
                true => HeaderError::PageSize(stored_size),
                false => HeaderError::Checksum,
            });
        }
        if version != FORMAT_VERSION {
            return Err(HeaderError::Version(version));
        }
        let page_size = page_size.map_err(|_| HeaderError::PageSize(stored_size))?;
        if page_size.bytes() != bytes.len() {
            return Err(HeaderError::Checksum);
        }
        Ok(Self::fields(bytes, page_size))
    }

    fn fields(bytes: &[u8], page_size: PageSize) -> Self {
        let position = |at| LogPosition::from_bytes(array_at(bytes, at));
        let stamp = |at| Stamp::from_bytes(array_at(bytes, at));
        Self {
            page_size,
            time: DatabaseTime(u64_at(bytes, TIME_AT)),
            signature: Signature::read(bytes, SIGNATURE_AT),
            state: DatabaseState::from_number(u32_at(bytes, STATE_AT)),
            consistent: position(CONSISTENT_AT),
            consistent_on: stamp(CONSISTENT_ON_AT),
            attached: position(ATTACHED_AT),
            attached_on: stamp(ATTACHED_ON_AT),
            detached: position(DETACHED_AT),
            detached_on: stamp(DETACHED_ON_AT),
            database_id: u32_at(bytes, DATABASE_ID_AT),
            log_signature: Signature::read(bytes, LOG_SIGNATURE_AT),
            object_max: ObjectId(u32_at(bytes, OBJECT_MAX_AT)),
            revision: u32_at(bytes, REVISION_AT),
            revision_minor: u32_at(bytes, REVISION_MINOR_AT),
            required: LogsRequired {
                lowest: u32_at(bytes, REQUIRED_LOW_AT),
                highest: u32_at(bytes, REQUIRED_HIGH_AT),
            },
            required_on: stamp(REQUIRED_ON_AT),
            committed: u32_at(bytes, COMMITTED_AT),
            header_flush: Signature::read(bytes, HEADER_FLUSH_AT),
            flush_map: Signature::read(bytes, FLUSH_MAP_AT),
            file_type: u32_at(bytes, FILE_TYPE_AT),
        }
    }

    /// Encodes and seals one copy, one page long. Both copies are the same.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.page_size.bytes()];
        put_u64(&mut bytes, TIME_AT, self.time.0);
        put_u64(&mut bytes, SORT_VERSION_AT, u64::MAX);
        for (at, value) in [
            (4, SIGNATURE),
            (VERSION_AT, FORMAT_VERSION),
            (STATE_AT, self.state.number()),
            (DATABASE_ID_AT, self.database_id),
            (OBJECT_MAX_AT, self.object_max.0),
            (REVISION_AT, self.revision),
            (CREATED_VERSION_AT, FORMAT_VERSION),
            (CREATED_VERSION_AT + 4, REVISION),
            (REQUIRED_LOW_AT, self.required.lowest),
            (REQUIRED_HIGH_AT, self.required.highest),
            (COMMITTED_AT, self.committed),
            (REVISION_MINOR_AT, self.revision_minor),
            (FILE_TYPE_AT, self.file_type),
        ] {
            put_u32(&mut bytes, at, value);
        }
        put(&mut bytes, PAGE_SIZE_AT, &self.page_size.bytes_u64().to_le_bytes()[..4]);
        for (word, value) in OS.into_iter().enumerate() {
            put_u32(&mut bytes, OS_AT + 4 * word, value);
        }
        for (at, position) in [
            (CONSISTENT_AT, self.consistent),
            (ATTACHED_AT, self.attached),
            (DETACHED_AT, self.detached),
        ] {
            put(&mut bytes, at, &position.to_bytes());
        }
        for (at, stamp) in [
            (CONSISTENT_ON_AT, self.consistent_on),
            (ATTACHED_ON_AT, self.attached_on),
            (DETACHED_ON_AT, self.detached_on),
            (REQUIRED_ON_AT, self.required_on),
        ] {
            put(&mut bytes, at, &stamp.to_bytes());
        }
        self.signature.write(&mut bytes, SIGNATURE_AT);
        self.log_signature.write(&mut bytes, LOG_SIGNATURE_AT);
        self.header_flush.write(&mut bytes, HEADER_FLUSH_AT);
        self.flush_map.write(&mut bytes, FLUSH_MAP_AT);
        seal_header(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_world::random::Streams;

    fn filled(page_size: PageSize) -> DatabaseHeader {
        let signature = |n| Signature::ours(n, Stamp::from_unix_millis(n.into()), RunId(9));
        let position = |n| LogPosition { generation: n, segment: 2, byte: 3 };
        DatabaseHeader {
            page_size,
            time: DatabaseTime(0x1_0000_0001),
            signature: signature(1),
            state: DatabaseState::Dirty,
            consistent: position(4),
            consistent_on: Stamp::from_unix_millis(5),
            attached: position(6),
            attached_on: Stamp::from_unix_millis(7),
            detached: position(8),
            detached_on: Stamp::from_unix_millis(9),
            database_id: 10,
            log_signature: signature(11),
            object_max: ObjectId(12),
            revision: REVISION,
            revision_minor: 13,
            required: LogsRequired { lowest: 14, highest: 15 },
            required_on: Stamp::from_unix_millis(16),
            committed: 17,
            header_flush: signature(18),
            flush_map: signature(19),
            file_type: DATABASE_FILE_TYPE,
        }
    }

    fn two_copies(header: &DatabaseHeader) -> Vec<u8> {
        header.to_bytes().repeat(2)
    }

    #[test]
    fn every_field_comes_back_from_either_copy() {
        for size in PageSize::ALL {
            let header = filled(size);
            let mut file = two_copies(&header);
            let found = DatabaseHeader::find(&file).unwrap();
            assert_eq!((&found.header, found.copy), (&header, HeaderCopy::Primary));
            assert_eq!(found.other.as_deref(), Some(&header));
            assert_eq!(found.header.run_id(), Some(RunId(9)));
            file[100] ^= 1;
            let found = DatabaseHeader::find(&file).unwrap();
            assert_eq!((&found.header, found.copy), (&header, HeaderCopy::Shadow));
            file[size.bytes() + 100] ^= 1;
            assert_eq!(DatabaseHeader::find(&file), Err(HeaderError::Checksum));
        }
    }

    #[test]
    fn of_two_sound_copies_the_newer_decides() {
        let size = PageSize::KIB_4;
        let old = filled(size);
        let mut new = old.clone();
        new.state = DatabaseState::Clean;
        new.detached.generation += 1;
        let chosen = |first: &DatabaseHeader, second: &DatabaseHeader| {
            let file = [first.to_bytes(), second.to_bytes()].concat();
            let found = DatabaseHeader::find(&file).unwrap();
            assert!(found.other.is_some());
            (found.header, found.copy)
        };
        // Between the writes of the two copies, and after a lost write of the first.
        assert_eq!(chosen(&new, &old), (new.clone(), HeaderCopy::Primary));
        assert_eq!(chosen(&old, &new), (new.clone(), HeaderCopy::Shadow));
        // Nothing is assumed about files of other programs.
        let foreign = |header: &DatabaseHeader| DatabaseHeader {
            signature: Signature::default(),
            ..header.clone()
        };
        let (old, new) = (foreign(&old), foreign(&new));
        assert_eq!(chosen(&old, &new), (old.clone(), HeaderCopy::Primary));
    }

    #[test]
    fn a_new_header_has_the_constants_readers_want() {
        let bytes = DatabaseHeader::new(PageSize::KIB_4, Signature::default()).to_bytes();
        for (at, value) in [(4, 0x89AB_CDEF), (8, 0x620), (12, 0), (52, 1), (104, 1)] {
            assert_eq!(u32_at(&bytes, at), value, "{at}");
        }
        for (at, value) in [(232, 20), (236, 4096), (340, 0x620), (344, 20), (667, 1)] {
            assert_eq!(u32_at(&bytes, at), value, "{at}");
        }
        assert_eq!(u64_at(&bytes, 508), u64::MAX);
    }

    #[test]
    fn other_files_and_other_versions_are_told_apart() {
        assert_eq!(DatabaseHeader::find(&[]), Err(HeaderError::NotEse));
        assert_eq!(DatabaseHeader::find(&[0; 65536]), Err(HeaderError::NotEse));
        let with = |at, value| {
            let mut bytes = filled(PageSize::KIB_8).to_bytes();
            put_u32(&mut bytes, at, value);
            seal_header(&mut bytes);
            DatabaseHeader::find(&bytes)
        };
        assert_eq!(with(VERSION_AT, 0x623), Err(HeaderError::Version(0x623)));
        assert_eq!(with(PAGE_SIZE_AT, 777), Err(HeaderError::PageSize(777)));
        let mut tiny = vec![0; 8192];
        put_u32(&mut tiny, 4, SIGNATURE);
        put_u32(&mut tiny, PAGE_SIZE_AT, 2048);
        seal_header(&mut tiny[..2048]);
        tiny[3000] = 1;
        assert_eq!(DatabaseHeader::find(&tiny), Err(HeaderError::PageSize(2048)));
    }

    #[test]
    fn a_page_size_of_zero_means_4096() {
        let mut bytes = filled(PageSize::KIB_4).to_bytes();
        put_u32(&mut bytes, PAGE_SIZE_AT, 0);
        seal_header(&mut bytes);
        assert_eq!(DatabaseHeader::find(&bytes).unwrap().header.page_size, PageSize::KIB_4);
    }

    #[test]
    fn damaged_headers_never_panic() {
        let mut random = Streams::new(5).named("headers");
        let file = two_copies(&filled(PageSize::KIB_4));
        for _ in 0..500 {
            let mut damaged = file.clone();
            for _ in 0..=random.below(4) {
                let at = usize::try_from(random.below(8192)).unwrap();
                damaged[at] = random.bits().to_le_bytes()[0];
            }
            if random.percent(50) {
                seal_header(&mut damaged[..4096]);
            }
            damaged.truncate(usize::try_from(random.below(8193)).unwrap());
            let _ = DatabaseHeader::find(&damaged);
        }
    }
}
