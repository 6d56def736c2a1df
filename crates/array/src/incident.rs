//! Scheduled events (failures, repairs, growth) and the event log of an array.

use std::fmt;

use brunt_units::{ByteSize, Span, Time, grouped};

/// An event that the scenario schedules.
#[derive(Clone, Debug, PartialEq)]
pub enum Incident {
    /// The drive answers nothing any more, and what it held is gone.
    DriveFails(u16),
    /// Everything takes the drive this many times as long.
    DriveSlows(u16, f64),
    /// A failed drive is replaced by an empty one; a slow one is as fast as it was.
    DriveReturns(u16),
    /// A drive that is in no group joins a pool, which has more room then and moves pieces to it.
    PoolGrows(usize, u16),
    /// A LUN gets a larger size, zero for all that is free after it.
    LunGrows(u32, ByteSize),
    /// Rebuilds of a group get another priority.
    RepairPriority(usize, Priority),
    /// A controller and its memory are gone.
    ControllerFails(usize),
    /// A controller works again.
    ControllerReturns(usize),
    /// The battery of the cache is empty.
    BatteryLost,
    /// The battery of the cache is full again.
    BatteryReturns,
    /// A port carries nothing any more; ports are numbered over all controllers.
    PathDown(usize),
    /// A port works again.
    PathUp(usize),
    /// A storage pool gets a LUN with the present content of this one, under a new name. It can be written: a clone.
    Snapshot(u32, String),
    /// A LUN of a storage pool is removed. What only it has becomes free.
    LunRemoved(u32),
    /// An array joins the storage pool.
    MemberJoins(usize),
}

/// An incident with its time and address.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// When it happens.
    pub at: Time,
    /// The array, among those of a system; 0 for the only one. Incidents of LUNs in a storage pool and of its members concern
    /// the whole pool and ignore it.
    pub array: usize,
    /// What happens.
    pub incident: Incident,
}

impl Scheduled {
    /// An incident of the first or only array.
    pub fn new(at: Time, incident: Incident) -> Self {
        Self {
            at,
            array: 0,
            incident,
        }
    }
}

/// An incident that names something that is not there. Nothing has been scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// A part by its kind and number.
    #[error("there is no {0} {1}")]
    Part(&'static str, usize),
    /// Only a storage pool can do that.
    #[error("only a storage pool has snapshots, members that join and LUNs that can be removed")]
    NoPool,
}

/// How much of its time a group gives to rebuilding.
///
/// After each unit the rebuild pauses, for so many times as long as the unit took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Four times.
    Low,
    /// Once.
    Medium,
    /// A quarter.
    High,
    /// No pause.
    Highest,
}

impl Priority {
    /// Words of scenarios, lowest first.
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

/// Something an array noted.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// When.
    pub at: Time,
    /// What.
    pub what: NoteKind,
}

