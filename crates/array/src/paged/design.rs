//! What a paged array is to be made of.

use brunt_units::{ByteSize, Span};

use crate::design::{ArrayDesign, DesignError};

/// A LUN in pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagedLunDesign {
    /// What it is called in reports.
    pub name: String,
    /// Its size.
    pub size: ByteSize,
    /// Whether pages get room when they are first written; otherwise all have theirs from the beginning.
    pub is_thin: bool,
}

/// How load is spread over members while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceDesign {
    /// How often members are compared.
    pub every: Span,
    /// Something is done when a member's mean latency is so much above the lowest.
    pub gap: Span,
    /// Pages that change places at a time.
    pub pages: u32,
    /// What is copied at a time.
    pub unit: ByteSize,
}

impl Default for BalanceDesign {
    /// Every five minutes, from 20 ms on, eight pages, 512 KiB at a time.
    ///
    /// Source of the 20 ms and of "every few minutes": Dell EqualLogic, TR1070, pp. 12-14. The rest is assumed.
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
    /// The arrays. Of each, the first LUN is room for pages; give it no others.
    pub members: Vec<ArrayDesign>,
    /// Members, by number, that do not take part before [`crate::Incident::MemberJoins`].
    pub later: Vec<usize>,
    /// A page: what is allocated and moved. 15 MiB in EqualLogic groups (from memory).
    pub page: ByteSize,
    /// The least that is redirected or written anew. A page is a whole number of grains.
    pub grain: ByteSize,
    /// What hosts see.
    pub luns: Vec<PagedLunDesign>,
    /// How load is spread; without it, pages stay where they were put.
    pub balance: Option<BalanceDesign>,
}

/// Why a paged design cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagedError {
    /// A member cannot be built.
    #[error("member {0}: {1}")]
    Member(usize, DesignError),
    /// There is no member, or none takes part from the beginning.
    #[error("no member takes part from the beginning")]
    NoMember,
    /// Page and grain do not fit each other.
    #[error(
        "a page of {page} is no whole number of grains of {grain}, or those no whole number of 512 bytes"
    )]
    Page {
        /// The page.
        page: ByteSize,
        /// The grain.
        grain: ByteSize,
    },
    /// A member has no room for a page.
    #[error("member {0} has room for {1} pages of {2} only: it needs more than {3}")]
    TooSmall(usize, u32, ByteSize, usize),
    /// A LUN that gets all its room at once does not fit.
    #[error("LUN \"{lun}\" of {size} does not fit: {left} are left; a thin one would")]
    Lun {
        /// The LUN.
        lun: String,
        /// Its size.
        size: ByteSize,
        /// What is left.
        left: ByteSize,
    },
    /// Balancing that cannot work.
    #[error(
        "balancing compares members after some time, and moves at least one page and one grain"
    )]
    Balance,
}
