//! What happens to the volumes of a pool, and what it reports of it.

use std::fmt;

use brunt_units::{Span, Time};

/// Several LUNs, by number, of which a snapshot is taken at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotPlan {
    pub luns: Vec<u32>,
    /// The name; with `every`, a number follows it.
    pub name: String,
    /// How often it is repeated.
    pub every: Option<Span>,
    /// How many are kept, the newest; without it, all.
    pub keep: Option<u32>,
}

/// What a clone is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloneOf {
    /// LUNs as they are.
    Luns(Vec<u32>),
    /// A snapshot, or the newest of a schedule, by name.
    Snapshot(String),
    /// The newest complete replica, at the other site.
    Replica(String),
}

/// An event of the volumes of a pool that the scenario schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeIncident {
    /// A snapshot of several LUNs at one instant, once or by a schedule.
    Take(SnapshotPlan),
    /// LUNs get the content of a snapshot back.
    Restore(String),
    /// A snapshot is removed, or all of a schedule.
    Remove(String),
    /// LUNs of their own that begin with the content of others.
    Clone {
        of: CloneOf,
        /// The name; that of each LUN follows it if there are several.
        name: String,
    },
    /// A LUN that was set offline is online again.
    Online(u32),
}

/// What a pool reports of its volumes.
#[derive(Clone, Debug, PartialEq)]
pub enum VolumeNote {
    /// A snapshot of several LUNs was taken.
    Taken {
        name: String,
        /// The number of LUNs.
        luns: usize,
        /// Writes under way, by page, which may be in it.
        under_way: usize,
    },
    /// A snapshot was removed: its schedule keeps no more.
    Expired(String),
    /// A snapshot was deleted for room.
    Deleted {
        name: String,
        /// The LUN whose reserve is full.
        lun: String,
    },
    /// A snapshot cannot be taken: a LUN is gone.
    NotTaken(String),
    /// A LUN is offline: its snapshot reserve is full.
    Offline(String),
    /// It is online again.
    Online(String),
    /// LUNs have the content of a snapshot.
    Restored {
        /// The snapshot.
        from: String,
        /// The number of LUNs.
        luns: usize,
        /// The snapshot of what they had before.
        before: String,
    },
    /// A snapshot is no longer there.
    Gone(String),
    /// A clone was made.
    Cloned {
        of: String,
        at: Time,
        /// The clone.
        name: String,
    },
    /// There is nothing to clone.
    NotCloned(String),
}

impl fmt::Display for VolumeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { name, luns, under_way } => {
                write!(f, "snapshot \"{name}\" of {luns} LUNs taken")?;
                match under_way {
                    0 => Ok(()),
                    1 => write!(f, ", 1 write under way"),
                    many => write!(f, ", {many} writes under way"),
                }
            }
            Self::Expired(name) => write!(f, "snapshot \"{name}\" removed: newer ones are kept"),
            Self::Deleted { name, lun } => {
                write!(f, "snapshot \"{name}\" deleted: the snapshot reserve of \"{lun}\" is full")
            }
            Self::NotTaken(name) => write!(f, "snapshot \"{name}\" not taken: a LUN is gone"),
            Self::Offline(lun) => write!(f, "\"{lun}\" offline: its snapshot reserve is full"),
            Self::Online(lun) => write!(f, "\"{lun}\" online"),
            Self::Restored { from, luns, before } => {
                let luns = match luns {
                    1 => "1 LUN".to_owned(),
                    many => format!("{many} LUNs"),
                };
                write!(
                    f,
                    "{luns} restored from \"{from}\"; snapshot \"{before}\" has what was there"
                )
            }
            Self::Gone(name) => write!(f, "snapshot \"{name}\" is no longer there"),
            Self::Cloned { of, at, name } => {
                write!(f, "\"{name}\" is a clone of \"{of}\" of {}", Span(at.0))
            }
            Self::NotCloned(name) => write!(f, "nothing to clone \"{name}\" from"),
        }
    }
}
