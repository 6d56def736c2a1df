//! The design of a paged array.

use brunt_units::{ByteSize, Span};

use crate::design::{ArrayDesign, DesignError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagedLunDesign {
    /// Its name in reports.
    pub name: String,
    pub size: ByteSize,
    /// Whether pages are allocated when first written; otherwise all are allocated at the start.
    pub is_thin: bool,
    /// What is set aside for its snapshots; without it, they have what is free.
    pub reserve: Option<ReserveDesign>,
}

/// Space for the snapshots of a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReserveDesign {
    /// Percent of what the LUN itself has, 0 to 10,000.
    pub percent: u32,
    /// What happens when it is full.
    pub when_full: WhenFull,
}

/// What happens when snapshots need more than their reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The oldest snapshot of the LUN is deleted.
    #[default]
    DeleteOldest,
    /// The LUN goes offline: requests fail until it is set online.
    Offline,
    /// They have what is free, until something else needs it; then the oldest is deleted.
    Borrow,
    /// As with [`Self::DeleteOldest`], but the newest is kept, and writes that need more fail:
    /// replicas.
    KeepNewest,
}

/// How load is balanced across members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceDesign {
    /// Interval between comparisons.
    pub every: Span,
    /// Balancing starts when a member's mean latency exceeds the lowest by this much.
    pub gap: Span,
    /// Pages exchanged at a time.
    pub pages: u32,
    /// Amount copied at a time.
    pub unit: ByteSize,
}

impl Default for BalanceDesign {
    /// Every five minutes, a gap of 20 ms, eight pages, 512 KiB at a time.
    ///
    /// Source of the 20 ms and of "every few minutes": Dell EqualLogic, TR1070, pp. 12-14. The rest
    /// is assumed.
    fn default() -> Self {
        Self {
            every: Span::seconds(300),
            gap: Span::millis(20),
            pages: 8,
            unit: ByteSize::kib(512),
        }
    }
}

/// LUNs whose pages lie anywhere on one or more arrays.
#[derive(Clone)]
pub struct PagedDesign {
    /// The arrays. The first LUN of each holds pages; give it no others.
    pub members: Vec<ArrayDesign>,
    /// Members, by number, that stay inactive until [`crate::Incident::MemberJoins`].
    pub later: Vec<usize>,
    /// Page size, the unit of allocation and moves. 15 MiB in EqualLogic groups (from memory).
    pub page: ByteSize,
    /// Grain size, the unit of redirected and first writes. A page is a whole number of grains.
    pub grain: ByteSize,
    /// The LUNs that hosts see.
    pub luns: Vec<PagedLunDesign>,
    /// Names of clones that hosts use later. They are numbered after the LUNs.
    pub clones: Vec<String>,
    /// Load balancing; without it, pages stay where they were allocated.
    pub balance: Option<BalanceDesign>,
}

/// Pages of all members, and of all LUNs, at most: a LUN has an entry for each, and so has a
/// snapshot. In pages of 15 MiB they are 960 TiB.
pub(super) const PAGES_MAX: u64 = 1 << 26;
/// Grains of a page, at most: pages that snapshots share have a mark for each.
const GRAINS_MAX: u64 = 1 << 16;
/// The largest LUN, whatever its pages: more than arrays present.
const LUN_MAX: ByteSize = ByteSize::gib(1 << 20);

impl PagedDesign {
    /// The most that one LUN can have, beside others of `pages` pages.
    pub fn lun_max(&self, pages: u64) -> ByteSize {
        let left = PAGES_MAX.saturating_sub(pages);
        ByteSize::bytes(left.saturating_mul(self.page.get())).min(LUN_MAX)
    }

    /// Checks pages, grains and balancing.
    pub(super) fn check(&self) -> Result<(), PagedError> {
        let (page, grain) = (self.page, self.grain);
        let is_size = |size: ByteSize, of| size.get() > 0 && size.get().is_multiple_of(of);
        if !is_size(grain, 512) || !is_size(page, grain.get()) {
            return Err(PagedError::Page { page, grain });
        }
        if page.get().div_euclid(grain.get()) > GRAINS_MAX {
            return Err(PagedError::Grains { page, grain, most: GRAINS_MAX });
        }
        let is_idle = |balance: &BalanceDesign| {
            balance.every == Span::ZERO || balance.pages == 0 || balance.unit < grain
        };
        match self.balance.as_ref().is_some_and(is_idle) {
            true => Err(PagedError::Balance),
            false => Ok(()),
        }
    }
}

/// Why a paged design cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagedError {
    /// A member cannot be built.
    #[error("member {0}: {1}")]
    Member(usize, DesignError),
    /// There are no members, or none is active at the start.
    #[error("no member takes part from the beginning")]
    NoMember,
    /// The page is not a multiple of the grain, or a size is invalid.
    #[error(
        "a page of {page} is not a multiple of the grain of {grain}, or the grain not one of 512 bytes"
    )]
    Page { page: ByteSize, grain: ByteSize },
    /// The pages have too many grains.
    #[error("a page of {page} has more than {most} grains of {grain}")]
    Grains { page: ByteSize, grain: ByteSize, most: u64 },
    /// The pages are too small for the space of the members.
    #[error("the members have more than {most} pages of {page}")]
    Pages { page: ByteSize, most: u64 },
    /// A member has too little space for pages.
    #[error("member {0} has room for {1} pages of {2} only: it needs more than {3}")]
    TooSmall(usize, u32, ByteSize, usize),
    /// A LUN that is not thin does not fit.
    #[error("LUN \"{lun}\" of {size} does not fit: {left} are left; a thin one would")]
    Lun {
        lun: String,
        size: ByteSize,
        /// Space left.
        left: ByteSize,
    },
    /// A LUN is larger than any.
    #[error("LUN \"{lun}\" of {size}: LUNs in pages of {page} have at most {most}")]
    LunSize {
        lun: String,
        size: ByteSize,
        page: ByteSize,
        /// The most beside the LUNs before it.
        most: ByteSize,
    },
    /// A LUN fits, but the reserve of its snapshots does not.
    #[error(
        "LUN \"{lun}\": its snapshot reserve of {reserve} does not fit: {left} are left beside what is set aside"
    )]
    Reserve {
        lun: String,
        reserve: ByteSize,
        /// Space left.
        left: ByteSize,
    },
    /// The balancing settings cannot work.
    #[error(
        "balancing compares members after some time, and moves at least one page and one grain"
    )]
    Balance,
}
