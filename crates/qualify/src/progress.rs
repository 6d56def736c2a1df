//! What a run tells while it goes on, and how it is told to stop.
//!
//! A run knows no terminal and no file. It calls a [`Listener`] with news; the program draws bars or prints lines, takes
//! the kernel's counters when the collection begins and ends, and writes the test log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brunt_report::result::Trial;
use brunt_units::{ByteSize, Span, Time};

use crate::phases::places::Kept;
use crate::sampling::Recorded;

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Something for the test log.
    Note(String),
    /// What the test works on is decided.
    Databases {
        /// Databases of earlier runs, which are opened.
        open: Vec<Kept>,
        /// Sizes of those that are created.
        create: Vec<ByteSize>,
    },
    /// Databases are being created.
    Creating {
        /// Bytes written.
        done: ByteSize,
        /// Bytes to write.
        total: ByteSize,
    },
    /// They are there.
    Created {
        /// Bytes written.
        total: ByteSize,
        /// How long it took.
        took: Span,
    },
    /// Databases of an earlier run are being looked through.
    Surveying {
        /// Records found.
        records: u64,
    },
    /// Databases are ready, and sessions wait for the time at which they are to begin.
    Waiting {
        /// How long they will wait.
        left: Span,
    },
    /// Sessions begin.
    Dispatching,
    /// Sessions run, nothing counts yet.
    WarmingUp {
        /// Bytes in the cache.
        filled: ByteSize,
        /// Bytes that must be there.
        wanted: ByteSize,
    },
    /// The cache is full, and something else has to come first.
    Settling {
        /// How far it is, 0 to 1.
        share: f64,
        /// What it is.
        what: String,
        /// How long it will still take at most, where it may end sooner.
        at_most: Option<Span>,
    },
    /// Prerequisites are met.
    WarmedUp {
        /// Bytes in the cache.
        filled: ByteSize,
        /// The largest cache.
        cache: ByteSize,
        /// How long it took.
        took: Span,
    },
    /// Sessions are being looked for.
    Tuning {
        /// The number of the trial, from 1.
        trial: usize,
        /// How many are being tried.
        sessions: u32,
    },
    /// A trial of the search has ended.
    Tried(Trial),
    /// From now on everything counts.
    CollectionStarted,
    /// Databases are being read for a backup.
    BackingUp {
        /// Bytes read.
        done: ByteSize,
        /// Bytes to read.
        total: ByteSize,
    },
    /// They were.
    BackedUp {
        /// Bytes read.
        total: ByteSize,
        /// How long it took.
        took: Span,
    },
    /// Sessions write logs that will be replayed.
    GeneratingLogs {
        /// Log files of the instance that has fewest.
        done: u32,
        /// Log files that each is to have.
        wanted: u32,
    },
    /// Databases are being recovered.
    Recovering {
        /// Log files that recovery has come to, of all instances.
        done: u32,
        /// Log files to replay, as far as it is known yet.
        logs: u32,
    },
    /// Sessions run and count.
    Testing(Live),
    /// Nothing counts any more.
    CollectionEnded,
    /// Sessions have ended; dirty pages go out.
    Closing {
        /// Bytes that have gone.
        done: ByteSize,
        /// Bytes that were dirty when it began.
        total: ByteSize,
    },
    /// Files are being read and judged.
    VerifyingFiles {
        /// Bytes read.
        done: ByteSize,
        /// Bytes to read.
        total: ByteSize,
    },
    /// Records are being compared.
    VerifyingRecords {
        /// Records looked at.
        done: u64,
        /// Records to look at.
        total: u64,
    },
    /// Everything was verified.
    Verified {
        /// How long it took, files and records.
        took: Span,
    },
}

/// The state of a test while it runs; rates and latencies are those of the running sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Since the collection began.
    pub elapsed: Span,
    /// How long it will be.
    pub duration: Span,
    /// Database reads and writes per second.
    pub io_per_s: f64,
    /// Mean of database reads.
    pub read: Option<Span>,
    /// 99th percentile of database reads.
    pub read_p99: Option<Span>,
    /// Mean of database writes.
    pub write: Option<Span>,
    /// Mean of log writes.
    pub log_write: Option<Span>,
    /// Page-fault stalls since the collection began.
    pub stalls: u64,
    /// Whether a limit has been exceeded so far.
    pub over: bool,
}

/// Who is told.
pub trait Listener {
    /// Something happened at `at`. Must return soon: the engine waits.
    fn tell(&self, at: Time, news: &News);

    /// How often it wants to hear of a test under way. To look at all meters for it takes time.
    fn wants_news_every(&self) -> Span {
        crate::phases::run::TELL
    }

    /// A sample was closed, and these rows belong into the run's tables. Must return soon as well. Whoever keeps no tables
    /// lets them go.
    fn recorded(&self, _: &Recorded) {}
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Listener for Silence {
    fn tell(&self, _: Time, _: &News) {}
}

/// Asks a run to end early, with a report. Any thread may ask, and signal handlers may set the flag it is made of;
/// cloning gives another handle.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks. Asking twice changes nothing.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether anybody has asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl From<Arc<AtomicBool>> for Stop {
    /// Whoever sets `flag` asks.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}
