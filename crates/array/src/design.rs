//! The design of an array, and why a design cannot be built.

use brunt_units::ByteSize;
use brunt_units::SECTOR_BYTES;

use crate::array::LUN_BORDER;
use crate::cache::tier::{Tier, UNITS_MAX};
use crate::cache::{FlushPolicy, PAGE_SECTORS_MAX, Watermarks};
use crate::drive::{DriveModel, Order, Policy};
use crate::group::{Group, Protection, StripeShape, WIDTH_MAX};
use crate::incident::Priority;
use brunt_units::Span;

/// How a group is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped, unprotected.
    Raid0,
    /// All drives hold the same.
    Raid1,
    /// Striped over pairs.
    Raid10,
    /// One drive's worth of parity.
    Raid5,
    /// Striped over this many RAID 5 sets.
    Raid50(u32),
    /// Two drives' worth of parity.
    Raid6,
    /// Pieces of 8 + 2 stripes scattered over all drives, with spare capacity to rebuild in.
    Pool {
        /// Size of a piece on one drive.
        piece: ByteSize,
        /// Drives' worth of capacity kept free; by default it depends on the number of drives.
        preserved: Option<u32>,
    },
}

impl Level {
    /// A pool with pieces of 512 MiB and the usual preservation capacity.
    pub const POOL: Self = Self::Pool { piece: ByteSize::mib(512), preserved: None };

    /// The name used in scenarios and reports.
    pub fn word(self) -> String {
        match self {
            Self::Raid0 => "RAID 0".into(),
            Self::Raid1 => "RAID 1".into(),
            Self::Raid10 => "RAID 10".into(),
            Self::Raid5 => "RAID 5".into(),
            Self::Raid50(sets) => format!("RAID 50 of {sets} sets"),
            Self::Raid6 => "RAID 6".into(),
            Self::Pool { .. } => "a pool".into(),
        }
    }

    /// The shape of one protected set in a group of `drives` drives.
    ///
    /// # Errors
    /// [`DesignError::Drives`] when the level cannot be built from this many drives.
    pub(crate) fn shape(self, drives: usize, strip: ByteSize) -> Result<StripeShape, DesignError> {
        let count = u32::try_from(drives).unwrap_or(u32::MAX);
        let (width, protection, least) = match self {
            Self::Raid0 => (1, Protection::None, 1),
            Self::Raid1 => (count, Protection::Mirror, 2),
            Self::Raid10 => (2, Protection::Mirror, 2),
            Self::Raid5 => (count, Protection::Parity(1), 3),
            Self::Raid50(sets) => (count.div_euclid(sets.max(1)), Protection::Parity(1), 6),
            Self::Raid6 => (count, Protection::Parity(2), 4),
            Self::Pool { .. } => (10, Protection::Parity(2), 11),
        };
        let refuse = |needs: String| DesignError::Drives { level: self.word(), drives, needs };
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
        Ok(StripeShape { width, protection, strip_sectors })
    }
}

/// Which copy of a mirror is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorChoice {
    /// The drive with the fewest requests; ties are broken in turn.
    ShortestQueue,
    /// A random one, all equally likely.
    Random,
}

/// A RAID group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupDesign {
    /// Its name in reports.
    pub name: String,
    /// Its protection.
    pub level: Level,
    /// Its drives, by number.
    pub drives: Vec<u16>,
    /// How much of each drive is used; by default all of the smallest. Using less keeps the arms at
    /// the outer edge.
    pub drive_size: Option<ByteSize>,
    /// Strip size on one drive.
    pub strip: ByteSize,
    /// How mirrors are read.
    pub mirror_choice: MirrorChoice,
    /// How lost drives are rebuilt.
    pub repair: RepairDesign,
}

impl GroupDesign {
    /// Checks that this many drives can form such a group.
    ///
    /// # Errors
    /// [`DesignError::Drives`] or [`DesignError::Strip`] when they cannot.
    pub fn check(&self) -> Result<(), DesignError> {
        self.level.shape(self.drives.len(), self.strip).map(|_| ())
    }
}

/// How lost drives are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairDesign {
    /// How much is read from each source, and written, at a time.
    pub unit: ByteSize,
    /// When one member of a stripe is lost.
    pub priority: Priority,
    /// When more members are lost.
    pub critical: Priority,
}

impl Default for RepairDesign {
    /// One mebibyte at a time; degraded stripes at high priority, critical ones at the highest.
    fn default() -> Self {
        Self { unit: ByteSize::mib(1), priority: Priority::High, critical: Priority::Highest }
    }
}

