//! Results of a verification.

use std::fmt;
use std::path::PathBuf;

use brunt_units::{PageNumber, PageSize, Span};
use brunt_world::IoError;

use crate::error::io_code;
use crate::format::header::{DatabaseState, LogsRequired};

/// Maximum number of findings listed one by one; all are counted.
pub const LISTED_MAX: usize = 1000;

/// Blank pages that a note names.
const NAMED_MAX: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ESE database of any program.
    Database {
        /// Bytes per page.
        page_size: PageSize,
        /// Format revision.
        revision: u32,
        /// Whether it was closed properly.
        state: DatabaseState,
        /// Whether brunt created it.
        ours: bool,
    },
    /// A brunt log file.
    Log { generation: u32 },
    /// A log file without content: a reserve, or one created ahead.
    BlankLog,
    /// A checkpoint file.
    Checkpoint,
    /// A brunt flush map.
    FlushMap,
}

/// Location of a finding in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The first copy of a header or checkpoint.
    Header,
    /// The second copy.
    Shadow,
    /// A page of a database, or a map page of a flush map, from 1.
    Page(PageNumber),
    /// A segment of a log, by number.
    Segment(u16),
}

/// The relation in which two pages contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// The order of leaves.
    Order,
    /// Parent and child.
    Child,
    /// Record and index entry.
    Index,
    /// Record and long value, or the length of a long value.
    LongValue,
}

/// Fault of a page, copy or segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The checksum is wrong.
    Checksum,
    /// The checksum is wrong because of this many flipped bits, which it can repair.
    Correctable {
        /// One, or up to four on large pages.
        bits: usize,
    },
    /// Intact, but another page. A damaged checksum field of a small page can look the same.
    WrongNumber { belongs_at: PageNumber },
    /// Blank, but a tree points to it.
    Uninitialised,
    /// Intact, but not the last write: its flush type differs from the map's.
    LostFlush {
        /// The page's flush type.
        page: u8,
        /// The flush map's.
        map: u8,
    },
    /// Intact, but newer than the header of a database that was closed.
    TooNew,
    /// Intact, but another page contradicts it: one of the two is outdated.
    Contradicted(Contradiction),
    /// The device fails the read.
    Device(IoError),
    /// Owned by the database but past the end of the file.
    PastEnd,
    /// Intact, but its description of the database's owned space is malformed.
    OwnedSpace,
    /// A log segment that differs from what was written.
    Segment,
}

