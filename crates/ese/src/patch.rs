//! Page patching: a page that is bad here is fetched from another copy of the database.
//!
//! ```text
//!   read --> bad --> Copies: one after another is asked for the page as it is after all of our durable log
//!                      |  judged here (crate::policy::patch): right database, replayed as far, sound, right version
//!                      v
//!            written back, durably, and only then anybody sees it;  or, when no copy will do, the error that was
//! ```
//!
//! The engine knows copies only through [`Copies`], which is handed to the cache ([`crate::cache::Cache::patch_from`]).
//! Where they are and how they replay the log is the business of whoever keeps them. Nothing that a copy says is believed
//! beyond what can be checked, so a copy that is behind, ahead, rotten or another database's changes nothing.
//!
//! The repair is durable before an operation may build on it: otherwise a crash could leave log records that change a page
//! whose base is rotten on the disk.
//!
//! Every try is remembered as a [`Patch`] and counted ([`crate::meter::DatabaseMeters`]), whatever came of it: storage that needs
//! repairs is storage that lies. Microsoft's engine reports them as events 534 and in the database header.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

use brunt_units::{LogPosition, PageNumber, Span};
use brunt_world::{IoError, Segment};

use crate::error::{PageFault, io_code};
use crate::format::stamp::Signature;
use crate::policy::patch::Refusal;

/// How long one copy may take to answer: as long as an I/O may before it counts as hung.
///
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx (JET_paramHungIOThreshold, 30 s).
pub const PATIENCE: Span = Span::seconds(30);

/// Tries that are remembered until somebody takes them; of more only the counters tell.
pub const REMEMBERED_MAX: usize = 1000;

/// A copy's answer, when it comes.
pub type Answering = Pin<Box<dyn Future<Output = Option<Offer>>>>;

/// Who has other copies of these pages.
pub trait Copies {
    /// Names of the copies, in the order in which they are to be asked.
    fn names(&self) -> Vec<String>;

    /// Asks copy number `copy` of [`Self::names`] for a page, as it is when everything before [`Wanted::replayed`] has been
    /// replayed. `None`, or nothing for [`PATIENCE`], when it has no such page.
    fn ask(&self, copy: usize, wanted: &Wanted) -> Answering;
}

/// What a copy is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The database's path here.
    pub database: PathBuf,
    /// Its signature, which its copies have, too.
    pub signature: Signature,
    /// The page.
    pub page: PageNumber,
    /// All log before this has to be in it.
    pub replayed: LogPosition,
}

/// What a copy has.
#[derive(Debug)]
pub struct Offer {
    /// The signature of its database.
    pub signature: Signature,
    /// All log before this is in its pages.
    pub replayed: LogPosition,
    /// The page as it stands on its storage, checksum and all: memory to read a page into, filled.
    pub page: Segment,
}

/// A page that was bad, and what came of asking for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The database.
    pub database: PathBuf,
    /// The page.
    pub page: PageNumber,
    /// Its first byte in the file.
    pub offset: u64,
    /// What was wrong with it.
    pub fault: PageFault,
    /// Copies that could not help, in the order in which they were asked.
    pub refused: Vec<(String, Refusal)>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a bad page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is what it should be again, on the disk, thanks to the copy of this name.
    Patched(String),
    /// No copy had it. The page is bad.
    NoCopy,
    /// The copy of this name had it, and it could not be written back. The page is bad.
    NotWritten(String, IoError),
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, code) = (self.database.display(), self.fault.code());
        write!(f, "{path}: page {} (offset {}): ", self.page, self.offset)?;
        write!(f, "{} (ESE {code}), ", self.fault)?;
        match &self.outcome {
            Outcome::Patched(copy) => write!(f, "patched from {copy}")?,
            Outcome::NoCopy => write!(f, "no copy could help (ESE event 534)")?,
            Outcome::NotWritten(copy, error) => {
                let code = io_code(*error);
                write!(
                    f,
                    "the page of {copy} could not be written: {error} (ESE {code})"
                )?;
            }
        }
        self.refused
            .iter()
            .try_for_each(|(copy, refusal)| write!(f, "; {copy}: {refusal}"))
    }
}
