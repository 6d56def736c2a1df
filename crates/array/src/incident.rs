//! Scheduled events (failures, repairs, growth) and the event log of an array.

use std::fmt;

use brunt_units::{ByteSize, Span, Time, grouped};

use crate::paged::{VolumeIncident, VolumeNote};
use crate::pair::{PairIncident, PairNote};
use crate::sites::SiteNote;

/// An event that the scenario schedules.
#[derive(Clone, Debug, PartialEq)]
pub enum Incident {
    /// The drive stops answering, and its content is lost.
    DriveFails(u16),
    /// Every operation of the drive takes this many times as long.
    DriveSlows(u16, f64),
    /// A failed drive is replaced by an empty one; a slow drive returns to normal speed.
    DriveReturns(u16),
    /// A drive that is in no group joins a pool, which gains room and moves pieces to it.
    PoolGrows(usize, u16),
    /// A LUN grows to this size; zero means all free space after it.
    LunGrows(u32, ByteSize),
    /// Changes the rebuild priority of a group.
    RepairPriority(usize, Priority),
    /// A controller fails and loses its memory.
    ControllerFails(usize),
    /// A controller works again.
    ControllerReturns(usize),
    /// The cache battery is empty.
    BatteryLost,
    /// The cache battery is charged again.
    BatteryReturns,
    /// A port stops working; ports are numbered across all controllers.
    PathDown(usize),
    /// A port works again.
    PathUp(usize),
    /// A storage pool gets a LUN with the current content of this one, under a new name. It is
    /// writable: a clone.
    Snapshot(u32, String),
    /// A LUN of a storage pool is removed. Space that only it used becomes free.
    LunRemoved(u32),
    /// An incident of the volumes of a storage pool: snapshots, clones, restoring.
    Volumes(VolumeIncident),
    /// An array joins the storage pool.
    MemberJoins(usize),
    /// An incident of a pair: of its link, its destination or its groups.
    Pair(PairIncident),
}

/// An incident with its time and target.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// When it happens.
    pub at: Time,
    /// The array within the system; 0 if there is only one. Incidents of a storage pool's LUNs and
    /// members concern the whole pool and ignore it.
    pub array: usize,
    /// What happens.
    pub incident: Incident,
}

impl Scheduled {
    /// An incident of the first array.
    pub fn new(at: Time, incident: Incident) -> Self {
        Self { at, array: 0, incident }
    }
}

/// An incident that names a part that does not exist. Nothing has been scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// The kind and number of the missing part.
    #[error("there is no {0} {1}")]
    Part(&'static str, usize),
    /// The incident requires a storage pool.
    #[error("only a storage pool has snapshots, members that join and LUNs that can be removed")]
    NoPool,
    /// The incident requires a pair.
    #[error("only a replicated array has a link, a destination and replication groups")]
    NoPair,
    /// A LUN with replicas is to grow or to be removed.
    #[error("a LUN with replicas cannot grow or be removed")]
    HasReplicas,
    /// A failsafe group is to be suspended.
    #[error("a failsafe group cannot be suspended: its hosts would lose their LUNs")]
    Failsafe,
    /// A replicated LUN is to grow or to be removed, or one is to get a snapshot.
    #[error(
        "a replicated array has no snapshots, and its replicated LUNs cannot grow or be removed"
    )]
    Replicated,
}

/// The share of time a group gives to rebuilding.
///
/// After each unit the rebuild pauses for a multiple of the time that the unit took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Pauses four times as long.
    Low,
    /// Pauses as long.
    Medium,
    /// Pauses a quarter as long.
    High,
    /// No pause.
    Highest,
}

impl Priority {
    /// Names in scenarios, lowest first.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("highest", Self::Highest),
    ];

    /// The pause after a unit that took `busy`.
    pub(crate) fn pause(self, busy: Span) -> Span {
        match self {
            Self::Low => busy * 4,
            Self::Medium => busy,
            Self::High => Span(busy.0.div_euclid(4)),
            Self::Highest => Span::ZERO,
        }
    }
}

/// An entry of an array's event log.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub what: NoteKind,
}