/// A logical unit: a run of sectors of a group, presented to hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct LunDesign {
    /// Its name in reports.
    pub name: String,
    /// The group it lies on, by number. LUNs of a group follow one another from the outer edge.
    pub group: usize,
    pub size: ByteSize,
    /// The controller that serves it; by default, LUNs alternate between controllers.
    pub owner: Option<usize>,
}

/// Which paths hosts use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPolicy {
    /// Those of the LUN's owner in turn; others only when none of these is up.
    Optimised,
    /// As above, but the port with the fewest requests; ties are broken in turn.
    LeastQueue,
    /// All paths in turn.
    All,
}

/// The path between hosts and controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontDesign {
    /// Time that the host's own stack adds to every request.
    pub host_stack: Span,
    /// Ports of each controller.
    pub ports: u32,
    /// Rate of a port in each direction, in bytes per second; zero for unlimited.
    pub port_bytes_per_s: u64,
    /// Latency, one way.
    pub latency: Span,
    /// Which paths hosts use.
    pub paths: PathPolicy,
}

impl Default for FrontDesign {
    /// A port that takes no time.
    fn default() -> Self {
        Self {
            host_stack: Span::ZERO,
            ports: 1,
            port_bytes_per_s: 0,
            latency: Span::ZERO,
            paths: PathPolicy::Optimised,
        }
    }
}

/// The controllers, all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerDesign {
    /// Number of controllers, 1 or 2.
    pub count: u32,
    /// Processor cores of each.
    pub cores: u32,
    /// Processor time for a read.
    pub read: Span,
    /// Processor time for a write.
    pub write: Span,
    /// Processor time for a request to a drive, and at each end for a message to the other
    /// controller. It occupies a core and delays later work.
    pub device_io: Span,
    /// The rate at which a core passes over data, in bytes per second: to checksum what hosts
    /// write, to check what drives return, to compute parities. Zero for unlimited.
    pub memory_bytes_per_s: u64,
    /// Rate of the link between the controllers, in bytes per second; zero for unlimited.
    pub link_bytes_per_s: u64,
    /// Latency of the link, one way.
    pub link_latency: Span,
    /// How long hosts wait when a LUN moves to the other controller.
    pub failover: Span,
}

impl Default for ControllerDesign {
    /// One controller that takes no time.
    fn default() -> Self {
        Self {
            count: 1,
            cores: 1,
            read: Span::ZERO,
            write: Span::ZERO,
            device_io: Span::ZERO,
            memory_bytes_per_s: 0,
            link_bytes_per_s: 0,
            link_latency: Span::ZERO,
            failover: Span::ZERO,
        }
    }
}

/// A media scan: every drive is read from start to end, repeatedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanDesign {
    /// How much is read at a time.
    pub unit: ByteSize,
    /// The pause between the end of one read and the start of the next on the same drive.
    pub pause: Span,
}

/// A second level of the read cache, on solid-state drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierDesign {
    /// Its drives, by number: solid-state drives that are in no group.
    pub drives: Vec<u16>,
    /// How much of them is used in total; all by default.
    pub size: Option<ByteSize>,
    /// The unit of admission and eviction: 1 to 64 cache pages.
    pub block: ByteSize,
    /// Misses by hosts before a block is admitted.
    pub admit_after: u32,
    /// Whether pages written to the drives are also written to the tier when their block is there.
    pub refreshes: bool,
}

impl TierDesign {
    /// A tier on all of `drives`: blocks of 64 KiB, admitted on the second miss, refreshed.
    pub fn on(drives: Vec<u16>) -> Self {
        Self { drives, size: None, block: ByteSize::kib(64), admit_after: 2, refreshes: true }
    }
}

/// The cache of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheDesign {
    /// Page size: 512 bytes to 32 KiB. A strip is a whole number of pages.
    pub page: ByteSize,
    /// Room for data not yet on the drives; zero means write-through.
    pub write: ByteSize,
    /// Room for everything else, at least.
    pub read: ByteSize,
    /// When it is flushed.
    pub marks: Watermarks,
    /// It is also flushed when hosts have been idle this long; zero disables that.
    pub idle_after: Span,
    /// Flush writes kept in flight per drive.
    pub destages_per_drive: u32,
    /// Whether two controllers keep copies of each other's dirty pages. If not, a failing
    /// controller loses its dirty pages.
    pub mirrored: bool,
    /// Read-ahead window for sequential readers; zero disables it.
    pub prefetch: ByteSize,
    /// Whether on-disk content is kept beside newer data while there is room: parities are then
    /// updated without reading it.
    pub keeps_old: bool,
}

