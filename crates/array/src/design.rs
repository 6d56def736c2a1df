//! What an array is to be made of, and why a design cannot be built.

use brunt_units::ByteSize;
use brunt_world_virtual::SECTOR_BYTES;

use crate::drive::{DriveModel, Order, Policy};
use crate::group::{Protection, StripeShape, WIDTH_MAX};
use crate::incident::Priority;
use brunt_units::Span;

/// How a group is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped, unprotected.
    Raid0,
    /// Every drive holds the same.
    Raid1,
    /// Striped over pairs.
    Raid10,
    /// One drive's worth of parity.
    Raid5,
    /// Striped over this many RAID 5 sets.
    Raid50(u32),
    /// Two drives' worth of parity.
    Raid6,
}

impl Level {
    /// What users call it.
    pub fn word(self) -> String {
        match self {
            Self::Raid0 => "RAID 0".into(),
            Self::Raid1 => "RAID 1".into(),
            Self::Raid10 => "RAID 10".into(),
            Self::Raid5 => "RAID 5".into(),
            Self::Raid50(sets) => format!("RAID 50 of {sets} sets"),
            Self::Raid6 => "RAID 6".into(),
        }
    }

    /// Drives in one protected set of a group of `drives`.
    ///
    /// # Errors
    /// [`DesignError::Drives`] when the level cannot be built of so many.
    pub(crate) fn shape(self, drives: usize, strip: ByteSize) -> Result<StripeShape, DesignError> {
        let count = u32::try_from(drives).unwrap_or(u32::MAX);
        let (width, protection, least) = match self {
            Self::Raid0 => (1, Protection::None, 1),
            Self::Raid1 => (count, Protection::Mirror, 2),
            Self::Raid10 => (2, Protection::Mirror, 2),
            Self::Raid5 => (count, Protection::Parity(1), 3),
            Self::Raid50(sets) => (count.div_euclid(sets.max(1)), Protection::Parity(1), 6),
            Self::Raid6 => (count, Protection::Parity(2), 4),
        };
        let refuse = |needs: String| DesignError::Drives {
            level: self.word(),
            drives,
            needs,
        };
        if count < least {
            return Err(refuse(format!("at least {least}")));
        }
        if self == Self::Raid10 && !count.is_multiple_of(2) {
            return Err(refuse("an even number".into()));
        }
        if let Self::Raid50(sets) = self
            && (sets < 2 || !count.is_multiple_of(sets) || width < 3)
        {
            return Err(refuse(format!(
                "{sets} sets, at least 2, of equal size and at least 3 drives"
            )));
        }
        if width > WIDTH_MAX {
            return Err(refuse(format!("at most {WIDTH_MAX} in one set")));
        }
        let strip_sectors = strip.get().div_euclid(SECTOR_BYTES);
        if strip_sectors == 0 || !strip.get().is_multiple_of(SECTOR_BYTES) {
            return Err(DesignError::Strip(strip));
        }
        Ok(StripeShape {
            width,
            protection,
            strip_sectors,
        })
    }
}

/// Which copy of a mirror is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorChoice {
    /// The drive with fewer requests; the first of equals in turn.
    ShortestQueue,
    /// Any, equally likely.
    Random,
}

/// A RAID group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupDesign {
    /// What it is called in reports.
    pub name: String,
    /// Its protection.
    pub level: Level,
    /// Its drives, by number.
    pub drives: Vec<u16>,
    /// How much of each drive is used; all of the smallest without it. Less keeps the arms at the outer edge.
    pub drive_size: Option<ByteSize>,
    /// Strip on one drive.
    pub strip: ByteSize,
    /// How mirrors are read.
    pub mirror_choice: MirrorChoice,
    /// How lost drives are rebuilt.
    pub repair: RepairDesign,
}

/// How lost drives are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairDesign {
    /// What is read from each source, and written, at a time.
    pub unit: ByteSize,
    /// With one member of a stripe lost.
    pub priority: Priority,
    /// With more lost.
    pub critical: Priority,
}

impl Default for RepairDesign {
    /// A mebibyte at a time; degraded stripes with high, critical ones with the highest priority.
    fn default() -> Self {
        Self {
            unit: ByteSize::mib(1),
            priority: Priority::High,
            critical: Priority::Highest,
        }
    }
}

/// A logical unit: a run of sectors of a group, as hosts see it.
#[derive(Clone, Debug, PartialEq)]
pub struct LunDesign {
    /// What it is called in reports.
    pub name: String,
    /// The group it lies on, by number. LUNs of a group follow one another from its outer edge.
    pub group: usize,
    /// Its size.
    pub size: ByteSize,
}

/// An array.
#[derive(Clone)]
pub struct ArrayDesign {
    /// The model of each drive.
    pub drives: Vec<DriveModel>,
    /// How drives order their queues.
    pub policy: Policy,
    /// Groups over the drives.
    pub groups: Vec<GroupDesign>,
    /// Drives that stand in for any that fails, by number.
    pub spares: Vec<u16>,
    /// What hosts see.
    pub luns: Vec<LunDesign>,
}

impl ArrayDesign {
    /// `count` drives of `model` in one group with one LUN over all of it: a beginning for tests and examples.
    pub fn one_group(model: &DriveModel, count: u16, level: Level) -> Self {
        let group = GroupDesign {
            name: "group".into(),
            level,
            drives: (0..count).collect(),
            drive_size: None,
            strip: ByteSize::kib(64),
            mirror_choice: MirrorChoice::ShortestQueue,
            repair: RepairDesign::default(),
        };
        Self {
            drives: vec![model.clone(); usize::from(count)],
            policy: Policy {
                order: Order::Sptf,
                wait_max: Span::millis(500),
            },
            groups: vec![group],
            spares: Vec::new(),
            luns: vec![LunDesign {
                name: "lun".into(),
                group: 0,
                size: ByteSize::bytes(0),
            }],
        }
    }
}

/// Why a design cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// The level cannot be built of so many drives.
    #[error("{level} cannot be built of {drives} drives: it needs {needs}")]
    Drives {
        /// The level.
        level: String,
        /// How many there are.
        drives: usize,
        /// How many it needs.
        needs: String,
    },
    /// The strip is no whole number of sectors.
    #[error("a strip of {0} is no whole number of sectors of 512 bytes")]
    Strip(ByteSize),
    /// A drive is used twice, or is not there.
    #[error("drive {0} {1}")]
    Drive(u16, &'static str),
    /// A LUN does not fit.
    #[error("LUN \"{lun}\" of {size} does not fit: group \"{group}\" has {left} left")]
    Lun {
        /// The LUN.
        lun: String,
        /// Its size.
        size: ByteSize,
        /// The group.
        group: String,
        /// What is left there.
        left: ByteSize,
    },
    /// A LUN lies on a group that is not there.
    #[error("LUN \"{0}\" lies on a group that is not there")]
    NoGroup(String),
    /// A drive has no room for one strip.
    #[error("group \"{0}\" has no room for a stripe")]
    TooSmall(String),
}