/// What an array notes. Groups and LUNs are named as in the design, drives by number.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoteKind {
    /// A drive failed.
    DriveFailed(u16),
    /// A drive became slow.
    DriveSlowed(u16, f64),
    /// A drive was replaced, or is well again.
    DriveReturned(u16),
    /// A lost drive's part of a group is being rebuilt.
    RebuildStarted {
        /// The group.
        group: String,
        /// The drive that was lost.
        lost: u16,
        /// The drive that takes its place; `None` when that is spread over all.
        onto: Option<u16>,
    },
    /// It has been rebuilt.
    RebuildEnded {
        /// The group.
        group: String,
        /// The drive that was lost.
        lost: u16,
        /// How long it took.
        took: Span,
    },
    /// The spare's part is being copied to the replaced drive.
    CopybackStarted {
        /// The group.
        group: String,
        /// The replaced drive.
        onto: u16,
    },
    /// It has been copied, and the spare is free again.
    CopybackEnded {
        /// The group.
        group: String,
        /// The replaced drive.
        onto: u16,
        /// How long it took.
        took: Span,
    },
    /// A drive has joined a pool.
    PoolGrew {
        /// The pool.
        group: String,
        /// The drive.
        drive: u16,
        /// What LUNs may grow by.
        room: ByteSize,
    },
    /// A drive was to join a pool and cannot.
    PoolStays {
        /// The pool.
        group: String,
        /// The drive.
        drive: u16,
        /// Why.
        why: &'static str,
    },
    /// A LUN has a larger size.
    LunGrew {
        /// The LUN.
        lun: String,
        /// Its size now.
        size: ByteSize,
    },
    /// A LUN was to have a larger size, and there is no room for it, or it is no larger.
    LunStays {
        /// The LUN.
        lun: String,
        /// Its size.
        size: ByteSize,
        /// The size that there is room for; `None` for any.
        most: Option<ByteSize>,
    },
    /// A LUN was added that has what another one had.
    SnapshotTaken {
        /// The LUN it was taken of.
        of: String,
        /// The new one.
        name: String,
    },
    /// A LUN was removed.
    LunRemoved(String),
    /// A thin LUN was written to, and there was no page for it.
    ThinFull,
    /// A member takes part from now on.
    MemberJoined(usize),
    /// Pages change places between members.
    PagesExchanged {
        /// The slow one.
        from: usize,
        /// The fast one.
        to: usize,
        /// How many, each way.
        pages: u32,
    },
    /// A member noted something.
    Member(usize, Box<NoteKind>),
    /// There is nothing to rebuild a lost drive onto.
    NoSpare {
        /// The group.
        group: String,
        /// The drive that was lost.
        lost: u16,
    },
    /// A controller failed (false) or works again.
    Controller(usize, bool),
    /// The battery is lost (false) or full again.
    Battery(bool),
    /// A path is down (false) or up again.
    Path(usize, bool),
    /// From now on writes end when drives have them.
    WriteThrough {
        /// Because of the battery, and not of a controller.
        battery_lost: bool,
    },
    /// From now on writes end when the cache has them.
    WriteBack,
    /// Data is lost: writes that were in the cache only.
    CacheLost {
        /// Pages that drives lacked something of.
        pages: u64,
    },
    /// Data is lost: more members of a stripe than its protection survives.
    DataLost {
        /// The group.
        group: String,
        /// Drives of the group that are lost now.
        failures: u32,
        /// Whether one was being rebuilt.
        rebuilding: bool,
        /// Share of the group's stripes that are lost, 0 to 1.
        share: f64,
    },
}

impl NoteKind {
    /// Whether this is the loss of data.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Member(_, what) => what.is_loss(),
            other => matches!(other, Self::DataLost { .. } | Self::CacheLost { .. }),
        }
    }
}

/// So many pages.
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
            Self::LunRemoved(name) => write!(f, "\"{name}\" removed"),
            Self::ThinFull => write!(f, "pool full: writes that need a new page fail"),
            Self::MemberJoined(member) => write!(f, "member {member} has joined"),
            Self::PagesExchanged { from, to, pages } => write!(
                f,
                "member {from} is slower than member {to}: {} change places",
                pages_words(u64::from(*pages))
            ),
            Self::Member(member, what) => write!(f, "member {member}: {what}"),
            Self::NoSpare { group, lost } => {
                write!(
                    f,
                    "{group}: nothing to rebuild drive {lost} onto; it stays degraded"
                )
            }
            Self::Controller(number, is_up) => {
                write!(
                    f,
                    "controller {number} {}",
                    if *is_up { "is back" } else { "failed" }
                )
            }
            Self::Battery(is_there) => {
                write!(
                    f,
                    "cache battery {}",
                    if *is_there { "is back" } else { "lost" }
                )
            }
            Self::Path(port, is_up) => {
                write!(
                    f,
                    "path {port} {}",
                    if *is_up { "is up" } else { "is down" }
                )
            }
            Self::WriteThrough { battery_lost } => {
                let why = if *battery_lost {
                    "no battery"
                } else {
                    "no second copy"
                };
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
            Self::DataLost {
                group,
                failures,
                rebuilding,
                share,
            } => {
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