/// Pages of a cache, at most: each takes 4 bytes from the beginning, and 64 when it is used.
const CACHE_PAGES_MAX: u64 = 1 << 28;

impl CacheDesign {
    /// Checks that there is memory for the table of its pages.
    ///
    /// # Errors
    /// [`DesignError::Room`] when there are too many.
    pub fn check_room(&self) -> Result<(), DesignError> {
        let pages = |room: ByteSize| room.get().checked_div(self.page.get()).unwrap_or(0);
        match pages(self.write).saturating_add(pages(self.read)) > CACHE_PAGES_MAX {
            true => {
                let most = ByteSize::bytes(CACHE_PAGES_MAX.saturating_mul(self.page.get()));
                Err(DesignError::Room { page: self.page, most })
            }
            false => Ok(()),
        }
    }
}

impl Default for CacheDesign {
    /// 512 MiB to write, 128 MiB to read, pages of 8 KiB, watermarks at 80 and 60 %, mirrored.
    fn default() -> Self {
        Self {
            page: ByteSize::kib(8),
            write: ByteSize::mib(512),
            read: ByteSize::mib(128),
            marks: Watermarks { low: 60, high: 80, policy: FlushPolicy::Hysteresis },
            idle_after: Span::seconds(2),
            destages_per_drive: 4,
            mirrored: true,
            prefetch: ByteSize::kib(512),
            keeps_old: true,
        }
    }
}

#[derive(Clone)]
pub struct ArrayDesign {
    pub drives: Vec<DriveModel>,
    /// How drives order their queues.
    pub policy: Policy,
    /// RAID groups over the drives.
    pub groups: Vec<GroupDesign>,
    /// Spare drives, by number.
    pub spares: Vec<u16>,
    /// The LUNs that hosts see.
    pub luns: Vec<LunDesign>,
    /// The path from hosts.
    pub front: FrontDesign,
    /// The controllers.
    pub controller: ControllerDesign,
    /// Background scan of all drives to find unreadable sectors; disabled by default.
    pub scan: Option<ScanDesign>,
    /// The cache; without it, every request goes to the drives.
    pub cache: Option<CacheDesign>,
    /// A tier of solid-state drives behind the cache, if there is one.
    pub tier: Option<TierDesign>,
}

