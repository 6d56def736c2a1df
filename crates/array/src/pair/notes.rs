//! Incidents of a pair, and what it reports in its event log.

use std::fmt;

use brunt_units::{ByteSize, Span};

/// An event of a pair that the scenario schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairIncident {
    /// Nothing gets through the link; what is under way is lost.
    LinkLost,
    /// The link works again.
    LinkReturns,
    /// One path of the link is lost.
    LinkPathLost(usize),
    /// It works again.
    LinkPathReturns(usize),
    /// The system at the other site stops; it keeps what it has done.
    DestinationLost,
    /// It works again.
    DestinationReturns,
    /// A group stops replicating; its writes go into its log.
    GroupSuspended(usize),
    /// A group replicates again: its log is replayed, or everything is copied.
    GroupResumed {
        /// The group.
        group: usize,
        /// Whether everything is copied instead.
        full_copy: bool,
    },
}

/// What a pair reports.
#[derive(Clone, Debug, PartialEq)]
pub enum PairNote {
    /// The link is lost (false) or works again.
    Link(bool),
    /// A path of the link is lost (false) or works again.
    LinkPath(usize, bool),
    /// The destination is lost (false) or works again.
    Destination(bool),
    /// Something about a group, named as in the design.
    Group(String, GroupNote),
}

/// What a pair reports about a group.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupNote {
    /// An operator has suspended it.
    Suspended,
    /// An operator has resumed it.
    Resumed,
    /// Failsafe: its hosts have lost their LUNs.
    Locked,
    /// Its hosts have their LUNs again.
    Unlocked,
    /// Its writes go into its log.
    Logging,
    /// Its log is fuller than the alarm.
    LogAlarm {
        /// What the log holds.
        used: ByteSize,
        /// What it may grow to.
        limit: ByteSize,
        /// When it is full at the pace so far.
        full_in: Option<Span>,
    },
    /// Its log was full, and a full copy is due.
    LogOverflowed,
    /// Its log is replayed.
    Merging(ByteSize),
    /// A full copy begins, of at most so much.
    Copying(ByteSize),
    /// The destination refused a write: the group is suspended.
    Refused,
    /// The source could not read a block: the group is suspended.
    Unreadable,
    /// Both sides are in step again, after so long without.
    Normal(Span),
}

impl fmt::Display for PairNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = |is_up: &bool| if *is_up { "is back" } else { "lost" };
        match self {
            Self::Link(is_up) => write!(f, "link {}", is(is_up)),
            Self::LinkPath(path, is_up) => write!(f, "path {path} of the link {}", is(is_up)),
            Self::Destination(is_up) => write!(f, "destination {}", is(is_up)),
            Self::Group(name, what) => write!(f, "{name}: {what}"),
        }
    }
}

impl fmt::Display for GroupNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspended => write!(f, "suspended"),
            Self::Resumed => write!(f, "resumed"),
            Self::Locked => write!(f, "failsafe: hosts lose its LUNs"),
            Self::Unlocked => write!(f, "hosts have its LUNs again"),
            Self::Logging => write!(f, "writes go into the write history log"),
            Self::LogAlarm {
                used,
                limit,
                full_in,
            } => {
                write!(f, "write history log has {used} of {limit}")?;
                match full_in {
                    Some(span) => write!(f, ", full in {span}"),
                    None => Ok(()),
                }
            }
            Self::LogOverflowed => {
                write!(f, "write history log overflowed: a full copy is due")
            }
            Self::Merging(bytes) => write!(f, "merging {bytes} of write history"),
            Self::Copying(bytes) => {
                write!(
                    f,
                    "full copy of {bytes}: not crash-consistent until it ends"
                )
            }
            Self::Refused => write!(f, "suspended: the destination refuses its writes"),
            Self::Unreadable => write!(f, "suspended: the source cannot read a block"),
            Self::Normal(after) => write!(f, "both sides are in step, after {after}"),
        }
    }
}
