//! Page patching: replacing a bad page by the page of a copy of the database.
//!
//! ```text
//!   read --> bad --> Copies: one after another is asked for the page after all of our durable log
//!                      |  checked here (crate::policy::patch): right database, replayed that far, valid, right version
//!                      v
//!            written back durably before any operation sees it;  or, if no copy will do, the original error
//! ```
//!
//! The engine knows copies only through [`Copies`], which is handed to the cache
//! ([`crate::cache::Cache::patch_from`]). Where they are and how they replay the log is up to the
//! implementation. Nothing that a copy claims is believed beyond what can be checked, so a copy
//! that is behind, ahead, rotten or of another database changes nothing.
//!
//! The repair is durable before an operation may build on it. Otherwise a crash could leave log
//! records that change a page whose base is rotten on disk.
//!
//! Every attempt is recorded as a [`Patch`] and counted ([`crate::meter::DatabaseMeters`]),
//! whatever its outcome: storage that needs repairs is unreliable. Microsoft's engine reports them
//! as events 534 and in the database header.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

use brunt_units::{LogPosition, PageNumber, Span};
use brunt_world::{IoError, Segment};

use crate::error::{EngineError, PageFault, io_code};
use crate::format::stamp::Signature;
use crate::policy::patch::Refusal;

/// How long one copy may take to answer: the limit after which an I/O counts as hung.
///
/// Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx
/// (JET_paramHungIOThreshold, 30 s).
pub const PATIENCE: Span = Span::seconds(30);

/// Attempts recorded until they are taken; further ones are only counted.
pub const REMEMBERED_MAX: usize = 1000;

/// A copy's future answer.
pub type Answering = Pin<Box<dyn Future<Output = Option<Offer>>>>;

/// Access to copies of the databases.
pub trait Copies {
    /// Names of the copies of that database, in the order to ask them.
    fn names(&self, wanted: &Wanted) -> Vec<String>;

    /// Asks copy number `copy` of [`Self::names`] for a page after replaying everything before
    /// [`Wanted::replayed`]. `None`, or no answer for [`PATIENCE`], when it has no such page.
    fn ask(&self, copy: usize, wanted: &Wanted) -> Answering;
}

/// A request to a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The database's path here.
    pub database: PathBuf,
    /// Its signature, shared by its copies.
    pub signature: Signature,
    pub page: PageNumber,
    /// The page must include all log before this position.
    pub replayed: LogPosition,
}

/// A copy's answer.
#[derive(Debug)]
pub struct Offer {
    /// The signature of its database.
    pub signature: Signature,
    /// Its pages include all log before this position.
    pub replayed: LogPosition,
    /// The page as stored, including its checksum, in memory for reading a page.
    pub page: Segment,
}

/// A bad page and the outcome of asking for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub database: PathBuf,
    pub page: PageNumber,
    /// Offset of the page in the file.
    pub offset: u64,
    pub fault: PageFault,
    /// Copies that could not help, in the order asked.
    pub refused: Vec<(String, Refusal)>,
    pub outcome: Outcome,
}

/// Outcome of a bad page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was repaired on disk from the copy of this name.
    Patched(String),
    /// No copy had it. The page is bad.
    NoCopy,
    /// The copy of this name had it, but it could not be written back. The page is bad.
    NotWritten(String, IoError),
}

impl Patch {
    /// What an operation would have got without copies.
    pub fn error(&self) -> EngineError {
        EngineError::Page {
            database: self.database.clone(),
            page: self.page,
            offset: self.offset,
            fault: self.fault,
        }
    }

    /// Whether the page was repaired.
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Patched(_))
    }
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
                write!(f, "the page of {copy} could not be written: {error} (ESE {code})")?;
            }
        }
        self.refused.iter().try_for_each(|(copy, refusal)| write!(f, "; {copy}: {refusal}"))
    }
}
