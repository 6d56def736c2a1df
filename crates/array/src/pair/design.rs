//! The design of a pair, and why one cannot be built.

use brunt_units::{ByteSize, Time};

use super::link::{PairLinkDesign, PairLinkError};
use crate::system::{SystemDesign, SystemError};

/// When a write of a group is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// When both systems have it.
    #[default]
    Synchronous,
    /// When the source and its write history log have it; the log is replayed all the time.
    Asynchronous,
}

/// LUNs that keep one write order, and stop, log and resume together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairGroupDesign {
    /// Its name in reports.
    pub name: String,
    /// Each LUN of the source with its LUN of the destination.
    pub luns: Vec<(u32, u32)>,
    /// When writes are acknowledged.
    pub mode: Mode,
    /// Whether the hosts of the group lose their LUNs while the destination cannot be reached;
    /// otherwise writes go on into the log.
    pub failsafe: bool,
}

/// The write history logs, one for each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryDesign {
    /// What each log has from the beginning.
    pub initial: ByteSize,
    /// The most that each log grows to.
    pub limit: ByteSize,
    /// The room of all logs together; zero for that of `lun`, or no limit without one.
    pub room: ByteSize,
    /// The LUN of the source that holds the logs. Without it, logging and replaying cost no
    /// requests.
    pub lun: Option<u32>,
    /// The same at the destination, for groups that it serves.
    pub replica_lun: Option<u32>,
    /// Share of its limit at which a log raises its alarm, in percent.
    pub alarm: u32,
}

impl Default for HistoryDesign {
    /// 139 MB at first and at most 2 TB. Source: HP, Continuous Access EVA. The alarm at 80 % is
    /// assumed.
    fn default() -> Self {
        Self {
            initial: ByteSize::bytes(139_000_000),
            limit: ByteSize::bytes(2_000_000_000_000),
            room: ByteSize::bytes(0),
            lun: None,
            replica_lun: None,
            alarm: 80,
        }
    }
}

/// Which groups resume when the destination can be reached again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResumePolicy {
    /// All of them.
    #[default]
    AllAtOnce,
    /// One after the other, in their order, each when the one before is normal.
    Staggered,
    /// All of them, but not before this time.
    NotBefore(Time),
}

/// A fault that a check of replication has to find: a negative control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The destination reports a write as done that it has not done.
    DropOne,
    /// Two writes that wait to be sent change places.
    SwapTwo,
    /// The younger half of what a log holds is missing when it is replayed.
    LoseTail,
    /// After a failover, the site that returns serves again, without what was written meanwhile.
    PromoteStale,
}

/// Two systems, one of which replicates LUNs to the other.
#[derive(Clone)]
pub struct PairDesign {
    /// The system that hosts use.
    pub source: Box<SystemDesign>,
    /// The system at the other site.
    pub destination: Box<SystemDesign>,
    /// The link between them.
    pub link: PairLinkDesign,
    /// What is replicated. Other LUNs of the source are not.
    pub groups: Vec<PairGroupDesign>,
    /// The write history logs.
    pub history: HistoryDesign,
    /// Which groups resume after an outage.
    pub resume: ResumePolicy,
    /// Writes or blocks that each group has under way while it replays its log or is copied.
    pub outstanding: u32,
    /// Faults to inject, in this order.
    pub controls: Vec<Control>,
}

impl PairDesign {
    /// A pair with the defaults: no groups, eight writes under way (assumed).
    pub fn new(source: SystemDesign, destination: SystemDesign) -> Self {
        Self {
            source: Box::new(source),
            destination: Box::new(destination),
            link: PairLinkDesign::default(),
            groups: Vec::new(),
            history: HistoryDesign::default(),
            resume: ResumePolicy::default(),
            outstanding: 8,
            controls: Vec::new(),
        }
    }
}

/// Why a pair cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// The source or the destination cannot be built.
    #[error("{0}: {1}")]
    Side(&'static str, Box<SystemError>),
    /// One side is a pair itself.
    #[error("a pair is made of arrays or storage pools, not of another pair")]
    Nested,
    /// The link cannot be built.
    #[error("link: {0}")]
    Link(#[from] PairLinkError),
    /// A group has no LUNs.
    #[error("replication group \"{0}\" has no LUNs")]
    Empty(String),
    /// A side lacks a LUN.
    #[error("replication group \"{group}\": the {side} has no LUN {lun}")]
    NoLun {
        group: String,
        /// Source or destination.
        side: &'static str,
        /// The number of the LUN.
        lun: u32,
    },
    /// A LUN is in two groups, or twice in one.
    #[error("replication group \"{group}\": LUN \"{lun}\" of the {side} is replicated already")]
    Twice {
        /// The second group.
        group: String,
        /// Source or destination.
        side: &'static str,
        lun: String,
    },
    /// A LUN of the destination is smaller than its source.
    #[error(
        "replication group \"{group}\": LUN \"{lun}\" has {size}, and its destination only {room}"
    )]
    TooSmall {
        group: String,
        /// The LUN of the source.
        lun: String,
        size: ByteSize,
        /// The size of the LUN at the destination.
        room: ByteSize,
    },
    /// Failsafe with asynchronous writes.
    #[error("replication group \"{0}\": failsafe needs synchronous writes")]
    Failsafe(String),
    /// The logs do not fit.
    #[error("write history logs: {0}")]
    History(String),
    /// Nothing would ever be sent.
    #[error("at least one write is under way while a log is replayed")]
    NothingOutstanding,
}