impl ArrayDesign {
    /// `count` drives of `model` in one group with one LUN over all of it: a starting point for
    /// tests and examples.
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
            policy: Policy { order: Order::Sptf, wait_max: Span::millis(500) },
            groups: vec![group],
            spares: Vec::new(),
            luns: vec![LunDesign {
                name: "lun".into(),
                group: 0,
                size: ByteSize::bytes(0),
                owner: None,
            }],
            front: FrontDesign::default(),
            controller: ControllerDesign::default(),
            scan: None,
            cache: None,
            tier: None,
        }
    }

    /// Builds the tier, empty.
    pub(crate) fn build_tier(&self) -> Result<Option<Tier>, DesignError> {
        let Some(design) = &self.tier else {
            return Ok(None);
        };
        let Some(cache) = &self.cache else {
            return Err(DesignError::Tier("lies behind a cache, and there is none".into()));
        };
        let models = design.drives.iter().map(|drive| {
            let model = self.drives.get(usize::from(*drive));
            model.ok_or(DesignError::Drive(*drive, "is not there"))
        });
        let models: Vec<&DriveModel> = models.collect::<Result<_, _>>()?;
        if let Some(disk) = models.iter().find(|model| !model.is_solid_state()) {
            let what = format!("is of solid-state drives, and \"{}\" turns", disk.title());
            return Err(DesignError::Tier(what));
        }
        let pages = design.block.get().checked_div(cache.page.get()).unwrap_or(0);
        let is_whole = pages * cache.page.get() == design.block.get();
        if !is_whole || !(1..=UNITS_MAX).contains(&pages) {
            let what = format!(
                "has blocks of 1 to {UNITS_MAX} cache pages of {}, not of {}",
                cache.page, design.block
            );
            return Err(DesignError::Tier(what));
        }
        if design.admit_after == 0 {
            let what = "lets a block in when it was missed once, or more often".into();
            return Err(DesignError::Tier(what));
        }
        let count = models.len() as u64;
        let least = models.iter().map(|model| model.sectors()).min();
        let used = design.size.map(|size| size.get().div_euclid(SECTOR_BYTES));
        let each = least.map(|least| used.map_or(least, |used| used.div_euclid(count).min(least)));
        let block_sectors = design.block.get().div_euclid(SECTOR_BYTES);
        let places = each.map_or(0, |each| each.div_euclid(block_sectors));
        let places = u32::try_from(places).unwrap_or(u32::MAX);
        let all = u64::from(places) * count;
        if !(1..u64::from(u32::MAX)).contains(&all) {
            let what = format!("has room for {all} blocks of {}", design.block);
            return Err(DesignError::Tier(what));
        }
        let page_sectors = cache.page.get().div_euclid(SECTOR_BYTES);
        let tier = Tier::new(&design.drives, places, page_sectors, block_sectors);
        Ok(Some(tier.admitting(design.admit_after, design.refreshes)))
    }

    /// Checks that cache, front and controllers can be built over `groups`.
    pub(crate) fn check(&self, groups: &[Group]) -> Result<(), DesignError> {
        if !(1..=2).contains(&self.controller.count) || self.controller.cores == 0 {
            return Err(DesignError::Front(
                "there are one or two controllers, with at least one core",
            ));
        }
        if self.front.ports == 0 {
            return Err(DesignError::Front("a controller has at least one port"));
        }
        if self.scan.is_some_and(|scan| scan.pause == Span::ZERO) {
            return Err(DesignError::Front("a media scan pauses between its reads"));
        }
        let Some(cache) = &self.cache else {
            return Ok(());
        };
        let sectors = cache.page.get().div_euclid(SECTOR_BYTES);
        let is_size = cache.page.get().is_multiple_of(SECTOR_BYTES)
            && (1..=PAGE_SECTORS_MAX).contains(&sectors);
        if !is_size || !LUN_BORDER.is_multiple_of(sectors) {
            return Err(DesignError::Page(cache.page));
        }
        cache.check_room()?;
        for (group, design) in groups.iter().zip(&self.groups) {
            if !group.shape.strip_sectors.is_multiple_of(sectors) {
                return Err(DesignError::PageInStrip(cache.page, design.strip));
            }
        }
        let Watermarks { low, high, .. } = cache.marks;
        if low >= high || high > 100 {
            return Err(DesignError::Marks(low, high));
        }
        if cache.destages_per_drive == 0 {
            return Err(DesignError::Front(
                "flushing needs at least one write under way per drive",
            ));
        }
        Ok(())
    }
}

/// Why a design cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// The level cannot be built from this many drives.
    #[error("{level} cannot be built of {drives} drives: it needs {needs}")]
    Drives {
        level: String,
        /// Drives given.
        drives: usize,
        /// Drives required.
        needs: String,
    },
    /// The strip is not a whole number of sectors.
    #[error("a strip of {0} is not a multiple of 512 bytes")]
    Strip(ByteSize),
    /// A drive is used twice, or does not exist.
    #[error("drive {0} {1}")]
    Drive(u16, &'static str),
    /// A LUN does not fit.
    #[error("LUN \"{lun}\" of {size} does not fit: group \"{group}\" has {left} left")]
    Lun {
        lun: String,
        size: ByteSize,
        group: String,
        /// Space left in it.
        left: ByteSize,
    },
    /// A LUN lies on a group that does not exist.
    #[error("LUN \"{0}\" lies on a group that is not there")]
    NoGroup(String),
    /// Not a valid page size.
    #[error("a cache page of {0} is not one of 512 B, 1, 2, 4, 8, 16 or 32 KiB")]
    Page(ByteSize),
    /// A page straddles strips.
    #[error("a strip of {1} is not a multiple of the cache page of {0}")]
    PageInStrip(ByteSize, ByteSize),
    /// The cache is larger than any.
    #[error("a cache in pages of {page} has at most {most}")]
    Room {
        page: ByteSize,
        /// The most, to write and to read together.
        most: ByteSize,
    },
    /// The watermarks are out of order.
    #[error("watermarks: low ({0} %) has to be below high ({1} %), and high at most 100 %")]
    Marks(u32, u32),
    /// The solid-state tier cannot be built.
    #[error("a solid-state tier {0}")]
    Tier(String),
    /// Invalid controllers or ports.
    #[error("{0}")]
    Front(&'static str),
    /// The pieces of a pool are too small for drives of this size.
    #[error("a piece of {0} is too small for drives of this size")]
    Piece(ByteSize),
    /// A drive or pool has no room for a stripe.
    #[error("group \"{0}\" has no room for a stripe")]
    TooSmall(String),
}
