//! What a verification found.

use std::fmt;
use std::path::PathBuf;

use brunt_units::{PageNumber, PageSize, Span};
use brunt_world::IoError;

use crate::error::io_code;
use crate::format::header::DatabaseState;

/// Findings that are listed one by one; all are counted.
pub const LISTED_MAX: usize = 1000;

/// What kind of file it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ESE database of any program.
    Database {
        /// Bytes in a page.
        page_size: PageSize,
        /// Format revision.
        revision: u32,
        /// Whether it was closed properly.
        state: DatabaseState,
        /// Whether brunt created it.
        ours: bool,
    },
    /// A log file of ours.
    Log {
        /// Its generation.
        generation: u32,
    },
    /// A log file that nothing was written to yet: a reserve, or one that is made ahead.
    BlankLog,
    /// A checkpoint file.
    Checkpoint,
    /// A flush map of ours.
    FlushMap,
}

/// Where in a file something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The first copy of a header or checkpoint.
    Header,
    /// The second copy.
    Shadow,
    /// A page of a database, or a map page of a flush map, counted from 1.
    Page(PageNumber),
    /// A segment of a log, with its number.
    Segment(u16),
}

/// In what two pages contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// Which leaf follows which.
    Order,
    /// Which page is the child of which.
    Child,
    /// Which record has which entry in an index.
    Index,
    /// Which record has which long value, and of how many bytes.
    LongValue,
}

/// What is wrong with a page, copy or segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The checksum fails.
    Checksum,
    /// The checksum fails over this many flipped bits, which it can repair.
    Correctable {
        /// One, or up to four on large pages.
        bits: usize,
    },
    /// Whole, but another page. A damaged checksum field of a small page can look the same.
    WrongNumber {
        /// Whose page it is.
        belongs_at: PageNumber,
    },
    /// Blank, and a tree points to it.
    Uninitialised,
    /// Whole, but not what was written last: its flush type is not the map's.
    LostFlush {
        /// The page's flush type.
        page: u8,
        /// The flush map's.
        map: u8,
    },
    /// Whole, and newer than the header of a database that was closed.
    TooNew,
    /// Whole, and another page says otherwise: one of the two is too old.
    Contradicted(Contradiction),
    /// The device fails the read.
    Device(IoError),
    /// Owned by the database and behind the end of the file.
    PastEnd,
    /// Whole, and what it says of the space that the database owns makes no sense.
    OwnedSpace,
    /// A log segment that is not what was written.
    Segment,
}

impl Fault {
    /// ESE's number.
    pub fn code(self) -> i32 {
        match self {
            Self::Checksum | Self::Correctable { .. } => -1018,
            Self::WrongNumber { .. } => -1118,
            Self::Uninitialised => -1019,
            Self::LostFlush { .. } => -1119,
            Self::TooNew => -567,
            Self::Contradicted(Contradiction::Order) => -327,
            Self::Contradicted(Contradiction::Child) => -338,
            Self::Contradicted(Contradiction::Index) => -1414,
            Self::Contradicted(Contradiction::LongValue) => -1526,
            Self::Device(error) => io_code(error),
            Self::PastEnd => -4001,
            Self::OwnedSpace => -1206,
            Self::Segment => -501,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => write!(f, "the checksum fails"),
            Self::Correctable { bits: 1 } => write!(f, "one flipped bit, correctable"),
            Self::Correctable { bits } => write!(f, "{bits} flipped bits, correctable"),
            Self::WrongNumber { belongs_at } => write!(f, "this is page {belongs_at}"),
            Self::Uninitialised => write!(f, "blank where data is expected"),
            Self::LostFlush { page, map } => {
                write!(
                    f,
                    "an earlier write is missing (flush type {page}, map {map})"
                )
            }
            Self::TooNew => write!(f, "newer than the database"),
            Self::Contradicted(what) => {
                let what = match what {
                    Contradiction::Order => "which page follows which",
                    Contradiction::Child => "which page is whose child",
                    Contradiction::Index => "a record's entry in the index",
                    Contradiction::LongValue => "a record's long value",
                };
                write!(f, "another page contradicts it in {what}, one is too old")
            }
            Self::Device(error) => write!(f, "the read failed: {error}"),
            Self::PastEnd => write!(f, "behind the end of the file"),
            Self::OwnedSpace => write!(f, "the owned space cannot be read from here"),
            Self::Segment => write!(f, "the log segment is damaged"),
        }?;
        write!(f, " (ESE {})", self.code())
    }
}

/// One thing that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: Place,
    /// Its first byte in the file.
    pub offset: u64,
    /// What.
    pub fault: Fault,
}