/// What an array reports in its event log. Groups and LUNs are named as in the design, drives by
/// number.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoteKind {
    DriveFailed(u16),
    /// A drive became slow.
    DriveSlowed(u16, f64),
    /// A drive was replaced, or has recovered.
    DriveReturned(u16),
    /// A lost drive's part of a group is being rebuilt.
    RebuildStarted {
        group: String,
        /// The failed drive.
        lost: u16,
        /// The drive it is rebuilt onto; `None` when that is spread over all.
        onto: Option<u16>,
    },
    RebuildEnded {
        group: String,
        /// The failed drive.
        lost: u16,
        /// Duration.
        took: Span,
    },
    /// A spare's content is being copied to the replaced drive.
    CopybackStarted {
        group: String,
        /// The replaced drive.
        onto: u16,
    },
    /// A copyback has ended, and the spare is free again.
    CopybackEnded {
        group: String,
        /// The replaced drive.
        onto: u16,
        /// Duration.
        took: Span,
    },
    /// A drive has joined a pool.
    PoolGrew {
        /// The pool.
        group: String,
        drive: u16,
        /// The space that LUNs may grow into.
        room: ByteSize,
    },
    /// A drive was to join a pool but cannot.
    PoolStays {
        /// The pool.
        group: String,
        drive: u16,
        /// The reason.
        why: &'static str,
    },
    /// A LUN has grown.
    LunGrew {
        lun: String,
        /// Its new size.
        size: ByteSize,
    },
    /// A LUN was to grow, but there is no room, or the size is not larger.
    LunStays {
        lun: String,
        /// Its unchanged size.
        size: ByteSize,
        /// The largest size there is room for; `None` for no limit.
        most: Option<ByteSize>,
    },
    /// A LUN was added with another LUN's content.
    SnapshotTaken {
        /// The source LUN.
        of: String,
        /// The new LUN.
        name: String,
    },
    LunRemoved(String),
    /// An event log entry of the volumes of a storage pool.
    Volume(VolumeNote),
    /// A write to a thin LUN found no free page.
    ThinFull,
    /// A member has joined the storage pool.
    MemberJoined(usize),
    /// Members exchange pages.
    PagesExchanged {
        /// The slow member.
        from: usize,
        /// The fast member.
        to: usize,
        /// Number of pages, each way.
        pages: u32,
    },
    /// An event log entry of a pair.
    Pair(PairNote),
    /// An event log entry about replicas of volumes.
    Site(SiteNote),
    /// An event log entry of the pool at the other site.
    AtPartner(Box<NoteKind>),
    /// An event log entry of a member.
    Member(usize, Box<NoteKind>),
    /// There is no drive to rebuild a lost drive onto.
    NoSpare {
        group: String,
        /// The failed drive.
        lost: u16,
    },
    /// A controller failed (false) or works again.
    Controller(usize, bool),
    /// The battery is empty (false) or charged again.
    Battery(bool),
    /// A path is down (false) or up again.
    Path(usize, bool),
    /// Write-back is disabled: writes now complete when drives have them.
    WriteThrough {
        /// The reason is the battery, not a controller.
        battery_lost: bool,
    },
    /// Write-back is enabled: writes now complete when the cache has them.
    WriteBack,
    /// Data loss: writes that were only in the cache.
    CacheLost {
        /// Pages not fully on the drives.
        pages: u64,
    },
    /// Data loss: a stripe lost more members than its protection survives.
    DataLost {
        group: String,
        /// Drives of the group that are lost at that time.
        failures: u32,
        /// Whether a rebuild was running.
        rebuilding: bool,
        /// Share of the group's stripes that are lost, 0 to 1.
        share: f64,
    },
}

impl NoteKind {
    /// Whether this is a data loss.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Member(_, what) | Self::AtPartner(what) => what.is_loss(),
            other => matches!(other, Self::DataLost { .. } | Self::CacheLost { .. }),
        }
    }
}

/// "1 page", "2 pages".
fn pages_words(count: u64) -> String {
    match count {
        1 => "1 page".to_owned(),
        _ => format!("{} pages", grouped(count)),
    }
}

