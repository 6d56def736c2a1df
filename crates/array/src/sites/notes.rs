//! What two sites report of their replicas.

use std::fmt;

use brunt_units::{ByteSize, Span, Time};

/// An event log entry about replicas.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteNote {
    /// The link is lost (false) or works again.
    Link(bool),
    /// A path of the link is lost (false) or works again.
    LinkPath(usize, bool),
    /// The partner is lost (false) or works again.
    Partner(bool),
    /// Something about one replication, named as in the design.
    Replica(String, ReplicaNote),
}

/// What is reported about a replication.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplicaNote {
    Started {
        /// The number of the replica.
        number: u64,
        /// What has to be sent.
        bytes: ByteSize,
        /// Whether it goes on media.
        on_media: bool,
    },
    /// It does not start: the one before goes on.
    Skipped,
    /// It does not start: a LUN is gone.
    LunGone,
    /// All of the first replica is on media, which leave.
    Shipped,
    /// The media have arrived.
    Arrived,
    /// It goes on where it was interrupted.
    Resumed(ByteSize),
    /// The partner has no room.
    NoRoom,
    /// It is given up: the local reserve is full.
    LocalReserveFull,
    /// The source could not be read, or the partner not be written.
    Failed,
    /// A replica is complete.
    Complete {
        number: u64,
        /// The instant whose content it has.
        of: Time,
        /// How long it took.
        took: Span,
    },
}

impl fmt::Display for SiteNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = |is_up: &bool| if *is_up { "is back" } else { "lost" };
        match self {
            Self::Link(is_up) => write!(f, "link {}", is(is_up)),
            Self::LinkPath(path, is_up) => write!(f, "path {path} of the link {}", is(is_up)),
            Self::Partner(is_up) => write!(f, "partner {}", is(is_up)),
            Self::Replica(name, what) => write!(f, "{name}: {what}"),
        }
    }
}

impl fmt::Display for ReplicaNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { number, bytes, on_media } => {
                let how = if *on_media { " on media" } else { "" };
                write!(f, "replica {number} started: {bytes} to send{how}")
            }
            Self::Skipped => write!(f, "start skipped: the replica before is not complete"),
            Self::LunGone => write!(f, "start skipped: a LUN is gone"),
            Self::Shipped => write!(f, "the first replica is on its way on media"),
            Self::Arrived => write!(f, "media arrived at the partner"),
            Self::Resumed(left) => write!(f, "replica resumed: {left} left to send"),
            Self::NoRoom => write!(f, "paused: no room at the partner"),
            Self::LocalReserveFull => {
                write!(f, "replica given up: the local reserve is full")
            }
            Self::Failed => write!(f, "replica given up: data could not be read or written"),
            Self::Complete { number, of, took } => {
                write!(f, "replica {number} of {} complete, after {took}", Span(of.0))
            }
        }
    }
}