/// Something to know about how a file was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The owned space could not be read: every page of the file was judged, and whether pages are missing is unknown.
    OwnedSpaceUnreadable(String),
    /// This many pages behind or between the owned space were not judged.
    NotOwned(u64),
    /// The database was not closed properly: recovery may still fill blank pages, so they were not looked into.
    NotClean,
    /// The two header copies differ; the first counts.
    CopiesDiffer,
    /// The flush map was used.
    FlushMapUsed,
    /// There is a flush map, and it says nothing about this state of the database.
    FlushMapIgnored(&'static str),
    /// That a page is whole but too old is known only where something contradicts it.
    StalePages {
        /// The flush map could.
        flush_map: bool,
        /// Other pages could.
        neighbours: bool,
    },
    /// Which blank pages are expected to hold data could not be found out.
    TreesUnreadable(String),
    /// This many bytes at the end of the file are no whole page or segment.
    OddEnd(u64),
    /// The log ends with this many segments that were never written.
    LogEndsEarly(u64),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnedSpaceUnreadable(why) => {
                write!(
                    f,
                    "owned space unreadable ({why}): all pages judged, missing ones not noticed"
                )
            }
            Self::NotOwned(pages) => write!(f, "{pages} pages outside the owned space not judged"),
            Self::NotClean => write!(f, "the database was not closed properly"),
            Self::CopiesDiffer => write!(f, "the two header copies differ"),
            Self::FlushMapUsed => write!(f, "flush map used"),
            Self::FlushMapIgnored(why) => write!(f, "flush map not used: {why}"),
            Self::StalePages {
                flush_map,
                neighbours,
            } => {
                let agree = match (flush_map, neighbours) {
                    (true, true) => " and agree with the flush map and with other pages",
                    (true, false) => " and agree with the flush map",
                    (false, true) => " and agree with other pages",
                    (false, false) => "",
                };
                write!(f, "not known: pages that are whole but too old{agree}")
            }
            Self::TreesUnreadable(why) => write!(f, "blank pages not looked into: {why}"),
            Self::OddEnd(bytes) => write!(f, "{bytes} bytes at the end are no whole page"),
            Self::LogEndsEarly(segments) => write!(f, "{segments} segments not written yet"),
        }
    }
}

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// The file.
    pub file: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// Pages (segments, copies) judged, blank ones included.
    pub pages_seen: u64,
    /// Those that an engine would refuse, wrong numbers included; correctable ones are not.
    pub pages_bad: u64,
    /// Those that an engine would repair as it reads.
    pub pages_correctable: u64,
    /// Those that are whole but another page; also among the bad ones.
    pub pages_wrong_number: u64,
    /// Those that are blank; fine unless also among the bad ones.
    pub pages_uninitialised: u64,
    /// Length of the file.
    pub bytes: u64,
    /// How long it took.
    pub elapsed: Span,
    /// What is wrong, in the order it was found; at most [`LISTED_MAX`].
    pub findings: Vec<Finding>,
    /// How the file was judged.
    pub notes: Vec<Note>,
}

impl FileReport {
    pub(super) fn new(file: PathBuf, bytes: u64, kind: FileKind) -> Self {
        Self {
            file,
            kind,
            pages_seen: 0,
            pages_bad: 0,
            pages_correctable: 0,
            pages_wrong_number: 0,
            pages_uninitialised: 0,
            bytes,
            elapsed: Span::ZERO,
            findings: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether it is known which pages had to be judged.
    pub fn is_judged(&self) -> bool {
        let unknown = |note: &Note| matches!(note, Note::OwnedSpaceUnreadable(_));
        !self.notes.iter().any(unknown)
    }

    /// Whether nothing at all is wrong with what was judged.
    pub fn is_intact(&self) -> bool {
        self.pages_bad == 0 && self.pages_correctable == 0
    }

    /// Findings that are counted and not listed.
    pub fn findings_omitted(&self) -> u64 {
        self.pages_bad + self.pages_correctable - self.findings.len() as u64
    }

    /// Counts a finding, and lists it while there is room.
    pub(super) fn find(&mut self, place: Place, offset: u64, fault: Fault) {
        match fault {
            Fault::Correctable { .. } => self.pages_correctable += 1,
            Fault::WrongNumber { .. } => {
                self.pages_wrong_number += 1;
                self.pages_bad += 1;
            }
            _ => self.pages_bad += 1,
        }
        self.list(place, offset, fault);
    }

    /// Counts `pages` findings of the same kind at once, listing the first.
    pub(super) fn find_run(&mut self, first: PageNumber, offset: u64, pages: u64, fault: Fault) {
        self.find(Place::Page(first), offset, fault);
        self.pages_bad += pages - 1;
    }

    fn list(&mut self, place: Place, offset: u64, fault: Fault) {
        if self.findings.len() < LISTED_MAX {
            self.findings.push(Finding {
                place,
                offset,
                fault,
            });
        }
    }
}