/// First, second, third, ...
fn ordinal(number: u32) -> String {
    let words = ["no", "first", "second", "third", "fourth", "fifth", "sixth"];
    let word = words.get(number as usize);
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    word.map_or_else(|| format!("{number}{suffix}"), |word| (*word).to_owned())
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DriveFailed(drive) => write!(f, "drive {drive} failed"),
            Self::DriveSlowed(drive, times) => {
                write!(f, "drive {drive} takes {times} times as long")
            }
            Self::DriveReturned(drive) => write!(f, "drive {drive} is back"),
            Self::RebuildStarted { group, lost, onto } => match onto {
                Some(onto) => write!(f, "{group}: rebuilding drive {lost} onto drive {onto}"),
                None => write!(f, "{group}: rebuilding drive {lost} onto all others"),
            },
            Self::RebuildEnded { group, lost, took } => {
                write!(f, "{group}: drive {lost} is rebuilt, after {took}")
            }
            Self::CopybackStarted { group, onto } => {
                write!(f, "{group}: copying to drive {onto}")
            }
            Self::CopybackEnded { group, onto, took } => {
                write!(f, "{group}: copied to drive {onto}, after {took}")
            }
            Self::PoolGrew { group, drive, room } => {
                write!(f, "{group}: drive {drive} has joined")?;
                if room.get() > 0 {
                    write!(f, ", {room} more for LUNs to grow into")?;
                }
                Ok(())
            }
            Self::PoolStays { group, drive, why } => {
                write!(f, "{group}: drive {drive} cannot join: {why}")
            }
            Self::LunGrew { lun, size } => write!(f, "\"{lun}\" has grown to {size}"),
            Self::LunStays { lun, size, most } => match most {
                Some(most) if most > size => write!(
                    f,
                    "\"{lun}\" does not grow: it has {size}, and there is room for {most}"
                ),
                Some(_) => write!(
                    f,
                    "\"{lun}\" does not grow: it has {size}, and nothing is free after it"
                ),
                None => write!(f, "\"{lun}\" does not grow: it has {size}"),
            },
            Self::SnapshotTaken { of, name } => write!(f, "\"{name}\" has what \"{of}\" has now"),
            Self::Volume(what) => what.fmt(f),
            Self::LunRemoved(name) => write!(f, "\"{name}\" removed"),
            Self::ThinFull => write!(f, "pool full: writes that need a new page fail"),
            Self::MemberJoined(member) => write!(f, "member {member} has joined"),
            Self::PagesExchanged { from, to, pages } => write!(
                f,
                "member {from} is slower than member {to}: {} change places",
                pages_words(u64::from(*pages))
            ),
            Self::Pair(what) => what.fmt(f),
            Self::Site(what) => what.fmt(f),
            Self::AtPartner(what) => write!(f, "partner: {what}"),
            Self::Member(member, what) => write!(f, "member {member}: {what}"),
            Self::NoSpare { group, lost } => {
                write!(f, "{group}: nothing to rebuild drive {lost} onto; it stays degraded")
            }
            Self::Controller(number, is_up) => {
                write!(f, "controller {number} {}", if *is_up { "is back" } else { "failed" })
            }
            Self::Battery(is_there) => {
                write!(f, "cache battery {}", if *is_there { "is back" } else { "lost" })
            }
            Self::Path(port, is_up) => {
                write!(f, "path {port} {}", if *is_up { "is up" } else { "is down" })
            }
            Self::WriteThrough { battery_lost } => {
                let why = if *battery_lost { "no battery" } else { "no second copy" };
                write!(f, "cache writes through: {why}")
            }
            Self::WriteBack => write!(f, "cache writes back again"),
            Self::CacheLost { pages } => {
                write!(
                    f,
                    "{} of the write cache lost: acknowledged writes are gone",
                    pages_words(*pages)
                )
            }
            Self::DataLost { group, failures, rebuilding, share } => {
                let during = if *rebuilding { " during rebuild" } else { "" };
                write!(f, "{group} lost: {} failure{during}", ordinal(*failures))?;
                if *share < 1.0 {
                    write!(f, " ({:.3} % of its stripes)", share * 100.0)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_people_do() {
        let lost = |pages| NoteKind::CacheLost { pages }.to_string();
        assert!(lost(1).starts_with("1 page of the write cache lost"));
        assert!(lost(2188).starts_with("2,188 pages of the write cache lost"));
        let words = [1, 6, 7, 12, 21, 112, 103].map(ordinal);
        let expected = ["first", "sixth", "7th", "12th", "21st", "112th", "103rd"];
        assert_eq!(words, expected);
    }
}
