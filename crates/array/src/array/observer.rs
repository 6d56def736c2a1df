//! What can be observed of an array: every move of content, in order, without the content.
//!
//! The array is generic over its observer. `()` sees nothing, and the calls disappear. Tests use the ledger, which follows the
//! version of each sector through cache, jobs, drives and repairs.

use std::ops::Range;

use super::Array;
use super::jobs::IoOwner;
use crate::Extent;
use crate::cache::pages::Sectors;
use crate::group::Spot;
use crate::group::plan::{Method, Step};
use crate::slab::Key;

/// Sees what an array does with content.
pub(crate) trait Observer: Default {
    /// `moved` happens in `array` now.
    fn see(&mut self, array: &Array<Self>, moved: Move);
}

impl Observer for () {
    #[inline(always)]
    fn see(&mut self, _: &Array<Self>, _: Move) {}
}

/// A move of content.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the ledger of tests reads them")
)]
pub(crate) enum Move {
    /// A job begins.
    JobBegan(Key),
    /// A job knows how it proceeds; what it read before does not count.
    JobPlanned(Key, Method),
    /// A drive is asked for a part of a member's strip.
    ReadBegan {
        io: Key,
        owner: IoOwner,
        spot: Spot,
        member: u32,
        within: Extent,
    },
    /// A drive is asked to write a step of a job.
    WriteBegan {
        io: Key,
        job: Key,
        spot: Spot,
        step: Step,
    },
    /// A drive is asked to write what a repair has read or computed.
    RebuildBegan {
        io: Key,
        repair: Key,
        spot: Spot,
        rows: Range<u64>,
    },
    /// The tier is read for `part` of a group.
    TierReadBegan {
        io: Key,
        spot: Spot,
        fill: Key,
        part: Extent,
    },
    /// `part` of a group is written from the cache to the tier.
    TierWriteBegan {
        io: Key,
        spot: Spot,
        group: u32,
        part: Extent,
    },
    /// A drive has done what it was asked, media scans aside.
    DeviceEnded(Key),
    /// A job has read what its owner wants.
    JobRead(Key),
    /// Sectors of a page of the cache arrive with a fill.
    Filled { fill: Key, slot: u32, part: Sectors },
    /// The cache takes a write.
    Accepted(Key),
    /// A page of the cache has been written to drives.
    Destaged { slot: u32, keeps_old: bool },
    /// Everything in the cache is gone.
    CacheLost,
    /// Everything on a drive is gone.
    DriveFailed(u16),
    /// A request has ended well, and its host learns of it.
    Answered(Key),
}

impl<O: Observer> Array<O> {
    /// Shows `moved` to the observer.
    #[inline(always)]
    pub(super) fn observe(&mut self, moved: Move) {
        let mut observer = std::mem::take(&mut self.observer);
        observer.see(self, moved);
        self.observer = observer;
    }
}