impl Fault {
    /// ESE's error number.
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
            Self::Checksum => write!(f, "checksum mismatch"),
            Self::Correctable { bits: 1 } => write!(f, "one flipped bit, correctable"),
            Self::Correctable { bits } => write!(f, "{bits} flipped bits, correctable"),
            Self::WrongNumber { belongs_at } => {
                write!(f, "wrong page number: belongs at page {belongs_at}")
            }
            Self::Uninitialised => write!(f, "blank where data is expected"),
            Self::LostFlush { page, map } => {
                write!(f, "an earlier write is missing (flush type {page}, map {map})")
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

/// A single finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Location.
    pub place: Place,
    /// Offset in the file.
    pub offset: u64,
    pub fault: Fault,
}

/// A remark on how a file was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The owned space could not be read: every page of the file was verified, and it is unknown
    /// whether pages are missing.
    OwnedSpaceUnreadable(String),
    /// This many pages after or between the owned space were not verified.
    NotOwned(u64),
    /// The database was not closed properly.
    NotClean {
        /// The logs that recovery needs.
        required: LogsRequired,
        /// The last log with committed changes.
        committed: u32,
    },
    /// Trees of a database that was not closed properly name these pages, and they are blank:
    /// recovery has yet to write them, or they are lost. That is not judged.
    BlankNamed(Vec<PageNumber>),
    /// The database was not closed properly, so a wrong checksum may be that of a write that was
    /// cut short.
    PerhapsTorn,
    /// The two header copies differ; the first counts.
    CopiesDiffer,
    FlushMapUsed,
    /// There is a flush map, but it does not apply to this state of the database.
    FlushMapIgnored(&'static str),
    /// This flush map has only its header: a run was killed before it wrote more.
    FlushMapUnwritten,
    /// Outdated but intact pages were detected only where something contradicts them.
    StalePages {
        /// The flush map could contradict them.
        flush_map: bool,
        /// Other pages could contradict them.
        neighbours: bool,
    },
    /// It could not be determined which blank pages should have data.
    TreesUnreadable(String),
    /// This many bytes at the end of the file are not a whole page or segment.
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
            Self::NotClean { required, committed } => {
                write!(f, "the database was not closed properly")?;
                match (required.lowest, required.highest) {
                    (0, 0) => Ok(()),
                    (low, high) => write!(
                        f,
                        "; Log Required: {low}-{high} ({low:#x}-{high:#x}), Log Committed: 0-{committed} (0x0-{committed:#x})"
                    ),
                }
            }
            Self::BlankNamed(pages) => {
                let named: Vec<String> =
                    pages.iter().take(NAMED_MAX).map(ToString::to_string).collect();
                let (named, pages) = (named.join(", "), pages.len());
                match pages {
                    1 => write!(f, "not judged: page {named} is blank, and a tree names it")?,
                    _ if pages <= NAMED_MAX => {
                        write!(f, "not judged: pages {named} are blank, and trees name them")?;
                    }
                    _ => write!(
                        f,
                        "not judged: pages {named} and {} more are blank, and trees name them",
                        pages - NAMED_MAX
                    )?,
                }
                write!(f, " (ESE -1019); recovery has yet to write what is blank, or it is lost")
            }
            Self::PerhapsTorn => write!(
                f,
                "a page whose write was cut short has a wrong checksum too: recovery rebuilds it from the log"
            ),
            Self::CopiesDiffer => write!(f, "the two header copies differ"),
            Self::FlushMapUsed => write!(f, "flush map used"),
            Self::FlushMapIgnored(why) => write!(f, "flush map not used: {why}"),
            Self::FlushMapUnwritten => write!(f, "its pages are not written yet"),
            Self::StalePages { flush_map, neighbours } => {
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

/// Result of verifying one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    pub file: PathBuf,
    pub kind: FileKind,
    /// Pages (segments, copies) verified, including blank ones.
    pub pages_seen: u64,
    /// Pages that an engine would refuse, including wrong numbers but not correctable ones.
    pub pages_bad: u64,
    /// Pages that an engine would repair on reading.
    pub pages_correctable: u64,
    /// Intact pages with another number; included in the bad ones.
    pub pages_wrong_number: u64,
    /// Blank pages; fine unless included in the bad ones.
    pub pages_uninitialised: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Duration.
    pub elapsed: Span,
    /// Faults in the order found; at most [`LISTED_MAX`].
    pub findings: Vec<Finding>,
    /// Remarks on how the file was verified.
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

    /// Whether every page could be judged.
    pub fn is_judged(&self) -> bool {
        let unknown =
            |note: &Note| matches!(note, Note::OwnedSpaceUnreadable(_) | Note::BlankNamed(_));
        !self.notes.iter().any(unknown)
    }

    /// Whether the verified part has no fault.
    pub fn is_intact(&self) -> bool {
        self.pages_bad == 0 && self.pages_correctable == 0
    }

    /// Takes back the findings in `pages`, whose writes failed: what these pages hold is not known.
    /// Returns how many there were.
    pub fn leave_out(&mut self, pages: &[PageNumber]) -> u64 {
        let is_left = |finding: &Finding| match finding.place {
            Place::Page(page) => pages.contains(&page),
            _ => false,
        };
        let (left, kept): (Vec<Finding>, Vec<Finding>) = self.findings.drain(..).partition(is_left);
        self.findings = kept;
        for finding in &left {
            match finding.fault {
                Fault::Correctable { .. } => self.pages_correctable -= 1,
                Fault::WrongNumber { .. } => {
                    self.pages_wrong_number -= 1;
                    self.pages_bad -= 1;
                }
                _ => self.pages_bad -= 1,
            }
        }
        self.pages_seen -= left.len() as u64;
        left.len() as u64
    }

    /// Findings counted but not listed.
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
            self.findings.push(Finding { place, offset, fault });
        }
    }
}
